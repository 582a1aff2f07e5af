//! Breadth first through every order of events.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use hedge_core::{Fault, LegId, Output, Petition, Subject};

use crate::broken::Broken;
use crate::case::{Case, Read};
use crate::event::Event;
use crate::shadow::Shadow;

/// A hash of 64 bits, the same in every run. States are many small numbers: those are packed before they are mixed.
#[derive(Clone, Copy)]
struct Mix {
    mixed: u64,
    packed: u64,
    bits: u32,
}

impl Default for Mix {
    fn default() -> Self {
        Self { mixed: 0x9e37_79b9_7f4a_7c15, packed: 0, bits: 0 }
    }
}

impl Mix {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.mixed ^ word) * 0xd6e8_feb8_6659_fd93;
        self.mixed = (product as u64 ^ (product >> 64) as u64).wrapping_add(word.rotate_left(23));
    }

    fn pack(&mut self, bits: u32, word: u64) {
        if self.bits + bits > 64 {
            self.mix(self.packed);
            (self.packed, self.bits) = (0, 0);
        }
        self.packed = self.packed << bits | word;
        self.bits += bits;
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        let mut last = *self;
        last.mix(self.packed);
        last.mix(u64::from(self.bits));
        last.mixed
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u8(byte);
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.pack(8, u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        if word < 256 {
            self.pack(9, word);
        } else {
            self.pack(9, 256);
            self.mix(word);
        }
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct Kept(u64);

impl Hasher for Kept {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are words");
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

type Keys = HashSet<u64, BuildHasherDefault<Kept>>;

fn hash(value: impl Hash) -> u64 {
    let mut mix = Mix::default();
    value.hash(&mut mix);
    mix.finish()
}

fn canonical_key(case: &Case, read: &Read, shadow: &Shadow) -> u64 {
    hash((read.canonical(), shadow.canonical(case)))
}

/// An output without its identities, which no two ways to one state share.
fn anonymous(output: &Output) -> Option<Output> {
    let nameless = |leg: LegId| LegId { attempt: 0, ..leg };
    Some(match *output {
        Output::Tell(_) => return None,
        Output::Release(leg) => Output::Release(nameless(leg)),
        Output::Cancel(leg) => Output::Cancel(nameless(leg)),
        Output::Launch { leg, node, why } => Output::Launch { leg: nameless(leg), node, why },
        Output::Petition(petition) => {
            let subject = match petition.subject {
                Subject::Late { leg, node, why, request: _, again: _ } => {
                    Subject::Late { leg: nameless(leg), node, why, request: Default::default(), again: false }
                }
                Subject::Eager => Subject::Eager,
            };
            Output::Petition(Petition { id: 0, subject, deadline: None, ..petition })
        }
        same => same,
    })
}

/// A promise broken, and the shortest way there.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) broken: Broken,
    pub(crate) script: String,
}

fn begin(case: &Case, fault: Option<Fault>) -> (Read, Shadow) {
    let read = Read::new(Default::default(), &case.plan()).expect("a plan that can be read");
    let read = match fault {
        Some(fault) => read.with_fault(fault),
        None => read,
    };
    (read, Shadow::new(case))
}

/// Where a state was first reached from, and by what.
type Step = (u32, Event);

fn tell(
    case: &Case,
    fault: Option<Fault>,
    steps: &[Step],
    at: u32,
    last: Option<Event>,
    broken: Broken,
) -> Violation {
    let mut events: Vec<_> = last.into_iter().collect();
    let mut at = at;
    while at > 0 {
        let (from, event) = steps[at as usize];
        events.push(event);
        at = from;
    }
    events.reverse();
    let mut script = format!("{case}:\n");
    let (mut read, mut shadow) = begin(case, fault);
    let mut lines = String::new();
    let mut watch = |output: &Output| writeln!(lines, "        {output:?}").expect("memory");
    let _ = if case.partial_polls { Ok(()) } else { shadow.drain(case, &mut read, &mut watch) };
    script += "    it begins\n";
    script += &std::mem::take(&mut lines);
    for event in events {
        writeln!(script, "    {event}").expect("memory");
        let _ = shadow.step(case, &mut read, event, |output| {
            writeln!(lines, "        {output:?}").expect("memory");
        });
        script += &std::mem::take(&mut lines);
    }
    Violation { broken, script }
}

/// What an exploration reached.
pub(crate) struct Reached {
    pub(crate) states: usize,
    /// The canonical keys of the states.
    pub(crate) keys: Vec<u64>,
    /// States whose canonical key another state has, with another future.
    pub(crate) ambiguous: Vec<String>,
}

/// Explores `case`. States that differ only in what does not matter for the future are one, unless `raw`.
pub(crate) fn explore(case: &Case, fault: Option<Fault>, raw: bool) -> Result<Reached, Violation> {
    let (mut read, mut shadow) = begin(case, fault);
    let mut steps: Vec<Step> = vec![(0, Event::Poll)];
    if !case.partial_polls {
        let drained = shadow.drain(case, &mut read, |_| {});
        drained.map_err(|broken| tell(case, fault, &steps, 0, None, broken))?;
    }
    let key = |read: &Read, shadow: &Shadow| {
        if raw { hash((read, shadow)) } else { canonical_key(case, read, shadow) }
    };
    let mut seen = Keys::default();
    let mut futures: HashMap<u64, (u32, Vec<(Event, u64)>)> = HashMap::new();
    let mut ambiguous = Vec::new();
    seen.insert(key(&read, &shadow));
    let mut level = vec![(read, shadow, 0_u32)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (read, shadow, at) in level {
            let events = shadow.events(case, &read);
            let checked = shadow.check(case, &read, &events);
            checked.map_err(|broken| tell(case, fault, &steps, at, None, broken))?;
            let mut future = Vec::new();
            for event in events {
                let (mut read, mut shadow) = (read.clone(), shadow.clone());
                let mut seen_outside = Mix::default();
                let step = shadow.step(case, &mut read, event, |output| {
                    if let (true, Some(output)) = (raw, anonymous(output)) {
                        output.hash(&mut seen_outside);
                    }
                });
                step.map_err(|broken| tell(case, fault, &steps, at, Some(event), broken))?;
                if raw {
                    canonical_key(case, &read, &shadow).hash(&mut seen_outside);
                    future.push((event, seen_outside.finish()));
                }
                if seen.insert(key(&read, &shadow)) {
                    let index = u32::try_from(steps.len()).expect("fewer states than that");
                    steps.push((at, event));
                    next.push((read, shadow, index));
                }
            }
            if raw {
                let (other, known) = futures
                    .entry(canonical_key(case, &read, &shadow))
                    .or_insert_with(|| (at, future.clone()));
                if *known != future {
                    let differ = known.iter().zip(&future).find(|(one, other)| one != other);
                    let broken = || Broken { promise: "Equal projections", how: String::new() };
                    ambiguous.push(format!(
                        "{} and\n{} differ in {differ:?}",
                        tell(case, fault, &steps, at, None, broken()).script,
                        tell(case, fault, &steps, *other, None, broken()).script,
                    ));
                }
            }
        }
        level = next;
    }
    let keys = if raw { futures.into_keys().collect() } else { seen.iter().copied().collect() };
    Ok(Reached { states: seen.len(), keys, ambiguous })
}
