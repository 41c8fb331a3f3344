//! `roster lint` of directories with kustomizations that add labels.

use super::{
    lint::{directory, findings, lint},
    roster,
};

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec: {containers: [{name: web, image: web, ports: [{name: http, containerPort: 8080}]}]}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports: [{name: http, port: 80, targetPort: http}]
";

/// With labels in its template, and the selector of the Service.
fn labelled(text: &str) -> String {
    let selector = "  selector: {app: web}\n";
    match text {
        SERVICE => format!("{text}{selector}"),
        text => {
            text.replace("    spec:", "    metadata: {labels: {app: web}}\n    spec:")
                + "  selector: {matchLabels: {app: web}}\n"
        }
    }
}

const BASE: (&str, &str) = ("base/deployment.yaml", DEPLOYMENT);
const BASE_SERVICE: (&str, &str) = ("base/service.yaml", SERVICE);
const MISSING: &str = "base/deployment.yaml:5 error missing-field";

/// A kustomization of the base with further fields.
fn of(labels: &str) -> String {
    format!("resources: [deployment.yaml, service.yaml]\n{labels}\n")
}

fn check(name: &str, files: &[(&str, &str)], want: &[&str]) {
    let folder = directory(files);
    let ran = lint(folder.path(), &[]);
    assert_eq!(findings(&ran, folder.path()), want, "{name}: {}", ran.out);
}

#[test]
fn labels_of_kustomizations_reach_selectors_and_templates() {
    let (base, service) = (BASE, BASE_SERVICE);
    let selectors = of("labels: [{pairs: {app: web}, includeSelectors: true}]");
    let flow = format!("{{{}}}\n", selectors.trim_end().replace('\n', ", "));
    let json = r#"{"resources": ["deployment.yaml", "service.yaml"], "commonLabels": {"app": "web"}}"#.to_owned();
    let plain = of("");
    for (name, files, want) in [
        ("commonLabels", vec![base, service, ("base/kustomization.yaml", &*of("commonLabels: {app: web}"))], &[][..]),
        ("includeSelectors", vec![base, service, ("base/kustomization.yaml", &*selectors)], &[]),
        ("flow style", vec![base, service, ("base/kustomization.yaml", &*flow)], &[]),
        ("flow style of JSON", vec![base, service, ("base/kustomization.yaml", &*json)], &[]),
        ("another name of the file", vec![base, service, ("base/Kustomization", &*selectors)], &[]),
        (
            "labels without selectors",
            vec![base, service, ("base/kustomization.yaml", &*of("labels: [{pairs: {app: web}}]"))],
            &[MISSING],
        ),
        (
            "labels of an overlay",
            vec![
                base,
                service,
                ("base/kustomization.yaml", &*plain),
                ("prod/kustomization.yaml", "resources: [../base]\ncommonLabels: {app: web, env: prod}\n"),
            ],
            &[],
        ),
        (
            "labels of a component",
            vec![
                base,
                service,
                ("base/kustomization.yaml", &*plain),
                ("prod/kustomization.yaml", "resources: [../base]\ncomponents: [../names]\n"),
                (
                    "names/kustomization.yaml",
                    "kind: Component\nlabels: [{pairs: {app: web}, includeSelectors: true}]\n",
                ),
            ],
            &[],
        ),
        (
            "labels of another base",
            vec![base, service, ("base/kustomization.yaml", &*plain), ("other/kustomization.yaml", &*selectors)],
            &[MISSING],
        ),
        (
            "a wrong port",
            vec![
                base,
                ("base/service.yaml", &*SERVICE.replace("targetPort: http", "targetPort: htpp")),
                ("base/kustomization.yaml", &*selectors),
            ],
            &["base/service.yaml:5 error named-port-missing"],
        ),
        (
            "a wrong selector",
            vec![
                base,
                ("base/service.yaml", &*format!("{SERVICE}  selector:\n    tier: front\n")),
                ("base/kustomization.yaml", &*selectors),
            ],
            &["base/service.yaml:7 warning selector-matches-no-template"],
        ),
        (
            "an unknown field",
            vec![
                base,
                ("base/service.yaml", &*format!("{SERVICE}  selectors: {{a: b}}\n")),
                ("base/kustomization.yaml", &*selectors),
            ],
            &["base/service.yaml:6 error unknown-field"],
        ),
    ] {
        check(name, &files, want);
    }
}

