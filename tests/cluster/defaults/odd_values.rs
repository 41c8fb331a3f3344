//! Fields of manifests with values that people get wrong. Some of the values are allowed.

use serde_json::{Value, json};

use crate::{fields_of_manifests::cases::set, parity::rng::Rng};

/// Puts one or two odd values into a manifest.
pub(super) fn make_odd(object: &mut Value, rng: &mut Rng) {
    for _ in 0..rng.between(1, 2) {
        let of_kind = match object["kind"].as_str().unwrap() {
            "Service" => service(),
            "Pod" => pod(),
            "Endpoints" => endpoints(),
            _ => slice(),
        };
        let all: Vec<_> = of_kind.into_iter().chain(metadata()).collect();
        let (pointer, values) = &all[rng.below(all.len())];
        set(object, pointer, values[rng.below(values.len())].clone());
    }
}

/// Pointers to fields, and values for each.
pub(super) type Values = Vec<(&'static str, Vec<Value>)>;

/// Texts at the limits of the rules for names.
pub(super) fn names() -> Vec<Value> {
    let long = ["x".repeat(63), "x".repeat(64), "x".repeat(254)].map(Value::from);
    let short = ["a", "a.b", "A", "", "a_b", "-a", "a-", "9", " a"].map(Value::from);
    short.into_iter().chain(long).collect()
}

pub(super) fn metadata() -> Values {
    let owner = |version: &str, name: &str, uid: &str| json!({ "apiVersion": version, "kind": "ReplicaSet", "name": name, "uid": uid, "controller": true });
    vec![
        (
            "/metadata/ownerReferences",
            vec![
                json!([owner("apps/v1", "web", "1")]),
                json!([owner("apps/v1", "web", "")]),
                json!([owner("apps/v1", "", "1")]),
                json!([owner("", "web", "1")]),
                json!([owner("apps/", "web", "1")]),
                json!([owner("v1", "web", "1"), owner("v1", "web", "2")]),
            ],
        ),
        (
            "/metadata/finalizers",
            [
                &["kubernetes"][..],
                &["orphan"],
                &["example.com/x"],
                &["x"],
                &["a b"],
                &[""],
                &["orphan", "foregroundDeletion"],
            ]
            .map(|names| json!(names))
            .to_vec(),
        ),
        ("/metadata/generateName", ["web-", "-", "a.", "Web-", "web", "a.b-"].map(Value::from).to_vec()),
        ("/metadata/name", names()),
        ("/metadata/labels/app", vec![json!("a b"), json!("-a"), json!("x".repeat(64)), json!("A_1.b"), json!(1)]),
        ("/metadata/labels/a b", vec![json!("x")]),
        ("/metadata/annotations/A.b", vec![json!("any text"), json!(true)]),
        ("/metadata/annotations/a~b", vec![json!("x")]),
        ("/metadata/namespace", vec![json!("default"), json!("")]),
    ]
}

fn service() -> Values {
    vec![
        ("/spec/type", vec![json!("clusterip"), json!("ExternalName")]),
        ("/spec/externalName", vec![json!("Example.org"), json!("example.org"), json!("")]),
        ("/spec/clusterIP", vec![json!("none"), json!("10.96.0.300"), json!("010.96.0.1")]),
        ("/spec/externalIPs", vec![json!(["127.0.0.1"]), json!(["x"]), json!(["203.0.113.5"])]),
        ("/spec/sessionAffinity", vec![json!("clientip")]),
        ("/spec/sessionAffinityConfig", vec![json!({ "clientIP": { "timeoutSeconds": 0 } })]),
        ("/spec/loadBalancerClass", vec![json!("a/b"), json!("")]),
        ("/spec/healthCheckNodePort", vec![json!(30_001), json!(0)]),
        ("/spec/selector/a b", vec![json!("x")]),
        ("/spec/ports/0/name", names()),
        ("/spec/ports/0/protocol", vec![json!("tcp"), json!("HTTP")]),
        ("/spec/ports/0/targetPort", vec![json!("a--b"), json!("UPPER"), json!(-1), json!("x".repeat(16))]),
        ("/spec/ports/0/appProtocol", vec![json!("a/b/c"), json!("h2")]),
    ]
}

fn endpoints() -> Values {
    vec![
        ("/subsets/0/addresses/0/ip", addresses()),
        ("/subsets/0/notReadyAddresses/0/ip", addresses()),
        ("/subsets/0/addresses/0/hostname", names()),
        ("/subsets/0/addresses/0/nodeName", names()),
        ("/subsets/0/addresses/0/targetRef", vec![json!({}), json!({ "kind": "Pod" })]),
        ("/subsets/0/addresses", vec![json!([]), Value::Null]),
        ("/subsets/0/ports/0/name", names()),
        ("/subsets/0/ports/0/port", vec![json!(0), json!(-1), json!(65_536), json!("80"), Value::Null]),
        ("/subsets/0/ports/1", vec![json!({ "port": 81 }), json!({ "port": 81, "name": "p0" })]),
        ("/subsets/0/ports/0/protocol", vec![json!("tcp"), json!("")]),
        ("/subsets/0/ports/0/appProtocol", vec![json!("a/b/c"), json!(""), json!("h2")]),
    ]
}

fn addresses() -> Vec<Value> {
    [
        "10.0.0.1",
        "010.0.0.1",
        "127.0.0.1",
        "169.254.0.1",
        "224.0.0.1",
        "239.0.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "10.0.0",
        "x",
        "",
        "fd00::1",
        "FD00::1",
        "fd00:0::1",
        "fd00::0001",
        "::1",
        "::",
        "fe80::1",
        "ff02::1",
        "ff05::1",
        "::ffff:10.0.0.1",
        "fd00::1%eth0",
        "10.0.0.1/24",
    ]
    .map(Value::from)
    .to_vec()
}

fn slice() -> Values {
    let many = |count: usize| json!((0..count).map(|i| format!("10.1.0.{i}")).collect::<Vec<_>>());
    let hints = |count: usize| json!((0..count).map(|i| json!({ "name": format!("z{i}") })).collect::<Vec<_>>());
    vec![
        ("/addressType", vec![json!("IPv4"), json!("IPv6"), json!("FQDN"), json!("ipv6"), json!(""), Value::Null]),
        ("/endpoints/0/addresses/0", addresses()),
        ("/endpoints/0/addresses/0", ["a.b", "a.b.", "a", "A.b", "a..b"].map(Value::from).to_vec()),
        ("/endpoints/0/addresses", vec![json!([]), many(100), many(101), Value::Null]),
        ("/endpoints/0/hostname", names()),
        ("/endpoints/0/nodeName", names()),
        ("/endpoints/0/zone", names()),
        ("/endpoints/0/hints/forZones", vec![hints(8), hints(9), json!([]), json!([{ "name": "" }, { "name": "" }])]),
        ("/endpoints/0/hints/forZones/0/name", names()),
        ("/endpoints/0/hints/forNodes", vec![hints(8), hints(9), json!([{ "name": "n" }, { "name": "n" }])]),
        ("/endpoints/0/hints/forNodes/0/name", names()),
        ("/endpoints/0/deprecatedTopology", vec![json!({ "kubernetes.io/hostname": "n" }), json!({ "a b": "c d" })]),
        ("/ports/0/name", names()),
        ("/ports/0/port", vec![json!(0), json!(-1), json!(65_536), json!("80"), Value::Null]),
        ("/ports/1", vec![json!({ "port": 81 }), json!({ "port": 81, "name": "p0" })]),
        ("/ports/0/protocol", vec![json!("tcp"), json!("")]),
        ("/ports/0/appProtocol", vec![json!("a/b/c"), json!(""), json!("h2")]),
    ]
}

fn pod() -> Values {
    let mut all = spec_of_pod();
    all.extend(scheduling_of_pod());
    all.extend(volumes_of_pod());
    all.extend(container());
    all
}

fn spec_of_pod() -> Values {
    vec![
        ("/spec/hostname", names()),
        ("/spec/subdomain", names()),
        ("/spec/nodeName", names()),
        ("/spec/hostnameOverride", names()),
        ("/spec/serviceAccountName", names()),
        ("/spec/restartPolicy", vec![json!("always"), json!("OnFailure")]),
        ("/spec/dnsPolicy", vec![json!("None"), json!("Default"), json!("x"), json!("")]),
        (
            "/spec/dnsConfig",
            vec![
                json!({ "nameservers": ["10.0.0.10"], "searches": ["a_b.c.", "."], "options": [{ "name": "ndots" }] }),
                json!({ "nameservers": ["10.0.0.10", "x"] }),
                json!({ "nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"] }),
                json!({ "searches": ["A"] }),
                json!({ "options": [{ "value": "x" }] }),
            ],
        ),
        ("/spec/hostAliases", vec![json!([{ "ip": "x" }]), json!([{ "ip": "127.0.0.1", "hostnames": ["a", "B"] }])]),
        ("/spec/readinessGates/0/conditionType", vec![json!("a/b"), json!("a b"), json!("")]),
        (
            "/spec/schedulingGates",
            vec![json!([{ "name": "a b" }]), json!([{ "name": "a" }]), json!([{ "name": "a" }, { "name": "a" }])],
        ),
        ("/spec/terminationGracePeriodSeconds", vec![json!(-1), json!(0), json!("5")]),
        ("/spec/activeDeadlineSeconds", vec![json!(0), json!(1)]),
        ("/spec/shareProcessNamespace", vec![json!(true)]),
        ("/spec/hostPID", vec![json!(true)]),
        ("/spec/hostUsers", vec![json!(false)]),
        ("/spec/securityContext/runAsUser", vec![json!(-1), json!(1000)]),
        ("/spec/imagePullSecrets", vec![json!([{ "name": "a" }])]),
        ("/spec/containers", vec![json!([]), Value::Null]),
    ]
}

