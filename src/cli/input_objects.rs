//! `-f` and `--compat`: files, directories, standard input or a cluster, read into one inventory.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::ensure;
use clap::Args;
use roster_engine::{
    model::{
        ObjectKey, Text,
        defaults::{DEFAULT_NAMESPACE, Defaults},
    },
    profile::Minor,
    reason::{Finding, Reason, Severity},
};
use roster_manifests::{
    decode::{self, Source},
    inventory::{
        Index, Inventory,
        workloads::{self, UnreadText},
    },
};

use super::{
    cluster_args::{self, ClusterArgs},
    defaults_args::DefaultsArgs,
    directory_input::{FoundObjects, InputFiles},
    duplicate_places,
    input_paths::open,
    known_input::KnownInput,
    messages,
    progress_line::ProgressLine,
    render::{RenderArgs, RenderedUnit},
    service_choice::{ChoiceArgs, ServiceChoice},
};

/// What to do where the arguments name no input.
pub(super) const NOTHING_TO_READ: &str =
    "nothing to read: name files with -f (- is standard input), a kustomization with -k, or a cluster with --context";

/// Arguments that say where objects come from, and which Services to look at.
#[derive(Debug, Args)]
pub(super) struct InputArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Read objects from this file, from every *.yaml, *.yml and *.json (also .gz) below this directory, or from
    /// standard input (-). May be given several times. A file has the output of `kubectl get -o yaml|json`, or
    /// manifests; gzip is fine. In a directory, templates, charts, kustomizations, patches and other files are skipped
    /// and counted. If it has several versions of an object, as in dev/ and prod/, the first counts.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    render: RenderArgs,
    /// The zones of the cluster, separated by commas, for workloads without Nodes: Roster assumes one node in each
    /// [default: one node without a zone]
    #[arg(long, value_name = "ZONE", value_delimiter = ',')]
    zones: Vec<Text>,
    /// The files have the whole cluster: everything else counts as missing. Otherwise Roster concludes nothing about a
    /// kind (Services, Pods, Endpoints) that the files lack in a namespace, nor about Nodes if they have none. A live
    /// cluster is always complete.
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
    /// The files that were read and what was rendered, and the namespace of their objects that name none.
    known: Vec<KnownInput>,
    namespace: String,
    /// The release of the live cluster, if a cluster was read.
    pub(super) release: Option<Minor>,
    /// The Services to look at.
    pub(super) choice: ServiceChoice,
}

impl InputObjects {
    /// Reports the objects that an API server would refuse.
    pub(super) fn report_refused(&mut self) {
        self.inventory.report_refused_objects();
    }

    /// The index of all objects.
    pub(super) fn index(&self) -> Index<'_> {
        let mut index = if self.is_part { self.inventory.index_of_part() } else { self.inventory.index() };
        index.refuse_values();
        duplicate_places::name(&mut index, &self.known, &self.namespace);
        index
    }
}

impl InputArgs {
    /// Reads all inputs. An input that cannot be read is reported on standard error; if none can be read, that is an
    /// error.
    pub(super) fn read(&self, plugin: bool) -> anyhow::Result<InputObjects> {
        self.read_with_pools(plugin, |_| false)
    }

    /// The same, with the pools of nodes of a live cluster if they are wanted.
    pub(super) fn read_with_pools(&self, plugin: bool, wants: fn(&Inventory) -> bool) -> anyhow::Result<InputObjects> {
        let progress = ProgressLine::start("reading");
        let (named, choice) = self.choice.split(plugin || self.names_input());
        let files: Vec<PathBuf> = self.files.iter().cloned().chain(named).collect();
        if files.is_empty() && !self.render.is_given() {
            ensure!(plugin || self.names_input(), NOTHING_TO_READ);
            return self.read_cluster(choice, wants, &progress);
        }
        self.read_files(&files, self.rendered()?, choice, &progress)
    }

    /// Whether other arguments than the positional ones say what to read.
    fn names_input(&self) -> bool {
        self.cluster.is_given() || !self.files.is_empty() || self.render.is_given()
    }

    /// What the arguments say to render.
    fn rendered(&self) -> anyhow::Result<Vec<RenderedUnit>> {
        ensure!(!self.cluster.is_given(), "-f, -k and --chart cannot be combined with --context or --kubeconfig");
        self.render.render(self.namespace().unwrap_or(DEFAULT_NAMESPACE))
    }

