//! The chart in a real API server: every set of values as a dry run; and a release that is installed over an older CRD,
//! upgraded from one set to another, and removed.

mod schemas;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use roster_engine::model::installed::{CERTS_MANAGER, CRD, NAME, NAMESPACE, SERVICE};
use serde_json::{Value, json};

use super::{
    assets,
    control_plane::ControlPlane,
    faults::replicas,
    get, kubectl,
    load::CLOSED,
    network,
    network::{Folder, row},
    site::Site,
    start_without_controllers, wait,
};
use schemas::Schemas;

const CONFIGURATIONS: &str = "mutatingwebhookconfigurations,validatingwebhookconfigurations";

/// The folder of the chart.
fn chart() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/charts/roster").into()
}

/// The file of a set of values.
fn set(name: &str) -> PathBuf {
    chart().join("ci").join(format!("{name}-values.yaml"))
}

/// `helm`, and the version of it that `ROSTER_HELM` names.
fn helm_programs() -> Vec<OsString> {
    ["helm".into()].into_iter().chain(std::env::var_os("ROSTER_HELM")).collect()
}

/// A version of `helm`, and the control plane that it talks to.
struct Helm<'a> {
    program: OsString,
    plane: &'a ControlPlane,
}

impl<'a> Helm<'a> {
    fn of(plane: &'a ControlPlane) -> Self {
        Self { program: "helm".into(), plane }
    }

    /// Its output, if it ended well.
    fn try_run(&self, args: &[&str]) -> Result<String, String> {
        let ran = Command::new(&self.program).arg("--kubeconfig").arg(self.plane.kubeconfig()).args(args).output();
        let out = ran.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.status.success() { Ok(text) } else { Err(text + &String::from_utf8_lossy(&out.stderr)) }
    }

    /// The same, and it must end well.
    fn run(&self, args: &[&str]) -> String {
        self.try_run(args).unwrap_or_else(|told| panic!("{} {args:?}: {told}", self.program.display()))
    }
}

/// The chart with a set of values, as `helm` gets them, for the namespace of the manifests.
fn release<'a>(chart: &'a Path, values: &'a Path, verb: &'a [&'a str]) -> Vec<&'a str> {
    let (chart, values) = (chart.to_str().unwrap(), values.to_str().unwrap());
    [verb, &[chart, "--values", values, "--namespace", NAMESPACE]].concat()
}

/// Runs `kubectl`, which must end well.
fn kubectl_well(plane: &ControlPlane, line: &str, input: &str) -> String {
    let (well, told) = kubectl(plane, line, input);
    assert!(well, "kubectl {line}: {told}");
    told
}

/// A control plane that knows the kinds of the operators.
fn start(dir: &Path) -> ControlPlane {
    let assets = assets();
    let plane = start_without_controllers(&assets, dir);
    kubectl_well(&plane, &format!("apply --server-side -f {}", assets.join("crds").display()), "");
    kubectl_well(&plane, "wait --for=condition=Established --timeout=30s crd --all", "");
    plane
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn an_api_server_takes_every_set_of_values() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(dir.path());
    kubectl_well(&plane, &format!("create namespace {NAMESPACE}"), "");
    let schemas = Schemas::of(&plane, &dir.path().join("schemas"));
    let mut sets: Vec<PathBuf> = fs::read_dir(chart().join("ci")).unwrap().map(|entry| entry.unwrap().path()).collect();
    sets.sort();
    assert!(sets.len() >= 6);
    for values in sets {
        let text = Helm::of(&plane)
            .run(&[&release(&chart(), &values, &["template", NAME])[..], &["--kube-version", "1.37.0"]].concat());
        let objects = text.matches("\nkind: ").count();
        let told = kubectl_well(&plane, "apply --server-side --dry-run=server -f -", &text);
        let taken = told.lines().filter(|line| line.ends_with("serverside-applied (server dry run)")).count();
        assert_eq!(taken, objects, "{}: {told}", values.display());
        schemas.check(&text, objects);
    }
}

/// What must be true of a release, whatever its values.
fn the_release_is_whole(plane: &ControlPlane) {
    // Written by the certificate manager, and by nothing else.
    for kind in CONFIGURATIONS.split(',') {
        let told = kubectl_well(plane, &format!("get {kind} {NAME} -o json"), "");
        let configuration: Value = serde_json::from_str(&told).unwrap();
        for webhook in configuration["webhooks"].as_array().unwrap() {
            assert_eq!(webhook["clientConfig"]["caBundle"], bundle(), "{told}");
            assert_eq!(webhook["clientConfig"]["service"]["namespace"], NAMESPACE, "{told}");
        }
    }
    assert_eq!(
        kubectl_well(plane, "get endpointpolicies.v1alpha1.roster.dev flat -o jsonpath={.spec.namespaces}", ""),
        "[\"shop\"]"
    );
}

/// The `caBundle` of every webhook of the test.
fn bundle() -> &'static str {
    static BUNDLE: OnceLock<String> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(vec!["ca".to_owned()]).unwrap();
        BASE64_STANDARD.encode(made.cert.pem())
    })
}

