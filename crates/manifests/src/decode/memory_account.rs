//! An account of memory: what several inputs share.

use std::fmt;

/// Memory that several inputs share, such as that of all requests of a server.
pub trait MemoryAccount: fmt::Debug + Sync {
    /// Takes this many bytes. `false`: there are not so many left.
    fn take(&self, bytes: usize) -> bool;

    /// Returns some of what was taken.
    fn give_back(&self, bytes: usize);
}
