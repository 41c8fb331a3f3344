//! What is known of the cluster, and what the clients of this node see of it.

pub(super) mod edge_cache;
pub(super) mod endpoint_lists;
pub(super) mod endpoint_selection;
pub(super) mod event_ring;
pub(super) mod held_objects;
pub(super) mod json_text;
pub(super) mod label_readers;
pub(super) mod node_state;
#[cfg(test)]
pub(super) mod node_state_tests;
pub(super) mod overlay;
pub(super) mod raw_object;
pub(super) mod scheme;
pub(super) mod selection;
pub(super) mod served_object;
pub(super) mod versions;
pub(super) mod watch_cache;