#[test]
fn overlays_fit_their_bases() {
    let plain = of("");
    for (name, files, want) in [
        // Services of an overlay select workloads of the base, whatever the other overlay gives them.
        (
            "two overlays",
            vec![
                ("base/deployment.yaml", &*labelled(DEPLOYMENT)),
                ("base/service.yaml", &*labelled(SERVICE)),
                ("base/kustomization.yaml", &*plain),
                ("dev/kustomization.yaml", "resources: [../base, debug.yaml]\ncommonLabels: {env: dev}\n"),
                ("dev/debug.yaml", &*labelled(SERVICE).replace("name: web}", "name: debug}")),
                ("prod/kustomization.yaml", "resources: [../base, public.yaml]\ncommonLabels: {env: prod}\n"),
                ("prod/public.yaml", &*labelled(SERVICE).replace("name: web}", "name: public}")),
            ],
            &[][..],
        ),
        (
            "templates only",
            vec![
                ("base/deployment.yaml", &*format!("{DEPLOYMENT}  selector: {{matchLabels: {{app: web}}}}\n")),
                ("base/service.yaml", &*labelled(SERVICE)),
                ("base/kustomization.yaml", &*of("labels: [{pairs: {app: web}, includeTemplates: true}]")),
            ],
            &[],
        ),
        (
            "an overlay without labels",
            vec![
                BASE,
                BASE_SERVICE,
                ("base/kustomization.yaml", &*plain),
                ("prod/kustomization.yaml", "resources: [../base]\n"),
            ],
            &[MISSING],
        ),
    ] {
        check(name, &files, want);
    }
}

