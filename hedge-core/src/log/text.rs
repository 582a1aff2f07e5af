//! The text form of events and of read plans: one line each.

use core::fmt::{self, Formatter, Write};
use core::str::FromStr;

use super::fields::{EventError, Line, Nothing, Result, Value, put, put_list};
use super::{GovernorEvent, GovernorStep, ReadEvent, ReadStep};
use crate::{Clocks, Evidence, Input, LegId, NodeId, Permit, Petition, ReadPlan, Subject, Verdict};

impl fmt::Display for ReadEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.at.write(f)?;
        f.write_char(' ')?;
        let leg_event = |f: &mut Formatter<'_>, name: &str, leg: &LegId| {
            f.write_str(name)?;
            put(f, "leg=", leg)
        };
        match &self.what {
            ReadStep::Begun => f.write_str("begun"),
            ReadStep::Polled(outputs) => {
                f.write_str("polled")?;
                put(f, "outputs=", outputs)
            }
            ReadStep::Input(input) => match input {
                Input::Started { leg, request } => {
                    leg_event(f, "started", leg)?;
                    put(f, "request=", request)
                }
                Input::Connected(leg) => leg_event(f, "connected", leg),
                Input::Progress(leg) => leg_event(f, "progress", leg),
                Input::Delivered(leg) => leg_event(f, "delivered", leg),
                Input::Failed(leg, cause) => {
                    leg_event(f, "failed", leg)?;
                    put(f, "cause=", cause)
                }
                Input::GaveUp(leg, cause) => {
                    leg_event(f, "gave-up", leg)?;
                    put(f, "cause=", cause)
                }
                Input::Stopped(leg) => leg_event(f, "stopped", leg),
                Input::Verdict { id, verdict: Verdict::Grant { cells, permit } } => {
                    f.write_str("granted")?;
                    put(f, "id=", id)?;
                    put(f, "cells=", cells)?;
                    write_permit(f, permit)
                }
                Input::Verdict { id, verdict: Verdict::Refuse { reason, retry_at } } => {
                    f.write_str("refused")?;
                    put(f, "id=", id)?;
                    put(f, "reason=", reason)?;
                    put(f, "retry-at=", retry_at)
                }
                Input::Decoded(ok) => {
                    f.write_str("decoded")?;
                    put(f, "ok=", ok)
                }
                Input::Timeout => f.write_str("timeout"),
                Input::Abort => f.write_str("abort"),
            },
        }
    }
}

impl FromStr for ReadEvent {
    type Err = EventError;

    fn from_str(text: &str) -> Result<Self> {
        let mut line = Line::new(text);
        let (instant, at, name) = line.head()?;
        let input = match name {
            "begun" => {
                line.end()?;
                return Ok(Self { at: instant, what: ReadStep::Begun });
            }
            "polled" => None,
            "started" => Some(Input::Started { leg: line.take("leg=")?, request: line.take("request=")? }),
            "connected" => Some(Input::Connected(line.take("leg=")?)),
            "progress" => Some(Input::Progress(line.take("leg=")?)),
            "delivered" => Some(Input::Delivered(line.take("leg=")?)),
            "failed" => Some(Input::Failed(line.take("leg=")?, line.take("cause=")?)),
            "gave-up" => Some(Input::GaveUp(line.take("leg=")?, line.take("cause=")?)),
            "stopped" => Some(Input::Stopped(line.take("leg=")?)),
            "granted" => Some(Input::Verdict {
                id: line.take("id=")?,
                verdict: Verdict::Grant { cells: line.take("cells=")?, permit: read_permit(&mut line)? },
            }),
            "refused" => Some(Input::Verdict {
                id: line.take("id=")?,
                verdict: Verdict::Refuse { reason: line.take("reason=")?, retry_at: line.take("retry-at=")? },
            }),
            "decoded" => Some(Input::Decoded(line.take("ok=")?)),
            "timeout" => Some(Input::Timeout),
            "abort" => Some(Input::Abort),
            _ => return Err(EventError::Event { at }),
        };
        let what = match input {
            Some(input) => ReadStep::Input(input),
            None => ReadStep::Polled(line.take("outputs=")?),
        };
        line.end()?;
        Ok(Self { at: instant, what })
    }
}

fn write_permit(f: &mut Formatter<'_>, permit: &Permit) -> fmt::Result {
    put(f, "epoch=", &permit.epoch)?;
    put(f, "probe=", &permit.probe)
}

