//! All policies together: what they say of one object.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{EndpointPolicy, spec::Selection};
use crate::{
    admission::{Capacity, Denied, Mode, Request, Rule, Settings},
    engine::reason::{Finding, Reason},
    model::{Labels, ObjectKey, Text, names},
};

/// The object that is asked about, and who writes it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Kind: `Service`, `Endpoints`, `EndpointSlice`.
    pub kind: &'a str,
    /// Namespace.
    pub namespace: &'a str,
    /// Labels of the namespace, where they are known.
    pub namespace_labels: Option<&'a Labels>,
    /// Name; empty where the API server is yet to make one.
    pub name: &'a str,
    /// Labels of the object.
    pub labels: &'a Labels,
    /// Who writes it.
    pub user: &'a str,
    /// Groups of the user.
    pub groups: &'a [&'a str],
}

impl Target<'_> {
    /// The Service that the object is, or belongs to.
    fn service(&self) -> &str {
        if self.kind == "EndpointSlice" {
            return self.labels.get(names::SERVICE_NAME).map(Text::as_str).unwrap_or_default();
        }
        self.name
    }
}

/// Policies in order of their names, each name once. Canonical: the same policies in any order are equal.
///
/// What several of them say of one object adds up so that their order does not matter, and so that the mode of one
/// never weakens that of another, as Kubernetes' own admission policies do:
///
/// - Every policy has an opinion on a rule: the mode it lists, else its default mode, else none. A policy that exempts
///   the object has the opinion `off` on every rule. The strictest opinion counts. Where there is none, the rule's own
///   default mode does.
/// - Allowed ranges add up, and so do denied ones. A denied range wins over an allowed one.
/// - `Deny` wins over `Truncate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(Vec<Compiled>);

/// A policy with its opinions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Compiled {
    policy: EndpointPolicy,
    modes: [Option<Mode>; Rule::COUNT],
}

impl Policies {
    /// All of these policies. Of several with one name the last counts; of a rule that one lists twice, the strictest
    /// mode.
    pub fn new(list: Vec<EndpointPolicy>) -> (Self, Vec<Finding>) {
        let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
        let mut all: Vec<Compiled> = Vec::with_capacity(list.len());
        for policy in list.into_iter().rev() {
            if !seen.insert(policy.meta.name.clone()) {
                let key = ObjectKey::new(super::version::KIND, &Text::default(), &policy.meta.name);
                let message = "there are several policies of this name; the last one counts";
                problems.push(Finding::new(Reason::DuplicateObject, key, message));
                continue;
            }
            all.push(Compiled::new(policy));
        }
        all.sort_by(|a, b| a.policy.meta.name.cmp(&b.policy.meta.name));
        problems.reverse();
        (Self(all), problems)
    }

