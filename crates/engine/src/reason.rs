//! Reasons: the codes of everything that Roster reports, in one table.
//!
//! `docs/reference/reasons.md` is generated from it; a test keeps both equal.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{
    code_table,
    model::{ObjectKey, Text},
    phrase::clip_name,
};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Info,
    /// Probably not what the author intended.
    Warning,
    /// Something does not work.
    Error,
}

use Severity::{Error, Info, Warning};

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Info => "info",
            Warning => "warning",
            Error => "error",
        })
    }
}

code_table! {
    /// A stable reason code.
    pub enum Reason {
        /// The code, such as `no-pod-ip`.
        code: &'static str,
        /// How much it matters.
        severity: Severity,
        /// What a user can do about it; empty if there is nothing to do.
        fix: &'static str,
    }

    // --- a pod and a port are published
    /// The pod is published as ready.
    Ready("ready", Info, "");
    /// The pod is not ready, but is published as ready because the Service sets `publishNotReadyAddresses`.
    PublishedNotReady("published-not-ready", Info, "");
    /// The pod is published as not ready: clients do not use it.
    NotReady("not-ready", Warning, "Look at the condition, container or readiness gate named in the detail.");
    /// The pod is being deleted. Slices keep it as terminating; Endpoints leave it out.
    Terminating("terminating", Info, "");

    // --- a pod or a port is left out
    /// The pod has ended (`Succeeded` or `Failed`). Such pods are never published.
    PodEnded("pod-ended", Info, "This is intended; delete ended pods that you do not need.");
    /// The pod has no address yet.
    NoPodIp("no-pod-ip", Warning, "Wait until the pod is scheduled and its network is set up; see the pod's events.");
    /// The pod has no address of the required family.
    FamilyMismatch("family-mismatch", Warning, "Change spec.ipFamilies of the Service to a family that the pods have. In a dual-stack cluster, find out why the pod has no address of this family.");
    /// The address of the pod is not an IP address. Releases from 1.33 print `<nil>` for it, and the API refuses every such write. Roster leaves the pod out.
    UnparsablePodIp("unparsable-pod-ip", Error, "Repair the program that writes status.podIPs (the network plugin or the kubelet).");
    /// No container of the pod has a port with the name in `targetPort`. For a headless Service it is a warning: its DNS name leads to the pod all the same, and only the SRV record needs the port.
    NamedPortMissing("named-port-missing", Error, "Give a container port the name in targetPort, or use a number.");
    /// A container has a port with this name, but with another protocol. For a headless Service it is a warning, as for `named-port-missing`.
    ProtocolMismatch("protocol-mismatch", Error, "Use the same protocol in the Service port and in the container port.");
    /// The named port stands for different numbers in different pods.
    NamedPortDiffers("named-port-differs", Info, "No action is needed during a rolling change; otherwise use one number in all pods.");
    /// The port belongs to a native sidecar. This release does not search the ports of sidecars.
    SidecarPortIgnored("sidecar-port-ignored", Warning, "Upgrade (Endpoints 1.32, slices 1.33), or use the number of the port.");
    /// The Service has no ports and is not headless: Endpoints publish nothing for it.
    NoPorts("no-ports", Warning, "Add a port to the Service, or set clusterIP: None.");
    /// Endpoints contain at most 1000 addresses; these were truncated.
    Truncated("truncated", Warning, "Read EndpointSlices instead of Endpoints; they have no such limit.");
    /// Another pod has the same address (and host name): only one of them is published.
    DuplicateAddress("duplicate-address", Warning, "Pods with one address usually share the host network of a node; run them on different nodes.");
    /// The node of the pod does not exist, or the pod has no node yet. API servers refuse Endpoints that list a pod without a node.
    NodeUnknown("node-unknown", Error, "Wait until the pod is scheduled and its node exists; delete the pod if the node will not come back.");
    /// One pod on a missing node prevents every write to the slices of this address type (up to 1.23).
    Frozen("missing-node-freezes-slices", Error, "Delete the pods of missing nodes, or upgrade to 1.24.");

    // --- hints
    /// The endpoint has hints for these zones or nodes.
    HintGiven("hint-given", Info, "");
    /// The endpoint has no hint; the detail gives the cause.
    NoHint("no-hint", Info, "See the detail. Zone hints need enough endpoints, and ready nodes with CPU and zone labels in at least two zones.");
    /// A setting of the Service has no effect, because another one takes precedence. The detail names both.
    SettingOverridden("setting-overridden", Warning, "Remove one of the two settings.");

    // --- a Service
    /// The Service does not exist. Its Endpoints are deleted, and its slices are garbage-collected.
    ServiceMissing("service-missing", Info, "");
    /// The Service is being deleted: no objects are created for it.
    ServiceDeleting("service-deleting", Info, "");
    /// The Service has no selector: a user or another program writes its endpoints.
    NoSelector("no-selector", Info, "Add a selector, or write EndpointSlices for it.");
    /// A Service of type ExternalName is a CNAME and has no endpoints.
    ExternalName("external-name", Info, "Use another type if pods should serve the Service.");
    /// The selector is empty: it selects every pod of the namespace.
    SelectsEverything("selects-everything", Warning, "Add a label to the selector.");
    /// No pod of the namespace has the labels of the selector. The detail names the closest pods.
    SelectorMatchesNothing("selector-matches-nothing", Warning, "Compare the selector with the labels of the pods.");
    /// A label of the pod differs from the selector, or is missing.
    LabelDiffers("label-differs", Info, "Change the label, or the selector.");
    /// A pod in another namespace has the right labels. A Service selects pods of its own namespace only.
    OtherNamespace("other-namespace", Warning, "Move the Service or the pods.");
    /// No ready pod serves this port of the Service. Clients get no response, unless kube-proxy still uses pods that are shutting down.
    PortUnserved("port-unserved", Warning, "Look at the reasons of the pods, and start with the most frequent one.");

    // --- limits
    /// The objects to write would contain more than 64 MiB of repeated ports, labels and addresses of the Service. Nothing is planned for this controller.
    PlanTooLarge("plan-too-large", Error, "Split the Service, use one number for a named port in all pods, or put fewer labels on the Service.");

    // --- stored objects
    /// A slice of the Service belongs to another controller, or to none. It is not changed.
    ForeignSlice("foreign-slice", Info, "No action is needed if you know which program writes it; kube-proxy uses its endpoints too.");
    /// A slice has the label of the controller, but this Service does not own it. It is replaced.
    WrongOwner("wrong-owner", Warning, "No action is needed; the slice may belong to an earlier Service of this name.");
    /// A slice is being deleted, and does not count.
    SliceDeleting("slice-deleting", Info, "");

    /// A stored address belongs to a pod that does not exist. Clients send it traffic while it is listed as ready.
    TargetGone("target-gone", Warning, "Remove the address from the object that lists it; if a controller writes the object, find out why it does not.");
    /// A stored address belongs to a pod or a program on a node that does not exist.
    NodeGone("node-gone", Warning, "Delete the pods of the node, and remove the address from objects that no controller writes.");
    /// A mirrored slice is left over: the Service has a selector now, or its Endpoints are gone. kube-proxy still uses it.
    LeftoverMirror("leftover-mirror", Warning, "Delete the slice, or find out why the mirroring controller does not.");
    /// Endpoints or a slice belong to a Service that does not exist.
    EndpointsOrphaned("endpoints-orphaned", Warning, "Delete the object, or create the Service.");
    /// The stored object differs from the controllers' next write. They have not written yet, or cannot. If only labels, hints or the arrangement differ, it is an info.
    StoredDiffers("stored-differs", Warning, "If it stays so, look at the events of the Service and at the log of kube-controller-manager; `roster plan` shows the writes.");

    // --- one node's view
    /// The endpoint is used although it is terminating: no endpoint is ready, and it still serves.
    ServingTerminating("serving-terminating", Warning, "Find out why no endpoint is ready; connections end with the pod.");
    /// The node follows hints, and those of the endpoint are for others.
    HintedElsewhere("hinted-elsewhere", Info, "");
    /// The endpoint is on another node, and the traffic policy of the Service is `Local`.
    NotLocal("not-local", Info, "");
    /// The node follows the hints of the endpoints: it uses those for its zone, or for itself.
    HintsFollowed("hints-followed", Info, "");
    /// The node does not follow hints although some endpoints have them; the detail gives the cause.
    HintsIgnored("hints-ignored", Info, "Label the nodes with topology.kubernetes.io/zone; after a change, wait until every ready endpoint has a hint.");
    /// The traffic policy is `Local`, and the node has no endpoint that takes traffic: its connections are dropped.
    NoLocalEndpoint("no-local-endpoint", Warning, "Run a pod on the node, or set the traffic policy to Cluster.");
    /// kube-proxy does not serve the Service; the detail gives the cause.
    NotProxied("not-proxied", Info, "");
    /// The label `service.kubernetes.io/service-proxy-name` leaves the Service to another proxy: kube-proxy itself does not serve it.
    OtherProxy("other-proxy", Info, "Remove the label if kube-proxy is to serve the Service.");

    // --- what a proxy before kube-proxy leaves (SuperEdge, OpenYurt)
    /// The node of the endpoint differs from this one in the labels of the topology keys.
    TopologyLabelDiffers("topology-label-differs", Info, "");
    /// This node is not known, so the topology keys remove every endpoint.
    TopologyNodeMissing("topology-node-missing", Error, "Create the Node, or correct the name of the node.");
    /// The topology keys select no ready endpoint: all endpoints are used.
    TopologyFallback("topology-fallback", Warning, "Run a pod on a node that has the same labels.");
    /// The Service has more than 16 different topology keys. Only the first 16 count.
    TopologyKeysCut("topology-keys-cut", Warning, "Keep the keys that fence traffic in, at most 16 different ones.");
    /// The annotation with the topology keys is not a JSON list of label keys, and is ignored: traffic is not confined.
    TopologyKeysMalformed("topology-keys-malformed", Error, "Write a JSON list of label keys, such as [\"zone\"].");
    /// The endpoint has no node, so it cannot be on a node that fits.
    EndpointWithoutNode("endpoint-without-node", Warning, "Give the endpoint a nodeName, or remove the topology keys of the Service.");
    /// The node of the endpoint does not exist.
    EndpointNodeUnknown("endpoint-node-unknown", Warning, "Remove the endpoint, or find out why its Node is gone.");
    /// The node of the endpoint is reported as unhealthy.
    NodeUnhealthy("node-unhealthy", Warning, "Look at the node.");
    /// The Service of the object is not known: nothing is removed from the object.
    ServiceUnknown("service-unknown", Info, "");
    /// The endpoints of the API server are replaced by the address in the annotations.
    LocalApiServer("local-api-server", Info, "");
    /// The annotations with the address of the API server are invalid, and are ignored.
    LocalApiServerInvalid("local-api-server-invalid", Error, "Write an IP address into superedge.io/local-endpoint, and a number into superedge.io/local-port.");
    /// The traffic of the Service is confined to the node, and the endpoint is on another one.
    NotOnNode("not-on-node", Info, "");
    /// The traffic of the Service is confined to the node pool, and the endpoint is outside it.
    OutsideNodePool("outside-node-pool", Info, "");
    /// The node pool of the node does not exist: nothing is removed.
    NodePoolUnknown("node-pool-unknown", Warning, "Create the NodePool, or correct the label apps.openyurt.io/nodepool of the node.");
    /// The Service is for the cloud: kube-proxy of an edge node does not see it.
    CloudService("cloud-service", Info, "");
    /// The annotation nodeport.openyurt.io/listen does not name the pool of the node: its kube-proxy does not see the Service, not even its cluster IP.
    NodePortIsolated("node-port-isolated", Warning, "Add the node pool to the annotation if its nodes are to serve the Service.");

    // --- mirroring
    /// The hand-made Endpoints are copied into slices.
    Mirrored("mirrored", Info, "");
    /// The Endpoints are not mirrored; the detail gives the cause.
    NotMirrored("not-mirrored", Info, "");
    /// An address that cannot be parsed is not mirrored.
    MirrorInvalidAddress("mirror-invalid-address", Error, "Correct the address in the Endpoints.");
    /// A subset has more addresses than can be mirrored; the rest is left out.
    MirrorTooManyAddresses("mirror-too-many-addresses", Warning, "Write EndpointSlices yourself, or divide the addresses among several Services.");
    /// The hand-made Endpoints and slices for a Service without selector have no port with this name and protocol. kube-proxy joins ports by these, and sends nothing there.
    EndpointPortMissing("endpoint-port-missing", Warning, "Give the port the same name and protocol in the Service and in its Endpoints or slices.");

    // --- defects of releases (docs/reference/versions.md describes each)
    /// The Service carries the label `endpoints.kubernetes.io/managed-by`: its Endpoints are updated at every sync, forever (from 1.33).
    ServiceCarriesManagedByLabel("service-carries-managed-by-label", Warning, "Remove the label endpoints.kubernetes.io/managed-by from the Service.");
    /// The Service carries the label `service.kubernetes.io/headless`: its Endpoints are updated at every sync, forever.
    ServiceCarriesHeadlessLabel("service-carries-headless-label", Warning, "Remove the label service.kubernetes.io/headless from the Service.");
    /// Endpoints that were truncated to 1000 addresses are updated at every sync.
    OverCapacityRewrite("over-capacity-rewrite", Warning, "Run fewer than 1000 pods for the Service, or read slices and accept the writes.");
    /// The Service has no `ipFamilies`: the controllers crash in early patch releases of 1.33 to 1.36. Roster infers the family, as other releases do.
    EmptyIpFamiliesPanic("empty-ip-families-panic", Error, "Upgrade to a fixed patch release (1.33.13, 1.34.9, 1.35.6, 1.36.2), or set spec.ipFamilies.");
    /// Any change of a pod may reorder the subsets of the Endpoints and rewrite them (up to 1.23).
    PodUpdateReordersSubsets("pod-update-reorders-subsets", Info, "Use one number for a named port in all pods, or upgrade to 1.24.");
    /// The node of a pod is missing. The slices are correct, but the sync fails and is retried, with a warning event each time (from 1.24).
    MissingNodeRetries("missing-node-retries", Warning, "Delete the pods of missing nodes. The error ends by itself when pods are scheduled.");
    /// Every sync of a Service without endpoints writes its placeholder slice again (up to 1.23).
    PlaceholderChurn("placeholder-churn", Info, "Upgrade to 1.24.");
    /// The zone or node name of a published endpoint is out of date and stays so (up to 1.23).
    StaleNodeOrZone("stale-node-or-zone", Warning, "Upgrade to 1.24, or delete the slice.");
    /// Only one of several pods with the same address is published, at random (up to 1.25).
    SharedAddressCollapses("shared-address-collapses", Warning, "Run pods of the host network on different nodes, or upgrade to 1.26.");
    /// A setting of a newer release is silently ignored.
    SettingIgnored("setting-ignored", Warning, "Upgrade, or remove the setting.");
    /// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` contradicts `publishNotReadyAddresses`, and is ignored (from 1.24).
    TolerateUnreadyDropped("tolerate-unready-dropped", Warning, "Set spec.publishNotReadyAddresses to the intended value, and remove the annotation.");
    /// A named port of a native sidecar is in the Endpoints but not in the slices (1.32).
    SidecarPortSplit("sidecar-port-split", Warning, "Use the number of the port, or upgrade to 1.33.");
    /// Endpoints without a zone get a hint for the zone `""` (1.31 and 1.32).
    EmptyZoneHint("empty-zone-hint", Warning, "Label the nodes with topology.kubernetes.io/zone.");
    /// An endpoint that is not ready keeps an old hint until its slice is written again.
    StaleHintOnUnready("stale-hint-on-unready", Info, "No action is needed: consumers only read the hints of ready endpoints.");
    /// Slices without ports are written again at every sync if the API returns them without a port list (up to 1.35).
    PortlessChurn("portless-churn", Info, "Add a port to the Service, or upgrade to 1.36.");
    /// Several subsets have the same ports, and too many addresses together: a random choice is mirrored (up to 1.26).
    MirrorRandomCut("mirror-random-cut", Warning, "Put the addresses into one subset, or write EndpointSlices yourself.");
    /// Equal ports with `appProtocol` and equal addresses in two subsets give a slice with the port twice, which the API refuses (from 1.27).
    MirrorDuplicatePort("mirror-duplicate-port", Error, "Merge the two subsets of the Endpoints.");
    /// A stored slice contains an endpoint twice. This hides a new address, which is not written.
    MirrorDuplicateHidesAddress("mirror-duplicate-hides-address", Warning, "Delete the mirrored slice; the controller creates it again.");
    /// A mirrored slice that is being deleted counts as present: nothing replaces it until it is deleted.
    MirrorCountsDyingSlice("mirror-counts-dying-slice", Info, "No action is needed: the next sync after the deletion replaces it.");
    /// The Endpoints carry a label that slices use for themselves: the mirrored slice is written at every sync.
    MirrorReservedLabel("mirror-reserved-label", Warning, "Remove the labels endpointslice.kubernetes.io/managed-by and kubernetes.io/service-name from the Endpoints.");
    /// The owner of a mirrored slice is a deleted Endpoints object: the slice will be garbage-collected (up to 1.30).
    MirrorOrphanOwner("mirror-orphan-owner", Warning, "Change the Endpoints once, or upgrade to 1.31.");
    /// The controller notices an edit of a mirrored slice only at the next event for it (up to 1.30).
    MirrorLateRepair("mirror-late-repair", Info, "Touch the Endpoints, or upgrade to 1.31.");
    /// An ExternalName Service with a selector gets Endpoints and slices (up to 1.26).
    ExternalNamePublishes("externalname-publishes", Warning, "Remove the selector, or upgrade to 1.27.");

    // --- workloads and the Services that select their pods
    /// No workload and no pod among the manifests of the namespace has the labels of the selector. The message names the nearest.
    SelectorMatchesNoTemplate("selector-matches-no-template", Warning, "Compare the selector with the labels of the pod template; labels of the workload itself never reach its pods.");
    /// No workload and no pod among the manifests fits the selector, but other pods may. An operator makes pods from a custom resource in the namespace, a manifest cannot be read, or it is kube-system. The message names the nearest workload, and the custom resource or the unreadable object.
    SelectorNotChecked("selector-not-checked", Info, "No action is needed if the pods in the message have these labels; otherwise compare the selector with the labels of the pod template.");
    /// No container of the selected workloads declares the number in `targetPort`. Traffic arrives all the same if a container listens there.
    TargetPortUndeclared("target-port-undeclared", Info, "Compare targetPort with the port on which the container listens, and declare it.");
    /// The Service selects pods of more than one workload.
    SeveralWorkloads("several-workloads", Info, "No action is needed for a canary or a migration; otherwise add a label to the selector that only one workload has.");
    /// The only workload behind a Service makes no pods.
    NoReplicas("no-replicas", Info, "Scale the workload up, or resume it.");
    /// An API server refuses the workload or each of its pods.
    PodsRefused("pods-refused", Error, "Correct what the message describes.");
    /// No node of the input has the labels that the pods ask for, without a taint that they do not tolerate.
    NoNodeFits("no-node-fits", Warning, "Compare nodeSelector, affinity and tolerations with the labels and taints of the nodes.");
    /// The workloads of the input make more pods than Roster assumes: 100 000, or 10 000 in a request; or 2 000 000, counted for each Service that may select them.
    TooManyPods("too-many-pods", Warning, "Look at fewer workloads or Services at a time.");
    /// A StatefulSet's governing Service is missing, or is not among the manifests. If `serviceName` is missing, which API servers accept, it is an info.
    GoverningServiceMissing("governing-service-missing", Warning, "Set serviceName to a headless Service that selects the pods.");
    /// The governing Service of a StatefulSet has a cluster IP. The specification of DNS in Kubernetes gives pods names of a headless Service only; `CoreDNS` answers for others, too.
    GoverningServiceNotHeadless("governing-service-not-headless", Warning, "Set serviceName to a Service with clusterIP: None; another Service may have the cluster IP.");
    /// A StatefulSet's governing Service selects another workload's pods. DNS names come from this Service's endpoints, so the StatefulSet's pods have none.
    GoverningServiceSelectsOthers("governing-service-selects-others", Warning, "Set serviceName to a headless Service whose selector selects the pods of the StatefulSet.");
    /// The governing Service of a StatefulSet has no selector. Its pods have names in DNS only if something else writes its endpoints.
    GoverningServiceNoSelector("governing-service-no-selector", Warning, "Give the Service a selector for the pods of the StatefulSet; no action is needed if a program writes its Endpoints or slices.");
    /// A workload's template sets `subdomain`, and no headless Service has this name. Its pods have no names in DNS. If they have no hostname either, it is an info: a pod may use the name for itself.
    SubdomainServiceMissing("subdomain-service-missing", Warning, "Add a headless Service with the name in subdomain that selects the pods.");
    /// A HorizontalPodAutoscaler names a missing workload, though one with another kind, namespace or name exists. The message names the nearest.
    ScaleTargetMissing("scale-target-missing", Warning, "Correct apiVersion, kind and name in scaleTargetRef.");
    /// A HorizontalPodAutoscaler names a DaemonSet, a Job or another kind that has no scale subresource.
    ScaleTargetNotScalable("scale-target-not-scalable", Warning, "Name a Deployment, StatefulSet or ReplicaSet, or remove the autoscaler.");
    /// Several autoscalers name one workload. Their controller acts for none of them.
    SeveralAutoscalers("several-autoscalers", Warning, "Put the metrics of all of them into one HorizontalPodAutoscaler.");
    /// A HorizontalPodAutoscaler's metric names a container, and the workload does not have it. If the name does not look like a typo, it is an info: an admission webhook may add the container.
    MetricContainerMissing("metric-container-missing", Warning, "Use the name of a container of the workload.");
    /// A HorizontalPodAutoscaler compares containers' usage with their requests, and a container has no request. A `LimitRange` in the namespace may fill one in.
    MetricRequestMissing("metric-request-missing", Info, "Set resources.requests of every container for the resource of the metric, or use a target of type AverageValue.");
    /// No container of a workload behind a Service has a readiness probe: each pod gets traffic before it can answer.
    NoReadinessProbe("no-readiness-probe", Info, "Add a readinessProbe to the container that serves the Service.");
    /// A readiness or startup probe asks a port by a name that its container does not have: no pod becomes ready. Of a number
    /// that no container declares, nobody knows whether one listens there.
    ProbePortMissing("probe-port-missing", Warning, "Use the name of a port of the same container, or the number.");
    /// A rollout of the only Deployment behind a Service may stop all pods before new ones are ready. With strategy Recreate, which is a choice, the severity is info.
    RolloutEmptiesService("rollout-empties-service", Warning, "Lower maxUnavailable, or run more replicas. With strategy Recreate, which stops all pods before it starts new ones: use RollingUpdate, or accept the gap.");

    // --- input
    /// The object cannot be read. The other objects are read.
    InvalidObject("invalid-object", Error, "Correct what the message describes.");
    /// An API server would refuse objects in the input. The answer about them describes an impossible cluster.
    RefusedObjects("refused-objects", Error, "Run `roster lint` on the files: it names each field and its line.");
    /// The object has a kind that Roster does not read; it is ignored.
    IgnoredObject("ignored-object", Info, "");
    /// Objects that were never in a cluster lack a field, a Pod's status, or a workload's pods. Roster fills in an API server's defaults, and the controllers' pods. `--namespace`, `--ip-families` and `--zones` describe the cluster.
    Assumed("assumed", Info, "");
    /// The input lacks a kind, or a kind in a namespace, or some objects cannot be read. Roster concludes nothing from that, and plans no removal because of it.
    NotChecked("not-checked", Info, "If the message names something unreadable, correct it. Otherwise add the missing objects; or, on the command line, add --complete if the input is the whole cluster.");
    /// An object has a field twice; the last one counts.
    DuplicateKey("duplicate-key", Warning, "Write each field once.");
    /// A YAML object begins within another one: the line `---` between them is missing. Readers take both for one object. If both have a field, kubectl sends the last one.
    MissingSeparator("missing-separator", Error, "Write a line with `---` before the object that begins there.");
    /// There is another object of this kind, namespace and name; the last one counts.
    DuplicateObject("duplicate-object", Warning, "Write each object once.");
    /// Endpoints of another name or namespace than the Service's were sent as its own; they are left out.
    ForeignEndpoints("foreign-endpoints", Warning, "Send the Endpoints of the Service's namespace and name.");
    /// An address has leading zeros, maps IPv4 into IPv6, or is not in its canonical form.
    AddressNotCanonical("address-not-canonical", Warning, "Write the address in its canonical form: API servers have warned about other forms since 1.33, and other programs may read them differently.");
    /// The API would refuse this name. `roster lint` reports an error; elsewhere it is a warning, because the object may come from a cluster of another release.
    InvalidName("invalid-name", Warning, "Use a DNS label (Services) or subdomain of the allowed length.");
    /// The API would refuse this port number. `roster lint` reports an error; elsewhere it is a warning, because the object may come from a cluster of another release.
    InvalidPort("invalid-port", Warning, "Use a number from 1 to 65535.");
    /// A port has no protocol, though the object comes from a cluster, where API servers fill in TCP. Roster adds nothing to such objects, so the port does not match any TCP port.
    MissingProtocol("missing-protocol", Warning, "Write protocol: TCP, or read the object back from the API server.");
    /// A Service port has no `targetPort`, though the Service comes from a cluster, where API servers fill in the number of `port`. Roster adds nothing to such objects, and plans port 0.
    MissingTargetPort("missing-target-port", Warning, "Set targetPort; an API server fills in the value of port.");
    /// kube-apiserver 1.37 does not have the kind in this `apiVersion`. One of them is misspelt, or a release has removed the version. Custom resources are exempt. An unknown kind in `v1` is an info, because other programs have files with this version.
    UnknownKind("unknown-kind", Error, "Write the apiVersion and kind in the message; `kubectl api-resources` lists those of a cluster.");
    /// The published schema of the kind does not have a field of this name. `kubectl` refuses the object; without its validation, the field is dropped.
    UnknownField("unknown-field", Error, "Correct the name of the field, or move the field to where it belongs.");
    /// The published schema gives the field another type.
    WrongType("wrong-type", Error, "Write a value of the type in the message; YAML needs quotes around a string that looks like a number or a boolean.");
    /// A field that an API server requires is missing.
    MissingField("missing-field", Error, "Add the field.");
    /// An API server does not allow this value, or not beside the values of other fields.
    InvalidValue("invalid-value", Error, "Correct what the message describes.");
    /// A waiver in the annotation `roster.dev/ignore` has an unknown code, or no reason. In a file of `--waivers`, it ends the run.
    InvalidWaiver("invalid-waiver", Warning, "Write code=reason; docs/reference/reasons.md and docs/reference/rules.md list the codes.");
    /// A waiver in the annotation `roster.dev/ignore` has no finding any more.
    UnusedWaiver("unused-waiver", Info, "Remove the waiver.");
    /// No release knows the value of this setting.
    InvalidSetting("invalid-setting", Warning, "Use one of the values that the documentation of the field lists.");
}

