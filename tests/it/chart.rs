//! The chart: Helm renders what the linter has nothing to say about, and refuses values that are none.

use std::{collections::BTreeSet, ffi::OsString, fs, path::PathBuf, process::Command};

use roster::{
    cli::server_permissions,
    deploy::{self, ALERTS},
};
use serde_json::{Value, json};

use crate::{
    cli::{Ran, roster},
    programs::has_program,
};

/// The folder of the chart.
fn chart() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/charts/roster").into()
}

/// The sets of values that the chart is tried with.
fn value_sets() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(chart().join("ci")).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    assert!(all.len() >= 6, "{all:?}");
    all
}

/// Runs helm for the newest release; whether it ended well, and all that it printed.
fn helm(command: &[&str], args: &[&str]) -> (bool, String) {
    run_helm("helm".into(), command, args)
}

/// The same with a version of helm.
fn run_helm(program: OsString, command: &[&str], args: &[&str]) -> (bool, String) {
    let chart = chart().display().to_string();
    let out = Command::new(program)
        .args(command)
        .args([&chart, "--kube-version", "1.37.0", "--namespace", "elsewhere"])
        .args(args)
        .output()
        .unwrap();
    (out.status.success(), String::from_utf8([out.stdout, out.stderr].concat()).unwrap())
}

