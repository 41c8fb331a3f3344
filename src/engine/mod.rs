//! The engine: what the controllers would do to one Service, and the reason of every decision. Pure and total.
//!
//! ```text
//!   state (types) ─► plan ─┬─► endpoints ─────┐      membership   which pods a Service has
//!                          ├─► endpointslice ─┼──►   ports        which number each Service port has in a pod
//!                          └─► mirror ────────┘      subsets      the canonical form of Endpoints
//!                                                    budget       what one plan may repeat
//!   explain, compare: read what a plan says          compat, reason: tables
//! ```

pub mod budget;
pub mod canonical_ips;
pub mod compare;
pub mod compat;
pub mod endpoints;
pub mod endpointslice;
pub mod explain;
pub mod membership;
pub mod mirror;
pub mod order_hash;
pub mod phrase;
pub mod plan;
pub mod ports;
pub mod reason;
pub mod record;
pub mod state;
mod stored_addresses;
pub mod subsets;
