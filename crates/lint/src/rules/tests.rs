//! What the rules find in manifests.

use roster_engine::{model::defaults::Defaults, reason::Severity};
use roster_manifests::decode::{self, Source};

use crate::{FindingCode, InputFile, LintOptions, LintRule, Manifests, SortedManifests, check};

/// The findings of the rules in files, each as its code, its field and its message; infos begin with `info`.
pub(super) fn found_in(files: &[(&str, &str)]) -> Vec<String> {
    let source = Source::file("");
    let texts: Vec<(&str, String)> =
        files.iter().map(|(name, yaml)| (*name, decode::text(yaml.as_bytes(), &source).unwrap())).collect();
    let read = texts.iter().map(|(name, json)| InputFile {
        name,
        documents: decode::documents(json, &Source::file(name)).unwrap(),
        is_listed: name.contains("listed/"),
        is_test: name.contains("testdata/"),
        ..InputFile::default()
    });
    let options = LintOptions {
        source: Source { defaults: Defaults { namespace: "default", ..Defaults::default() }, ..source },
        namespace: "default",
        user: "",
        groups: &[],
        policies: &[],
        stored: &[],
        max_findings: 1000,
    };
    let sorted = SortedManifests { manifests: Manifests::of(read.collect()), ..SortedManifests::default() };
    let run = check(sorted, &options).unwrap();
    let findings = run.report.objects.iter().flat_map(|object| &object.input_findings);
    let of_rules = findings.filter(|finding| matches!(finding.code, FindingCode::Lint(_)));
    let text = |finding: &crate::FileFinding<'_>| {
        let info = if finding.severity == Severity::Info { "info " } else { "" };
        format!("{info}{} {}: {}", finding.code.as_str(), finding.field, finding.message)
    };
    of_rules.map(text).collect()
}

/// The same in one file.
pub(super) fn found(yaml: &str) -> Vec<String> {
    found_in(&[("a.yaml", yaml)])
}

/// A Service of the namespace `shop`.
pub(super) const WEB: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
";

/// A Deployment of the namespace `shop`.
pub(super) const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{name: http, containerPort: 8080}]}]}
---
";

/// An Ingress with a backend.
pub(super) fn ingress(namespace: &str, backend: &str) -> String {
    format!(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: web, namespace: {namespace}}}
spec: {{defaultBackend: {backend}}}
---
"
    )
}

/// A route with a backend.
pub(super) fn route(namespace: &str, backend: &str) -> String {
    format!(
        "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: web, namespace: {namespace}}}
spec: {{rules: [{{backendRefs: [{backend}]}}]}}
---
"
    )
}

#[test]
fn each_rule_finds_something_in_its_example_and_no_other_rule_does() {
    for rule in LintRule::ALL {
        let codes: Vec<String> =
            found(rule.example).iter().filter_map(|text| text.split_whitespace().next().map(str::to_owned)).collect();
        assert_eq!(codes, [rule.code]);
        assert!(LintRule::ALL.is_sorted_by_key(|rule| rule.code));
    }
}
