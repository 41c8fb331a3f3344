//! `roster lint`: values, types and objects that an API server refuses, and objects that contradict each other.

use std::path::Path;

use serde_json::Value;

use super::{
    Ran,
    lint::{DEPLOYMENT, directory, findings, lint, service},
    roster, roster_with,
};

/// As kube-apiserver 1.37 answers a dry run: what it stores is not an error, and what it refuses is one.
#[test]
fn values_of_services_are_those_of_an_api_server() {
    for (spec, want) in [
        ("ipFamilyPolicy: SingleStack, ipFamilies: [IPv4, IPv6]", "spec.ipFamilyPolicy"),
        ("ipFamilies: [IPv4, IPv6]", "spec.ipFamilies"),
        ("ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv4]", "spec.ipFamilies[1]"),
        ("ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv6]", ""),
        ("ipFamilyPolicy: ''", "spec.ipFamilyPolicy"),
        ("clusterIP: 10.96.0.50, clusterIPs: [10.96.0.51]", "spec.clusterIPs"),
        ("clusterIPs: [10.96.0.51]", "spec.clusterIPs"),
        ("clusterIP: None, clusterIPs: [None]", ""),
        ("clusterIP: 10.96.0.50, ipFamilies: [IPv6]", "spec.clusterIP"),
        ("type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0]", "spec.loadBalancerSourceRanges[0]"),
        ("type: LoadBalancer, loadBalancerSourceRanges: [' 10.0.0.0/8 ']", ""),
        ("loadBalancerSourceRanges: [10.0.0.0/8]", "spec.loadBalancerSourceRanges"),
        ("type: LoadBalancer, loadBalancerClass: a b", "spec.loadBalancerClass"),
        ("externalIPs: [1.2.3]", "spec.externalIPs[0]"),
        ("externalIPs: [127.0.0.1]", "spec.externalIPs[0]"),
        ("trafficDistribution: PreferLocal", "spec.trafficDistribution"),
        ("trafficDistribution: PreferSameNode", ""),
        ("internalTrafficPolicy: ''", "spec.internalTrafficPolicy"),
        (
            "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 100000}}",
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        ),
        ("sessionAffinity: ClientIP, sessionAffinityConfig: {}", ""),
        ("sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}", ""),
        ("type: ExternalName, externalName: a.b, clusterIP: None", "spec.clusterIP"),
        ("ports: [{port: 80, appProtocol: http 2}]", "spec.ports[0].appProtocol"),
        ("ports: [{port: 80, appProtocol: kubernetes.io/h2c}]", ""),
        ("ports: [{port: 80, targetPort: 70000}]", "spec.ports[0].targetPort"),
        ("ports: [{name: x}]", "spec.ports[0].port"),
    ] {
        let ports = if spec.contains("ports:") { "" } else { "ports: [{port: 80}], " };
        let text = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{selector: {{a: b}}, {ports}{spec}}}\n"
        );
        let ran = roster_with(&["lint", "-", "-o", "json"], &[], &text);
        assert_eq!(error_fields(&ran), [want].iter().filter(|w| !w.is_empty()).copied().collect::<Vec<_>>(), "{spec}");
    }
}

