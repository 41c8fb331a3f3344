//! A cluster's API server as seen by a client: connect, list, watch, write, hold a Lease.

mod answers;
mod caller;
mod cluster;
mod connect;
mod failure_log;
mod http_client;
mod lease;
mod lease_refusals;
#[cfg(test)]
mod lease_tests;
mod list;
mod reader_reviews;
mod reflector;
mod request_failure;
mod watch_events;
#[cfg(test)]
mod watch_events_tests;
mod watch_failures;
mod watched_object;
mod writer;

pub(crate) use answers::{RequestMetrics, is_of_gateway};
pub(crate) use caller::{ByteBudget, Caller, CallerCluster, CallerEvent, CallerFailure, CallerToken};
pub(crate) use cluster::Cluster;
pub use cluster::ClusterChoice;
pub(crate) use connect::connect;
pub use connect::{LiveError, Target};
pub(crate) use failure_log::FailureLog;
pub(crate) use http_client::{get_text, probe_silent_connections};
pub use lease::LeaseTimes;
pub(crate) use lease::{LeaseChoice, LeaseDeadline, LeaseHolder, LeaseOutcome, LeaseState};
pub(crate) use lease_refusals::LeaseRefusals;
pub(crate) use list::server_version;
pub use list::{ReadCluster, read};
pub(crate) use reader_reviews::{ReadRefusal, ReaderReviews};
#[cfg(test)]
pub(crate) use reflector::reflect;
pub(crate) use request_failure::failure_text;
#[cfg(test)]
pub(crate) use watch_events::ListStreaming;
pub use watch_failures::WatchMetrics;
pub(crate) use writer::{WriteError, WriteOutcome, Writer, by_labels, by_name};
