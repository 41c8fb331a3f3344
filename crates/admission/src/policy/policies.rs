//! All policies together, and their settings for one object.

use std::{collections::BTreeSet, sync::Arc};

use roster_engine::{
    model::{Labels, ObjectKey, Text, installed::POLICY_KIND, names},
    reason::{Finding, Reason},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    pattern_index::{MAX_NAME, MAX_USER, PatternIndex},
    read::read,
    settings_cache::{PolicyCount, PolicyCounts, SettingsCache},
    spec::{EndpointPolicy, PolicySpec, Selection},
};
use crate::{
    AdmissionRequest, Capacity, HostNetwork, Mode, Ranges, Rule, Settings,
    ranges::{PolicyRanges, PolicySet},
};

/// The labels of a namespace, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub enum NamespaceLabels<'a> {
    /// All of them.
    Known(&'a Labels),
    /// Only the name: there is no cluster to ask. A policy that selects by another label does not apply.
    NameOnly,
    /// Only the name, because the cluster did not answer. A policy that selects by another label applies where it is
    /// stricter than the settings without it: the namespace may be one that it protects, or one that it exempts.
    Unread,
}

impl<'a> From<Option<&'a Labels>> for NamespaceLabels<'a> {
    fn from(labels: Option<&'a Labels>) -> Self {
        labels.map_or(Self::NameOnly, Self::Known)
    }
}

/// Whether a policy applies to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    Applies,
    /// It depends on labels of the namespace that could not be read.
    MayApply,
    DoesNotApply,
}

/// The object that settings are looked up for, and its writer.
#[derive(Clone, Copy, Debug)]
pub struct PolicyTarget<'a> {
    /// Kind: `Service`, `Endpoints`, `EndpointSlice`.
    pub kind: &'a str,
    /// Namespace.
    pub namespace: &'a str,
    /// Labels of the namespace.
    pub namespace_labels: NamespaceLabels<'a>,
    /// Name; empty where the API server has yet to generate one.
    pub name: &'a str,
    /// Labels of the object.
    pub labels: &'a Labels,
    /// The user who writes the object.
    pub user: &'a str,
    /// Groups of the user.
    pub groups: &'a [&'a str],
}

impl PolicyTarget<'_> {
    /// The name of the Service: of the object itself, or of the one it belongs to.
    fn service(&self) -> &str {
        if self.kind == "EndpointSlice" {
            return self.labels.get(names::SERVICE_NAME).map(Text::as_str).unwrap_or_default();
        }
        self.name
    }
}

/// Policies in order of their names, each name once. The same policies in another order are equal.
///
/// The settings for an object do not depend on the order of the policies, and no policy weakens the mode of another, as
/// with Kubernetes' own admission policies:
///
/// - A policy sets the mode of a rule: the listed mode, or else its default mode. A policy that exempts the object sets
///   every rule to `off`. The strictest mode applies. If no policy sets one, the default mode of the rule applies.
/// - Allowed ranges add up, and so do denied ones. A denied range takes precedence over an allowed one.
/// - `Deny` takes precedence over `Truncate`, and over `Allow`.
/// - A policy that selects by labels of the namespace, where these could not be read, only makes settings stricter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    all: Vec<CompiledPolicy>,
    /// The place of the first policy that selects by labels of namespaces other than the name.
    with_namespace_labels: Option<usize>,
    names: PolicyNames,
    ranges: Arc<PolicyRanges>,
    cache: SettingsCache,
}

/// A policy with its mode for each rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CompiledPolicy {
    policy: EndpointPolicy,
    modes: [Option<Mode>; Rule::COUNT],
}

/// The names that the policies list, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PolicyNames {
    exempt_users: PatternIndex,
    exempt_groups: PatternIndex,
    exempt_namespaces: PatternIndex,
    namespaces: PatternIndex,
    services: PatternIndex,
}

impl PolicyNames {
    fn new(all: &[CompiledPolicy]) -> Self {
        fn index<'a>(max: usize, all: &'a [CompiledPolicy], of: fn(&'a PolicySpec) -> &'a [Text]) -> PatternIndex {
            PatternIndex::new(max, all.iter().map(|compiled| of(&compiled.policy.spec)))
        }
        Self {
            exempt_users: index(MAX_USER, all, |spec| &spec.exempt.users),
            exempt_groups: index(MAX_USER, all, |spec| &spec.exempt.groups),
            exempt_namespaces: index(MAX_NAME, all, |spec| &spec.exempt.namespaces),
            namespaces: index(MAX_NAME, all, |spec| names_or_any(&spec.matches.namespaces)),
            services: index(MAX_NAME, all, |spec| names_or_any(&spec.matches.services)),
        }
    }

