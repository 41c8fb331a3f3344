//! Findings about addresses that are not in canonical form: `010.0.0.1`, `::ffff:10.0.0.1`, `FD00::1`.
//!
//! The controllers accept such addresses, and from 1.33 write the canonical form instead. The findings name the first few
//! objects, and count the others.

use std::net::Ipv4Addr;

use crate::{
    model::{ObjectKey, Pod, PodIp, Text},
    phrase::{clip, counted},
    reason::{Finding, Reason},
    state::SyncReport,
};

/// The most objects that are named.
const NAMED: usize = 10;

/// The addresses that one controller found.
pub(crate) struct UncanonicalAddresses {
    /// What the controller writes, as part of a sentence.
    lists: &'static str,
    /// Whether the release writes the canonical form.
    rewritten: bool,
    found: Vec<Finding>,
    more: usize,
    last: Option<ObjectKey>,
}

impl UncanonicalAddresses {
    /// No addresses yet.
    pub(crate) fn new(lists: &'static str, rewritten: bool) -> Self {
        Self { lists, rewritten, found: Vec::new(), more: 0, last: None }
    }

    /// Adds an address of a listed pod, unless it is canonical.
    #[inline]
    pub(crate) fn of_pod(&mut self, pod: &Pod, ip: &PodIp) {
        if ip.uncanonical {
            self.add(pod.key(), "status.podIPs contains", ip);
        }
    }

    /// Adds an address of hand-made Endpoints, or of a stored object that is replaced, unless it is canonical.
    pub(crate) fn of_object(&mut self, object: impl FnOnce() -> ObjectKey, raw: &Text) {
        // IPv4 with a leading zero does not parse here: nearly all addresses return early.
        if raw.parse::<Ipv4Addr>().is_ok() {
            return;
        }
        let ip = PodIp::new(raw.clone());
        if ip.uncanonical {
            self.add(object(), "it contains the address", &ip);
        }
    }

    fn add(&mut self, object: ObjectKey, holds: &str, ip: &PodIp) {
        // One finding per object is enough.
        if self.last.as_ref() == Some(&object) {
            return;
        }
        self.last = Some(object.clone());
        if self.found.len() == NAMED {
            self.more += 1;
            return;
        }
        let (raw, canonical) = (clip(&ip.raw), ip.canonical.as_deref().unwrap_or_default());
        let how = if self.rewritten { "list it as" } else { "list it as it is, and from 1.33 as" };
        let message = format!("{holds} {raw:?}: the {} {how} {canonical}", self.lists);
        self.found.push(Finding::new(Reason::AddressNotCanonical, object, message));
    }

    /// Reports the findings; one more, about `of`, counts the objects that are not named.
    pub(crate) fn report(mut self, of: impl FnOnce() -> ObjectKey, report: &mut SyncReport) {
        report.problems.append(&mut self.found);
        if self.more > 0 {
            let message = format!("{} have such addresses", counted(self.more, "more object"));
            report.problems.push(Finding::new(Reason::AddressNotCanonical, of(), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{model::builders, plan::PlanRequest, reason::Reason, state::Controller};

    fn pod(i: usize, ip: &str) -> Value {
        json!(builders::pod(&format!("p{i}")).namespace("n").node("n").ip(ip))
    }

    /// The findings of one controller about addresses in this state.
    fn findings(controller: Controller, compat: &str, state: &Value) -> Vec<String> {
        let mut state = state.clone();
        state["options"] = json!({"compat": compat});
        state["controllers"] = json!([controller]);
        let plan = serde_json::from_value::<PlanRequest>(state).unwrap().plan();
        let of_address = plan.problems.iter().filter(|p| p.code == Reason::AddressNotCanonical);
        of_address.map(|p| format!("{}: {}", p.object, p.message)).collect()
    }

    #[test]
    fn addresses_that_are_not_canonical_are_reported() {
        use Controller::{EndpointSlices, Endpoints, Mirroring};
        let service = |spec: Value| json!({"metadata": {"namespace": "n", "name": "s", "uid": "u"}, "spec": spec});
        let selects =
            service(json!({"selector": {}, "clusterIP": "10.9.9.9", "ipFamilies": ["IPv4"], "ports": [{"port": 1}]}));
        let nodes = json!([{"metadata": {"name": "n"}}]);
        let of = |pods: Vec<Value>| json!({"service": selects, "nodes": nodes, "pods": pods});
        let odd = of(vec![pod(0, "010.0.0.1"), pod(1, "::ffff:10.0.0.2"), pod(2, "10.0.0.3")]);
        let subsets =
            json!([{"addresses": [{"ip": "10.0.0.3"}, {"ip": "10.0.00.4"}, {"ip": "junk"}], "ports": [{"port": 1}]}]);
        let meta = json!({"namespace": "n", "name": "s", "resourceVersion": "1"});
        let by_hand = json!({"service": service(json!({})), "endpoints": {"metadata": meta, "subsets": subsets}});
        let mut stored = of(vec![pod(2, "10.0.0.3")]);
        stored["endpoints"] = by_hand["endpoints"].clone();
        let labels = json!({
            "kubernetes.io/service-name": "s",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        });
        let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "u"}]);
        stored["endpointSlices"] = json!([{
            "metadata": {"namespace": "n", "name": "s-1", "labels": labels, "ownerReferences": owner},
            "addressType": "IPv4", "endpoints": [{"addresses": ["010.0.0.3"]}],
            "ports": [{"name": "", "protocol": "", "port": 0}],
        }]);
        for (controller, compat, state, want) in [
            (
                Endpoints,
                "1.37",
                &odd,
                &[
                    r#"Pod n/p0: status.podIPs contains "010.0.0.1": the Endpoints list it as 10.0.0.1"#,
                    r#"Pod n/p1: status.podIPs contains "::ffff:10.0.0.2": the Endpoints list it as 10.0.0.2"#,
                ][..],
            ),
            (
                EndpointSlices,
                "1.32",
                &odd,
                &[
                    r#"Pod n/p0: status.podIPs contains "010.0.0.1": the slices list it as it is, and from 1.33 as 10.0.0.1"#,
                    r#"Pod n/p1: status.podIPs contains "::ffff:10.0.0.2": the slices list it as it is, and from 1.33 as 10.0.0.2"#,
                ],
            ),
            (
                Mirroring,
                "1.37",
                &by_hand,
                &[r#"Endpoints n/s: it contains the address "10.0.00.4": the mirrored slices list it as 10.0.0.4"#],
            ),
            (
                Endpoints,
                "1.37",
                &stored,
                &[r#"Endpoints n/s: it contains the address "10.0.00.4": the Endpoints list it as 10.0.0.4"#],
            ),
            (
                EndpointSlices,
                "1.37",
                &stored,
                &[r#"EndpointSlice n/s-1: it contains the address "010.0.0.3": the slices list it as 10.0.0.3"#],
            ),
        ] {
            assert_eq!(findings(controller, compat, state), want, "{controller:?} {compat}");
        }
        let many = of((0..15).map(|i| pod(i, &format!("10.0.0.0{i}"))).collect());
        let found = findings(EndpointSlices, "1.37", &many);
        assert_eq!((found.len(), found[10].as_str()), (11, "Service n/s: 5 more objects have such addresses"));
    }
}
