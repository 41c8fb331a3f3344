//! The commands of pages that need a cluster, typed one after another as a reader does.
//!
//! The API server, its webhooks, Helm and kubectl are real. Containers are processes ([`kubelet`]). A command with an output on
//! its page must print it. Another one must end well.

mod kubelet;
mod terminal;

use std::{cell::RefCell, fs, path::Path};

use serde_json::Value;

use crate::{
    api::ApiServer,
    assets,
    control_plane::{ControlPlane, Setup},
    network::{self, Folder, row},
    pages::{blocks, matches, pages, root, screens},
};
use kubelet::Kubelet;
use terminal::{Ran, Terminal};

/// The built-in controllers that pages need.
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,garbage-collector-controller";
/// The built-in controllers that Roster's controller replaces.
const REPLACED: &str = "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller";
/// A command of [`BEFORE`] that no shell knows: the controllers in [`REPLACED`] are switched off.
const SWITCH_OFF: &str = "switch-off";

/// The pages, in the order in which a reader would need them: each finds the cluster as the one before left it.
const ORDER: [&str; 17] = [
    "docs/start.md",
    "docs/tasks/no-endpoints.md",
    "docs/tasks/page.md",
    "docs/tasks/agents.md",
    "docs/tasks/see-an-upgrade.md",
    "docs/tasks/leave-topology-keys.md",
    "docs/tasks/edge-sites.md",
    "docs/reference/node-proxy.md",
    "docs/reference/rest.md",
    "docs/reference/webhook.md",
    "docs/tasks/call-from-a-program.md",
    "docs/tasks/protect-a-cluster.md",
    "docs/tasks/alerts.md",
    "docs/tasks/high-availability.md",
    "docs/tasks/upgrade-roster.md",
    "docs/tasks/built-in-controllers.md",
    "docs/reference/controller.md",
];

/// What a reader has done before a command: the page, how the command begins, and what was done.
const BEFORE: [(&str, &str, &[&str]); 17] = [
    (
        "docs/tasks/see-an-upgrade.md",
        "roster view --diff",
        &["cp examples/sites.yaml before.yaml", "cp examples/sites.yaml after.yaml"],
    ),
    ("docs/tasks/edge-sites.md", "roster edge --node", &["cp \"$KUBECONFIG\" /etc/roster/edge.kubeconfig"]),
    (
        "docs/tasks/edge-sites.md",
        "TOKEN=",
        &[
            "kubectl -n kube-system create serviceaccount kube-proxy",
            "kubectl create clusterrolebinding proxy --clusterrole=system:node-proxier --serviceaccount=kube-system:kube-proxy",
        ],
    ),
    (
        "docs/tasks/edge-sites.md",
        "kubectl -n roster-edge create configmap",
        &["mkdir -p /etc/kubernetes/pki", "roster certs dev --dir /etc/kubernetes/pki"],
    ),
    (
        "docs/reference/node-proxy.md",
        "curl --unix-socket",
        &[
            "roster edge --node edge-1 --listen unix:/run/roster/edge.sock",
            "TOKEN=$(kubectl -n kube-system create token kube-proxy)",
        ],
    ),
    ("docs/reference/rest.md", "kubectl -n shop get", &["roster serve --listen 127.0.0.1:8080"]),
    (
        "docs/reference/rest.md",
        "openssl rand",
        &["roster certs dev --dir . --name roster.example", "echo 'resolve = roster.example:8443:127.0.0.1' > .curlrc"],
    ),
    ("docs/reference/webhook.md", "roster serve --dev", &["roster certs dev --dir ."]),
    (
        "docs/tasks/protect-a-cluster.md",
        "mkdir install",
        &["kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations roster"],
    ),
    // A reader installs with the chart or with the manifests, and not with both.
    (
        "docs/tasks/alerts.md",
        "helm upgrade roster",
        &["kubectl -n roster-system delete networkpolicy roster", "kubectl delete endpointpolicies default-mode"],
    ),
    ("docs/tasks/alerts.md", "kubectl label namespace monitoring", &["kubectl create namespace monitoring"]),
    (
        "docs/tasks/high-availability.md",
        "kubectl apply -k outside",
        &["mkdir outside", "cp \"$(grep -l 'count: 0' .blocks/*)\" outside/kustomization.yaml"],
    ),
    // Pods of before serve for some seconds after a rollout, beside those that deny it.
    (
        "docs/tasks/high-availability.md",
        "kubectl create -n default",
        &[
            "declare -i denied=0; for n in $(seq 200); do echo '{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"probe\", \"labels\": {\"service.kubernetes.io/headless\": \"\"}}, \"spec\": {\"ports\": [{\"port\": 80}]}}' | kubectl create -n default --dry-run=server -f - && denied=0 || denied=$((denied + 1)); [ $denied = 10 ] && break; sleep .2; done",
        ],
    ),
    (
        "docs/tasks/built-in-controllers.md",
        "roster drift",
        &["for n in $(seq 100); do roster drift; [ $? != 2 ] && break; sleep .2; done"],
    ),
    (
        "docs/tasks/built-in-controllers.md",
        "kubectl -n roster-system get lease",
        &["for n in $(seq 100); do kubectl -n roster-system get lease roster-controller && break; sleep .2; done"],
    ),
    // The webhook is in the cluster again.
    (
        "docs/tasks/upgrade-roster.md",
        "helm upgrade roster",
        &[
            "kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations roster",
            "kubectl delete crd endpointpolicies.roster.dev",
            "helm uninstall roster --namespace roster-system",
            "helm install roster charts/roster --namespace roster-system --set image.repository=registry.example.com/roster",
        ],
    ),
    ("docs/tasks/built-in-controllers.md", "helm upgrade --install roster-controller", &[SWITCH_OFF]),
];