    /// The policies that exempt a writer, or all objects of a namespace.
    fn exempting(&self, user: &str, groups: &[&str], namespace: &str) -> PolicySet {
        let mut found = PolicySet::default();
        self.exempt_users.add_matching(user, &mut found);
        self.exempt_groups.add_matching_any(groups, &mut found);
        self.exempt_namespaces.add_matching(namespace, &mut found);
        found
    }
}

/// The names of a selection; without one, it holds for every name.
fn names_or_any(selection: &Selection) -> &[Text] {
    const ANY: &[Text] = &[Text::new_static("*")];
    if selection.names.is_empty() { ANY } else { &selection.names }
}

/// The policies whose lists of names match a target.
struct Named<'a> {
    exempting: &'a PolicySet,
    namespace: PolicySet,
    service: PolicySet,
}

impl Policies {
    /// Collects policies. Of several policies with the same name, the last one counts; of a rule that a policy lists
    /// twice, the strictest mode.
    pub fn new(list: Vec<EndpointPolicy>) -> (Self, Vec<Finding>) {
        let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
        let mut all: Vec<CompiledPolicy> = Vec::with_capacity(list.len());
        for policy in list.into_iter().rev() {
            if !seen.insert(policy.meta.name.to_string()) {
                let key = ObjectKey::new(POLICY_KIND, &Text::default(), &policy.meta.name);
                let message = "several policies have this name; the last one counts";
                problems.push(Finding::new(Reason::DuplicateObject, key, message));
                continue;
            }
            all.push(CompiledPolicy::new(policy));
        }
        all.sort_unstable_by(|a, b| a.policy.meta.name.cmp(&b.policy.meta.name));
        problems.reverse();
        let ranges = all.iter().map(|CompiledPolicy { policy: EndpointPolicy { meta, spec }, .. }| {
            (&meta.name, spec.addresses.allow.as_slice(), spec.addresses.deny.as_slice())
        });
        let ranges = Arc::new(PolicyRanges::new(ranges));
        let with_namespace_labels = all.iter().position(CompiledPolicy::needs_namespace_labels);
        let names = PolicyNames::new(&all);
        (Self { all, with_namespace_labels, names, ranges, cache: SettingsCache::default() }, problems)
    }

