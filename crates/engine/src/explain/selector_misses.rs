//! The nearest misses of a selector that matches nothing.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write,
    sync::Arc,
};

use super::explanation::{Cause, LabelMiss};
use crate::{
    label_values::LabelValues,
    model::{HashSeed, Labels, Pod, Service, Text},
    phrase::{clip, counted},
    reason::{Reason, Severity},
};

/// The most differences that are named.
const MAX_DIFFERENCES: usize = 3;
/// The most namespaces that are named.
const MAX_NAMESPACES: usize = 5;
/// The most groups that share a pair with a selector, and are compared with it: thousands of Services may match nothing.
const MAX_COMPARED: usize = 256;
/// From so many close groups on, no further key of the selector is looked at.
const MAX_CLOSE: usize = 1024;
/// The most groups of other namespaces that are compared with a selector.
const MAX_MATCHED: usize = 1024;
/// The most letters of a value that are compared. No API server accepts as many.
const MAX_LETTERS: usize = 256;

/// Pods grouped by namespace and labels: made once, and used for every Service whose selector matches nothing.
#[derive(Debug, Default)]
pub struct LabelGroups<'a> {
    all: Vec<LabelGroup<'a>>,
    /// The number of pods of each namespace.
    of_namespace: HashMap<&'a Text, usize, HashSeed>,
    /// The values of each label of each namespace.
    by_key: HashMap<(&'a Text, &'a Text), LabelValues<'a>, HashSeed>,
    /// Indices of the groups that have a label pair.
    by_pair: HashMap<(&'a Text, &'a Text), Vec<usize>, HashSeed>,
}

/// Pods of one namespace with the same labels.
#[derive(Debug)]
struct LabelGroup<'a> {
    first: &'a Pod,
    count: usize,
}

impl<'a> FromIterator<&'a Pod> for LabelGroups<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Pod>>(pods: I) -> Self {
        let mut this = Self::default();
        let mut places: HashMap<(&Text, &Labels), usize, HashSeed> = HashMap::default();
        let mut before: Option<(&Pod, usize)> = None;
        for pod in pods {
            // Neighbours are mostly replicas, which share namespace and labels.
            let place = match before {
                Some((b, at)) if Arc::ptr_eq(&b.labels, &pod.labels) && b.namespace() == pod.namespace() => at,
                _ => *places.entry((pod.namespace(), &*pod.labels)).or_insert_with(|| this.add(pod)),
            };
            this.all[place].count += 1;
            *this.of_namespace.entry(pod.namespace()).or_default() += 1;
            before = Some((pod, place));
        }
        this.by_key.values_mut().for_each(LabelValues::sort);
        this
    }
}

impl<'a> LabelGroups<'a> {
    fn add(&mut self, first: &'a Pod) -> usize {
        let place = self.all.len();
        self.all.push(LabelGroup { first, count: 0 });
        for pair in first.labels.iter() {
            self.by_pair.entry(pair).or_default().push(place);
            self.by_key.entry((first.namespace(), pair.0)).or_default().push(pair.1, place);
        }
        place
    }

    /// The groups of a namespace that may be what a selector means, each once: some that have one of its pairs, and those
    /// that have a value close to a wanted one.
    fn close(&self, namespace: &Text, selector: &Labels) -> CloseGroups<'_, 'a> {
        let (mut close, mut is_all) = (BTreeSet::new(), true);
        for (key, wanted) in selector.iter().take(MAX_COMPARED) {
            if close.len() >= MAX_CLOSE {
                is_all = false;
                break;
            }
            let Some(values) = self.by_key.get(&(namespace, key)) else { continue };
            close.extend(values.equal(wanted).take(MAX_COMPARED));
            close.extend(values.neighbours(wanted));
            is_all &= values.are_few();
        }
        CloseGroups { groups: close.into_iter().map(|i| &self.all[i]).collect(), is_all }
    }

    /// The groups of all namespaces that `selector`, which is not empty, matches; and whether all were looked at.
    fn matching<'b>(&'b self, selector: &'b Labels) -> (impl Iterator<Item = &'b LabelGroup<'a>>, bool) {
        let lists = selector.iter().map(|pair| self.by_pair.get(&pair).map_or(&[][..], Vec::as_slice));
        let shortest = lists.min_by_key(|l| l.len()).unwrap_or_default();
        let looked_at = shortest.iter().take(MAX_MATCHED).map(|i| &self.all[*i]);
        (looked_at.filter(|g| selector.selects(&g.first.labels)), shortest.len() <= MAX_MATCHED)
    }
}

/// The groups of pods that come close to a selector.
struct CloseGroups<'b, 'a> {
    groups: Vec<&'b LabelGroup<'a>>,
    /// Whether they are all that have a key of the selector.
    is_all: bool,
}

/// Causes that tell that nothing matches and then the nearest misses: the pods of the namespace that have most pairs
/// of the selector, and the namespaces in which it would match. `pods` is the number of pods of the namespace, if `groups` lack some.
pub(super) fn misses(
    service: &Service,
    selector: &Labels,
    groups: &LabelGroups<'_>,
    pods: Option<usize>,
) -> Vec<Cause> {
    let namespace = &service.meta.namespace;
    let pods = pods.or_else(|| groups.of_namespace.get(namespace).copied()).unwrap_or_default();
    let nothing = match pods {
        0 => format!("no pod of namespace {namespace} is known"),
        1 => format!("the only pod in namespace {namespace} does not match"),
        n => format!("none of {} in namespace {namespace}", counted(n, "pod")),
    };
    let mut out = vec![Cause::new(Reason::SelectorMatchesNothing, nothing)];
    out.extend(differences(selector, groups.close(namespace, selector)));
    out.extend(other_namespaces(selector, groups));
    out
}