/// Commands that are not run here: the page, the words of the block, how the first command begins, and the reason.
const NOT_RUN: [(&str, &str, &str, &str); 23] = [
    (
        "README.md",
        "sh",
        "cargo install --path .",
        "CI builds the program in another way; release tests try the package and the installer",
    ),
    ("README.md", "sh", "cargo run --release", "every test of the browser starts this server"),
    ("README.md", "sh", "cargo xtask test", "this runs the tests"),
    ("docs/explanation/growth.md", "sh", "cargo xtask growth", "CI runs the first one as a step"),
    ("docs/reference/cli.md", "sh", "", "every_command_has_examples_that_it_accepts reads them"),
    (
        "docs/reference/release.md",
        "console install",
        "sh install.sh",
        "needs a release; cargo xtask release --verify tries it",
    ),
    (
        "docs/reference/release.md",
        "console install",
        "sudo apt install",
        "needs a release; cargo xtask release --verify tries it",
    ),
    ("docs/reference/release.md", "console install", "cosign verify-blob --key", "needs a release and cosign"),
    (
        "docs/reference/release.md",
        "console install",
        "base64 --decode",
        "needs a release; cargo xtask release --verify tries it",
    ),
    ("docs/reference/release.md", "console install", "cosign verify-blob-attestation", "needs a release and cosign"),
    ("docs/reference/release.md", "console install", "cosign verify --key", "needs a registry with a release"),
    ("docs/reference/release.md", "console install", "skopeo copy", "needs a registry"),
    (
        "docs/reference/release.md",
        "console install",
        "helm install roster roster-0.1.0.tgz",
        "needs a registry with a release",
    ),
    ("docs/reference/release.md", "console install", "cargo xtask release", "publishes a release"),
    ("docs/start.md", "console install", "git clone", "needs the published repository"),
    ("docs/tasks/agents.md", "sh", "claude mcp add", "needs Claude Code"),
    (
        "docs/tasks/agents.md",
        "sh",
        "npx @modelcontextprotocol",
        "downloads a program; tests/it/cli/mcp.rs calls the tools",
    ),
    ("docs/tasks/call-from-a-program.md", "sh", "openapi-python-client", "the step clients of CI does it"),
    ("docs/tasks/call-from-a-program.md", "sh", "go tool oapi-codegen", "the step clients of CI does it"),
    ("docs/tasks/call-from-a-program.md", "sh", "npx openapi-ts", "the step clients of CI does it"),
    ("docs/tasks/call-from-a-program.md", "sh", "cargo run --example plan", "tests/it/examples.rs runs the examples"),
    ("docs/tasks/embed.md", "console tools", "cargo xtask playground", "the step wasm of CI does it"),
    ("docs/tasks/embed.md", "console tools", "cd examples/wasm/go", "the step wasm of CI does it"),
];