    /// Parses and collects policies. Policies that cannot be read are reported and left out.
    pub fn read<'a>(objects: impl IntoIterator<Item = &'a RawValue>) -> (Self, Vec<Finding>) {
        let (mut list, mut problems) = (Vec::new(), Vec::new());
        for raw in objects {
            let (policy, mut more) = read(raw);
            list.extend(policy);
            problems.append(&mut more);
        }
        let (policies, mut more) = Self::new(list);
        problems.append(&mut more);
        (policies, problems)
    }

    /// The policies, in order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &EndpointPolicy> {
        self.all.iter().map(|c| &c.policy)
    }

    /// Whether there are no policies.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a policy selects by labels of namespaces other than the name. The webhook must know them then.
    pub fn need_namespace_labels(&self) -> bool {
        self.with_namespace_labels.is_some()
    }

    /// The name of the first policy that selects by labels of namespaces other than the name.
    pub fn first_with_namespace_labels(&self) -> Option<&Text> {
        self.with_namespace_labels.map(|at| &self.all[at].policy.meta.name)
    }

    /// The policies that apply or may apply to the object, including those that exempt it.
    pub fn applying_to(&self, target: &PolicyTarget<'_>) -> impl Iterator<Item = &EndpointPolicy> {
        let exempting = PolicySet::default();
        let named = self.named(target, &exempting);
        let applying: Vec<bool> = (self.all.iter().enumerate())
            .map(|(i, compiled)| compiled.application(i, target, &named) != Application::DoesNotApply)
            .collect();
        self.all.iter().zip(applying).filter(|(_, applies)| *applies).map(|(compiled, _)| &compiled.policy)
    }

    /// The settings for the object of a request. The labels of its namespace matter only if
    /// [`need_namespace_labels`](Self::need_namespace_labels) is true.
    pub fn settings_of(&self, request: &AdmissionRequest<'_>, namespace_labels: NamespaceLabels<'_>) -> Arc<Settings> {
        let groups: Vec<&str> = request.groups.iter().map(AsRef::as_ref).collect();
        // These do not depend on the labels. An update has two sets of them.
        let exempting = self.names.exempting(&request.user, &groups, &request.namespace);
        let of = |labels: &Labels| {
            let target = PolicyTarget {
                kind: &request.kind,
                namespace: &request.namespace,
                namespace_labels,
                name: &request.name,
                labels,
                user: &request.user,
                groups: &groups,
            };
            self.settings_but(&target, &exempting)
        };
        if self.is_empty() {
            return of(&Labels::default());
        }
        let labels = request.object.map(labels_of).unwrap_or_default();
        let settings = of(&labels);
        if let Some(stored) = request.old_object.map(labels_of)
            && stored != labels
        {
            let before = of(&stored);
            // Other policies may still make equal settings. A comparison would cost all their ranges, and changes nothing.
            if !Arc::ptr_eq(&before, &settings) {
                let mut settings = (*settings).clone();
                settings.before = Some(before);
                return Arc::new(settings);
            }
        }
        settings
    }

    /// The settings for an object. Objects to which the same policies apply share them.
    pub fn settings(&self, target: &PolicyTarget<'_>) -> Arc<Settings> {
        self.settings_but(target, &self.names.exempting(target.user, target.groups, target.namespace))
    }

    /// The settings for an object whose writer or namespace these policies exempt.
    fn settings_but(&self, target: &PolicyTarget<'_>, exempting: &PolicySet) -> Arc<Settings> {
        let named = self.named(target, exempting);
        let counts = self.all.iter().enumerate().map(|(i, policy)| policy.count(i, target, &named)).collect();
        self.cache.get(counts, |counts| self.sum(counts))
    }

    fn named<'a>(&self, target: &PolicyTarget<'_>, exempting: &'a PolicySet) -> Named<'a> {
        let mut named = Named { exempting, namespace: PolicySet::default(), service: PolicySet::default() };
        self.names.namespaces.add_matching(target.namespace, &mut named.namespace);
        self.names.services.add_matching(target.service(), &mut named.service);
        named
    }

    /// The settings that the policies make that count.
    fn sum(&self, counts: &PolicyCounts) -> Settings {
        let mut sum = SettingsSum::new(&self.ranges);
        for (i, policy) in self.all.iter().enumerate() {
            match counts.of(i) {
                PolicyCount::Applies => sum.add(i, policy),
                PolicyCount::Exempts => sum.exempt(policy),
                PolicyCount::May | PolicyCount::Not => {}
            }
        }
        for (i, policy) in self.all.iter().enumerate() {
            if counts.of(i) == PolicyCount::May {
                sum.tighten(i, policy);
            }
        }
        sum.settings()
    }
}

