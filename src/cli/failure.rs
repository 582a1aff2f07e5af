//! Which exit code an error of the library stands for.

use std::fmt::Display;
use std::io;

use hedgerow::reader::{FileError, ReadError, RepairError};

use super::exit::{Exit, Stop};
use crate::demo::DemoError;
use crate::plan::PlanError;
use crate::simulate::SimulateError;

/// What went wrong with a whole file.
pub(crate) fn of_file(what: impl Display, error: &FileError) -> Stop {
    Stop::because(exit_of(error), what, error)
}

/// What went wrong while a file was read.
pub(crate) fn of_read(what: impl Display, error: &ReadError) -> Stop {
    Stop::because(exit_of_read(error), what, error)
}

fn exit_of(error: &FileError) -> Exit {
    match error {
        FileError::Name { .. }
        | FileError::TooFewNodes { .. }
        | FileError::SameNode { .. }
        | FileError::Shape(_)
        | FileError::Repair(RepairError::NotOneNode { .. }) => Exit::Usage,
        FileError::Exists { .. } => Exit::Exists,
        // Where some could not be asked, nobody knows whether there is such a file.
        FileError::NotFound { failed, .. } if failed.is_empty() => Exit::NotFound,
        FileError::TooFewAnswers { .. } | FileError::NotCommitted { .. } => Exit::Lost,
        FileError::Read(error) => exit_of_read(error),
        FileError::Left { because, .. } => exit_of(because),
        _ => Exit::Failed,
    }
}

const fn exit_of_read(error: &ReadError) -> Exit {
    match error {
        ReadError::Outside { .. } => Exit::Usage,
        ReadError::Lost { .. } => Exit::Lost,
        _ => Exit::Failed,
    }
}

/// What went wrong with a file of this machine, which is the caller's own.
pub(crate) fn of_path(what: impl Display, error: &io::Error) -> Stop {
    let exit = if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failed };
    Stop::because(exit, what, error)
}

/// What went wrong with the demo. Whoever has stopped reading its output has seen enough.
pub(crate) fn of_demo(error: &DemoError) -> Stop {
    match error {
        DemoError::Broken(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Stop::new(Exit::Closed, "the reader of the output has gone")
        }
        // The chart's, which is the only file that the demo makes.
        DemoError::Broken(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            Stop::because(Exit::Exists, "the demo did not begin", error)
        }
        _ => Stop::because(Exit::Failed, "the demo failed", error),
    }
}

/// What went wrong with a plan.
pub(crate) fn of_plan(error: &PlanError) -> Stop {
    let exit = match error {
        PlanError::Unread(error) if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        PlanError::Unwritten(error) => of_output(error),
        PlanError::Unread(_) | PlanError::Scenario(..) | PlanError::Impossible(_) => Exit::Failed,
    };
    Stop::new(exit, error.to_string())
}

/// What it means that something could not be written.
fn of_output(error: &io::Error) -> Exit {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Exit::Closed,
        // A chart or a table of its own.
        io::ErrorKind::AlreadyExists => Exit::Exists,
        _ => Exit::Failed,
    }
}

/// What went wrong with a simulation.
pub(crate) fn of_simulate(error: &SimulateError) -> Stop {
    let exit = match error {
        SimulateError::Usage(_) | SimulateError::Options(_) => Exit::Usage,
        SimulateError::Unread(error) if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        SimulateError::Unexpected(_) => Exit::Findings,
        SimulateError::Unwritten(error) => of_output(error),
        SimulateError::Unread(_) | SimulateError::Histogram(_) | SimulateError::Scenario(_) => Exit::Failed,
    };
    Stop::new(exit, error.to_string())
}
