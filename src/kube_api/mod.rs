//! A cluster's API server as seen by a client: connect, list, watch, hold a Lease.

mod connect;
mod lease;
mod list;
mod metrics;
mod reflector;
mod resource_api;
mod watch_failures;
mod watched_object;

pub use connect::{LiveError, Target};
pub(crate) use connect::{config, connect};
pub(crate) use lease::{LEASE_DURATION, LeaseHolder};
pub use list::{ReadCluster, read};
pub use metrics::WatchMetrics;
pub(crate) use reflector::{WatchEnded, reflect};
pub(crate) use resource_api::api;
