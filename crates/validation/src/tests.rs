//! The validation of values, by the kind of object.

use roster_engine::model::{ObjectKey, json::pointer::field_path};
use serde_json::{Value, json, value::RawValue};

use super::check;

/// The fields of the findings about an object.
pub(super) fn fields(object: &Value) -> Vec<String> {
    let raw = RawValue::from_string(object.to_string()).unwrap();
    let key = ObjectKey::new(object["kind"].as_str().unwrap(), &"default".into(), &"web".into());
    check(&raw, &key).findings.iter().map(|f| field_path(f.pointer.as_deref().unwrap_or_default())).collect()
}

pub(super) fn object(api_version: &str, kind: &str, fields: Value) -> Value {
    let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "web" } });
    let Value::Object(fields) = fields else { panic!("not an object") };
    object.as_object_mut().unwrap().extend(fields);
    object
}

#[test]
fn endpoints_are_those_of_an_api_server() {
    let address = json!({ "ip": "10.0.0.1" });
    let fd00 = json!([{ "ip": "FD00::1" }]);
    for (subset, want) in [
        (json!({ "addresses": [address], "ports": [{ "port": 80 }] }), &[][..]),
        (json!({ "notReadyAddresses": [address] }), &[]),
        // Endpoints store what is not canonical.
        (json!({ "addresses": fd00 }), &[]),
        (json!({ "addresses": [address], "ports": [{ "port": 80, "protocol": "" }] }), &[]),
        (json!({ "ports": [{ "port": 80 }] }), &["subsets[0]"]),
        (json!({ "addresses": [], "notReadyAddresses": null }), &["subsets[0]"]),
        // The wrong type is the only fault.
        (json!({ "addresses": "10.0.0.1" }), &["subsets[0].addresses"]),
        (
            json!({ "addresses": [address], "ports": [{ "port": 80 }, { "port": 81, "name": "" }] }),
            &["subsets[0].ports[0].name", "subsets[0].ports[1].name"],
        ),
        (
            json!({ "addresses": [{ "ip": "010.0.0.1" }, { "ip": "" }] }),
            &["subsets[0].addresses[0].ip", "subsets[0].addresses[1].ip"],
        ),
        (json!({ "addresses": [{ "ip": "10.0.0.1", "nodeName": "" }] }), &["subsets[0].addresses[0].nodeName"]),
        (json!({ "addresses": [{ "ip": "10.0.0.1", "hostname": "a.b" }] }), &["subsets[0].addresses[0].hostname"]),
        (json!({ "addresses": [{ "ip": "10.0.0.1", "hostname": "" }] }), &[]),
        (
            json!({ "addresses": [address], "ports": [{ "port": 80, "protocol": "tcp" }] }),
            &["subsets[0].ports[0].protocol"],
        ),
        (
            json!({ "addresses": [address], "ports": [{ "port": 80, "appProtocol": "" }] }),
            &["subsets[0].ports[0].appProtocol"],
        ),
    ] {
        assert_eq!(fields(&object("v1", "Endpoints", json!({ "subsets": [subset] }))), want, "{subset}");
    }
}

/// `kubectl` refuses fields that are gone, and an API server requires what replaced them.
#[test]
fn an_ingress_has_the_fields_of_its_version() {
    let path = |backend: Value| {
        let path = json!({ "path": "/", "pathType": "Prefix", "backend": backend });
        json!({ "rules": [{ "http": { "paths": [path] } }] })
    };
    let backend = "spec.rules[0].http.paths[0].backend";
    for (spec, want) in [
        (path(json!({ "service": { "name": "web", "port": { "number": 80 } } })), vec![]),
        (
            path(json!({ "serviceName": "web", "servicePort": 80 })),
            vec![format!("{backend}.serviceName"), format!("{backend}.servicePort")],
        ),
        (
            path(json!({ "service": { "name": "web", "port": { "number": "80" } } })),
            vec![format!("{backend}.service.port.number")],
        ),
        (json!({ "backend": {}, "tls": [{ "host": "a.b" }] }), vec!["spec.backend".into(), "spec.tls[0].host".into()]),
        (
            json!({ "rules": [{ "http": { "paths": [{}] } }] }),
            vec![backend.to_owned(), "spec.rules[0].http.paths[0].pathType".to_owned()],
        ),
    ] {
        assert_eq!(fields(&object("networking.k8s.io/v1", "Ingress", json!({ "spec": spec }))), want, "{spec}");
    }
}