fn scheduling_of_pod() -> Values {
    let expression = |key: &str, operator: &str, values: Value| {
        let expression = json!({ "key": key, "operator": operator, "values": values });
        let terms = json!({ "nodeSelectorTerms": [{ "matchExpressions": [expression] }] });
        json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": terms } })
    };
    let pods = |weight: i64, key: &str| {
        let term = json!({ "weight": weight, "podAffinityTerm": { "topologyKey": key } });
        json!({ "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [term] } })
    };
    let spread = |skew: i64, action: &str, domains: Value| json!([{ "maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": action, "minDomains": domains }]);
    vec![
        ("/spec/nodeSelector", vec![json!({ "a": "b" }), json!({ "a b": "c" }), json!({ "a": "x y" })]),
        (
            "/spec/tolerations/0",
            vec![
                json!({ "operator": "Exists" }),
                json!({ "operator": "Equal" }),
                json!({ "key": "a", "operator": "Exists", "value": "b" }),
                json!({ "key": "a", "value": "b c" }),
                json!({ "key": "a b" }),
                json!({ "key": "a", "effect": "x" }),
                json!({ "key": "a", "operator": "Foo" }),
                json!({ "key": "a", "tolerationSeconds": 5 }),
            ],
        ),
        (
            "/spec/affinity",
            vec![
                expression("a", "In", json!(["b"])),
                expression("a", "In", json!([])),
                expression("a", "Exists", json!(["b"])),
                expression("a", "Gt", json!(["1", "2"])),
                expression("a b", "Exists", Value::Null),
                expression("a", "in", json!(["b"])),
                expression("a", "In", json!(["b c"])),
                json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [] } } }),
                pods(1, "zone"),
                pods(0, "zone"),
                pods(101, "zone"),
                pods(1, ""),
            ],
        ),
        (
            "/spec/topologySpreadConstraints",
            vec![
                spread(1, "DoNotSchedule", json!(2)),
                spread(0, "DoNotSchedule", Value::Null),
                spread(1, "ScheduleAnyway", json!(2)),
                spread(1, "x", Value::Null),
                json!([{ "maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule" }]),
            ],
        ),
    ]
}