    /// Reads and gathers policies; those that cannot be read are left out, and told.
    pub fn read<'a>(objects: impl IntoIterator<Item = &'a RawValue>) -> (Self, Vec<Finding>) {
        let (mut list, mut problems) = (Vec::new(), Vec::new());
        for raw in objects {
            let (policy, mut more) = super::read(raw);
            list.extend(policy);
            problems.append(&mut more);
        }
        let (policies, mut more) = Self::new(list);
        problems.append(&mut more);
        (policies, problems)
    }

    /// The policies, in order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &EndpointPolicy> {
        self.0.iter().map(|c| &c.policy)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a policy asks for labels of namespaces other than their names: a webhook must know them then.
    pub fn need_namespace_labels(&self) -> bool {
        self.asks_for_namespace_labels().is_some()
    }

    /// The name of the first policy that asks for labels of namespaces other than their names.
    pub fn asks_for_namespace_labels(&self) -> Option<&Text> {
        let asks = |p: &&EndpointPolicy| {
            let selector = p.spec.matches.namespaces.selector.as_ref();
            selector.is_some_and(|s| s.keys().any(|k| k != NAMESPACE_NAME))
        };
        self.iter().find(asks).map(|p| &p.meta.name)
    }

    /// The policies that are about the object, those that exempt it included.
    pub fn about(&self, target: &Target<'_>) -> impl Iterator<Item = &EndpointPolicy> {
        self.0.iter().filter(|c| c.is_about(target)).map(|c| &c.policy)
    }

    /// What holds for the object of a request. Labels of its namespace are needed only where
    /// [`need_namespace_labels`](Self::need_namespace_labels) says so.
    pub fn settings_of(&self, request: &Request<'_>, namespace_labels: Option<&Labels>) -> Settings {
        if self.is_empty() {
            return Settings::default();
        }
        let groups: Vec<&str> = request.groups.iter().map(AsRef::as_ref).collect();
        let of = |labels: &Labels| {
            self.settings(&Target {
                kind: &request.kind,
                namespace: &request.namespace,
                namespace_labels,
                name: &request.name,
                labels,
                user: &request.user,
                groups: &groups,
            })
        };
        let labels = request.object.map(labels_of).unwrap_or_default();
        let mut settings = of(&labels);
        if let Some(stored) = request.old_object.map(labels_of)
            && stored != labels
        {
            settings.before = Some(of(&stored)).filter(|before| *before != settings).map(Box::new);
        }
        settings
    }

    /// What holds for the object.
    pub fn settings(&self, target: &Target<'_>) -> Settings {
        let mut settings = Settings::default();
        let mut modes: [Option<(Mode, &Text)>; Rule::COUNT] = [None; Rule::COUNT];
        let mut capacity: Option<(Capacity, &Text)> = None;
        for compiled in self.0.iter().filter(|c| c.is_about(target)) {
            let exempts = compiled.exempts(target);
            let opinions = if exempts { [Some(Mode::Off); Rule::COUNT] } else { compiled.modes };
            for (strictest, opinion) in modes.iter_mut().zip(opinions) {
                // Of equally strict ones the first by name counts, so that the answer does not depend on the order.
                if opinion > strictest.map(|(mode, _)| mode) {
                    *strictest = opinion.map(|mode| (mode, &compiled.policy.meta.name));
                }
            }
            if exempts {
                continue;
            }
            let EndpointPolicy { meta, spec } = &compiled.policy;
            settings.allowed.extend(&spec.addresses.allow);
            let denied = spec.addresses.deny.iter().map(|range| Denied { range: *range, policy: meta.name.clone() });
            settings.denied.extend(denied);
            if spec.capacity.action > capacity.map(|(action, _)| action) {
                capacity = spec.capacity.action.map(|action| (action, &meta.name));
            }
        }
        for rule in Rule::ALL {
            if let Some((mode, policy)) = modes[*rule as usize] {
                settings.set_by(*rule, mode, policy);
            }
        }
        settings.allowed.sort_unstable();
        settings.allowed.dedup();
        // Of several that deny a range the first by name stays.
        settings.denied.sort_unstable();
        settings.denied.dedup_by(|a, b| a.range == b.range);
        if let Some((action, policy)) = capacity {
            settings.capacity = action;
            settings.capacity_policy = Some(policy.clone());
        }
        settings
    }
}

/// The labels of an object, and nothing else of it.
pub(crate) fn labels_of(object: &RawValue) -> Labels {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Meta {
        labels: Labels,
    }
    serde_json::from_str::<Object>(object.get()).unwrap_or_default().metadata.labels
}

/// The label that every namespace has: its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

impl Compiled {
    fn new(policy: EndpointPolicy) -> Self {
        let mut modes = [policy.spec.default_mode; Rule::COUNT];
        let mut listed = [None; Rule::COUNT];
        for rule in &policy.spec.rules {
            let slot = &mut listed[rule.name as usize];
            *slot = (*slot).max(Some(rule.mode));
        }
        for (mode, listed) in modes.iter_mut().zip(listed) {
            *mode = listed.or(*mode);
        }
        Self { policy, modes }
    }

    fn is_about(&self, target: &Target<'_>) -> bool {
        let matches = &self.policy.spec.matches;
        matches.namespaces.names(target.namespace)
            && matches.services.names(target.service())
            && selects(&matches.services, |key| target.labels.get(key).map(Text::as_str))
            && self.selects_namespace(target)
    }

    fn selects_namespace(&self, target: &Target<'_>) -> bool {
        let namespaces = &self.policy.spec.matches.namespaces;
        match (target.namespace_labels, &namespaces.selector) {
            // Nobody knows the labels: a policy that asks for others than the name is not about the object.
            (None, Some(selector)) if selector.keys().any(|k| k != NAMESPACE_NAME) => false,
            (labels, _) => selects(namespaces, |key| match key {
                NAMESPACE_NAME => Some(target.namespace),
                _ => labels.and_then(|l| l.get(key)).map(Text::as_str),
            }),
        }
    }

    fn exempts(&self, target: &Target<'_>) -> bool {
        let exempt = &self.policy.spec.exempt;
        super::pattern::any(&exempt.users, target.user)
            || target.groups.iter().any(|g| super::pattern::any(&exempt.groups, g))
            || super::pattern::any(&exempt.namespaces, target.namespace)
            || exempt.objects.iter().any(|o| o.is(target.kind, target.namespace, target.name))
    }
}

fn selects<'a>(selection: &Selection, label: impl Fn(&str) -> Option<&'a str>) -> bool {
    selection.selector.as_ref().is_none_or(|s| s.selects(label))
}