/// The fields of all errors.
fn error_fields(ran: &Ran) -> Vec<String> {
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    let items = document["items"].as_array().unwrap().iter().filter(|f| f["severity"] == "error");
    items.map(|f| f["field"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn values_of_workloads_are_those_of_an_api_server() {
    let template = "template: {metadata: {labels: {a: b}}, spec: {POD}}";
    let container = "containers: [{name: c, image: i, ports: [{containerPort: 80}]}]";
    let workload = |kind: &str, spec: &str, pod: &str| {
        let pod = if pod.is_empty() { container.to_owned() } else { pod.to_owned() };
        let template = template.replace("POD", &pod);
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\nspec: {{selector: {{matchLabels: {{a: b}}}}, {template}{spec}}}\n"
        )
    };
    let deployment = |spec: &str| workload("Deployment", spec, "");
    let pod = |pod: &str| workload("Deployment", "", pod);
    let cron_job = |name: &str, spec: &str| {
        let job = "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";
        format!("apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\nspec: {{{job}, {spec}}}\n")
    };
    let scaler = |spec: &str| {
        let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w}";
        format!(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: w}}\nspec: {{{target}, {spec}}}\n"
        )
    };
    let namespace = |name: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
    let host = |port: &str| pod(&format!("hostNetwork: true, containers: [{{name: c, image: i, ports: [{port}]}}]"));
    let probe = |probe: &str| pod(&format!("containers: [{{name: c, image: i, readinessProbe: {{{probe}}}}}]"));
    for (text, want) in [
        (deployment(""), ""),
        (deployment(", strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"), "spec.strategy.rollingUpdate"),
        (deployment(", strategy: {type: Recreate, rollingUpdate: null}"), ""),
        (deployment(", strategy: {type: Rolling}"), "spec.strategy.type"),
        (
            deployment(", strategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 0}}"),
            "spec.strategy.rollingUpdate.maxUnavailable",
        ),
        (deployment(", strategy: {rollingUpdate: {maxUnavailable: 0}}"), ""),
        (deployment(", strategy: {rollingUpdate: {maxSurge: 150%}}"), ""),
        (
            deployment(", strategy: {rollingUpdate: {maxUnavailable: 101%}}"),
            "spec.strategy.rollingUpdate.maxUnavailable",
        ),
        (deployment(", minReadySeconds: 600"), "spec.progressDeadlineSeconds"),
        (workload("DaemonSet", ", updateStrategy: {type: Recreate}", ""), "spec.updateStrategy.type"),
        (
            workload("DaemonSet", ", updateStrategy: {rollingUpdate: {maxSurge: 1}}", ""),
            "spec.updateStrategy.rollingUpdate.maxSurge",
        ),
        (workload("StatefulSet", ", serviceName: w, podManagementPolicy: parallel", ""), "spec.podManagementPolicy"),
        (host("{containerPort: 80, hostPort: 81}"), "spec.template.spec.containers[0].ports[0].hostPort"),
        (host("{containerPort: 80, hostPort: 80}"), ""),
        (pod("containers: [{name: c}]"), "spec.template.spec.containers[0].image"),
        (pod("dnsPolicy: clusterFirst, containers: [{name: c, image: i}]"), "spec.template.spec.dnsPolicy"),
        (pod("restartPolicy: OnFailure, containers: [{name: c, image: i}]"), "spec.template.spec.restartPolicy"),
        (deployment("").replace(&format!(", spec: {{{container}}}"), ""), "spec.template.spec"),
        (probe("periodSeconds: 1"), "spec.template.spec.containers[0].readinessProbe"),
        (probe("httpGet: {port: 0}"), "spec.template.spec.containers[0].readinessProbe.httpGet.port"),
        (probe("httpGet: {port: HTTP}"), "spec.template.spec.containers[0].readinessProbe.httpGet.port"),
        (probe("httpGet: {port: 80}"), ""),
        (cron_job(&"a".repeat(52), "schedule: '@daily'"), ""),
        (cron_job(&"a".repeat(53), "schedule: '@daily'"), "metadata.name"),
        (cron_job("w", "schedule: every day"), "spec.schedule"),
        (cron_job("w", "schedule: '@daily', concurrencyPolicy: forbid"), "spec.concurrencyPolicy"),
        (scaler("minReplicas: 5, maxReplicas: 3"), "spec.maxReplicas"),
        (scaler("maxReplicas: 3"), ""),
        (namespace("Bad_NS"), "metadata.name"),
    ] {
        let ran = roster_with(&["lint", "-", "-o", "json"], &[], &text);
        assert_eq!(error_fields(&ran), [want].iter().filter(|w| !w.is_empty()).copied().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn types_that_kubernetes_does_not_have_are_found() {
    let object = |meta: &str| format!("{meta}\nmetadata: {{name: x}}\nspec: {{ports: [{{port: 80}}]}}\n");
    for (meta, want, others) in [
        ("apiVersion: v1\nkind: Service", &[][..], 0),
        ("apiVersion: apps/v1\nkind: Service", &["error unknown-kind did you mean v1 Service?"], 0),
        ("apiVersion: v1\nkind: service", &["error unknown-kind did you mean v1 Service?"], 0),
        ("apiVersion: v1\nkind: Servise", &["error unknown-kind did you mean v1 Service?"], 0),
        ("apiVersion: v1\nkind: Deployment", &["error unknown-kind did you mean apps/v1 Deployment?"], 0),
        ("apiVersion: apps/v1beta1\nkind: Deployment", &["error unknown-kind did you mean apps/v1 Deployment?"], 0),
        (
            "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler",
            &["error unknown-kind did you mean autoscaling/v2 HorizontalPodAutoscaler?"],
            0,
        ),
        ("kind: Service", &["error missing-field did you mean v1?"], 0),
        ("kind: Servise", &["error unknown-kind did you mean v1 Service?"], 0),
        // Other programs have files with a kind as well.
        ("kind: Foo", &[], 1),
        (
            "apiVersion: networking.k8s.io/v1\nkind: Ingres",
            &["error unknown-kind did you mean networking.k8s.io/v1 Ingress?"],
            0,
        ),
        (
            "apiVersion: networkin.k8s.io/v1\nkind: Ingress",
            &["error unknown-kind did you mean networking.k8s.io/v1 Ingress?"],
            0,
        ),
        (
            "apiVersion: batch/v1\nkind: Foo",
            &["error unknown-kind Kubernetes 1.37 has no kind \"Foo\" in \"batch/v1\""],
            0,
        ),
        // As kubectl does: what has items is a list, whatever it is called.
        ("apiVersion: v1\nkind: ServicesList\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]", &[], 1),
        ("apiVersion: v1\nkind: Foo", &["info unknown-kind Kubernetes 1.37 has no kind \"Foo\" in \"v1\""], 1),
        // `OpenShift` served it there.
        ("apiVersion: v1\nkind: Route", &[], 1),
        ("apiVersion: v1\nkind: ConfigMap", &[], 1),
        ("apiVersion: serving.knative.dev/v1\nkind: Service", &[], 1),
        ("apiVersion: skaffold/v4beta1\nkind: Config", &[], 1),
    ] {
        let ran = roster_with(&["lint", "-", "-o", "json"], &[], &object(meta));
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let text = |f: &Value| {
            let message = f["message"].as_str().unwrap();
            let message = message.split_once("; ").map_or(message, |(_, rest)| rest);
            format!("{} {} {message}", f["severity"].as_str().unwrap(), f["code"].as_str().unwrap())
        };
        let found: Vec<String> = document["items"].as_array().unwrap().iter().map(text).collect();
        assert_eq!(
            (found, document["summary"]["otherKinds"].as_u64().unwrap_or_default()),
            (want.iter().map(ToString::to_string).collect(), others),
            "{meta}"
        );
    }
    let ran = roster_with(
        &["lint", "-"],
        &[],
        "apiVersion: v1\nkind: List\nitem: []\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
    );
    assert!(
        ran.out.contains("did you mean items?")
            && ran.out.ends_with("; not checked: 1 object of other kinds (Secret)\n"),
        "{}",
        ran.out
    );
}

#[test]
fn kinds_that_are_not_checked_are_named() {
    let many: Vec<String> = (0..10).map(|i| format!("example.com/v1 Kind{i}")).collect();
    for (metas, want) in [
        (vec!["v1 Service"], "1 document: 0 errors, 0 warnings"),
        (
            vec!["v1 Secret", "v1 ConfigMap", "v1 ConfigMap"],
            "3 documents: 0 errors, 0 warnings; not checked: 3 objects of other kinds (ConfigMap, Secret)",
        ),
        (
            vec!["serving.knative.dev/v1 Service"],
            "1 document: 0 errors, 0 warnings; not checked: 1 object of other kinds (Service of serving.knative.dev)",
        ),
        (
            many.iter().map(String::as_str).collect(),
            "not checked: 10 objects of other kinds (Kind0 of example.com, Kind1 of example.com, Kind2 of example.com, Kind3 of example.com, Kind4 of example.com, Kind5 of example.com, Kind6 of example.com, Kind7 of example.com, and 2 more kinds)",
        ),
    ] {
        let documents = metas.iter().enumerate().map(|(i, meta)| {
            let (api_version, kind) = meta.split_once(' ').unwrap();
            let spec = "spec: {clusterIP: None, ports: [{port: 80}]}";
            format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a{i}}}\n{spec}\n")
        });
        let ran = roster_with(&["lint", "-"], &[], &documents.collect::<Vec<_>>().join("---\n"));
        let summary = ran.out.lines().last().unwrap_or_default().split(" (1 info").next().unwrap_or_default();
        assert!(summary.ends_with(want), "{metas:?}: {summary}");
    }
}

