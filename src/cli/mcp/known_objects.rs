//! The objects of a call, read as the command line reads a file.

use std::{borrow::Cow, path::PathBuf};

use roster_engine::model::{
    Text,
    defaults::{DEFAULT_NAMESPACE, Defaults},
    spelling::{did_you_mean, nearest},
};
use roster_lint::{FileOrigin, InputFile, LintOptions, LintRun, ManifestTexts, Suppressions};
use roster_manifests::{
    decode::{self, DecodeError, Source},
    inventory::{Index, Inventory},
};

use super::tool::ToolError;

/// Most pods that are assumed for the workloads of a call, as for a request. A few bytes can ask for any number.
const MOST_ASSUMED_PODS: usize = 10_000;
/// Most findings that each step of the linter lists.
const MOST_FINDINGS: usize = 1000;

/// Namespace and name of a Service.
pub(super) type ServiceName = (Text, Text);

/// What is known of a cluster from the objects of a call.
#[derive(Debug)]
pub(super) struct KnownObjects {
    pub(super) inventory: Inventory,
    is_part: bool,
}

impl KnownObjects {
    /// Reads the text of the argument `objects`. Unless it is complete, the cluster may have more.
    pub(super) fn read(text: &str, is_complete: bool) -> Result<Self, ToolError> {
        let source = source(DEFAULT_NAMESPACE, true);
        let mut inventory = Inventory::default();
        decode::read_text(text, &source, &mut inventory).map_err(|error| unreadable("objects", &error))?;
        inventory.label_pods(&source.defaults);
        inventory.assume_pods(&source.defaults, &[], MOST_ASSUMED_PODS);
        inventory.report_refused_objects();
        Ok(Self { inventory, is_part: !is_complete })
    }

    /// The Services, and what is known of each.
    pub(super) fn index(&self) -> Index<'_> {
        let mut index = if self.is_part { self.inventory.index_of_part() } else { self.inventory.index() };
        index.refuse_values();
        index.retain_known();
        index
    }
}

/// How objects of a call are read: with the limits of a request.
pub(super) fn source(namespace: &str, finds_refused: bool) -> Source<'_> {
    Source { name: "objects", defaults: Defaults { namespace, ..Defaults::default() }, finds_refused, ..Source::body() }
}

/// The text as JSON, for what looks at objects as they are written.
pub(super) fn as_json<'t>(text: &'t str, argument: &'static str) -> Result<Cow<'t, str>, ToolError> {
    let source = Source { name: argument, ..source(DEFAULT_NAMESPACE, false) };
    decode::text(text.as_bytes(), &source).map(Cow::Owned).map_err(|error| unreadable(argument, &error))
}

/// Lints the objects as the linter does a file, and passes what it finds to `see`.
pub(super) fn lint<T>(text: &str, namespace: &str, see: impl FnOnce(&LintRun<'_>) -> T) -> Result<T, ToolError> {
    let source = source(namespace, false);
    let mut texts = ManifestTexts::new(source);
    texts.add_text(source.name.to_owned(), text, FileOrigin::Apart);
    let options = lint_options(namespace, &[]);
    let run = roster_lint::check(texts.sorted(PathBuf::new()), &options);
    let mut run = run.map_err(|error| unreadable("objects", &error))?;
    run.suppress(Suppressions::default());
    Ok(see(&run))
}

/// How objects are linted and reviewed.
pub(super) fn lint_options<'o>(namespace: &'o str, stored: &'o [InputFile<'o>]) -> LintOptions<'o> {
    LintOptions { stored, ..LintOptions::of(source(namespace, false), namespace, MOST_FINDINGS) }
}

/// The error of a text that cannot be read.
pub(super) fn unreadable(argument: &'static str, error: &DecodeError) -> ToolError {
    ToolError::at(argument, format!("line {}, column {}: {}", error.line, error.column, error.reason))
}

/// Keeps the Service of this name, as `NAMESPACE/NAME` or `NAME`.
pub(super) fn retain_service(index: &mut Index<'_>, wanted: &str) -> Result<(), ToolError> {
    let all: Vec<ServiceName> = index.entries().iter().map(|e| (e.namespace.clone(), e.name.clone())).collect();
    let (namespace, name) = service_named(wanted, &all)?;
    index.retain(|entry| *entry.namespace == *namespace && *entry.name == *name);
    Ok(())
}

/// The Service of this name, as `NAMESPACE/NAME` or `NAME`; an error if there is none, or if several namespaces have one.
pub(super) fn service_named<'s>(
    wanted: &str,
    services: impl IntoIterator<Item = &'s ServiceName> + Clone,
) -> Result<&'s ServiceName, ToolError> {
    let written = |(namespace, name): &ServiceName| format!("{namespace}/{name}");
    let is_it = |service: &&ServiceName| service.1 == *wanted || written(service) == wanted;
    let found: Vec<&ServiceName> = services.clone().into_iter().filter(is_it).collect();
    let why = match found.as_slice() {
        [one] => return Ok(one),
        [] => {
            let names: Vec<String> = services.into_iter().map(written).collect();
            let meant: Vec<&String> = nearest(wanted, &names, |name| name).into_iter().collect();
            format!("none of the objects is this Service{}", did_you_mean(&meant))
        }
        [first, ..] => {
            let namespaces = found.len();
            format!("{namespaces} namespaces have a Service of this name: write it as {}", written(first))
        }
    };
    Err(ToolError::at("service", why))
}
