//! `roster lint` and `explain` of directories whose kustomizations patch objects. `tests/cluster/kustomize.rs` compares the
//! patched objects with those of `kubectl kustomize`.

use serde_json::Value;

use super::{
    lint::{directory, findings, lint},
    roster, roster_in,
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
        (
            "of a pattern with a dot for a letter",
            vec![("prod/kustomization.yaml", with(&of_name.replace("w.*", "w.b")))],
            &[],
        ),
        (
            "of another pattern with a dot",
            vec![("prod/kustomization.yaml", with(&of_name.replace("w.*", "a.i")))],
            &[MISSING],
        ),
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

/// The file of the base does not show what an overlay makes of it.
#[test]
fn findings_of_patches_name_the_overlay() {
    let overlay = |patch: &str| format!("resources: [../base]\n{patch}\n");
    let renamed = |port: &str| {
        overlay(&format!("patches: [{{target: {{kind: Deployment}}, patch: \"{}\"}}]", OPERATION.replace("http", port)))
    };
    let fits = DEPLOYMENT.replace("name: web, containerPort", "name: http, containerPort");
    for (name, deployment, overlays, want) in [
        ("in the base", DEPLOYMENT, vec![("prod", overlay(""))], &[""][..]),
        ("in the base with a patch", DEPLOYMENT, vec![("prod", renamed("web"))], &[""]),
        (
            "in the base of both",
            DEPLOYMENT,
            vec![("dev", overlay("")), ("prod", renamed("api"))],
            &[" (in dev)", " (in prod)"],
        ),
        ("by the one overlay", &fits, vec![("prod", renamed("api"))], &[" (in prod)"]),
        ("by one of two", &fits, vec![("dev", overlay("")), ("prod", renamed("api"))], &[" (in prod)"]),
        ("by both", &fits, vec![("dev", renamed("api")), ("prod", renamed("api"))], &[" (in dev, prod)"]),
        ("corrected by one of two", DEPLOYMENT, vec![("dev", overlay("")), ("prod", renamed("http"))], &[" (in dev)"]),
    ] {
        let overlays: Vec<(&str, &str)> = overlays.iter().map(|(folder, text)| (*folder, text.as_str())).collect();
        let folder = directory_of(deployment, &overlays);
        let ran = roster_in(folder.path(), &["lint", ".", "-o", "json"]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let items = document["items"].as_array().unwrap().iter().filter(|f| f["code"] == "named-port-missing");
        let mut ends: Vec<&str> = items
            .map(|f| f["message"].as_str().unwrap())
            .map(|message| message.find(" (in ").map_or("", |start| &message[start..]))
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, want, "{name}: {}", ran.out);
    }
}

/// What an overlay makes missing is missing there, whatever the others have.
#[test]
fn a_broken_selector_of_one_overlay_is_found() {
    let overlay = "resources: [../base]\n";
    let broken = "resources: [../base]\npatches: [{target: {kind: Service}, patch: '[{op: replace, path: /spec/selector/app, value: wbe}]'}]\n";
    let scaled = "resources: [../base]\nreplicas: [{name: web, count: 3}]\n";
    let fits = DEPLOYMENT.replace("name: web, containerPort", "name: http, containerPort");
    for (directory, arguments, want) in [
        (".", &["."][..], " (in prod)"),
        (".", &["base", "prod"], " (in prod)"),
        ("prod", &[".."], " (in .)"),
        ("base", &["..", "."], " (in ../prod)"),
    ] {
        let folder = directory_of(&fits, &[("dev", overlay), ("prod", broken), ("stage", scaled)]);
        let ran = roster_in(&folder.path().join(directory), &[&["lint", "-o", "json"], arguments].concat());
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let items = document["items"].as_array().unwrap().iter().filter(|f| f["severity"] == "warning");
        let found: Vec<&str> = items.map(|f| f["message"].as_str().unwrap()).collect();
        assert!(matches!(found[..], [one] if one.ends_with(want)), "{directory} {arguments:?}: {}", ran.out);
    }
}

/// A directory with the Deployment, the Service and kustomizations.
fn directory_of(deployment: &str, kustomizations: &[(&str, &str)]) -> tempfile::TempDir {
    let kustomizations: Vec<(String, &str)> =
        kustomizations.iter().map(|(folder, text)| (format!("{folder}/kustomization.yaml"), *text)).collect();
    let mut files = vec![("base/deployment.yaml", deployment), ("base/service.yaml", SERVICE)];
    files.push(("base/kustomization.yaml", BASE));
    files.extend(kustomizations.iter().map(|(path, text)| (path.as_str(), *text)));
    directory(&files)
}

/// A patch may change what names an object. Those that refer to it by its name would change with it.
#[test]
fn renamed_objects_are_known_or_not() {
    let renamed = |target: &str, field: &str| {
        let operation = format!("[{{op: add, path: /metadata/{field}, value: other}}]");
        format!("resources: [../base]\npatches: [{{target: {target}, patch: '{operation}'}}]\n")
    };
    check("a namespace", &[("prod/kustomization.yaml", &renamed("{name: web}", "namespace"))], &[MISSING]);
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  maxReplicas: 2\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n";
    check(
        "a name",
        &[
            ("base/kustomization.yaml", "resources: [deployment.yaml, service.yaml, hpa.yaml]\n"),
            ("base/hpa.yaml", scaler),
            ("prod/kustomization.yaml", &renamed("{kind: Deployment}", "name")),
        ],
        &[],
    );
}

/// Arguments may lead out of the working directory and back into it.
#[test]
fn each_file_is_read_once_however_it_is_named() {
    let overlay =
        format!("resources: [../base]\npatches: [{{target: {{kind: Deployment}}, patch: \"{OPERATION}\"}}]\n");
    let folder = directory(&[
        ("base/deployment.yaml", DEPLOYMENT),
        ("base/service.yaml", SERVICE),
        ("base/kustomization.yaml", BASE),
        ("dev/kustomization.yaml", &overlay),
    ]);
    for (directory, arguments) in [
        ("base", &[".", "../dev"][..]),
        ("base", &[".", "../dev", "../base"]),
        ("base", &["..", "."]),
        ("dev", &["../base", "."]),
        (".", &["base", "dev/../dev"]),
    ] {
        let ran = roster_in(&folder.path().join(directory), &[&["lint", "-o", "json"], arguments].concat());
        assert_eq!(findings(&ran, folder.path()), <[&str; 0]>::default(), "{directory} {arguments:?}: {}", ran.out);
    }
}

/// A label may have the name of a field that nothing reads, and what nothing reads may move what is read.
#[test]
fn all_patches_are_applied_in_their_order() {
    let merge = |kind: &str, spec: &str| {
        let api_version = if kind == "Service" { "v1" } else { "apps/v1" };
        let patch = format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: web}}, {spec}}}");
        format!("{{patch: {}}}", serde_json::to_string(&patch).unwrap())
    };
    let operation = |path: &str, value: &str| {
        format!("{{target: {{kind: Deployment}}, patch: \"[{{op: add, path: {path}, value: {value}}}]\"}}")
    };
    let of =
        |patches: &[String], more: &str| format!("resources: [../base]\npatches: [{}]\n{more}\n", patches.join(", "));
    let template = "/spec/template/metadata/labels";
    let env = merge("Service", "spec: {selector: {env: prod}}");
    let sidecar = merge("Deployment", "spec: {template: {spec: {containers: [{name: proxy, image: envoy}]}}}");
    let fit = operation("/spec/template/spec/containers/0/ports", "[{name: http, containerPort: 80}]");
    let misses = "base/service.yaml:5 warning selector-matches-no-template";
    for (name, kustomization, want) in [
        (
            "a label that is called env",
            of(&[env.clone(), operation(&format!("{template}/env"), "prod"), fit.clone()], ""),
            &[][..],
        ),
        ("no pod has it", of(&[env, fit.clone()], ""), &[misses]),
        ("the first container is another one", of(&[sidecar, fit.clone()], ""), &[]),
        (
            "labels come after patches",
            of(&[operation(template, "{app: web}"), fit.clone()], "commonLabels: {env: prod}"),
            &[],
        ),
        (
            "JSON patches of the old field come after labels",
            of(
                std::slice::from_ref(&fit),
                "commonLabels: {env: prod}\npatchesJson6902: [{target: {version: v1, kind: Service, name: web}, patch: '[{op: \
                 remove, path: /spec/selector/app}]'}]",
            ),
            &[],
        ),
        (
            "a plugin",
            of(
                std::slice::from_ref(&fit),
                "transformers: [plugin.yaml]\nconfigMapGenerator: [{name: x, files: [a=plugin.yaml]}]",
            ),
            &[],
        ),
    ] {
        let plugin = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: x}\n";
        let mut files = vec![("prod/kustomization.yaml", &*kustomization)];
        if name == "a plugin" {
            files.push(("prod/plugin.yaml", plugin));
        }
        check(name, &files, want);
    }
}

