//! A client with a governor and a clock, for the tests of the governor.
#![allow(dead_code, reason = "each test takes what it needs")]

use hedge_core::{
    BreakerState, Config, Evidence, Governor, HedgeResult, Instant, LegEnd, LegId, NodeId, Permit, Petition,
    Reason, RequestId, Snapshot, Span, Subject, Verdict, Why,
};

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) governor: Box<Governor<9>>,
    pub(crate) now: Instant,
}

/// What is asked for the first time that a leg to this node is late: six cells.
pub(crate) fn petition(node: u32) -> Petition {
    Petition {
        id: 1,
        subject: Subject::Late {
            leg: LegId { cell: 0, attempt: 1 },
            node: NodeId(node),
            why: Why::Original,
            request: RequestId::NONE,
            again: false,
        },
        cells: 6,
        size_class: 0,
        deadline: None,
        dry_run: false,
    }
}

/// What is asked when such a leg asks again.
pub(crate) fn petition_again(node: u32) -> Petition {
    let mut petition = petition(node);
    if let Subject::Late { again, .. } = &mut petition.subject {
        *again = true;
    }
    petition
}

pub(crate) fn eager(cells: u8) -> Petition {
    Petition { subject: Subject::Eager, cells, ..petition(0) }
}

impl Client {
    pub(crate) fn new(config: Config) -> Self {
        Self { governor: Box::new(Governor::new(config).unwrap()), now: Instant::from_millis(10_000) }
    }

    pub(crate) fn wait(&mut self, span: Span) {
        self.now += span;
    }

    pub(crate) fn ask(&mut self, petition: &Petition) -> Verdict {
        self.governor.decide(self.now, petition)
    }

    #[track_caller]
    pub(crate) fn granted_to(&mut self, petition: &Petition) -> Permit {
        match self.ask(petition) {
            Verdict::Grant { cells, permit } => {
                assert_eq!(cells, petition.cells);
                permit
            }
            Verdict::Refuse { reason, .. } => panic!("refused: {reason:?}"),
        }
    }

    /// A leg to the node is late, and may be hedged.
    #[track_caller]
    pub(crate) fn granted(&mut self, node: u32) -> Permit {
        self.granted_to(&petition(node))
    }

    #[track_caller]
    pub(crate) fn refused_to(&mut self, petition: &Petition) -> (Reason, Option<Instant>) {
        match self.ask(petition) {
            Verdict::Grant { .. } => panic!("granted"),
            Verdict::Refuse { reason, retry_at } => {
                assert!(retry_at.is_none_or(|at| at > self.now), "{retry_at:?} has come already");
                (reason, retry_at)
            }
        }
    }

    /// A leg to the node is late, and may not be hedged.
    #[track_caller]
    pub(crate) fn refused(&mut self, node: u32) -> Reason {
        self.refused_to(&petition(node)).0
    }

    pub(crate) fn settled(&mut self, permit: Permit, cells: u8, result: HedgeResult) {
        self.governor.record(self.now, &Evidence::Hedge { permit, cells, result });
    }

    /// Reads of so many cells in all finished well.
    pub(crate) fn read(&mut self, mut cells: u32) {
        while cells > 0 {
            let part = cells.min(200) as u8;
            self.governor.record(self.now, &Evidence::Read { cells: part, wasted: 0, ok: true });
            cells -= u32::from(part);
        }
    }

    /// A leg to the node delivered.
    pub(crate) fn delivered(&mut self, node: u32, took: Span) {
        self.ended(node, took, LegEnd::Delivered);
    }

    pub(crate) fn ended(&mut self, node: u32, took: Span, end: LegEnd) {
        let evidence = Evidence::Leg {
            node: NodeId(node),
            request: RequestId::NONE,
            why: Why::Original,
            size_class: 0,
            connect_micros: None,
            took,
            end,
        };
        self.governor.record(self.now, &evidence);
    }

    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.governor.snapshot(self.now)
    }

    pub(crate) fn state(&mut self) -> BreakerState {
        self.snapshot().breaker
    }

    pub(crate) fn reconfigure(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = *self.governor.config();
        change(&mut config);
        self.governor.reconfigure(self.now, config).unwrap();
    }
}

/// Numbers that look random: xorshift (Marsaglia 2003).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
