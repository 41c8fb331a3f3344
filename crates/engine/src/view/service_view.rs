//! What a node uses of one Service: all its ports, in all its address families.

use super::{
    port_view::{PortView, Verdict},
    proxied_service::not_proxied,
    proxy_view::ProxyView,
    scheme::{SeenSlices, UnseenEndpoint},
    viewpoint::Viewpoint,
};
use crate::{
    model::{Family, Service, ServiceType},
    phrase::counted,
    reason::{Finding, Reason, Severity},
};

/// What kube-proxy of a node uses of a Service, behind the program of a scheme.
#[derive(Debug)]
pub struct ServiceView<'a> {
    /// The Service.
    pub service: &'a Service,
    /// The families of its cluster IPs; none if kube-proxy does not serve it.
    pub families: Vec<FamilyView<'a>>,
    /// What a user should know, the worst first, each once.
    pub findings: Vec<Finding>,
    /// Whether the program before kube-proxy hides the Service.
    pub is_hidden: bool,
    /// How many ready endpoints do not reach kube-proxy.
    unseen: usize,
}

/// The ports of a Service for one address family.
#[derive(Debug)]
pub struct FamilyView<'a> {
    /// The family.
    pub family: Family,
    /// The ports, sorted by name and protocol.
    pub ports: Vec<PortView<'a>>,
}

/// How a node serves a Service, in numbers: those of its worst port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceUse {
    /// How many endpoints the node uses.
    pub used: usize,
    /// How many there are on all nodes that take traffic; with a scheme, also those that do not reach kube-proxy.
    pub of: usize,
    /// What becomes of connections to the cluster IP.
    pub internal: Verdict,
}

impl ServiceUse {
    /// Whether connections to the cluster IP reach no endpoint from the node. It may use some for other traffic only: a node port
    /// on a node without an endpoint of its own.
    pub fn is_empty(self) -> bool {
        self.used == 0 || self.internal == Verdict::Dropped
    }
}

impl<'a> ServiceView<'a> {
    /// Views a Service; `seen` are the slices that reach kube-proxy. `only` restricts the families.
    pub fn of(service: &'a Service, seen: &'a SeenSlices<'_>, only: Option<Family>, at: Viewpoint<'_>) -> Self {
        let wanted = |family: &Family| only.is_none_or(|only| only == *family);
        let mut view = Self {
            service,
            families: Vec::new(),
            findings: Vec::new(),
            is_hidden: seen.hidden.is_some(),
            unseen: seen.left_out + seen.removed.iter().filter(|e| e.is_ready).count(),
        };
        if let Some(reason) = seen.hidden {
            view.report(reason, "kube-proxy of the node does not see the Service".to_owned());
            return view;
        }
        for reason in &seen.reasons {
            view.report(*reason, reason.meaning().to_owned());
        }
        let families: Vec<Family> = [Family::V4, Family::V6].into_iter().filter(wanted).collect();
        let (served, refused): (Vec<_>, Vec<_>) =
            families.into_iter().partition(|f| not_proxied(service, *f).is_none());
        if served.is_empty() {
            let why = refused.first().and_then(|family| not_proxied(service, *family));
            view.report(Reason::NotProxied, why.map(|why| why.to_string()).unwrap_or_default());
            return view;
        }
        for family in served {
            let ProxyView { ports, reasons, .. } = ProxyView::of_service(service, seen.slices(), family, at);
            view.families.push(FamilyView { family, ports });
            view.findings.extend(reasons);
        }
        view.report_removed(&seen.removed);
        view.order_findings();
        view
    }

    /// Every port with its family.
    pub fn ports(&self) -> impl Iterator<Item = (Family, &PortView<'a>)> {
        self.families.iter().flat_map(|of| of.ports.iter().map(|port| (of.family, port)))
    }

    /// How the node serves the worst port; `None` if kube-proxy does not serve the Service, or it has no ports.
    pub fn worst_use(&self) -> Option<ServiceUse> {
        self.ports().map(|(_, port)| ServiceUse::of(port, self.unseen)).min_by_key(|port| (port.used, port.internal))
    }

    /// How many ready endpoints do not reach kube-proxy.
    pub(crate) fn unseen(&self) -> usize {
        self.unseen
    }

    /// The worst severity of the findings.
    pub fn severity(&self) -> Severity {
        self.findings.iter().map(|f| f.severity).max().unwrap_or(Severity::Info)
    }

    fn report(&mut self, code: Reason, message: String) {
        self.findings.push(Finding::new(code, self.service.key(), message));
    }

    /// One finding for all endpoints that were removed for one reason.
    fn report_removed(&mut self, removed: &[UnseenEndpoint]) {
        let mut reasons: Vec<Reason> = removed.iter().map(|endpoint| endpoint.reason).collect();
        reasons.sort_unstable();
        for of_reason in reasons.chunk_by(|a, b| a == b) {
            let verb = if of_reason.len() == 1 { "does" } else { "do" };
            self.report(of_reason[0], format!("{} {verb} not reach kube-proxy", counted(of_reason.len(), "endpoint")));
        }
    }

    fn order_findings(&mut self) {
        // A load balancer sends nothing to nodes without a local endpoint: that is what the policy is for.
        let is_balanced = self.service.kind == ServiceType::LoadBalancer;
        let is_internal_dropped = self.ports().any(|(_, port)| port.internal() == Verdict::Dropped);
        if is_balanced && !is_internal_dropped {
            for finding in self.findings.iter_mut().filter(|f| f.code == Reason::NoLocalEndpoint) {
                finding.severity = Severity::Info;
            }
        }
        // Stable: ports stay in their order. Both families often say the same.
        self.findings.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.code));
        let mut seen = std::collections::BTreeSet::new();
        self.findings.retain(|f| seen.insert(format!("{} {}", f.code, f.message)));
    }
}

impl ServiceUse {
    fn of(port: &PortView<'_>, unseen: usize) -> Self {
        let takes_traffic = port.endpoints.iter().filter(|e| e.uses.any() || e.endpoint.ready());
        let used = port.endpoints.iter().filter(|e| e.uses.any()).count();
        Self { used, of: takes_traffic.count() + unseen, internal: port.internal() }
    }
}
