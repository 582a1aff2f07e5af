//! `StripeRead`: one read of one byte range of one stripe. This file: its state, and what each input does to it.
//!
//! `decide.rs` draws the conclusions after an input, `outputs.rs` hands them out. There is no queue of outputs: each is derived
//! from the state of its cell, so that nothing can overflow.

mod decide;
mod outputs;
mod testing;

use core::ops::{Deref, DerefMut};

#[cfg(not(feature = "testing"))]
use testing::Fault;

use crate::{
    Cause, CellSet, CheckedPlan, Evidence, HedgeResult, Input, Instant, LegEnd, LegId, Mode, NodeId, Outcome,
    Output, Permit, PlanError, ReadPlan, Reason, RequestId, Span, Verdict, Why,
};

pub use outputs::Due;
#[cfg(feature = "testing")]
pub use testing::Fault;

/// One read of one byte range of one stripe: values in, values out, on the caller's clock.
///
/// It knows cells, not bytes: each of its legs reads the same range of another cell. Create it from a
/// [`ReadPlan`], do what [`poll_output`](StripeReadView::poll_output) says, and tell
/// [`handle`](StripeReadView::handle) what happens. The methods are those of [`StripeReadView`], to which this type derefs.
pub type StripeRead<const N: usize> = StripeReadInner<[Slot; N]>;

/// A [`StripeRead`] of any capacity, behind a reference: code that takes it is compiled once.
pub type StripeReadView = StripeReadInner<[Slot]>;

/// What [`StripeRead`] and [`StripeReadView`] have in common; `S` is the room for cells.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct StripeReadInner<S: ?Sized> {
    state: State,
    slots: S,
}

/// What a read knows of one cell: opaque, and here only because a read's size depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// When work on the leg began.
    start: Instant,
    /// Until the leg is late, its last sign of life; then when it may ask (again); once it has ended, when.
    mark: Instant,
    /// From start to open connection, rounded up; `NOT_CONNECTED` before.
    connect_micros: u32,
    node: NodeId,
    request: RequestId,
    /// Of the last grant to this cell as a straggler.
    epoch: u32,
    probe: Option<u8>,
    result: HedgeResult,
    /// What that grant cost so far, and how many of its legs may fail without harm.
    cells: u8,
    spares: u8,
    /// Of the leg that is in flight or planned: why, and for which straggler if it is a hedge.
    why: Why,
    grant: u8,
    attempt: u8,
    /// Launches that a read without hedges would have made, too.
    tries: u8,
    /// Of the leg that has to be told of.
    ended_why: Why,
    end: LegEnd,
    /// Whether its lateness has been reported, and whether it asks no more only until another leg ends.
    asked: bool,
    no_cells: bool,
    /// The cell that is the slot's number-th choice as a source.
    order: u8,
    /// Whether its node is not waited for, and whether it is suspected of being slow.
    avoid: bool,
    suspect: bool,
}

const NOT_CONNECTED: u32 = u32::MAX;

impl Slot {
    const NEW: Self = Self {
        start: Instant::ZERO,
        mark: Instant::ZERO,
        connect_micros: NOT_CONNECTED,
        node: NodeId::UNKNOWN,
        request: RequestId::NONE,
        epoch: 0,
        probe: None,
        result: HedgeResult::Unused,
        cells: 0,
        spares: 0,
        why: Why::Original,
        grant: 0,
        attempt: 0,
        tries: 0,
        ended_why: Why::Original,
        end: LegEnd::Cut,
        asked: false,
        no_cells: false,
        order: 0,
        avoid: false,
        suspect: false,
    };

    fn permit(&self) -> Permit {
        Permit { epoch: self.epoch, probe: self.probe }
    }
}

/// What a petition is about, and whether the executor has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Asking {
    about: About,
    polled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum About {
    Straggler(LegId),
    Eager,
}

/// A decode, to do or running; one without wanted cells is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Decode {
    wanted: CellSet,
    sources: CellSet,
}