fn read_permit(line: &mut Line<'_>) -> Result<Permit> {
    Ok(Permit { epoch: line.take("epoch=")?, probe: line.take("probe=")? })
}

impl<const N: usize> fmt::Display for GovernorEvent<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.at.write(f)?;
        f.write_char(' ')?;
        match &self.what {
            GovernorStep::Decide(petition) => write_petition(f, "asked", petition),
            GovernorStep::NoMemory(petition) => write_petition(f, "no-memory", petition),
            GovernorStep::Record(evidence) => write_evidence(f, evidence),
            GovernorStep::Prepare(plan) => {
                f.write_str("prepared")?;
                write_plan(f, plan)
            }
            GovernorStep::Reconfigure(config) => {
                f.write_str("reconfigured")?;
                config.pairs().try_for_each(|(name, value)| write!(f, " {name}={value}"))
            }
            GovernorStep::Look => f.write_str("looked-at"),
        }
    }
}

impl<const N: usize> FromStr for GovernorEvent<N> {
    type Err = EventError;

    fn from_str(text: &str) -> Result<Self> {
        let mut line = Line::new(text);
        let (instant, at, name) = line.head()?;
        let what = match name {
            "asked-late" | "asked-eager" => GovernorStep::Decide(read_petition(&mut line, name)?),
            "no-memory-late" | "no-memory-eager" => GovernorStep::NoMemory(read_petition(&mut line, name)?),
            "prepared" => GovernorStep::Prepare(read_plan(&mut line)?),
            "reconfigured" => GovernorStep::Reconfigure(line.take_config()?),
            "looked-at" => GovernorStep::Look,
            _ => GovernorStep::Record(read_evidence(&mut line, at, name)?),
        };
        line.end()?;
        Ok(Self { at: instant, what })
    }
}

fn write_petition(f: &mut Formatter<'_>, verb: &str, petition: &Petition) -> fmt::Result {
    let Petition { id, subject, cells, size_class, deadline, dry_run } = petition;
    f.write_str(verb)?;
    f.write_str(match subject {
        Subject::Late { .. } => "-late",
        Subject::Eager => "-eager",
    })?;
    put(f, "id=", id)?;
    if let Subject::Late { leg, node, why, request, again } = subject {
        put(f, "leg=", leg)?;
        put(f, "node=", node)?;
        put(f, "why=", why)?;
        put(f, "request=", request)?;
        put(f, "again=", again)?;
    }
    put(f, "cells=", cells)?;
    put(f, "class=", size_class)?;
    put(f, "deadline=", deadline)?;
    put(f, "dry-run=", dry_run)
}

fn read_petition(line: &mut Line<'_>, name: &str) -> Result<Petition> {
    Ok(Petition {
        id: line.take("id=")?,
        subject: if name.ends_with("-eager") {
            Subject::Eager
        } else {
            Subject::Late {
                leg: line.take("leg=")?,
                node: line.take("node=")?,
                why: line.take("why=")?,
                request: line.take("request=")?,
                again: line.take("again=")?,
            }
        },
        cells: line.take("cells=")?,
        size_class: line.take("class=")?,
        deadline: line.take("deadline=")?,
        dry_run: line.take("dry-run=")?,
    })
}

fn write_evidence(f: &mut Formatter<'_>, evidence: &Evidence) -> fmt::Result {
    match evidence {
        Evidence::Leg { node, request, why, size_class, connect_micros, took, end } => {
            f.write_str("leg")?;
            put(f, "node=", node)?;
            put(f, "request=", request)?;
            put(f, "why=", why)?;
            put(f, "class=", size_class)?;
            put(f, "connect-micros=", connect_micros)?;
            put(f, "took=", took)?;
            put(f, "end=", end)
        }
        Evidence::Hedge { permit, cells, result } => {
            f.write_str("hedge")?;
            write_permit(f, permit)?;
            put(f, "cells=", cells)?;
            put(f, "result=", result)
        }
        Evidence::Refund { cells } => {
            f.write_str("refund")?;
            put(f, "cells=", cells)
        }
        Evidence::Read { cells, wasted, ok } => {
            f.write_str("read")?;
            put(f, "cells=", cells)?;
            put(f, "wasted=", wasted)?;
            put(f, "ok=", ok)
        }
        Evidence::Saved { node, by } => {
            f.write_str("saved")?;
            put(f, "node=", node)?;
            put(f, "by=", by)
        }
        Evidence::Accused { node, until } => {
            f.write_str("accused")?;
            put(f, "node=", node)?;
            put(f, "until=", until)
        }
    }
}

