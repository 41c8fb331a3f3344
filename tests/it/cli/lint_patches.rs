//! `roster lint` and `explain` of directories whose kustomizations patch objects. `tests/cluster/kustomize.rs` compares the
//! patched objects with those of `kubectl kustomize`.

use super::{
    lint::{directory, findings, lint},
    roster,
};

/// A Deployment whose only port is `web`.
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{name: web, containerPort: 8080}]}]}
";

/// A Service for its port `http`.
const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
";

const BASE: &str = "resources: [deployment.yaml, service.yaml]\n";
const MISSING: &str = "base/service.yaml:6 error named-port-missing";

/// A strategic merge patch that gives the port the name for which the Service asks.
const RENAMED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, ports: [{name: http, containerPort: 8080}]}]}}}
";

/// The same as a JSON patch.
const OPERATION: &str = "[{op: replace, path: /spec/template/spec/containers/0/ports/0/name, value: http}]";

fn check(name: &str, more: &[(&str, &str)], want: &[&str]) {
    let mut files = vec![("base/deployment.yaml", DEPLOYMENT), ("base/service.yaml", SERVICE)];
    if !more.iter().any(|(path, _)| *path == "base/kustomization.yaml") {
        files.push(("base/kustomization.yaml", BASE));
    }
    files.extend(more);
    let folder = directory(&files);
    let ran = lint(folder.path(), &[]);
    assert_eq!(findings(&ran, folder.path()), want, "{name}: {}", ran.out);
}

/// What an overlay applies counts, and not what is in its base.
#[test]
fn patched_objects_are_compared() {
    let with = |fields: &str| format!("resources: [../base]\n{fields}\n");
    let inline = |patch: &str| format!("patches: [{{patch: {}}}]", serde_json::to_string(patch).unwrap());
    let of_kind = format!("patches: [{{target: {{kind: Deployment}}, patch: \"{OPERATION}\"}}]");
    let of_name = format!("patches: [{{target: {{name: w.*}}, patch: \"{OPERATION}\"}}]");
    let of_other = format!("patches: [{{target: {{name: api}}, patch: \"{OPERATION}\"}}]");
    let unknown = format!("patches: [{{target: {{name: 'w[a-z]b'}}, patch: \"{OPERATION}\"}}]");
    let image = "patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: web, image: b}]}}}}'}]";
    let removed = inline("{apiVersion: v1, kind: Service, metadata: {name: web}, $patch: delete}");
    for (name, more, want) in [
        ("no patch", vec![("prod/kustomization.yaml", with(""))], &[MISSING][..]),
        ("in the kustomization", vec![("prod/kustomization.yaml", with(&inline(RENAMED)))], &[]),
        ("of an image", vec![("prod/kustomization.yaml", with(image))], &[MISSING]),
        (
            "in a file",
            vec![
                ("prod/kustomization.yaml", with("patches: [{path: ports.yaml}]")),
                ("prod/ports.yaml", RENAMED.to_owned()),
            ],
            &[],
        ),
        (
            "patchesStrategicMerge",
            vec![
                ("prod/kustomization.yaml", with("patchesStrategicMerge: [ports.yaml]")),
                ("prod/ports.yaml", RENAMED.to_owned()),
            ],
            &[],
        ),
        (
            "patchesJson6902",
            vec![
                (
                    "prod/kustomization.yaml",
                    with("patchesJson6902: [{target: {version: v1, kind: Deployment, name: web}, path: ports.yaml}]"),
                ),
                ("prod/ports.yaml", OPERATION.to_owned()),
            ],
            &[],
        ),
        ("by kind", vec![("prod/kustomization.yaml", with(&of_kind))], &[]),
        ("by a pattern", vec![("prod/kustomization.yaml", with(&of_name))], &[]),
        ("of another object", vec![("prod/kustomization.yaml", with(&of_other))], &[MISSING]),
        ("of a pattern that is not understood", vec![("prod/kustomization.yaml", with(&unknown))], &[]),
        (
            "of a component",
            vec![
                ("prod/kustomization.yaml", with("components: [../ports]")),
                ("ports/kustomization.yaml", format!("kind: Component\n{of_kind}\n")),
            ],
            &[],
        ),
        ("of the base", vec![("base/kustomization.yaml", format!("{BASE}{of_kind}\n"))], &[]),
        ("the Service is removed", vec![("prod/kustomization.yaml", with(&removed))], &[]),
        (
            "of one overlay",
            vec![("dev/kustomization.yaml", with("")), ("prod/kustomization.yaml", with(&of_kind))],
            &[MISSING],
        ),
        (
            "of both overlays",
            vec![("dev/kustomization.yaml", with(&inline(RENAMED))), ("prod/kustomization.yaml", with(&of_kind))],
            &[],
        ),
        (
            "the same of both overlays",
            vec![("dev/kustomization.yaml", with(&of_kind)), ("prod/kustomization.yaml", with(&of_kind))],
            &[],
        ),
    ] {
        let more: Vec<(&str, &str)> = more.iter().map(|(path, text)| (*path, text.as_str())).collect();
        check(name, &more, want);
    }
}

/// A patch that breaks what fits in the base.
#[test]
fn patches_have_findings() {
    let text = DEPLOYMENT.replace("name: web, containerPort", "name: http, containerPort");
    let patch =
        "patches: [{target: {kind: Service}, patch: '[{op: replace, path: /spec/ports/0/targetPort, value: htpt}]'}]";
    let overlay = format!("resources: [../base]\n{patch}\n");
    let folder = directory(&[
        ("base/deployment.yaml", &text),
        ("base/service.yaml", SERVICE),
        ("base/kustomization.yaml", BASE),
        ("prod/kustomization.yaml", &overlay),
    ]);
    let ran = lint(folder.path(), &[]);
    assert_eq!(findings(&ran, folder.path()), [MISSING], "{}", ran.out);
    assert!(ran.out.contains("has a port named htpt"), "{}", ran.out);
}

/// Without alternatives, the other commands answer for the overlay as well.
#[test]
fn explain_knows_patches_and_replicas() {
    let files = |dev: &'static str| {
        let mut files = vec![
            ("base/deployment.yaml", DEPLOYMENT),
            ("base/service.yaml", SERVICE),
            ("base/kustomization.yaml", BASE),
            (
                "prod/kustomization.yaml",
                "resources: [../base]\nreplicas: [{name: web, count: 3}]\npatches: [{path: ports.yaml}]\n",
            ),
            ("prod/ports.yaml", RENAMED),
        ];
        if !dev.is_empty() {
            files.push(("dev/kustomization.yaml", dev));
        }
        directory(&files)
    };
    let assumed = "the objects of all of them in one cluster, and no patch of theirs";
    for (dev, want, is_assumed) in
        [("", "3 of 3 pods served", false), ("resources: [../base]\ncommonLabels: {env: dev}\n", "0 of 1 pod", true)]
    {
        let folder = files(dev);
        let ran = roster(&["explain", folder.path().to_str().unwrap(), "-o", "wide"]);
        assert!(ran.out.contains(want), "{dev}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains(assumed), is_assumed, "{dev}: {}{}", ran.out, ran.err);
    }
}
