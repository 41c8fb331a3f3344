//! The controller: it keeps Endpoints and EndpointSlices in a cluster as the plans of the engine want them.
//!
//! ```text
//! watches ─► sink ─► cluster_copy ─ affected ─► queue ─► worker ─► plan ─► applier ─► API server
//!                        ▲                                                   │
//!                        └──────────────── what was written ─────────────────┘
//! ```
//!
//! In shadow, the worker compares instead of writing (`shadow`). `service_scope`, `beside` and `contest` are for a controller that serves
//! a part of the Services, next to another one.
//!
//! The modules that decide do no I/O: `affected`, `announced_hints`, `beside`, `contest`, `event_log`, `noticed`, `queue`, `service_input`,
//! `sync_counts`, `sync_records`, `token_bucket`, `trigger_times` and `unseen_writes`. The plan is the one of every other way in.

mod admin_readers;
mod affected;
mod announced_hints;
mod applier;
mod apply_error;
mod beside;
mod cluster_copy;
#[cfg(test)]
mod cluster_copy_tests;
mod cluster_release;
mod contest;
mod debug;
mod event_log;
mod event_sender;
mod leadership;
mod metrics;
mod noticed;
mod options;
mod permissions;
mod queue;
mod service_input;
mod service_scope;
mod shadow;
mod sink;
mod start;
mod sync_counts;
mod sync_records;
mod token_bucket;
mod trigger_times;
mod unseen_writes;
mod watched_copy;
mod watched_value;
mod worker;
#[cfg(test)]
mod worker_tests;
mod written_objects;

pub use leadership::ControllerLease;
pub use metrics::example_metrics;
pub use options::ControllerOptions;
pub use permissions::{permissions, permissions_in_shadow, permissions_in_shadow_for_events, permissions_to_write};
pub use service_scope::ServiceScope;
pub use shadow::{DriftReport, PastReport, ServiceDrift, ShadowClass, ShadowOptions};
pub use start::{StartedController, start};
pub use token_bucket::WriteRate;
pub use watched_copy::WatchedCopy;
