//! What a plan changes, object by object, and whether it changes anything.
//!
//! A write without a difference is not a change: upstream's controllers repeat some of them at every sync.
//! [`Tally::is_change`] tells the two apart; the command line and the servers use it.

mod against;
mod aspect;
mod change;
mod difference;
mod drift;
mod tally;

pub use against::{Deviation, deviations};
pub use aspect::Aspect;
pub use change::{ChangedObject, ObjectChange, Verb, changes, publishes_nothing};
pub use difference::PublishedChange;
pub(crate) use difference::{published_endpoints, published_slices};
pub use drift::{Drift, DriftClass, PublishedList, drift, orphaned_slices};
pub use tally::{Tally, Writes};
