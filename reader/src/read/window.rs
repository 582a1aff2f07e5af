//! A window: a range of a file that is read as a whole. This is the executor of hedge-core's reads.
//!
//! One loop polls the stores' futures, takes in what they say, lets each band's read draw its conclusions, and does what it says. Everything is
//! owned by the window's own future: dropping it drops the requests. What outlives them holds leases, and these hold the memory and the
//! turns.

use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hedge_core::{
    Cause, CellSet, Input, LegId, NodeId, Output, ReadPlan, RequestId, Span, Subject, Verdict, Why,
};
use hedgerow_codec::GroupRead;
use smallvec::SmallVec;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::{debug, warn};

use super::band::{self, Band, LARGE, SMALL};
use super::fetch::{Arrival, Fetch, Gather, INCOMPLETE, Rider, Riding};
use super::{File, LostCell, ReadError, ReadOptions};
use crate::client::{Alive, Held, Shared, count};
use crate::store::{Event, Holds, Leg, Said, Turn};
use crate::{Failed, Failure, Work};

/// A timer that fires later than this was held up by a busy runtime.
const PUNCTUAL: Duration = Duration::from_millis(3);
/// What legs get to show what has come in the meantime.
const GRACE: Duration = Duration::from_millis(2);
/// Legs of up to so many bytes are of the first size class.
const SMALL_LEG: u64 = 256 << 10;

/// Why a leg fails whose node is asked nothing more for now.
const STUCK: &str = "requests that nobody waits for any more hold all its turns";

static REQUESTS: AtomicU32 = AtomicU32::new(1);

/// A number that hardly any request of this process has: 0 stands for none.
fn request_id() -> RequestId {
    RequestId(REQUESTS.fetch_add(1, Ordering::Relaxed).max(1))
}

/// A block group in a window.
pub(super) struct Group {
    pub(super) number: u64,
    /// Its data bytes.
    pub(super) length: u64,
    nodes: SmallVec<[NodeId; SMALL]>,
    missing: CellSet,
}

pub(super) struct Window<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) file: &'a File,
    pub(super) groups: SmallVec<[Group; 1]>,
    pub(super) bands: SmallVec<[Band; 2]>,
    pub(super) fetches: Vec<Fetch>,
    /// The futures of the fetches, as long as they run.
    running: Vec<Option<Work<()>>>,
    events: mpsc::UnboundedSender<Event>,
    happened: mpsc::UnboundedReceiver<Event>,
    held: Arc<Held>,
    /// By how much the window's clock is behind: time in which the runtime was too busy to listen.
    lag: Duration,
    /// The last timer was late, and nobody was blamed for it.
    excused: bool,
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    launches: SmallVec<[Launch; 8]>,
}

struct Launch {
    band: usize,
    leg: LegId,
    node: NodeId,
    why: Why,
}

/// What a window needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// Bytes of the wanted cells, with what their checks need, and of the result, if they must be put together.
    wanted: u64,
    /// The same with all cells.
    pub(super) most: u64,
}

impl Need {
    pub(super) fn of(file: &File, range: &Range<u64>) -> Result<Self, ReadError> {
        let (mut need, mut cells) = (Self::default(), 0);
        for group in file.group_reads(range)? {
            for band in group.bands() {
                let length = file.widest(&band.range());
                need.wanted = need.wanted.saturating_add(length.saturating_mul(band.wanted().len() as u64));
                need.most = need.most.saturating_add(length.saturating_mul(u64::from(file.n)));
                cells += band.wanted().len();
            }
        }
        if cells > 1 {
            let result = range.end.saturating_sub(range.start);
            need.wanted = need.wanted.saturating_add(result);
            need.most = need.most.saturating_add(result);
        }
        Ok(need)
    }
}

