//! How the command ends: its exit codes, and the one line that says why.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::process::ExitCode;

/// Exit codes, as `hedgerow --help` lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Lost = 4,
    Findings = 5,
    Exists = 6,
    Interrupted = 130,
    Closed = 141,
    Terminated = 143,
}

/// What `--help` says of them.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    failed: the message says at what
  2    the command line can't be understood
  3    there is no such file
  4    too few cells of the file are left, or too few can be reached
  5    verify found something wrong; repair could not repair everything; simulate --strict: a figure is not as expected
  6    there is such a file already, and it was not to be written over
  130  interrupted (Ctrl-C); put, get and repair have cleaned up
  141  whoever read the output has gone
  143  terminated, as for 130";

/// Why the command ends early.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: Exit,
    text: String,
}

pub(crate) type Outcome = Result<(), Stop>;

impl Stop {
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self { exit, text: text.into() }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, text)
    }

    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::new(Exit::Failed, text)
    }

    /// `what` failed because of `error`, and all that is behind it.
    pub(crate) fn because(exit: Exit, what: impl fmt::Display, error: &(dyn Error + 'static)) -> Self {
        Self { exit, text: format!("{what}: {}", causes(error)) }
    }

    /// Prints the line, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        // Nobody is left to tell where the reader of the output has gone.
        if self.exit != Exit::Closed {
            complain(&self.text);
        }
        ExitCode::from(self.exit as u8)
    }
}

/// Prints a line on what went wrong.
pub(crate) fn complain(text: &str) {
    eprintln!("hedgerow: {}", one_line(text));
}

/// Output that could not be written.
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(Exit::Closed, "the reader of the output has gone"),
            _ => Self::because(Exit::Failed, "can't write the output", &error),
        }
    }
}

/// An error and what is behind it, each said once.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let cause = source.to_string();
        if !text.contains(&cause) {
            let _written = write!(text, ": {cause}");
        }
        next = source.source();
    }
    text
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Behind(&'static str, Option<Box<Behind>>);

    impl fmt::Display for Behind {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Behind {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|error| error as &(dyn Error + 'static))
        }
    }

    #[test]
    fn each_cause_is_said_once() {
        let error = Behind(
            "no answer: closed",
            Some(Box::new(Behind("closed", Some(Box::new(Behind("dead", None)))))),
        );
        assert_eq!(causes(&error), "no answer: closed: dead");
    }

    #[test]
    fn a_message_is_one_line_whatever_a_server_says() {
        assert_eq!(one_line("bad\r\n  gateway\n\n\x1b[2J!"), "bad gateway [2J!");
    }
}
