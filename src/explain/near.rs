//! What a selector that matches nothing may have meant.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write};

use super::{Finding, LabelMiss};
use crate::{
    model::{Labels, Pod, Service, Text},
    reason::{Reason, counted},
};

/// How many differences are named.
const MAX_DIFFERENCES: usize = 3;
/// How many namespaces are named.
const MAX_NAMESPACES: usize = 5;

/// That nothing matches, then the nearest misses: the pods of the namespace that have most of the
/// selector's pairs, and the namespaces in which it would match.
pub(super) fn misses(service: &Service, selector: &Labels, pods: &[&Pod]) -> Vec<Finding> {
    let namespace = &service.meta.namespace;
    let (here, elsewhere): (Vec<&Pod>, Vec<&Pod>) = pods.iter().partition(|p| p.namespace() == namespace);
    let nothing = match here.len() {
        0 => format!("no pod of namespace {namespace} is known"),
        n => format!("none of {} in namespace {namespace}", counted(n, "pod")),
    };
    let mut out = vec![Finding::new(Reason::SelectorMatchesNothing, nothing)];
    out.extend(differences(selector, &here));
    out.extend(other_namespaces(selector, &elsewhere));
    out
}

/// How near a pod is: pairs that it has, then keys that it has with another value.
type Nearness = (usize, usize);

/// The value of a pod for each pair of the selector that it does not have.
type Difference<'a> = Vec<(&'a Text, &'a Text, Option<&'a Text>)>;

fn compare<'a>(selector: &'a Labels, pod: &'a Pod) -> (Nearness, Difference<'a>) {
    let differs: Difference<'a> = selector
        .iter()
        .map(|(key, wanted)| (key, wanted, pod.labels.get(key)))
        .filter(|(_, wanted, found)| *found != Some(*wanted))
        .collect();
    let other_value = differs.iter().filter(|(_, _, found)| found.is_some()).count();
    ((selector.len() - differs.len(), other_value), differs)
}

/// The nearest pods, those with the same difference together.
fn differences(selector: &Labels, pods: &[&Pod]) -> Vec<Finding> {
    let mut best: Nearness = (0, 0);
    let mut groups: BTreeMap<Difference<'_>, (usize, &Pod)> = BTreeMap::new();
    for &pod in pods {
        let (nearness, difference) = compare(selector, pod);
        if nearness > best {
            best = nearness;
            groups.clear();
        }
        // A pod that has none of the keys is near to nothing.
        if nearness == best && best != (0, 0) {
            groups.entry(difference).or_insert((0, pod)).0 += 1;
        }
    }
    let mut groups: Vec<(Difference<'_>, (usize, &Pod))> = groups.into_iter().collect();
    groups.sort_by_key(|(difference, (count, _))| (Reverse(likeness(difference)), Reverse(*count)));
    let more = groups.len().saturating_sub(MAX_DIFFERENCES);
    let mut out: Vec<Finding> = groups
        .iter()
        .take(MAX_DIFFERENCES)
        .map(|(difference, (count, pod))| finding(difference, *count, pod))
        .collect();
    if let Some(last) = out.last_mut().filter(|_| more > 0) {
        let _ = write!(last.detail, " (other pods differ in {})", counted(more, "other way"));
    }
    out
}

/// How alike the values are that differ: letters in common, in any order, in thousandths of all letters.
fn likeness(difference: &Difference<'_>) -> usize {
    difference.iter().map(|(_, wanted, found)| found.map_or(0, |f| alike(wanted, f))).sum()
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

fn finding(difference: &Difference<'_>, count: usize, pod: &Pod) -> Finding {
    let texts: Vec<String> = difference
        .iter()
        .take(MAX_DIFFERENCES)
        .map(|(key, wanted, found)| match found {
            Some(found) => format!("label {} is {:?}, not {:?}", clip(key), clip(found), clip(wanted)),
            None => format!("label {} is missing, {:?} is wanted", clip(key), clip(wanted)),
        })
        .collect();
    let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
    let label = |(key, wanted, found): &(&Text, &Text, Option<&Text>)| LabelMiss {
        key: (*key).clone(),
        wanted: (*wanted).clone(),
        found: found.cloned(),
    };
    Finding {
        object: Some(pod.key()),
        labels: difference.iter().take(MAX_DIFFERENCES).map(label).collect(),
        ..Finding::new(Reason::LabelDiffers, format!("pod {}{more}: {}", pod.name(), texts.join("; ")))
    }
}

/// Text that somebody else chose, short enough to be read.
fn clip(text: &str) -> String {
    text.chars().take(64).collect()
}

fn other_namespaces(selector: &Labels, pods: &[&Pod]) -> Option<Finding> {
    let mut counts: BTreeMap<&Text, usize> = BTreeMap::new();
    for pod in pods.iter().filter(|p| selector.selects(&p.labels)) {
        *counts.entry(pod.namespace()).or_default() += 1;
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
    Some(Finding::new(Reason::OtherNamespace, format!("it would match pods: {}{more}", named.join(", "))))
}
