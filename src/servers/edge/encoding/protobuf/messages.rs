//! The messages of what is cached, with their fields: when it is written, number, name in JSON, type.
//!
//! Written by `cargo xtask protobuf` from k8s.io/api and k8s.io/apimachinery, in the versions of `tests/cluster/assets/go.mod`.

use super::message::{
    FieldType::{Boolean, Int32, Int64, IntOrString, Quantity, Text, Time},
    Message, always, fields, many, map, message, optional,
};

pub(super) static CORE_ATTACHED_VOLUME: Message = fields(&[
    always(1, "name", Text), always(2, "devicePath", Text),
]);

pub(super) static CORE_CLIENT_IP_CONFIG: Message = fields(&[
    optional(1, "timeoutSeconds", Int32),
]);

pub(super) static CORE_CONFIG_MAP_NODE_CONFIG_SOURCE: Message = fields(&[
    always(1, "namespace", Text), always(2, "name", Text), always(3, "uid", Text), always(4, "resourceVersion", Text),
    always(5, "kubeletConfigKey", Text),
]);

pub(super) static CORE_CONTAINER_IMAGE: Message = fields(&[
    many(1, "names", Text), always(2, "sizeBytes", Int64),
]);

pub(super) static CORE_DAEMON_ENDPOINT: Message = fields(&[
    always(1, "Port", Int32),
]);

pub(super) static CORE_ENDPOINTS: Message = fields(&[
    always(1, "metadata", message(&META_OBJECT_META)), many(2, "subsets", message(&CORE_ENDPOINT_SUBSET)),
]);

pub(super) static CORE_ENDPOINT_ADDRESS: Message = fields(&[
    always(1, "ip", Text), optional(2, "targetRef", message(&CORE_OBJECT_REFERENCE)), always(3, "hostname", Text),
    optional(4, "nodeName", Text),
]);

pub(super) static CORE_ENDPOINT_PORT: Message = fields(&[
    always(1, "name", Text), always(2, "port", Int32), always(3, "protocol", Text), optional(4, "appProtocol", Text),
]);

pub(super) static CORE_ENDPOINT_SUBSET: Message = fields(&[
    many(1, "addresses", message(&CORE_ENDPOINT_ADDRESS)),
    many(2, "notReadyAddresses", message(&CORE_ENDPOINT_ADDRESS)), many(3, "ports", message(&CORE_ENDPOINT_PORT)),
]);

pub(super) static CORE_LOAD_BALANCER_INGRESS: Message = fields(&[
    always(1, "ip", Text), always(2, "hostname", Text), optional(3, "ipMode", Text),
    many(4, "ports", message(&CORE_PORT_STATUS)),
]);

pub(super) static CORE_LOAD_BALANCER_STATUS: Message = fields(&[
    many(1, "ingress", message(&CORE_LOAD_BALANCER_INGRESS)),
]);

pub(super) static CORE_NAMESPACE: Message = fields(&[
    always(1, "metadata", message(&META_OBJECT_META)), always(2, "spec", message(&CORE_NAMESPACE_SPEC)),
    always(3, "status", message(&CORE_NAMESPACE_STATUS)),
]);

pub(super) static CORE_NAMESPACE_CONDITION: Message = fields(&[
    always(1, "type", Text), always(2, "status", Text), always(4, "lastTransitionTime", Time),
    always(5, "reason", Text), always(6, "message", Text),
]);

pub(super) static CORE_NAMESPACE_SPEC: Message = fields(&[
    many(1, "finalizers", Text),
]);

pub(super) static CORE_NAMESPACE_STATUS: Message = fields(&[
    always(1, "phase", Text), many(2, "conditions", message(&CORE_NAMESPACE_CONDITION)),
]);

pub(super) static CORE_NODE: Message = fields(&[
    always(1, "metadata", message(&META_OBJECT_META)), always(2, "spec", message(&CORE_NODE_SPEC)),
    always(3, "status", message(&CORE_NODE_STATUS)),
]);

pub(super) static CORE_NODE_ADDRESS: Message = fields(&[
    always(1, "type", Text), always(2, "address", Text),
]);

pub(super) static CORE_NODE_CONDITION: Message = fields(&[
    always(1, "type", Text), always(2, "status", Text), always(3, "lastHeartbeatTime", Time),
    always(4, "lastTransitionTime", Time), always(5, "reason", Text), always(6, "message", Text),
]);

pub(super) static CORE_NODE_CONFIG_SOURCE: Message = fields(&[
    optional(2, "configMap", message(&CORE_CONFIG_MAP_NODE_CONFIG_SOURCE)),
]);

pub(super) static CORE_NODE_CONFIG_STATUS: Message = fields(&[
    optional(1, "assigned", message(&CORE_NODE_CONFIG_SOURCE)),
    optional(2, "active", message(&CORE_NODE_CONFIG_SOURCE)),
    optional(3, "lastKnownGood", message(&CORE_NODE_CONFIG_SOURCE)), always(4, "error", Text),
]);