impl Decode {
    const NONE: Self = Self { wanted: CellSet::EMPTY, sources: CellSet::EMPTY };

    fn exists(&self) -> bool {
        !self.wanted.is_empty()
    }
}

/// How many legs and hedges a read has had, for audits: `launched = delivered + failed + stopped + leased`, and
/// `hedges = won + lost + void + unused + open`. Counts stop at 65,535.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tally {
    /// Legs launched.
    pub launched: u16,
    /// Legs that ended with their cell.
    pub delivered: u16,
    /// Legs that ended with a failure.
    pub failed: u16,
    /// Legs that stopped.
    pub stopped: u16,
    /// Hedges begun by a grant.
    pub hedges: u16,
    /// Hedges won.
    pub won: u16,
    /// Hedges lost.
    pub lost: u16,
    /// Hedges void.
    pub void: u16,
    /// Hedges of which nothing was launched.
    pub unused: u16,
    /// Inputs that were about nothing: a leg that has ended, a petition that was answered.
    pub ignored: u16,
}

/// Counts one more, up to the most that fits.
fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}

impl Tally {
    const NONE: Self = Self {
        launched: 0,
        delivered: 0,
        failed: 0,
        stopped: 0,
        hedges: 0,
        won: 0,
        lost: 0,
        void: 0,
        unused: 0,
        ignored: 0,
    };
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    now: Instant,
    finished_at: Instant,
    /// `Instant::MAX` is never, as `Span::MAX` below.
    deadline: Instant,
    late: Span,
    late_hedge: Span,
    late_suspect: Span,
    stall: Span,
    retry_floor: Span,

    wanted: CellSet,
    zero: CellSet,
    /// Delivered, or zeros.
    held: CellSet,
    /// Missing or corrupt: never to be had.
    erased: CellSet,
    /// Failed in a way that may pass.
    soft: CellSet,
    /// Planned or launched, and neither ended nor given up.
    flying: CellSet,
    /// Launched and not ended: something may write to the leg's buffer.
    leased: CellSet,
    /// Work on the leg in flight has begun.
    started: CellSet,
    /// Late legs.
    late_legs: CellSet,
    /// Stragglers with a live grant.
    hedged: CellSet,
    /// Stragglers that ask no more.
    refused: CellSet,
    /// Cells of legs that were granted and whose work has not begun.
    charged: CellSet,
    /// Those of them whose hedge is settled: what becomes of them is not on the account of the straggler's next hedge.
    settled: CellSet,
    /// Cells of granted legs whose work has begun.
    extra: CellSet,

    to_launch: CellSet,
    to_cancel: CellSet,
    to_release: CellSet,
    to_tell: CellSet,
    to_settle: CellSet,
    to_save: CellSet,

    decode: Decode,
    /// The hint last given.
    hint: (CellSet, CellSet),
    asking: Option<Asking>,
    outcome: Option<Outcome>,

    k: u8,
    n: u8,
    size_class: u8,
    spare: u8,
    max_tries: u8,
    /// How many legs more than k to start with: asked for once.
    eager: u8,
    petition_id: u8,
    refund: u8,
    wasted: u8,
    connect_counts: bool,
    hedging: bool,
    dry_run: bool,
    hints: bool,
    decode_polled: bool,
    to_hint: bool,
    to_finish: bool,
    to_report: bool,
    /// A decode failed: only the wanted cells themselves can help.
    no_decode: bool,
    tally: Tally,
    #[cfg(feature = "testing")]
    fault: Option<Fault>,
}