/// A kustomization may name an object as those below it have renamed it.
#[test]
fn patches_find_renamed_objects() {
    let patch = |target: &str| format!("patches: [{{target: {{kind: Deployment, {target}}}, patch: \"{OPERATION}\"}}]");
    for (name, below, target, want) in [
        ("a namespace", "namespace: shop", "name: web, namespace: shop", &[][..]),
        ("a prefix", "namePrefix: shop-", "name: shop-web", &[]),
        ("another name", "namePrefix: shop-", "name: api", &[MISSING]),
        ("nothing is renamed", "", "name: shop-web", &[MISSING]),
    ] {
        let middle = format!("resources: [../base]\n{below}\n");
        let outer = format!("resources: [../middle]\n{}\n", patch(target));
        check(name, &[("middle/kustomization.yaml", &middle), ("prod/kustomization.yaml", &outer)], want);
    }
}

/// Each time, a base has other objects: nothing is known of them all.
#[test]
fn a_base_may_be_there_twice() {
    let of = |color: &str| {
        format!(
            "resources: [../base]\nnameSuffix: -{color}\nlabels: [{{pairs: {{color: {color}}}, includeSelectors: true}}]\n"
        )
    };
    let live = SERVICE.replace("name: web}", "name: live}").replace("app: web", "color: green");
    check(
        "blue and green",
        &[
            ("blue/kustomization.yaml", &of("blue")),
            ("green/kustomization.yaml", &of("green")),
            ("all/kustomization.yaml", "resources: [../blue, ../green, live.yaml]\n"),
            ("all/live.yaml", &live),
        ],
        &[],
    );
}

/// A patch of a stranger must not take all memory, nor all time.
#[test]
fn patches_have_bounds() {
    let copies = vec!["{op: copy, from: /metadata, path: /metadata/labels/x}"; 40].join(", ");
    let many = vec![format!("{{target: {{kind: Deployment}}, patch: \"{OPERATION}\"}}"); 2000].join(", ");
    for (name, patches) in
        [("copies", format!("{{target: {{kind: Deployment}}, patch: '[{copies}]'}}")), ("many patches", many)]
    {
        check(name, &[("prod/kustomization.yaml", &format!("resources: [../base]\npatches: [{patches}]\n"))], &[]);
    }
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
