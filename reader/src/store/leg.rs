//! A leg as its store sees it: whom to tell, and what to hold until everything has stopped.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

use super::{Failed, Failure};
use crate::client::{Alive, Held, Node};

/// What a store says of a leg.
#[derive(Debug)]
pub(crate) enum Said {
    /// The request has its turn: whatever it waits for from now on is the node's doing.
    Started,
    Connecting,
    Connected,
    Data(Bytes),
    /// The last lease is gone: nothing of this leg goes on anywhere.
    Stopped,
}

/// Something said of a leg, and when.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) leg: u32,
    pub(crate) at: Instant,
    pub(crate) said: Said,
}

/// What a leg holds until everything of it has stopped.
#[derive(Default)]
pub(crate) struct Holds {
    pub(crate) _alive: Option<Alive>,
    pub(crate) _memory: Option<Arc<Held>>,
    /// Its node, which is told of requests that nobody waits for and that go on all the same.
    pub(crate) node: Option<Arc<Node>>,
    /// Its turn among the requests to its node, and among all.
    pub(crate) turn: Mutex<Option<Turn>>,
}

/// A request's turn.
pub(crate) struct Turn {
    pub(crate) _of_node: OwnedSemaphorePermit,
    /// Given back when nobody waits for the request any more: a node that hangs holds up itself and not the others.
    pub(crate) of_all: Option<OwnedSemaphorePermit>,
}

/// One request for bytes, as its store sees it: takes what happens, and hands out [leases](Lease).
///
/// To the reader it may stand for several legs of one node that touch, and are read in one request.
pub struct Leg {
    shared: Arc<Shared>,
    left: u64,
}

struct Shared {
    leg: u32,
    events: mpsc::UnboundedSender<Event>,
    cancelled: AtomicBool,
    holds: Holds,
}

impl Leg {
    /// A leg of `length` bytes that tells `events` of itself under the number `leg`, and keeps `holds` until it has stopped.
    pub(crate) fn new(
        leg: u32,
        length: u64,
        events: mpsc::UnboundedSender<Event>,
        holds: Holds,
    ) -> (Self, Control) {
        let shared = Arc::new(Shared { leg, events, cancelled: AtomicBool::new(false), holds });
        let control = Control(Arc::downgrade(&shared));
        (Self { shared, left: length }, control)
    }

    /// Its turn has come.
    pub(crate) fn start(&self, turn: Turn) {
        *self.shared.turn() = Some(turn);
        self.shared.say(Said::Started);
    }

    /// A connection is being opened for this leg.
    pub fn connecting(&self) {
        self.shared.say(Said::Connecting);
    }

    /// The connection is there.
    pub fn connected(&self) {
        self.shared.say(Said::Connected);
    }

    /// These bytes have come.
    ///
    /// # Errors
    ///
    /// [`Failure::TooLong`] if they are more than were asked for; [`Failure::Cancelled`] if nobody waits any more.
    pub fn data(&mut self, bytes: Bytes) -> Result<(), Failed> {
        let length = bytes.len() as u64;
        let Some(left) = self.left.checked_sub(length) else {
            let more = format!("{length} bytes where {} were left to come", self.left);
            return Err(Failed::because(Failure::TooLong, more));
        };
        self.left = left;
        if length > 0 && !self.shared.say(Said::Data(bytes)) {
            return Err(Failure::Cancelled.into());
        }
        Ok(())
    }

    /// How many bytes are still to come.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// All is there.
    ///
    /// # Errors
    ///
    /// [`Failure::TooShort`] if it is not.
    pub fn finish(self) -> Result<(), Failed> {
        match self.left {
            0 => Ok(()),
            left => Err(Failed::because(Failure::TooShort, format!("{left} bytes did not come"))),
        }
    }

    /// Whether the reader has dropped the future. For work that goes on without it, such as a blocking read.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed)
    }

    /// To be held by whatever may outlive the future.
    #[must_use]
    pub fn lease(&self) -> Lease {
        Lease(Arc::clone(&self.shared))
    }
}

impl fmt::Debug for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leg").field("leg", &self.shared.leg).field("left", &self.left).finish()
    }
}

/// Memory and connection of one leg: while one is held, something of the leg still goes on. The drop of the last is the
/// fact that it has stopped. It can tell of connections, too, for work that does not own the [`Leg`].
#[derive(Clone)]
pub struct Lease(Arc<Shared>);

impl Lease {
    /// As [`Leg::connecting`].
    pub fn connecting(&self) {
        self.0.say(Said::Connecting);
    }

    /// As [`Leg::connected`].
    pub fn connected(&self) {
        self.0.say(Said::Connected);
    }

    /// As [`Leg::is_cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.0.leg).finish()
    }
}

impl Shared {
    /// Whether anybody listens.
    fn say(&self, said: Said) -> bool {
        self.events.send(Event { leg: self.leg, at: Instant::now(), said }).is_ok()
    }
}

impl Shared {
    fn turn(&self) -> std::sync::MutexGuard<'_, Option<Turn>> {
        self.holds.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let (true, Some(node)) = (*self.cancelled.get_mut(), &self.holds.node) {
            node.clinging.fetch_sub(1, Ordering::Relaxed);
        }
        self.say(Said::Stopped);
    }
}

