//! The rules: one table of code, kinds, refusal, remedy, default mode, meaning and fix.
//!
//! `docs/reference/rules.md` is generated from it; a test keeps both equal.

use std::fmt;

use roster_engine::code_table;
use serde::{Deserialize, Serialize, Serializer};

/// What the webhook does about the findings of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing: the rule is not checked.
    Off,
    /// It writes an audit annotation.
    Audit,
    /// It warns the client, and writes an audit annotation.
    #[default]
    Warn,
    /// It changes the object, or refuses it if the rule cannot change it.
    Enforce,
}

/// What the webhook does with an object where a rule is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// It refuses the object.
    Refuse,
    /// It changes the object, so that the rule finds nothing any more.
    Change,
}

code_table! {
    /// A rule of the webhook.
    pub enum Rule {
        /// The code, such as `external-ip`.
        code: &'static str,
        /// The kinds of objects that it checks.
        kinds: &'static [&'static str],
        /// How the webhook refuses an object.
        refusal: RefusalKind,
        /// What the webhook does with an object where the rule is enforced.
        remedy: Remedy,
        /// The mode where no policy sets another.
        default_mode: Mode,
        /// What the author of the object should do.
        fix: &'static str,
    }

    // --- Service
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` has had no effect since 1.24. Up to 1.23, a Go boolean in it replaced `spec.publishNotReadyAddresses`, in both directions. Enforced: the field is set to the value of the annotation.
    TolerateUnready("tolerate-unready-annotation", &["Service"], RefusalKind::Invalid, Remedy::Change, Mode::Enforce, "Set spec.publishNotReadyAddresses, and remove the annotation.");
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` has a value that is not a Go boolean. Every release ignored such a value.
    TolerateUnreadyValue("tolerate-unready-value", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Set spec.publishNotReadyAddresses, and remove the annotation.");
    /// The Service has a label that is reserved for controllers. With `service.kubernetes.io/headless`, kube-proxy ignores the Service. With this label or `endpoints.kubernetes.io/managed-by`, its Endpoints are written at every sync. Endpoints inherit `kubernetes.io/service-name` and `endpointslice.kubernetes.io/managed-by`, and mislead clients that select slices by them.
    ReservedLabel("reserved-label", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Enforce, "Remove the label.");
    /// The annotation `service.kubernetes.io/topology-mode` or its predecessor `topology-aware-hints` has a value that no release knows, or the two annotations contradict each other. The older one then takes precedence.
    TopologyMode("topology-mode-value", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Use Auto or Disabled, in service.kubernetes.io/topology-mode only.");
    /// `spec.trafficDistribution` has an unknown value, or no effect. The annotation `topology-mode: Auto` takes precedence over it. `internalTrafficPolicy: Local` already restricts traffic to the node. An ExternalName Service does not have endpoints.
    TrafficDistribution("traffic-distribution", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Use PreferClose, PreferSameZone or PreferSameNode, and remove the setting that takes precedence.");
    /// SuperEdge's annotation `topologyKeys` is not a JSON list of node labels. SuperEdge ignores a list that it cannot read. A key with an impossible label matches no node; `*` is not a wildcard.
    SuperedgeKeys("superedge-topology-keys", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Write a JSON list of your nodes' labels, such as [\"kubernetes.io/hostname\"].");
    /// OpenYurt's annotation `openyurt.io/topologyKeys` has a value that yurthub does not know and therefore ignores.
    OpenyurtKeys("openyurt-topology-keys", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Use one of kubernetes.io/hostname, openyurt.io/nodepool and kubernetes.io/zone.");
    /// An address in `spec.externalIPs` is not in an allowed range, is in a denied one, or is not an IP address. Every node redirects traffic for this address to the Service, though it may belong to another party (CVE-2020-8554).
    ExternalIp("external-ip", &["Service"], RefusalKind::Forbidden, Remedy::Refuse, Mode::Warn, "Use a load balancer, or allow the range in an EndpointPolicy.");
    /// `spec.loadBalancerIP` requests an address outside all allowed ranges, in a denied one, or not an IP address (CVE-2020-8554). The field is deprecated. The rule does not check a Service's status. Users with `services/status` can redirect traffic in the same way: grant this permission to controllers only.
    LoadBalancerIp("load-balancer-ip", &["Service"], RefusalKind::Forbidden, Remedy::Refuse, Mode::Warn, "Use an annotation of the cloud provider, or allow the range in an EndpointPolicy.");
    /// The selector does not match any running or pending pod of the namespace. Needs the cluster.
    SelectorMatchesNothing("selector-matches-nothing", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Compare the selector with the labels of the pods.");
    /// The Service selects pods, but they have no port with this name and protocol. Needs the cluster.
    TargetPortMissing("target-port-missing", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Name a container port as in targetPort, or use a number.");
    /// The selected pods use different numbers for the named port. Needs the cluster.
    TargetPortDiffers("target-port-differs", &["Service"], RefusalKind::Invalid, Remedy::Refuse, Mode::Audit, "Ignore it during a rolling change; otherwise use one number.");

    // --- Endpoints
    /// The object has more than 1000 addresses. Enforced: the object is truncated as the controllers truncate it (ready addresses first, a proportional share of each subset) and gets the annotation `endpoints.kubernetes.io/over-capacity: truncated`. A policy can refuse it instead.
    OverCapacity("over-capacity", &["Endpoints"], RefusalKind::Invalid, Remedy::Change, Mode::Enforce, "Write EndpointSlices: a Service can have many of them.");
    /// A headless Service's Endpoints lack the label `service.kubernetes.io/headless`, or another Service's Endpoints have it. Mirrored slices inherit it, and kube-proxy ignores slices that have it. Enforced: it is added or removed. Needs the cluster.
    HeadlessLabel("headless-label", &["Endpoints"], RefusalKind::Invalid, Remedy::Change, Mode::Enforce, "Leave the label to Roster.");
    /// The annotation `endpoints.kubernetes.io/over-capacity` has the value `warning`, which only 1.21 wrote. Enforced: it is removed.
    OverCapacityWarning("over-capacity-leftover", &["Endpoints"], RefusalKind::Invalid, Remedy::Change, Mode::Enforce, "Remove the annotation.");
    /// An address is listed twice for one port, or both as ready and as not ready. In that case it counts as not ready. `010.0.0.1` is `10.0.0.1`.
    DuplicateAddress("duplicate-address", &["Endpoints"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "List each address once.");
    /// v1 Endpoints have been deprecated since 1.33.
    EndpointsDeprecated("endpoints-deprecated", &["Endpoints"], RefusalKind::Invalid, Remedy::Refuse, Mode::Audit, "Write EndpointSlices with the label kubernetes.io/service-name.");

    // --- EndpointSlice
    /// The label `kubernetes.io/service-name` is missing, so no consumer uses the slice. Slices of a multi-cluster Service have the label `multicluster.kubernetes.io/service-name` instead.
    SliceLabels("slice-labels", &["EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Add the label with the name of the Service.");
    /// The Service in the label of the slice does not exist. Needs the cluster.
    SliceService("slice-service-missing", &["EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Create the Service first, or correct the label.");
    /// An address does not have the address type of the slice.
    AddressType("address-type-mismatch", &["EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Enforce, "Write one slice for each address type.");
    /// An endpoint is listed twice for the same port, in this slice or in another slice of the Service. `010.0.0.1` is `10.0.0.1`. Needs the cluster to see other slices. If more than 131 072 slices and ports would have to be compared, the rule is not checked to the end.
    DuplicateEndpoint("duplicate-endpoint", &["EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "List each endpoint once, in one slice.");
    /// A slice has more than 1000 endpoints.
    SliceOverCapacity("slice-over-capacity", &["EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Enforce, "Write several slices.");
    /// A hint names a zone without nodes, so no node uses the endpoint while hints are in effect. Needs the cluster.
    UnknownZone("hint-unknown-zone", &["EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Warn, "Use a node's value of topology.kubernetes.io/zone.");

    // --- both
    /// An address is a loopback, link-local, unspecified, multicast, broadcast or reserved address, is in `0.0.0.0/8`, or is not an IP address. Traffic to it does not leave the node, or does not arrive. Or it is a metadata address: clouds give a machine's credentials there to every program on the machine (docs/reference/rules.md has the list). A policy may allow reserved addresses (`240.0.0.0/4`, which GKE can give to pods) and metadata addresses, and no others. IPv6 addresses with such an IPv4 address inside count as well: IPv4-mapped (`::ffff:0:0/96`), translated (`64:ff9b::/96`, `64:ff9b:1::/48` and `::ffff:0:0:0/96`), 6to4 (`2002::/16`), Teredo (`2001::/32`), ISATAP (such as `fd00::5efe:127.0.0.1`) and IPv4-compatible (`::/96`).
    SpecialAddress("special-address", &["Endpoints", "EndpointSlice"], RefusalKind::Invalid, Remedy::Refuse, Mode::Enforce, "Use the serving machine's address.");
    /// The label `managed-by` names a built-in controller, but another user writes the object. The controller will delete or rewrite it.
    ManagedBy("managed-by-spoofed", &["Endpoints", "EndpointSlice"], RefusalKind::Forbidden, Remedy::Refuse, Mode::Warn, "Use another name in the label.");
    /// An address is not that of a pod in the namespace, and no `EndpointPolicy` allows it (CVE-2021-25740); or a policy denies it. A node's address does not count as a pod's, even on the host network: the kubelet and every program on the node have it, too. `addresses.hostNetwork: Allow` in a policy changes that. If `targetRef` names a pod, only this pod's address counts. Needs the cluster, except for denied ranges and host names, which no range contains.
    Provenance("address-provenance", &["Endpoints", "EndpointSlice"], RefusalKind::Forbidden, Remedy::Refuse, Mode::Warn, "Use the address of a pod of the namespace, or allow the range in an EndpointPolicy.");
}

/// How the webhook refuses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum RefusalKind {
    /// 403: the object may be valid, but is not allowed here.
    Forbidden,
    /// 422: the object contradicts itself or the cluster.
    Invalid,
}

impl RefusalKind {
    /// The HTTP status.
    pub fn code(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::Invalid => 422,
        }
    }

    /// The reason, as in `metav1.Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Forbidden => "Forbidden",
            Self::Invalid => "Invalid",
        }
    }
}

impl Rule {
    /// Whether it refuses an object for the lack of another one, which may be created a moment later.
    pub fn may_be_early(self) -> bool {
        match self {
            Self::SelectorMatchesNothing
            | Self::TargetPortMissing
            | Self::SliceService
            | Self::DuplicateEndpoint
            | Self::UnknownZone
            | Self::Provenance => true,
            Self::TolerateUnready
            | Self::TolerateUnreadyValue
            | Self::ReservedLabel
            | Self::TopologyMode
            | Self::TrafficDistribution
            | Self::SuperedgeKeys
            | Self::OpenyurtKeys
            | Self::ExternalIp
            | Self::LoadBalancerIp
            | Self::TargetPortDiffers
            | Self::OverCapacity
            | Self::HeadlessLabel
            | Self::OverCapacityWarning
            | Self::DuplicateAddress
            | Self::EndpointsDeprecated
            | Self::SliceLabels
            | Self::AddressType
            | Self::SliceOverCapacity
            | Self::SpecialAddress
            | Self::ManagedBy => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let code = std::borrow::Cow::<'de, str>::deserialize(d)?;
        let found = Self::ALL.iter().find(|r| r.code() == code);
        found.copied().ok_or_else(|| serde::de::Error::custom(format_args!("{code:?} is not a known rule")))
    }
}