/// A fault in one field hides none in another, and has one code.
#[test]
fn every_wrong_field_of_an_object_is_found() {
    let text = service("web", "{port: '80', name: a}\n  - {port: 70000, name: b}\n  - {name: c}");
    let ran = roster_with(&["lint", "-", "-o", "json"], &[], &text);
    let want = ["<stdin>:9 error wrong-type", "<stdin>:10 error invalid-port", "<stdin>:11 error missing-field"];
    assert_eq!(findings(&ran, Path::new("")), want);
}

/// Of objects with one name, the last one counts.
#[test]
fn repeated_objects_are_found_and_not_compared() {
    let (wrong, right) = (service("wbe", "port: 80"), service("web", "port: 80"));
    let folder = directory(&[("a.yaml", &format!("{wrong}---\n{right}")), ("w.yaml", DEPLOYMENT)]);
    let ran = lint(folder.path(), &[]);
    let line = wrong.lines().count() + 2;
    let want = ["a.yaml:7 warning selector-matches-no-template", &format!("a.yaml:{line} warning duplicate-object")];
    assert_eq!(findings(&ran, folder.path()), want, "{}", ran.out);
    assert!(ran.out.contains("a.yaml:1; the last one counts"), "{}", ran.out);
    // In two files, these are versions, of which each is judged by itself.
    let folder = directory(&[("a.yaml", &wrong), ("b.yaml", &right), ("w.yaml", DEPLOYMENT)]);
    let ran = lint(folder.path(), &[]);
    assert_eq!(findings(&ran, folder.path()), ["a.yaml:7 warning selector-matches-no-template"], "{}", ran.out);
    assert!(ran.out.contains("b.yaml is also in "), "{}", ran.out);
    let other_group = service("web", "port: 80").replace("apiVersion: v1", "apiVersion: serving.knative.dev/v1");
    let folder =
        directory(&[("a.yaml", &other_group), ("b.yaml", &service("web", "port: 80")), ("w.yaml", DEPLOYMENT)]);
    assert_eq!(findings(&lint(folder.path(), &[]), folder.path()), [""; 0]);
}

