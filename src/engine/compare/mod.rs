//! What a plan changes, told object by object: the one answer to "is there anything to do?".
//!
//! A write that brings nothing new is no change: upstream's controllers repeat some of them at every
//! sync, for ever. [`Tally::is_change`] tells the two apart, and every door counts by it.

mod against;
mod change;
mod difference;
mod tally;

pub use against::{Deviation, deviations};
pub use change::{Change, Object, Verb, changes};
pub use tally::{Tally, Writes};