/// Programs on pages. A block that begins with one has commands, whatever its words are.
const PROGRAMS: [&str; 10] = ["cargo", "curl", "docker", "git", "go", "helm", "kubectl", "npx", "roster", "sh"];

/// Commands in blocks `cluster` that are not run: the page, how they begin, and the reason.
const LEFT_OUT: [(&str, &str, &str); 1] = [(
    "docs/tasks/edge-sites.md",
    "roster edge --node edge-1 --scheme superedge \\\n  --local-pods",
    "needs a kubelet",
)];

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn the_commands_of_pages_work_in_a_cluster() {
    if !network::is_own() {
        return network::run_inside("screens::the_commands_of_pages_work_in_a_cluster");
    }
    network::set_up(&["addr add 192.0.2.1/24 dev lo"]);
    let (assets, dir) = (assets(), Folder::new());
    let routing = ["--enable-aggregator-routing=true".to_owned()];
    let setup = Setup { assets: &assets, dir: dir.path(), api_server: &routing, controllers: false };
    let mut plane = ControlPlane::start(&setup).unwrap();
    plane.start_controllers_named(&format!("{CONTROLLERS},{REPLACED}")).unwrap();
    plane.kubectl_with(&format!("apply --server-side -f {}", assets.join("crds").display()), "").unwrap();
    fill(&ApiServer::of(&plane));
    let plane = RefCell::new(plane);
    // It ends before the API server.
    let kubelet = Kubelet::start(&plane.borrow().kubeconfig(), dir.path().join("pods"));
    // One page, or a file of your own.
    let only = std::env::var("ROSTER_PAGE").unwrap_or_default();
    let of_order = || ORDER.into_iter().filter(|page| page.contains(&only)).collect();
    let chosen: Vec<&str> = if Path::new(&only).is_absolute() { vec![&only] } else { of_order() };
    let mut wrong = Vec::new();
    for page in chosen {
        let began = std::time::Instant::now();
        let (ran, mut faults) = typed(page, &plane, &kubelet);
        row(page, &format!("{ran} commands, {:.1} s", began.elapsed().as_secs_f32()));
        wrong.append(&mut faults);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The objects of the shop, with their statuses.
fn fill(api: &ApiServer) {
    let text = fs::read_to_string(root().join("tests/cluster/shop.yaml")).unwrap();
    for document in text.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        let told = api.create(&object, "", false);
        assert_eq!(told.status, 201, "{told:?}");
        if object["status"].is_object() {
            let told = api.patch_status(&object, &serde_json::json!({ "status": object["status"] }));
            assert_eq!(told.status, 200, "{told:?}");
        }
    }
}

/// Types the commands of a page; how many needed the cluster, and what is wrong with them.
fn typed(page: &str, plane: &RefCell<ControlPlane>, kubelet: &Kubelet) -> (usize, Vec<String>) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut terminal = Terminal::new(plane, kubelet);
    let (mut count, mut wrong) = (0, Vec::new());
    write_blocks(&text, &terminal.folder().join(".blocks"));
    for screen in screens(&text) {
        let command = screen.command();
        if LEFT_OUT.iter().any(|(of, begin, _)| *of == page && command.starts_with(begin)) {
            continue;
        }
        for (_, _, before) in BEFORE.iter().filter(|(of, begin, _)| *of == page && command.starts_with(begin)) {
            for done in *before {
                if *done == SWITCH_OFF {
                    let mut plane = plane.borrow_mut();
                    plane.stop_controllers();
                    plane.start_controllers_named(CONTROLLERS).unwrap();
                    continue;
                }
                let ran = terminal.run(done);
                assert!(ran.code <= 1, "{page}: before {command}: {done}\n{}", ran.text);
            }
        }
        match screen.needs {
            "cluster" => {
                count += 1;
                let ran = terminal.run(&command);
                if std::env::var_os("ROSTER_PAGE").is_some() {
                    println!("$ {command}\n[{}]\n{}", ran.code, ran.text);
                }
                if !is_right(&command, &screen.output(), &ran) {
                    println!("{page}: $ {command}\n[{}]\n{}", ran.code, ran.text);
                    wrong.push(format!("{page}: $ {command}\nexit code {}\n{}", ran.code, ran.text));
                }
            }
            // Later commands need the files. tests/it compares what is printed.
            "" if command.contains(" > ") => drop(terminal.run(&command)),
            _ => {}
        }
    }
    (count, wrong)
}