/// A label that one overlay adds is not in the others.
#[test]
fn overlays_have_their_own_labels() {
    let (deployment, service, base) = (labelled(DEPLOYMENT), labelled(SERVICE), of(""));
    let selects = |text: &str| service.replace("name: web}", "name: other}").replace("{app: web}", text);
    let of_prod = selects("{app: web, env: prod}");
    for (name, dev, prod, more, is_unmatched) in [
        ("only prod has the label", "", "commonLabels: {env: prod}", "dev/more.yaml", true),
        ("prod has the label and the Service", "", "commonLabels: {env: prod}", "prod/more.yaml", false),
        ("each has its own value", "commonLabels: {env: dev}", "commonLabels: {env: prod}", "prod/more.yaml", false),
        // kustomize replaces what the selector says.
        ("the overlay sets the value", "commonLabels: {env: dev}", "commonLabels: {env: prod}", "dev/more.yaml", false),
        (
            "labels without selectors",
            "labels: [{pairs: {env: dev}, includeTemplates: true}]",
            "labels: [{pairs: {env: prod}, includeTemplates: true}]",
            "dev/more.yaml",
            true,
        ),
        ("no label at all", "", "", "dev/more.yaml", true),
    ] {
        let with = |labels: &str| format!("resources: [../base, more.yaml]\n{labels}\n");
        let (dev, prod) = (with(dev), with(prod));
        let folder = directory(&[
            ("base/deployment.yaml", &*deployment),
            ("base/service.yaml", &*service),
            ("base/kustomization.yaml", &*base),
            ("dev/kustomization.yaml", &*dev),
            ("prod/kustomization.yaml", &*prod),
            (more, &*of_prod),
        ]);
        let ran = lint(folder.path(), &[]);
        let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let mut codes: Vec<&str> =
            document["items"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
        codes.dedup();
        let mut want = vec!["no-readiness-probe"];
        want.extend(is_unmatched.then_some("selector-matches-no-template"));
        assert_eq!(codes, want, "{name}: {}", ran.out);
    }
}

const SCALER: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 9
";

/// Overlays of one base are alternatives.
#[test]
fn objects_of_an_overlay_go_with_its_base_alone() {
    let (deployment, service) = (labelled(DEPLOYMENT), labelled(SERVICE));
    let base = of("");
    let named = |text: &str, name: &str| text.replace("name: web}", &format!("name: {name}}}"));
    let files = |dev: &'static str, prod: &'static str| {
        vec![
            ("base/deployment.yaml", &*deployment),
            ("base/service.yaml", &*service),
            ("base/kustomization.yaml", &*base),
            ("dev/kustomization.yaml", dev),
            ("prod/kustomization.yaml", prod),
        ]
    };
    let debug = named(&deployment, "debug");
    let debug = debug.replace("{app: web}", "{app: debug}");
    let of_debug = SCALER.replace("Deployment, name: web", "Deployment, name: debug");
    let no_port = named(&deployment, "canary").replace("name: http", "name: other");
    let beta = no_port.replace("canary", "beta");
    let misses = named(&service, "misses").replace("app: web", "app: debug");
    for (name, more, want) in [
        ("both have the autoscaler", vec![("dev/more.yaml", SCALER), ("prod/more.yaml", SCALER)], &[][..]),
        (
            "its workload is in the other overlay",
            vec![("dev/more.yaml", &*debug), ("prod/more.yaml", &*of_debug)],
            &["prod/more.yaml:5 warning scale-target-missing"],
        ),
        (
            "its pods are in the other overlay",
            vec![("dev/more.yaml", &*debug), ("prod/more.yaml", &*misses)],
            &["prod/more.yaml:6 warning selector-matches-no-template"],
        ),
        ("its pods are in the same overlay", vec![("dev/more.yaml", &*debug), ("dev/other.yaml", &*misses)], &[]),
        (
            "a workload of one overlay is behind the Service of the base",
            vec![("dev/more.yaml", &*no_port)],
            &["base/service.yaml:5 warning named-port-missing"],
        ),
        (
            "two workloads of one overlay lack a port",
            vec![("dev/more.yaml", &*no_port), ("dev/other.yaml", &*beta)],
            &["base/service.yaml:5 warning named-port-missing", "base/service.yaml:5 warning named-port-missing"],
        ),
    ] {
        let dev = "resources: [../base, more.yaml, other.yaml]\n";
        let mut all = files(dev, "resources: [../base, more.yaml]\n");
        all.extend(more);
        check(name, &all, want);
    }
}

/// Node ports, and objects of one directory, count for one cluster.
#[test]
fn clusters_have_one_overlay_of_each_base() {
    let of = |name: &str, node_port: u16| {
        let ports = format!("type: NodePort\n  ports: [{{name: http, port: 80, nodePort: {node_port}}}]\n");
        labelled(SERVICE)
            .replace("name: web}", &format!("name: {name}}}"))
            .replace("ports: [{name: http, port: 80, targetPort: http}]\n", &ports)
    };
    let (deployment, service) = (labelled(DEPLOYMENT), labelled(SERVICE));
    let (dev, prod, same) = (of("dev", 30080), of("prod", 30080), of("web-public", 30081));
    let taken = "prod.yaml:6 error invalid-value";
    for (name, kustomizations, more, want) in [
        ("alternatives", ["[../base, ../dev.yaml]", "[../base, ../prod.yaml]"], [&dev, &prod], vec![]),
        ("one overlay", ["[../base, ../dev.yaml, ../prod.yaml]", "[../base]"], [&dev, &prod], vec![taken]),
        ("two applications", ["[../dev.yaml]", "[../prod.yaml]"], [&dev, &prod], vec![taken]),
        (
            "applications that share a Namespace",
            ["[../namespace.yaml, ../dev.yaml]", "[../namespace.yaml, ../prod.yaml]"],
            [&dev, &prod],
            vec![taken],
        ),
        ("an object of each", ["[../base, ../dev.yaml]", "[../base, ../prod.yaml]"], [&same, &same], vec![]),
        (
            "an object twice",
            ["[../base, ../dev.yaml, ../prod.yaml]", "[../base]"],
            [&same, &same],
            vec!["prod.yaml:1 warning duplicate-object"],
        ),
    ] {
        let [dev, prod] = kustomizations.map(|resources| format!("resources: {resources}\n"));
        let files = [
            ("base/deployment.yaml", &*deployment),
            ("base/service.yaml", &*service),
            ("base/kustomization.yaml", "resources: [deployment.yaml, service.yaml]\n"),
            ("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"),
            ("dev/kustomization.yaml", &*dev),
            ("prod/kustomization.yaml", &*prod),
            ("dev.yaml", more[0]),
            ("prod.yaml", more[1]),
        ];
        check(name, &files, &want);
    }
}

/// A base has as many pods as it says, not as an overlay says.
#[test]
fn explain_says_what_it_assumes_of_overlays() {
    let (deployment, service) = (labelled(DEPLOYMENT), labelled(SERVICE));
    let base = of("");
    let files = |dev: &'static str| {
        directory(&[
            ("base/deployment.yaml", &deployment),
            ("base/service.yaml", &service),
            ("base/kustomization.yaml", &base),
            ("dev/kustomization.yaml", dev),
            ("prod/kustomization.yaml", "resources: [../base, scaler.yaml]\n"),
            ("prod/scaler.yaml", SCALER),
        ])
    };
    let assumed =
        "the objects of all of them in one cluster, without HorizontalPodAutoscaler web, which only some have";
    for (dev, served, is_assumed) in [
        ("resources: [../base]\n", "1 of 1 pod served", true),
        // It is not an overlay of the base.
        ("resources: []\n", "3 of 3 pods served", false),
    ] {
        let folder = files(dev);
        let ran = roster(&["explain", folder.path().to_str().unwrap(), "-o", "wide"]);
        assert!(ran.out.contains(served), "{dev}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains(assumed), is_assumed, "{dev}: {}{}", ran.out, ran.err);
    }
}

/// `explain` reads directories in the same way.
#[test]
fn other_commands_know_the_labels() {
    let folder = directory(&[BASE, BASE_SERVICE]);
    for (labels, refused) in [("commonLabels", false), ("commonAnnotations", true)] {
        let text = of(&format!("{labels}: {{app: web}}"));
        std::fs::write(folder.path().join("base/kustomization.yaml"), text).unwrap();
        let ran = roster(&["explain", folder.path().to_str().unwrap()]);
        assert_eq!(ran.out.contains("refused"), refused, "{labels}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("1 of 1"), !refused, "{labels}: {}{}", ran.out, ran.err);
    }
}
