//! Why: the stable codes of everything Roster says.
//!
//! A reason is recorded where the decision falls. `docs/reasons.md` lists them; a test keeps both equal.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::ObjectKey;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Probably not what was meant.
    Warning,
    /// Something does not work.
    Error,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident $code:literal $severity:ident $fix:literal;)*) => {
        /// A stable reason code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[doc = $doc])* $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The stable code, such as `no-pod-ip`.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity),* }
            }

            /// What it means, in a sentence or two.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii()),* }
            }

            /// What a user can do about it; empty where nothing needs doing.
            pub fn fix(self) -> &'static str {
                match self { $(Self::$name => $fix),* }
            }
        }
    };
}

reasons! {
    // --- a pod and a port are published
    /// The pod is published as ready.
    Ready "ready" Info "";
    /// The pod is not ready, and published as ready because the Service says `publishNotReadyAddresses`.
    PublishedNotReady "published-not-ready" Info "";
    /// The pod is published as not ready: clients do not get it.
    NotReady "not-ready" Warning "Look at the condition, container or readiness gate named in the detail.";
    /// The pod is being deleted. Slices keep it as terminating; Endpoints leave it out.
    Terminating "terminating" Info "";

    // --- a pod or a port is left out
    /// The pod has ended (`Succeeded` or `Failed`): it is never published.
    PodEnded "pod-ended" Info "Ended pods are left out on purpose; delete them if they are in the way.";
    /// The pod has no address yet.
    NoPodIp "no-pod-ip" Warning "Wait until the pod is scheduled and its network is set up; see the pod's events.";
    /// The pod has no address of the family that is asked for.
    FamilyMismatch "family-mismatch" Warning "Give the pod an address of this family (dual-stack cluster), or change spec.ipFamilies of the Service.";
    /// The address of the pod is not an IP address: releases from 1.33 print `<nil>` for it, which the API refuses for ever. Roster leaves it out.
    UnparsablePodIp "unparsable-pod-ip" Error "Repair what writes status.podIPs (the network plugin or the kubelet).";
    /// No container of the pod has a port of the name that `targetPort` asks for.
    NamedPortMissing "named-port-missing" Error "Name a container port as in targetPort, or use a number.";
    /// A container has a port of this name, with another protocol.
    ProtocolMismatch "protocol-mismatch" Error "Use the same protocol in the Service port and in the container port.";
    /// The named port stands for different numbers in different pods.
    NamedPortDiffers "named-port-differs" Info "Fine if it is meant so (a rolling change); otherwise use one number in all pods.";
    /// The port is found in a native sidecar, which this release does not look at.
    SidecarPortIgnored "sidecar-port-ignored" Warning "Upgrade (Endpoints 1.32, slices 1.33), or use the number of the port.";
    /// The Service has no ports and is not headless: Endpoints publish nothing for it.
    NoPorts "no-ports" Warning "Add a port to the Service, or set clusterIP: None.";
    /// Endpoints hold at most 1000 addresses: this one was cut.
    Truncated "truncated" Warning "Read EndpointSlices instead of Endpoints; they have no such limit.";
    /// Another pod has the same address (and host name): only one of them is published.
    DuplicateAddress "duplicate-address" Warning "Two pods with one address usually share the host network of a node; spread them.";
    /// The node of the pod does not exist, or the pod has none yet. API servers refuse Endpoints that list a pod without a node.
    NodeUnknown "node-unknown" Error "Wait until the pod has its node, and the node is there; delete the pod if the node is gone for good.";
    /// One pod on a missing node keeps all slices of this address type from being written (up to 1.23).
    Frozen "missing-node-freezes-slices" Error "Delete pods of nodes that are gone; or upgrade to 1.24.";

    // --- hints
    /// The endpoint is hinted for these zones or nodes.
    HintGiven "hint-given" Info "";
    /// The endpoint gets no hint: the detail says why.
    NoHint "no-hint" Info "See the detail: zone hints need ready nodes in two zones with CPU and zone labels, and enough endpoints.";
    /// A setting of the Service has no effect, because another one counts instead. The detail names both.
    SettingOverridden "setting-overridden" Warning "Keep one of the two: remove the one that is not meant.";

    // --- a Service
    /// The Service does not exist (any more): its Endpoints are deleted, its slices are garbage-collected.
    ServiceMissing "service-missing" Info "";
    /// The Service is being deleted: nothing new is created for it.
    ServiceDeleting "service-deleting" Info "";
    /// The Service has no selector: its endpoints are written by hand or by another program.
    NoSelector "no-selector" Info "Add a selector, or write EndpointSlices for it.";
    /// A Service of type ExternalName is a CNAME: it has no endpoints.
    ExternalName "external-name" Info "Use another type if pods should serve it.";
    /// The selector is empty: it selects every pod of the namespace.
    SelectsEverything "selects-everything" Warning "Add a label to the selector.";
    /// No pod of the namespace has the labels of the selector. The detail names the nearest miss.
    SelectorMatchesNothing "selector-matches-nothing" Warning "Compare the selector with the labels of the pods.";
    /// A label of the pod differs from the selector, or is not there.
    LabelDiffers "label-differs" Info "Change the label, or the selector.";
    /// The pod has the right labels, in another namespace. A Service only selects pods of its own.
    OtherNamespace "other-namespace" Info "Move the Service or the pods.";
    /// No pod serves this port of the Service: clients get no answer.
    PortUnserved "port-unserved" Warning "Look at what keeps the pods from it, first where most of them are.";

    // --- limits
    /// What the controller would write repeats the ports, labels or addresses of the Service for more than 64 MiB: it plans nothing.
    PlanTooLarge "plan-too-large" Error "Split the Service, use one number for a named port in all pods, or put fewer labels on the Service.";

    // --- stored objects
    /// A slice of the Service that belongs to another controller, or to nobody: it is left alone.
    ForeignSlice "foreign-slice" Info "Fine if you know who writes it: kube-proxy uses its endpoints as well.";
    /// A slice that carries the controller's label, but is not owned by this Service: it is replaced.
    WrongOwner "wrong-owner" Warning "It is replaced; it may be left over from an earlier Service of this name.";
    /// A slice that is being deleted: it does not count.
    SliceDeleting "slice-deleting" Info "";

    // --- mirroring
    /// The hand-made Endpoints are copied into slices.
    Mirrored "mirrored" Info "";
    /// The Endpoints are not mirrored; the detail says why.
    NotMirrored "not-mirrored" Info "";
    /// An address that cannot be parsed is not mirrored.
    MirrorInvalidAddress "mirror-invalid-address" Error "Correct the address in the Endpoints.";
    /// More addresses than one subset may have are not mirrored.
    MirrorTooManyAddresses "mirror-too-many-addresses" Warning "Write EndpointSlices yourself, or split the addresses over several Services.";

    // --- oddities of releases (docs/versions.md tells each in full)
    /// The Service carries the label `endpoints.kubernetes.io/managed-by`: its Endpoints are updated at every sync, for ever (from 1.33).
    ServiceCarriesManagedByLabel "service-carries-managed-by-label" Warning "Remove the label endpoints.kubernetes.io/managed-by from the Service.";
    /// The Service carries the label `service.kubernetes.io/headless`: its Endpoints are updated at every sync, for ever.
    ServiceCarriesHeadlessLabel "service-carries-headless-label" Warning "Remove the label service.kubernetes.io/headless from the Service.";
    /// Endpoints that were cut to 1000 addresses are updated at every sync.
    OverCapacityRewrite "over-capacity-rewrite" Warning "Keep the Service under 1000 pods, or read slices and accept the writes.";
    /// The Service has no `ipFamilies`: early patches of 1.33 to 1.36 crash on it. Roster infers the family, as other releases do.
    EmptyIpFamiliesPanic "empty-ip-families-panic" Error "Upgrade to a patch with the repair (1.33.13, 1.34.9, 1.35.6, 1.36.2), or set spec.ipFamilies.";
    /// Any change of a pod may reorder the subsets of the Endpoints and rewrite them (up to 1.23).
    PodUpdateReordersSubsets "pod-update-reorders-subsets" Info "Use one number for a named port in all pods; or upgrade to 1.24.";
    /// A pod whose node is missing: the slices are right, but the sync fails and is retried, with a warning event each time (from 1.24).
    MissingNodeRetries "missing-node-retries" Warning "Delete pods of nodes that are gone; unscheduled pods get over it by themselves.";
    /// Every sync of a Service without endpoints writes its placeholder slice again (up to 1.23).
    PlaceholderChurn "placeholder-churn" Info "Upgrade to 1.24.";
    /// The zone or node name of a published endpoint is out of date and stays so (up to 1.23).
    StaleNodeOrZone "stale-node-or-zone" Warning "Upgrade to 1.24, or delete the slice.";
    /// Of several pods with one address only one is published, at random (up to 1.25).
    SharedAddressCollapses "shared-address-collapses" Warning "Spread pods of the host network over nodes; or upgrade to 1.26.";
    /// A setting of a newer release is ignored without a word.
    SettingIgnored "hints-vanish" Warning "Upgrade, or remove the setting.";
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` says otherwise than `publishNotReadyAddresses`, and is not read any more (from 1.24).
    TolerateUnreadyDropped "tolerate-unready-dropped" Warning "Set spec.publishNotReadyAddresses to what is meant, and remove the annotation.";
    /// A named port of a native sidecar is in the Endpoints but not in the slices (1.32).
    SidecarPortSplit "sidecar-port-split" Warning "Use the number of the port, or upgrade to 1.33.";
    /// Endpoints without a zone get a hint for the zone `""` (1.31 and 1.32).
    EmptyZoneHint "empty-zone-hint" Warning "Label the nodes with topology.kubernetes.io/zone.";
    /// An endpoint that is not ready keeps an old hint as long as its slice is not rewritten.
    StaleHintOnUnready "stale-hint-on-unready" Info "It does no harm: consumers look at hints of ready endpoints only.";
    /// Slices without ports are written again at every sync, where they are read back without a list (up to 1.35).
    PortlessChurn "portless-churn" Info "Add a port to the Service, or upgrade to 1.36.";
    /// Several subsets with one port set and together too many addresses: which are mirrored is random (up to 1.26).
    MirrorRandomCut "mirror-random-cut" Warning "Put the addresses into one subset, or write EndpointSlices yourself.";
    /// Equal ports with `appProtocol` and equal addresses in two subsets give a slice with the port twice, which the API refuses (from 1.27).
    MirrorDuplicatePort "mirror-duplicate-port" Error "Merge the two subsets of the Endpoints.";
    /// A stored slice that holds an endpoint twice hides a new address: it is not written.
    MirrorDuplicateHidesAddress "mirror-duplicate-hides-address" Warning "Delete the mirrored slice; it is made anew.";
    /// A mirrored slice that is being deleted counts as present: nothing replaces it until it is gone.
    MirrorCountsDyingSlice "mirror-counts-dying-slice" Info "It is replaced at the next sync after it is gone.";
    /// The Endpoints carry a label that slices use for themselves: the mirrored slice is written at every sync.
    MirrorReservedLabel "mirror-reserved-label" Warning "Remove the labels endpointslice.kubernetes.io/managed-by and kubernetes.io/service-name from the Endpoints.";
    /// A mirrored slice is owned by an Endpoints object that is gone, and will be garbage-collected (up to 1.30).
    MirrorOrphanOwner "mirror-orphan-owner" Warning "Change the Endpoints once, or upgrade to 1.31.";
    /// An outside edit of a mirrored slice is noticed only at the next event (up to 1.30).
    MirrorLateRepair "mirror-late-repair" Info "Touch the Endpoints, or upgrade to 1.31.";
    /// An ExternalName Service with a selector gets Endpoints and slices (up to 1.26).
    ExternalNamePublishes "externalname-publishes" Warning "Remove the selector, or upgrade to 1.27.";

    // --- input
    /// The object cannot be read; the others were.
    InvalidObject "invalid-object" Error "Correct the field that the message names.";
    /// The object names no kind that Roster reads; it is ignored.
    IgnoredObject "ignored-object" Info "";
    /// A field is there twice in one object; the last one counts.
    DuplicateKey "duplicate-key" Warning "Write each field once.";
    /// There is another object of this kind, namespace and name; the last one counts.
    DuplicateObject "duplicate-object" Warning "Send each object once.";
    /// Endpoints of another name or namespace than the Service's were sent as its own; they are left out.
    ForeignEndpoints "foreign-endpoints" Warning "Send the Endpoints of the Service's namespace and name.";
    /// An address has leading zeros, maps IPv4 into IPv6, or is written in another form than the canonical one.
    AddressNotCanonical "address-not-canonical" Warning "Write the address in its canonical form: API servers warn of others since 1.33, and other programs may read them differently.";
    /// A name that the API would refuse.
    InvalidName "invalid-name" Warning "Use a DNS label (Services) or subdomain of the allowed length.";
    /// A port number that the API would refuse.
    InvalidPort "invalid-port" Warning "Use a number from 1 to 65535.";
    /// A port names no protocol. An API server fills in TCP; Roster takes objects as they are given, so that it equals no TCP port.
    MissingProtocol "missing-protocol" Warning "Write protocol: TCP, or read the object back from the API server.";
    /// A port of a Service has no `targetPort`. An API server fills in the number of `port`; Roster takes objects as they are given, and plans port 0.
    MissingTargetPort "missing-target-port" Warning "Set targetPort; an API server fills in the number of port.";
    /// A setting that has no meaning to any release.
    InvalidSetting "invalid-setting" Warning "Use one of the values that the documentation of the field lists.";
}

/// The object that upstream writes again at every sync, for ever, with nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endless {
    /// The v1 Endpoints object.
    Endpoints,
    /// A slice.
    Slices,
}

impl Reason {
    /// What is written for ever where a plan has a problem of this code.
    pub fn endless(self) -> Option<Endless> {
        match self {
            Self::ServiceCarriesManagedByLabel | Self::ServiceCarriesHeadlessLabel | Self::OverCapacityRewrite => {
                Some(Endless::Endpoints)
            }
            Self::MirrorReservedLabel | Self::MirrorRandomCut | Self::PlaceholderChurn | Self::PortlessChurn => {
                Some(Endless::Slices)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.code())
    }
}

/// Something a user should know of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable code.
    pub code: Reason,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about this object, in a sentence.
    pub message: String,
    /// Which object.
    pub object: ObjectKey,
    /// JSON pointer to the field in the posted body, where one field is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl Finding {
    /// A problem of `object`, with the severity of its code.
    pub fn new(code: Reason, object: ObjectKey, message: impl Into<String>) -> Self {
        Self { code, severity: code.severity(), message: message.into(), object, pointer: None }
    }

    /// That an object is there again.
    pub fn duplicate(object: ObjectKey) -> Self {
        let message = format!("{object} is there more than once; the last one counts");
        Self::new(Reason::DuplicateObject, object, message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: BTreeSet<_> = Reason::ALL.iter().map(|r| r.code()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
        for code in codes {
            assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
        }
    }
}
