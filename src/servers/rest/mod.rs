//! The REST API: `POST /v1/plan` and its siblings, each with its documentation in the same place.
//!
//! ```text
//! request id ─► log and metrics ─► errors as problems ─► host ─► token ─┬─► limit ─► body ─► decode ─► plan ─► JSON
//!                                                                      └─► health, metrics, documentation
//! ```

mod access;
mod app;
mod body;
mod cluster;
mod cluster_turns;
mod compare;
mod compat;
mod compute;
mod content_encoding;
mod convert;
mod desired;
mod document;
mod example_answers;
mod explain;
mod health;
mod limits;
mod lint;
mod live;
mod metrics;
mod object_memory;
mod observe;
mod openapi30;
mod page;
mod part;
mod picture;
mod plan;
mod problem;
mod problem_responses;
mod request_id;
mod review;
mod routes;
mod schema;
mod view;

pub use access::RestAccess;
pub use app::RestApp;
pub use limits::RestLimits;
pub use metrics::{RestMetrics, example_metrics};
pub use part::{AccessOptions, part};
pub use routes::{guarded, openapi_30_json, openapi_json, router};
