//! The loss budget: what hedges cost without winning stays within a burst and a share of what is read.

use crate::{Budget, Instant, Span};

/// A cell in the unit of the ledger: millionths.
const CELL: u64 = 1_000_000;
/// So many bursts may be spent before the gross cap is felt.
const GROSS_BURSTS: u64 = 10;
/// The client's own reads are counted over so many burst spans.
const SPANS: u64 = 10;

/// A sum over the half-window under way and the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Halves {
    number: u64,
    current: u64,
    previous: u64,
}

impl Halves {
    pub(crate) fn add(&mut self, now: Instant, half: Span, amount: u64) {
        self.turn(now, half);
        self.current = self.current.saturating_add(amount);
    }

    /// The sum over both halves.
    pub(crate) fn sum(&mut self, now: Instant, half: Span) -> u64 {
        self.turn(now, half);
        self.current.saturating_add(self.previous)
    }

    /// The sum over the last half that is complete.
    fn complete(&mut self, now: Instant, half: Span) -> u64 {
        self.turn(now, half);
        self.previous
    }

    /// Another length of the halves starts anew.
    fn turn(&mut self, now: Instant, half: Span) {
        let number = now.as_nanos() / half.as_nanos().max(1);
        if number != self.number {
            self.previous = if self.number.checked_add(1) == Some(number) { self.current } else { 0 };
            self.current = 0;
            self.number = number;
        }
    }
}

/// What is owed, in millionths of cells. A grant adds to it, everything that comes back or in takes from
/// it, and it may not exceed the burst. Kept as a debt, not as tokens left: so a new burst acts at once, and
/// no change of the limits creates tokens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Ledger {
    /// Granted, less won back, less refunded, less deposits, at least 0.
    loss: u64,
    /// The same, whatever was won back, with the deposits of the gross cap.
    gross: u64,
    /// What of both was granted in a dry run.
    rehearsed: u64,
    /// Granted and neither given back nor settled: no more than this can be given back.
    outstanding: u64,
    /// Cells read.
    read: Halves,
}

impl Ledger {
    /// The tokens left, in millionths of cells.
    pub(crate) fn tokens(&mut self, now: Instant, budget: &Budget) -> u64 {
        self.burst(now, budget).saturating_sub(self.loss)
    }

    /// Whether a grant of so many cells is within the budget; there is more for a late leg that is alone.
    pub(crate) fn affords(&mut self, now: Instant, budget: &Budget, cells: u8, alone: bool) -> bool {
        let (cost, burst) = (u64::from(cells) * CELL, self.burst(now, budget));
        let beyond = if alone { u64::from(budget.alone_cells) * CELL } else { 0 };
        self.loss.saturating_add(cost) <= burst.saturating_add(beyond)
            && self.gross.saturating_add(cost) <= burst.saturating_mul(GROSS_BURSTS)
    }

    pub(crate) fn charge(&mut self, cells: u8) {
        let cost = u64::from(cells) * CELL;
        self.loss = self.loss.saturating_add(cost);
        self.gross = self.gross.saturating_add(cost);
        self.outstanding = self.outstanding.saturating_add(cost);
    }

    /// As [`charge`](Self::charge), until the dry run is over.
    pub(crate) fn rehearse(&mut self, cells: u8) {
        let cost = u64::from(cells) * CELL;
        self.loss = self.loss.saturating_add(cost);
        self.gross = self.gross.saturating_add(cost);
        self.rehearsed = self.rehearsed.saturating_add(cost);
    }

    /// Gives back what a dry run was charged.
    pub(crate) fn end_rehearsal(&mut self) {
        self.loss = self.loss.saturating_sub(self.rehearsed);
        self.gross = self.gross.saturating_sub(self.rehearsed);
        self.rehearsed = 0;
    }

    /// Granted cells cost nothing.
    pub(crate) fn refund(&mut self, cells: u8) {
        let back = self.settle(cells);
        self.loss = self.loss.saturating_sub(back);
        self.gross = self.gross.saturating_sub(back);
    }

    /// A hedge won: what it cost was no loss.
    pub(crate) fn win(&mut self, cells: u8) {
        let back = self.settle(cells);
        self.loss = self.loss.saturating_sub(back);
    }

    /// These cells will not be given back any more. Returns how much they were of what could be.
    pub(crate) fn settle(&mut self, cells: u8) -> u64 {
        let settled = (u64::from(cells) * CELL).min(self.outstanding);
        self.outstanding -= settled;
        settled
    }

    /// A read finished, with so many cells.
    pub(crate) fn deposit(&mut self, now: Instant, budget: &Budget, cells: u8) {
        let cells = u64::from(cells);
        self.loss = self.loss.saturating_sub(cells * u64::from(budget.share_ppm));
        self.gross = self.gross.saturating_sub(cells * u64::from(budget.gross_percent) * (CELL / 100));
        self.read.add(now, spans(budget), cells);
    }

    /// The burst in millionths of cells: the fixed one, or what was read in a burst span lately.
    fn burst(&mut self, now: Instant, budget: &Budget) -> u64 {
        let read = self.read.complete(now, spans(budget)).saturating_mul(CELL / SPANS);
        let read = if budget.burst_span == Span::ZERO { 0 } else { read };
        read.max(u64::from(budget.burst_cells) * CELL)
    }
}