impl State {
    const NEW: Self = Self {
        now: Instant::ZERO,
        finished_at: Instant::ZERO,
        deadline: Instant::MAX,
        late: Span::MAX,
        late_hedge: Span::MAX,
        late_suspect: Span::MAX,
        stall: Span::MAX,
        retry_floor: Span::from_nanos(1),
        wanted: CellSet::EMPTY,
        zero: CellSet::EMPTY,
        held: CellSet::EMPTY,
        erased: CellSet::EMPTY,
        soft: CellSet::EMPTY,
        flying: CellSet::EMPTY,
        leased: CellSet::EMPTY,
        started: CellSet::EMPTY,
        late_legs: CellSet::EMPTY,
        hedged: CellSet::EMPTY,
        refused: CellSet::EMPTY,
        charged: CellSet::EMPTY,
        settled: CellSet::EMPTY,
        extra: CellSet::EMPTY,
        to_launch: CellSet::EMPTY,
        to_cancel: CellSet::EMPTY,
        to_release: CellSet::EMPTY,
        to_tell: CellSet::EMPTY,
        to_settle: CellSet::EMPTY,
        to_save: CellSet::EMPTY,
        decode: Decode::NONE,
        hint: (CellSet::EMPTY, CellSet::EMPTY),
        asking: None,
        outcome: None,
        k: 0,
        n: 0,
        size_class: 0,
        spare: 0,
        max_tries: 0,
        eager: 0,
        petition_id: 0,
        refund: 0,
        wasted: 0,
        connect_counts: true,
        hedging: false,
        dry_run: false,
        hints: false,
        decode_polled: false,
        to_hint: false,
        to_finish: false,
        to_report: false,
        no_decode: false,
        tally: Tally::NONE,
        #[cfg(feature = "testing")]
        fault: None,
    };
}

impl<const N: usize> StripeRead<N> {
    const NEW: Self = Self { state: State::NEW, slots: [Slot::NEW; N] };

    /// A read that begins at `now`.
    ///
    /// # Errors
    ///
    /// What [`ReadPlan::check`] says.
    #[inline]
    pub fn new(now: Instant, plan: &ReadPlan<N>) -> Result<Self, PlanError> {
        plan.checked().map(|plan| Self::begin(now, plan))
    }

    /// A read that begins at `now`, from a plan that was checked. It comes back by itself and not in a `Result`, which spares
    /// moving it about: a quarter of the time that an unhedged read takes.
    #[must_use]
    #[inline]
    pub fn begin(now: Instant, plan: CheckedPlan<'_, N>) -> Self {
        // The compiler puts a constant where it belongs; a literal with all the plan's values it would build elsewhere and move.
        let mut read = Self::NEW;
        read.set_up(now, plan.get());
        read
    }

    fn set_up(&mut self, now: Instant, plan: &ReadPlan<N>) {
        for ((slot, &node), &order) in self.slots.iter_mut().zip(&plan.node).zip(&plan.order) {
            slot.node = node;
            slot.order = order;
        }
        for cell in plan.avoid {
            self.slot_mut(cell).avoid = true;
        }
        for cell in plan.suspect {
            self.slot_mut(cell).suspect = true;
        }
        let state = &mut self.state;
        state.now = now;
        state.k = plan.k;
        state.n = plan.n;
        state.wanted = plan.wanted;
        state.zero = plan.zero;
        state.held = plan.zero;
        state.erased = plan.missing;
        state.deadline = plan.deadline.unwrap_or(Instant::MAX);
        state.size_class = plan.size_class;
        state.spare = plan.spare;
        state.max_tries = plan.max_tries;
        state.hints = plan.hints;
        if plan.mode != Mode::Off {
            let clocks = &plan.clocks;
            state.hedging = true;
            state.dry_run = plan.mode == Mode::DryRun;
            state.eager = if let Mode::Eager(extra) = plan.mode { extra } else { 0 };
            state.late = clocks.late.unwrap_or(Span::MAX);
            state.late_hedge = clocks.late_hedge.unwrap_or(state.late);
            state.late_suspect = clocks.late_suspect.unwrap_or(state.late);
            state.stall = clocks.stall.unwrap_or(Span::MAX);
            state.retry_floor = clocks.retry_floor.max(Span::from_nanos(1));
            state.connect_counts = clocks.connect_counts;
        }
        for cell in plan.wanted - plan.zero - plan.missing - plan.avoid {
            self.plan_leg(cell, Why::Original, 0);
        }
        self.settle(false);
    }
}