/// Fields that are unknown or of another type: the cases that an API server answers with the field are in `tests/data/fields`.
#[test]
fn a_budget_has_the_fields_of_its_version() {
    for (spec, want) in [
        (json!({ "minAvailable": 1, "selector": { "matchLabels": { "app": "web" } } }), vec![]),
        (json!({ "minUnavailable": 1 }), vec!["spec.minUnavailable"]),
        (json!({ "minAvailable": 0.5 }), vec!["spec.minAvailable"]),
        (json!({ "minAvailable": true }), vec!["spec.minAvailable"]),
        (json!({ "selector": { "app": "web" } }), vec!["spec.selector.app"]),
        (json!({ "selector": [] }), vec!["spec.selector"]),
    ] {
        assert_eq!(fields(&object("policy/v1", "PodDisruptionBudget", json!({ "spec": spec }))), want, "{spec}");
    }
}

#[test]
fn slices_are_those_of_an_api_server() {
    let slice = |address_type: &str, endpoint: &Value, ports: &Value| {
        let slice = json!({ "addressType": address_type, "endpoints": [endpoint], "ports": ports });
        fields(&object("discovery.k8s.io/v1", "EndpointSlice", slice))
    };
    let many: Vec<String> = (0..101).map(|i| format!("10.0.1.{i}")).collect();
    for (address_type, endpoint, want) in [
        ("IPv4", json!({ "addresses": ["10.0.0.1"], "zone": "" }), &[][..]),
        ("IPv6", json!({ "addresses": ["fd00::1"] }), &[]),
        ("FQDN", json!({ "addresses": ["example.org"] }), &[]),
        ("ipv4", json!({ "addresses": ["10.0.0.1"] }), &["addressType"]),
        ("", json!({ "addresses": ["10.0.0.1"] }), &["addressType"]),
        ("IPv4", json!({ "addresses": [] }), &["endpoints[0].addresses"]),
        ("IPv4", json!({}), &["endpoints[0].addresses"]),
        ("IPv4", json!({ "addresses": many }), &["endpoints[0].addresses"]),
        ("IPv4", json!({ "addresses": ["10.0.0.1", "fd00::1"] }), &["endpoints[0].addresses[1]"]),
        ("IPv6", json!({ "addresses": ["FD00::1"] }), &["endpoints[0].addresses[0]"]),
        ("IPv6", json!({ "addresses": ["10.0.0.1"] }), &["endpoints[0].addresses[0]"]),
        ("FQDN", json!({ "addresses": ["example"] }), &["endpoints[0].addresses[0]"]),
        ("IPv4", json!({ "addresses": ["10.0.0.1"], "hostname": "" }), &["endpoints[0].hostname"]),
        ("IPv4", json!({ "addresses": ["10.0.0.1"], "nodeName": "N" }), &["endpoints[0].nodeName"]),
        (
            "IPv4",
            json!({ "addresses": ["10.0.0.1"], "hints": { "forZones": [{ "name": "a" }, { "name": "a" }, { "name": "-" }] } }),
            &["endpoints[0].hints.forZones[1].name", "endpoints[0].hints.forZones[2].name"],
        ),
        (
            "IPv4",
            json!({ "addresses": ["10.0.0.1"], "hints": { "forNodes": [{ "name": "" }] } }),
            &["endpoints[0].hints.forNodes[0].name"],
        ),
    ] {
        assert_eq!(slice(address_type, &endpoint, &json!([])), want, "{address_type} {endpoint}");
    }
    let endpoint = json!({ "addresses": ["10.0.0.1"] });
    for (ports, want) in [
        (json!([{ "name": "" }, { "name": "p0", "port": 0 }, { "name": "p1", "port": -1 }]), &[][..]),
        (json!([{ "port": 80 }, { "port": 81, "name": "" }]), &["ports[1].name"]),
        (json!([{ "name": "a.b", "port": 80 }]), &["ports[0].name"]),
        (json!([{ "port": 80, "protocol": "" }]), &["ports[0].protocol"]),
        (json!([{ "port": 80, "protocol": null }]), &[]),
        (json!([{ "port": 80, "appProtocol": "a/b/c" }]), &["ports[0].appProtocol"]),
    ] {
        assert_eq!(slice("IPv4", &endpoint, &ports), want, "{ports}");
    }
}

