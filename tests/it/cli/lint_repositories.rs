//! `roster lint` and `roster explain` of what public repositories hold: each folder of `tests/data/repositories` is one habit.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    lint::{directory, findings, lint},
    roster,
};

fn folder(name: &str) -> PathBuf {
    ["tests", "data", "repositories", name].iter().collect()
}

#[test]
fn folders_have_these_findings() {
    for (name, documents, skipped, want) in [
        ("many-comments", 1, json!(null), &[][..]),
        ("yaml-quoted-scalar", 2, json!(null), &[]),
        ("ytt-template", 0, json!({ "template": 1 }), &[]),
        ("kustomize-vars", 0, json!({ "kustomization": 1, "template": 1 }), &[]),
        ("helm-index", 0, json!({ "chart-index": 1 }), &[]),
        ("sops-kind", 0, json!({ "encrypted": 1 }), &[]),
        ("kuttl-assert", 0, json!({ "cluster-test": 3 }), &[]),
        ("chainsaw-assert", 1, json!({ "cluster-test": 3 }), &[]),
        ("no-node-fits", 4, json!(null), &[]),
        ("arm-daemonset-service", 2, json!(null), &[]),
        ("resource-version-0", 2, json!(null), &[]),
        ("lb-no-policy", 1, json!(null), &["svc.yaml:4 warning load-balancer-ip"]),
        ("cr-without-pods", 3, json!(null), &["a.yaml:9 warning selector-matches-no-template"]),
        ("kustomize-namespace-renamed", 1, json!({ "kustomization": 1 }), &[]),
        ("kustomize-template-labels", 1, json!({ "kustomization": 2 }), &[]),
        ("legacy-patches", 1, json!({ "kustomization": 1, "patch": 1 }), &[]),
        (
            "miss-versions-hpa",
            4,
            json!(null),
            &[
                "autoscaling/hpa.yaml:5 warning scale-target-missing",
                "autoscaling/svc.yaml:5 warning selector-matches-no-template",
            ],
        ),
        ("nearest-nothing", 3, json!(null), &["web.yaml:4 warning selector-matches-no-template"]),
        ("template-hides-pods", 2, json!({ "template": 1 }), &[]),
        ("unlisted-patch", 1, json!({ "kustomization": 1, "not-listed": 2 }), &[]),
        ("unlisted-patch-replaces", 2, json!({ "kustomization": 1, "not-listed": 1 }), &[]),
        ("excerpts", 0, json!({ "template": 5 }), &[]),
        ("openshift-v1", 6, json!(null), &[]),
        ("component-namespace", 1, json!({ "kustomization": 2 }), &[]),
        ("broken-others", 2, json!({ "not-manifest": 2, "template": 1 }), &["hpa.yaml:7 warning scale-target-missing"]),
        (
            "rollout-beside-chart",
            2,
            json!({ "template": 1, "chart": 1 }),
            &["deploy/web.yaml:12 warning rollout-empties-service"],
        ),
        (
            "hpa-of-sibling",
            4,
            json!(null),
            &["back/hpa.yaml:6 warning several-autoscalers", "front/hpa.yaml:6 warning several-autoscalers"],
        ),
        ("tests-make-the-rest", 6, json!(null), &[]),
        ("review-values", 1, json!({ "not-manifest": 1 }), &[]),
        ("tokens", 0, json!({ "template": 2 }), &[]),
        ("crd-patches", 0, json!({ "partial": 1 }), &[]),
        // What is not in a cluster makes no Service.
        ("foreign-config", 5, json!(null), &["app.yaml:29 warning backend-service-missing"]),
    ] as [(&str, usize, Value, &[&str]); _]
    {
        let folder = folder(name);
        let ran = lint(&folder, &[]);
        assert_eq!(findings(&ran, &folder), want, "{name}: {}", ran.out);
        let summary = &serde_json::from_str::<Value>(&ran.out).unwrap()["summary"];
        assert_eq!((&summary["documents"], &summary["skipped"]), (&json!(documents), &skipped), "{name}");
        let message = if documents == 0 { "warning: no manifest to check\n" } else { "" };
        assert_eq!((ran.code, ran.err.as_str()), (0, message), "{name}: {}", ran.out);
    }
}

