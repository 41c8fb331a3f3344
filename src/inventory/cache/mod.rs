//! What the webhook knows of the cluster: a slim copy of what rules ask about, kept by watches.
//!
//! [`Store`] takes events and answers questions; it knows nothing of where events come from. `src/keeper/` feeds it
//! from an API server. Only what rules ask about is kept: a pod takes about a kilobyte.

mod slim;
mod store;
#[cfg(test)]
mod tests;

pub use store::{Event, Kind, Object, Store};
