//! Every example shows its code, and no other problem than those that its first lines name.

use std::{collections::BTreeSet, fs, path::Path};

use roster_engine::{
    explain::{Explanation, Focus, explain_only},
    model::{Pod, Text},
    plan::selected_pods,
    reason::{Reason, Severity},
    state::{Controller, Options},
    view::{Scheme, ViewedCluster, ViewedService, Viewpoint, planned_slices},
};
use roster_manifests::{
    decode::{self, Source},
    inventory::{Entry, Index, Inventory, ServiceFindings, whole},
};

use super::{Example, SHOP, WITHOUT, all};

/// The codes of an answer, with their severities; those of views have none of their own.
type Codes = BTreeSet<(Severity, Reason)>;

/// What the page shows of a file: explanations, plans, findings about the input, and the view of the node.
fn codes(example: &Example) -> Codes {
    let source = Source::body();
    let mut inventory = Inventory::default();
    decode::read_text(example.text, &source, &mut inventory).unwrap();
    inventory.label_pods(&source.defaults);
    inventory.assume_pods(&source.defaults, &[], 10_000);
    inventory.report_refused_objects();
    let mut index = inventory.index_of_part();
    index.refuse_values();
    let options = Options { compat: example.minor(), ..Options::default() };
    let mut codes: Codes = index.problems().iter().map(|finding| (finding.severity, finding.code)).collect();
    for entry in index.entries() {
        let explanation = explain(&inventory, &index, entry, &options);
        let of_pods = explanation.rows.iter().flat_map(|row| &row.reasons);
        codes.extend(explanation.reasons.iter().chain(of_pods).map(|cause| (cause.severity, cause.code)));
        let plan = whole::plan_of(&index, entry, &Controller::ALL, &options);
        codes.extend(plan.problems.iter().map(|finding| (finding.severity, finding.code)));
    }
    if let Some(node) = example.node {
        view(&inventory, &index, &options, node, example.scheme, &mut codes);
    }
    codes
}

fn explain(inventory: &Inventory, index: &Index<'_>, entry: &Entry<'_>, options: &Options) -> Explanation {
    let (state, names) = (index.state(entry), index.pod_names());
    let selected: Vec<&Pod> = selected_pods(&state);
    let groups = inventory.pods.iter().collect();
    let focus = Focus {
        selected: Some(&selected),
        pods: selected.is_empty().then_some(&groups),
        targets: Some(index.targets(entry, &names)),
        unknown: index.unknown_of(entry),
        ..Focus::default()
    };
    let mut explanation = explain_only(&state, options, focus);
    ServiceFindings::new(index).add_to(entry, &mut explanation);
    explanation
}

/// Adds what the proxy of a node makes of the Services, with the slices that the controllers would write where there are none.
fn view(
    inventory: &Inventory,
    index: &Index<'_>,
    options: &Options,
    node: &str,
    scheme: Option<&str>,
    codes: &mut Codes,
) {
    let slices = |entry: &Entry<'_>| {
        let plan = whole::plan_of(index, entry, &Controller::ALL, options);
        planned_slices(&index.state(entry), &plan)
    };
    let slices: Vec<_> = index.entries().iter().map(slices).collect();
    let services = index.entries().iter().zip(&slices);
    let services = services
        .filter_map(|(entry, slices)| Some(ViewedService { service: entry.service?, slices: slices.iter().collect() }));
    let scheme = match scheme {
        Some("superedge") => Scheme::SuperEdge {
            substitutes_api_server: false,
            health: None,
            order: roster_engine::view::KeyOrder::AnyKey,
        },
        Some("openyurt") => Scheme::OpenYurt { pools: &inventory.node_pools, pool_topology: true },
        other => {
            assert_eq!(other, None);
            Scheme::KubeProxy
        }
    };
    let cluster = ViewedCluster { scheme, family: None, nodes: index.nodes(), services: services.collect() };
    let name = Text::from(node);
    let at = Viewpoint { name: &name, node: index.nodes().get(&name) };
    for service in &cluster.services {
        cluster.view(service, at, |view, unseen| {
            codes.extend(view.findings.iter().map(|finding| (finding.severity, finding.code)));
            let ports = view.families.iter().flat_map(|family| &family.ports);
            let reasons = ports.flat_map(|port| &port.endpoints).filter_map(|e| e.reason.as_ref());
            codes.extend(reasons.map(|reason| (Severity::Info, *reason)));
            codes.extend(unseen.iter().map(|endpoint| (Severity::Info, endpoint.reason)));
        });
    }
}

/// The codes that a file says appear beside its own.
fn also(text: &str) -> Vec<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix("# Also reported: "));
    line.map(|line| line.trim_end_matches('.').split(", ").collect()).unwrap_or_default()
}

#[test]
fn every_example_shows_its_code_and_the_problems_that_it_names() {
    let mut wrong = Vec::new();
    for example in all().iter().filter(|example| example.code != SHOP) {
        let codes = codes(example);
        if !codes.iter().any(|(_, code)| code.code() == example.code) {
            wrong.push(format!("{}: not among {codes:?}", example.code));
        }
        let problems =
            codes.iter().filter(|(severity, code)| *severity > Severity::Info && code.code() != example.code);
        let problems: BTreeSet<&str> = problems.map(|(_, code)| code.code()).collect();
        if !problems.iter().eq(&also(example.text)) {
            let problems: Vec<&str> = problems.into_iter().collect();
            wrong.push(format!("{}: also reports {}", example.code, problems.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_an_example_or_a_reason_to_have_none() {
    for reason in Reason::ALL {
        let examples = all().iter().filter(|example| example.code == reason.code()).count();
        let excused = WITHOUT.iter().filter(|(code, _)| code == reason).count();
        assert_eq!(examples + excused, 1, "{reason}");
    }
    assert_eq!(all().len() + WITHOUT.len(), Reason::ALL.len() + 1, "{SHOP} is the only other one");
    assert_eq!(all()[0].code, SHOP);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test compares with the folder")]
fn every_file_is_an_example_and_begins_with_its_title_and_its_command() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for example in all() {
        let file = fs::read_to_string(folder.join("../..").join(example.path())).unwrap();
        assert_eq!(file, example.text, "{}", example.path());
        if example.code == SHOP {
            continue;
        }
        let lines = example.text.lines().count();
        assert!((10..=70).contains(&lines), "{}: {lines} lines", example.code);
        assert_eq!(example.text.lines().next(), Some(&*format!("# {}.", example.title)));
        let command = format!("# {}", example.command());
        assert!(example.text.lines().any(|line| line == command), "{}: {command}", example.code);
    }
    let files = fs::read_dir(folder.join("examples")).unwrap().count();
    assert_eq!(files, all().len() - 1);
}

/// Examples of a group stand together: the page writes a heading where another group begins.
#[test]
fn a_group_has_one_heading() {
    let mut headings: Vec<&str> = all().iter().map(|example| example.group).collect();
    headings.dedup();
    assert_eq!(headings.iter().collect::<BTreeSet<_>>().len(), headings.len(), "{headings:?}");
}
