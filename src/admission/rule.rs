//! The rules: one table of code, kinds, refusal, remedy, default mode, meaning and what to do.
//!
//! `docs/rules.md` is made from it; a test keeps both equal.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::Refusal;

/// What is done about a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The rule is not looked at.
    Off,
    /// An audit annotation.
    Audit,
    /// A warning to the client, and an audit annotation.
    #[default]
    Warn,
    /// The object is mended, or else refused.
    Enforce,
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])* $name:ident $code:literal $kinds:tt $refusal:ident $remedy:ident $mode:ident $fix:literal;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[doc = $doc])* $name,)*
        }

        impl Rule {
            /// Every rule, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The stable code, such as `external-ip`.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// The kinds it looks at.
            pub fn kinds(self) -> &'static [&'static str] {
                match self { $(Self::$name => &$kinds),* }
            }

            /// How an object is refused.
            pub fn refusal(self) -> Refusal {
                match self { $(Self::$name => Refusal::$refusal),* }
            }

            /// What enforcing it means.
            pub fn remedy(self) -> Remedy {
                match self { $(Self::$name => Remedy::$remedy),* }
            }

            /// What is done where no policy says otherwise.
            pub fn default_mode(self) -> Mode {
                match self { $(Self::$name => Mode::$mode),* }
            }

            /// What it is about, in a sentence or two.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii()),* }
            }

            /// What to do.
            pub fn fix(self) -> &'static str {
                match self { $(Self::$name => $fix),* }
            }
        }
    };
}

/// What enforcing a rule means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// The object is refused.
    Refuse,
    /// The object is changed, so that the rule has nothing against it any more.
    Mend,
}

