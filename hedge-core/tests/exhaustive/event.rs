//! What may happen to a read, and making it happen.

use std::fmt;

use hedge_core::{Cause, Input, Output, Permit, Petition, Reason, Span, Verdict};

use crate::broken::{Held, promise};
use crate::case::{Case, Read};
use crate::shadow::Shadow;

/// What may happen; a leg is named by its cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Event {
    Started(u8),
    Delivered(u8),
    FailedSoftly(u8),
    FoundMissing(u8),
    GaveUp(u8),
    Stopped(u8),
    Grant,
    GrantFewer,
    Refuse,
    RefuseForNow,
    NoCells,
    Decoded,
    DecodeFailed,
    Timeout,
    Abort,
    /// One output is taken.
    Poll,
    /// The clock passes the next deadline, and nobody says so.
    Oversleep,
}

impl Shadow {
    /// Everything that may happen next.
    pub(crate) fn events(&self, case: &Case, read: &Read) -> Vec<Event> {
        let mut events = Vec::new();
        for cell in self.out {
            let started = self.started.contains(cell);
            if !started {
                events.push(Event::Started(cell));
            }
            if started || case.unruly {
                events.push(Event::Delivered(cell));
            }
            if case.soft {
                events.push(Event::FailedSoftly(cell));
            }
            events.push(Event::FoundMissing(cell));
            if case.give_up && self.over.is_none() && !self.given_up.contains(cell) {
                events.push(Event::GaveUp(cell));
            }
            if self.cancelled.contains(cell) || case.unruly {
                events.push(Event::Stopped(cell));
            }
        }
        if let Some(petition) = self.petition {
            if petition.cells > 0 {
                events.push(Event::Grant);
                if case.fewer && petition.cells > 1 {
                    events.push(Event::GrantFewer);
                }
                if self.retries > 0 && self.over.is_none() {
                    events.push(Event::RefuseForNow);
                }
                events.push(Event::Refuse);
            } else {
                events.push(Event::NoCells);
            }
        }
        if self.decoding.is_some() {
            events.push(Event::Decoded);
            if case.decode_fails {
                events.push(Event::DecodeFailed);
            }
        }
        if let Some((due, _)) = read.next_deadline() {
            events.push(Event::Timeout);
            if case.oversleep && due >= self.now && self.now == self.told {
                events.push(Event::Oversleep);
            }
        }
        if case.abort && self.over.is_none() {
            events.push(Event::Abort);
        }
        if case.partial_polls && self.unpolled {
            events.push(Event::Poll);
        }
        events
    }

    /// Lets `event` happen, and everything that follows of itself. The outputs go to `watch`, too.
    pub(crate) fn step(
        &mut self,
        case: &Case,
        read: &mut Read,
        event: Event,
        mut watch: impl FnMut(&Output),
    ) -> Held {
        let input = match event {
            Event::Poll => {
                return match read.poll_output() {
                    Some(output) => {
                        watch(&output);
                        self.see(case, read, output)
                    }
                    None => {
                        self.unpolled = false;
                        self.place = 0;
                        Ok(())
                    }
                };
            }
            Event::Oversleep => {
                if let Some((due, _)) = read.next_deadline() {
                    self.now = due + Span::from_nanos(1);
                }
                return Ok(());
            }
            Event::Started(cell) => Input::Started { leg: self.leg(cell), request: self.request(cell) },
            Event::Delivered(cell) => Input::Delivered(self.leg(cell)),
            Event::FailedSoftly(cell) => Input::Failed(self.leg(cell), Cause::Timeout),
            Event::FoundMissing(cell) => Input::Failed(self.leg(cell), Cause::Missing),
            Event::GaveUp(cell) => Input::GaveUp(self.leg(cell), Cause::Timeout),
            Event::Stopped(cell) => Input::Stopped(self.leg(cell)),
            Event::Grant | Event::GrantFewer => self.verdict(|petition, grants| Verdict::Grant {
                cells: petition.cells - u8::from(event == Event::GrantFewer),
                permit: Permit { epoch: grants, probe: None },
            }),
            Event::Refuse => self.verdict(|_, _| Verdict::Refuse { reason: Reason::Budget, retry_at: None }),
            Event::RefuseForNow => {
                let retry_at = Some(self.now);
                self.verdict(|_, _| Verdict::Refuse { reason: Reason::Rate, retry_at })
            }
            Event::NoCells => {
                self.verdict(|_, _| Verdict::Refuse { reason: Reason::NoCells, retry_at: None })
            }
            Event::Decoded => Input::Decoded(true),
            Event::DecodeFailed => Input::Decoded(false),
            Event::Timeout => {
                if let Some((due, _)) = read.next_deadline() {
                    self.now = self.now.max(due);
                }
                Input::Timeout
            }
            Event::Abort => Input::Abort,
        };
        let before = read.in_flight();
        self.told = self.now;
        self.note(case, input);
        read.handle(self.now, input);
        self.unpolled = true;
        self.place = 0;
        self.conclude(case, read, input, before)?;
        if let (Event::Timeout, Some((due, _))) = (event, read.next_deadline()) {
            promise!("P6", due > self.now, "after a timeout at {:?} the next is due at {due:?}", self.now);
        }
        if !case.partial_polls {
            self.drain(case, read, watch)?;
        }
        Ok(())
    }

    /// Polls until there is nothing more.
    pub(crate) fn drain(&mut self, case: &Case, read: &mut Read, mut watch: impl FnMut(&Output)) -> Held {
        let mut outputs = 0;
        while let Some(output) = read.poll_output() {
            watch(&output);
            self.see(case, read, output)?;
            outputs += 1;
            promise!("P6", outputs < 64, "64 outputs after one input: it spins");
        }
        self.unpolled = false;
        self.place = 0;
        Ok(())
    }

    fn verdict(&self, answer: impl FnOnce(&Petition, u32) -> Verdict) -> Input {
        let petition = self.petition.as_ref().expect("a verdict is given only to a petition");
        Input::Verdict { id: petition.id, verdict: answer(petition, self.grants_given + 1) }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Started(cell) => write!(f, "work on cell {cell} begins"),
            Self::Delivered(cell) => write!(f, "cell {cell} is delivered"),
            Self::FailedSoftly(cell) => write!(f, "cell {cell} times out"),
            Self::FoundMissing(cell) => write!(f, "cell {cell} is missing"),
            Self::GaveUp(cell) => write!(f, "cell {cell} is given up"),
            Self::Stopped(cell) => write!(f, "cell {cell} has stopped"),
            Self::Grant => write!(f, "granted"),
            Self::GrantFewer => write!(f, "granted, one cell fewer"),
            Self::Refuse => write!(f, "refused"),
            Self::RefuseForNow => write!(f, "refused for now"),
            Self::NoCells => write!(f, "refused: no cells"),
            Self::Decoded => write!(f, "decoded"),
            Self::DecodeFailed => write!(f, "the decode fails"),
            Self::Timeout => write!(f, "the next deadline comes"),
            Self::Abort => write!(f, "aborted"),
            Self::Poll => write!(f, "one output is taken"),
            Self::Oversleep => write!(f, "the next deadline passes unnoticed"),
        }
    }
}
