//! Instants and spans on the caller's clock.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A point on the caller's clock: nanoseconds since an origin of the caller's choice.
///
/// Zero is an ordinary instant. All arithmetic saturates; the machines of this crate take a clock that
/// steps back as one that stands still.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// The last instant: later than every deadline.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `millis` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Span::from_millis(millis).0)
    }

    /// The instant `micros` microseconds after the origin.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(Span::from_micros(micros).0)
    }

    /// The instant `secs` seconds after the origin.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(Span::from_secs(secs).0)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// This instant and `span`, at most [`Instant::MAX`].
    #[must_use]
    #[inline]
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        self.after(span)
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = self.after(span);
    }
}

impl Sub for Instant {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{:?}", Span(self.0))
    }
}

/// A length of time in nanoseconds, up to 584 years. All arithmetic saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The sum, at most [`Span::MAX`].
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Duration> for Span {
    /// The duration, at most [`Span::MAX`].
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Duration::from(*self), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let second = Span::from_secs(1);
        assert_eq!(Instant::ZERO - Instant::MAX, Span::ZERO);
        assert_eq!(Instant::MAX + second, Instant::MAX);
        assert_eq!(Instant::MAX - Instant::ZERO, Span::MAX);
        assert_eq!(Span::MAX.saturating_add(second), Span::MAX);
        assert_eq!(Span::ZERO.saturating_sub(second), Span::ZERO);
        assert_eq!(Span::from_millis(u64::MAX), Span::MAX);
        assert_eq!(Instant::from_millis(u64::MAX), Instant::MAX);
        assert_eq!(Span::from(Duration::MAX), Span::MAX);
    }

    #[test]
    fn units_are_what_their_names_say() {
        assert_eq!(Span::from_secs(2), Span::from_millis(2_000));
        assert_eq!(Span::from_millis(2), Span::from_micros(2_000));
        assert_eq!(Span::from_micros(2).as_nanos(), 2_000);
        assert_eq!(Span::from_nanos(1_999_999).as_millis(), 1);
        assert_eq!(Span::from_nanos(1_999).as_micros(), 1);
        assert_eq!(Span::from(Duration::from_millis(7)), Span::from_millis(7));
        assert_eq!(Duration::from(Span::from_millis(7)), Duration::from_millis(7));
        let mut at = Instant::from_millis(3);
        at += Span::from_millis(4);
        assert_eq!(at, Instant::from_nanos(7_000_000));
        assert_eq!((Instant::from_micros(7_000), Instant::from_secs(0)), (at, Instant::ZERO));
    }
}
