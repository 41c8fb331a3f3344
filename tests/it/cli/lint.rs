//! `roster lint`: directories, formats, what is accepted, and what is not a mistake.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use super::{Ran, roster, roster_with};

fn repository(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Writes files into a new directory.
pub(super) fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// `file:line severity code` of all findings but those of severity info.
pub(super) fn findings(ran: &Ran, folder: &Path) -> Vec<String> {
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    let line = |f: &Value| {
        let file = f["file"].as_str().unwrap();
        let file = Path::new(file).strip_prefix(folder).map_or(file.to_owned(), |f| f.display().to_string());
        format!("{file}:{} {} {}", f["line"], f["severity"].as_str().unwrap(), f["code"].as_str().unwrap())
    };
    let items = document["items"].as_array().unwrap().iter();
    items.filter(|f| f["severity"] != "info").map(line).collect()
}

pub(super) fn lint(folder: &Path, args: &[&str]) -> Ran {
    roster(&[&["lint", folder.to_str().unwrap(), "-o", "json"], args].concat())
}

pub(super) const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{name: http, containerPort: 80}]}]}
";

pub(super) fn service(selector: &str, port: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  selector:\n    app: {selector}\n  ports:\n  - {port}\n"
    )
}

#[test]
fn what_an_api_server_refuses_is_found_in_its_line() {
    for (name, spec, want) in [
        ("nothing", "selector: {app: web}\n  ports: [{port: 80}]", &[][..]),
        ("an unknown field", "selectors: {app: web}\n  ports: [{port: 80}]", &["5 unknown-field"]),
        ("a field of the ports", "nodePort: 30080\n  ports: [{port: 80}]", &["5 unknown-field"]),
        ("two ports without names", "ports:\n  - port: 80\n  - port: 81", &["6 missing-field", "7 missing-field"]),
        ("a name twice", "ports:\n  - {port: 80, name: a}\n  - {port: 81, name: a}", &["7 invalid-value"]),
        ("a port twice", "ports:\n  - {port: 80, name: a}\n  - {port: 80, name: b}", &["7 invalid-value"]),
        ("two protocols", "ports:\n  - {port: 53, name: a}\n  - {port: 53, name: b, protocol: UDP}", &[]),
        ("a port out of range", "ports:\n  - port: 99999", &["6 invalid-port"]),
        ("a quoted port", "ports:\n  - port: '80'", &["6 wrong-type"]),
        ("a quoted target", "ports:\n  - {port: 80, targetPort: '8080'}", &["6 invalid-value"]),
        ("a node port of a ClusterIP", "ports:\n  - {port: 80, nodePort: 30080}", &["6 invalid-value"]),
        ("a node port", "type: NodePort\n  ports:\n  - {port: 80, nodePort: 30080}", &[]),
        ("a node port out of range", "type: NodePort\n  ports:\n  - {port: 80, nodePort: 80}", &["7 invalid-value"]),
        ("an unknown type", "type: Loadbalancer\n  ports: [{port: 80}]", &["5 invalid-value"]),
        ("a traffic policy", "externalTrafficPolicy: Local\n  ports: [{port: 80}]", &["5 invalid-value"]),
        ("no ports", "selector: {app: web}", &["5 missing-field"]),
        ("headless without ports", "clusterIP: None\n  selector: {app: web}", &[]),
        ("an external name", "type: ExternalName\n  externalName: db.example.com", &[]),
        ("no external name", "type: ExternalName", &["5 invalid-value"]),
        ("a label", "selector: {app: -web}\n  ports: [{port: 80}]", &["5 invalid-value"]),
        ("a boolean for a string", "selector: {app: true}\n  ports: [{port: 80}]", &["5 wrong-type"]),
    ] {
        let text = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  {spec}\n");
        let ran = roster_with(&["lint", "-", "-o", "json"], &[], &text);
        let found: Vec<String> = findings(&ran, Path::new("")).iter().map(|f| f.replace("<stdin>:", "")).collect();
        let found: Vec<String> = found.iter().map(|f| f.replace("error ", "").replace("warning ", "")).collect();
        assert_eq!(found, want, "{name}: {}", ran.out);
    }
}