/// How close pods come: the pairs that they have, then the keys that they have with another value.
type Closeness = (usize, usize);

/// What pods have under the keys of a selector. Pods with equal lists differ from the selector in the same way.
type Pairs<'a> = Vec<(&'a Text, &'a Text)>;

/// Compares pods with a selector. The time depends on the labels of the pods: a selector can have any number of pairs.
fn closeness(selector: &Labels, labels: &Labels) -> Closeness {
    let (mut equal, mut other) = (0, 0);
    for (_, wanted, found) in selector.shared_with(labels) {
        *(if wanted == found { &mut equal } else { &mut other }) += 1;
    }
    (equal, other)
}

/// The closest pods, one cause for all that differ in the same way.
fn differences<'a>(selector: &Labels, close: CloseGroups<'_, 'a>) -> Vec<Cause> {
    let mut best: Closeness = (0, 0);
    let mut closest: BTreeMap<Pairs<'a>, (usize, &Pod)> = BTreeMap::new();
    for group in close.groups {
        let labels = &group.first.labels;
        let closeness = closeness(selector, labels);
        if closeness > best {
            best = closeness;
            closest.clear();
        }
        // A pod that has none of the keys is not close.
        if closeness == best && best != (0, 0) {
            let pairs = selector.shared_with(labels).map(|(key, _, found)| (key, found)).collect();
            closest.entry(pairs).or_insert((0, group.first)).0 += group.count;
        }
    }
    let mut closest: Vec<(Pairs<'_>, (usize, &Pod))> = closest.into_iter().collect();
    closest.sort_by_cached_key(|(pairs, (count, _))| (Reverse(similarity(selector, pairs)), Reverse(*count)));
    let more = closest.len().saturating_sub(MAX_DIFFERENCES);
    let shown = closest.iter().take(MAX_DIFFERENCES);
    let mut out: Vec<Cause> = shown.map(|(_, (count, pod))| difference(selector, *count, pod)).collect();
    if let Some(last) = out.last_mut().filter(|_| more > 0) {
        let _ = write!(
            last.detail,
            " (other pods differ in {}{})",
            if close.is_all { "" } else { "at least " },
            counted(more, "other way")
        );
    }
    out
}

/// How similar the differing values are: the letters that they share, in any order, in thousandths of all letters.
fn similarity(selector: &Labels, pairs: &Pairs<'_>) -> usize {
    let values = pairs.iter().filter_map(|(key, found)| Some((selector.get(key)?, *found)));
    values.filter(|(wanted, found)| wanted != found).map(|(wanted, found)| shared_letters(wanted, found)).sum()
}

/// The letters that two texts share, in any order, in thousandths of all letters.
pub(super) fn shared_letters(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| &text.as_bytes()[..text.len().min(MAX_LETTERS)]);
    let mut letters = [0usize; 256];
    for &c in a {
        letters[usize::from(c)] += 1;
    }
    let mut shared = 0;
    for &c in b {
        let left = &mut letters[usize::from(c)];
        shared += usize::from(*left > 0);
        *left = left.saturating_sub(1);
    }
    shared * 2000 / (a.len() + b.len()).max(1)
}

/// How `pod`, which stands for `count` pods, differs from the selector.
fn difference(selector: &Labels, count: usize, pod: &Pod) -> Cause {
    let differs = selector.iter().map(|(key, wanted)| (key, wanted, pod.labels.get(key)));
    let differs: Vec<_> = differs.filter(|(_, wanted, found)| *found != Some(*wanted)).take(MAX_DIFFERENCES).collect();
    let texts: Vec<String> = differs
        .iter()
        .map(|(key, wanted, found)| match found {
            Some(found) => format!("label {} is {:?}, not {:?}", clip(key), clip(found), clip(wanted)),
            None => format!("label {} is missing, {:?} is wanted", clip(key), clip(wanted)),
        })
        .collect();
    let more = if count > 1 { format!(" and {}", counted(count - 1, "other pod")) } else { String::new() };
    let label = |(key, wanted, found): (&Text, &Text, Option<&Text>)| LabelMiss {
        key: key.clone(),
        wanted: wanted.clone(),
        found: found.cloned(),
    };
    Cause {
        object: Some(pod.key()),
        labels: differs.into_iter().map(label).collect(),
        pods: count,
        ..Cause::new(Reason::LabelDiffers, format!("pod {}{more}: {}", pod.name(), texts.join("; ")))
    }
}

/// The other namespaces in which the selector would match pods.
pub(super) fn other_namespaces(selector: &Labels, groups: &LabelGroups<'_>) -> Option<Cause> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let (matching, is_all) = groups.matching(selector);
    for group in matching {
        *counts.entry(group.first.namespace()).or_default() += group.count;
    }
    if counts.is_empty() {
        return None;
    }
    let named: Vec<String> = counts
        .iter()
        .take(MAX_NAMESPACES)
        .map(|(namespace, n)| format!("{n} in namespace {}", clip(namespace)))
        .collect();
    let more = match counts.len().saturating_sub(named.len()) {
        0 => String::new(),
        n => format!(", and in {} more", counted(n, "namespace")),
    };
    let more = if is_all { more } else { format!("{more}; not all were looked at") };
    // In a cluster, such pods have most often a Service of their own.
    let cause = Cause::new(Reason::OtherNamespace, format!("it would match pods: {}{more}", named.join(", ")));
    Some(Cause { severity: Severity::Info, ..cause })
}
