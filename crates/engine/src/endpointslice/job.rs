//! The input of one sync.

use super::families::Families;
use crate::{
    model::{Labels, Nodes, Pod, Service},
    profile::Profile,
    state::SyncContext,
};

/// What this controller writes, as part of a sentence.
pub(super) const OUTPUT: &str = "slices";

/// All that one sync reads, whatever the address type.
pub(super) struct SliceJob<'a> {
    pub(super) service: &'a Service,
    /// The selected pods; everything else refers to them by index.
    pub(super) pods: &'a [&'a Pod],
    pub(super) nodes: &'a Nodes,
    pub(super) context: &'a SyncContext,
    pub(super) profile: &'static Profile,
    /// The address types of the Service, in its order.
    pub(super) families: Families,
    /// The labels of every slice that is written.
    pub(super) labels: Labels,
}
