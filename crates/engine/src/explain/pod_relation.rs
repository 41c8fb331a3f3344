//! How a Service concerns one pod, for users who start from a pod.

use super::selector_misses::shared_letters;
use crate::{
    model::{Labels, ObjectRef, Pod, Text},
    state::State,
};

/// Values that share fewer letters are different words, in thousandths.
const ALIKE: usize = 600;
/// The most addresses of a pod that are looked for. An API server accepts one of each family.
const MAX_IPS: usize = 16;

/// How a Service concerns a pod; the closer, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodRelation {
    /// Not at all.
    None,
    /// Its selector is like the labels of the pod.
    NearMiss {
        /// How many pairs of the selector the pod has.
        equal: usize,
        /// How similar the other values are, in thousandths.
        similarity: usize,
    },
    /// Its Endpoints or slices list the pod.
    Listed,
    /// It selects the pod.
    Selected,
}

impl PodRelation {
    /// How the Service of `state` concerns `pod`.
    pub fn of(state: &State<'_>, pod: &Pod) -> Self {
        let selector = state.service.filter(|s| s.meta.namespace == *pod.namespace()).and_then(|s| s.selector.as_ref());
        if selector.is_some_and(|selector| selector.selects(&pod.labels)) {
            return Self::Selected;
        }
        if lists(state, pod) {
            return Self::Listed;
        }
        selector.map_or(Self::None, |selector| near_miss(selector, &pod.labels))
    }
}

/// Whether stored Endpoints or slices refer to the pod, or contain its address.
fn lists(state: &State<'_>, pod: &Pod) -> bool {
    let is_target =
        |target: &ObjectRef| target.kind == "Pod" && target.name == *pod.name() && target.namespace == *pod.namespace();
    let is_address = |address: &Text| pod.ips.iter().take(MAX_IPS).any(|ip| ip.raw == *address);
    let is_pod = |target: Option<&ObjectRef>, address: Option<&Text>| match target {
        Some(target) => is_target(target),
        None => address.is_some_and(is_address),
    };
    let of_pods_namespace = |namespace: &Text| namespace == pod.namespace();
    let endpoints = state.endpoints.filter(|e| of_pods_namespace(&e.meta.namespace));
    let in_endpoints = endpoints.is_some_and(|e| {
        let addresses = e.subsets.iter().flat_map(|s| s.addresses.iter().chain(&s.not_ready_addresses));
        addresses.into_iter().any(|a| is_pod(a.target_ref.as_deref(), Some(&a.ip)))
    });
    let slices = state.slices.iter().filter(|s| of_pods_namespace(&s.meta.namespace));
    in_endpoints || slices.flat_map(|s| &s.endpoints).any(|e| is_pod(e.target_ref.as_deref(), e.addresses.first()))
}

/// A selector is a near miss if the pod has some of its pairs, or a value that is spelt alike.
fn near_miss(selector: &Labels, labels: &Labels) -> PodRelation {
    let (mut equal, mut similarity) = (0, 0);
    for (_, wanted, found) in selector.shared_with(labels) {
        if found == wanted {
            equal += 1;
            continue;
        }
        let shared = shared_letters(wanted, found);
        similarity += if shared >= ALIKE { shared } else { 0 };
    }
    if (equal, similarity) == (0, 0) { PodRelation::None } else { PodRelation::NearMiss { equal, similarity } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Endpoints, Nodes, Service, builders};

    #[test]
    fn services_concern_a_pod_more_or_less() {
        let pod: Pod = serde_json::from_value(json!(
            builders::pod("web-0").labels(json!({"app": "web", "tier": "front"})).ip("10.0.0.1")
        ))
        .unwrap();
        let hand_made = |address: &str, target: serde_json::Value| {
            let address = json!({"ip": address, "targetRef": target});
            let endpoints =
                json!({"metadata": {"name": "s", "namespace": pod.namespace()}, "subsets": [{"addresses": [address]}]});
            Some(serde_json::from_value::<Endpoints>(endpoints).unwrap())
        };
        let web_0 = json!({"kind": "Pod", "name": "web-0", "namespace": pod.namespace()});
        let other = json!({"kind": "Pod", "name": "web-1", "namespace": pod.namespace()});
        for (name, selector, endpoints, want) in [
            ("selected", json!({"app": "web"}), None, PodRelation::Selected),
            ("by address", json!(null), hand_made("10.0.0.1", json!(null)), PodRelation::Listed),
            ("by name", json!(null), hand_made("10.0.0.9", web_0), PodRelation::Listed),
            ("an earlier pod of this address", json!(null), hand_made("10.0.0.1", other), PodRelation::None),
            ("misspelt", json!({"app": "wed"}), None, PodRelation::NearMiss { equal: 0, similarity: 666 }),
            ("another value", json!({"app": "cart"}), None, PodRelation::None),
            (
                "a label is missing",
                json!({"app": "web", "track": "a"}),
                None,
                PodRelation::NearMiss { equal: 1, similarity: 0 },
            ),
        ] {
            let service: Service = serde_json::from_value(json!(builders::service("s").selector(selector))).unwrap();
            let state = State {
                service: Some(&service),
                pods: &[],
                nodes: &Nodes::default(),
                endpoints: endpoints.as_ref(),
                slices: &[],
            };
            assert_eq!(PodRelation::of(&state, &pod), want, "{name}");
        }
        assert!(
            PodRelation::NearMiss { equal: 1, similarity: 0 } > PodRelation::NearMiss { equal: 0, similarity: 900 }
        );
    }
}
