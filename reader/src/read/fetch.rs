//! A fetch: one request to one node for one contiguous range, which carries the legs that lie in it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hedge_core::{Cause, LegId, RequestId};
use smallvec::SmallVec;
use tokio::time::Instant;

use crate::client::Node;
use crate::file::{BadRecord, Opener};
use crate::store::Control;

/// A leg in a fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rider {
    pub(super) band: usize,
    pub(super) leg: LegId,
    /// The bytes of the internal block that it is about.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) state: Riding,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Riding {
    /// Its bytes are to come.
    Waiting,
    /// It was told to stop.
    Cancelled,
    /// Nothing more is to be said of it.
    Ended,
}

/// What became of a rider.
pub(super) enum Arrival {
    Delivered(Rider),
    Corrupt(Rider, BadRecord),
}

pub(super) struct Fetch {
    pub(super) node: Arc<Node>,
    pub(super) group: usize,
    pub(super) cell: u8,
    pub(super) request: RequestId,
    pub(super) riders: SmallVec<[Rider; 2]>,
    pub(super) control: Control,
    /// Bytes that were asked for, checksums and all.
    pub(super) length: u64,
    /// Since when it waits for its turn.
    pub(super) queued: Instant,
    /// A connection is being opened.
    pub(super) connecting: bool,
    /// The last sign of life.
    pub(super) last: Option<Instant>,
    /// Nothing of it goes on anywhere.
    pub(super) stopped: bool,
    /// Some of its bytes were delivered, and are needed.
    useful: bool,
    gather: Gather,
}

/// The bytes of a fetch, as they come.
pub(super) enum Gather {
    Records(Opener),
    /// Nothing checks these.
    Bare {
        start: u64,
        data: Vec<u8>,
    },
}

impl Fetch {
    pub(super) fn new(
        node: Arc<Node>,
        (group, cell, length): (usize, u8, u64),
        request: RequestId,
        riders: SmallVec<[Rider; 2]>,
        control: Control,
        gather: Gather,
    ) -> Self {
        Self {
            node,
            group,
            cell,
            request,
            riders,
            control,
            length,
            queued: Instant::now(),
            connecting: false,
            last: None,
            stopped: false,
            useful: false,
            gather,
        }
    }

    /// Takes bytes in, and gives out the riders of which it now knows whether they have what they came for.
    pub(super) fn take(&mut self, bytes: &Bytes, mut arrival: impl FnMut(Arrival)) {
        let checked = match &mut self.gather {
            Gather::Bare { start, data } => {
                data.extend_from_slice(bytes);
                *start + data.len() as u64
            }
            Gather::Records(opener) => {
                let riders = &mut self.riders;
                opener.push(bytes, |bad| {
                    for rider in riders.iter_mut().filter(|rider| rider.state == Riding::Waiting) {
                        if rider.start < bad.range.end && bad.range.start < rider.end {
                            rider.state = Riding::Ended;
                            arrival(Arrival::Corrupt(*rider, bad.clone()));
                        }
                    }
                });
                opener.checked()
            }
        };
        for rider in &mut self.riders {
            if rider.state == Riding::Waiting && rider.end <= checked {
                rider.state = Riding::Ended;
                self.useful = true;
                arrival(Arrival::Delivered(*rider));
            }
        }
    }

    /// The bytes of the internal block from `start` to `end`, which have been delivered.
    pub(super) fn bytes(&self, range: &Range<u64>) -> &[u8] {
        let (start, data) = match &self.gather {
            Gather::Records(opener) => (opener.range().start, opener.data()),
            Gather::Bare { start, data } => (*start, &data[..]),
        };
        let place = |offset: u64| usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
        data.get(place(range.start)..place(range.end)).unwrap_or_default()
    }

    /// The same without a copy; what is left of the fetch has no bytes.
    pub(super) fn take_bytes(&mut self, range: &Range<u64>) -> Bytes {
        let nothing = Gather::Bare { start: 0, data: Vec::new() };
        let (start, data) = match std::mem::replace(&mut self.gather, nothing) {
            Gather::Records(opener) => (opener.range().start, opener.into_data()),
            Gather::Bare { start, data } => (start, data),
        };
        let place =
            |offset: u64| usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX).min(data.len());
        let (from, to) = (place(range.start), place(range.end));
        Bytes::from(data).slice(from..to.max(from))
    }

    /// Gives up the bytes, unless some of them were delivered.
    pub(super) fn forget_unless_useful(&mut self) {
        if !self.useful {
            self.gather = Gather::Bare { start: 0, data: Vec::new() };
        }
    }

    /// Riders that wait for their bytes.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Rider> {
        self.riders.iter().filter(|rider| rider.state == Riding::Waiting)
    }

    /// The fetch is over: what was not delivered by now never will be. Gives out the riders that waited, and those that
    /// had been told to stop.
    pub(super) fn end(&mut self, mut ended: impl FnMut(Rider)) {
        for rider in &mut self.riders {
            if rider.state != Riding::Ended {
                ended(*rider);
                rider.state = Riding::Ended;
            }
        }
    }

    pub(super) fn rider(&mut self, band: usize, leg: LegId) -> Option<&mut Rider> {
        self.riders.iter_mut().find(|rider| rider.band == band && rider.leg == leg)
    }
}

/// Why a fetch that ended well is a failure all the same: its store did not give all bytes.
pub(super) const INCOMPLETE: Cause = Cause::Corrupt;