pub(super) static CORE_NODE_DAEMON_ENDPOINTS: Message = fields(&[
    always(1, "kubeletEndpoint", message(&CORE_DAEMON_ENDPOINT)),
]);

pub(super) static CORE_NODE_FEATURES: Message = fields(&[
    optional(1, "supplementalGroupsPolicy", Boolean),
]);

pub(super) static CORE_NODE_POD_PREEMPTION_POLICY: Message = fields(&[
    many(1, "disableResizePreemption", Text),
]);

pub(super) static CORE_NODE_RUNTIME_HANDLER: Message = fields(&[
    always(1, "name", Text), optional(2, "features", message(&CORE_NODE_RUNTIME_HANDLER_FEATURES)),
]);

pub(super) static CORE_NODE_RUNTIME_HANDLER_FEATURES: Message = fields(&[
    optional(1, "recursiveReadOnlyMounts", Boolean), optional(2, "userNamespaces", Boolean),
]);

pub(super) static CORE_NODE_SPEC: Message = fields(&[
    always(1, "podCIDR", Text), always(2, "externalID", Text), always(3, "providerID", Text),
    always(4, "unschedulable", Boolean), many(5, "taints", message(&CORE_TAINT)),
    optional(6, "configSource", message(&CORE_NODE_CONFIG_SOURCE)), many(7, "podCIDRs", Text),
    optional(8, "podPreemptionPolicy", message(&CORE_NODE_POD_PREEMPTION_POLICY)),
]);

pub(super) static CORE_NODE_STATUS: Message = fields(&[
    map(1, "capacity", Quantity), map(2, "allocatable", Quantity), always(3, "phase", Text),
    many(4, "conditions", message(&CORE_NODE_CONDITION)), many(5, "addresses", message(&CORE_NODE_ADDRESS)),
    always(6, "daemonEndpoints", message(&CORE_NODE_DAEMON_ENDPOINTS)),
    always(7, "nodeInfo", message(&CORE_NODE_SYSTEM_INFO)), many(8, "images", message(&CORE_CONTAINER_IMAGE)),
    many(9, "volumesInUse", Text), many(10, "volumesAttached", message(&CORE_ATTACHED_VOLUME)),
    optional(11, "config", message(&CORE_NODE_CONFIG_STATUS)),
    many(12, "runtimeHandlers", message(&CORE_NODE_RUNTIME_HANDLER)),
    optional(13, "features", message(&CORE_NODE_FEATURES)), many(14, "declaredFeatures", Text),
]);

pub(super) static CORE_NODE_SWAP_STATUS: Message = fields(&[
    optional(1, "capacity", Int64),
]);

pub(super) static CORE_NODE_SYSTEM_INFO: Message = fields(&[
    always(1, "machineID", Text), always(2, "systemUUID", Text), always(3, "bootID", Text),
    always(4, "kernelVersion", Text), always(5, "osImage", Text), always(6, "containerRuntimeVersion", Text),
    always(7, "kubeletVersion", Text), always(8, "kubeProxyVersion", Text), always(9, "operatingSystem", Text),
    always(10, "architecture", Text), optional(11, "swap", message(&CORE_NODE_SWAP_STATUS)),
    optional(12, "runningInUserNamespace", Boolean),
]);

pub(super) static CORE_OBJECT_REFERENCE: Message = fields(&[
    always(1, "kind", Text), always(2, "namespace", Text), always(3, "name", Text), always(4, "uid", Text),
    always(5, "apiVersion", Text), always(6, "resourceVersion", Text), always(7, "fieldPath", Text),
]);

pub(super) static CORE_PORT_STATUS: Message = fields(&[
    always(1, "port", Int32), always(2, "protocol", Text), optional(3, "error", Text),
]);

pub(super) static CORE_SERVICE: Message = fields(&[
    always(1, "metadata", message(&META_OBJECT_META)), always(2, "spec", message(&CORE_SERVICE_SPEC)),
    always(3, "status", message(&CORE_SERVICE_STATUS)),
]);

pub(super) static CORE_SERVICE_PORT: Message = fields(&[
    always(1, "name", Text), always(2, "protocol", Text), always(3, "port", Int32),
    always(4, "targetPort", IntOrString), always(5, "nodePort", Int32), optional(6, "appProtocol", Text),
]);

pub(super) static CORE_SERVICE_SPEC: Message = fields(&[
    many(1, "ports", message(&CORE_SERVICE_PORT)), map(2, "selector", Text), always(3, "clusterIP", Text),
    always(4, "type", Text), many(5, "externalIPs", Text), always(7, "sessionAffinity", Text),
    always(8, "loadBalancerIP", Text), many(9, "loadBalancerSourceRanges", Text), always(10, "externalName", Text),
    always(11, "externalTrafficPolicy", Text), always(12, "healthCheckNodePort", Int32),
    always(13, "publishNotReadyAddresses", Boolean),
    optional(14, "sessionAffinityConfig", message(&CORE_SESSION_AFFINITY_CONFIG)), optional(17, "ipFamilyPolicy", Text),
    many(18, "clusterIPs", Text), many(19, "ipFamilies", Text), optional(20, "allocateLoadBalancerNodePorts", Boolean),
    optional(21, "loadBalancerClass", Text), optional(22, "internalTrafficPolicy", Text),
    optional(23, "trafficDistribution", Text),
]);