/// The object that upstream writes again at every sync, forever, with nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndlessWrite {
    /// The v1 Endpoints object.
    Endpoints,
    /// A slice.
    Slices,
}

impl Reason {
    /// The severities of its findings: first the usual one, then others, for which the meaning or the message gives the reason.
    pub fn severities(self) -> &'static [Severity] {
        match self {
            Self::TargetPortUndeclared => &[Info, Warning],
            Self::InvalidName | Self::InvalidPort => &[Warning, Error],
            Self::InvalidValue => &[Error, Warning],
            Self::UnknownKind => &[Error, Info],
            Self::NamedPortMissing | Self::ProtocolMismatch => &[Error, Warning, Info],
            Self::OtherNamespace
            | Self::SelectorMatchesNoTemplate
            | Self::TooManyPods
            | Self::GoverningServiceMissing
            | Self::DuplicateObject
            | Self::SubdomainServiceMissing
            | Self::ScaleTargetMissing
            | Self::MetricContainerMissing
            | Self::RolloutEmptiesService
            | Self::ProbePortMissing
            | Self::NoLocalEndpoint => &[Warning, Info],
            code => match code.severity() {
                Info => &[Info],
                Warning => &[Warning],
                Error => &[Error],
            },
        }
    }

    /// Whether it leaves a pod out because its containers lack the port of the Service.
    pub(crate) fn lacks_port(self) -> bool {
        matches!(self, Self::NamedPortMissing | Self::ProtocolMismatch | Self::SidecarPortIgnored)
    }

    /// What is written forever where a plan has a problem of this code.
    pub fn endless(self) -> Option<EndlessWrite> {
        match self {
            Self::ServiceCarriesManagedByLabel | Self::ServiceCarriesHeadlessLabel | Self::OverCapacityRewrite => {
                Some(EndlessWrite::Endpoints)
            }
            Self::MirrorReservedLabel | Self::MirrorRandomCut | Self::PlaceholderChurn | Self::PortlessChurn => {
                Some(EndlessWrite::Slices)
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

/// A finding: a reason that is reported about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The code.
    pub code: Reason,
    /// How much it matters.
    pub severity: Severity,
    /// What the reason means for this object, in a sentence.
    pub message: String,
    /// The object.
    #[serde(serialize_with = "in_short")]
    pub object: ObjectKey,
    /// JSON pointer to the field in the posted body, if one field is the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

/// Writes the name of an object: in a cluster none is longer. A request may have thousands of findings about one object.
fn in_short<S: Serializer>(object: &ObjectKey, s: S) -> Result<S::Ok, S::Error> {
    let ObjectKey { kind, namespace, name } = object;
    if name.len().max(namespace.len()).max(kind.len()) <= 253 {
        return object.serialize(s);
    }
    let [kind, namespace, name] = [kind, namespace, name].map(|text| Text::new(clip_name(text)));
    ObjectKey { kind, namespace, name }.serialize(s)
}

impl Finding {
    /// A finding about `object`, with the severity of its code.
    pub fn new(code: Reason, object: ObjectKey, message: impl Into<String>) -> Self {
        Self { code, severity: code.severity(), message: message.into(), object, pointer: None }
    }

    /// A finding about a repeated object.
    pub fn duplicate(object: ObjectKey) -> Self {
        let message = format!("{object} is present more than once; the last one counts");
        Self::new(Reason::DuplicateObject, object, message)
    }

    /// The pointer to the field; empty for the whole object.
    pub fn at(&self) -> &str {
        self.pointer.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_usual_severity_is_the_first() {
        for reason in Reason::ALL {
            assert_eq!(reason.severities().first(), Some(&reason.severity()), "{reason}");
        }
    }

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: BTreeSet<_> = Reason::ALL.iter().map(|r| r.code()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
        for code in codes {
            assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
        }
    }
}
