//! The table of examples: a row gives the code, the title and how to look at the file.

use super::Example;

/// The examples of a group, each `"code" "title"` and how to look at it.
macro_rules! examples {
    ($($group:literal: { $($code:literal $title:literal $(, $how:ident $value:literal)*;)* })*) => {
        &[
            Example::new("A whole cluster", "shop", "Eight Services of a shop, three of them with problems", include_str!("../../../../examples/shop.yaml")),
            $($(Example::new($group, $code, $title, include_str!(concat!("../../examples/", $code, ".yaml")))$(.$how($value))*,)*)*
        ]
    };
}

/// All examples, in the order in which the page lists them.
pub(super) static ALL: &[Example] = examples! {
    "Most frequent": {
        "selector-matches-nothing" "The selector of a Service matches no pod";
        "named-port-missing" "No container port has the name in targetPort";
        "not-ready" "A pod is not ready, and gets no connections";
        "port-unserved" "A Service has pods, and none of them serves its port";
    }
    "Published pods": {
        "ready" "A pod is published as ready";
        "published-not-ready" "A pod is published before it is ready, because the Service says so";
        "terminating" "A pod is being deleted";
    }
    "Omitted pods and ports": {
        "pod-ended" "A pod has ended";
        "no-pod-ip" "A pod has no address yet";
        "family-mismatch" "The Service wants IPv6, and a pod has no such address";
        "unparsable-pod-ip" "The address of a pod is not an IP address";
        "protocol-mismatch" "A container port has the right name and the wrong protocol";
        "named-port-differs" "A named port stands for two numbers";
        "sidecar-port-ignored" "The port belongs to a native sidecar, which this release does not search", at "1.31";
        "no-ports" "A Service without ports is not headless";
        "truncated" "Endpoints list at most 1000 addresses";
        "duplicate-address" "Two pods have the same address";
        "node-unknown" "The node of a pod does not exist";
        "missing-node-freezes-slices" "One pod on a missing node stops every write", at "1.23";
    }
    "Hints": {
        "hint-given" "Endpoints have hints for their zones";
        "no-hint" "An endpoint gets no hint";
        "setting-overridden" "One of two settings has no effect";
    }
    "A Service and its selector": {
        "service-missing" "Endpoints of a Service that was deleted";
        "service-deleting" "A Service is being deleted";
        "no-selector" "A Service without a selector: somebody else writes its endpoints";
        "external-name" "A Service that is only another name";
        "selects-everything" "An empty selector selects every pod of the namespace";
        "label-differs" "A label of a pod differs from the selector";
        "other-namespace" "The pods are in another namespace";
    }
    "Stored objects": {
        "foreign-slice" "Another program writes a slice of the Service";
        "wrong-owner" "A slice belongs to an earlier Service of this name";
        "slice-deleting" "A slice is being deleted";
        "target-gone" "A stored address belongs to a pod that does not exist";
        "node-gone" "A stored address is on a node that does not exist";
        "leftover-mirror" "A mirrored slice is left over";
        "endpoints-orphaned" "Endpoints without a Service";
        "stored-differs" "What is stored is not what the controllers would write";
    }
    "The view of a node": {
        "serving-terminating" "A node uses an endpoint that is terminating", seen_from "node-a";
        "hinted-elsewhere" "An endpoint is meant for another zone", seen_from "node-a";
        "hints-followed" "A node follows the hints of the endpoints", seen_from "node-b";
        "hints-ignored" "A node does not follow hints", seen_from "node-c";
        "not-local" "The endpoint is on another node, and the traffic policy is Local", seen_from "node-a";
        "no-local-endpoint" "Connections are dropped on a node without a local pod", seen_from "node-c";
        "not-proxied" "kube-proxy does not serve the Service", seen_from "node-a";
        "other-proxy" "Another proxy serves the Service", seen_from "node-a";
    }
    "SuperEdge and OpenYurt": {
        "topology-label-differs" "SuperEdge: the endpoint is in another store", seen_from "node-a", behind "superedge";
        "topology-node-missing" "SuperEdge: the node itself is not known", seen_from "node-c", behind "superedge";
        "topology-keys-cut" "SuperEdge: more than 16 topology keys", seen_from "node-a", behind "superedge";
        "topology-keys-malformed" "SuperEdge: the topology keys are not a JSON list", seen_from "node-a", behind "superedge";
        "endpoint-without-node" "SuperEdge: an endpoint has no node", seen_from "node-a", behind "superedge";
        "endpoint-node-unknown" "SuperEdge: the node of an endpoint does not exist", seen_from "node-a", behind "superedge";
        "not-on-node" "OpenYurt: traffic is confined to the node", seen_from "node-a", behind "openyurt";
        "outside-node-pool" "OpenYurt: the endpoint is in another node pool", seen_from "node-a", behind "openyurt";
        "node-pool-unknown" "OpenYurt: the pool of the node does not exist", seen_from "node-a", behind "openyurt";
        "cloud-service" "OpenYurt: edge nodes do not see the Service", seen_from "node-a", behind "openyurt";
        "node-port-isolated" "OpenYurt: the pool of the node does not listen", seen_from "node-a", behind "openyurt";
    }
    "Hand-made Endpoints": {
        "mirrored" "Hand-made Endpoints are copied into slices";
        "not-mirrored" "Hand-made Endpoints are not mirrored";
        "mirror-invalid-address" "An address of hand-made Endpoints is not an IP address";
        "endpoint-port-missing" "The Endpoints name their port otherwise than the Service does";
    }
    "Unexpected behaviour in specific releases": {
        "service-carries-managed-by-label" "A label of the Service makes the controller write forever";
        "service-carries-headless-label" "A label of the Service makes the controller write forever";
        "over-capacity-rewrite" "Truncated Endpoints are written at every sync";
        "empty-ip-families-panic" "A Service without ipFamilies crashes early patches of a release", at "1.34";
        "pod-update-reorders-subsets" "Any change of a pod may rewrite the Endpoints", at "1.23";
        "missing-node-retries" "The sync fails and is tried again, because a node is missing";
        "placeholder-churn" "A Service without endpoints is written at every sync", at "1.23";
        "stale-node-or-zone" "The zone of an endpoint is out of date and stays so", at "1.23";
        "shared-address-collapses" "Only one of two pods with the same address is published", at "1.25";
        "setting-ignored" "This release does not know a setting", at "1.29";
        "tolerate-unready-dropped" "An old annotation has no effect any more";
        "sidecar-port-split" "Endpoints have a port that the slices lack", at "1.32";
        "empty-zone-hint" "Endpoints are hinted for a zone without a name", at "1.32";
        "stale-hint-on-unready" "An endpoint that is not ready keeps its hint";
        "portless-churn" "A slice without ports is written at every sync", at "1.35";
        "mirror-duplicate-port" "Two equal subsets give a slice that the API refuses";
        "mirror-duplicate-hides-address" "A mirrored slice lacks an address, and is not repaired";
        "mirror-counts-dying-slice" "A mirrored slice is being deleted, and counts all the same";
        "mirror-reserved-label" "A label of the Endpoints makes every sync write the mirrored slice";
        "mirror-orphan-owner" "The owner of a mirrored slice was deleted", at "1.30";
        "mirror-late-repair" "An edit of a mirrored slice is noticed late", at "1.30";
        "externalname-publishes" "A Service of type ExternalName gets endpoints", at "1.26";
    }
    "Workloads and their Services": {
        "selector-matches-no-template" "A typing error in the selector of a Service";
        "selector-not-checked" "A selector cannot be checked";
        "target-port-undeclared" "No container declares the number in targetPort";
        "several-workloads" "A Service selects the pods of two workloads";
        "no-replicas" "The only workload behind a Service makes no pods";
        "pods-refused" "An API server refuses the pods of a workload";
        "no-node-fits" "No node has the labels that the pods ask for";
        "too-many-pods" "A workload makes more pods than Roster assumes";
        "governing-service-missing" "The governing Service of a StatefulSet is missing";
        "governing-service-not-headless" "The governing Service of a StatefulSet is not headless";
        "governing-service-selects-others" "The governing Service of a StatefulSet selects other pods";
        "governing-service-no-selector" "The governing Service of a StatefulSet has no selector";
        "subdomain-service-missing" "The Service that subdomain names is missing";
        "scale-target-missing" "An autoscaler names a workload that does not exist";
        "scale-target-not-scalable" "An autoscaler names a workload that cannot be scaled";
        "several-autoscalers" "Two autoscalers scale one workload";
        "metric-container-missing" "A metric names a container that the pods do not have";
        "metric-request-missing" "An autoscaler compares with a request that is not there";
        "no-readiness-probe" "Pods get connections before they can answer";
        "probe-port-missing" "A probe asks a port that the container does not have";
        "rollout-empties-service" "A rollout may leave the Service without pods";
    }
    "Input": {
        "invalid-object" "An object cannot be read";
        "ignored-object" "An object of a kind that Roster does not read";
        "assumed" "Roster fills in what a cluster would";
        "not-checked" "What the input does not have is not judged";
        "duplicate-key" "An object has a field twice";
        "missing-separator" "A line with three dashes is missing";
        "duplicate-object" "An object stands twice in the input";
        "address-not-canonical" "An address is not written in its canonical form";
        "invalid-name" "An API server refuses the name of an object";
        "invalid-port" "An API server refuses the number of a port";
        "missing-protocol" "A port of a stored object has no protocol";
        "missing-target-port" "A port of a stored object has no targetPort";
        "refused-objects" "An API server refuses an object of the input";
        "unknown-field" "A field is misspelt";
        "wrong-type" "A value has the wrong type";
        "missing-field" "A field that the API requires is missing";
        "invalid-value" "An API server refuses a value";
        "invalid-setting" "A setting has a value that no release knows";
    }
};
