//! Who answers the petitions of a client's reads: the governor of the hedge core, or one of those it is compared with.

use hdrhistogram::Histogram;
use hedge_core::{
    Config, Evidence, Governor, GovernorView, Instant, LegEnd, Mode, Permit, Petition, ReadPlan, Reason,
    Span, Subject, Threshold, Verdict, Why,
};

use crate::{Kind, Policy};

/// One client's decider.
pub(super) enum Decider {
    /// Nothing is hedged.
    None,
    /// The governor of the hedge core.
    Core(Box<GovernorView<1>>),
    /// A rule of others.
    Other(Box<Other>),
}

/// The rules of others: late at a quantile of what was seen, one hedge a read, some of them with a token bucket.
pub(super) struct Other {
    quantile: f64,
    least: u64,
    period: u64,
    rotated: u64,
    /// What is written to, and what is read from.
    current: Histogram<u64>,
    previous: Histogram<u64>,
    late: Option<Span>,
    /// Whether whole reads are seen; else legs that came.
    whole_reads: bool,
    bucket: Option<Bucket>,
}

/// Tokens: a share for each read, of the last ten seconds.
struct Bucket {
    share: f64,
    second: u64,
    put: [f64; 10],
    taken: [f64; 10],
}

impl Bucket {
    fn turn(&mut self, now: Instant) -> usize {
        let second = now.as_nanos() / 1_000_000_000;
        for gone in self.second + 1..=second.min(self.second + 10) {
            let slot = (gone % 10) as usize;
            (self.put[slot], self.taken[slot]) = (0.0, 0.0);
        }
        self.second = self.second.max(second);
        (self.second % 10) as usize
    }

    fn put(&mut self, now: Instant) {
        let slot = self.turn(now);
        self.put[slot] += self.share;
    }

    fn take(&mut self, now: Instant) -> bool {
        let slot = self.turn(now);
        let left = self.put.iter().sum::<f64>() - self.taken.iter().sum::<f64>();
        let enough = left >= 1.0;
        if enough {
            self.taken[slot] += 1.0;
        }
        enough
    }
}

impl Decider {
    /// A decider for reads of `nodes` nodes.
    pub(super) fn new(policy: &Policy, nodes: u32) -> Self {
        match &policy.kind {
            Kind::None => Self::None,
            Kind::Core(config) => Self::Core(governor(config, nodes)),
            &Kind::Quantile { quantile, samples, period_s } => {
                Self::Other(Box::new(Other::new(quantile, samples, period_s, false, None)))
            }
            &Kind::Backup { share } => {
                let bucket = Bucket { share, second: 0, put: [0.0; 10], taken: [0.0; 10] };
                Self::Other(Box::new(Other::new(1.0 - share, 100, 30.0, true, Some(bucket))))
            }
        }
    }

    #[inline]
    pub(super) fn prepare<const N: usize>(&mut self, now: Instant, plan: &mut ReadPlan<N>) {
        match self {
            Self::None => plan.mode = Mode::Off,
            Self::Core(governor) => governor.prepare(now, plan),
            Self::Other(other) => {
                other.turn(now);
                plan.clocks.late = other.late;
                // One hedge a read: its legs are never late.
                plan.clocks.late_hedge = Some(Span::MAX);
            }
        }
    }

    pub(super) fn decide(&mut self, now: Instant, petition: &Petition) -> Verdict {
        match self {
            Self::None => Verdict::Refuse { reason: Reason::Off, retry_at: None },
            Self::Core(governor) => governor.decide(now, petition),
            Self::Other(other) => other.decide(now, petition),
        }
    }

    #[inline]
    pub(super) fn record(&mut self, now: Instant, evidence: &Evidence) {
        match self {
            Self::None => {}
            Self::Core(governor) => governor.record(now, evidence),
            Self::Other(other) => other.record(now, evidence),
        }
    }

    /// A read took so long.
    #[inline]
    pub(super) fn finished(&mut self, now: Instant, took: u64) {
        if let Self::Other(other) = self {
            if let Some(bucket) = &mut other.bucket {
                bucket.put(now);
            }
            if other.whole_reads {
                other.saw(now, took);
            }
        }
    }

    /// How often a breaker opened.
    pub(super) fn opened(&mut self, now: Instant) -> u64 {
        match self {
            Self::Core(governor) => {
                let counters = governor.snapshot(now).counters;
                counters.trips_impaired + counters.trips_useless
            }
            Self::None | Self::Other(_) => 0,
        }
    }

