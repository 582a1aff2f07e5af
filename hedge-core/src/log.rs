//! What happened, in order: the events of a read or of a governor, to be kept, written down and replayed.

mod fields;
mod text;

use core::fmt;
use core::str::FromStr;

use heapless::Vec;

use crate::{
    Config, ConfigError, Evidence, GovernorView, Input, Instant, Output, Petition, ReadPlan, StripeReadView,
    Verdict,
};
pub use fields::EventError;

/// One thing that happened to a read.
///
/// A read created from the same [`ReadPlan`](crate::ReadPlan) and given the same events gives the same outputs.
///
/// The text form is one line: the instant in nanoseconds, a word, and fields in a fixed order; `-` stands for
/// `None`, spans are nanoseconds, leg 3.1 is the first attempt at cell 3.
///
/// ```
/// use hedge_core::{Input, Instant, LegId, ReadEvent, ReadStep, RequestId};
///
/// let input = Input::Started { leg: LegId { cell: 3, attempt: 1 }, request: RequestId(7) };
/// let event = ReadEvent { at: Instant::from_millis(5), what: ReadStep::Input(input) };
/// assert_eq!(event.to_string(), "5000000 started leg=3.1 request=7");
/// assert_eq!("5000000 started leg=3.1 request=7".parse(), Ok(event));
///
/// let error = "5000000 started leg=3 request=7".parse::<ReadEvent>().unwrap_err();
/// assert_eq!(error.to_string(), "leg= at byte 16 must be a cell and an attempt, such as 3.1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadEvent {
    /// The instant that the read was given; for a poll, which needs none, that of the input before it.
    pub at: Instant,
    /// What happened.
    pub what: ReadStep,
}

/// What happens to a read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReadStep {
    /// It was created, from a plan that is kept beside the log: a plan has a text form, too.
    Begun,
    /// It was given an input.
    Input(Input),
    /// It was polled, and gave so many outputs. Polls matter: what was planned and never polled is dropped
    /// when the read ends.
    Polled(u16),
}

impl ReadEvent {
    /// Does to a read what happened then; `output` gets what the polls give. From the same plan and the same start, the events of
    /// a run give its outputs again.
    ///
    /// ```
    /// use hedge_core::{CellSet, EventLog, Output, ReadEvent, ReadPlan, StripeRead};
    ///
    /// let mut plan = ReadPlan::<3>::new(2, 3);
    /// plan.wanted = CellSet::from([0]);
    /// let log: EventLog<ReadEvent, 10> = "0 begun\n0 polled outputs=1\n0 started leg=0.1 request=0\n7 delivered leg=0.1\n7 polled outputs=2".parse()?;
    ///
    /// let mut read = StripeRead::new(log.events()[0].at, &plan)?;
    /// let mut last = None;
    /// for event in &log {
    ///     event.replay(&mut read, |output| last = Some(output));
    /// }
    /// assert!(matches!(last, Some(Output::Tell(_))) && read.poll_output().is_some_and(|output| matches!(output, Output::Finish(_))));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn replay(&self, read: &mut StripeReadView, mut output: impl FnMut(Output)) {
        match self.what {
            ReadStep::Begun => {}
            ReadStep::Input(input) => read.handle(self.at, input),
            ReadStep::Polled(outputs) => {
                for _ in 0..outputs {
                    match read.poll_output() {
                        Some(one) => output(one),
                        None => break,
                    }
                }
            }
        }
    }
}

/// One thing that happened to a governor: as [`ReadEvent`]. `N` is the capacity of the plans that it prepares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GovernorEvent<const N: usize = 9> {
    /// The instant that the governor was given.
    pub at: Instant,
    /// What happened.
    pub what: GovernorStep<N>,
}

/// What happens to a governor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is no allocation to put the large ones in")]
pub enum GovernorStep<const N: usize = 9> {
    /// It was asked.
    Decide(Petition),
    /// It was asked by an executor without memory ([`no_memory`](GovernorView::no_memory)).
    NoMemory(Petition),
    /// It was told.
    Record(Evidence),
    /// It prepared this plan, which is as it was before.
    Prepare(ReadPlan<N>),
    /// It took this configuration. One that it refused changes nothing and can be written, but not read back.
    Reconfigure(Config),
    /// It was looked at ([`snapshot`](GovernorView::snapshot) or [`node`](GovernorView::node)), so that time acted.
    Look,
}

/// What a governor answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is no allocation to put the large ones in")]
pub enum Reply<const N: usize = 9> {
    /// To a petition.
    Verdict(Verdict),
    /// A plan, prepared.
    Plan(ReadPlan<N>),
    /// Whether the configuration was a good one.
    Reconfigured(Result<(), ConfigError>),
    /// Nothing.
    None,
}