/// Two bases with 16 overlays each are 34 kustomizations, and not 256 pairs.
#[test]
fn overlays_are_not_combined() {
    let mut files = Vec::new();
    for base in ["a", "b"] {
        let objects = (0..20).map(|i| {
            let name = format!("{base}{i}");
            let spec = format!("{{selector: {{app: {name}}}, ports: [{{port: 80}}]}}");
            format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {spec}\n")
        });
        files.push((format!("{base}/base/all.yaml"), objects.collect::<Vec<_>>().join("---\n")));
        files.push((format!("{base}/base/kustomization.yaml"), "resources: [all.yaml]\n".to_owned()));
        files.extend((0..16).map(|overlay| {
            let patch = format!("kind: Service\n    metadata: {{name: {base}1}}\n    spec: {{clusterIP: None}}");
            let text = format!("resources: [../base]\npatches:\n- patch: |-\n    apiVersion: v1\n    {patch}\n");
            (format!("{base}/o{overlay}/kustomization.yaml"), text)
        }));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = directory(&files);
    let ran = lint(folder.path(), &[]);
    let summary = &serde_json::from_str::<Value>(&ran.out).unwrap()["summary"];
    assert_eq!(
        (&summary["documents"], &summary["skipped"]),
        (&json!(40), &json!({ "kustomization": 34 })),
        "{}",
        ran.out
    );
    assert_eq!((ran.code, findings(&ran, folder.path())), (0, Vec::<String>::new()), "{}", ran.out);
}

/// A review skips what the linter skips; and nothing is refused that a kustomization completes.
#[test]
fn reviews_and_explanations_skip_the_same() {
    for (command, name, code, err, no) in [
        ("review", "review-values", 0, "note: not reviewed: 1 without apiVersion and kind", "error"),
        ("review", "helm-index", 0, "note: not reviewed: 1 chart repository index", "error"),
        ("review", "kustomize-template-labels", 0, "note: not reviewed: 2 kustomizations", "error"),
        ("review", "component-namespace", 0, "note: not reviewed: 2 kustomizations", "error"),
        ("explain", "kustomize-completes", 0, "", "error"),
        ("plan", "kustomize-completes", 0, "", "error"),
        ("review", "kustomize-completes", 0, "note: not reviewed: 1 kustomization", "error"),
    ] {
        let ran = roster(&[command, "-f", folder(name).to_str().unwrap()]);
        assert_eq!(ran.code, code, "{command} {name}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(err), "{command} {name}: {}", ran.err);
        assert!(![&ran.out, &ran.err].iter().any(|text| text.contains(no)), "{command} {name}: {}{}", ran.out, ran.err);
    }
}

/// A part of an object is a mistake, but not among tests; nor is what a controller made, without its owner's uid.
#[test]
fn parts_of_objects_are_skipped_among_tests() {
    let folder = folder("parts-of-objects");
    let ran = lint(&folder, &[]);
    let want = ["stub.yaml:1 error missing-field", "test/cli/whole.yaml:6 error missing-field"];
    assert_eq!((ran.code, findings(&ran, &folder)), (1, want.map(str::to_owned).to_vec()), "{}", ran.out);
    let summary = &serde_json::from_str::<Value>(&ran.out).unwrap()["summary"];
    assert_eq!(summary["skipped"], json!({ "partial": 3 }), "{}", ran.out);
}

/// A file that cannot be read hides nothing that it cannot have.
#[test]
fn a_broken_pod_of_another_namespace_is_no_excuse() {
    let folder = folder("miss-unreadable");
    let ran = lint(&folder, &[]);
    let want = ["bad.yaml:4 error invalid-object", "a.yaml:15 warning scale-target-missing"];
    assert_eq!((ran.code, findings(&ran, &folder)), (2, want.map(str::to_owned).to_vec()), "{}", ran.out);
}

/// Directories often hold several versions of an object. The first one counts.
#[test]
fn commands_answer_on_directories_with_versions() {
    for (command, name, wants) in [
        ("explain", "explain-refuses-other-kinds", ["shop/a", "shop/b"]),
        ("explain", "miss-versions-hpa", ["shop/carts", "assumed: the first version of each"]),
        // Nothing makes the pods of the two Services.
        ("plan", "explain-refuses-other-kinds", ["assumed: the first version of each", "2 Services"]),
        ("plan", "miss-versions-hpa", ["shop", "assumed: the first version of each"]),
        // The labels are those of the kustomization.
        ("explain", "kustomize-template-labels", ["default/web", "check it with -k DIR"]),
    ] {
        let ran = roster(&[command, "-f", folder(name).to_str().unwrap(), "-o", "wide"]);
        assert!(ran.code < 2 && wants.iter().all(|want| ran.out.contains(want)), "{command} {name}: {}", ran.out);
    }
}

#[test]
fn folders_have_these_explanations() {
    for (name, code, want, no) in [
        ("no-node-fits", 0, "default/app: 1 of 1 pod served", "no-node-fits"),
        ("arm-daemonset-service", 0, "default/agent: 1 of 1 pod served", "no-node-fits"),
        ("resource-version-0", 0, "53 -> 53", "53 -> 0"),
        ("unlisted-patch-replaces", 0, "default/m: 1 of 1 pod served", "warning"),
        (
            "explain-dual-stack",
            0,
            "1 Service needs IPv6 or both families; assumed: a cluster with IPv4,IPv6",
            "warning",
        ),
    ] {
        let ran = roster(&["explain", "-f", folder(name).to_str().unwrap()]);
        assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{name}: {}", ran.out);
        assert!(ran.out.contains(want) && !ran.out.contains(no), "{name}: {}", ran.out);
    }
}