/// Whether a command did what the page says.
fn is_right(command: &str, shown: &str, ran: &Ran) -> bool {
    if !shown.is_empty() {
        return matches(shown, &ran.text);
    }
    // Roster found something. Helm and kubectl end with 1 as well, for a failure.
    let found = command.starts_with("roster ") && ran.code == 1 && !ran.text.starts_with("error");
    ran.code == 0 || found
}

/// Writes the blocks of a page that are files.
fn write_blocks(page: &str, folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (at, block) in blocks(page).iter().enumerate().filter(|(_, block)| block.words == "yaml") {
        fs::write(folder.join(format!("{at}.yaml")), block.text()).unwrap();
    }
}

/// Every block with commands is run by a test, or listed with a reason; and nothing is listed that is not there.
#[test]
fn every_block_of_commands_is_run_or_has_a_reason() {
    let (mut unknown, mut met) = (Vec::new(), vec![false; NOT_RUN.len()]);
    let (mut used, mut left) = (vec![false; BEFORE.len()], vec![false; LEFT_OUT.len()]);
    for path in pages() {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        for block in blocks(&text) {
            let text = block.text();
            let first = text.trim_start_matches("$ ");
            match block.words {
                "" if first.len() == text.len() && !PROGRAMS.contains(&first.split(' ').next().unwrap()) => continue,
                "console" | "console server" => continue,
                "console cluster" if ORDER.contains(&name.as_str()) => continue,
                words if words.is_empty() || words == "sh" || words.starts_with("console") => {}
                _ => continue,
            }
            let entry = NOT_RUN
                .iter()
                .position(|(page, words, begin, _)| *page == name && *words == block.words && first.starts_with(begin));
            match entry {
                Some(at) => met[at] = true,
                None => unknown.push(format!("{name}: {}: {}", block.words, first.lines().next().unwrap_or_default())),
            }
        }
        for screen in screens(&text).iter().filter(|screen| screen.needs == "cluster") {
            let command = screen.command();
            for (at, (page, begin, _)) in BEFORE.iter().enumerate() {
                used[at] |= *page == name && command.starts_with(begin);
            }
            for (at, (page, begin, _)) in LEFT_OUT.iter().enumerate() {
                left[at] |= *page == name && command.starts_with(begin);
            }
        }
    }
    assert!(unknown.is_empty(), "run by nothing:\n{}", unknown.join("\n"));
    let stale =
        |rows: &[bool]| rows.iter().enumerate().filter(|(_, is_met)| !**is_met).map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(
        (stale(&met), stale(&used), stale(&left)),
        (vec![], vec![], vec![]),
        "rows of NOT_RUN, BEFORE, LEFT_OUT"
    );
}
