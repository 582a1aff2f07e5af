//! What an operator decides about a client.

use std::fmt;
use std::time::Duration;

use hedge_core::{Config, ConfigError, Span, Threshold};

/// The timers of the runtime tick once a millisecond: shorter ones can't be told from noise.
const SHORTEST: Span = Span::from_millis(2);

/// What an operator decides about a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// When and how much to hedge.
    pub governor: Config,
    /// Requests under way at a time, in all.
    pub requests: usize,
    /// Requests under way at a time to one node.
    pub requests_per_node: usize,
    /// Bytes of cells in memory at a time, in all: what is being read, and what waits to be decoded. What has been handed to
    /// the caller is the caller's.
    pub memory: u64,
    /// Bytes of cells beside [`memory`](Self::memory), kept for reads that must replace failed legs.
    pub reserve: u64,
    /// Opening a connection fails after so long.
    pub connect_timeout: Duration,
    /// A request without a sign of life for so long has failed.
    pub silence: Duration,
    /// A read fails after so long, whatever happens; `None`: never.
    pub deadline: Option<Duration>,
    /// Long reads go in windows of at most so many stripes.
    pub window_stripes: u32,
    /// Decode back and compare one of so many decodes; 0: none.
    pub check_decodes: u32,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            governor: Config::default(),
            requests: 256,
            requests_per_node: 32,
            memory: 256 << 20,
            reserve: 64 << 20,
            connect_timeout: Duration::from_secs(5),
            silence: Duration::from_secs(10),
            deadline: Some(Duration::from_secs(60)),
            window_stripes: 4,
            check_decodes: 0,
        }
    }
}

impl ClientConfig {
    /// Whether the whole makes sense.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the first thing that does not.
    pub fn check(&self) -> Result<(), ClientError> {
        check_timers(&self.governor)?;
        let counts = [
            ("requests", self.requests as u64, 1),
            ("requests_per_node", self.requests_per_node as u64, 1),
            ("memory", self.memory, LEAST_MEMORY),
            ("reserve", self.reserve, LEAST_MEMORY),
            ("window_stripes", self.window_stripes.into(), 1),
        ];
        for (field, found, least) in counts {
            if found < least {
                return Err(ClientError::TooSmall { field, found, least });
            }
        }
        let timers = [
            ("connect_timeout", Some(self.connect_timeout)),
            ("silence", Some(self.silence)),
            ("deadline", self.deadline),
        ];
        for (timer, found) in timers {
            if let Some(found) = found.filter(|&found| Span::from(found) < SHORTEST) {
                return Err(ClientError::TooShort { timer, found });
            }
        }
        Ok(())
    }
}

/// One cell of a tiny window, with all that could replace it.
const LEAST_MEMORY: u64 = 1 << 20;

/// Whether the runtime can keep the governor's timers.
pub(super) fn check_timers(governor: &Config) -> Result<(), ClientError> {
    let late = match &governor.threshold {
        // Zero is no timer, but "never".
        Threshold::Fixed(late) => ("threshold", (*late != Span::ZERO).then_some(*late)),
        Threshold::Adaptive(adaptive) => ("threshold floor", Some(adaptive.floor)),
    };
    for (timer, span) in [late, ("stall", governor.stall)] {
        if let Some(span) = span.filter(|&span| span < SHORTEST) {
            return Err(ClientError::TooShort { timer, found: span.into() });
        }
    }
    Ok(())
}

/// Why there is no such client.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The governor's configuration makes no sense.
    Governor(ConfigError),
    /// A timer is shorter than the runtime can keep: its timers tick once a millisecond.
    TooShort {
        /// Which.
        timer: &'static str,
        /// What was asked for.
        found: Duration,
    },
    /// A limit lets nothing through.
    TooSmall {
        /// Which.
        field: &'static str,
        /// What was asked for.
        found: u64,
        /// The least it can be.
        least: u64,
    },
    /// A client has no room for another node.
    TooManyNodes {
        /// How many it can have.
        most: usize,
    },
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Governor(error) => write!(f, "the governor's configuration: {error}"),
            Self::TooShort { timer, found } => {
                write!(
                    f,
                    "{timer} is {found:?}: the runtime's timers can't keep less than {:?}",
                    Duration::from(SHORTEST)
                )
            }
            Self::TooSmall { field, found, least } => {
                write!(f, "{field} is {found}: it must be at least {least}")
            }
            Self::TooManyNodes { most } => {
                write!(f, "a client has room for {most} nodes, and this is one more")
            }
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Governor(error) => Some(error),
            _ => None,
        }
    }
}
