//! `roster lint`: one finding for one cause, what objects say of each other, and a missing `---` that hides one of them.

use serde_json::Value;

use super::{
    lint::{DEPLOYMENT, directory, findings, lint, service},
    roster, roster_with,
};

/// `severity code field` of all findings.
fn all_findings(text: &str) -> Vec<String> {
    let ran = roster_with(&["lint", "-", "-o", "json"], &[], text);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    let line = |f: &Value| {
        let [severity, code] = ["severity", "code"].map(|key| f[key].as_str().unwrap());
        format!("{severity} {code} {}", f["field"].as_str().unwrap_or_default())
    };
    document["items"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn one_cause_is_one_finding() {
    let service = |spec: &str| format!("apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{{spec}}}\n");
    let slice = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a, labels: {kubernetes.io/service-name: wbe}}\n\
                 addressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}]\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: web}}\n\
               spec: {containers: [{name: c, image: c, ports: [{name: htpp, containerPort: 80}]}]}\n";
    let lacks = DEPLOYMENT.replace("name: http,", "name: htpp,");
    for (name, text, want) in [
        (
            "a value that no release knows",
            service("ports: [{port: 80}], trafficDistribution: PreferLocal"),
            &["error invalid-value spec.trafficDistribution"][..],
        ),
        (
            "a value without effect",
            service("ports: [{port: 80}], trafficDistribution: PreferClose, internalTrafficPolicy: Local"),
            &["warning traffic-distribution spec.trafficDistribution"],
        ),
        (
            "a slice of no Service",
            format!("{}---\n{slice}", service("ports: [{port: 80}]")),
            &["warning slice-service-missing metadata.labels[kubernetes.io/service-name]"],
        ),
        (
            "Endpoints of no Service",
            format!(
                "{}---\napiVersion: v1\nkind: Endpoints\nmetadata: {{name: gone}}\nsubsets: [{{addresses: [{{ip: 10.0.0.5}}], ports: [{{port: 80}}]}}]\n",
                service("ports: [{port: 80}]")
            ),
            &["warning endpoints-orphaned ", "info endpoints-deprecated "],
        ),
        (
            "a port that neither the pod nor the Deployment has",
            format!("{}---\n{lacks}---\n{pod}", service("selector: {app: web}, ports: [{port: 80, targetPort: http}]")),
            &[
                "error named-port-missing spec.ports[0].targetPort",
                "info no-readiness-probe spec.template.spec.containers",
            ],
        ),
        (
            "a number in quotes",
            format!("{}---\n{DEPLOYMENT}", service("selector: {app: web}, ports: [{port: 80, targetPort: '8080'}]")),
            &["error invalid-value spec.ports[0].targetPort", "info no-readiness-probe spec.template.spec.containers"],
        ),
        (
            "a selector like that of a Deployment",
            format!("{}---\n{DEPLOYMENT}", service("selector: {matchLabels: {app: web}}, ports: [{port: 80}]")),
            &["error wrong-type spec.selector.matchLabels"],
        ),
        (
            "an address for a name",
            service("type: ExternalName, externalName: 192.0.2.7"),
            &["warning invalid-value spec.externalName"],
        ),
        ("a name", service("type: ExternalName, externalName: 192-0-2-7.example.com"), &[]),
    ] {
        assert_eq!(all_findings(&text), want, "{name}");
    }
}

#[test]
fn a_number_in_quotes_is_shown_without_them() {
    let text = service("web", "{port: 80, targetPort: '8080'}");
    let ran = roster_with(&["lint", "-"], &[], &text);
    let want = "\"8080\" in quotes is the name of a port, and it needs a letter; write 8080 without quotes";
    assert!(ran.out.contains(want), "{}", ran.out);
}

/// The Service that is hidden in the mixture is not missing.
#[test]
fn what_a_missing_separator_hides_is_not_absent() {
    let headless = "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}]}\n";
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  selector: {matchLabels: {app: db}}\n  \
               template:\n    metadata: {labels: {app: db}}\n    spec: {containers: [{name: c, image: c}]}\n";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n";
    let other = service("web", "port: 80");
    for (name, files, want) in [
        (
            "the governing Service",
            [("a.yaml", format!("{headless}{config}")), ("b.yaml", format!("{set}---\n{DEPLOYMENT}---\n{other}"))],
            &["a.yaml:5 error missing-separator"][..],
        ),
        (
            "with the separator",
            [("a.yaml", format!("{headless}---\n{config}")), ("b.yaml", format!("{set}---\n{DEPLOYMENT}---\n{other}"))],
            &[],
        ),
        (
            "another Service",
            [
                ("a.yaml", format!("{}{config}", headless.replace("name: db", "name: xx"))),
                ("b.yaml", format!("{set}---\n{DEPLOYMENT}---\n{other}")),
            ],
            &["a.yaml:5 error missing-separator", "b.yaml:5 warning governing-service-missing"],
        ),
        (
            "the Deployment of a Service",
            [("a.yaml", format!("{DEPLOYMENT}{config}")), ("b.yaml", format!("{set}---\n{headless}---\n{other}"))],
            &["a.yaml:9 error missing-separator"],
        ),
        (
            "the first of three",
            [("a.yaml", format!("{DEPLOYMENT}{headless}{config}")), ("b.yaml", format!("{set}---\n{other}"))],
            &["a.yaml:9 error missing-separator"],
        ),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let folder = directory(&files);
        let ran = lint(folder.path(), &[]);
        assert_eq!(findings(&ran, folder.path()), want, "{name}: {}", ran.out);
    }
}

#[test]
fn a_code_is_explained_with_all_its_severities() {
    for (code, want) in [
        ("other-namespace", "other-namespace: reason, severity warning or info\n"),
        ("named-port-missing", "named-port-missing: reason, severity error, warning or info\n"),
        ("invalid-port", "invalid-port: reason, severity warning or error\n"),
        ("no-pod-ip", "no-pod-ip: reason, severity warning\n"),
    ] {
        let ran = roster(&["explain", code]);
        assert!(ran.out.starts_with(want), "{code}: {}", ran.out);
    }
}

/// A workload's own labels never reach its pods, even if another Service selects these by what they have.
#[test]
fn a_label_of_the_workload_itself_is_none_of_its_pods() {
    let deployment = |own: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, labels: {{{own}}}}}\nspec:\n  selector: {{matchLabels: \
             {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: c, image: i, \
             ports: [{{containerPort: 80}}]}}]}}\n---\n"
        )
    };
    let service = |name: &str, selector: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{selector: {{{selector}}}, ports: [{{port: 80}}]}}\n---\n"
        )
    };
    for (own, severity, text) in [
        ("app: web", "info", "which has no label env=prod"),
        ("env: prod", "warning", "which has the label env=prod itself, but not in its template"),
    ] {
        let input = deployment(own) + &service("all", "app: web") + &service("prod", "app: web, env: prod");
        let ran = roster_with(&["lint", "-f", "-", "-o", "json"], &[], &input);
        let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let of_selector = |f: &&serde_json::Value| f["code"] == "selector-matches-no-template";
        let found = document["items"].as_array().unwrap().iter().find(of_selector).unwrap();
        assert_eq!(found["severity"], severity, "{own}: {found}");
        assert!(found["message"].as_str().unwrap().contains(text), "{own}: {found}");
    }
}
