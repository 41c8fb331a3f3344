//! Every rule in every mode, as a client of a real API server sees it: in kubectl, in the API, in the audit log.
//!
//! What is wanted stands in `docs/reference/rules.md`, so that its examples are what an API server says. One policy for each rule
//! and mode is about one object, by a label; all of them are in force at once.

#[path = "../it/rules/examples.rs"]
mod examples;
mod recorder;
mod updates;
mod wanted;

use std::{fs, path::Path};

use roster_admission::{Mode, Remedy, Rule};
use serde_json::{Value, json};

use super::{
    api::{ApiServer, Told},
    assets,
    control_plane::{ControlPlane, Setup},
    kubectl, wait,
    webhook::{Webhook, manifests},
};
use examples::{LABEL, MODES, case, cluster, data, object, policy};
use recorder::Recorder;
use wanted::Wanted;

/// Rules that the API server holds to itself, whatever the mode: no webhook is asked then.
const ITS_OWN: &[(Rule, &str)] =
    &[(Rule::SliceOverCapacity, "endpoints: Too many: 1200: must have at most 1000 items")];

/// Which requests are in the audit log, and with the annotations only.
const AUDIT_POLICY: &str = r#"{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],
    "rules":[{"level":"Metadata","verbs":["create"],"namespaces":["shop"]},{"level":"None"}]}"#;

/// An example in a mode.
#[derive(Clone, Copy, Debug)]
struct Cell {
    rule: Rule,
    mode: Mode,
}

impl Cell {
    fn all() -> Vec<Self> {
        Rule::ALL.iter().flat_map(|rule| MODES.map(|mode| Self { rule: *rule, mode })).collect()
    }

    fn name(self) -> String {
        case(self.rule, self.mode)
    }

    /// The example, with the label by which its policy knows it.
    fn object(self) -> Value {
        let mut object = object(self.rule);
        object["metadata"]["labels"][LABEL] = self.name().into();
        object
    }

    /// Whether it is not stored, be it that the API server itself does not take it.
    fn is_refused(self) -> bool {
        self.its_own().is_some() || self.mode == Mode::Enforce && self.rule.remedy() == Remedy::Refuse
    }

    /// What the API server says by itself.
    fn its_own(self) -> Option<&'static str> {
        ITS_OWN.iter().find(|(rule, _)| *rule == self.rule).map(|(_, text)| *text)
    }
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn every_rule_in_every_mode() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.log");
    let plane = start(&assets, dir.path(), &log);
    let (server, recorder) = fill(&plane, dir.path());
    let api = ApiServer::of(&plane);
    wait("the webhook is asked", || {
        let cell = Cell { rule: Rule::ExternalIp, mode: Mode::Enforce };
        (api.create(&cell.object(), "probe", true).status == 403).then_some(())
    });
    if let Some(recorder) = &recorder {
        recorder.begin();
    }
    let told = by_the_api(&api);
    updates::check(&api);
    if let Some(recorder) = &recorder {
        recorder.write();
    }
    audited(&log, &told);
    by_kubectl(&plane);
    drop((server, recorder));
}

/// An API server that writes an audit log. No controllers: they would write slices of their own.
fn start(assets: &Path, dir: &Path, log: &Path) -> ControlPlane {
    let policy = dir.join("audit.json");
    fs::write(&policy, AUDIT_POLICY).unwrap();
    let flags = [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())];
    ControlPlane::start(&Setup { assets, dir, api_server: &flags, controllers: false }).unwrap()
}

