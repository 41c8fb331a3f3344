//! Everything that is known of a cluster, and the questions that are asked of it.
//!
//! ```text
//! files, a request ─► Inventory ─┬─► Index         for each Service its pods, Endpoints and slices ─► whole: plans of all
//!                                └─► Snapshot ┐
//!                                             ├─ ClusterIndex ─► Knowledge: what rules ask
//! watches ─► Sink ─┬─► Store ─────────────────┘
//!                  └─► a server's own Live
//! ```
//!
//! Each resource is a [`Table`]: rows sorted by namespace and name, with look-ups that follow every change. [`Live`] is a
//! table for each resource, in the form of the server that keeps it. A row is a reference into an [`Inventory`], a small copy
//! that a [`Store`] owns, or the text of an object in the node proxy. The questions of rules are written once, for any of them.
//! [`Index`] sorts and borrows the same tables, and then differs: planning visits every Service once, so that it joins the
//! lists and collects the pods of all selectors in one pass, and keeps no look-up that follows changes.

mod assumed_counts;
mod assumed_pods;
mod backends;
mod check;
mod cluster_index;
mod custom_resources;
mod family_findings;
mod fields;
mod findings;
mod index;
mod index_answers;
mod intern;
mod label_postings;
mod live;
mod lookups;
mod objects;
mod other_slices;
mod planning_rows;
mod routes;
mod rows;
mod selected_pods;
mod service_explainer;
mod service_findings;
mod service_lookups;
mod sink;
mod snapshot;
mod store;
#[cfg(test)]
mod store_tests;
mod table;
mod unknown_kinds;
mod view_input;
pub mod whole;
pub mod workloads;

pub use assumed_counts::AssumedPodCounts;
pub use backends::{BackendPort, BackendReference, GATEWAY, HTTPS, Referrer, ServicePorts, backends_of};
pub use check::check;
pub use cluster_index::{ClusterIndex, IndexReader};
pub use custom_resources::{CustomResources, CustomResourcesOfNamespace};
pub use fields::{NodeFields, PodFields, ServiceFields, SliceFields, Storage};
pub use findings::{Findings, FindingsRoom};
pub use index::{Entry, Index};
pub use index_answers::Answers;
pub use intern::{Interner, Targets};
pub use live::{Live, LiveRows, LiveTable};
pub use lookups::{NodePlaces, PodAddresses, SliceEndpoints};
pub use objects::{AnyObject, Inventory, is_given_by_kustomize};
pub use planning_rows::{PlannedPods, PlannedServices, PlanningRows, SharedNodes};
pub use routes::{ServiceRoute, ServiceRoutes};
pub use rows::{NamespaceRow, NodeRow, PodRow, ServiceRow, SliceRow, SmallRows};
pub use service_explainer::ServiceExplainer;
pub use service_findings::ServiceFindings;
pub use service_lookups::{SelectingService, ServiceSlice, ServicesBySelector, SlicesByService};
pub use sink::{Loss, Sink};
pub use snapshot::{Borrowed, Placed, Snapshot};
pub use store::{Store, StoreSink, Stored};
pub use table::{Change, Lookup, Row, Table};
pub use view_input::{NodeNotFound, ViewInput};
