//! Reads with more legs than a byte counts.

use hedge_core::{Cause, Input, Instant, Mode, Outcome, Output, ReadPlan, StripeRead};

#[test]
fn a_read_of_many_tries_counts_them_all() {
    let mut plan = ReadPlan::<3>::new(1, 3);
    plan.wanted = [0].into();
    plan.max_tries = ReadPlan::<3>::MOST_TRIES;
    plan.mode = Mode::Off;
    let mut read = StripeRead::new(Instant::ZERO, &plan).unwrap();
    let mut outcome = None;
    while let Some(output) = read.poll_output() {
        match output {
            Output::Launch { leg, .. } => read.handle(Instant::ZERO, Input::Failed(leg, Cause::Refused)),
            Output::Finish(with) => outcome = Some(with),
            _ => {}
        }
    }
    assert_eq!(outcome, Some(Outcome::Lost { cells: [0].into() }));
    assert_eq!((read.tally().launched, read.tally().failed), (600, 600));
}