fn volumes_of_pod() -> Values {
    let mount =
        |name: &str, path: &str, sub_path: &str| json!({ "name": name, "mountPath": path, "subPath": sub_path });
    let volumes = json!([{ "name": "v", "emptyDir": {} }]);
    vec![
        (
            "/spec/volumes",
            vec![
                volumes,
                json!([{ "name": "v" }]),
                json!([{ "emptyDir": {} }]),
                json!([{ "name": "V", "emptyDir": {} }]),
                json!([{ "name": "v", "emptyDir": {} }, { "name": "v", "emptyDir": {} }]),
                json!([{ "name": "v", "emptyDir": {}, "hostPath": { "path": "/" } }]),
                json!([{ "name": "v", "hostPath": { "path": "/a/../b" } }]),
                json!([{ "name": "v", "hostPath": { "path": "/a", "type": "x" } }]),
                json!([{ "name": "v", "secret": {} }]),
                json!([{ "name": "v", "configMap": { "name": "c", "items": [{ "key": "k", "path": "/a" }] } }]),
                json!([{ "name": "v", "configMap": { "name": "c", "defaultMode": 0o1000 } }]),
                json!([{ "name": "v", "persistentVolumeClaim": { "claimName": "" } }]),
            ],
        ),
        (
            "/spec/containers/0/volumeMounts",
            vec![
                json!([mount("v", "/a", "")]),
                json!([mount("v", "/a", "../b")]),
                json!([mount("v", "/a", "/b")]),
                json!([mount("v", "", "")]),
                json!([mount("v", "/a", ""), mount("v", "/a", "b")]),
            ],
        ),
    ]
}