/// Writes every `caBundle` of the configurations as the certificate manager does.
fn write_bundles(plane: &ControlPlane) {
    for kind in CONFIGURATIONS.split(',') {
        let stored: Value =
            serde_json::from_str(&kubectl_well(plane, &format!("get {kind} {NAME} -o json"), "")).unwrap();
        let webhooks = stored["webhooks"].as_array().unwrap().iter();
        let webhooks: Vec<Value> =
            webhooks.map(|w| json!({ "name": w["name"], "clientConfig": { "caBundle": bundle() } })).collect();
        let mine = json!({
            "apiVersion": stored["apiVersion"], "kind": stored["kind"], "metadata": { "name": NAME }, "webhooks": webhooks,
        });
        let line = format!("apply --server-side --field-manager={CERTS_MANAGER} --validate=false -f -");
        kubectl_well(plane, &line, &mine.to_string());
    }
}

/// The chart of a release that had only the older version of policies.
fn older_chart(dir: &Path) -> PathBuf {
    let folder = dir.join("older");
    let copied = Command::new("cp").arg("-r").arg(chart()).arg(&folder).status().unwrap();
    assert!(copied.success());
    let mut crd = roster::deploy::files(&roster::cli::server_permissions())
        .into_iter()
        .flat_map(|file| file.documents)
        .find(|document| document["metadata"]["name"] == CRD)
        .unwrap();
    crd["metadata"]["annotations"] = json!({ "helm.sh/resource-policy": "keep" });
    crd["spec"]["conversion"] = json!({ "strategy": "None" });
    let versions = crd["spec"]["versions"].as_array_mut().unwrap();
    versions.retain(|version| version["name"] == "v1alpha1");
    versions[0]["storage"] = true.into();
    // Braces stand alone, so that Helm sees no expression.
    fs::write(folder.join("templates/crd.yaml"), format!("{crd:#}")).unwrap();
    folder
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_release_is_installed_upgraded_and_removed() {
    for program in helm_programs() {
        let dir = tempfile::tempdir().unwrap();
        let plane = start(dir.path());
        installed_upgraded_and_removed(dir.path(), &Helm { program, plane: &plane });
    }
}

fn installed_upgraded_and_removed(dir: &Path, helm: &Helm<'_>) {
    let plane = helm.plane;
    let (chart, default) = (chart(), set("default"));
    let older = older_chart(dir);
    helm.run(&[&release(&older, &default, &["install", NAME])[..], &["--create-namespace"]].concat());
    let policy = json!({
        "apiVersion": "roster.dev/v1alpha1", "kind": "EndpointPolicy", "metadata": { "name": "flat" },
        "spec": { "defaultMode": "audit", "namespaces": ["shop"] },
    });
    kubectl_well(plane, "wait --for=condition=Established --timeout=30s crd/endpointpolicies.roster.dev", "");
    kubectl_well(plane, "create -f -", &policy.to_string());
    write_bundles(plane);

    // From the older CRD to each set, one after the other, and back.
    for name in ["default", "ha", "everything", "one-replica", "beside", "default"] {
        // Without it, Helm 3 keeps the values of before where a set has none.
        helm.run(&release(&chart, &set(name), &["upgrade", NAME, "--reset-values"]));
        the_release_is_whole(plane);
        let told = kubectl_well(plane, &format!("get crd {CRD} -o json"), "");
        let crd: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"], SERVICE, "{name}: {told}");
        assert_eq!(crd["status"]["storedVersions"], json!(["v1alpha1", "v1"]), "{name}");
    }
    // What a set turns on is gone with it.
    let deployments = kubectl_well(plane, &format!("get deployments -n {NAMESPACE} -o name"), "");
    assert_eq!(deployments, format!("deployment.apps/{NAME}\n"));
    helm.run(&["rollback", NAME, "3", "--namespace", NAMESPACE]);
    the_release_is_whole(plane);

    helm.run(&["uninstall", NAME, "--namespace", NAMESPACE]);
    let kinds =
        [CONFIGURATIONS, "validatingadmissionpolicies,validatingadmissionpolicybindings", "clusterroles"].join(",");
    let left = kubectl_well(plane, &format!("get {kinds} -l app.kubernetes.io/part-of=roster -o name"), "");
    assert_eq!(left, "");
    // Policies stay, and the next release takes them over.
    let policies = kubectl_well(plane, "get endpointpolicies.v1alpha1.roster.dev -o name", "");
    assert_eq!(policies, "endpointpolicy.roster.dev/flat\n");
    helm.run(&release(&chart, &default, &["install", NAME]));
    // Under another name, only with a flag.
    helm.run(&["uninstall", NAME, "--namespace", NAMESPACE]);
    let other = release(&chart, &default, &["install", "other"]);
    let told = helm.try_run(&other).unwrap_err();
    assert!(told.contains("invalid ownership metadata"), "{told}");
    helm.run(&[&other[..], &["--take-ownership"]].concat());
}

/// Objects of `kubectl apply -k` become those of a release.
#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_release_takes_over_what_kubectl_applied() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(dir.path());
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/base");
    kubectl_well(&plane, &format!("apply -k {base}"), "");
    let default = set("default");
    Helm::of(&plane).run(&[&release(&chart(), &default, &["install", NAME])[..], &["--take-ownership"]].concat());
    let args = "jsonpath={.spec.template.spec.containers[0].args}";
    let args = kubectl_well(&plane, &format!("get deployment {NAME} -n {NAMESPACE} -o {args}"), "");
    assert!(args.contains("--policy=/policies/policies.yaml"), "{args}");
}