/// Waits for the memory that a window needs, and begins it.
pub(super) async fn begin<'a>(
    shared: &'a Arc<Shared>,
    file: &'a File,
    range: &Range<u64>,
    options: &ReadOptions,
    deadline: Option<Instant>,
) -> Result<Window<'a>, ReadError> {
    let need = Need::of(file, range)?;
    if need.most > shared.memory.most() {
        return Err(ReadError::Memory { needed: need.most, most: shared.memory.most() });
    }
    let first = match shared.memory.try_take(need.wanted) {
        Some(permit) => permit,
        None => {
            let taken = shared.memory.take(need.wanted);
            let taken = match deadline {
                Some(at) => {
                    tokio::time::timeout_at(at, taken).await.map_err(|_| file.too_late(options, shared))?
                }
                None => taken.await,
            };
            taken.ok_or(ReadError::Closed)?
        }
    };
    let held = Arc::new(Held::new(&shared.memory, first, need.most));
    let (events, happened) = mpsc::unbounded_channel();
    let mut window = Window {
        shared,
        file,
        groups: SmallVec::new(),
        bands: SmallVec::new(),
        fetches: Vec::new(),
        running: Vec::new(),
        events,
        happened,
        held,
        lag: Duration::ZERO,
        excused: false,
        deadline,
        timer: None,
        launches: SmallVec::new(),
    };
    for group in file.group_reads(range)? {
        window.add(&group, options)?;
    }
    Ok(window)
}