/// The findings about a Pod of one container, with these fields of the spec.
fn pod(more: &Value) -> Vec<String> {
    let mut spec = json!({ "containers": [{ "name": "web", "image": "web" }] });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let found = fields(&object("v1", "Pod", json!({ "spec": spec })));
    found.iter().map(|field| field.strip_prefix("spec.").unwrap().to_owned()).collect()
}

/// The findings about a Service of type ExternalName with these fields of the spec.
#[test]
fn external_names_are_those_of_an_api_server() {
    for (spec, want) in [
        (json!({ "ports": [{ "port": 80 }], "internalTrafficPolicy": "Local" }), &[][..]),
        (json!({ "healthCheckNodePort": 30_000 }), &["spec.healthCheckNodePort"]),
        (json!({ "loadBalancerClass": "a/b" }), &["spec.loadBalancerClass"]),
        (json!({ "allocateLoadBalancerNodePorts": true }), &["spec.allocateLoadBalancerNodePorts"]),
        (json!({ "loadBalancerSourceRanges": ["10.0.0.0/8"] }), &["spec.loadBalancerSourceRanges"]),
        (json!({ "externalTrafficPolicy": "Local" }), &["spec.externalTrafficPolicy"]),
        (json!({ "externalIPs": ["10.1.2.3"], "externalTrafficPolicy": "Local" }), &["spec.externalTrafficPolicy"]),
        (json!({ "clusterIP": "None" }), &["spec.clusterIP"]),
        (json!({ "externalName": "" }), &["spec.externalName"]),
    ] {
        let mut fields_of_spec = json!({ "type": "ExternalName", "externalName": "example.org" });
        fields_of_spec.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let found = fields(&object("v1", "Service", json!({ "spec": fields_of_spec })));
        assert_eq!(found, want, "{spec}");
    }
}