/// What helm renders of the chart with a default mode, for the namespace of the manifests.
fn rendered(mode: &str) -> Vec<Value> {
    let mode = format!("webhook.defaultMode={mode}");
    let chart = chart();
    let args = [
        "template",
        NAME,
        chart.to_str().unwrap(),
        "--namespace",
        NAMESPACE,
        "--kube-version",
        "1.37.0",
        "--set",
        &mode,
    ];
    let out = Command::new("helm").args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// The policies of the chart, as a replica reads them.
fn policies(documents: &[Value]) -> &str {
    let config_map = documents.iter().find(|document| document["metadata"]["name"] == "roster-policies").unwrap();
    config_map["data"]["policies.yaml"].as_str().unwrap()
}

/// What the chart installs, with replicas behind its Service: it audits, enforces on demand, is rolled, and goes, and
/// no good write is lost.
#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_release_audits_enforces_and_loses_no_write() {
    if !network::is_own() {
        return network::run_inside("chart::a_release_audits_enforces_and_loses_no_write");
    }
    let (assets, dir) = (assets(), Folder::new());
    let file = dir.path().join("policies.yaml");
    let audits = rendered("audit");
    fs::write(&file, policies(&audits)).unwrap();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let flags = vec![format!("--policy={}", file.display())];
    let documents = [vec![namespace], audits].concat();
    let mut site = Site::start_with(&assets, dir.path(), 2, documents, flags);
    // Refused by a rule that is enforced by default.
    let bad = json!({
        "apiVersion": "v1", "kind": "Service", "spec": { "ports": [{ "port": 80 }] },
        "metadata": { "name": "bad", "namespace": CLOSED, "labels": { "service.kubernetes.io/headless": "" } },
    })
    .to_string();
    let write = |site: &Site| kubectl(site.plane(), "create --dry-run=server -f -", &bad);
    let (well, told) = wait("the webhook is called", || {
        let answer = write(&site);
        let findings: usize = site.replicas.iter().map(|replica| audited(&replica.admin())).sum();
        (findings > 0).then_some(answer)
    });
    assert!(well, "{told}");
    row("audit: a bad write", "admitted, and counted");

    fs::write(&file, policies(&rendered("per-rule"))).unwrap();
    wait("each replica has the rules", || {
        site.replicas.iter().all(|replica| replica.log_text().contains("policy file loaded")).then_some(())
    });
    let told = wait("the rules are enforced", || Some(write(&site)).filter(|(well, _)| !well)).1;
    assert!(told.contains("reserved-label"), "{told}");
    row("per-rule: a bad write", "refused");

    let load = site.load();
    let name = replicas::rolled(&mut site, &load);
    let tally = load.stop();
    row(&name, &tally.to_string());
    tally.assert_clean();

    // As docs/tasks/upgrade-roster.md says: the configurations go first. Helm alone would delete the Service before them.
    let load = site.load();
    kubectl_well(site.plane(), &format!("delete {CONFIGURATIONS} {NAME}"), "");
    kubectl_well(site.plane(), &format!("delete service {SERVICE} -n {NAMESPACE}"), "");
    load.go_on(200);
    let tally = load.stop();
    row("uninstalled; bad writes are admitted from then on", &tally.to_string());
    assert_eq!(tally.failed_good.all(), 0, "{:#?}", tally.complaints);
}

/// Findings of rules in the mode `audit` that a replica has counted.
fn audited(admin: &str) -> usize {
    let metrics = get(admin, "/metrics").unwrap_or_default();
    let lines = metrics
        .lines()
        .filter(|line| line.starts_with("roster_admission_findings_total{") && line.contains("mode=\"audit\""));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}