#[test]
fn workloads_are_checked_as_well() {
    for (name, from, to, want) in [
        ("nothing", "", "", &[][..]),
        ("replicas", "  selector", "  replica: 3\n  selector", &["5 error unknown-field"]),
        ("containers in the wrong place", "  selector", "  containers: []\n  selector", &["5 error unknown-field"]),
        ("no selector", "  selector: {matchLabels: {app: web}}\n", "", &["5 error missing-field"]),
        ("a port", "containerPort: 80", "containerPort: 99999", &["8 error invalid-port"]),
        ("a port name", "name: http", "name: http_main", &["8 error invalid-value"]),
        ("a container name", "[{name: web", "[{name: Web", &["8 error invalid-value"]),
        ("an environment variable", "image: web", "image: web, env: [{name: A, value: 1}]", &["8 error wrong-type"]),
        ("labels", "metadata: {labels: {app: web}}", "metadata: {labels: {app: wbe}}", &["5 error pods-refused"]),
    ] {
        let folder = directory(&[("web.yaml", &DEPLOYMENT.replacen(from, to, usize::from(!from.is_empty())))]);
        let found: Vec<String> = findings(&lint(folder.path(), &[]), folder.path());
        let found: Vec<&str> = found.iter().map(|f| f.strip_prefix("web.yaml:").unwrap()).collect();
        assert_eq!(found, want, "{name}");
    }
}

