//! What the webhook adds to the creation of a Service, as the histograms of a real API server show it.

mod latency;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::Goals;
use crate::cluster::{ControlPlane, Setup, assets_folder};
use crate::command::{Process, release_program};
use crate::free_port::free_address;
use crate::paths;
use latency::CreateLatencies;

/// How many Services one turn creates.
const SERVICES: usize = 500;
const NAMESPACE: &str = "bench";
const ANNOTATION: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/// Creates Services with and without the webhook in turns, and prints the latencies that the API server measured.
pub(crate) fn run_cost(rounds: usize, goals: &mut Goals) -> Result<()> {
    let folder = paths::target().join(format!("bench-cost-{}", std::process::id()));
    let assets = assets_folder()?;
    let plane = ControlPlane::start(&Setup { assets: &assets, dir: &folder, api_server: &[], controllers: false })?;
    plane.kubectl_with(&format!("create namespace {NAMESPACE}"), "")?;
    let roster = Roster::start(&plane, &folder)?;
    // Work that is done once (connections, compiled conditions, warm caches) is not measured.
    turn(&plane, false)?;
    let mut phases = Phase::all()?;
    for _ in 0..rounds {
        for phase in &mut phases {
            roster.register(&plane, phase.registered)?;
            turn(&plane, phase.annotated)?;
            let before = CreateLatencies::read(&plane)?;
            turn(&plane, phase.annotated)?;
            phase.latencies.add(&before, &CreateLatencies::read(&plane)?)?;
        }
    }
    print(&phases, rounds * SERVICES);
    for phase in &phases {
        let calls = [phase.latencies.mutate.calls(), phase.latencies.validate.calls()];
        let all = (rounds * SERVICES) as u64;
        let wanted = [phase.registered && phase.annotated, phase.registered].map(|is| if is { all } else { 0 });
        let text = format!("{}: the webhooks were called {calls:?} times; {wanted:?} expected", phase.name);
        goals.check(calls == wanted, &text);
    }
    drop(plane);
    fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))
}

/// One line of the comparison: whether the webhook is registered, and whether Services have an annotation that it changes.
struct Phase {
    name: &'static str,
    registered: bool,
    annotated: bool,
    latencies: CreateLatencies,
}

impl Phase {
    fn all() -> Result<[Self; 3]> {
        let phase = |name, registered, annotated| -> Result<Self> {
            Ok(Self { name, registered, annotated, latencies: CreateLatencies::new()? })
        };
        Ok([
            phase("without Roster", false, true)?,
            phase("validated", true, false)?,
            phase("changed and validated", true, true)?,
        ])
    }
}

/// Creates Services, and deletes them.
fn turn(plane: &ControlPlane, annotated: bool) -> Result<()> {
    let annotations = if annotated { json!({ ANNOTATION: "true" }) } else { json!({}) };
    let service = |i| {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": format!("s{i}"), "annotations": annotations },
            "spec": { "clusterIP": "None", "selector": { "app": "x" }, "ports": [{ "name": "http", "port": 80 }] },
        })
    };
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": (0..SERVICES).map(service).collect::<Vec<_>>() });
    plane.kubectl_with(&format!("create -n {NAMESPACE} -f -"), &list.to_string())?;
    plane.kubectl_with(&format!("delete services --all --wait=false -n {NAMESPACE}"), "")?;
    Ok(())
}

/// A running webhook that watches the cluster.
struct Roster {
    #[expect(dead_code, reason = "held, never read")]
    process: Process,
    configurations: String,
}

impl Roster {
    fn start(plane: &ControlPlane, folder: &Path) -> Result<Self> {
        let program = release_program()?;
        let made = Command::new(&program).args(["certs", "dev", "--dir"]).arg(folder).output()?;
        ensure!(made.status.success(), "roster certs dev: {}", String::from_utf8_lossy(&made.stderr));
        let (address, admin) = (free_address()?.to_string(), free_address()?.to_string());
        let mut command = Command::new(program);
        command.args(["serve", "--webhook-listen", &address, "--admin-listen", &admin, "--cluster", "--kubeconfig"]);
        command.arg(plane.kubeconfig()).arg("--tls-cert-file").arg(folder.join("tls.crt"));
        command.arg("--tls-private-key-file").arg(folder.join("tls.key"));
        // It watches policies: their definition is there before it.
        plane.kubectl_with("apply -f manifests/base/crd.yaml", "")?;
        let process =
            Process::new(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting roster")?);
        let bundle = BASE64_STANDARD.encode(fs::read(folder.join("ca.crt"))?);
        Ok(Self { process, configurations: configurations(plane, &address, &bundle)? })
    }

    /// Creates or deletes the webhook configurations, and waits until the API server uses them.
    fn register(&self, plane: &ControlPlane, wanted: bool) -> Result<()> {
        let verb = if wanted { "apply" } else { "delete --ignore-not-found" };
        plane.kubectl_with(&format!("{verb} -f -"), &self.configurations)?;
        let probe = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "probe", "labels": { "service.kubernetes.io/headless": "" } },
            "spec": { "ports": [{ "port": 80 }] },
        });
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let asked = plane.kubectl_with(&format!("create -n {NAMESPACE} --dry-run=server -f -"), &probe.to_string());
            if asked.is_err() == wanted {
                return Ok(());
            }
            ensure!(Instant::now() < until, "the API server does not use the configurations");
            sleep(Duration::from_millis(100));
        }
    }
}

/// The committed configurations with the URL of the webhook, because this cluster has no pod network.
fn configurations(plane: &ControlPlane, address: &str, bundle: &str) -> Result<String> {
    let text = plane.kubectl_with("create --dry-run=client -o json -f manifests/base/webhooks.yaml", "")?;
    let mut all = Vec::new();
    for document in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let mut document = document.context("the output of kubectl")?;
        for webhook in document["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
            webhook["clientConfig"] = json!({ "url": format!("https://{address}{path}"), "caBundle": bundle });
        }
        all.push(document);
    }
    Ok(json!({ "apiVersion": "v1", "kind": "List", "items": all }).to_string())
}

fn print(phases: &[Phase], services: usize) {
    println!(
        "\ncreating a headless Service, {services} of them in each line; milliseconds, as the API server measured them"
    );
    println!("{:<40}{:>15}{:>15}{:>17}{:>12}", "", "request, mean", "mutate, mean", "validate, mean", "p99 below");
    for phase in phases {
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{:.2}", v * 1000.0));
        let CreateLatencies { request, mutate, validate } = &phase.latencies;
        let slowest = [mutate, validate].into_iter().filter_map(|h| h.quantile(0.99)).max_by(f64::total_cmp);
        println!(
            "{:<40}{:>15}{:>15}{:>17}{:>12}",
            phase.name,
            cell(request.mean()),
            cell(mutate.mean()),
            cell(validate.mean()),
            cell(slowest),
        );
    }
}