/// Policies, what the examples meet, and the webhook: in this order, so that all is known when it is ready.
fn fill(plane: &ControlPlane, dir: &Path) -> (Webhook, Option<Recorder>) {
    let well = |line: &str, input: &str| {
        let (well, told) = kubectl(plane, line, input);
        assert!(well, "{line}: {told}");
    };
    let list = |items: Vec<Value>| json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    well("create -f -", &list(vec![crd()]));
    well("wait --for=condition=Established --timeout=30s crd/endpointpolicies.roster.dev", "");
    well("create -f -", &list(Cell::all().into_iter().map(|c| policy(c.rule, c.mode)).collect()));
    well("create -f -", &data("cluster"));
    // An API server takes no status when an object is created.
    let pods: Vec<String> =
        data("cluster").split("\n---\n").filter(|d| d.contains("kind: Pod")).map(str::to_owned).collect();
    well("replace --subresource=status -f -", &pods.join("\n---\n"));
    assert_eq!(pods.len(), cluster().pods.len());

    let server = Webhook::start_in(plane, dir);
    let recorder = Recorder::wanted(&server);
    let address = recorder.as_ref().map_or(&server.address, |r| &r.address);
    well("apply -f -", &with_longest_timeout(&manifests(address, &server.bundle())));
    server.wait_until_ready();
    (server, recorder)
}

/// The CRD. Its versions are not converted here: there is nobody yet who would.
fn crd() -> Value {
    let mut crd = roster_admission::policy::crd();
    crd["spec"]["conversion"] = json!({ "strategy": "None" });
    crd
}

/// Sets the longest time-out and the failure policy Fail: on a busy machine, an object that is stored without a review
/// would look like a rule that finds nothing.
fn with_longest_timeout(manifests: &str) -> String {
    let mut list: Value = serde_json::from_str(manifests).unwrap();
    for object in list["items"].as_array_mut().unwrap() {
        for webhook in object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
            webhook["timeoutSeconds"] = 30.into();
            webhook["failurePolicy"] = "Fail".into();
        }
    }
    list.to_string()
}

/// Creates and deletes each object. Returns what the client saw.
fn by_the_api(api: &ApiServer) -> Vec<(Cell, Told)> {
    let wanted = Wanted::read();
    let mut all: Vec<(Cell, Told)> = Vec::new();
    let mut silent = Vec::new();
    for cell in Cell::all() {
        let told = api.create(&cell.object(), &cell.name(), false);
        if told.status == 201 {
            api.delete(&cell.object());
        }
        if cell.mode == Mode::Off {
            // What an API server says by itself, of deprecated kinds and fields.
            silent.clone_from(&told.warnings);
        }
        wanted.check(cell, &told, &silent);
        all.push((cell, told));
    }
    assert_eq!(all.len(), Rule::COUNT * MODES.len());
    all
}

/// Applies the YAML of all objects of a mode, as a dry run: nothing is stored, so they do not meet each other.
fn by_kubectl(plane: &ControlPlane) {
    let wanted = Wanted::read();
    std::thread::scope(|scope| {
        for mode in MODES {
            let wanted = &wanted;
            scope.spawn(move || {
                let cells: Vec<Cell> = Cell::all().into_iter().filter(|c| c.mode == mode).collect();
                let yaml: Vec<String> = cells.iter().map(|c| serde_saphyr::to_string(&c.object()).unwrap()).collect();
                let (well, told) = kubectl(plane, "apply --dry-run=server -f -", &yaml.join("\n---\n"));
                wanted.check_kubectl(&cells, well, &told);
            });
        }
    });
}

/// Whether the audit log says of each request what its mode asks for.
fn audited(log: &Path, told: &[(Cell, Told)]) {
    let text = fs::read_to_string(log).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (cell, told) in told {
        let name = cell.name();
        let event = events
            .iter()
            .find(|e| e["auditID"] == name.as_str())
            .unwrap_or_else(|| panic!("{name} is not in the audit log"));
        let notes: Vec<(&str, &str)> = event["annotations"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, text)| Some((key.split_once(".roster.dev/")?.1, text.as_str()?)))
            .collect();
        let heard = cell.mode != Mode::Off && cell.its_own().is_none();
        let codes: Vec<&str> = notes.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, if heard { vec![cell.rule.code()] } else { vec![] }, "{name}: {event}");
        assert!(notes.iter().all(|(_, text)| !text.is_empty()), "{name}: {event}");
        // Who is refused, or was warned, reads the same words.
        let said = told.body["message"].as_str().unwrap_or_default();
        assert!(
            !said.contains("denied the request") || notes.iter().any(|(_, text)| said.contains(text)),
            "{name}: {event}"
        );
    }
}
