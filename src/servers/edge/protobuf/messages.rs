//! The messages of what is cached, with their fields: number, name in JSON, when it is written, type.
//!
//! Written by `cargo xtask protobuf` from k8s.io/api and k8s.io/apimachinery, in the versions of `tests/cluster/assets/go.mod`.

use super::message::messages;

messages! {
    CORE_ATTACHED_VOLUME {
        1 "name" always text; 2 "devicePath" always text;
    }
    CORE_CLIENT_IP_CONFIG {
        1 "timeoutSeconds" optional int32;
    }
    CORE_CONFIG_MAP_NODE_CONFIG_SOURCE {
        1 "namespace" always text; 2 "name" always text; 3 "uid" always text; 4 "resourceVersion" always text;
        5 "kubeletConfigKey" always text;
    }
    CORE_CONTAINER_IMAGE {
        1 "names" many text; 2 "sizeBytes" always int64;
    }
    CORE_DAEMON_ENDPOINT {
        1 "Port" always int32;
    }
    CORE_ENDPOINTS {
        1 "metadata" always META_OBJECT_META; 2 "subsets" many CORE_ENDPOINT_SUBSET;
    }
    CORE_ENDPOINT_ADDRESS {
        1 "ip" always text; 2 "targetRef" optional CORE_OBJECT_REFERENCE; 3 "hostname" always text;
        4 "nodeName" optional text;
    }
    CORE_ENDPOINT_PORT {
        1 "name" always text; 2 "port" always int32; 3 "protocol" always text; 4 "appProtocol" optional text;
    }
    CORE_ENDPOINT_SUBSET {
        1 "addresses" many CORE_ENDPOINT_ADDRESS; 2 "notReadyAddresses" many CORE_ENDPOINT_ADDRESS;
        3 "ports" many CORE_ENDPOINT_PORT;
    }
    CORE_LOAD_BALANCER_INGRESS {
        1 "ip" always text; 2 "hostname" always text; 3 "ipMode" optional text; 4 "ports" many CORE_PORT_STATUS;
    }
    CORE_LOAD_BALANCER_STATUS {
        1 "ingress" many CORE_LOAD_BALANCER_INGRESS;
    }
    CORE_NAMESPACE {
        1 "metadata" always META_OBJECT_META; 2 "spec" always CORE_NAMESPACE_SPEC;
        3 "status" always CORE_NAMESPACE_STATUS;
    }
    CORE_NAMESPACE_CONDITION {
        1 "type" always text; 2 "status" always text; 4 "lastTransitionTime" always time; 5 "reason" always text;
        6 "message" always text;
    }
    CORE_NAMESPACE_SPEC {
        1 "finalizers" many text;
    }
    CORE_NAMESPACE_STATUS {
        1 "phase" always text; 2 "conditions" many CORE_NAMESPACE_CONDITION;
    }
    CORE_NODE {
        1 "metadata" always META_OBJECT_META; 2 "spec" always CORE_NODE_SPEC; 3 "status" always CORE_NODE_STATUS;
    }
    CORE_NODE_ADDRESS {
        1 "type" always text; 2 "address" always text;
    }
    CORE_NODE_CONDITION {
        1 "type" always text; 2 "status" always text; 3 "lastHeartbeatTime" always time;
        4 "lastTransitionTime" always time; 5 "reason" always text; 6 "message" always text;
    }
    CORE_NODE_CONFIG_SOURCE {
        2 "configMap" optional CORE_CONFIG_MAP_NODE_CONFIG_SOURCE;
    }
    CORE_NODE_CONFIG_STATUS {
        1 "assigned" optional CORE_NODE_CONFIG_SOURCE; 2 "active" optional CORE_NODE_CONFIG_SOURCE;
        3 "lastKnownGood" optional CORE_NODE_CONFIG_SOURCE; 4 "error" always text;
    }
    CORE_NODE_DAEMON_ENDPOINTS {
        1 "kubeletEndpoint" always CORE_DAEMON_ENDPOINT;
    }
    CORE_NODE_FEATURES {
        1 "supplementalGroupsPolicy" optional boolean;
    }
    CORE_NODE_POD_PREEMPTION_POLICY {
        1 "disableResizePreemption" many text;
    }
    CORE_NODE_RUNTIME_HANDLER {
        1 "name" always text; 2 "features" optional CORE_NODE_RUNTIME_HANDLER_FEATURES;
    }
    CORE_NODE_RUNTIME_HANDLER_FEATURES {
        1 "recursiveReadOnlyMounts" optional boolean; 2 "userNamespaces" optional boolean;
    }
    CORE_NODE_SPEC {
        1 "podCIDR" always text; 2 "externalID" always text; 3 "providerID" always text;
        4 "unschedulable" always boolean; 5 "taints" many CORE_TAINT; 6 "configSource" optional CORE_NODE_CONFIG_SOURCE;
        7 "podCIDRs" many text; 8 "podPreemptionPolicy" optional CORE_NODE_POD_PREEMPTION_POLICY;
    }
    CORE_NODE_STATUS {
        1 "capacity" map quantity; 2 "allocatable" map quantity; 3 "phase" always text;
        4 "conditions" many CORE_NODE_CONDITION; 5 "addresses" many CORE_NODE_ADDRESS;
        6 "daemonEndpoints" always CORE_NODE_DAEMON_ENDPOINTS; 7 "nodeInfo" always CORE_NODE_SYSTEM_INFO;
        8 "images" many CORE_CONTAINER_IMAGE; 9 "volumesInUse" many text;
        10 "volumesAttached" many CORE_ATTACHED_VOLUME; 11 "config" optional CORE_NODE_CONFIG_STATUS;
        12 "runtimeHandlers" many CORE_NODE_RUNTIME_HANDLER; 13 "features" optional CORE_NODE_FEATURES;
        14 "declaredFeatures" many text;
    }
    CORE_NODE_SWAP_STATUS {
        1 "capacity" optional int64;
    }
    CORE_NODE_SYSTEM_INFO {
        1 "machineID" always text; 2 "systemUUID" always text; 3 "bootID" always text; 4 "kernelVersion" always text;
        5 "osImage" always text; 6 "containerRuntimeVersion" always text; 7 "kubeletVersion" always text;
        8 "kubeProxyVersion" always text; 9 "operatingSystem" always text; 10 "architecture" always text;
        11 "swap" optional CORE_NODE_SWAP_STATUS; 12 "runningInUserNamespace" optional boolean;
    }
    CORE_OBJECT_REFERENCE {
        1 "kind" always text; 2 "namespace" always text; 3 "name" always text; 4 "uid" always text;
        5 "apiVersion" always text; 6 "resourceVersion" always text; 7 "fieldPath" always text;
    }
    CORE_PORT_STATUS {
        1 "port" always int32; 2 "protocol" always text; 3 "error" optional text;
    }
    CORE_SERVICE {
        1 "metadata" always META_OBJECT_META; 2 "spec" always CORE_SERVICE_SPEC; 3 "status" always CORE_SERVICE_STATUS;
    }
    CORE_SERVICE_PORT {
        1 "name" always text; 2 "protocol" always text; 3 "port" always int32; 4 "targetPort" always int_or_string;
        5 "nodePort" always int32; 6 "appProtocol" optional text;
    }
    CORE_SERVICE_SPEC {
        1 "ports" many CORE_SERVICE_PORT; 2 "selector" map text; 3 "clusterIP" always text; 4 "type" always text;
        5 "externalIPs" many text; 7 "sessionAffinity" always text; 8 "loadBalancerIP" always text;
        9 "loadBalancerSourceRanges" many text; 10 "externalName" always text; 11 "externalTrafficPolicy" always text;
        12 "healthCheckNodePort" always int32; 13 "publishNotReadyAddresses" always boolean;
        14 "sessionAffinityConfig" optional CORE_SESSION_AFFINITY_CONFIG; 17 "ipFamilyPolicy" optional text;
        18 "clusterIPs" many text; 19 "ipFamilies" many text; 20 "allocateLoadBalancerNodePorts" optional boolean;
        21 "loadBalancerClass" optional text; 22 "internalTrafficPolicy" optional text;
        23 "trafficDistribution" optional text;
    }
    CORE_SERVICE_STATUS {
        1 "loadBalancer" always CORE_LOAD_BALANCER_STATUS; 2 "conditions" many META_CONDITION;
    }
    CORE_SESSION_AFFINITY_CONFIG {
        1 "clientIP" optional CORE_CLIENT_IP_CONFIG;
    }
    CORE_TAINT {
        1 "key" always text; 2 "value" always text; 3 "effect" always text; 4 "timeAdded" optional time;
    }
    DISCOVERY_ENDPOINT {
        1 "addresses" many text; 2 "conditions" always DISCOVERY_ENDPOINT_CONDITIONS; 3 "hostname" optional text;
        4 "targetRef" optional CORE_OBJECT_REFERENCE; 5 "deprecatedTopology" map text; 6 "nodeName" optional text;
        7 "zone" optional text; 8 "hints" optional DISCOVERY_ENDPOINT_HINTS;
    }
    DISCOVERY_ENDPOINT_CONDITIONS {
        1 "ready" optional boolean; 2 "serving" optional boolean; 3 "terminating" optional boolean;
    }
    DISCOVERY_ENDPOINT_HINTS {
        1 "forZones" many DISCOVERY_FOR_ZONE; 2 "forNodes" many DISCOVERY_FOR_NODE;
    }
    DISCOVERY_ENDPOINT_PORT {
        1 "name" optional text; 2 "protocol" optional text; 3 "port" optional int32; 4 "appProtocol" optional text;
    }
    DISCOVERY_ENDPOINT_SLICE {
        1 "metadata" always META_OBJECT_META; 2 "endpoints" many DISCOVERY_ENDPOINT;
        3 "ports" many DISCOVERY_ENDPOINT_PORT; 4 "addressType" always text;
    }
    DISCOVERY_FOR_NODE {
        1 "name" always text;
    }
    DISCOVERY_FOR_ZONE {
        1 "name" always text;
    }
    META_CONDITION {
        1 "type" always text; 2 "status" always text; 3 "observedGeneration" always int64;
        4 "lastTransitionTime" always time; 5 "reason" always text; 6 "message" always text;
    }
    META_LIST_META {
        1 "selfLink" always text; 2 "resourceVersion" always text; 3 "continue" always text;
        4 "remainingItemCount" optional int64; 5 "shardInfo" optional META_SHARD_INFO;
    }
    META_OBJECT_META {
        1 "name" always text; 2 "generateName" always text; 3 "namespace" always text; 4 "selfLink" always text;
        5 "uid" always text; 6 "resourceVersion" always text; 7 "generation" always int64;
        8 "creationTimestamp" always time; 9 "deletionTimestamp" optional time;
        10 "deletionGracePeriodSeconds" optional int64; 11 "labels" map text; 12 "annotations" map text;
        13 "ownerReferences" many META_OWNER_REFERENCE; 14 "finalizers" many text;
    }
    META_OWNER_REFERENCE {
        1 "kind" always text; 3 "name" always text; 4 "uid" always text; 5 "apiVersion" always text;
        6 "controller" optional boolean; 7 "blockOwnerDeletion" optional boolean;
    }
    META_SHARD_INFO {
        1 "selector" always text;
    }
    META_STATUS {
        1 "metadata" always META_LIST_META; 2 "status" always text; 3 "message" always text; 4 "reason" always text;
        5 "details" optional META_STATUS_DETAILS; 6 "code" always int32;
    }
    META_STATUS_CAUSE {
        1 "reason" always text; 2 "message" always text; 3 "field" always text;
    }
    META_STATUS_DETAILS {
        1 "name" always text; 2 "group" always text; 3 "kind" always text; 4 "causes" many META_STATUS_CAUSE;
        5 "retryAfterSeconds" always int32; 6 "uid" always text;
    }
}