#[test]
fn specs_of_pods_are_those_of_an_api_server() {
    let long = "x".repeat(64);
    for (spec, want) in [
        (json!({ "hostname": "h", "subdomain": "", "dnsPolicy": "", "nodeName": "node-1.example" }), &[][..]),
        (json!({ "hostname": "a.b" }), &["hostname"]),
        (json!({ "hostname": long }), &["hostname"]),
        (json!({ "subdomain": "S" }), &["subdomain"]),
        (json!({ "nodeName": "N 1" }), &["nodeName"]),
        (json!({ "hostnameOverride": "x", "hostNetwork": true }), &["hostnameOverride"]),
        // It is stored as 1.
        (json!({ "terminationGracePeriodSeconds": -1 }), &[]),
        (json!({ "activeDeadlineSeconds": 0 }), &["activeDeadlineSeconds"]),
        (json!({ "restartPolicy": "always" }), &["restartPolicy"]),
        (json!({ "dnsPolicy": "x" }), &["dnsPolicy"]),
        (json!({ "dnsPolicy": "None" }), &["dnsConfig"]),
        (json!({ "dnsPolicy": "None", "dnsConfig": { "nameservers": ["10.0.0.010"] } }), &["dnsConfig.nameservers[0]"]),
        (json!({ "nodeSelector": { "a b": "c", "d": "e f", "g": "h" } }), &["nodeSelector.a b", "nodeSelector.d"]),
        (
            json!({ "readinessGates": [{ "conditionType": "a/b" }, { "conditionType": "a b" }] }),
            &["readinessGates[1].conditionType"],
        ),
        (json!({ "schedulingGates": [{ "name": "a" }], "nodeName": "n" }), &["nodeName"]),
        (json!({ "tolerations": [{ "operator": "Exists" }, { "key": "a", "value": "b" }] }), &[]),
        (json!({ "tolerations": [{ "operator": "Equal" }] }), &["tolerations[0].operator"]),
        (json!({ "tolerations": [{ "key": "a", "operator": "Exists", "value": "b" }] }), &["tolerations[0].value"]),
        (json!({ "tolerations": [{ "key": "a", "effect": "x" }] }), &["tolerations[0].effect"]),
        (json!({ "tolerations": [{ "key": "a", "tolerationSeconds": 1 }] }), &["tolerations[0].effect"]),
        (
            json!({ "hostAliases": [{ "ip": "x", "hostnames": ["a", "B"] }] }),
            &["hostAliases[0].ip", "hostAliases[0].hostnames[1]"],
        ),
        (
            json!({ "volumes": [{ "name": "v", "emptyDir": {} }, { "name": "v", "emptyDir": {} }] }),
            &["volumes[1].name"],
        ),
        // It is an emptyDir.
        (json!({ "volumes": [{ "name": "v" }] }), &[]),
        (
            json!({ "volumes": [{ "name": "v", "emptyDir": {}, "hostPath": { "path": "/" } }] }),
            &["volumes[0].hostPath"],
        ),
        (
            json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "a", "operator": "In" }] }] } } } }),
            &[
                "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values",
            ],
        ),
    ] {
        assert_eq!(pod(&spec), want, "{spec}");
    }
}

/// The findings about a container with these fields, of a pod with a volume `v`.
fn container(more: &Value, host_network: bool) -> Vec<String> {
    let mut container = json!({ "name": "web", "image": "web" });
    container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let volumes = json!([{ "name": "v", "emptyDir": {} }]);
    let found = pod(&json!({ "containers": [container], "volumes": volumes, "hostNetwork": host_network }));
    found.iter().map(|field| field.strip_prefix("containers[0].").unwrap().to_owned()).collect()
}

#[test]
fn containers_are_those_of_an_api_server() {
    for (fields, want) in [
        (json!({ "image": "" }), &["image"][..]),
        (json!({ "image": " web" }), &["image"]),
        (json!({ "name": "C" }), &["name"]),
        (json!({ "imagePullPolicy": "always" }), &["imagePullPolicy"]),
        (json!({ "readinessProbe": {} }), &["readinessProbe"]),
        (
            json!({ "readinessProbe": { "tcpSocket": { "port": 80 }, "exec": { "command": ["a"] } } }),
            &["readinessProbe.tcpSocket"],
        ),
        (json!({ "readinessProbe": { "exec": {} } }), &["readinessProbe.exec.command"]),
        (json!({ "readinessProbe": { "httpGet": { "port": 0 } } }), &["readinessProbe.httpGet.port"]),
        (json!({ "readinessProbe": { "httpGet": { "port": "No_" } } }), &["readinessProbe.httpGet.port"]),
        (
            json!({ "readinessProbe": { "httpGet": { "port": "http" }, "periodSeconds": -1 } }),
            &["readinessProbe.periodSeconds"],
        ),
        (
            json!({ "livenessProbe": { "grpc": { "port": 80 }, "successThreshold": 2 } }),
            &["livenessProbe.successThreshold"],
        ),
        (json!({ "lifecycle": { "preStop": { "sleep": { "seconds": 31 } } } }), &["lifecycle.preStop.sleep.seconds"]),
        (json!({ "volumeMounts": [{ "name": "v", "mountPath": "/a" }] }), &[]),
        (json!({ "volumeMounts": [{ "name": "w", "mountPath": "/a" }] }), &["volumeMounts[0].name"]),
        (
            json!({ "volumeMounts": [{ "name": "v", "mountPath": "/a", "subPath": "../b" }] }),
            &["volumeMounts[0].subPath"],
        ),
        (json!({ "env": [{ "name": "A B" }, { "name": "A=B" }, { "name": "" }] }), &["env[1].name", "env[2].name"]),
        (
            json!({ "env": [{ "name": "A", "value": "x", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }] }),
            &["env[0].valueFrom"],
        ),
        (
            json!({ "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.labels['a']" } } }] }),
            &[],
        ),
        (
            json!({ "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "spec.hostname" } } }] }),
            &["env[0].valueFrom.fieldRef.fieldPath"],
        ),
        (json!({ "envFrom": [{ "prefix": "A" }] }), &["envFrom[0]"]),
        (json!({ "resources": { "requests": { "cpu": "abc" } } }), &["resources.requests.cpu"]),
        (json!({ "resources": { "requests": { "cpu": "2" }, "limits": { "cpu": 1 } } }), &["resources.requests.cpu"]),
        (json!({ "resources": { "requests": { "cpu": "500m" }, "limits": { "cpu": 0.5 } } }), &[]),
        (
            json!({ "resources": { "requests": { "foo": 1 }, "limits": { "foo": 1 } } }),
            &["resources.limits.foo", "resources.requests.foo"],
        ),
    ] {
        assert_eq!(container(&fields, false), want, "{fields}");
    }
}

