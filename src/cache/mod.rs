//! What the webhook knows of the cluster: a slim copy of what rules ask about, kept by watches.
//!
//! [`Store`] takes events and answers questions; it knows nothing of where events come from. `watch` feeds it
//! from an API server. Only what rules ask about is kept: a pod takes about a kilobyte.

#[cfg(feature = "controller")]
mod watch;
#[cfg(feature = "controller")]
mod watched;

mod store;

pub use store::{Event, Object, Store};
#[cfg(feature = "controller")]
pub use watch::{WatchError, run};
