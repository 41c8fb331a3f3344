//! What Kubernetes' controllers would write for one Service, which endpoints the proxy of one node uses, and the reason for
//! every decision.
//!
//! The functions take objects as Kubernetes has them ([`model`]) and return values. They do no I/O, read no clock and are total:
//! whatever the objects hold, there is an answer.
//!
//! | question | function | answer |
//! |---|---|---|
//! | What would the controllers write? | [`plan()`] | [`Plan`]: Endpoints, slices, events, findings |
//! | Why is a pod served, or not? | [`explain()`] | [`Explanation`]: a verdict for each pod, port and list |
//! | What changes in the cluster? | [`compare::changes`] | each object with its action and what differs |
//! | What would another release do? | [`compare::deviations`] | the objects that differ |
//! | Which endpoints does a node use? | [`view`] | for each port of a Service, the endpoints and why not the others |
//! | How do I leave topology keys? | [`migration`] | what a Service must have instead |
//!
//! ```
//! use roster_engine::{Controller, Options, State, model::{Nodes, Pod, Service}, plan};
//! use serde_json::json;
//!
//! let service: Service = serde_json::from_value(json!({
//!     "metadata": {"name": "web", "namespace": "shop"},
//!     "spec": {"selector": {"app": "web"}, "ipFamilies": ["IPv4"], "ports": [{"port": 80, "targetPort": 8080}]},
//! }))?;
//! let pod: Pod = serde_json::from_value(json!({
//!     "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web"}},
//!     "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
//! }))?;
//! let state = State {
//!     service: Some(&service), pods: &[&pod], nodes: &Nodes::default(), endpoints: None, slices: &[],
//! };
//!
//! let plan = plan(&state, &Controller::ALL, &Options::default());
//! assert_eq!((plan.endpoints.verb(), plan.endpoint_slices.create.len()), ("create", 1));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Releases
//!
//! [`Options::compat`](state::Options::compat) chooses the Kubernetes release to act like: a [`profile`] is a row of switches. The
//! answers are compared with those of the real controllers of each release.
//!
//! # The modules
//!
//! ```text
//!   state (types) ─► plan ─┬─► endpoints ─────┐      membership   the pods of a Service
//!                          ├─► endpointslice ─┼──►   ports        the number of each Service port in a pod
//!                          └─► mirror ────────┘      subsets      the canonical form of Endpoints
//!                                                    budget       how much one plan may repeat
//!   explain, compare, stale: interpret a plan        profile, reason: tables       record: decisions
//!   view: which of the published endpoints the proxy of one node uses     migration: the way out of topology keys
//!   local_overlay: the endpoints of one node while the controllers are out of reach
//! ```

pub(crate) mod budget;
pub(crate) mod canonical_ips;
pub mod compare;
pub mod endpoints;
pub mod endpointslice;
pub mod explain;
pub mod label_values;
pub mod local_overlay;
pub mod membership;
pub mod migration;
pub mod mirror;
pub mod model;
pub(crate) mod order_hash;
pub mod phrase;
pub mod picture;
pub mod plan;
pub(crate) mod ports;
pub mod profile;
pub mod reason;
pub mod record;
pub mod shown_text;
pub mod stale;
pub mod state;
mod stored_addresses;
pub mod subsets;
pub mod text_columns;
pub mod unknown_kinds;
pub mod view;

pub use budget::TooLarge;
pub use explain::{Explanation, explain};
pub use plan::plan;
pub use profile::Minor;
pub use reason::{Finding, Reason, Severity};
pub use state::{Controller, Options, Plan, State};