fn spans(budget: &Budget) -> Span {
    Span::from_nanos(budget.burst_span.as_nanos().saturating_mul(SPANS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        share_ppm: 5_000,
        burst_cells: 7,
        burst_span: Span::from_millis(100),
        alone_cells: 14,
        alone_span: Span::from_secs(2),
        gross_percent: 100,
    };

    fn granted(ledger: &mut Ledger, now: Instant, cells: u8) -> bool {
        let affords = ledger.affords(now, &BUDGET, cells, false);
        if affords {
            ledger.charge(cells);
        }
        affords
    }

    #[test]
    fn a_burst_is_spent_once_and_comes_back_with_reads() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        assert!(granted(&mut ledger, now, 7));
        assert!(!granted(&mut ledger, now, 1));
        // 0.5 %: a cell comes back with the two-hundredth cell read.
        for read in 1..=200 {
            ledger.deposit(now, &BUDGET, 1);
            assert_eq!(ledger.affords(now, &BUDGET, 1, false), read == 200);
        }
        assert!(granted(&mut ledger, now, 1));
        assert_eq!(ledger.tokens(now, &BUDGET), 0);
    }

    #[test]
    fn a_leg_that_is_late_alone_has_more_to_spend() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        for granted in 0..4 {
            assert_eq!(ledger.affords(now, &BUDGET, 7, false), granted < 1);
            assert_eq!(ledger.affords(now, &BUDGET, 7, true), granted < 3);
            ledger.charge(7);
        }
        assert_eq!(ledger.tokens(now, &BUDGET), 0);
    }

    #[test]
    fn tokens_never_exceed_the_burst() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        for _ in 0..10_000 {
            ledger.deposit(now, &BUDGET, 255);
            ledger.refund(255);
            ledger.win(255);
            assert_eq!(ledger.tokens(now, &BUDGET), 7 * CELL);
        }
    }

    #[test]
    fn no_more_comes_back_than_was_charged() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        ledger.charge(3);
        ledger.settle(3);
        ledger.charge(4);
        for _ in 0..3 {
            ledger.refund(2);
            ledger.win(2);
        }
        assert_eq!(ledger.tokens(now, &BUDGET), 4 * CELL, "the three that were lost stay lost");
    }

    #[test]
    fn won_hedges_are_held_by_the_gross_cap_alone() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        let mut wins = 0;
        while granted(&mut ledger, now, 7) {
            ledger.win(7);
            wins += 1;
        }
        assert_eq!(wins, 10, "ten bursts");
        for _ in 0..7 {
            assert!(!ledger.affords(now, &BUDGET, 7, false));
            ledger.deposit(now, &BUDGET, 1);
        }
        assert!(granted(&mut ledger, now, 7));
    }

    #[test]
    fn what_is_refunded_is_not_held_by_the_gross_cap() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        for _ in 0..100 {
            assert!(granted(&mut ledger, now, 7));
            ledger.refund(7);
        }
    }

    #[test]
    fn a_busy_client_has_the_burst_of_its_own_reads() {
        let mut ledger = Ledger::default();
        for millis in 0..1_000 {
            ledger.deposit(Instant::from_millis(millis), &BUDGET, 2);
        }
        assert_eq!(
            ledger.tokens(Instant::from_millis(999), &BUDGET),
            7 * CELL,
            "not before a second is complete"
        );
        assert_eq!(ledger.tokens(Instant::from_millis(1_000), &BUDGET), 200 * CELL);
        assert_eq!(ledger.tokens(Instant::from_millis(1_999), &BUDGET), 200 * CELL);
        assert_eq!(ledger.tokens(Instant::from_millis(2_000), &BUDGET), 7 * CELL, "idle for a second");
        let fixed = Budget { burst_span: Span::ZERO, ..BUDGET };
        ledger.deposit(Instant::from_nanos(0), &fixed, 200);
        assert_eq!(ledger.tokens(Instant::from_nanos(1), &fixed), 7 * CELL);
    }

    #[test]
    fn lowering_and_raising_the_burst_creates_no_tokens() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        let large = Budget { burst_cells: 70, ..BUDGET };
        for _ in 0..9 {
            assert!(ledger.affords(now, &large, 7, false));
            ledger.charge(7);
        }
        for _ in 0..10 {
            assert_eq!(ledger.tokens(now, &BUDGET), 0);
            assert_eq!(ledger.tokens(now, &large), 7 * CELL);
        }
    }

    #[test]
    fn a_dry_run_leaves_no_debt() {
        let (mut ledger, now) = (Ledger::default(), Instant::ZERO);
        ledger.charge(2);
        ledger.rehearse(5);
        assert!(!ledger.affords(now, &BUDGET, 1, false));
        ledger.refund(255);
        assert_eq!(ledger.tokens(now, &BUDGET), 2 * CELL, "a refund can't give back what was never granted");
        ledger.end_rehearsal();
        assert_eq!(ledger.tokens(now, &BUDGET), 7 * CELL);
        ledger.charge(7);
        ledger.end_rehearsal();
        assert_eq!(ledger.tokens(now, &BUDGET), 0, "it is given back once");
    }

    #[test]
    fn nothing_overflows() {
        let extreme = Budget {
            share_ppm: u32::MAX,
            burst_cells: u16::MAX,
            burst_span: Span::MAX,
            alone_cells: u16::MAX,
            alone_span: Span::MAX,
            gross_percent: u16::MAX,
        };
        let mut ledger =
            Ledger { loss: u64::MAX - 1, gross: u64::MAX, rehearsed: u64::MAX, ..Ledger::default() };
        for now in [Instant::ZERO, Instant::MAX] {
            ledger.charge(255);
            ledger.rehearse(255);
            assert!(!ledger.affords(now, &extreme, 255, false));
            ledger.deposit(now, &extreme, 255);
            ledger.win(255);
            ledger.refund(255);
        }
        ledger.end_rehearsal();
        assert_eq!(ledger.tokens(Instant::MAX, &extreme), u64::from(u16::MAX) * CELL);
    }
}