rules! {
    // --- Service
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` was dropped without a word in 1.24. As long as it was read, a Go boolean in it replaced `spec.publishNotReadyAddresses`, in both directions. Enforced: the field is set as the annotation says.
    TolerateUnready "tolerate-unready-annotation" ["Service"] Invalid Mend Enforce "Set spec.publishNotReadyAddresses, and remove the annotation.";
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` has a value that is no Go boolean: no release read it as it was meant.
    TolerateUnreadyValue "tolerate-unready-value" ["Service"] Invalid Refuse Warn "Set spec.publishNotReadyAddresses, and remove the annotation.";
    /// A label that belongs to controllers. With `service.kubernetes.io/headless` kube-proxy ignores the Service, and its Endpoints are written at every sync, as with `endpoints.kubernetes.io/managed-by`. `kubernetes.io/service-name` and `endpointslice.kubernetes.io/managed-by` say whose a slice is: Endpoints inherit them from the Service, and mislead whoever selects by them.
    ReservedLabel "reserved-label" ["Service"] Invalid Refuse Enforce "Remove the label.";
    /// The annotation `service.kubernetes.io/topology-mode` or its predecessor `topology-aware-hints` has a value that no release reads, or they contradict each other: then the older one counts.
    TopologyMode "topology-mode-value" ["Service"] Invalid Refuse Warn "Use Auto or Disabled, in service.kubernetes.io/topology-mode only.";
    /// `spec.trafficDistribution` has a value that no release reads, or no effect: the annotation `topology-mode: Auto` wins, `internalTrafficPolicy: Local` leaves nothing to distribute, an ExternalName has no endpoints.
    TrafficDistribution "traffic-distribution" ["Service"] Invalid Refuse Warn "Keep one of the two; the values are PreferClose, PreferSameZone and PreferSameNode.";
    /// SuperEdge's annotation `topologyKeys` is no JSON list of node labels. What cannot be read filters nothing; a key that no node can have, such as `*`, matches nothing: it is no wildcard here.
    SuperedgeKeys "superedge-topology-keys" ["Service"] Invalid Refuse Warn "Write a JSON list of labels that the nodes have, such as [\"kubernetes.io/hostname\"].";
    /// OpenYurt's annotation `openyurt.io/topologyKeys` has a value that yurthub does not read: it filters nothing.
    OpenyurtKeys "openyurt-topology-keys" ["Service"] Invalid Refuse Warn "Use one of kubernetes.io/hostname, openyurt.io/nodepool and kubernetes.io/zone.";
    /// `spec.externalIPs` takes the traffic of every node for an address that need not be the Service's (CVE-2020-8554).
    ExternalIp "external-ip" ["Service"] Forbidden Refuse Warn "Use a load balancer, or have the range allowed by an EndpointPolicy.";
    /// `spec.loadBalancerIP` asks for an address outside of the allowed ranges (CVE-2020-8554). The field is deprecated. The status of a Service is not looked at: whoever may write `services/status` can take traffic in the same way, so leave that right to controllers.
    LoadBalancerIp "load-balancer-ip" ["Service"] Forbidden Refuse Warn "Use an annotation of the cloud provider, or have the range allowed by an EndpointPolicy.";
    /// The selector matches no pod of the namespace that has not ended. Needs the cluster.
    SelectorMatchesNothing "selector-matches-nothing" ["Service"] Invalid Refuse Warn "Compare the selector with the labels of the pods.";
    /// Pods are selected, and none of them has a port of this name and protocol. Needs the cluster.
    TargetPortMissing "target-port-missing" ["Service"] Invalid Refuse Warn "Name a container port as in targetPort, or use a number.";
    /// The named port has different numbers in the selected pods. Needs the cluster.
    TargetPortDiffers "target-port-differs" ["Service"] Invalid Refuse Audit "Fine if it is meant so (a rolling change); otherwise use one number.";

    // --- Endpoints
    /// More than 1000 addresses. Enforced: cut as the controllers do it, ready ones first and in fair shares, and marked with the annotation `endpoints.kubernetes.io/over-capacity: truncated`; or refused, where the policy says so.
    OverCapacity "over-capacity" ["Endpoints"] Invalid Mend Enforce "Write EndpointSlices, which have no such limit.";
    /// The label `service.kubernetes.io/headless` is missing though the Service is headless, or is there though it is not: slices inherit it, and kube-proxy ignores those that have it. Enforced: it is set, or removed. Needs the cluster.
    HeadlessLabel "headless-label" ["Endpoints"] Invalid Mend Enforce "Leave the label to Roster.";
    /// The annotation `endpoints.kubernetes.io/over-capacity` has the value `warning`, which 1.21 left behind. Enforced: it is removed.
    OverCapacityWarning "over-capacity-leftover" ["Endpoints"] Invalid Mend Enforce "Remove the annotation.";
    /// An address is listed twice for one port, or is ready and not ready there: then not ready wins.
    DuplicateAddress "duplicate-address" ["Endpoints"] Invalid Refuse Warn "List each address once.";
    /// v1 Endpoints are deprecated since 1.33.
    EndpointsDeprecated "endpoints-deprecated" ["Endpoints"] Invalid Refuse Audit "Write EndpointSlices with the label kubernetes.io/service-name.";

    // --- EndpointSlice
    /// A slice needs the label `kubernetes.io/service-name`, or nobody uses it. Slices of a multi-cluster Service have the label `multicluster.kubernetes.io/service-name` instead.
    SliceLabels "slice-labels" ["EndpointSlice"] Invalid Refuse Warn "Add the label with the name of the Service.";
    /// The Service that the slice names does not exist. Needs the cluster.
    SliceService "slice-service-missing" ["EndpointSlice"] Invalid Refuse Warn "Create the Service first, or correct the label.";
    /// An address that is not of the slice's address type.
    AddressType "address-type-mismatch" ["EndpointSlice"] Invalid Refuse Enforce "Write one slice for each address type.";
    /// An endpoint is listed twice, or is in another slice of the Service as well, for the same port. Needs the cluster to see other slices.
    DuplicateEndpoint "duplicate-endpoint" ["EndpointSlice"] Invalid Refuse Warn "List each endpoint once, in one slice.";
    /// More than 1000 endpoints in one slice.
    SliceOverCapacity "slice-over-capacity" ["EndpointSlice"] Invalid Refuse Enforce "Write several slices.";
    /// A hint names a zone that no node has: the endpoint is used by nobody while hints are in force. Needs the cluster.
    UnknownZone "hint-unknown-zone" ["EndpointSlice"] Invalid Refuse Warn "Use the value of topology.kubernetes.io/zone of a node.";

    // --- both
    /// A loopback, link-local, unspecified, multicast or broadcast address, or none at all: traffic to it never leaves the node, or never arrives.
    SpecialAddress "special-address" ["Endpoints", "EndpointSlice"] Invalid Refuse Enforce "Use the address of the machine that serves.";
    /// The label `managed-by` names a built-in controller, and somebody else writes: the controller will delete or rewrite the object.
    ManagedBy "managed-by-spoofed" ["Endpoints", "EndpointSlice"] Forbidden Refuse Warn "Use a name of your own in the label.";
    /// An address that belongs to no pod of the namespace, nor to a range that an `EndpointPolicy` allows (CVE-2021-25740); or one in a range that it denies. Needs the cluster, but for denied ranges and host names, which no range allows.
    Provenance "address-provenance" ["Endpoints", "EndpointSlice"] Forbidden Refuse Warn "Use the address of a pod of the namespace, or have the range allowed by an EndpointPolicy.";
}

impl Rule {
    /// Whether it refuses what a copy of the cluster does not have: a moment later it may.
    pub fn may_be_early(self) -> bool {
        matches!(
            self,
            Self::SelectorMatchesNothing
                | Self::TargetPortMissing
                | Self::SliceService
                | Self::DuplicateEndpoint
                | Self::UnknownZone
                | Self::Provenance
        )
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
        found.copied().ok_or_else(|| serde::de::Error::custom(format_args!("there is no rule {code:?}")))
    }
}