impl<const N: usize> GovernorEvent<N> {
    /// Does to a governor what happened then, and returns its answer. With the same configuration at first, the events of a run
    /// give its answers again.
    pub fn replay<const CLASSES: usize>(&self, governor: &mut GovernorView<CLASSES>) -> Reply<N> {
        match &self.what {
            GovernorStep::Decide(petition) => Reply::Verdict(governor.decide(self.at, petition)),
            GovernorStep::NoMemory(petition) => Reply::Verdict(governor.no_memory(self.at, petition)),
            GovernorStep::Record(evidence) => {
                governor.record(self.at, evidence);
                Reply::None
            }
            GovernorStep::Prepare(plan) => {
                let mut plan = *plan;
                governor.prepare(self.at, &mut plan);
                Reply::Plan(plan)
            }
            GovernorStep::Reconfigure(config) => Reply::Reconfigured(governor.reconfigure(self.at, *config)),
            GovernorStep::Look => {
                let _ = governor.snapshot(self.at);
                Reply::None
            }
        }
    }
}

/// The first `CAP` events of a run, in order.
///
/// `T` is [`ReadEvent`] or [`GovernorEvent`]. The text form is one event a line; on reading, empty lines and
/// lines that begin with `#` are left out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EventLog<T, const CAP: usize> {
    events: Vec<T, CAP>,
}

impl<T, const CAP: usize> EventLog<T, CAP> {
    /// No event yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { events: Vec::new() }
    }

    /// Writes an event down.
    ///
    /// # Errors
    ///
    /// The log is full: the event comes back. What was written stays.
    #[inline]
    pub fn push(&mut self, event: T) -> Result<(), T> {
        self.events.push(event)
    }

    /// The events, oldest first.
    #[must_use]
    pub fn events(&self) -> &[T] {
        &self.events
    }

    /// Whether there is no room for another event.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.events.is_full()
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        self.events.clear();
    }
}

impl<T, const CAP: usize> Default for EventLog<T, CAP> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, T, const CAP: usize> IntoIterator for &'a EventLog<T, CAP> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.events.iter()
    }
}

impl<T: fmt::Display, const CAP: usize> fmt::Display for EventLog<T, CAP> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl<T: FromStr<Err = EventError>, const CAP: usize> FromStr for EventLog<T, CAP> {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, LogError> {
        let mut log = Self::new();
        for (index, text) in text.lines().enumerate() {
            let (text, line) = (text.trim_ascii(), index + 1);
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let event = text.parse().map_err(|error| LogError::Line { line, error })?;
            log.push(event).map_err(|_| LogError::Full { line, capacity: CAP })?;
        }
        Ok(log)
    }
}

/// Why a text is no log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LogError {
    /// A line is no event.
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: EventError,
    },
    /// There are more events than fit.
    Full {
        /// The line of the first event too many, from 1.
        line: usize,
        /// How many fit.
        capacity: usize,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, error } => write!(f, "line {line}: {error}"),
            Self::Full { line, capacity } => {
                write!(f, "line {line}: the log has room for {capacity} events, and this is one more")
            }
        }
    }
}

impl core::error::Error for LogError {}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};

    use super::*;

    fn polled(at: u64, outputs: u16) -> ReadEvent {
        ReadEvent { at: Instant::from_nanos(at), what: ReadStep::Polled(outputs) }
    }

    #[test]
    fn a_full_log_gives_the_event_back_and_keeps_what_it_has() {
        let mut log = EventLog::<_, 2>::new();
        assert_eq!(log.push(polled(1, 1)), Ok(()));
        assert!(!log.is_full());
        assert_eq!(log.push(polled(2, 2)), Ok(()));
        assert_eq!(log.push(polled(3, 3)), Err(polled(3, 3)));
        assert!(log.is_full());
        assert_eq!(log.events(), [polled(1, 1), polled(2, 2)]);
        assert!(log.into_iter().eq(&[polled(1, 1), polled(2, 2)]));
        log.clear();
        assert_eq!(log, EventLog::default());
    }

    #[test]
    fn a_log_is_written_one_event_a_line_and_read_back() {
        let mut log = EventLog::<ReadEvent, 4>::new();
        assert_eq!(log.to_string(), "");
        for event in [polled(1, 2), polled(3, 4)] {
            log.push(event).unwrap();
        }
        assert_eq!(log.to_string(), "1 polled outputs=2\n3 polled outputs=4\n");
        assert_eq!(log.to_string().parse(), Ok(log.clone()));
        let with_remarks = "# a slow read\r\n\n 1 polled outputs=2 \r\n  # and then\n3  polled\toutputs=4";
        assert_eq!(with_remarks.parse(), Ok(log));
    }

    #[test]
    fn what_is_no_log_is_refused_with_its_line() {
        let read = |text: &str| text.parse::<EventLog<ReadEvent, 2>>().map_err(|error| error.to_string());
        let error = |text: &str| Err(String::from(text));
        assert_eq!(
            read("1 polled outputs=2\n\n3 polled outputs=x"),
            error("line 3: outputs= at byte 9 must be a number from 0 to 65535")
        );
        assert_eq!(
            read("1 polled outputs=2\n2 abort\n#\n3 abort\n"),
            error("line 4: the log has room for 2 events, and this is one more")
        );
        assert!(read("1 polled outputs=2\n2 abort\n#\n").is_ok());
    }
}
