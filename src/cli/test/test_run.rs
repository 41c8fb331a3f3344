//! Reads one test file and its inputs, and evaluates its cases; and the results of all files.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use roster_admission::policy::{self, EndpointPolicy, Policies};
use roster_engine::{
    model::{
        ObjectKey,
        defaults::{DEFAULT_NAMESPACE, Defaults},
        installed::POLICY_KIND,
    },
    reason::Severity,
    state::Options,
};
use roster_lint::InputFile;
use roster_manifests::{
    cases::{TestFile, TestInput, TestOptions, TestResult, evaluate},
    decode::{self, Document, Source},
    inventory::{Inventory, Snapshot, workloads},
};
use serde::Serialize;

use super::test_manifests::{TestManifests, TestTexts};
use crate::cli::{input_texts::InputTexts, render::RenderedUnit};

/// The results of a file.
#[derive(Serialize)]
pub(super) struct FileResults {
    pub(super) file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    pub(super) tests: Vec<TestResult>,
}

/// The results of all files.
#[derive(Serialize)]
pub(super) struct TestDocument<'a> {
    pub(super) items: &'a [FileResults],
    pub(super) summary: TestSummary,
}

/// How many tests passed and failed.
#[derive(Clone, Copy, Serialize)]
pub(super) struct TestSummary {
    pub(super) tests: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl TestSummary {
    pub(super) fn of(files: &[FileResults]) -> Self {
        let all = || files.iter().flat_map(|f| &f.tests);
        let (tests, passed) = (all().count(), all().filter(|t| t.passed).count());
        Self { tests, passed, failed: tests - passed }
    }
}

/// Evaluates the cases of the file at `path` whose names contain `filter`. What was `rendered` is among its inputs.
pub(super) fn run(
    path: &Path,
    file: &TestFile,
    filter: Option<&str>,
    rendered: &[RenderedUnit],
) -> anyhow::Result<FileResults> {
    let name = path.display();
    ensure!(
        !file.inputs.is_empty() || !rendered.is_empty(),
        "{name}: has no inputs: list files, or add what a kustomization or a chart renders to with -k or --chart"
    );
    let folder = path.parent().unwrap_or(Path::new(""));
    let texts = |paths: &[String], rendered| {
        TestTexts::read(&paths.iter().map(|p| folder.join(p)).collect::<Vec<PathBuf>>(), rendered)
    };
    let inputs = texts(&file.inputs, rendered)?;
    let (policies, stored) = (texts(&file.policies, &[])?, texts(&file.stored, &[])?);
    let (inputs, all_inputs) = inputs.manifests();
    let (policies, all_policies) = policies.manifests();
    let (stored, all_stored) = stored.manifests();
    ensure!(all_inputs && all_policies && all_stored, "{name}: not all of its files can be read");
    let families = file.options.ip_families.as_ref().map(|f| f.parse()).transpose();
    let families = families.map_err(|e| anyhow::anyhow!("{name}: options.ipFamilies: {e}"))?;
    let defaults = Defaults { mode: file.options.defaults, families, namespace: &file.options.namespace };
    let inventory = inventory(&inputs, &stored, &file.options, defaults)?;
    let policies = Policies::new(policies_of(&[&inputs, &policies, &stored])?).0;
    let index = if file.options.complete { inventory.index() } else { inventory.index_of_part() };
    let snapshot = if file.options.complete { Snapshot::of(&inventory) } else { Snapshot::of_part(&inventory) };
    let options = Options {
        compat: file.options.compat,
        max_endpoints_per_slice: file.options.max_endpoints_per_slice,
        ..Options::default()
    };
    let (objects, stored) = (inputs.objects(), stored.objects());
    let input = TestInput::new(&index, &snapshot, &policies, &file.options.namespace, options, &objects, &stored);
    let chosen = file.tests.iter().filter(|case| filter.is_none_or(|text| case.name.contains(text)));
    let tests = chosen.map(|case| evaluate(case, &input)).collect();
    Ok(FileResults { file: name.to_string(), name: file.name().to_owned(), tests })
}

/// Reads a test file.
pub(super) fn read(path: &Path) -> anyhow::Result<TestFile> {
    let name = path.display();
    let texts = InputTexts::read(&[path.to_owned()])?;
    let (files, complete) = texts.files();
    ensure!(complete, "{name}: cannot be read");
    let mut documents = files.iter().flat_map(|f| &f.documents);
    let document = documents.next().with_context(|| format!("{name}: is empty"))?;
    ensure!(documents.next().is_none(), "{name}: has more than one document");
    TestFile::read(document.raw.get())
        .map_err(|fault| anyhow::anyhow!("{name}:{}: {fault}", document.line + fault.line))
}

/// The objects of the inputs with the pods of their workloads, and the stored objects that they do not replace.
fn inventory(
    inputs: &TestManifests<'_>,
    stored: &TestManifests<'_>,
    options: &TestOptions,
    defaults: Defaults<'_>,
) -> anyhow::Result<Inventory> {
    let mut inventory = Inventory::default();
    let namespace = defaults.namespace().unwrap_or(DEFAULT_NAMESPACE);
    let key = |document: &Document<'_>| document.identity().key.clone().placed(namespace);
    let mut replaced: Vec<ObjectKey> = inputs.files().flat_map(|f| &f.documents).map(key).collect();
    replaced.sort_unstable();
    for InputFile { name, documents, .. } in stored.files() {
        let others: Vec<Document<'_>> =
            documents.iter().filter(|d| replaced.binary_search(&key(d)).is_err()).cloned().collect();
        decode::objects(&others, &Source { defaults, ..Source::file(name) }, &mut inventory, |_, _| {})?;
    }
    inputs.add_to(&mut inventory, defaults)?;
    inventory.label_pods(&defaults);
    inventory.assume_pods(&defaults, &options.zones, workloads::MAX_PODS);
    Ok(inventory)
}

/// The policies among the objects. A policy that cannot be read is an error: the cases would not mean what they say.
fn policies_of(all: &[&TestManifests<'_>]) -> anyhow::Result<Vec<EndpointPolicy>> {
    let mut policies = Vec::new();
    for InputFile { name, documents, .. } in all.iter().flat_map(|manifests| manifests.files()) {
        for document in documents.iter().filter(|d| d.identity().key.kind == POLICY_KIND) {
            let (policy, problems) = policy::read(&document.raw);
            if let Some(problem) = problems.iter().find(|p| p.severity == Severity::Error) {
                anyhow::bail!("{name}:{}: {}", document.line, problem.message);
            }
            policies.extend(policy);
        }
    }
    Ok(policies)
}
