//! Which Services a run looks at: names, namespace and labels, as `kubectl` takes them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Args;
use roster_engine::{
    model::{
        LabelQuery,
        spelling::{did_you_mean, nearest},
    },
    reason::Reason,
};
use roster_manifests::inventory::{Entry, Index};

use super::{
    input_paths::{has_known_extension, is_stdin},
    messages,
};

/// Arguments that choose Services.
#[derive(Debug, Args)]
pub(super) struct ChoiceArgs {
    /// Services, as `[svc/][NAMESPACE/]NAME`, and files, as with -f. Without -f or --context, an argument that names an
    /// existing file is read as a file [default: all Services]
    #[arg(value_name = "SERVICE|FILE")]
    targets: Vec<String>,
    /// Look only at Services in this namespace. Objects without a namespace get it, else `default`.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Look at all namespaces. This is the default. With -n, the namespace is then only for objects without one.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Look only at Services with these labels: KEY=VALUE, KEY!=VALUE, KEY in (VALUE, …), KEY notin (VALUE, …), KEY or
    /// !KEY, separated by commas.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<LabelQuery>,
}

/// The Services that a run looks at.
#[derive(Debug, Default)]
pub(super) struct ServiceChoice {
    names: Vec<ServiceName>,
    namespace: Option<String>,
    labels: Option<LabelQuery>,
}

/// A Service, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServiceName {
    /// As it was typed.
    typed: String,
    namespace: Option<String>,
    name: String,
}

/// No Service has the name.
#[derive(Debug, thiserror::Error)]
#[error("Service {typed} not found{place}{}", did_you_mean(.meant))]
pub(super) struct ServiceNotFound {
    /// As it was typed.
    pub(super) typed: String,
    place: String,
    /// What may be meant.
    pub(super) meant: Vec<String>,
}

impl ChoiceArgs {
    /// What is typed as a positional argument.
    pub(super) fn targets(&self) -> &[String] {
        &self.targets
    }

    /// The namespace of objects that name none.
    pub(super) fn default_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The only namespace to look at.
    pub(super) fn only_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| !self.all_namespaces)
    }

    /// The files and the Services that the arguments name. `has_input` says that other arguments name what to read.
    pub(super) fn split(&self, has_input: bool) -> (Vec<PathBuf>, ServiceChoice) {
        let is_file = |target: &&String| {
            let path = Path::new(target.as_str());
            is_written_as_path(path) || (!has_input && path.exists())
        };
        let (files, names): (Vec<&String>, Vec<&String>) = self.targets.iter().partition(is_file);
        let choice = ServiceChoice {
            names: names.into_iter().map(|typed| ServiceName::of(typed)).collect(),
            namespace: self.only_namespace().map(str::to_owned),
            labels: self.selector.clone(),
        };
        (files.into_iter().map(PathBuf::from).collect(), choice)
    }
}

/// Whether a text can only be a path: the name of a Service has neither dots nor a slash at an end.
fn is_written_as_path(path: &Path) -> bool {
    let text = path.as_os_str().to_string_lossy();
    let at_an_end = ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start)) || text.ends_with('/');
    is_stdin(path) || at_an_end || text == "." || text == ".." || has_known_extension(path)
}

