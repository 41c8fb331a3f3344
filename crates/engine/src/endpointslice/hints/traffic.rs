//! `spec.trafficDistribution` (`trafficdist.ReconcileHints`).

use crate::{
    model::{Endpoint, EndpointSlice, HintName, Hints, Text},
    profile::HashKind,
};

use super::super::draft::SliceDraft;

/// Every endpoint serves its own zone (`preferCloseHeuristic`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct TrafficHints {
    /// `PreferSameNode`: its own node comes first.
    pub(super) nodes: bool,
    /// versions.md#s13: in 1.31 and 1.32 an endpoint without a zone serves the zone `""`.
    pub(super) empty_zone: bool,
}

impl TrafficHints {
    pub(super) fn apply(self, draft: &mut SliceDraft<'_>, hash: HashKind) {
        draft.move_to_update(hash, |slice| self.needs_update(slice));
        for slice in draft.written() {
            for endpoint in &mut slice.endpoints {
                if is_ready(endpoint) {
                    endpoint.hints = self.hints(endpoint).map(Box::new);
                } else if self.empty_zone
                    && let Some(hints) = &mut endpoint.hints
                {
                    // An endpoint that is not ready keeps its hints; 1.31 and 1.32 do not know those for nodes.
                    hints.for_nodes.clear();
                }
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
        let named = |name: Option<&Text>| name.map(|n| HintName { name: n.clone() }).into_iter().collect::<Vec<_>>();
        let hints = Hints { for_zones: named(self.zone(endpoint)), for_nodes: named(self.node(endpoint)) };
        (hints != Hints::default()).then_some(hints)
    }

    /// Whether some ready endpoint has the wrong hints.
    fn needs_update(self, slice: &EndpointSlice) -> bool {
        let only = |have: &[HintName], want: Option<&Text>| have.iter().map(|n| &n.name).eq(want);
        slice.endpoints.iter().filter(|e| is_ready(e)).any(|e| {
            let (zones, nodes) = e.hints.as_ref().map_or((&[][..], &[][..]), |h| (&h.for_zones, &h.for_nodes));
            // 1.31 and 1.32 do not know hints for nodes.
            !only(zones, self.zone(e)) || (!self.empty_zone && !only(nodes, self.node(e)))
        })
    }
}

/// Whether an endpoint is ready; unknown means that it is not (`EndpointReady`).
pub(in super::super) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.ready == Some(true)
}