#[test]
fn what_only_one_service_can_have_is_given_once() {
    let by = |name: &str, spec: &str| {
        service("web", &format!("port: 80\n{spec}")).replace("name: web", &format!("name: {name}"))
    };
    let node_port = |name: &str, protocol: &str| {
        by(name, &format!("    nodePort: 30080\n    protocol: {protocol}\n  type: NodePort"))
    };
    for (first, second, want) in [
        (by("a", "  clusterIP: 10.96.0.9"), by("b", "  clusterIP: 10.96.0.9"), &["b.yaml:10 error invalid-value"][..]),
        (node_port("a", "TCP"), node_port("b", "TCP"), &["b.yaml:10 error invalid-value"]),
        (node_port("a", "TCP"), node_port("b", "UDP"), &[]),
        (by("a", "  clusterIP: None"), by("b", "  clusterIP: None"), &[]),
    ] {
        let folder = directory(&[("a.yaml", &first), ("b.yaml", &second)]);
        assert_eq!(findings(&lint(folder.path(), &[]), folder.path()), want);
    }
}

/// Custom resources of another namespace say nothing about a Service; those of its own are named.
#[test]
fn custom_resources_hide_nothing() {
    let custom = |kind: &str, namespace: &str| {
        format!("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: {kind}\nmetadata: {{name: x, namespace: {namespace}}}\n")
    };
    for (text, want) in [
        (custom("HelmRelease", "flux-system"), "warning   Service web"),
        (custom("HelmRelease", "default"), "not checked: whether it matches pods of HelmRelease default/x"),
        (
            custom("HelmRelease", "flux-system") + "spec: {targetNamespace: default}\n",
            "not checked: whether it matches pods of HelmRelease flux-system/x",
        ),
    ] {
        let folder =
            directory(&[("a.yaml", &service("backend", "port: 80")), ("c.yaml", &text), ("w.yaml", DEPLOYMENT)]);
        let ran = roster(&["lint", folder.path().to_str().unwrap()]);
        assert!(ran.out.contains(want), "{want}: {}", ran.out);
    }
}

