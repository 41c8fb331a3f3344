//! The state of an endpoint: what can change while it stays the same endpoint.

use crate::{
    model::{Conditions, Endpoint, ObjectRef, Text},
    profile::Profile,
};

/// The fields of an endpoint beyond its identity, which decide whether it is written again. Mirroring compares them too.
pub(crate) struct EndpointState<'a> {
    pub(super) conditions: Conditions,
    /// Name and zone of the node.
    pub(super) topology: (Option<&'a Text>, Option<&'a Text>),
    pub(super) target: Option<&'a ObjectRef>,
}

impl<'a> EndpointState<'a> {
    /// The state of a stored endpoint.
    pub(crate) fn of(endpoint: &'a Endpoint) -> Self {
        Self {
            conditions: endpoint.conditions,
            topology: (endpoint.node_name.as_ref(), endpoint.zone.as_ref()),
            target: endpoint.target_ref.as_deref(),
        }
    }

    /// Whether two endpoints of one identity need no write (`EndpointsEqualBeyondHash`).
    pub(crate) fn equals(&self, other: &EndpointState<'_>, profile: &Profile) -> bool {
        let same = |a: Option<bool>, b: Option<bool>| {
            // versions.md#s10: up to 1.25 a condition that one side lacks is not compared.
            a == b || (!profile.compare_missing_conditions && (a.is_none() || b.is_none()))
        };
        // versions.md#s3: up to 1.23 node name and zone are compared with themselves.
        (!profile.compare_topology || self.topology == other.topology)
            && self.conditions.ready == other.conditions.ready
            && same(self.conditions.serving, other.conditions.serving)
            && same(self.conditions.terminating, other.conditions.terminating)
            && ObjectRef::same_targets(self.target, other.target)
    }
}
