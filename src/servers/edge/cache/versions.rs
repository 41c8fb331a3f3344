//! The resourceVersions that are served: they rise, also across restarts.

/// How many versions are reserved at once. A block lasts for weeks of ordinary changes.
const BLOCK: u64 = 1 << 20;

/// By how much the version of the clock rises in a second: more than there are changes in one.
const PER_SECOND: u32 = 20;

/// Keeps the reservation where a restart finds it.
pub(crate) trait Reservation: Send + Sync {
    /// Stores that versions up to `until` may be in use. Where that fails, it is logged.
    fn reserve(&self, until: u64);
}

/// Numbers for resourceVersions. A block of them is reserved before any of it is used; so the next start begins after all
/// that were used.
pub(crate) struct Versions {
    current: u64,
    reserved: u64,
    reservation: Option<Box<dyn Reservation>>,
}

impl std::fmt::Debug for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Versions")
            .field("current", &self.current)
            .field("reserved", &self.reserved)
            .finish_non_exhaustive()
    }
}

impl Versions {
    /// The first version of a start: after all that were reserved before, and after the seconds since 1970 as its upper
    /// bits. So versions rise too where nothing was stored, unless the clock was set back.
    pub(crate) fn start(seconds: u64, reserved: Option<u64>, reservation: Option<Box<dyn Reservation>>) -> Self {
        let current = (seconds << PER_SECOND).max(reserved.unwrap_or_default());
        let mut versions = Self { current, reserved: current, reservation };
        versions.reserve();
        versions
    }

    /// Versions after `current`, which are not stored.
    #[cfg(test)]
    pub(crate) fn from(current: u64) -> Self {
        Self { current, reserved: u64::MAX, reservation: None }
    }

    /// The last version that was used.
    pub(crate) fn current(&self) -> u64 {
        self.current
    }

    /// A version that was never used.
    pub(crate) fn next(&mut self) -> u64 {
        if self.current >= self.reserved {
            self.reserve();
        }
        self.current += 1;
        self.current
    }

    /// Reserves a block. Where that fails, versions rise as before, and the clock keeps those of the next start apart: they
    /// are used up more slowly than it rises.
    fn reserve(&mut self) {
        let until = self.current.saturating_add(BLOCK);
        if let Some(reservation) = &self.reservation {
            reservation.reserve(until);
        }
        self.reserved = until;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Stored(Arc<AtomicU64>);

    impl Reservation for Stored {
        fn reserve(&self, until: u64) {
            self.0.store(until, Ordering::Relaxed);
        }
    }

    #[test]
    fn versions_rise_across_restarts() {
        let now = 1_800_000_000;
        for (name, seconds, reserved, want) in [
            ("nothing is stored", now, None, now << 20),
            ("the clock is ahead", now, Some(7), now << 20),
            ("the clock was set back", now - 9, Some((now << 20) + 5), (now << 20) + 5),
            ("the clock is that of a node without a battery", 0, Some(now << 20), now << 20),
        ] {
            assert_eq!(Versions::start(seconds, reserved, None).current(), want, "{name}");
        }
    }

    #[test]
    fn a_block_is_reserved_before_it_is_used() {
        let stored = Stored::default();
        let mut versions = Versions::start(0, Some(10), Some(Box::new(stored.clone())));
        let mut last = versions.current();
        for _ in 0..2 * BLOCK + 3 {
            let version = versions.next();
            assert!(version == last + 1 && version <= stored.0.load(Ordering::Relaxed), "{version}");
            last = version;
        }
        assert_eq!(Versions::start(0, Some(stored.0.load(Ordering::Relaxed)), None).current(), 10 + 3 * BLOCK);
    }
}