    /// When a leg is late now.
    pub(super) fn threshold(&mut self, now: Instant) -> Option<Span> {
        match self {
            Self::None => None,
            Self::Core(governor) => governor.snapshot(now).threshold[0],
            Self::Other(other) => other.late,
        }
    }

    /// When a healthy leg is late as far as is known now; `None` if more than that has to be looked at. `Some(None)`: never.
    pub(super) fn plain<const N: usize>(&mut self, now: Instant, plan: &ReadPlan<N>) -> Option<Option<Span>> {
        match self {
            Self::None => Some(None),
            Self::Core(governor) => {
                let mut plan = *plan;
                if !governor.outlook(now).prepare(&mut plan) || matches!(plan.mode, Mode::Eager(_)) {
                    return None;
                }
                let clocks = &plan.clocks;
                let first = clocks.late.unwrap_or(Span::MAX).min(clocks.stall.unwrap_or(Span::MAX));
                Some(Some(first).filter(|&first| plan.mode != Mode::Off && first < Span::MAX))
            }
            Self::Other(other) => {
                other.turn(now);
                Some(other.late)
            }
        }
    }
}

/// Whether a configuration decides the same whatever is seen of reads that are not late: then these need not be simulated. If so, when a
/// leg is late.
pub(super) fn blind(config: &Config) -> Option<Span> {
    let Threshold::Fixed(late) = config.threshold else { return None };
    let blind = config.budget.is_none()
        && config.breaker.useful.is_none()
        && config.breaker.max_impaired_percent == 0
        && config.impaired.legs == 1
        && config.impaired.share_percent == 0
        && !config.health.demote
        && config.health.limit == u16::MAX;
    blind.then_some(config.stall.map_or(late, |stall| stall.min(late)))
}

#[expect(clippy::expect_used, reason = "policies are checked when they are made")]
fn governor(config: &Config, nodes: u32) -> Box<GovernorView<1>> {
    fn sized<const NODES: usize>(config: &Config) -> Box<GovernorView<1>> {
        Box::new(Governor::<NODES, 1>::new(*config).expect("a configuration that was checked"))
    }
    match nodes {
        0..=16 => sized::<16>(config),
        17..=128 => sized::<128>(config),
        _ => sized::<1024>(config),
    }
}

impl Other {
    fn new(quantile: f64, least: u64, period_s: f64, whole_reads: bool, bucket: Option<Bucket>) -> Self {
        #[expect(clippy::expect_used, reason = "constants")]
        let empty = Histogram::new_with_bounds(1, 1 << 33, 2).expect("bounds that are legal");
        Self {
            quantile,
            least,
            period: ((period_s * 1e9) as u64).max(1),
            rotated: 0,
            current: empty.clone(),
            previous: empty,
            late: None,
            whole_reads,
            bucket,
        }
    }

    fn turn(&mut self, now: Instant) {
        let number = now.as_nanos() / self.period;
        if number == self.rotated {
            return;
        }
        if number == self.rotated + 1 {
            std::mem::swap(&mut self.current, &mut self.previous);
        } else {
            self.previous.reset();
        }
        self.current.reset();
        self.rotated = number;
        let known = self.previous.len() >= self.least.max(1);
        self.late = known.then(|| Span::from_micros(self.previous.value_at_quantile(self.quantile)));
    }

    fn saw(&mut self, now: Instant, took: u64) {
        self.turn(now);
        self.current.saturating_record(took.div_ceil(1_000));
    }

    fn record(&mut self, now: Instant, evidence: &Evidence) {
        if let Evidence::Leg { took, end: LegEnd::Delivered, .. } = *evidence
            && !self.whole_reads
        {
            self.saw(now, took.as_nanos());
        }
    }

    fn decide(&mut self, now: Instant, petition: &Petition) -> Verdict {
        let refuse = |reason| Verdict::Refuse { reason, retry_at: None };
        if petition.cells == 0 || !matches!(petition.subject, Subject::Late { why: Why::Original, .. }) {
            return refuse(Reason::NoCells);
        }
        if let Some(bucket) = &mut self.bucket
            && !bucket.take(now)
        {
            return refuse(Reason::Budget);
        }
        Verdict::Grant { cells: petition.cells, permit: Permit::default() }
    }
}
