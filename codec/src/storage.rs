//! Where codes, plans and absorbers keep what they hold: arrays of known size, memory of the caller's, or boxes.

use crate::dyadic::{Shape, groups};

mod sealed {
    pub trait Sealed {}
    impl<T: AsRef<[u8]> + AsMut<[u8]>> Sealed for T {}
    impl<const K: usize, const M: usize> Sealed for super::Inline<K, M> {}
}

/// Memory of a [`RebuildPlan`](crate::RebuildPlan): [`Inline`], or any bytes (`[u8; N]`, `&mut [u8]`, `Box<[u8]>`, `Vec<u8>`) of at
/// least [`plan_bytes`].
pub trait PlanStorage: sealed::Sealed {
    /// Sources, lost cells and coefficients.
    #[doc(hidden)]
    fn parts(&self, sources: usize, lost: usize) -> PlanParts<&[u8]>;
    /// The same to fill; `None` if there is too little memory.
    #[doc(hidden)]
    fn parts_mut(&mut self, sources: usize, lost: usize) -> Option<PlanParts<&mut [u8]>>;
    /// What to say when there is too little: elements needed and found.
    #[doc(hidden)]
    fn shortage(&self, sources: usize, lost: usize) -> (usize, usize);
}

/// Sources, lost cells and coefficients of a plan.
#[doc(hidden)]
#[derive(Debug)]
pub struct PlanParts<S> {
    pub(crate) sources: S,
    pub(crate) lost: S,
    pub(crate) stream: S,
}

/// Bytes that a plan needs for a number of sources and of lost cells.
#[must_use]
pub const fn plan_bytes(sources: usize, lost: usize) -> usize {
    sources.saturating_add(lost).saturating_add(sources.saturating_mul(lost))
}

/// Bytes that a run-time code of k + m cells needs.
#[must_use]
pub const fn code_bytes(k: usize, m: usize) -> usize {
    let (products, groups) = (k.saturating_mul(m), groups(m));
    products.saturating_mul(2).saturating_add(groups.saturating_mul(k.saturating_add(size_of::<Shape>())))
}

/// A plan's memory in the plan itself, for up to K sources and M lost cells: plain bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
pub struct Inline<const K: usize, const M: usize> {
    sources: [u8; K],
    lost: [u8; M],
    stream: [[u8; K]; M],
}

impl<const K: usize, const M: usize> Default for Inline<K, M> {
    fn default() -> Self {
        Self { sources: [0; K], lost: [0; M], stream: [[0; K]; M] }
    }
}

impl<const K: usize, const M: usize> PlanStorage for Inline<K, M> {
    #[inline]
    fn parts(&self, sources: usize, lost: usize) -> PlanParts<&[u8]> {
        let stream = self.stream.as_flattened();
        PlanParts {
            sources: &self.sources[..sources.min(K)],
            lost: &self.lost[..lost.min(M)],
            stream: &stream[..(sources * lost).min(stream.len())],
        }
    }

    #[inline]
    fn parts_mut(&mut self, sources: usize, lost: usize) -> Option<PlanParts<&mut [u8]>> {
        Some(PlanParts {
            sources: self.sources.get_mut(..sources)?,
            lost: self.lost.get_mut(..lost)?,
            stream: self.stream.as_flattened_mut().get_mut(..sources * lost)?,
        })
    }

    fn shortage(&self, sources: usize, lost: usize) -> (usize, usize) {
        if sources > K { (sources, K) } else { (lost, M) }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> PlanStorage for T {
    #[inline]
    fn parts(&self, sources: usize, lost: usize) -> PlanParts<&[u8]> {
        let bytes = self.as_ref();
        let (sources_part, rest) = bytes.split_at(sources.min(bytes.len()));
        let (lost_part, rest) = rest.split_at(lost.min(rest.len()));
        PlanParts {
            sources: sources_part,
            lost: lost_part,
            stream: &rest[..(sources * lost).min(rest.len())],
        }
    }

    #[inline]
    fn parts_mut(&mut self, sources: usize, lost: usize) -> Option<PlanParts<&mut [u8]>> {
        let (sources_part, rest) = self.as_mut().split_at_mut_checked(sources)?;
        let (lost_part, rest) = rest.split_at_mut_checked(lost)?;
        Some(PlanParts { sources: sources_part, lost: lost_part, stream: rest.get_mut(..sources * lost)? })
    }

    fn shortage(&self, sources: usize, lost: usize) -> (usize, usize) {
        (plan_bytes(sources, lost), self.as_ref().len())
    }
}