/// The rendered objects.
fn rendered(args: &[&str]) -> Vec<Value> {
    let (well, text) = helm(&["template", "any"], args);
    assert!(well, "{text}");
    text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// An expression in a document of the manifests would be one of Helm in the chart.
#[test]
fn no_document_of_the_manifests_has_an_expression() {
    for file in deploy::files(&server_permissions()) {
        for document in file.documents {
            assert!(!document.to_string().contains("{{"), "{}", file.path);
        }
    }
}

#[test]
fn each_set_of_values_renders_what_is_right() {
    if !has_program("helm") {
        return;
    }
    for set in value_sets() {
        let set = set.display().to_string();
        let (well, said) = helm(&["lint", "--strict"], &["--values", &set]);
        assert!(well, "{set}: {said}");
        let (well, text) = helm(&["template", "any"], &["--values", &set]);
        assert!(well && !text.contains("roster-system"), "{set}: {text}");
        if let Some(other) = std::env::var_os("ROSTER_HELM") {
            let (well, same) = run_helm(other, &["template", "any"], &["--values", &set]);
            assert!(well, "{set}: {same}");
            // Versions differ in the order of the documents, and in the lines between them.
            let documents = |text: &str| -> BTreeSet<String> {
                text.split("---\n").map(|document| document.trim().to_owned()).collect()
            };
            assert!(documents(&same) == documents(&text), "{set}: another version of helm renders {same}");
        }
        let Ran { code, out, err } = roster(&["lint", "--chart", &chart().display().to_string(), "--values", &set]);
        assert_eq!(code, 0, "{set}: {out}{err}");
    }
}

#[test]
fn values_that_are_none_are_refused() {
    if !has_program("helm") {
        return;
    }
    for (set, part) in [
        ("webhook.replcias=3", "replcias"),
        ("webhook.replicas=-1", "replicas"),
        ("webhook.defaultMode=audits", "defaultMode"),
        ("webhook.defaultMode=false", "defaultMode"),
        ("controller.mode=both", "mode"),
        ("traces.sampling=2", "sampling"),
        ("traces.sampling=2,traces.endpoint=http://c", "sampling"),
        ("traces.sampling=half", "sampling"),
        ("traces.endpoint=c:4318", "endpoint"),
        ("controller.healAfter=soon", "healAfter"),
        ("webhook.replicas=0,webhook.failurePolicy=Fail", "webhook.replicas: with the failure policy Fail"),
        ("rest.autoscaling.minReplicas=6", "rest.autoscaling.minReplicas: there are more"),
        (r"webhook.podLabels.app\.kubernetes\.io/name=x", "webhook.podLabels: the selector"),
        (
            "monitoring.podMonitor.enabled=true,monitoring.serviceMonitor.enabled=true",
            "each pod would be scraped twice",
        ),
        // Nobody, and not everybody.
        ("networkPolicy.restClients=null", "restClients"),
        ("networkPolicy.apiServers={}", "apiServers"),
        (
            "webhook.certificates.source=secret",
            "webhook.certificates.secretName: the Secret of the certificate is required",
        ),
        ("edge.enabled=true", "edge.apiServer.host: an address of the API server is required"),
    ] {
        let (well, said) = helm(&["template", "any"], &["--set", set]);
        assert!(!well && said.contains(part), "{set}: {}", said.lines().take(9).collect::<String>());
    }
}

/// What each value is for.
#[test]
fn values_have_their_effect() {
    const ARGS: &str = "/spec/template/spec/containers/0/args";
    const IMAGE: &str = "/spec/template/spec/containers/0/image";
    /// The group whose members read Secrets that are mounted.
    const FILES: &str = "/spec/template/spec/securityContext/fsGroup";
    const PORTS: &str = "/spec/egress/0/ports";
    const VALIDATING: &str = "ValidatingWebhookConfiguration/roster";
    const CRD: &str = "CustomResourceDefinition/endpointpolicies.roster.dev";
    if !has_program("helm") {
        return;
    }
    let (mut all, mut last) = (Vec::new(), None);
    for (set, object, pointer, want) in [
        // Audit first, and a write that nobody reviews is admitted.
        ("", "ConfigMap/roster-policies", "/data/policies.yaml", "\"defaultMode\":\"audit\""),
        ("", VALIDATING, "/webhooks/0/failurePolicy", "Ignore"),
        ("", "Deployment/roster", ARGS, "--self-signed"),
        ("", "Deployment/roster", ARGS, "--policy=/policies/policies.yaml"),
        ("", "Deployment/roster", IMAGE, concat!("roster:", env!("CARGO_PKG_VERSION"))),
        ("", "Deployment/roster", "/spec/replicas", "2"),
        ("", CRD, "/metadata/annotations", "{\"helm.sh/resource-policy\":\"keep\"}"),
        ("", CRD, "/spec/conversion/webhook/clientConfig/service/namespace", "elsewhere"),
        ("webhook.defaultMode=per-rule", "ConfigMap/roster-policies", "/data/policies.yaml", "[]"),
        ("webhook.defaultMode=off", "ConfigMap/roster-policies", "/data/policies.yaml", "\"defaultMode\":\"off\""),
        ("webhook.failurePolicy=Fail", VALIDATING, "/webhooks/2/failurePolicy", "Fail"),
        ("webhook.failurePolicy=Fail", VALIDATING, "/webhooks/2/matchConditions/2/name", "not-of-the-system"),
        ("webhook.failurePolicy=Fail", "MutatingWebhookConfiguration/roster", "/webhooks/0/failurePolicy", "Ignore"),
        ("webhook.autoscaling.enabled=true", "Deployment/roster", "/spec/replicas", "null"),
        ("webhook.certificates.source=cert-manager", "Deployment/roster", ARGS, "--tls-cert-file=/tls/tls.crt"),
        ("webhook.certificates.source=cert-manager", CRD, "/metadata/annotations", "\"elsewhere/roster-webhook\""),
        ("image.digest=sha256:0", "Deployment/roster", IMAGE, "roster@sha256:0"),
        ("webhook.extraArgs={--log=debug}", "Deployment/roster", ARGS, "--log=debug"),
        ("controller.enabled=true", "Deployment/roster-shadow", ARGS, "\"--log-format=json\",\"--shadow\"]"),
        (
            "controller.mode=shadow-healing,controller.enabled=true",
            "Deployment/roster-shadow",
            ARGS,
            "--heal-after=30s",
        ),
        (
            "controller.mode=replace,controller.enabled=true",
            "Deployment/roster-controller",
            ARGS,
            "\"--log-format=json\"]",
        ),
        ("controller.mode=beside,controller.enabled=true", "Deployment/roster-controller", ARGS, "--beside"),
        ("rest.enabled=true,rest.tokenSecret=t", "Deployment/roster-rest", ARGS, "--token-file=/token/token"),
        ("traces.endpoint=http://collector:4318", "Deployment/roster", ARGS, "--otlp-endpoint=http://collector:4318"),
        ("traces.endpoint=http://collector:4318,traces.sampling=0.1", "Deployment/roster", ARGS, "--otlp-sampling=0.1"),
        ("networkPolicy.enabled=true", "NetworkPolicy/roster", PORTS, "\"port\":53,\"protocol\":\"UDP\"}]"),
        (
            "networkPolicy.enabled=true,traces.endpoint=http://c:4318/v1/traces",
            "NetworkPolicy/roster",
            PORTS,
            "\"port\":4318",
        ),
        (
            "networkPolicy.enabled=true,traces.endpoint=http://[fd00::1]:4319",
            "NetworkPolicy/roster",
            PORTS,
            "\"port\":4319",
        ),
        ("networkPolicy.enabled=true,traces.endpoint=http://[fd00::1]", "NetworkPolicy/roster", PORTS, "\"port\":80,"),
        (
            "networkPolicy.enabled=true,traces.endpoint=https://c",
            "NetworkPolicy/roster",
            PORTS,
            "\"port\":443,\"protocol\":\"TCP\"}]",
        ),
        (
            "networkPolicy.enabled=true,networkPolicy.egress[0].ports[0].port=5353",
            "NetworkPolicy/roster",
            "/spec/egress/1",
            "5353",
        ),
        ("webhook.certificates.source=cert-manager", "Deployment/roster", FILES, "65532"),
        ("rest.enabled=true,rest.tokenSecret=t", "Deployment/roster-rest", FILES, "65532"),
        ("", "ClusterRole/roster-certificates", "/rules/0/verbs", "patch"),
        ("edge.enabled=true,edge.apiServer.host=10.0.0.1", "DaemonSet/roster-edge", "/metadata/namespace", "elsewhere"),
    ] {
        // Rows of one set follow each other.
        if last != Some(set) {
            all = if set.is_empty() { rendered(&[]) } else { rendered(&["--set", set]) };
            last = Some(set);
        }
        let name = |o: &Value| format!("{}/{}", o["kind"].as_str().unwrap(), o["metadata"]["name"].as_str().unwrap());
        let found = all.iter().find(|o| name(o) == object).unwrap_or_else(|| panic!("{set}: no {object}"));
        let value = found.pointer(pointer).unwrap_or(&Value::Null);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        assert!(text.contains(want), "{set}: {object} {pointer} is {text}, not {want}");
    }
}

/// What is off has no permissions, and needs no newer cluster.
#[test]
fn only_what_is_on_is_there() {
    if !has_program("helm") {
        return;
    }
    for source in ["cert-manager", "secret"] {
        let set = format!(
            "webhook.certificates.source={source},webhook.certificates.secretName=s,webhook.certificates.caBundle=c"
        );
        let roles: Vec<Value> = rendered(&["--set", &set]).into_iter().filter(|o| o["kind"] == "ClusterRole").collect();
        assert_eq!(roles.len(), 1, "{roles:?}");
        assert!(!json!(roles).to_string().contains("secrets"), "{roles:?}");
    }
    let older = "1.24.0";
    let (well, said) = helm(&["template", "any"], &["--kube-version", older]);
    assert!(!well && said.contains("webhook.enabled: the webhook needs Kubernetes 1.31 or later"), "{said}");
    let (well, said) = helm(
        &["template", "any"],
        &["--kube-version", older, "--set", "webhook.enabled=false,edge.enabled=true,edge.apiServer.host=10.0.0.1"],
    );
    assert!(well, "{said}");
}

/// The names in an expression of `PromQL` that are neither functions nor labels.
fn metrics_in(expression: &str) -> BTreeSet<String> {
    let mut bare = expression.to_owned();
    for (open, close) in [('{', '}'), ('[', ']')] {
        while let Some((start, end)) = bare.find(open).and_then(|at| Some((at, bare[at..].find(close)? + at))) {
            bare.replace_range(start..=end, " ");
        }
    }
    for word in ["by", "on"] {
        while let Some(start) = bare.find(&format!(" {word} (")) {
            let end = start + bare[start..].find(')').unwrap();
            bare.replace_range(start..=end, " ");
        }
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    let mut rest = bare.as_str();
    while let Some(start) = rest.find(is_word) {
        let word_and_rest = &rest[start..];
        let end = word_and_rest.find(|c| !is_word(c)).unwrap_or(word_and_rest.len());
        let (word, behind) = word_and_rest.split_at(end);
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !["and", "or", "unless"].contains(&word);
        if is_name && !behind.trim_start().starts_with('(') {
            names.insert(word.to_owned());
        }
        rest = behind;
    }
    names
}

#[test]
fn an_expression_has_these_metrics() {
    for (expression, want) in [
        ("absent(up)", &["up"][..]),
        ("max by (kind) (a_b{c=\"d e\",f!~\"g\"}) == 1", &["a_b"]),
        ("min(a) < 7 * 86400", &["a"]),
        ("(sum(a{b=\"c\"}) or vector(0)) != 1", &["a"]),
        ("sum by (x, y) (rate(a_total[$__rate_interval]) and on (instance) b)", &["a_total", "b"]),
    ] {
        assert_eq!(metrics_in(expression).into_iter().collect::<Vec<_>>(), want, "{expression}");
    }
}

/// The page of metrics is compared with the registries of the servers.
#[test]
fn alerts_and_panels_name_metrics_that_exist() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/metrics.md")).unwrap();
    let mut exported = BTreeSet::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (name, rest) = row.split_once("` | ").unwrap();
        exported.insert(name.to_owned());
        if rest.starts_with("histogram") {
            exported.extend(["bucket", "sum", "count"].map(|suffix| format!("{name}_{suffix}")));
        }
    }
    assert!(exported.len() > 50, "{exported:?}");
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(chart().join("dashboards/roster.json")).unwrap()).unwrap();
    let panels =
        dashboard["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions: Vec<String> = panels
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .chain(ALERTS.iter().map(|alert| alert.expression.to_owned()))
        .collect();
    assert!(expressions.len() > 25);
    for expression in expressions {
        let names = metrics_in(&expression);
        let unknown: Vec<_> = names.difference(&exported).collect();
        assert!(!names.is_empty() && unknown.is_empty(), "{expression}: no server exports {unknown:?}");
    }
}

/// Prometheus can read the rules.
#[test]
fn promtool_accepts_the_rules() {
    if !has_program("helm") || !has_program("promtool") {
        return;
    }
    let all = "monitoring.rules.enabled=true,controller.enabled=true";
    for mode in ["shadow", "replace"] {
        let objects = rendered(&["--set", all, "--set", &format!("controller.mode={mode}")]);
        let rules = objects.iter().find(|object| object["kind"] == "PrometheusRule").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rules.yaml");
        fs::write(&file, rules["spec"].to_string()).unwrap();
        let out = Command::new("promtool").args(["check", "rules"]).arg(&file).output().unwrap();
        let said = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
        assert!(out.status.success() && said.contains("SUCCESS"), "{said}");
    }
}
