//! Which endpoints the proxy of one node uses, by the names of their pods and by their addresses.

use std::collections::HashMap;

use super::{members::Member, scene::NodeSight};
use crate::{
    model::{HashSeed, Text},
    reason::Reason,
};

/// What a node uses of a Service.
#[derive(Debug, Default)]
pub(super) struct Sight<'a> {
    /// For each endpoint that the node knows: why it does not use it; `None` if it does for some port.
    unused: HashMap<&'a str, Option<Reason>, HashSeed>,
}

impl<'a> Sight<'a> {
    pub(super) fn of(from: &NodeSight<'a>) -> Self {
        let mut sight = Self::default();
        for endpoint in from.view.ports().flat_map(|(_, port)| &port.endpoints) {
            let of = endpoint.endpoint.endpoint;
            let why = if endpoint.uses.any() { None } else { endpoint.reason.or(Some(Reason::NotReady)) };
            let target = of.target_ref.as_ref().filter(|target| target.kind == "Pod").map(|target| &target.name);
            let Some(name) = target.or(of.addresses.first()).map(Text::as_str) else { continue };
            let known = sight.unused.entry(name).or_insert(why);
            // One port or address is enough.
            *known = known.and(why);
        }
        for endpoint in from.removed {
            let pod = endpoint.target.as_deref().and_then(|target| target.strip_prefix("Pod/"));
            sight.unused.entry(pod.unwrap_or(&endpoint.address)).or_insert(Some(endpoint.reason));
        }
        sight
    }

    /// Notes why the node does not use a member.
    pub(super) fn apply_to(&self, member: &mut Member<'_>) {
        // What the node does not know is not published.
        member.unused = self.unused.get(member.name).copied().flatten();
    }
}