pub(super) static CORE_SERVICE_STATUS: Message = fields(&[
    always(1, "loadBalancer", message(&CORE_LOAD_BALANCER_STATUS)), many(2, "conditions", message(&META_CONDITION)),
]);

pub(super) static CORE_SESSION_AFFINITY_CONFIG: Message = fields(&[
    optional(1, "clientIP", message(&CORE_CLIENT_IP_CONFIG)),
]);

pub(super) static CORE_TAINT: Message = fields(&[
    always(1, "key", Text), always(2, "value", Text), always(3, "effect", Text), optional(4, "timeAdded", Time),
]);

pub(super) static DISCOVERY_ENDPOINT: Message = fields(&[
    many(1, "addresses", Text), always(2, "conditions", message(&DISCOVERY_ENDPOINT_CONDITIONS)),
    optional(3, "hostname", Text), optional(4, "targetRef", message(&CORE_OBJECT_REFERENCE)),
    map(5, "deprecatedTopology", Text), optional(6, "nodeName", Text), optional(7, "zone", Text),
    optional(8, "hints", message(&DISCOVERY_ENDPOINT_HINTS)),
]);

pub(super) static DISCOVERY_ENDPOINT_CONDITIONS: Message = fields(&[
    optional(1, "ready", Boolean), optional(2, "serving", Boolean), optional(3, "terminating", Boolean),
]);

pub(super) static DISCOVERY_ENDPOINT_HINTS: Message = fields(&[
    many(1, "forZones", message(&DISCOVERY_FOR_ZONE)), many(2, "forNodes", message(&DISCOVERY_FOR_NODE)),
]);

pub(super) static DISCOVERY_ENDPOINT_PORT: Message = fields(&[
    optional(1, "name", Text), optional(2, "protocol", Text), optional(3, "port", Int32),
    optional(4, "appProtocol", Text),
]);

pub(super) static DISCOVERY_ENDPOINT_SLICE: Message = fields(&[
    always(1, "metadata", message(&META_OBJECT_META)), many(2, "endpoints", message(&DISCOVERY_ENDPOINT)),
    many(3, "ports", message(&DISCOVERY_ENDPOINT_PORT)), always(4, "addressType", Text),
]);

pub(super) static DISCOVERY_FOR_NODE: Message = fields(&[
    always(1, "name", Text),
]);

pub(super) static DISCOVERY_FOR_ZONE: Message = fields(&[
    always(1, "name", Text),
]);

pub(super) static META_CONDITION: Message = fields(&[
    always(1, "type", Text), always(2, "status", Text), always(3, "observedGeneration", Int64),
    always(4, "lastTransitionTime", Time), always(5, "reason", Text), always(6, "message", Text),
]);

pub(super) static META_LIST_META: Message = fields(&[
    always(1, "selfLink", Text), always(2, "resourceVersion", Text), always(3, "continue", Text),
    optional(4, "remainingItemCount", Int64), optional(5, "shardInfo", message(&META_SHARD_INFO)),
]);

pub(super) static META_OBJECT_META: Message = fields(&[
    always(1, "name", Text), always(2, "generateName", Text), always(3, "namespace", Text), always(4, "selfLink", Text),
    always(5, "uid", Text), always(6, "resourceVersion", Text), always(7, "generation", Int64),
    always(8, "creationTimestamp", Time), optional(9, "deletionTimestamp", Time),
    optional(10, "deletionGracePeriodSeconds", Int64), map(11, "labels", Text), map(12, "annotations", Text),
    many(13, "ownerReferences", message(&META_OWNER_REFERENCE)), many(14, "finalizers", Text),
]);

pub(super) static META_OWNER_REFERENCE: Message = fields(&[
    always(1, "kind", Text), always(3, "name", Text), always(4, "uid", Text), always(5, "apiVersion", Text),
    optional(6, "controller", Boolean), optional(7, "blockOwnerDeletion", Boolean),
]);

pub(super) static META_SHARD_INFO: Message = fields(&[
    always(1, "selector", Text),
]);

pub(super) static META_STATUS: Message = fields(&[
    always(1, "metadata", message(&META_LIST_META)), always(2, "status", Text), always(3, "message", Text),
    always(4, "reason", Text), optional(5, "details", message(&META_STATUS_DETAILS)), always(6, "code", Int32),
]);

pub(super) static META_STATUS_CAUSE: Message = fields(&[
    always(1, "reason", Text), always(2, "message", Text), always(3, "field", Text),
]);

pub(super) static META_STATUS_DETAILS: Message = fields(&[
    always(1, "name", Text), always(2, "group", Text), always(3, "kind", Text),
    many(4, "causes", message(&META_STATUS_CAUSE)), always(5, "retryAfterSeconds", Int32), always(6, "uid", Text),
]);
