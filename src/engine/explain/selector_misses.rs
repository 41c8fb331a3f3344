//! What a selector that matches nothing may have meant.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    fmt::Write,
    sync::Arc,
};

use super::{Cause, LabelMiss};
use crate::{
    engine::{
        ports::clip,
        reason::{Reason, counted},
    },
    model::{Labels, Pod, Service, Text},
};

/// How many differences are named.
const MAX_DIFFERENCES: usize = 3;
/// How many namespaces are named.
const MAX_NAMESPACES: usize = 5;
/// With so many kinds of pods of its namespace a selector is compared: 10 000 Services that all match nothing
/// take seconds.
const MAX_COMPARED: usize = 10_000;

/// Pods, those of a namespace that have the same labels together: made once, asked by every Service whose
/// selector matches nothing.
#[derive(Debug, Default)]
pub struct Kinds<'a> {
    all: Vec<Kind<'a>>,
    /// Places of the kinds of each namespace.
    by_namespace: BTreeMap<&'a Text, Vec<usize>>,
    /// Places of the kinds that have a pair.
    by_pair: HashMap<(&'a Text, &'a Text), Vec<usize>, Fast>,
}

type Fast = foldhash::fast::FixedState;

/// Pods of one namespace with the same labels.
#[derive(Debug)]
struct Kind<'a> {
    first: &'a Pod,
    count: usize,
}

impl<'a> FromIterator<&'a Pod> for Kinds<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Pod>>(pods: I) -> Self {
        let mut this = Self::default();
        let mut places: HashMap<(&Text, &Labels), usize, Fast> = HashMap::default();
        let mut before: Option<(&Pod, usize)> = None;
        for pod in pods {
            // Neighbours are mostly replicas: they share namespace and labels.
            let place = match before {
                Some((b, at)) if Arc::ptr_eq(&b.labels, &pod.labels) && b.namespace() == pod.namespace() => at,
                _ => *places.entry((pod.namespace(), &*pod.labels)).or_insert_with(|| this.add(pod)),
            };
            this.all[place].count += 1;
            before = Some((pod, place));
        }
        this
    }
}

impl<'a> Kinds<'a> {
    fn add(&mut self, first: &'a Pod) -> usize {
        let place = self.all.len();
        self.all.push(Kind { first, count: 0 });
        self.by_namespace.entry(first.namespace()).or_default().push(place);
        for pair in first.labels.iter() {
            self.by_pair.entry(pair).or_default().push(place);
        }
        place
    }

    fn of_namespace(&self, namespace: &Text) -> impl Iterator<Item = &Kind<'a>> {
        self.by_namespace.get(namespace).into_iter().flatten().map(|i| &self.all[*i])
    }

    /// The kinds that a selector matches, wherever they are; it is not empty.
    fn matching<'b>(&'b self, selector: &'b Labels) -> impl Iterator<Item = &'b Kind<'a>> {
        let lists = selector.iter().map(|pair| self.by_pair.get(&pair).map_or(&[][..], Vec::as_slice));
        let shortest = lists.min_by_key(|l| l.len()).unwrap_or_default();
        shortest.iter().map(|i| &self.all[*i]).filter(|k| selector.selects(&k.first.labels))
    }
}

/// That nothing matches, then the nearest misses: the pods of the namespace that have most of the
/// selector's pairs, and the namespaces in which it would match.
pub(super) fn misses(service: &Service, selector: &Labels, kinds: &Kinds<'_>) -> Vec<Cause> {
    let namespace = &service.meta.namespace;
    let nothing = match kinds.of_namespace(namespace).map(|k| k.count).sum() {
        0 => format!("no pod of namespace {namespace} is known"),
        n => format!("none of {} in namespace {namespace}", counted(n, "pod")),
    };
    let mut out = vec![Cause::new(Reason::SelectorMatchesNothing, nothing)];
    out.extend(differences(selector, kinds.of_namespace(namespace)));
    out.extend(other_namespaces(selector, kinds));
    out
}

/// How near pods are: pairs that they have, then keys that they have with another value.
type Nearness = (usize, usize);

/// What pods have under the keys of a selector. Pods of one view differ from the selector in the same way.
type View<'a> = Vec<(&'a Text, &'a Text)>;