impl<const N: usize> Clone for StripeRead<N> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), slots: self.slots }
    }
}

impl<const N: usize> Deref for StripeRead<N> {
    type Target = StripeReadView;
    #[inline]
    fn deref(&self) -> &StripeReadView {
        self
    }
}

impl<const N: usize> DerefMut for StripeRead<N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut StripeReadView {
        self
    }
}

impl StripeReadView {
    /// Takes an input: what happened at `now`. Legal at any time, also between two polls; poll afterwards.
    ///
    /// At one instant inputs count before the clock: lateness and the deadline act on [`Input::Timeout`] (and the deadline
    /// on any input later than it). A `now` before an earlier one counts as that one.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.state.now = self.state.now.max(now);
        let mut timeout = false;
        match input {
            Input::Started { leg, request }
                if self.is_live(leg) && !self.state.started.contains(leg.cell) =>
            {
                return self.started(leg.cell, request);
            }
            Input::Connected(leg) if self.is_running(leg) => {
                let (now, slot) = (self.state.now, self.slot_mut(leg.cell));
                if slot.connect_micros == NOT_CONNECTED {
                    let micros = (now - slot.start).as_nanos().div_ceil(1_000);
                    slot.connect_micros = micros.min(u64::from(NOT_CONNECTED - 1)) as u32;
                }
                return self.progressed(leg.cell);
            }
            Input::Progress(leg) if self.is_running(leg) => return self.progressed(leg.cell),
            Input::Delivered(leg) if self.is_live(leg) => self.delivered(leg.cell),
            Input::Failed(leg, cause) if self.is_live(leg) => {
                count(&mut self.state.tally.failed);
                self.ended(leg.cell, cause);
            }
            Input::Stopped(leg) if self.is_live(leg) => {
                count(&mut self.state.tally.stopped);
                self.ended(leg.cell, Cause::Cancelled);
            }
            Input::GaveUp(leg, cause) if self.is_live(leg) && self.state.flying.contains(leg.cell) => {
                self.state.to_cancel.insert(leg.cell);
                self.lose(leg.cell, cause);
            }
            Input::Verdict { id, verdict } if self.state.petition_id == id && self.is_owed_a_verdict() => {
                self.judged(verdict);
            }
            Input::Decoded(ok) if self.state.decode.exists() && self.state.decode_polled => self.decoded(ok),
            Input::Timeout => timeout = true,
            Input::Abort if self.state.outcome.is_none() => self.finish(Outcome::Aborted),
            _ => {
                count(&mut self.state.tally.ignored);
                return;
            }
        }
        self.settle(timeout);
    }

    /// Whether the read is over and nothing of it is under way: no leg, no decode, no petition. It may be dropped
    /// once [`poll_output`](Self::poll_output) has returned `None`.
    #[must_use]
    pub fn drained(&self) -> bool {
        self.state.outcome.is_some()
            && self.state.leased.is_empty()
            && !self.state.decode.exists()
            && self.state.asking.is_none()
    }

    /// Cells whose buffers a leg may still write to.
    #[must_use]
    pub fn leased(&self) -> CellSet {
        self.state.leased
    }

    /// Cells that were delivered or are zeros; meaningful until the read is over.
    #[must_use]
    pub fn held(&self) -> CellSet {
        self.state.held
    }

    /// Cells with a leg planned or in flight. Legs that the executor gave up don't count.
    #[must_use]
    pub fn in_flight(&self) -> CellSet {
        self.state.flying
    }

    /// How the read ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.outcome
    }

    /// How many legs and hedges there have been.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.state.tally
    }

    /// Stragglers with a live grant.
    #[must_use]
    pub fn hedged(&self) -> CellSet {
        self.state.hedged
    }

    /// Ends the read for an executor that drops it: passes on what the governor has to know, and returns what the
    /// executor must see to by itself.
    ///
    /// Should the verdict that is still owed be a grant, the executor gives it back: [`Evidence::Refund`] of all its cells, and
    /// for a late leg [`Evidence::Hedge`] with [`HedgeResult::Unused`].
    pub fn abandon(&mut self, now: Instant, mut record: impl FnMut(Evidence)) -> Abandoned {
        // Nobody will tell of these legs any more, and nobody will start them.
        for cell in self.state.charged {
            self.refund_leg(cell);
        }
        self.handle(now, Input::Abort);
        while let Some(output) = self.poll_output() {
            if let Output::Tell(evidence) = output {
                record(evidence);
            }
        }
        Abandoned {
            leased: self.state.leased,
            decoding: self.state.decode.sources - self.state.zero,
            owed: self.is_owed_a_verdict().then_some(self.state.petition_id),
        }
    }

    fn slot(&self, cell: u8) -> &Slot {
        &self.slots[usize::from(cell)]
    }

    fn slot_mut(&mut self, cell: u8) -> &mut Slot {
        &mut self.slots[usize::from(cell)]
    }

    fn leg(&self, cell: u8) -> LegId {
        LegId { cell, attempt: self.slot(cell).attempt }
    }

    /// Whether this very leg was launched and has not ended.
    fn is_live(&self, leg: LegId) -> bool {
        self.state.leased.contains(leg.cell) && self.slot(leg.cell).attempt == leg.attempt
    }

    fn is_running(&self, leg: LegId) -> bool {
        self.is_live(leg) && self.state.started.contains(leg.cell)
    }

    fn is_owed_a_verdict(&self) -> bool {
        self.state.asking.is_some_and(|asking| asking.polled)
    }

    fn started(&mut self, cell: u8, request: RequestId) {
        let now = self.state.now;
        self.state.started.insert(cell);
        if self.state.charged.contains(cell) {
            self.state.charged.remove(cell);
            self.state.extra.insert(cell);
        }
        let slot = self.slot_mut(cell);
        slot.start = now;
        slot.mark = now;
        slot.request = request;
        slot.connect_micros = NOT_CONNECTED;
    }

    /// A sign of life. It does not make a late leg punctual.
    fn progressed(&mut self, cell: u8) {
        if self.state.flying.contains(cell) && !self.state.late_legs.contains(cell) {
            self.slot_mut(cell).mark = self.state.now;
        }
    }

    fn delivered(&mut self, cell: u8) {
        count(&mut self.state.tally.delivered);
        let in_time = self.state.flying.contains(cell);
        if self.state.charged.contains(cell) {
            // Delivered, so work was done, whatever was said of its beginning.
            self.state.charged.remove(cell);
            self.state.extra.insert(cell);
        }
        self.end(cell);
        if let Some(outcome) = self.state.outcome {
            let beaten = matches!(outcome, Outcome::Ok { decoded, .. } if decoded.contains(cell));
            if beaten && self.state.started.contains(cell) {
                self.slot_mut(cell).mark = self.state.now;
                self.state.to_save.insert(cell);
            }
            self.state.to_release.insert(cell);
        } else if in_time {
            if self.state.hedged.contains(cell) {
                self.ask_again_for_cells();
            }
            self.tell(cell, LegEnd::Delivered);
            self.state.flying.remove(cell);
            self.state.held.insert(cell);
        } else if self.state.erased.contains(cell) {
            self.state.to_release.insert(cell);
        } else {
            // Given up too early: a cell is a cell.
            self.state.soft.remove(cell);
            self.state.held.insert(cell);
            self.ask_again_for_cells();
        }
    }

    /// The leg's writer is gone, and the cell did not come.
    fn ended(&mut self, cell: u8, cause: Cause) {
        self.end(cell);
        self.state.to_release.insert(cell);
        if self.state.charged.contains(cell) {
            self.refund_leg(cell);
        }
        if self.state.outcome.is_some() {
            return;
        }
        if self.state.flying.contains(cell) {
            self.lose(cell, cause);
        } else if cause.erases() {
            self.state.soft.remove(cell);
            self.state.erased.insert(cell);
        }
    }

    fn end(&mut self, cell: u8) {
        self.state.leased.remove(cell);
        self.state.to_cancel.remove(cell);
    }

    /// A granted leg cost nothing, because work on it never began.
    fn refund_leg(&mut self, cell: u8) {
        if !self.seeded(Fault::KeepsTheRefund) {
            self.state.refund = self.state.refund.saturating_add(1);
        }
        let straggler = self.slot(cell).grant;
        if self.is_charged_to(cell, straggler) && self.state.hedged.contains(straggler) {
            let slot = self.slot_mut(straggler);
            slot.cells = slot.cells.saturating_sub(1);
        }
        self.state.charged.remove(cell);
    }

    /// Whether this leg, on which no work began, is on the account of the straggler's hedge that is not settled.
    fn is_charged_to(&self, cell: u8, straggler: u8) -> bool {
        let slot = self.slot(cell);
        (self.state.charged - self.state.settled).contains(cell)
            && slot.why == Why::Hedge
            && slot.grant == straggler
    }

    /// The leg in flight is to be told of.
    fn tell(&mut self, cell: u8, end: LegEnd) {
        let now = self.state.now;
        let slot = self.slot_mut(cell);
        slot.end = end;
        slot.ended_why = slot.why;
        slot.mark = now;
        if self.state.started.contains(cell) {
            self.state.to_tell.insert(cell);
        }
    }

    /// The leg in flight will not bring its cell.
    fn lose(&mut self, cell: u8, cause: Cause) {
        self.tell(cell, LegEnd::Failed(cause));
        self.state.flying.remove(cell);
        if cause.erases()
            || (self.seeded(Fault::HedgeFailureSpendsTheCell) && self.slot(cell).why == Why::Hedge)
        {
            self.state.erased.insert(cell);
        } else {
            self.state.soft.insert(cell);
        }
        let Slot { why, grant, .. } = *self.slot(cell);
        if why == Why::Hedge && self.state.hedged.contains(grant) {
            let straggler = self.slot_mut(grant);
            match straggler.spares.checked_sub(1) {
                Some(left) => straggler.spares = left,
                None => self.void(grant),
            }
        }
        self.ask_again_for_cells();
    }

    /// The straggler's hedge can't complete any more: it may ask for another at once.
    fn void(&mut self, straggler: u8) {
        self.state.hedged.remove(straggler);
        self.settle_hedge(straggler, HedgeResult::Void);
        for cell in self.state.charged {
            if self.is_charged_to(cell, straggler) {
                self.state.settled.insert(cell);
            }
        }
        if (self.state.flying & self.state.late_legs).contains(straggler) {
            self.slot_mut(straggler).mark = self.state.now;
        }
    }

    fn settle_hedge(&mut self, straggler: u8, result: HedgeResult) {
        let tally = &mut self.state.tally;
        count(match result {
            HedgeResult::Won => &mut tally.won,
            HedgeResult::Lost => &mut tally.lost,
            HedgeResult::Void => &mut tally.void,
            HedgeResult::Unused => &mut tally.unused,
        });
        if result != HedgeResult::Won {
            // Legs that have not begun may yet be refunded: what is settled can't be.
            let idle = self.state.charged.iter().filter(|&cell| self.is_charged_to(cell, straggler));
            let idle = idle.count() as u8;
            let slot = self.slot_mut(straggler);
            slot.cells = slot.cells.saturating_sub(idle);
        }
        self.slot_mut(straggler).result = result;
        self.state.to_settle.insert(straggler);
    }

    /// "No cells" is an answer about its moment, and the moment has passed.
    fn ask_again_for_cells(&mut self) {
        for cell in self.state.refused {
            if self.slot(cell).no_cells {
                self.state.refused.remove(cell);
            }
        }
    }

    fn judged(&mut self, verdict: Verdict) {
        let Some(asking) = self.state.asking.take() else { return };
        match (asking.about, verdict) {
            (About::Eager, Verdict::Grant { cells, .. }) => {
                let wish = if self.may_launch() { self.eager_cells().min(cells) } else { 0 };
                let launched = self.launch_granted(wish, Why::Eager, 0);
                self.state.refund = self.state.refund.saturating_add(cells - launched);
                self.state.eager = 0;
            }
            (About::Eager, Verdict::Refuse { .. }) => self.state.eager = 0,
            (About::Straggler(leg), Verdict::Grant { cells, permit }) => self.granted(leg, cells, permit),
            (About::Straggler(leg), Verdict::Refuse { reason, retry_at }) => {
                if !self.is_straggling(leg) {
                    return;
                }
                let cell = leg.cell;
                if let Some(at) = retry_at {
                    self.ask_again_at(cell, at);
                } else {
                    self.state.refused.insert(cell);
                    self.slot_mut(cell).no_cells = reason == Reason::NoCells;
                }
            }
        }
    }

    /// Whether this leg is in flight and late. A later leg to the same cell is another.
    fn is_straggling(&self, leg: LegId) -> bool {
        (self.state.flying & self.state.late_legs).contains(leg.cell)
            && (leg == self.leg(leg.cell) || self.seeded(Fault::AnswersTheNextLeg))
    }

    fn granted(&mut self, leg: LegId, cells: u8, permit: Permit) {
        let cell = leg.cell;
        let late = self.is_straggling(leg);
        let cost = if late && self.may_launch() { self.cost(cell) } else { (0, 0) };
        let (need, spare) = cost;
        let affordable = if need <= cells { need + spare.min(cells - need) } else { 0 };
        let launched = if affordable > 0 { self.launch_granted(affordable, Why::Hedge, cell) } else { 0 };
        self.state.refund = self.state.refund.saturating_add(cells - launched);
        count(&mut self.state.tally.hedges);
        let slot = self.slot_mut(cell);
        slot.epoch = permit.epoch;
        slot.probe = permit.probe;
        slot.cells = launched;
        slot.spares = launched.saturating_sub(need);
        if launched > 0 {
            self.state.hedged.insert(cell);
        } else {
            if late {
                self.ask_again_at(cell, Instant::ZERO);
            }
            self.settle_hedge(cell, HedgeResult::Unused);
        }
    }

    /// Puts a late leg off until then, and at least for the floor; at the end of the clock, for good.
    fn ask_again_at(&mut self, cell: u8, at: Instant) {
        let floor = self.state.now + self.state.retry_floor;
        let at = if self.seeded(Fault::NoRetryFloor) { at } else { at.max(floor) };
        if at == Instant::MAX {
            self.state.refused.insert(cell);
            self.slot_mut(cell).no_cells = false;
        } else {
            self.slot_mut(cell).mark = at;
        }
    }

    fn decoded(&mut self, ok: bool) {
        let decode = core::mem::replace(&mut self.state.decode, Decode::NONE);
        if self.state.outcome.is_none() {
            if ok {
                let decoded = decode.wanted - self.state.held;
                let delivered = self.state.wanted & self.state.held;
                self.state.wasted = (self.state.extra - decode.sources - delivered).len();
                self.finish(Outcome::Ok { delivered, decoded });
            } else {
                self.state.no_decode = true;
            }
        } else {
            self.state.to_release |= decode.sources - self.kept() - self.state.zero;
        }
    }

    /// Buffers that an Ok read hands to its caller.
    fn kept(&self) -> CellSet {
        match self.state.outcome {
            Some(Outcome::Ok { delivered, .. }) => delivered - self.state.zero,
            _ => CellSet::EMPTY,
        }
    }
}

/// What an executor that dropped a read has to see to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Abandoned {
    /// Cells whose buffers a leg may still write to: stop it and wait for it before they are used again.
    pub leased: CellSet,
    /// Cells whose buffers the running decode reads: wait for it before they are used again.
    pub decoding: CellSet,
    /// The petition whose verdict is still owed.
    pub owed: Option<u8>,
}