/// The reader's end of a leg.
#[derive(Debug)]
pub(crate) struct Control(Weak<Shared>);

impl Control {
    /// Marks the leg as cancelled, for work that outlives its future.
    pub(crate) fn cancel(&self) {
        let Some(shared) = self.0.upgrade() else { return };
        if shared.cancelled.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(node) = &shared.holds.node {
            node.clinging.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(turn) = shared.turn().as_mut() {
            turn.of_all = None;
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.leg).finish()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    fn leg(length: u64) -> (Leg, Control, mpsc::UnboundedReceiver<Event>) {
        let (events, happened) = mpsc::unbounded_channel();
        let (leg, control) = Leg::new(7, length, events, Holds::default());
        (leg, control, happened)
    }

    /// What was said until now, in a word each.
    fn said(happened: &mut mpsc::UnboundedReceiver<Event>) -> Vec<String> {
        let mut said = Vec::new();
        while let Ok(event) = happened.try_recv() {
            assert_eq!(event.leg, 7);
            said.push(match event.said {
                Said::Data(bytes) => format!("{} bytes", bytes.len()),
                other => format!("{other:?}"),
            });
        }
        said
    }

    #[test]
    fn what_happens_is_told_in_order_and_stopped_is_last() {
        let (mut leg, _control, mut happened) = leg(10);
        leg.connecting();
        leg.connected();
        leg.data(Bytes::from_static(b"1234")).unwrap();
        assert_eq!(leg.left(), 6);
        leg.data(Bytes::from_static(b"567890")).unwrap();
        leg.finish().unwrap();
        assert_eq!(said(&mut happened), ["Connecting", "Connected", "4 bytes", "6 bytes", "Stopped"]);
        assert!(happened.blocking_recv().is_none());
    }

    #[test]
    fn stopped_is_told_when_the_last_lease_is_gone_and_once() {
        let (leg, _control, mut happened) = leg(0);
        let first = leg.lease();
        let second = first.clone();
        leg.finish().unwrap();
        drop(first);
        second.connected();
        assert_eq!(said(&mut happened), ["Connected"]);
        drop(second);
        assert_eq!(said(&mut happened), ["Stopped"]);
        assert!(happened.blocking_recv().is_none());
    }

    #[test]
    fn a_leg_that_is_dropped_unused_has_stopped() {
        let (leg, _control, mut happened) = leg(10);
        drop(leg);
        assert_eq!(said(&mut happened), ["Stopped"]);
    }

    #[test]
    fn what_a_leg_holds_is_held_until_the_last_lease_is_gone() {
        let turns = Arc::new(Semaphore::new(2));
        let turn = || Arc::clone(&turns).try_acquire_owned().unwrap();
        let (events, _happened) = mpsc::unbounded_channel();
        let (leg, control) = Leg::new(7, 10, events, Holds::default());
        leg.start(Turn { _of_node: turn(), of_all: Some(turn()) });
        let lease = leg.lease();
        drop(leg);
        assert_eq!(turns.available_permits(), 0);
        control.cancel();
        assert_eq!(turns.available_permits(), 1, "a request that nobody waits for holds up its node alone");
        drop(lease);
        assert_eq!(turns.available_permits(), 2);
        drop(control);
    }

    #[test]
    fn bytes_beyond_the_length_are_too_long_and_are_not_told() {
        let (mut leg, _control, mut happened) = leg(10);
        leg.data(Bytes::from_static(b"12345678")).unwrap();
        let failed = leg.data(Bytes::from_static(b"901")).unwrap_err();
        assert_eq!(failed.to_string(), "too long: 3 bytes where 2 were left to come");
        assert_eq!(said(&mut happened), ["8 bytes"]);
        assert_eq!(leg.left(), 2);
    }

    #[test]
    fn an_early_end_is_too_short() {
        let (mut leg, _control, _happened) = leg(10);
        leg.data(Bytes::from_static(b"12345678")).unwrap();
        assert_eq!(leg.finish().unwrap_err().to_string(), "too short: 2 bytes did not come");
    }

    #[test]
    fn no_bytes_are_no_sign_of_life() {
        let (mut leg, _control, mut happened) = leg(10);
        leg.data(Bytes::new()).unwrap();
        assert!(said(&mut happened).is_empty());
    }

    #[test]
    fn a_cancel_is_seen_by_the_leg_and_its_leases() {
        let (leg, control, mut happened) = leg(10);
        let lease = leg.lease();
        assert!(!leg.is_cancelled() && !lease.is_cancelled());
        control.cancel();
        assert!(leg.is_cancelled() && lease.is_cancelled());
        assert!(said(&mut happened).is_empty(), "cancelled is not stopped");
    }

    #[test]
    fn a_cancel_after_the_end_does_nothing() {
        let (leg, control, mut happened) = leg(0);
        leg.finish().unwrap();
        control.cancel();
        assert_eq!(said(&mut happened), ["Stopped"]);
    }

    #[test]
    fn bytes_for_nobody_are_cancelled() {
        let (mut leg, _control, happened) = leg(10);
        drop(happened);
        assert_eq!(leg.data(Bytes::from_static(b"1")).unwrap_err().kind, Failure::Cancelled);
    }
}