fn read_evidence(line: &mut Line<'_>, at: usize, name: &str) -> Result<Evidence> {
    Ok(match name {
        "leg" => Evidence::Leg {
            node: line.take("node=")?,
            request: line.take("request=")?,
            why: line.take("why=")?,
            size_class: line.take("class=")?,
            connect_micros: line.take("connect-micros=")?,
            took: line.take("took=")?,
            end: line.take("end=")?,
        },
        "hedge" => Evidence::Hedge {
            permit: read_permit(line)?,
            cells: line.take("cells=")?,
            result: line.take("result=")?,
        },
        "refund" => Evidence::Refund { cells: line.take("cells=")? },
        "read" => Evidence::Read {
            cells: line.take("cells=")?,
            wasted: line.take("wasted=")?,
            ok: line.take("ok=")?,
        },
        "accused" => Evidence::Accused { node: line.take("node=")?, until: line.take("until=")? },
        "saved" => Evidence::Saved { node: line.take("node=")?, by: line.take("by=")? },
        _ => return Err(EventError::Event { at }),
    })
}

fn write_plan<const N: usize>(f: &mut Formatter<'_>, plan: &ReadPlan<N>) -> fmt::Result {
    let ReadPlan { k, n, wanted, zero, missing, avoid, suspect, node, order, size_class, deadline, .. } =
        plan;
    let ReadPlan { mode, clocks, spare, max_tries, hints, .. } = plan;
    let Clocks { late, late_hedge, late_suspect, stall, connect_counts, retry_floor } = clocks;
    put(f, "k=", k)?;
    put(f, "n=", n)?;
    put(f, "wanted=", wanted)?;
    put(f, "zero=", zero)?;
    put(f, "missing=", missing)?;
    put(f, "avoid=", avoid)?;
    put(f, "suspect=", suspect)?;
    put_list(f, "nodes=", node)?;
    put_list(f, "order=", order)?;
    put(f, "class=", size_class)?;
    put(f, "deadline=", deadline)?;
    put(f, "mode=", mode)?;
    put(f, "late=", late)?;
    put(f, "late-hedge=", late_hedge)?;
    put(f, "late-suspect=", late_suspect)?;
    put(f, "stall=", stall)?;
    put(f, "connect-counts=", connect_counts)?;
    put(f, "retry-floor=", retry_floor)?;
    put(f, "spare=", spare)?;
    put(f, "max-tries=", max_tries)?;
    put(f, "hints=", hints)
}

fn read_plan<const N: usize>(line: &mut Line<'_>) -> Result<ReadPlan<N>> {
    let mut plan = ReadPlan::new(line.take("k=")?, line.take("n=")?);
    plan.wanted = line.take("wanted=")?;
    plan.zero = line.take("zero=")?;
    plan.missing = line.take("missing=")?;
    plan.avoid = line.take("avoid=")?;
    plan.suspect = line.take("suspect=")?;
    plan.node = line.take_list("nodes=", NodeId::UNKNOWN)?;
    plan.order = line.take_list("order=", 0)?;
    plan.size_class = line.take("class=")?;
    plan.deadline = line.take("deadline=")?;
    plan.mode = line.take("mode=")?;
    plan.clocks = Clocks {
        late: line.take("late=")?,
        late_hedge: line.take("late-hedge=")?,
        late_suspect: line.take("late-suspect=")?,
        stall: line.take("stall=")?,
        connect_counts: line.take("connect-counts=")?,
        retry_floor: line.take("retry-floor=")?,
    };
    plan.spare = line.take("spare=")?;
    plan.max_tries = line.take("max-tries=")?;
    plan.hints = line.take("hints=")?;
    Ok(plan)
}

/// One line, to go with a log: what a read has to be created from to replay it. The instant of its creation is not in it, and
/// an [`EventLog`](crate::EventLog) does not read it.
impl<const N: usize> fmt::Display for ReadPlan<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("plan")?;
        write_plan(f, self)
    }
}

impl<const N: usize> FromStr for ReadPlan<N> {
    type Err = EventError;

    /// Reads what [`Display`](fmt::Display) wrote, for the same `N`. Whether a read can be created from it is for
    /// [`check`](ReadPlan::check) to say.
    fn from_str(text: &str) -> Result<Self> {
        let mut line = Line::new(text);
        line.take::<Nothing>("plan")?;
        let plan = read_plan(&mut line)?;
        line.end()?;
        Ok(plan)
    }
}
