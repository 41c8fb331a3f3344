//! What `-f` names: files, directories and standard input, read into one inventory.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use clap::Args;

use super::{live, output, progress::Progress};
use crate::{
    decode::{self, Source},
    engine::{
        compat::Minor,
        reason::{Finding, Reason, Severity},
    },
    inventory::{Index, Inventory},
    model::{ObjectKey, Text},
};

/// Where objects come from, and which Services are meant.
#[derive(Debug, Args)]
pub(super) struct Input {
    /// Services to look at, as NAME or NAMESPACE/NAME; all of them if none is given.
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Read objects from this file, from all *.yaml, *.yml and *.json (also .gz) of this directory and of those
    /// below it, or from standard input (-). Several may be given. Files hold what `kubectl get -o yaml|json` prints: objects, lists,
    /// several documents, gzip or not.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-")]
    files: Vec<PathBuf>,
    /// Look only at Services of this namespace.
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    cluster: live::ClusterArgs,
}

/// Which release to act like.
#[derive(Debug, Args)]
pub(super) struct Release {
    #[arg(long, value_name = "MINOR", help = format!(
        "Act like this Kubernetes release, {} to {} [default: the live cluster's own, else the newest]",
        Minor::OLDEST,
        Minor::NEWEST
    ))]
    compat: Option<Minor>,
}

impl Release {
    /// The release asked for, or else that of the cluster that was read, or else the newest.
    pub(super) fn choose(&self, objects: &Objects) -> Minor {
        self.compat.or(objects.release).unwrap_or_default()
    }
}

/// What was read.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) inventory: Inventory,
    /// Whether all of the input could be read.
    pub(super) complete: bool,
    /// The release of the live cluster, where one was read.
    pub(super) release: Option<Minor>,
}

impl Input {
    /// Reads everything. What cannot be read is told on standard error; it is an error only where nothing is left.
    pub(super) fn read(&self, plugin: bool) -> anyhow::Result<Objects> {
        let progress = Progress::start("reading");
        let mut objects = Objects { inventory: Inventory::default(), complete: true, release: None };
        if self.files.is_empty() {
            ensure!(
                plugin || self.cluster.is_given(),
                "nothing to read: name files with -f (- is standard input){}",
                live::HINT
            );
            objects.release = live::read(&self.cluster, self.namespace.as_deref(), &mut objects.inventory, &progress)?;
            objects.complete = !objects.inventory.problems.iter().any(is_unread);
            return Ok(objects);
        }
        ensure!(!self.cluster.is_given(), "-f and a cluster exclude each other: read one of them");
        let mut failed = Vec::new();
        for path in expand(&self.files)? {
            if let Err(error) = read_one(&path, &mut objects.inventory, &progress) {
                // An answer without the rest of the file must not look whole.
                let key =
                    ObjectKey { kind: "File".into(), name: path.display().to_string().into(), ..ObjectKey::default() };
                objects.inventory.problems.push(Finding::new(Reason::InvalidObject, key, output::error_text(&error)));
                failed.push(error);
            }
        }
        drop(progress);
        objects.complete = failed.is_empty() && !objects.inventory.problems.into_iter().any(is_unread);
        if objects.inventory.is_empty()
            && let Some(error) = failed.pop()
        {
            failed.iter().for_each(output::error);
            return Err(error);
        }
        failed.iter().for_each(output::error);
        Ok(objects)
    }

    /// The namespace that is asked for.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether Services are asked for by name.
    pub(super) fn names_services(&self) -> bool {
        !self.services.is_empty()
    }