/// As far as it takes time, it takes that of the pods' labels: a selector can have any number.
fn compare(selector: &Labels, labels: &Labels) -> Nearness {
    let mut near = (0, 0);
    for (key, found) in labels.iter() {
        match selector.get(key) {
            Some(wanted) if wanted == found => near.0 += 1,
            Some(_) => near.1 += 1,
            None => {}
        }
    }
    near
}

/// The nearest pods, those with the same difference together.
fn differences<'a>(selector: &Labels, kinds: impl Iterator<Item = &'a Kind<'a>>) -> Vec<Cause> {
    let mut best: Nearness = (0, 0);
    let mut groups: BTreeMap<View<'a>, (usize, &Pod)> = BTreeMap::new();
    for kind in kinds.take(MAX_COMPARED) {
        let labels = &kind.first.labels;
        let nearness = compare(selector, labels);
        if nearness > best {
            best = nearness;
            groups.clear();
        }
        // A pod that has none of the keys is near to nothing.
        if nearness == best && best != (0, 0) {
            let view = labels.iter().filter(|(key, _)| selector.contains_key(key)).collect();
            groups.entry(view).or_insert((0, kind.first)).0 += kind.count;
        }
    }
    let mut groups: Vec<(View<'_>, (usize, &Pod))> = groups.into_iter().collect();
    groups.sort_by_cached_key(|(view, (count, _))| (Reverse(likeness(selector, view)), Reverse(*count)));
    let more = groups.len().saturating_sub(MAX_DIFFERENCES);
    let shown = groups.iter().take(MAX_DIFFERENCES);
    let mut out: Vec<Cause> = shown.map(|(_, (count, pod))| finding(selector, *count, pod)).collect();
    if let Some(last) = out.last_mut().filter(|_| more > 0) {
        let _ = write!(last.detail, " (other pods differ in {})", counted(more, "other way"));
    }
    out
}

/// How alike the values are that differ: letters in common, in any order, in thousandths of all letters.
fn likeness(selector: &Labels, view: &View<'_>) -> usize {
    let wanted = view.iter().filter_map(|(key, found)| Some((selector.get(key)?, *found)));
    wanted.filter(|(wanted, found)| wanted != found).map(|(wanted, found)| alike(wanted, found)).sum()
}

fn alike(a: &str, b: &str) -> usize {
    let mut letters = [0usize; 256];
    a.bytes().for_each(|c| letters[usize::from(c)] += 1);
    let mut common = 0;
    for c in b.bytes() {
        let left = &mut letters[usize::from(c)];
        common += usize::from(*left > 0);
        *left = left.saturating_sub(1);
    }
    common * 2000 / (a.len() + b.len()).max(1)
}

fn finding(selector: &Labels, count: usize, pod: &Pod) -> Cause {
    let differs = selector.iter().map(|(key, wanted)| (key, wanted, pod.labels.get(key)));
    let differs: Vec<_> = differs.filter(|(_, wanted, found)| *found != Some(*wanted)).take(MAX_DIFFERENCES).collect();
    let texts: Vec<String> = differs
        .iter()
        .map(|(key, wanted, found)| match found {
            Some(found) => format!("label {} is {:?}, not {:?}", clip(key), clip(found), clip(wanted)),
            None => format!("label {} is missing, {:?} is wanted", clip(key), clip(wanted)),
        })
        .collect();
    let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
    let label = |(key, wanted, found): (&Text, &Text, Option<&Text>)| LabelMiss {
        key: key.clone(),
        wanted: wanted.clone(),
        found: found.cloned(),
    };
    Cause {
        object: Some(pod.key()),
        labels: differs.into_iter().map(label).collect(),
        ..Cause::new(Reason::LabelDiffers, format!("pod {}{more}: {}", pod.name(), texts.join("; ")))
    }
}

/// No kind of its own namespace matches: it selects nothing.
fn other_namespaces(selector: &Labels, kinds: &Kinds<'_>) -> Option<Cause> {
    let mut counts: BTreeMap<&Text, usize> = BTreeMap::new();
    for kind in kinds.matching(selector) {
        *counts.entry(kind.first.namespace()).or_default() += kind.count;
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
    Some(Cause::new(Reason::OtherNamespace, format!("it would match pods: {}{more}", named.join(", "))))
}