/// The settings of several policies, while they are added up.
struct SettingsSum<'a> {
    settings: Settings,
    modes: [Option<(Mode, &'a Text)>; Rule::COUNT],
    capacity: Option<(Capacity, &'a Text)>,
    host_network: Option<HostNetwork>,
}

impl<'a> SettingsSum<'a> {
    fn new(ranges: &Arc<PolicyRanges>) -> Self {
        let mut settings = Settings::default();
        settings.ranges = Ranges::none_of(ranges);
        Self { settings, modes: [None; Rule::COUNT], capacity: None, host_network: None }
    }

    /// Adds a policy that applies.
    fn add(&mut self, number: usize, compiled: &'a CompiledPolicy) {
        self.set_modes(&compiled.modes, compiled);
        self.settings.ranges.allowing.insert(number);
        self.host_network = self.host_network.max(compiled.policy.spec.addresses.host_network);
        self.restrict(number, compiled);
    }

    /// Adds a policy that exempts the object.
    fn exempt(&mut self, compiled: &'a CompiledPolicy) {
        self.set_modes(&[Some(Mode::Off); Rule::COUNT], compiled);
    }

    fn set_modes(&mut self, modes: &[Option<Mode>; Rule::COUNT], compiled: &'a CompiledPolicy) {
        for (strictest, mode) in self.modes.iter_mut().zip(modes) {
            // Of equally strict policies the first by name counts, so that the result does not depend on the order.
            if *mode > strictest.map(|(mode, _)| mode) {
                *strictest = mode.map(|mode| (mode, &compiled.policy.meta.name));
            }
        }
    }

    /// Adds a policy that may apply: what it relaxes does not count, neither a mode below the one without it nor an
    /// allowed range.
    fn tighten(&mut self, number: usize, compiled: &'a CompiledPolicy) {
        for rule in Rule::ALL {
            let strictest = &mut self.modes[*rule as usize];
            let without = strictest.map_or(rule.default_mode(), |(mode, _)| mode);
            if let Some(mode) = compiled.modes[*rule as usize].filter(|mode| *mode > without) {
                *strictest = Some((mode, &compiled.policy.meta.name));
            }
        }
        self.restrict(number, compiled);
    }

    /// Adds what a policy denies, and its capacity.
    fn restrict(&mut self, number: usize, compiled: &'a CompiledPolicy) {
        let EndpointPolicy { meta, spec } = &compiled.policy;
        self.settings.ranges.denying.insert(number);
        let host_network = spec.addresses.host_network.filter(|answer| *answer == HostNetwork::Deny);
        self.host_network = self.host_network.max(host_network);
        if spec.capacity.action > self.capacity.map(|(action, _)| action) {
            self.capacity = spec.capacity.action.map(|action| (action, &meta.name));
        }
    }

    fn settings(self) -> Settings {
        let Self { mut settings, modes, capacity, host_network } = self;
        settings.host_network = host_network.unwrap_or_default();
        for rule in Rule::ALL {
            if let Some((mode, policy)) = modes[*rule as usize] {
                settings.set_by(*rule, mode, policy);
            }
        }
        if let Some((action, policy)) = capacity {
            settings.capacity = action;
            settings.capacity_policy = Some(policy.clone());
        }
        settings
    }
}

/// The labels of an object. Everything else is skipped.
pub(crate) fn labels_of(object: &RawValue) -> Labels {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct LabelledObject {
        metadata: LabelledMeta,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct LabelledMeta {
        labels: Labels,
    }
    serde_json::from_str::<LabelledObject>(object.get()).unwrap_or_default().metadata.labels
}

/// The label of every namespace that holds its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

impl CompiledPolicy {
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

    /// Whether it selects by labels of namespaces other than the name.
    fn needs_namespace_labels(&self) -> bool {
        let selector = self.policy.spec.matches.namespaces.selector.as_ref();
        selector.is_some_and(|selector| selector.keys().any(|key| key != NAMESPACE_NAME))
    }

    /// How it counts as the policy of this number.
    fn count(&self, number: usize, target: &PolicyTarget<'_>, named: &Named<'_>) -> PolicyCount {
        let exempts = || named.exempting.contains(number) || self.exempts_object(target);
        match self.application(number, target, named) {
            Application::DoesNotApply => PolicyCount::Not,
            Application::Applies if exempts() => PolicyCount::Exempts,
            Application::Applies => PolicyCount::Applies,
            // What exempts an object relaxes settings, which does not count here.
            Application::MayApply if exempts() => PolicyCount::Not,
            Application::MayApply => PolicyCount::May,
        }
    }

    fn application(&self, number: usize, target: &PolicyTarget<'_>, named: &Named<'_>) -> Application {
        let selects_object = named.namespace.contains(number)
            && named.service.contains(number)
            && selects(&self.policy.spec.matches.services, |key| target.labels.get(key).map(Text::as_str));
        if selects_object { self.selects_namespace(target) } else { Application::DoesNotApply }
    }

    fn selects_namespace(&self, target: &PolicyTarget<'_>) -> Application {
        let namespaces = &self.policy.spec.matches.namespaces;
        let Some(selector) = &namespaces.selector else { return Application::Applies };
        let is_selected = match target.namespace_labels {
            NamespaceLabels::Known(labels) => selector.selects_by(|key| match key {
                NAMESPACE_NAME => Some(target.namespace),
                _ => labels.get(key).map(Text::as_str),
            }),
            NamespaceLabels::NameOnly | NamespaceLabels::Unread => selector.admits(NAMESPACE_NAME, target.namespace),
        };
        match target.namespace_labels {
            _ if !is_selected => Application::DoesNotApply,
            NamespaceLabels::NameOnly if self.needs_namespace_labels() => Application::DoesNotApply,
            NamespaceLabels::Unread if self.needs_namespace_labels() => Application::MayApply,
            _ => Application::Applies,
        }
    }

    fn exempts_object(&self, target: &PolicyTarget<'_>) -> bool {
        self.policy.spec.exempt.objects.iter().any(|o| o.is(target.kind, target.namespace, target.name))
    }
}

fn selects<'a>(selection: &Selection, label: impl Fn(&str) -> Option<&'a str>) -> bool {
    selection.selector.as_ref().is_none_or(|s| s.selects_by(label))
}