impl ServiceName {
    fn of(typed: &str) -> Self {
        let kinds = ["svc/", "service/", "services/"];
        let rest = kinds.iter().find_map(|kind| typed.strip_prefix(kind)).unwrap_or(typed);
        let (namespace, name) = rest.split_once('/').map_or((None, rest), |(namespace, name)| (Some(namespace), name));
        Self { typed: typed.to_owned(), namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    fn is(&self, namespace: &str, name: &str) -> bool {
        self.name == name && self.namespace.as_ref().is_none_or(|n| n == namespace)
    }
}

impl ServiceChoice {
    /// Whether Services are given by name.
    pub(super) fn is_by_name(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether some Services are chosen, and not all.
    pub(super) fn is_narrow(&self) -> bool {
        self.is_by_name() || self.namespace.is_some() || self.labels.is_some()
    }

    /// Restricts the index to the chosen Services.
    pub(super) fn apply(&self, index: &mut Index<'_>) -> anyhow::Result<()> {
        if let Some(namespace) = &self.namespace {
            index.retain(|e| e.namespace == namespace);
        }
        if let Some(labels) = &self.labels {
            index.retain(|e| e.service.is_some_and(|s| labels.matches(&s.meta.labels)));
        }
        if self.names.is_empty() {
            if index.entries().is_empty() && index.unreadable().next().is_none() {
                self.warn_of_no_services(index);
            }
            return Ok(());
        }
        let names: BTreeSet<&str> = index.entries().iter().map(|e| e.name.as_str()).collect();
        let is_known = |service: &ServiceName| match &service.namespace {
            Some(namespace) => index.get(namespace, &service.name).is_some(),
            None => names.contains(service.name.as_str()),
        };
        for service in &self.names {
            self.find(service, index, is_known(service))?;
        }
        let wanted: BTreeSet<(&str, Option<&str>)> =
            self.names.iter().map(|service| (service.name.as_str(), service.namespace.as_deref())).collect();
        index.retain(|e| {
            [None, Some(e.namespace.as_str())].iter().any(|namespace| wanted.contains(&(e.name.as_str(), *namespace)))
        });
        Ok(())
    }

    /// Fails if there is no such Service, or if it cannot be read.
    fn find(&self, service: &ServiceName, index: &Index<'_>, is_known: bool) -> anyhow::Result<()> {
        let typed = &service.typed;
        if let Some((namespace, name)) = index.unreadable().find(|(namespace, name)| service.is(namespace, name)) {
            let why = index.why_unreadable(namespace, name).next().map(|p| p.message.as_str()).unwrap_or_default();
            bail!("an object of Service {typed} cannot be read: {why}");
        }
        if is_known {
            return Ok(());
        }
        let place = self.place().map(|place| format!(" in {place}")).unwrap_or_default();
        if let Some((kind @ ("po" | "pod" | "pods"), pod)) = typed.split_once('/') {
            bail!("Service {typed} not found{place}; {kind}/… is not a Service: for a pod, use --pod {pod}");
        }
        let meant = nearest(&service.name, index.entries(), |e: &&Entry<'_>| e.name.as_str());
        let meant = meant.map(|e| format!("{}/{}", e.namespace, e.name)).into_iter().collect();
        Err(ServiceNotFound { typed: typed.clone(), place, meant }.into())
    }

    /// Where Services are looked for, if not everywhere.
    fn place(&self) -> Option<String> {
        let namespace = self.namespace.as_ref().map(|name| format!("namespace {name}"));
        match (namespace, &self.labels) {
            (Some(namespace), Some(_)) => Some(format!("{namespace} with these labels")),
            (None, Some(_)) => Some("the input with these labels".to_owned()),
            (namespace, None) => namespace,
        }
    }

    /// Warns that no Service was found: the namespace or a kind may be mistyped.
    fn warn_of_no_services(&self, index: &Index<'_>) {
        let what = if self.labels.is_some() { "no Service" } else { "no Service, Endpoints or EndpointSlice" };
        let place = self.place().unwrap_or_else(|| "the input".to_owned());
        let others = index.problems().iter().filter(|p| p.code == Reason::IgnoredObject).map(|p| p.message.as_str());
        let others: Vec<&str> = others.take(3).collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        messages::warning(&format!("{what} found in {place}{others}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_named_as_kubectl_names_them() {
        for (typed, namespace, name) in [
            ("web", None, "web"),
            ("shop/web", Some("shop"), "web"),
            ("svc/web", None, "web"),
            ("service/web", None, "web"),
            ("svc/shop/web", Some("shop"), "web"),
            ("svc/svc/web", Some("svc"), "web"),
        ] {
            let want = ServiceName { typed: typed.into(), namespace: namespace.map(str::to_owned), name: name.into() };
            assert_eq!(ServiceName::of(typed), want);
        }
    }

    #[test]
    fn paths_differ_from_names() {
        for (text, want) in [
            ("-", true),
            (".", true),
            ("./k8s", true),
            ("../k8s", true),
            ("/k8s", true),
            ("k8s/", true),
            ("shop.yaml", true),
            ("shop.json.gz", true),
            ("k8s/shop.yml", true),
            ("web", false),
            ("shop/web", false),
            ("svc/web", false),
        ] {
            assert_eq!(is_written_as_path(Path::new(text)), want, "{text}");
        }
    }
}