fn container() -> Values {
    let from = |source: Value| json!([{ "name": "A", "valueFrom": source }]);
    vec![
        ("/spec/containers/0/name", names()),
        ("/spec/containers/0/image", vec![json!(""), Value::Null, json!(" web"), json!("web")]),
        ("/spec/containers/0/imagePullPolicy", vec![json!("always"), json!("Never"), json!("")]),
        ("/spec/containers/0/terminationMessagePolicy", vec![json!("x"), json!("")]),
        ("/spec/containers/0/restartPolicy", vec![json!("Never"), json!("x")]),
        (
            "/spec/containers/0/env",
            vec![
                json!([{ "name": "A", "value": "b" }]),
                json!([{ "name": "A B" }]),
                json!([{ "name": "A=B" }]),
                json!([{ "name": "" }]),
                json!([{ "name": "Ä" }]),
                json!([{ "name": "A", "value": "x", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }]),
                from(json!({})),
                from(json!({ "fieldRef": { "fieldPath": "metadata.labels['a']" } })),
                from(json!({ "fieldRef": { "fieldPath": "metadata.labels['a b']" } })),
                from(json!({ "fieldRef": { "fieldPath": "spec.hostname" } })),
                from(json!({ "resourceFieldRef": { "resource": "limits.cpu" } })),
                from(json!({ "resourceFieldRef": { "resource": "cpu" } })),
                from(json!({ "secretKeyRef": { "name": "a", "key": "b/c" } })),
                from(json!({ "configMapKeyRef": { "name": "a", "key": "b" } })),
                from(
                    json!({ "secretKeyRef": { "name": "a", "key": "b" }, "fieldRef": { "fieldPath": "metadata.name" } }),
                ),
            ],
        ),
        ("/spec/containers/0/envFrom", vec![json!([{}]), json!([{ "configMapRef": { "name": "a" } }])]),
        ("/spec/containers/0/readinessProbe", probes()),
        ("/spec/containers/0/livenessProbe", probes()),
        ("/spec/initContainers/0/readinessProbe", probes()),
        ("/spec/initContainers/0/restartPolicy", vec![json!("Never"), json!("x"), json!("")]),
        (
            "/spec/containers/0/lifecycle",
            vec![
                json!({ "preStop": { "sleep": { "seconds": 5 } } }),
                json!({ "preStop": { "sleep": { "seconds": 50 } } }),
                json!({ "preStop": {} }),
                json!({ "stopSignal": "SIGTERM" }),
            ],
        ),
        (
            "/spec/containers/0/resources",
            vec![
                json!({ "requests": { "cpu": "2" }, "limits": { "cpu": "1" } }),
                json!({ "requests": { "cpu": "500m" }, "limits": { "cpu": 0.5 } }),
                json!({ "requests": { "cpu": "abc" } }),
                json!({ "requests": { "cpu": "" } }),
                json!({ "requests": { "cpu": "-1" } }),
                json!({ "requests": { "memory": "1gi" } }),
                json!({ "limits": { "memory": "1e3" } }),
                json!({ "limits": { "foo": 1 } }),
                json!({ "requests": { "example.org/gpu": 1 } }),
                json!({ "limits": { "example.org/gpu": "500m" } }),
                json!({ "limits": { "hugepages-2Mi": "2Mi" } }),
                json!({ "limits": { "hugepages-2Mi": "2Mi", "cpu": 1 } }),
            ],
        ),
        (
            "/spec/containers/0/securityContext",
            vec![json!({ "privileged": true, "allowPrivilegeEscalation": false }), json!({ "runAsUser": -1 })],
        ),
        ("/spec/containers/0/ports/0/hostPort", vec![json!(80), json!(70_000), json!(-1)]),
        ("/spec/containers/0/ports/0/hostIP", vec![json!("127.0.0.1"), json!("x"), json!("")]),
        ("/spec/containers/0/ports/0/name", names()),
        ("/spec/containers/0/ports/0/protocol", vec![json!("tcp"), json!("")]),
        ("/spec/containers/0/ports/0/containerPort", vec![json!(0), json!("80"), Value::Null]),
    ]
}

fn probes() -> Vec<Value> {
    vec![
        json!({ "httpGet": { "path": "/", "port": 80 } }),
        json!({ "httpGet": { "port": "http" } }),
        json!({ "httpGet": { "port": "No_" } }),
        json!({ "httpGet": { "port": 0 } }),
        json!({ "httpGet": { "port": 80, "scheme": "http" } }),
        json!({ "httpGet": { "port": 80, "httpHeaders": [{ "name": "a b", "value": "" }] } }),
        json!({ "tcpSocket": { "port": 80 }, "exec": { "command": ["a"] } }),
        json!({ "exec": {} }),
        json!({ "grpc": { "port": 70_000 } }),
        json!({ "tcpSocket": { "port": 80 }, "periodSeconds": -1 }),
        json!({ "tcpSocket": { "port": 80 }, "successThreshold": 2 }),
        json!({ "tcpSocket": { "port": 80 }, "terminationGracePeriodSeconds": 0 }),
        json!({}),
    ]
}
