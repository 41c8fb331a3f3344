//! `spec.trafficDistribution` (`trafficdist.ReconcileHints`).

use crate::{
    engine::compat::HashKind,
    model::{Endpoint, EndpointSlice, Hints, Named, Text},
};

use super::{super::packing::Draft, move_to_update};

/// Every endpoint serves its own zone (`preferCloseHeuristic`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Close {
    /// `PreferSameNode`: and first of all its own node.
    pub(super) nodes: bool,
    /// S13: in 1.31 and 1.32 an endpoint without a zone serves the zone `""`.
    pub(super) empty_zone: bool,
}

impl Close {
    pub(super) fn apply(self, draft: &mut Draft<'_>, hash: HashKind) {
        move_to_update(draft, hash, |slice| self.needs_update(slice));
        for slice in draft.written() {
            // An endpoint that is not ready keeps what it has.
            for endpoint in slice.endpoints.iter_mut().filter(|e| is_ready(e)) {
                endpoint.hints = self.hints(endpoint).map(Box::new);
            }
        }
    }

    fn zone(self, endpoint: &Endpoint) -> Option<&Text> {
        static EMPTY: Text = Text::new_static("");
        endpoint.zone.as_ref().or(self.empty_zone.then_some(&EMPTY))
    }

    fn node(self, endpoint: &Endpoint) -> Option<&Text> {
        endpoint.node_name.as_ref().filter(|_| self.nodes)
    }

    fn hints(self, endpoint: &Endpoint) -> Option<Hints> {
        let named = |name: Option<&Text>| name.map(|n| Named { name: n.clone() }).into_iter().collect::<Vec<_>>();
        let hints = Hints { for_zones: named(self.zone(endpoint)), for_nodes: named(self.node(endpoint)) };
        (hints != Hints::default()).then_some(hints)
    }

    /// Whether some ready endpoint has other hints than it should have.
    fn needs_update(self, slice: &EndpointSlice) -> bool {
        let only = |have: &[Named], want: Option<&Text>| have.iter().map(|n| &n.name).eq(want);
        slice.endpoints.iter().filter(|e| is_ready(e)).any(|e| {
            let (zones, nodes) = e.hints.as_ref().map_or((&[][..], &[][..]), |h| (&h.for_zones, &h.for_nodes));
            // 1.31 and 1.32 do not know hints for nodes.
            !only(zones, self.zone(e)) || (!self.empty_zone && !only(nodes, self.node(e)))
        })
    }
}

/// `EndpointReady`: unknown is not ready here.
pub(in super::super) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.ready == Some(true)
}
