//! The engine: what the controllers would do to one Service, and the reason for every decision. Pure and total.
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
#[cfg(feature = "decode")]
pub(crate) mod enumeration;
pub mod explain;
pub(crate) mod label_values;
pub mod local_overlay;
pub(crate) mod membership;
pub mod migration;
pub mod mirror;
pub(crate) mod order_hash;
pub(crate) mod phrase;
pub mod plan;
pub(crate) mod ports;
pub mod profile;
pub mod reason;
pub mod record;
pub mod stale;
pub mod state;
mod stored_addresses;
pub mod subsets;
pub mod unknown_kinds;
pub mod view;