    /// Keeps the Services that are asked for.
    pub(super) fn select(&self, index: &mut Index<'_>) -> anyhow::Result<()> {
        if let Some(namespace) = &self.namespace {
            index.retain(|e| e.namespace == namespace);
        }
        if self.services.is_empty() {
            if index.entries().is_empty() && index.unreadable().next().is_none() {
                self.tell_of_nothing(index);
            }
            return Ok(());
        }
        let wanted: Vec<(Option<&str>, &str)> = self
            .services
            .iter()
            .map(|s| s.split_once('/').map_or((None, s.as_str()), |(namespace, name)| (Some(namespace), name)))
            .collect();
        let is = |(namespace, name): &(Option<&str>, &str), in_namespace: &Text, called: &Text| {
            called == name && namespace.is_none_or(|n| in_namespace == n)
        };
        for (wish, text) in wanted.iter().zip(&self.services) {
            if let Some((namespace, name)) = index.unreadable().find(|(namespace, name)| is(wish, namespace, name)) {
                let why = index.why_unreadable(namespace, name).next().map(|p| p.message.as_str()).unwrap_or_default();
                bail!("an object of Service {text} cannot be read: {why}");
            }
            if !index.entries().iter().any(|e| is(wish, e.namespace, e.name)) {
                let place = self.namespace.as_ref().map(|n| format!(" in namespace {n}")).unwrap_or_default();
                bail!("there is no Service {text}{place}{}", nearest(index, wish.1));
            }
        }
        index.retain(|e| wanted.iter().any(|wish| is(wish, e.namespace, e.name)));
        Ok(())
    }

    /// Says that there is no Service, which a person may not have meant: a namespace is mistyped, or a kind is.
    fn tell_of_nothing(&self, index: &Index<'_>) {
        let place = self.namespace.as_ref().map_or("the input".to_owned(), |name| format!("namespace {name}"));
        let others = index.problems().iter().filter(|p| p.code == Reason::IgnoredObject).map(|p| p.message.as_str());
        let others: Vec<&str> = others.take(3).collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        output::warning(&format!("there is no Service, no Endpoints and no EndpointSlice in {place}{others}"));
    }
}

/// Whether a problem says that an object was lost.
fn is_unread(problem: &Finding) -> bool {
    problem.code == Reason::InvalidObject && problem.severity == Severity::Error
}

/// A name to try instead: one that contains what was typed, or that it contains.
fn nearest(index: &Index<'_>, typed: &str) -> String {
    let similar = |name: &str| !name.is_empty() && !typed.is_empty() && (name.contains(typed) || typed.contains(name));
    let found = index.entries().iter().find(|e| similar(e.name));
    found.map(|e| format!("; there is {}/{}", e.namespace, e.name)).unwrap_or_default()
}

/// The files that the arguments name, directories replaced by what they hold.
pub(super) fn expand(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            walk(path, &mut files)?;
            ensure!(files.len() > before, "{}: there is no *.yaml, *.yml or *.json", path.display());
        } else {
            files.push(path.clone());
        }
    }
    ensure!(files.iter().filter(|f| is_stdin(f)).count() <= 1, "standard input (-) can be read once only");
    Ok(files)
}

/// Files below a directory in order of their names. Links to directories are not followed: they may lead in circles.
fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let context = || format!("cannot read {}", directory.display());
    let mut entries = directory.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>).with_context(context)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().with_context(context)?.is_dir() {
            walk(&path, files)?;
        } else if has_known_ending(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn has_known_ending(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".yaml", ".yml", ".json", ".ndjson"].iter().any(|ending| name.ends_with(ending))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read_one(path: &Path, inventory: &mut Inventory, progress: &Progress) -> anyhow::Result<()> {
    let (name, inner) = open(path)?;
    let mut input = Counted { inner, progress, bytes: 0 };
    decode::read(&mut input, &Source::file(&name), inventory)?;
    // A command that fails in front of a pipe prints nothing: that is no cluster at rest.
    ensure!(input.bytes > 0, "{name}: there is nothing in it");
    Ok(())
}

/// A file, or standard input, and its name for messages.
pub(super) fn open(path: &Path) -> anyhow::Result<(String, Box<dyn Read + Send>)> {
    if is_stdin(path) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            output::warning("reading standard input; end it with Ctrl-D");
        }
        return Ok(("<stdin>".to_owned(), Box::new(stdin)));
    }
    let name = path.display().to_string();
    #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it reads files")]
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    Ok((name, Box::new(file)))
}

/// A reader that tells how far it is.
struct Counted<'a, R> {
    inner: R,
    progress: &'a Progress,
    bytes: u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let n64 = u64::try_from(n).unwrap_or_default();
        self.bytes += n64;
        self.progress.add(n64);
        Ok(n)
    }
}