/// A user gives codes their severities, on the command line or in a file; a flag wins.
#[test]
fn severities_are_those_of_the_user() {
    let text = service("web", "{port: 80, prot: TCP}") + "---\n" + DEPLOYMENT;
    let folder = directory(&[(
        "severities.yaml",
        "apiVersion: roster.dev/v1alpha1\nkind: LintSeverities\nseverities: {unknown-field: warning, no-readiness-probe: error}\n",
    )]);
    let path = folder.path().join("severities.yaml").display().to_string();
    for (args, want, code) in [
        (&[][..], &["error unknown-field", "info no-readiness-probe"][..], 1),
        (&["--severity", "unknown-field=info"], &["info unknown-field", "info no-readiness-probe"], 0),
        (&["--severity", "unknown-field=off"], &["info no-readiness-probe"], 0),
        (&["--severities", &path], &["warning unknown-field", "error no-readiness-probe"], 1),
        (&["--severities", &path, "--severity", "no-readiness-probe=off"], &["warning unknown-field"], 0),
    ] {
        let ran = roster_with(&[&["lint", "-", "-o", "json"], args].concat(), &[], &text);
        let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}", ran.err));
        let line = |f: &Value| format!("{} {}", f["severity"].as_str().unwrap(), f["code"].as_str().unwrap());
        let found: Vec<String> = document["items"].as_array().unwrap().iter().map(line).collect();
        assert_eq!((found, ran.code), (want.iter().map(ToString::to_string).collect(), code), "{args:?}");
    }
    for (args, want) in [
        (
            &["--severity", "unknown-feild=off"][..],
            "no finding has the code \"unknown-feild\"; did you mean unknown-field?",
        ),
        (&["--severities", "Cargo.toml"], "Cargo.toml"),
    ] {
        let ran = roster_with(&[&["lint", "-"], args].concat(), &[], &text);
        assert!(ran.code == 2 && ran.err.contains(want), "{args:?}: {}", ran.err);
    }
}

/// Each policy is asked about each object.
#[test]
fn the_number_of_policies_is_limited() {
    for (count, code, err) in [(500, 0, ""), (501, 2, "error: more than 500 EndpointPolicies: ")] {
        let policy = |i| {
            format!(
                "apiVersion: roster.dev/v1\nkind: EndpointPolicy\nmetadata: {{name: p{i}}}\nspec: {{defaultMode: warn}}\n---\n"
            )
        };
        let ran = roster_with(&["lint", "-"], &[], &(0..count).map(policy).collect::<String>());
        assert!(ran.code == code && ran.err.starts_with(err), "{count}: {} {}", ran.code, ran.err);
    }
}
