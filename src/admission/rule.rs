//! The rules: one table of code, kind, refusal, default mode, meaning and remedy.
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
    ($($(#[doc = $doc:literal])* $name:ident $code:literal $kind:literal $refusal:ident $mode:ident $fix:literal;)*) => {
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
            pub fn kind(self) -> &'static str {
                match self { $(Self::$name => $kind),* }
            }

            /// How an object is refused.
            pub fn refusal(self) -> Refusal {
                match self { $(Self::$name => Refusal::$refusal),* }
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

rules! {
    // --- Service
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` was dropped without a word in 1.24. As long as it was read, a Go boolean in it replaced `spec.publishNotReadyAddresses`, in both directions. Enforced: the field is set as the annotation says.
    TolerateUnready "tolerate-unready-annotation" "Service" Invalid Enforce "Set spec.publishNotReadyAddresses, and remove the annotation.";
    /// The annotation `tolerate-unready-endpoints` has a value that is no Go boolean: no release ever read it as the user meant.
    TolerateUnreadyValue "tolerate-unready-value" "Service" Invalid Warn "Use true or false, or better spec.publishNotReadyAddresses.";
    /// A label that belongs to controllers: `service.kubernetes.io/headless` makes kube-proxy ignore the Service, `kubernetes.io/service-name` and the `managed-by` labels hijack slices or make controllers write for ever.
    ReservedLabel "reserved-label" "Service" Invalid Enforce "Remove the label.";
    /// The annotations `topology-mode` or `topology-aware-hints` have a value that no release reads, or contradict each other.
    TopologyMode "topology-mode-value" "Service" Invalid Warn "Use Auto or Disabled, in one of the two annotations only.";
    /// `spec.trafficDistribution` has no effect: the annotation `topology-mode: Auto` or a local traffic policy wins.
    TrafficDistribution "traffic-distribution-conflict" "Service" Invalid Warn "Keep one of the two.";
    /// SuperEdge's annotation `topologyKeys` is no JSON list of label keys, or `*` is not the last of them.
    SuperedgeKeys "superedge-topology-keys" "Service" Invalid Warn "Write a JSON list such as [\"kubernetes.io/hostname\",\"*\"].";
    /// OpenYurt's annotation `openyurt.io/topologyKeys` has a value that yurthub does not read.
    OpenyurtKeys "openyurt-topology-keys" "Service" Invalid Warn "Use kubernetes.io/hostname, openyurt.io/nodepool, kubernetes.io/zone or *.";
    /// `spec.externalIPs` takes traffic for addresses that are not the Service's (CVE-2020-8554).
    ExternalIp "external-ip" "Service" Forbidden Warn "Use a load balancer, or have the range allowed by an EndpointPolicy.";
    /// `spec.loadBalancerIP` or a load balancer status asks for an address outside of the allowed ranges (CVE-2020-8554); the field is deprecated.
    LoadBalancerIp "load-balancer-ip" "Service" Forbidden Warn "Use an annotation of the cloud provider, or have the range allowed by an EndpointPolicy.";
    /// The selector matches no pod of the namespace.
    SelectorMatchesNothing "selector-matches-nothing" "Service" Invalid Warn "Compare the selector with the labels of the pods.";
    /// No selected pod has a port of this name.
    TargetPortMissing "target-port-missing" "Service" Invalid Warn "Name a container port as in targetPort, or use a number.";
    /// The named port has different numbers in the selected pods.
    TargetPortDiffers "target-port-differs" "Service" Invalid Audit "Fine if it is meant so (a rolling change); otherwise use one number.";

    // --- Endpoints
    /// More than 1000 addresses. Truncated as the controllers do: ready ones first, fair shares, annotation `over-capacity: truncated`.
    OverCapacity "over-capacity" "Endpoints" Invalid Enforce "Write EndpointSlices, which have no such limit.";
    /// The label `service.kubernetes.io/headless` is missing though the Service is headless, or is there though it is not. Enforced: it is set, or removed.
    HeadlessLabel "headless-label" "Endpoints" Invalid Enforce "Leave the label to Roster.";
    /// The annotation `endpoints.kubernetes.io/over-capacity` has the value `warning`, which 1.21 left behind.
    OverCapacityWarning "over-capacity-leftover" "Endpoints" Invalid Enforce "Remove the annotation.";
    /// An address that is ready and not ready under one port, or twice in a list.
    DuplicateAddress "duplicate-address" "Endpoints" Invalid Warn "List each address once.";
    /// A loopback, link-local, unspecified or multicast address: traffic to it never leaves the node, or never arrives.
    SpecialAddress "special-address" "Endpoints, EndpointSlice" Invalid Enforce "Use the address of the machine that serves.";
    /// v1 Endpoints are deprecated since 1.33.
    EndpointsDeprecated "endpoints-deprecated" "Endpoints" Invalid Audit "Write EndpointSlices with the label kubernetes.io/service-name.";

    // --- EndpointSlice
    /// A slice needs the label `kubernetes.io/service-name`, or nobody uses it.
    SliceLabels "slice-labels" "EndpointSlice" Invalid Enforce "Add the label with the name of the Service.";
    /// The Service that the slice names does not exist.
    SliceService "slice-service-missing" "EndpointSlice" Invalid Warn "Create the Service first, or correct the label.";
    /// The label `managed-by` names a built-in controller, and somebody else writes: the controller will delete or rewrite the slice.
    ManagedBy "managed-by-spoofed" "Endpoints, EndpointSlice" Forbidden Enforce "Use a name of your own in the label.";
    /// An address that is not of the slice's address type.
    AddressType "address-type-mismatch" "EndpointSlice" Invalid Enforce "Write one slice for each address type.";
    /// The endpoint is in another slice of the Service as well.
    DuplicateEndpoint "duplicate-endpoint" "EndpointSlice" Invalid Warn "List each endpoint in one slice.";
    /// More than 1000 endpoints in one slice.
    SliceOverCapacity "slice-over-capacity" "EndpointSlice" Invalid Enforce "Write several slices.";
    /// A hint names a zone that no node has: the endpoint is used by nobody while hints are in force.
    UnknownZone "hint-unknown-zone" "EndpointSlice" Invalid Warn "Use the value of topology.kubernetes.io/zone of a node.";

    // --- both
    /// An address that belongs to no pod of the namespace, nor to a range that an EndpointPolicy allows (CVE-2021-25740).
    Provenance "address-provenance" "Endpoints, EndpointSlice" Forbidden Warn "Use the address of a pod of the namespace, or have the range allowed by an EndpointPolicy.";
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