impl Window<'_> {
    fn add(&mut self, read: &GroupRead, options: &ReadOptions) -> Result<(), ReadError> {
        let mut group = Group {
            number: read.group(),
            length: read.group_len(),
            nodes: SmallVec::new(),
            missing: CellSet::EMPTY,
        };
        for cell in 0..self.file.n {
            let node = self.file.cells.node(group.number, cell);
            if node.is_none() {
                group.missing.insert(cell);
            }
            group.nodes.push(node.unwrap_or(NodeId::UNKNOWN));
        }
        self.groups.push(group);
        for layout in read.bands() {
            if usize::from(self.file.n) <= SMALL {
                self.add_band::<SMALL>(layout, options)?;
            } else {
                self.add_band::<LARGE>(layout, options)?;
            }
        }
        Ok(())
    }

    fn add_band<const N: usize>(
        &mut self,
        layout: hedgerow_codec::Band,
        options: &ReadOptions,
    ) -> Result<(), ReadError> {
        let index = self.groups.len() - 1;
        let group = &self.groups[index];
        let (range, file) = (layout.range(), self.file);
        let set = |cells: hedgerow_codec::CellSet| CellSet::from_bits(cells.mask().unwrap_or(0));
        let mut plan: ReadPlan<N> = band::plan_for(file.k, file.n, self.shared.turn());
        plan.wanted = set(layout.wanted());
        plan.zero = set(layout.zeros());
        plan.missing = group.missing - plan.zero;
        for (entry, &node) in plan.node.iter_mut().zip(&group.nodes) {
            *entry = node;
        }
        plan.size_class = (range.end - range.start > SMALL_LEG).into();
        plan.mode = options.mode;
        plan.deadline = self.deadline.map(|at| self.shared.at(at));
        let now = self.shared.now();
        self.shared.oversight.prepare(now, &mut plan);
        let checked = plan.checked().map_err(|error| ReadError::Schema(format!("{}: {error}", file.name)))?;
        self.bands.push(Band {
            read: band::begin(now, checked),
            layout,
            group: index,
            range,
            zeros: plan.zero,
            fetch: vec![None; usize::from(file.n)],
            decoded: Vec::new(),
            outcome: None,
            failures: Vec::new(),
        });
        Ok(())
    }

    /// Reads until every band has ended, well or not.
    pub(super) async fn run(&mut self) {
        loop {
            self.poll_bands().await;
            if self.bands.iter().all(|band| band.outcome.is_some()) {
                return;
            }
            let due = self.next_due();
            match self.wait(due).await {
                Woken::Told => {}
                Woken::Timer(late) if late > PUNCTUAL && !self.excused && !self.deadline_passed() => {
                    // Nobody listened for a while, so nobody is late: the clock stands still for as long, and a moment more. Once only:
                    // who is still late then is not so for want of a listener, however busy the runtime stays.
                    self.excused = true;
                    self.lag += late + GRACE;
                    count(&self.shared.counters.late_timers, 1);
                    tokio::task::yield_now().await;
                }
                Woken::Timer(_) => {
                    self.excused = false;
                    self.on_timer();
                }
            }
        }
    }

    /// The window's clock.
    fn now(&self) -> hedge_core::Instant {
        let now = Instant::now();
        if self.lag.is_zero() || self.deadline.is_some_and(|deadline| now >= deadline) {
            return self.shared.at(now);
        }
        self.at(now)
    }

    fn at(&self, instant: Instant) -> hedge_core::Instant {
        self.shared.at(instant.checked_sub(self.lag).unwrap_or(instant))
    }

    fn deadline_passed(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// When something is due if nothing happens.
    fn next_due(&self) -> Option<Instant> {
        let bands = self.bands.iter().filter_map(|band| band.read.next_deadline());
        let bands =
            bands.filter_map(|(at, _)| self.shared.when(at)).filter_map(|at| at.checked_add(self.lag));
        let silences = self.fetches.iter().filter_map(|fetch| self.silent_at(fetch));
        let due = bands.chain(silences).min();
        // The lag moves timers, not the end of the read.
        match (due, self.deadline) {
            (Some(due), Some(deadline)) => Some(due.min(deadline)),
            (due, deadline) => due.or(deadline),
        }
    }

    /// When a fetch that still has riders has been silent for too long.
    fn silent_at(&self, fetch: &Fetch) -> Option<Instant> {
        let config = &self.shared.config;
        fetch.waiting().next()?;
        // One that waits for its turn is looked after, too: the turn may never come.
        let last = fetch.last.unwrap_or(fetch.queued);
        let patience = if fetch.connecting { config.connect_timeout } else { config.silence };
        last.checked_add(patience)?.checked_add(self.lag)
    }

    fn on_timer(&mut self) {
        let (now, instant) = (self.now(), Instant::now());
        for band in &mut self.bands {
            if band.read.next_deadline().is_some_and(|(at, _)| at <= now) {
                band.read.handle(now, Input::Timeout);
            }
        }
        for index in 0..self.fetches.len() {
            let fetch = &self.fetches[index];
            if self.silent_at(fetch).is_none_or(|at| at > instant) {
                continue;
            }
            let detail = if fetch.last.is_none() {
                if !fetch.node.is_stuck() {
                    self.fetches[index].queued = instant;
                    continue;
                }
                STUCK.to_owned()
            } else if fetch.connecting {
                format!("no connection within {:?}", self.shared.config.connect_timeout)
            } else {
                format!("nothing came for {:?}", self.shared.config.silence)
            };
            warn!(file = %self.file.name, node = %fetch.node.label, cell = fetch.cell, "{detail}");
            let riders: SmallVec<[Rider; 2]> = fetch.waiting().copied().collect();
            for rider in riders {
                let band = &mut self.bands[rider.band];
                band.failures.push((rider.leg.cell, Failure::TimedOut, detail.clone()));
                band.read.handle(now, Input::GaveUp(rider.leg, Cause::Timeout));
            }
        }
    }

    /// Does what the reads say, until they say nothing more.
    async fn poll_bands(&mut self) {
        loop {
            let mut decodes: SmallVec<[(usize, CellSet, CellSet); 2]> = SmallVec::new();
            for index in 0..self.bands.len() {
                while let Some(output) = self.bands[index].read.poll_output() {
                    if let Output::Decode { wanted, sources } = output {
                        decodes.push((index, wanted, sources));
                    } else {
                        self.on_output(index, output);
                    }
                }
            }
            // Requests first: they work while this thread decodes.
            let failed = self.launch();
            if decodes.is_empty() && !failed {
                return;
            }
            for (index, wanted, sources) in decodes {
                let decoded = self.decode(index, wanted, sources).await;
                let now = self.now();
                self.bands[index].read.handle(now, Input::Decoded(decoded));
            }
        }
    }

    fn on_output(&mut self, index: usize, output: Output) {
        match output {
            Output::Tell(evidence) => self.shared.oversight.record(self.shared.now(), evidence),
            Output::Launch { leg, node, why } => self.launches.push(Launch { band: index, leg, node, why }),
            Output::Cancel(leg) => self.cancel(index, leg),
            Output::Finish(outcome) => self.bands[index].outcome = Some(outcome),
            Output::Petition(petition) => {
                let verdict = self.petition(index, &petition);
                let now = self.now();
                self.bands[index].read.handle(now, Input::Verdict { id: petition.id, verdict });
            }
            // Buffers are the window's own, and what a store holds is held by its leases.
            Output::Release(_) | Output::Plan { .. } | Output::Decode { .. } => {}
        }
    }

    /// Asks the governor, if there is memory for what it may grant.
    fn petition(&mut self, index: usize, petition: &hedge_core::Petition) -> Verdict {
        let (now, oversight) = (self.shared.now(), &self.shared.oversight);
        let bytes = self.file.widest(&self.bands[index].range).saturating_mul(u64::from(petition.cells));
        let verdict = match self.shared.memory.try_take(bytes) {
            Some(permit) => {
                let verdict = oversight.decide(now, petition);
                if matches!(verdict, Verdict::Grant { .. }) {
                    self.held.add(permit);
                }
                verdict
            }
            None => oversight.no_memory(now, petition),
        };
        let cell = match petition.subject {
            Subject::Late { leg, .. } => Some(leg.cell),
            Subject::Eager => None,
        };
        match verdict {
            Verdict::Grant { cells, .. } => {
                debug!(file = %self.file.name, ?cell, cells, "hedged");
                if cell.is_some() {
                    metrics::counter!("hedgerow_hedges_total").increment(1);
                }
                verdict
            }
            Verdict::Refuse { reason, retry_at } => {
                debug!(file = %self.file.name, ?cell, %reason, "not hedged");
                metrics::counter!("hedgerow_refused_total", "reason" => reason.name()).increment(1);
                // The governor's clock goes on while the window's stands still.
                let lag = Span::from(self.lag);
                let retry_at = retry_at.map(|at| {
                    hedge_core::Instant::ZERO + (at - hedge_core::Instant::ZERO).saturating_sub(lag)
                });
                Verdict::Refuse { reason, retry_at }
            }
        }
    }

    /// Joins the launches of this round that touch in one internal block, and begins their fetches.
    ///
    /// True if some of them failed at once.
    fn launch(&mut self) -> bool {
        if self.launches.is_empty() {
            return false;
        }
        let mut failed = false;
        let mut launches = std::mem::take(&mut self.launches);
        let place = |launch: &Launch| {
            let band = &self.bands[launch.band];
            (band.group, launch.leg.cell, band.range.start)
        };
        launches.sort_unstable_by_key(place);
        let mut rest = &launches[..];
        while let Some(first) = rest.first() {
            let (group, cell) = (self.bands[first.band].group, first.leg.cell);
            let mut range = self.file.widened(&self.groups[group], cell, &self.bands[first.band].range);
            let mut joined = 1;
            for next in &rest[1..] {
                let band = &self.bands[next.band];
                let wide = self.file.widened(&self.groups[group], cell, &band.range);
                let touches = (band.group, next.leg.cell) == (group, cell) && wide.start <= range.end;
                if !touches || next.node != first.node {
                    break;
                }
                range.end = range.end.max(wide.end);
                joined += 1;
            }
            let (fetch, after) = rest.split_at(joined);
            failed |= !self.fetch(group, cell, range, fetch);
            rest = after;
        }
        launches.clear();
        self.launches = launches;
        failed
    }

    /// False if there is nobody to ask.
    fn fetch(&mut self, group: usize, cell: u8, range: Range<u64>, launches: &[Launch]) -> bool {
        let (shared, file) = (self.shared, self.file);
        let counters = &shared.counters;
        count(&counters.legs, launches.len() as u64);
        let of = |why: &[Why]| launches.iter().filter(|launch| why.contains(&launch.why)).count() as u64;
        let (extra, degraded) = (of(&[Why::Hedge, Why::Eager]), of(&[Why::Degraded]));
        if extra + degraded > 0 {
            count(&counters.hedge_cells, extra);
            count(&counters.degraded_legs, degraded);
            metrics::counter!("hedgerow_extra_cells_total").increment(extra);
            metrics::counter!("hedgerow_degraded_cells_total").increment(degraded);
        }
        let number = self.groups[group].number;
        let Some(node) = launches.first().and_then(|launch| shared.node(launch.node)) else {
            // The map of cells names a node that the client does not have.
            let now = self.now();
            for launch in launches {
                let band = &mut self.bands[launch.band];
                band.failures.push((
                    cell,
                    Failure::Unreachable,
                    "its node is not one of the client's".to_owned(),
                ));
                band.read.handle(now, Input::Failed(launch.leg, Cause::Missing));
            }
            return false;
        };
        let index = self.fetches.len();
        let mut riders = SmallVec::new();
        for &Launch { band, leg, .. } in launches {
            let of = &mut self.bands[band];
            if let Some(slot) = of.fetch.get_mut(usize::from(cell)) {
                *slot = Some((index, leg));
            }
            let (start, end) = (of.range.start, of.range.end);
            riders.push(Rider { band, leg, start, end, state: Riding::Waiting });
        }
        let (gather, in_object) = match file.cells.records(number, cell) {
            Some(records) => {
                let in_object = records.in_object(&range);
                (Gather::Records(records.opener(range)), in_object)
            }
            None => {
                let room = usize::try_from(range.end - range.start).unwrap_or(0);
                (Gather::Bare { start: range.start, data: Vec::with_capacity(room) }, range)
            }
        };
        let holds = Holds {
            _alive: Some(Alive::request(shared)),
            _memory: Some(Arc::clone(&self.held)),
            node: Some(Arc::clone(&node)),
            ..Holds::default()
        };
        let length = in_object.end - in_object.start;
        let (leg, control) = Leg::new(index as u32, length, self.events.clone(), holds);
        let object = file.cells.object(number, cell);
        self.running.push(Some(request(
            Arc::clone(shared),
            Arc::clone(&node),
            object,
            in_object,
            leg,
            self.memory(degraded, length),
        )));
        self.fetches.push(Fetch::new(node, (group, cell, length), request_id(), riders, control, gather));
        true
    }

    /// What a fetch has to wait for: a leg that the read can't do without, and for which no memory is left, takes of the reserve.
    fn memory(&self, degraded: u64, length: u64) -> Option<Arc<Held>> {
        if degraded == 0 {
            return None;
        }
        match self.shared.memory.try_take(length) {
            Some(permit) => {
                self.held.add(permit);
                None
            }
            None => Some(Arc::clone(&self.held)),
        }
    }

    fn cancel(&mut self, band: usize, leg: LegId) {
        let of = self.bands[band].fetch.get(usize::from(leg.cell));
        let Some(index) =
            of.copied().flatten().filter(|&(_, current)| current == leg).map(|(index, _)| index)
        else {
            return;
        };
        let fetch = &mut self.fetches[index];
        if let Some(rider) = fetch.rider(band, leg).filter(|rider| rider.state == Riding::Waiting) {
            rider.state = Riding::Cancelled;
        }
        if fetch.waiting().next().is_none() {
            fetch.control.cancel();
            // Its leases say when it has stopped.
            self.running[index] = None;
            fetch.forget_unless_useful();
        }
    }

    /// Waits until something has happened, and takes it in.
    async fn wait(&mut self, due: Option<Instant>) -> Woken {
        if let Some(due) = due {
            match &mut self.timer {
                // A timer that fires too early is set anew then.
                Some(timer) if timer.deadline() > due || timer.is_elapsed() => timer.as_mut().reset(due),
                Some(_) => {}
                None => self.timer = Some(Box::pin(sleep_until(due))),
            }
        }
        poll_fn(|context| self.poll_wait(context, due)).await
    }

    fn poll_wait(&mut self, context: &mut Context<'_>, due: Option<Instant>) -> Poll<Woken> {
        let mut ended: SmallVec<[(usize, Result<(), Failed>); 8]> = SmallVec::new();
        for (index, slot) in self.running.iter_mut().enumerate() {
            if let Some(Poll::Ready(end)) = slot.as_mut().map(|work| work.as_mut().poll(context)) {
                *slot = None;
                ended.push((index, end));
            }
        }
        // What was said comes before the end: all of it was said by then.
        let mut told = !ended.is_empty();
        while let Ok(event) = self.happened.try_recv() {
            told = true;
            self.on_event(&event);
        }
        for (index, end) in ended {
            self.on_end(index, end);
        }
        if told {
            return Poll::Ready(Woken::Told);
        }
        // Only this asks to be woken by the next; it may have nothing to give while there is something, when the task has
        // used up its share of the runtime.
        if let Poll::Ready(Some(event)) = self.happened.poll_recv(context) {
            self.on_event(&event);
            return Poll::Ready(Woken::Told);
        }
        if let (Some(due), Some(timer)) = (due, &mut self.timer) {
            while timer.as_mut().poll(context).is_ready() {
                let now = Instant::now();
                if now >= due {
                    return Poll::Ready(Woken::Timer(now - due));
                }
                timer.as_mut().reset(due);
            }
        }
        Poll::Pending
    }

    fn on_event(&mut self, event: &Event) {
        let at = self.at(event.at);
        let Some(fetch) = self.fetches.get_mut(event.leg as usize) else { return };
        let bands = &mut self.bands;
        match &event.said {
            Said::Started => {
                let request = fetch.request;
                for rider in fetch.waiting() {
                    bands[rider.band].read.handle(at, Input::Started { leg: rider.leg, request });
                }
            }
            Said::Connecting => fetch.connecting = true,
            Said::Connected => {
                fetch.connecting = false;
                for rider in fetch.waiting() {
                    bands[rider.band].read.handle(at, Input::Connected(rider.leg));
                }
            }
            Said::Data(bytes) => {
                let (label, counters) = (Arc::clone(&fetch.node), &self.shared.counters);
                let (file, groups) = (&self.file.name, &self.groups);
                let (cell, group) = (fetch.cell, fetch.group);
                fetch.take(bytes, |arrival| match arrival {
                    Arrival::Delivered(rider) => {
                        bands[rider.band].read.handle(at, Input::Delivered(rider.leg));
                    }
                    Arrival::Corrupt(rider, bad) => {
                        count(&counters.bad_records, 1);
                        metrics::counter!("hedgerow_bad_records_total").increment(1);
                        warn!(%file, node = %label.label, group = groups[group].number, cell, "{bad}");
                        let band = &mut bands[rider.band];
                        band.failures.push((cell, Failure::Corrupt, bad.to_string()));
                        band.read.handle(at, Input::Failed(rider.leg, Cause::Corrupt));
                    }
                });
                for rider in fetch.waiting() {
                    bands[rider.band].read.handle(at, Input::Progress(rider.leg));
                }
            }
            Said::Stopped => {
                fetch.stopped = true;
                for rider in fetch.riders.iter_mut().filter(|rider| rider.state == Riding::Cancelled) {
                    rider.state = Riding::Ended;
                    bands[rider.band].read.handle(at, Input::Stopped(rider.leg));
                }
                return;
            }
        }
        fetch.last = Some(event.at);
    }

    /// A store's future has ended.
    fn on_end(&mut self, index: usize, end: Result<(), Failed>) {
        let now = self.now();
        let fetch = &mut self.fetches[index];
        let bands = &mut self.bands;
        let (cause, failure, detail) = match &end {
            Ok(()) => (INCOMPLETE, Failure::TooShort, "its store gave fewer bytes than it said".to_owned()),
            Err(failed) => (failed.kind.cause(), failed.kind, failed.to_string()),
        };
        let (node, file) = (&fetch.node.label, &self.file.name);
        if fetch.riders.iter().any(|rider| rider.state == Riding::Waiting) {
            debug!(%file, %node, cell = fetch.cell, "a request failed: {detail}");
            metrics::counter!("hedgerow_failed_requests_total", "failure" => failure.name()).increment(1);
        }
        fetch.end(|rider| {
            let band = &mut bands[rider.band];
            if rider.state == Riding::Cancelled {
                band.read.handle(now, Input::Stopped(rider.leg));
                return;
            }
            band.failures.push((rider.leg.cell, failure, detail.clone()));
            band.read.handle(now, Input::Failed(rider.leg, cause));
        });
        fetch.forget_unless_useful();
    }

    /// What became of the cells of a band that is lost.
    pub(super) fn lost(&self, index: usize) -> ReadError {
        let band = &self.bands[index];
        let group = &self.groups[band.group];
        let held = band.read.held() | band.zeros;
        let mut lost = Vec::new();
        for cell in (0..self.file.n).filter(|&cell| !held.contains(cell)) {
            let node = group.nodes.get(usize::from(cell)).and_then(|&node| self.shared.node(node));
            let failure = band.failures.iter().rev().find(|(of, ..)| *of == cell);
            let (failure, detail) = match failure {
                Some((_, failure, detail)) => (*failure, detail.clone()),
                None if group.missing.contains(cell) => {
                    (Failure::Missing, "its node was not given".to_owned())
                }
                // Neither tried nor needed.
                None => continue,
            };
            lost.push(LostCell { cell, node: node.map(|node| node.label.clone()), failure, detail });
        }
        ReadError::Lost {
            file: self.file.name.clone(),
            group: group.number,
            range: band.range.clone(),
            // Some of these were under way when it was clear that they would not suffice.
            found: usize::from(self.file.n).saturating_sub(lost.len()),
            needed: usize::from(self.file.k),
            lost,
        }
    }
}

