//! `-f`, SERVICE and `--compat`: files, directories, standard input or a cluster, read into one inventory.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{bail, ensure};
use clap::Args;

use super::{
    cluster_args::{self, ClusterArgs},
    defaults_args::DefaultsArgs,
    input_paths::{expand, open},
    messages,
    progress_line::ProgressLine,
};
use crate::{
    decode::{self, Source},
    engine::{
        profile::Minor,
        reason::{Finding, Reason, Severity},
    },
    inventory::{Index, Inventory},
    model::{ObjectKey, Text, defaults::Defaults},
    workloads,
};

/// Arguments that say where objects come from, and which Services to look at.
#[derive(Debug, Args)]
pub(super) struct InputArgs {
    /// Services to look at, as NAME or NAMESPACE/NAME [default: all]
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Read objects from this file, from every *.yaml, *.yml and *.json (also .gz) in this directory and below it, or
    /// from standard input (-). May be given several times. Files contain what `kubectl get -o yaml|json` prints:
    /// objects, lists or several documents, optionally compressed with gzip.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-")]
    files: Vec<PathBuf>,
    /// Look only at Services in this namespace. Objects in files that name no namespace are in it, else in `default`.
    #[arg(short, long)]
    namespace: Option<String>,
    /// The zones of the cluster, separated by commas, where the files have workloads but no Nodes: one node is assumed
    /// for each [default: one node without a zone]
    #[arg(long, value_name = "ZONE", value_delimiter = ',')]
    zones: Vec<Text>,
    /// The files contain all objects of the cluster: what is not there does not exist. Without this option, nothing is
    /// concluded from a kind (Services, Pods, Nodes, Endpoints) that the files have no object of. A live cluster is always
    /// complete.
    #[arg(long, conflicts_with_all = ["context", "kubeconfig"])]
    complete: bool,
    #[command(flatten)]
    defaults: DefaultsArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// The argument that chooses a release.
#[derive(Debug, Args)]
pub(super) struct ReleaseArgs {
    #[arg(long, value_name = "MINOR", help = format!(
        "The Kubernetes release to act like, {} to {} [default: the release of the live cluster, else the newest]",
        Minor::OLDEST,
        Minor::NEWEST
    ))]
    compat: Option<Minor>,
}

impl ReleaseArgs {
    /// The release from the argument, else that of the cluster, else the newest.
    pub(super) fn choose(&self, objects: &InputObjects) -> Minor {
        self.compat.or(objects.release).unwrap_or_default()
    }
}

/// The objects of all inputs.
#[derive(Debug)]
pub(super) struct InputObjects {
    pub(super) inventory: Inventory,
    /// Whether all of the input was read.
    pub(super) complete: bool,
    /// Whether the input may be a part of a cluster.
    is_part: bool,
    /// The release of the live cluster, if a cluster was read.
    pub(super) release: Option<Minor>,
}

impl InputObjects {
    /// The index of all objects.
    pub(super) fn index(&self) -> Index<'_> {
        if self.is_part { self.inventory.index_of_part() } else { self.inventory.index() }
    }
}

impl InputArgs {
    /// Reads all inputs. An input that cannot be read is reported on standard error; if none can be read, that is an
    /// error.
    pub(super) fn read(&self, plugin: bool) -> anyhow::Result<InputObjects> {
        let progress = ProgressLine::start("reading");
        let is_part = !self.complete && !self.files.is_empty();
        let mut objects = InputObjects { inventory: Inventory::default(), complete: true, is_part, release: None };
        if self.files.is_empty() {
            ensure!(
                plugin || self.cluster.is_given(),
                "nothing to read: name files with -f (- is standard input), or a cluster with --context"
            );
            objects.release =
                cluster_args::read(&self.cluster, self.namespace.as_deref(), &mut objects.inventory, &progress)?;
            objects.complete = !objects.inventory.problems.iter().any(is_unread);
            return Ok(objects);
        }
        ensure!(!self.cluster.is_given(), "-f cannot be combined with --context or --kubeconfig");
        let defaults = self.defaults.with_namespace(self.namespace().unwrap_or_default());
        let mut failed = Vec::new();
        for path in expand(&self.files)? {
            if let Err(error) = read_one(&path, defaults, &mut objects.inventory, &progress) {
                // An answer without the rest of the file must not look complete.
                let key =
                    ObjectKey { kind: "File".into(), name: path.display().to_string().into(), ..ObjectKey::default() };
                objects.inventory.problems.push(Finding::new(Reason::InvalidObject, key, messages::error_text(&error)));
                failed.push(error);
            }
        }
        drop(progress);
        objects.inventory.label_pods(&defaults);
        objects.inventory.assume_pods(&defaults, &self.zones, workloads::MAX_PODS);
        objects.complete = failed.is_empty() && !objects.inventory.problems.into_iter().any(is_unread);
        if objects.inventory.is_empty()
            && let Some(error) = failed.pop()
        {
            failed.iter().for_each(messages::error);
            return Err(error);
        }
        failed.iter().for_each(messages::error);
        Ok(objects)
    }

