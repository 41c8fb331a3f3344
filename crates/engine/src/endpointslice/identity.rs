//! The identity of an endpoint, which makes a stored endpoint and a pod the same one, and its state, which can change while it
//! stays the same endpoint.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::{
    model::{Conditions, Endpoint, ObjectRef, Text, head},
    profile::Profile,
};

/// The identity of an endpoint (`hashEndpoint`): addresses, host name, and since 1.26 (versions.md#s9) the namespace and name of
/// its target. Neither the target's uid nor the conditions: a pod that was replaced under its old name
/// and address is an update in place.
///
/// Upstream compares hashes. A total order does the same, gives the sequence in which endpoints are
/// listed, and leaves no room for input that was made to collide.
#[derive(Clone, Debug)]
pub(crate) struct Identity<'a> {
    /// Sorted.
    addresses: SmallVec<[&'a Text; 1]>,
    hostname: Option<&'a Text>,
    target: Option<&'a ObjectRef>,
}

impl<'a> Identity<'a> {
    /// The identity of what has these addresses, host name and target.
    pub(crate) fn new(
        mut addresses: SmallVec<[&'a Text; 1]>,
        hostname: Option<&'a Text>,
        target: Option<&'a ObjectRef>,
        profile: &Profile,
    ) -> Self {
        if addresses.len() > 1 {
            addresses.sort_unstable();
        }
        Self { addresses, hostname, target: target.filter(|_| profile.target_in_identity) }
    }

    /// The identity of a stored endpoint.
    pub(crate) fn of(endpoint: &'a Endpoint, profile: &Profile) -> Self {
        let addresses = endpoint.addresses.iter().collect();
        Self::new(addresses, endpoint.hostname.as_ref(), endpoint.target_ref.as_deref(), profile)
    }

    /// Sorted.
    pub(crate) fn addresses(&self) -> &[&'a Text] {
        &self.addresses
    }

    /// The host name that is published.
    pub(crate) fn hostname(&self) -> Option<&'a Text> {
        self.hostname
    }

    /// The head of the first address, which is in the same order as [`Self::order`].
    pub(crate) fn head(&self) -> u128 {
        self.addresses.first().map_or(0, |address| head(address))
    }

    /// Whether it is that of a stored endpoint: the same as [`Self::order`] finds, and sooner.
    #[inline]
    pub(crate) fn is_of(&self, endpoint: &Endpoint, profile: &Profile) -> bool {
        let same_addresses = match (self.addresses.as_slice(), endpoint.addresses.as_slice()) {
            ([a], [b]) => *a == b,
            (a, b) => a.len() == b.len() && a.iter().eq(Identity::of(endpoint, profile).addresses()),
        };
        let other = endpoint.target_ref.as_deref().filter(|_| profile.target_in_identity);
        // Objects that were read together share what they refer to.
        let one_target = |(a, b): (&ObjectRef, &ObjectRef)| std::ptr::eq(a, b);
        same_addresses
            && (self.hostname == endpoint.hostname.as_ref() || text(self.hostname) == text(endpoint.hostname.as_ref()))
            && (self.target.zip(other).is_some_and(one_target) || target(self.target) == target(other))
    }

    /// A total order: by address, then host name, then target.
    pub(crate) fn order(&self, other: &Identity<'_>) -> Ordering {
        let by_address = self.addresses.iter().map(|a| a.as_str()).cmp(other.addresses.iter().map(|a| a.as_str()));
        by_address
            .then_with(|| text(self.hostname).cmp(text(other.hostname)))
            .then_with(|| target(self.target).cmp(&target(other.target)))
    }
}

fn text(text: Option<&Text>) -> &str {
    text.map_or("", Text::as_str)
}

fn target(target: Option<&ObjectRef>) -> (&str, &str) {
    target.map_or(("", ""), |t| (&t.namespace, &t.name))
}

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