enum Woken {
    /// Something was said, or has ended.
    Told,
    /// The timer fired, so much after it was due.
    Timer(Duration),
}

/// One request, from waiting for its turn to its end.
fn request(
    shared: Arc<Shared>,
    node: Arc<crate::client::Node>,
    object: String,
    range: Range<u64>,
    leg: Leg,
    memory: Option<Arc<Held>>,
) -> Work<()> {
    Box::pin(async move {
        let closed = || Failed::because(Failure::Cancelled, "the client is shut down");
        let (of_node, of_all) = match (try_turn(&node.requests), try_turn(&shared.requests)) {
            (Some(of_node), Some(of_all)) if memory.is_none() => (of_node, of_all),
            free => {
                drop(free);
                let _queued = Queued::new(&shared);
                if let Some(memory) = memory
                    && !memory.enter_reserve().await
                {
                    return Err(closed());
                }
                if node.is_stuck() {
                    return Err(Failed::because(Failure::Unreachable, STUCK));
                }
                // The node's turn first: a request that waits for a slow node must not keep others from theirs.
                let of_node = Arc::clone(&node.requests).acquire_owned().await.map_err(|_| closed())?;
                let of_all = Arc::clone(&shared.requests).acquire_owned().await.map_err(|_| closed())?;
                (of_node, of_all)
            }
        };
        let turn = Turn { _of_node: of_node, of_all: Some(of_all) };
        count(&shared.counters.requests, 1);
        leg.start(turn);
        node.store.read(&object, range, leg).await
    })
}