    /// The namespace from the argument.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether Services are given by name.
    pub(super) fn names_services(&self) -> bool {
        !self.services.is_empty()
    }

    /// Restricts the index to the chosen namespace and Services.
    pub(super) fn select(&self, index: &mut Index<'_>) -> anyhow::Result<()> {
        if let Some(namespace) = &self.namespace {
            index.retain(|e| e.namespace == namespace);
        }
        if self.services.is_empty() {
            if index.entries().is_empty() && index.unreadable().next().is_none() {
                self.warn_of_no_services(index);
            }
            return Ok(());
        }
        let choices: Vec<(Option<&str>, &str)> = self
            .services
            .iter()
            .map(|s| s.split_once('/').map_or((None, s.as_str()), |(namespace, name)| (Some(namespace), name)))
            .collect();
        let is = |(namespace, name): &(Option<&str>, &str), in_namespace: &Text, called: &Text| {
            called == name && namespace.is_none_or(|n| in_namespace == n)
        };
        for (choice, text) in choices.iter().zip(&self.services) {
            if let Some((namespace, name)) = index.unreadable().find(|(namespace, name)| is(choice, namespace, name)) {
                let why = index.why_unreadable(namespace, name).next().map(|p| p.message.as_str()).unwrap_or_default();
                bail!("an object of Service {text} cannot be read: {why}");
            }
            if !index.entries().iter().any(|e| is(choice, e.namespace, e.name)) {
                let place = self.namespace.as_ref().map(|n| format!(" in namespace {n}")).unwrap_or_default();
                bail!("Service {text} not found{place}{}", suggestion(index, choice.1));
            }
        }
        index.retain(|e| choices.iter().any(|choice| is(choice, e.namespace, e.name)));
        Ok(())
    }

    /// Warns that no Service was found: the namespace or a kind may be mistyped.
    fn warn_of_no_services(&self, index: &Index<'_>) {
        let place = self.namespace.as_ref().map_or("the input".to_owned(), |name| format!("namespace {name}"));
        let others = index.problems().iter().filter(|p| p.code == Reason::IgnoredObject).map(|p| p.message.as_str());
        let others: Vec<&str> = others.take(3).collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        messages::warning(&format!("no Service, Endpoints or EndpointSlice found in {place}{others}"));
    }
}

/// Whether a finding means that an object could not be read.
fn is_unread(problem: &Finding) -> bool {
    problem.code == Reason::InvalidObject && problem.severity == Severity::Error
}

/// A Service to try instead: one whose name contains the typed name, or is contained in it.
fn suggestion(index: &Index<'_>, typed: &str) -> String {
    let similar = |name: &str| !name.is_empty() && !typed.is_empty() && (name.contains(typed) || typed.contains(name));
    let found = index.entries().iter().find(|e| similar(e.name));
    found.map(|e| format!("; did you mean {}/{}?", e.namespace, e.name)).unwrap_or_default()
}

fn read_one(
    path: &Path,
    defaults: Defaults<'_>,
    inventory: &mut Inventory,
    progress: &ProgressLine,
) -> anyhow::Result<()> {
    let (name, inner) = open(path)?;
    let mut input = MeteredReader { inner, progress, bytes: 0 };
    decode::read(&mut input, &Source { defaults, ..Source::file(&name) }, inventory)?;
    // A command that fails before a pipe prints nothing; the answer must not be "nothing to do".
    ensure!(input.bytes > 0, "{name}: is empty");
    Ok(())
}

/// A reader that counts its bytes and shows them as progress.
struct MeteredReader<'a, R> {
    inner: R,
    progress: &'a ProgressLine,
    bytes: u64,
}

impl<R: Read> Read for MeteredReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let n64 = u64::try_from(n).unwrap_or_default();
        self.bytes += n64;
        self.progress.add(n64);
        Ok(n)
    }
}
