//! Stored addresses whose pod or node is gone.

use std::collections::BTreeSet;

use super::{StaleReport, known_targets::KnownTargets, of_service};
use crate::{
    model::{EndpointSlice, Endpoints, ObjectKey, ObjectRef, Text, names},
    phrase::{clip, counted},
    reason::{Finding, Reason},
    state::{EndpointsAction, Plan, State},
};

/// The most addresses that a message names.
const MAX_NAMED: usize = 3;

/// Adds the addresses whose pod or node is gone: those in slices that no controller of the Service keeps up to date, or
/// that `plan` changes, and those in Endpoints that somebody wrote by hand, or that `plan` changes.
pub(super) fn find(state: &State<'_>, plan: &Plan, known: &KnownTargets<'_>, report: &mut StaleReport) {
    let unchanged: BTreeSet<&str> = plan.endpoint_slices.unchanged.iter().map(Text::as_str).collect();
    let selects = state.service.is_some_and(|s| s.selector.is_some());
    if let Some(endpoints) = state.endpoints
        && (!selects || plan.endpoints != EndpointsAction::None)
    {
        let gone = GoneAddresses::of(&endpoints.meta.namespace, addresses_of(endpoints), known);
        gone.report(&endpoints.key(), selects, report);
    }
    for slice in of_service(state) {
        let is_unchanged = unchanged.contains(slice.meta.name.as_str());
        let is_by = |name: &str| slice.managed_by().is_some_and(|by| by == name);
        let (is_own, is_mirrored) = (is_by(names::SLICE_CONTROLLER), is_by(names::MIRROR_CONTROLLER));
        // The controller has compared it with the pods and nodes.
        if is_own && is_unchanged {
            continue;
        }
        let gone = GoneAddresses::of(&slice.meta.namespace, endpoints_of(slice), known);
        report.addresses += gone.count();
        // Otherwise its Endpoints have the finding.
        if !(is_mirrored && is_unchanged) {
            gone.report(&slice.key(), is_own || is_mirrored, report);
        }
    }
}

/// An address in a stored object.
struct StoredEndpoint<'a> {
    address: &'a Text,
    node: Option<&'a Text>,
    target: Option<&'a ObjectRef>,
}

fn addresses_of(endpoints: &Endpoints) -> impl Iterator<Item = StoredEndpoint<'_>> {
    let all = endpoints.subsets.iter().flat_map(|s| s.addresses.iter().chain(&s.not_ready_addresses));
    all.map(|a| StoredEndpoint { address: &a.ip, node: a.node_name.as_ref(), target: a.target_ref.as_deref() })
}

fn endpoints_of(slice: &EndpointSlice) -> impl Iterator<Item = StoredEndpoint<'_>> {
    slice.endpoints.iter().filter_map(|e| {
        Some(StoredEndpoint {
            address: e.addresses.first()?,
            node: e.node_name.as_ref(),
            target: e.target_ref.as_deref(),
        })
    })
}

/// The addresses of one object whose pod or node is gone, each with the name of what is gone.
#[derive(Default)]
struct GoneAddresses<'a> {
    pods: BTreeSet<(&'a str, &'a str)>,
    nodes: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> GoneAddresses<'a> {
    fn of(
        namespace: &Text,
        stored: impl Iterator<Item = StoredEndpoint<'a>>,
        known: &KnownTargets<'_>,
    ) -> GoneAddresses<'a> {
        let mut gone = Self::default();
        for StoredEndpoint { address, node, target } in stored {
            let pod = target.filter(|t| t.kind == "Pod" && !t.name.is_empty());
            if let Some(pod) = pod.filter(|t| known.lacks_pod(namespace, t)) {
                gone.pods.insert((address, &pod.name));
            } else if let Some(node) = node.filter(|n| !n.is_empty() && known.lacks_node(n)) {
                gone.nodes.insert((address, node));
            }
        }
        gone
    }

    fn count(&self) -> usize {
        self.pods.len() + self.nodes.len()
    }

    /// Adds a finding for the pods, and one for the nodes. `by_controller`: a controller writes the object.
    fn report(&self, key: &ObjectKey, by_controller: bool, report: &mut StaleReport) {
        for (code, kind, gone) in [(Reason::TargetGone, "pod", &self.pods), (Reason::NodeGone, "node", &self.nodes)] {
            if gone.is_empty() {
                continue;
            }
            let named =
                gone.iter().take(MAX_NAMED).map(|(address, name)| format!("{} ({})", clip(address), clip(name)));
            let mut named = named.collect::<Vec<_>>().join(", ");
            if gone.len() > MAX_NAMED {
                named = format!("{named} and {} more", gone.len() - MAX_NAMED);
            }
            let one = gone.len() == 1;
            let (kinds, do_not, them) =
                if one { (kind.to_owned(), "does not", "it") } else { (format!("{kind}s"), "do not", "them") };
            let then = if by_controller { "its controller has not removed" } else { "no controller removes" };
            let yet = if by_controller { " yet" } else { "" };
            let addresses = counted(gone.len(), "address");
            let message = format!("the {kinds} of {addresses} {do_not} exist: {named}; {then} {them}{yet}");
            report.findings.push(Finding::new(code, key.clone(), message));
        }
    }
}
