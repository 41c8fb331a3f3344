//! Addresses in another form than the canonical one: `010.0.0.1`, `::ffff:10.0.0.1`, `FD00::1`.
//!
//! The controllers read them, and from 1.33 write the canonical form in their place. They are told of where
//! that is decided: the first few objects by name, the others as a number.

use std::net::Ipv4Addr;

use crate::{
    engine::{
        phrase::{clip, counted},
        reason::{Finding, Reason},
        state::Report,
    },
    model::{ObjectKey, Pod, PodIp, Text},
};

/// So many objects are named.
const NAMED: usize = 10;

/// What one controller found.
pub(crate) struct Uncanonical {
    /// What it writes.
    lists: &'static str,
    /// Whether the release writes the canonical form.
    rewritten: bool,
    found: Vec<Finding>,
    more: usize,
    last: Option<ObjectKey>,
}

impl Uncanonical {
    /// Nothing yet.
    pub(crate) fn new(lists: &'static str, rewritten: bool) -> Self {
        Self { lists, rewritten, found: Vec::new(), more: 0, last: None }
    }

    /// Looks at an address of a pod that is listed.
    #[inline]
    pub(crate) fn of_pod(&mut self, pod: &Pod, ip: &PodIp) {
        if ip.uncanonical {
            self.add(pod.key(), "status.podIPs holds", ip);
        }
    }

    /// Looks at an address of hand-made Endpoints, or of a stored object that is to be replaced.
    pub(crate) fn of_object(&mut self, object: impl FnOnce() -> ObjectKey, raw: &Text) {
        // IPv4 with a leading zero does not parse: this spares nearly all addresses the rest.
        if raw.parse::<Ipv4Addr>().is_ok() {
            return;
        }
        let ip = PodIp::new(raw.clone());
        if ip.uncanonical {
            self.add(object(), "it holds the address", &ip);
        }
    }

    fn add(&mut self, object: ObjectKey, holds: &str, ip: &PodIp) {
        // One address of an object is enough to find the others.
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

    /// Says what was found; what is not named is counted for `of`.
    pub(crate) fn tell(mut self, of: impl FnOnce() -> ObjectKey, report: &mut Report) {
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

    use crate::engine::{plan::PlanRequest, reason::Reason, state::Controller};

    fn pod(i: usize, ip: &str) -> Value {
        json!({
            "metadata": {"namespace": "n", "name": format!("p{i}"), "uid": i.to_string()},
            "spec": {"nodeName": "n"},
            "status": {"podIPs": [{"ip": ip}]},
        })
    }

    /// What is said of addresses in this state by one controller.
    fn said(controller: Controller, compat: &str, state: &Value) -> Vec<String> {
        let mut state = state.clone();
        state["options"] = json!({"compat": compat});
        state["controllers"] = json!([controller]);
        let plan = serde_json::from_value::<PlanRequest>(state).unwrap().plan();
        let of_address = plan.problems.iter().filter(|p| p.code == Reason::AddressNotCanonical);
        of_address.map(|p| format!("{}: {}", p.object, p.message)).collect()
    }

    #[test]
    fn addresses_are_told_where_they_are_written_otherwise() {
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
                    r#"Pod n/p0: status.podIPs holds "010.0.0.1": the Endpoints list it as 10.0.0.1"#,
                    r#"Pod n/p1: status.podIPs holds "::ffff:10.0.0.2": the Endpoints list it as 10.0.0.2"#,
                ][..],
            ),
            (
                EndpointSlices,
                "1.32",
                &odd,
                &[
                    r#"Pod n/p0: status.podIPs holds "010.0.0.1": the slices list it as it is, and from 1.33 as 10.0.0.1"#,
                    r#"Pod n/p1: status.podIPs holds "::ffff:10.0.0.2": the slices list it as it is, and from 1.33 as 10.0.0.2"#,
                ],
            ),
            (
                Mirroring,
                "1.37",
                &by_hand,
                &[r#"Endpoints n/s: it holds the address "10.0.00.4": the mirrored slices list it as 10.0.0.4"#],
            ),
            (
                Endpoints,
                "1.37",
                &stored,
                &[r#"Endpoints n/s: it holds the address "10.0.00.4": the Endpoints list it as 10.0.0.4"#],
            ),
            (
                EndpointSlices,
                "1.37",
                &stored,
                &[r#"EndpointSlice n/s-1: it holds the address "010.0.0.3": the slices list it as 10.0.0.3"#],
            ),
        ] {
            assert_eq!(said(controller, compat, state), want, "{controller:?} {compat}");
        }
        let many = of((0..15).map(|i| pod(i, &format!("10.0.0.0{i}"))).collect());
        let told = said(EndpointSlices, "1.37", &many);
        assert_eq!((told.len(), told[10].as_str()), (11, "Service n/s: 5 more objects have such addresses"));
    }
}