fn try_turn(turns: &Arc<tokio::sync::Semaphore>) -> Option<tokio::sync::OwnedSemaphorePermit> {
    Arc::clone(turns).try_acquire_owned().ok()
}

/// Counts as queued until it is dropped.
struct Queued<'a>(&'a Shared);

impl<'a> Queued<'a> {
    fn new(shared: &'a Shared) -> Self {
        count(&shared.counters.queued, 1);
        Self(shared)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.counters.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A window that is dropped, by its end or by its caller, stops what still runs, and tells the governor.
impl Drop for Window<'_> {
    fn drop(&mut self) {
        for (fetch, work) in self.fetches.iter().zip(&mut self.running) {
            if work.take().is_some() {
                fetch.control.cancel();
            }
        }
        // What hangs on goes on holding memory, but no more than it can hold.
        while let Ok(event) = self.happened.try_recv() {
            if let (Said::Stopped, Some(fetch)) = (event.said, self.fetches.get_mut(event.leg as usize)) {
                fetch.stopped = true;
            }
        }
        let hanging = self.fetches.iter().filter(|fetch| !fetch.stopped);
        self.held.shrink(hanging.fold(0, |sum, fetch| sum.saturating_add(fetch.length)));
        let now = self.now();
        for band in &mut self.bands {
            if !band.read.drained() {
                let _ = band
                    .read
                    .abandon(now, |evidence| self.shared.oversight.record(self.shared.now(), evidence));
            }
        }
    }
}
