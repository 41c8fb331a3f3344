//! The policies in force, and the settings that they give for an object.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use futures::future::{self, BoxFuture, FutureExt};
use roster_admission::{
    AdmissionRequest, Settings,
    policy::{self, EndpointPolicy, NamespaceLabels},
};
use roster_engine::reason::Finding;
use tokio::time::Instant;

use super::NamespaceLookup;
use crate::runtime::{
    aside::{aside, lock_aside},
    net::Peer,
};

/// A source of the settings for a review. It is called for every review, so settings are shared, not copied.
pub trait SettingsSource: Send + Sync {
    /// The settings for this request: by kind, namespace, name, user, and the labels of its object.
    fn settings(&self, request: &AdmissionRequest<'_>) -> Arc<Settings>;

    /// Whether the settings depend on labels of the request's namespace that are not known, because the namespace is too
    /// new for the copy of the cluster. Then [`resolve`](Self::resolve) reads them.
    fn needs_namespace(&self, _request: &AdmissionRequest<'_>) -> bool {
        false
    }

    /// Reads the labels of a namespace for a review of `peer`, until `latest`. If that fails, the settings are the stricter
    /// ones.
    fn resolve<'a>(&'a self, _peer: Peer, _namespace: &'a str, _latest: Instant) -> BoxFuture<'a, ()> {
        future::ready(()).boxed()
    }
}

impl<F> SettingsSource for F
where
    F: Fn(&AdmissionRequest<'_>) -> Arc<Settings> + Send + Sync,
{
    fn settings(&self, request: &AdmissionRequest<'_>) -> Arc<Settings> {
        self(request)
    }
}

/// The messages of the first findings, for a log line.
pub(crate) fn first_messages(problems: &[Finding]) -> String {
    problems.iter().take(5).map(|p| p.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// The policies in force: those of a file and those of the cluster. They are replaced while reviews go on.
#[derive(Debug, Default)]
pub struct ActivePolicies {
    sources: Mutex<PolicySources>,
    /// The policies of all sources, compiled. Reviews do not wait while others are compiled.
    all: RwLock<Arc<policy::Policies>>,
    /// The settings without any policy.
    default: Arc<Settings>,
    /// The labels of namespaces.
    namespaces: Option<NamespaceLookup>,
}

#[derive(Debug, Default)]
struct PolicySources {
    file: Vec<EndpointPolicy>,
    cluster: BTreeMap<String, EndpointPolicy>,
}

impl ActivePolicies {
    /// No policies yet. Without a cluster, only the names of namespaces are known.
    pub fn new(namespaces: Option<NamespaceLookup>) -> Self {
        Self { namespaces, ..Self::default() }
    }

    /// Replaces the policies of the file.
    pub fn set_file(&self, policies: Vec<EndpointPolicy>) -> Vec<Finding> {
        self.change(|sources| sources.file = policies)
    }

    /// Replaces all policies of the cluster. A policy that exists but cannot be read (`None`) stays as it was.
    pub fn set_cluster(&self, policies: Vec<(String, Option<EndpointPolicy>)>) -> Vec<Finding> {
        self.change(|sources| {
            let mut before = std::mem::take(&mut sources.cluster);
            let readable = policies.into_iter().filter_map(|(name, policy)| {
                let policy = policy.or_else(|| before.remove(&name))?;
                Some((name, policy))
            });
            sources.cluster = readable.collect();
        })
    }

    /// Replaces one policy of the cluster; `None`: it was deleted.
    pub fn set_one(&self, name: &str, policy: Option<EndpointPolicy>) -> Vec<Finding> {
        // Most events of a policy change only its status.
        if self.sources().cluster.get(name).map(|p| &p.spec) == policy.as_ref().map(|p| &p.spec) {
            return Vec::new();
        }
        self.change(|sources| match policy {
            Some(policy) => drop(sources.cluster.insert(name.to_owned(), policy)),
            None => drop(sources.cluster.remove(name)),
        })
    }

    fn change(&self, change: impl FnOnce(&mut PolicySources)) -> Vec<Finding> {
        let mut sources = self.sources();
        // All of them are compiled again, and any number may be.
        aside(move || {
            change(&mut sources);
            // The cluster is last, so that its policy wins over one of the same name in the file.
            let list = sources.file.iter().chain(sources.cluster.values()).cloned().collect();
            let (all, problems) = policy::Policies::new(list);
            let before =
                std::mem::replace(&mut *self.all.write().unwrap_or_else(PoisonError::into_inner), Arc::new(all));
            drop((sources, before));
            problems
        })
    }

    fn sources(&self) -> MutexGuard<'_, PolicySources> {
        lock_aside(&self.sources)
    }

    fn all(&self) -> Arc<policy::Policies> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl SettingsSource for ActivePolicies {
    fn settings(&self, request: &AdmissionRequest<'_>) -> Arc<Settings> {
        let policies = self.all();
        if policies.is_empty() {
            return self.default.clone();
        }
        let labels = match &self.namespaces {
            Some(namespaces) if policies.need_namespace_labels() => Some(namespaces.labels(&request.namespace)),
            _ => None,
        };
        let labels = match &labels {
            Some(Some(labels)) => NamespaceLabels::Known(labels),
            Some(None) => NamespaceLabels::Unread,
            None => NamespaceLabels::NameOnly,
        };
        policies.settings_of(request, labels)
    }

    fn needs_namespace(&self, request: &AdmissionRequest<'_>) -> bool {
        let Some(namespaces) = &self.namespaces else { return false };
        let policies = self.all();
        policies.need_namespace_labels() && namespaces.labels(&request.namespace).is_none()
    }

    fn resolve<'a>(&'a self, peer: Peer, namespace: &'a str, latest: Instant) -> BoxFuture<'a, ()> {
        match &self.namespaces {
            Some(namespaces) => namespaces.resolve(peer, namespace, latest).boxed(),
            None => future::ready(()).boxed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use roster_admission::{Mode, Rule};
    use serde_json::json;

    use super::*;

    fn policy(name: &str, mode: &str) -> EndpointPolicy {
        let text = json!({
            "apiVersion": "roster.dev/v1",
            "kind": "EndpointPolicy",
            "metadata": { "name": name },
            "spec": { "rules": [{ "name": "external-ip", "mode": mode }] },
        });
        let raw = serde_json::value::to_raw_value(&text).unwrap();
        let (policy, problems) = policy::read(&raw);
        assert_eq!(problems, vec![]);
        policy.unwrap()
    }

    #[test]
    fn policies_of_file_and_cluster_come_and_go() {
        let in_force = ActivePolicies::new(None);
        let mode = || {
            let request =
                AdmissionRequest { kind: "Service".into(), namespace: "shop".into(), ..AdmissionRequest::default() };
            in_force.settings(&request).mode(Rule::ExternalIp)
        };
        let default = Rule::ExternalIp.default_mode();
        assert_eq!(mode(), default);
        in_force.set_file(vec![policy("a", "off")]);
        assert_eq!(mode(), Mode::Off);
        in_force.set_one("b", Some(policy("b", "enforce")));
        assert_eq!(mode(), Mode::Enforce);
        // One of the cluster stands for that of the file of the same name.
        in_force.set_cluster([("a".to_owned(), Some(policy("a", "audit")))].into());
        assert_eq!(mode(), Mode::Audit);
        // Listed anew, one that cannot be read any more stays in force, and no other comes of it.
        in_force.set_cluster([("a".to_owned(), None), ("b".to_owned(), None)].into());
        assert_eq!(mode(), Mode::Audit);
        in_force.set_one("a", None);
        assert_eq!(mode(), Mode::Off);
        in_force.set_file(Vec::new());
        assert_eq!(mode(), default);
    }
}