    /// Reads all others that are named with each of two files or directories.
    pub(super) fn read_with_each(&self, two: [&Path; 2]) -> anyhow::Result<[InputObjects; 2]> {
        let progress = ProgressLine::start("reading");
        let rendered = self.rendered()?;
        let (named, _) = self.choice.split(true);
        let read = |file: &Path| {
            let files: Vec<PathBuf> = self.files.iter().chain(&named).cloned().chain([file.to_owned()]).collect();
            self.read_files(&files, rendered.clone(), self.choice.split(true).1, &progress)
        };
        Ok([read(two[0])?, read(two[1])?])
    }

    /// Nothing yet.
    fn no_objects(&self, choice: ServiceChoice) -> InputObjects {
        InputObjects {
            inventory: Inventory::default(),
            complete: true,
            is_part: false,
            known: Vec::new(),
            namespace: self.namespace().unwrap_or(DEFAULT_NAMESPACE).to_owned(),
            release: None,
            choice,
        }
    }

    fn read_cluster(
        &self,
        choice: ServiceChoice,
        wants_node_pools: fn(&Inventory) -> bool,
        progress: &ProgressLine,
    ) -> anyhow::Result<InputObjects> {
        let mut objects = self.no_objects(choice);
        let (namespace, inventory) = (self.choice.only_namespace(), &mut objects.inventory);
        let cluster = cluster_args::read(&self.cluster, namespace, wants_node_pools, inventory, progress)?;
        objects.release = cluster.release;
        // That pods are on Nodes that were not read means nothing.
        objects.is_part = cluster.no_nodes.is_some();
        objects.complete = !objects.inventory.problems.iter().any(is_unread);
        Ok(objects)
    }

    fn read_files(
        &self,
        files: &[PathBuf],
        rendered: Vec<RenderedUnit>,
        choice: ServiceChoice,
        progress: &ProgressLine,
    ) -> anyhow::Result<InputObjects> {
        let mut objects = InputObjects { is_part: !self.complete, ..self.no_objects(choice) };
        let defaults = self.defaults.with_namespace(self.namespace().unwrap_or_default());
        let mut failed = Vec::new();
        let mut input = InputFiles::of(files)?;
        let FoundObjects { files: found, unread } = input.read_found(&rendered, defaults, &mut objects.inventory)?;
        objects.inventory.problems.extend(unread.into_iter().map(|why| unread_file("", why)));
        for path in &input.objects {
            if let Err(error) = read_one(path, defaults, &mut objects.inventory, progress) {
                let name = path.display().to_string();
                objects.inventory.unread.add_text(UnreadText {
                    file: (&*name).into(),
                    line: None,
                    text: None,
                    reach: 0..0,
                });
                objects.inventory.problems.push(unread_file(&name, messages::error_text(&error)));
                failed.push(error);
            }
        }
        let known = found.into_iter().chain(input.objects).map(KnownInput::File);
        objects.known = rendered.into_iter().map(KnownInput::Rendered).chain(known).collect();
        progress.finish();
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
        self.choice.default_namespace()
    }

    /// The positional arguments, if nothing else says what to read and none of them is a file.
    pub(super) fn bare_targets(&self, plugin: bool) -> &[String] {
        let (named, _) = self.choice.split(self.names_input() || plugin);
        if self.names_input() || !named.is_empty() { &[] } else { self.choice.targets() }
    }
}

/// A finding about a file that cannot be read: an answer without the rest of it must not look complete.
fn unread_file(name: &str, why: String) -> Finding {
    let key = ObjectKey { kind: "File".into(), name: name.into(), ..ObjectKey::default() };
    Finding::new(Reason::InvalidObject, key, why)
}

/// Whether a finding means that an object could not be read. Of two without `---` between them, none is read as it is meant.
fn is_unread(problem: &Finding) -> bool {
    let of_object = [Reason::InvalidObject, Reason::MissingSeparator];
    of_object.contains(&problem.code) && problem.severity == Severity::Error
}

fn read_one(
    path: &Path,
    defaults: Defaults<'_>,
    inventory: &mut Inventory,
    progress: &ProgressLine,
) -> anyhow::Result<()> {
    let (name, inner) = open(path)?;
    let mut input = MeteredReader { inner, progress, bytes: 0 };
    decode::read(&mut input, &Source { defaults, finds_refused: true, ..Source::file(&name) }, inventory)?;
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