#[test]
fn a_directory_may_hold_anything() {
    let folder = directory(&[
        ("web/deployment.yaml", DEPLOYMENT),
        ("web/service.yaml", &service("wbe", "port: 80")),
        ("chart/Chart.yaml", "apiVersion: v2\nname: web\n"),
        ("chart/values.yaml", "replicas: 1\n"),
        ("chart/templates/a.yaml", "{{- if .Values.x }}\nkind: Service\n{{- end }}\n"),
        ("chart/templates/b.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: '{{ .Release.Name }}'}\n"),
        ("base/kustomization.yaml", "resources: [web.yaml]\npatches: [{path: patch.yaml}]\n"),
        ("base/patch.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: NodePort}\n"),
        ("tsconfig.json", "{ // a comment\n}"),
        ("comments.yaml", "# nothing\n"),
        ("roster-test.yaml", "apiVersion: roster.dev/v1alpha1\nkind: Test\n"),
    ]);
    let ran = lint(folder.path(), &[]);
    assert_eq!(findings(&ran, folder.path()), ["web/service.yaml:7 warning selector-matches-no-template"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let want = json!({
        "documents": 2, "errors": 0, "warnings": 1,
        "skipped": {
            "template": 2, "chart": 1, "kustomization": 1, "patch": 1, "not-manifest": 2, "roster-file": 1, "empty": 1,
        },
    });
    assert_eq!((&document["summary"], ran.code, ran.err.as_str()), (&want, 0, ""));
    let folder = directory(&[("web.yaml", DEPLOYMENT)]);
    std::os::unix::fs::symlink("gone.yaml", folder.path().join("link.yaml")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket.yaml")).unwrap();
    let ran = roster(&["lint", folder.path().to_str().unwrap()]);
    let want = "1 document: 0 errors, 0 warnings; not checked: 2 broken links or special files\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, want), "{}", ran.err);
    let broken = directory(&[("a.yaml", "apiVersion: v1\nkind: [\n"), ("b.yaml", DEPLOYMENT)]);
    let ran = lint(broken.path(), &[]);
    assert_eq!((ran.code, findings(&ran, broken.path())), (2, vec!["a.yaml:2 error invalid-object".to_owned()]));
    let ran = roster(&["lint", broken.path().join("b.yaml").to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "1 document: 0 errors, 0 warnings\n"), "{}", ran.err);
}

/// `dev/` and `prod/` are two clusters.
#[test]
fn directories_with_the_same_objects_are_checked_apart() {
    let good = service("web", "{port: 80, targetPort: http}");
    let folder = directory(&[
        ("dev/web.yaml", DEPLOYMENT),
        ("dev/service.yaml", &good),
        ("prod/web.yaml", DEPLOYMENT),
        ("prod/service.yaml", &service("web", "{port: 80, targetPort: htpp}")),
    ]);
    let want = ["prod/service.yaml:9 error named-port-missing"];
    assert_eq!(findings(&lint(folder.path(), &[]), folder.path()), want);
}

#[test]
fn findings_can_be_accepted() {
    let annotated = service("wbe", "port: 80").replace(
        "  name: web\n",
        "  name: web\n  annotations:\n    roster.dev/ignore: selector-matches-no-template=an operator makes the pods; no-replicas=x; nope=y\n",
    );
    let folder = directory(&[("web.yaml", DEPLOYMENT), ("a.yaml", &annotated)]);
    let ran = lint(folder.path(), &[]);
    assert_eq!(findings(&ran, folder.path()), ["a.yaml:6 warning invalid-waiver"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let suppression = json!({ "by": "annotation", "reason": "an operator makes the pods" });
    assert_eq!(document["suppressed"][0]["suppression"], suppression);
    let codes: Vec<&str> = document["items"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"unused-waiver"), "{codes:?}");

    let wrong = service("wbe", "port: 99999")
        .replace("  name: web\n", "  name: web\n  annotations:\n    roster.dev/ignore: nope=y\n");
    let folder = directory(&[("web.yaml", DEPLOYMENT), ("a.yaml", &wrong)]);
    let other = tempfile::tempdir().unwrap();
    let baseline = other.path().join("baseline.yaml").display().to_string();
    let ran = roster(&["lint", folder.path().to_str().unwrap(), "--write-baseline", &baseline]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    let ran = lint(folder.path(), &["--baseline", &baseline]);
    assert_eq!((findings(&ran, folder.path()).len(), ran.code, ran.err.as_str()), (0, 0, ""), "{}", ran.out);
    fs::write(folder.path().join("b.yaml"), wrong.replace("name: web", "name: new")).unwrap();
    let ran = lint(folder.path(), &["--baseline", &baseline]);
    assert_eq!((findings(&ran, folder.path()).len(), ran.code), (3, 1), "{}", ran.out);
    fs::write(folder.path().join("a.yaml"), service("web", "port: 80")).unwrap();
    let ran = lint(folder.path(), &["--baseline", &baseline]);
    assert!(ran.err.contains("3 findings in the baseline no longer occur"), "{}", ran.err);

    let waivers = other.path().join("waivers.yaml");
    let waiver = "apiVersion: roster.dev/v1alpha1\nkind: LintWaivers\nwaivers:\n\
        - {code: selector-matches-no-template, object: Service new, reason: planned}\n\
        - {code: invalid-waiver, object: Service new, reason: planned}\n\
        - {code: invalid-port, file: '*/b.yaml', reason: planned}\n";
    fs::write(&waivers, waiver).unwrap();
    let ran = lint(folder.path(), &["--waivers", waivers.to_str().unwrap()]);
    assert_eq!((findings(&ran, folder.path()).len(), ran.code, ran.err.as_str()), (0, 0, ""), "{}", ran.out);
    fs::write(&waivers, waiver.replace("reason: planned", "reason: ''")).unwrap();
    let ran = lint(folder.path(), &["--waivers", waivers.to_str().unwrap()]);
    assert!(ran.code == 2 && ran.err.contains("waivers.yaml:4: ") && ran.err.contains("has no reason"), "{}", ran.err);
}

#[test]
fn ci_systems_can_read_it() {
    let folder = directory(&[("web.yaml", DEPLOYMENT), ("a.yaml", &service("wbe", "port: 99999"))]);
    let path = folder.path().to_str().unwrap();
    let ran = roster(&["lint", path, "-o", "github"]);
    let want =
        format!("::error file={path}/a.yaml,line=9,title=invalid-port::Service web: spec.ports[0].port: port 99999 ");
    assert!(ran.code == 1 && ran.out.contains(&want), "{}", ran.out);
    let want =
        format!("::warning file={path}/a.yaml,line=7,title=selector-matches-no-template::Service web: spec.selector");
    assert!(ran.out.contains(&want), "{}", ran.out);
    let ran = roster(&["lint", path, "-o", "junit"]);
    for want in [
        "<testsuites name=\"roster lint\" tests=\"2\" failures=\"1\">",
        "name=\"Service web (line 1)\"",
        "<failure type=\"invalid-port\" message=\"",
        "<system-out>selector-matches-no-template: ",
        "</testsuites>\n",
    ] {
        assert!(ran.out.contains(want), "{want}: {}", ran.out);
    }
    let strict = roster(&["lint", path, "-o", "junit", "--warnings-as-errors"]);
    assert!(strict.out.contains("<failure type=\"selector-matches-no-template\""), "{}", strict.out);
    fs::write(
        folder.path().join("a.yaml"),
        service("wbe", "port: 80").replace(
            "  name: web\n",
            "  name: web\n  annotations: {roster.dev/ignore: selector-matches-no-template=why not}\n",
        ),
    )
    .unwrap();
    let log: Value = serde_json::from_str(&roster(&["lint", path, "-o", "sarif"]).out).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let suppressed: Vec<&Value> = results.iter().filter(|r| r.get("suppressions").is_some()).collect();
    let want = json!([{ "kind": "inSource", "justification": "why not" }]);
    assert_eq!((suppressed.len(), &suppressed[0]["suppressions"]), (1, &want), "{results:?}");
}

/// Manifests as popular charts render them, written for this test: nothing is wrong with them.
#[test]
fn rendered_charts_raise_no_alarm() {
    let folder = repository("tests/data/manifests");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 11);
    files.push(folder.into());
    for file in files {
        let ran = lint(&file, &["--warnings-as-errors"]);
        assert_eq!((findings(&ran, &file), ran.code), (vec![], 0), "{}", file.display());
    }
}

/// The same manifests with one wrong label or port in turn: each is found, in its Service.
#[test]
fn one_wrong_word_in_a_rendered_chart_is_found() {
    let mut checked = 0;
    for chart in
        ["ingress-controller", "postgresql", "metrics-server", "proxy", "certificates", "delivery", "new-chart"]
    {
        let text = fs::read_to_string(repository(&format!("tests/data/manifests/{chart}.yaml"))).unwrap();
        let documents: Vec<&str> = text.split("---\n").collect();
        for (i, document) in documents.iter().enumerate() {
            let Some((head, selector)) = document.split_once("  selector:\n    app.kubernetes.io/name: ") else {
                continue;
            };
            if !head.contains("kind: Service\n") {
                continue;
            }
            let with = |changed: String| {
                let mut all: Vec<&str> = documents.clone();
                all[i] = &changed;
                let folder = directory(&[("chart.yaml", &all.join("---\n"))]);
                let found = findings(&lint(folder.path(), &[]), folder.path());
                let codes: BTreeSet<String> = found.iter().map(|f| f.rsplit(' ').next().unwrap().to_owned()).collect();
                codes.into_iter().collect::<Vec<_>>()
            };
            let wrong_label = with(format!("{head}  selector:\n    app.kubernetes.io/name: x{selector}"));
            assert_eq!(wrong_label, ["selector-matches-no-template"], "{chart} {i}");
            let (before, port) = head.rsplit_once("targetPort: ").unwrap();
            if !port.starts_with(|c: char| c.is_ascii_digit()) {
                let changed = format!("{before}targetPort: nope\n  selector:\n    app.kubernetes.io/name: {selector}");
                assert_eq!(with(changed), ["named-port-missing"], "{chart} {i}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked}");
}

/// What kube-linter's and kube-score's tests of dangling Services say, in our own words: true findings, and the false
/// alarms that are known of them.
#[test]
fn dangling_services_are_found_and_nothing_else() {
    let workload = |kind: &str, namespace: &str, labels: &str| {
        let api = if kind == "DeploymentConfig" { "apps.openshift.io/v1" } else { "apps/v1" };
        let more = if kind == "StatefulSet" { "\n  serviceName: svc" } else { "" };
        format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {kind}{namespace}}}\nspec:\n  selector: {{matchLabels: {labels}}}{more}\n  \
             template: {{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: c, image: i}}]}}}}\n"
        )
        .replace(&format!("{kind}{namespace}}}"), &format!("w{}}}", in_namespace(namespace)))
    };
    let pod = |namespace: &str, labels: &str| {
        let namespace = in_namespace(namespace);
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{namespace}, labels: {labels}}}\nspec: {{containers: [{{name: c, image: i}}]}}\n"
        )
    };
    let service = |namespace: &str, spec: &str| {
        let namespace = in_namespace(namespace);
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: svc{namespace}}}\nspec: {{ports: [{{port: 80}}], {spec}}}\n"
        )
    };
    let by = |namespace: &str, labels: &str| service(namespace, &format!("selector: {labels}"));
    let (none, other, away) = (&[][..], &["selector-matches-no-template"][..], &["other-namespace"][..]);
    for (name, objects, want) in [
        ("the labels of a Deployment", vec![by("", "{app: a}"), workload("Deployment", "", "{app: a}")], none),
        ("other labels", vec![by("", "{app: a}"), workload("Deployment", "", "{app: b}")], other),
        ("almost the labels", vec![by("", "{app: app}"), workload("Deployment", "", "{app: app1}")], other),
        ("one label too many", vec![by("", "{app: a, env: test}"), workload("Deployment", "", "{app: a}")], other),
        ("of several labels one", vec![by("", "{app: a}"), workload("Deployment", "", "{app: a, env: test}")], none),
        ("a kind of OpenShift", vec![by("", "{app: app}"), workload("DeploymentConfig", "", "{app: app2}")], other),
        ("its labels", vec![by("", "{app: a}"), workload("DeploymentConfig", "", "{app: a}")], none),
        ("the labels of a pod", vec![by("", "{app: a}"), pod("", "{app: a}")], none),
        ("other labels of a pod", vec![by("", "{app: a, b: c}"), pod("", "{app: a, b: d}")], other),
        ("a pod of the namespace", vec![by("x", "{app: a}"), pod("x", "{app: a}")], none),
        ("a pod of another namespace", vec![by("x", "{app: a}"), pod("y", "{app: a}")], away),
        ("a Deployment of another", vec![by("x", "{app: a}"), workload("Deployment", "y", "{app: a}")], away),
        // Known false alarms.
        ("one of them has no namespace", vec![by("", "{app: a}"), workload("Deployment", "y", "{app: a}")], none),
        (
            "the namespace is the default one",
            vec![by("default", "{app: a}"), workload("Deployment", "", "{app: a}")],
            none,
        ),
        ("a file at a time", vec![by("", "{app: a}")], none),
        (
            "an external name",
            vec![service("", "type: ExternalName, externalName: a.b"), workload("Deployment", "", "{app: b}")],
            none,
        ),
        ("no selector", vec![service("", "type: ClusterIP"), workload("Deployment", "", "{app: b}")], none),
        ("an empty selector", vec![by("", "{}"), workload("Deployment", "", "{app: b}")], none),
        (
            "a label of the controller",
            vec![
                service("", "clusterIP: None, selector: {app: a}"),
                by("", "{statefulset.kubernetes.io/pod-name: w-0}").replace("name: svc", "name: first"),
                workload("StatefulSet", "", "{app: a}"),
            ],
            none,
        ),
        (
            "the hash of a ReplicaSet",
            vec![by("", "{app: a, pod-template-hash: b5f8c}"), workload("Deployment", "", "{app: a}")],
            none,
        ),
        ("a Job's pods", vec![by("", "{job-name: w}"), job()], none),
    ] {
        let files: Vec<(String, String)> =
            objects.into_iter().enumerate().map(|(i, text)| (format!("{i}.yaml"), text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let folder = directory(&files);
        let found = findings(&lint(folder.path(), &[]), folder.path());
        let codes: Vec<&str> = found.iter().map(|f| f.rsplit(' ').next().unwrap()).collect();
        assert_eq!(codes, want, "{name}: {found:?}");
    }
}

fn in_namespace(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!(", namespace: '{namespace}'") }
}

fn job() -> String {
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: w}\nspec: {template: {metadata: {labels: {app: a}}, spec: \
     {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
        .to_owned()
}

/// What is found in the repository's own manifests is true: a selector without pods, addresses that the policy beside
/// them does not allow, the wrong label of the README, and the pod of the walkthrough that became unready.
#[test]
fn the_examples_and_the_installation_are_sound() {
    let ran = roster(&["lint", &repository("examples"), &repository("manifests"), "-o", "json"]);
    let found = findings(&ran, Path::new(&repository("")));
    let want = [
        "examples/shop.yaml:39 warning selector-matches-nothing",
        "examples/shop.yaml:452 warning address-provenance",
        "examples/shop.yaml:453 warning address-provenance",
        "examples/unready.yaml:39 warning stored-differs",
        "examples/unready.yaml:58 warning stored-differs",
        "examples/typo/service.yaml:8 warning selector-matches-no-template",
    ];
    assert_eq!((found, ran.code), (want.map(str::to_owned).to_vec(), 0), "{}", ran.err);
}