#[test]
fn ports_of_the_host_are_those_of_an_api_server() {
    let port = |number: i64, host: i64, protocol: &str| json!({ "containerPort": number, "hostPort": host, "protocol": protocol });
    for (ports, host_network, want) in [
        ([port(80, 80, "TCP"), port(80, 80, "UDP")], true, &[][..]),
        ([port(80, 0, "TCP"), port(81, 0, "")], true, &[]),
        ([port(80, 0, "TCP"), port(80, 0, "")], true, &["ports[1].hostPort"]),
        ([port(80, 0, "TCP"), port(80, 0, "")], false, &[]),
        ([port(80, 8080, ""), port(81, 8080, "TCP")], false, &["ports[1].hostPort"]),
        ([port(80, 8080, ""), port(81, 0, "")], true, &["ports[0].hostPort"]),
    ] {
        assert_eq!(container(&json!({ "ports": ports }), host_network), want, "{ports:?} {host_network}");
    }
}

#[test]
fn init_containers_have_probes_only_if_they_keep_running() {
    let probe = json!({ "tcpSocket": { "port": 80 } });
    for (policy, want) in [(Value::Null, &["initContainers[0].readinessProbe"][..]), (json!("Always"), &[])] {
        let init = json!({ "name": "i", "image": "i", "restartPolicy": policy, "readinessProbe": probe });
        assert_eq!(pod(&json!({ "initContainers": [init] })), want, "{policy}");
    }
}

#[test]
fn templates_are_checked_as_pods_are() {
    let template = |mount: &str| {
        let container =
            json!({ "name": "web", "image": "web", "volumeMounts": [{ "name": mount, "mountPath": "/data" }] });
        json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [container] } })
    };
    let claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    let claims = json!([{ "metadata": { "name": "data" }, "spec": claim }]);
    let missing = "spec.template.spec.containers[0].volumeMounts[0].name";
    for (kind, mount, want) in
        [("StatefulSet", "data", &[][..]), ("StatefulSet", "date", &[missing]), ("Deployment", "data", &[missing])]
    {
        let mut spec = json!({ "selector": { "matchLabels": { "app": "web" } }, "template": template(mount) });
        if kind == "StatefulSet" {
            spec["serviceName"] = "web".into();
            spec["volumeClaimTemplates"] = claims.clone();
        }
        assert_eq!(fields(&object("apps/v1", kind, json!({ "spec": spec }))), want, "{kind} {mount}");
    }
}
