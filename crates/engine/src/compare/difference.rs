//! The difference between a stored object and the one that replaces it, in words.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Display,
};

use super::aspect::{Aspect, ObjectDifference};
use crate::model::{
    Endpoint, EndpointPort, EndpointSlice, EndpointSubset, Endpoints, HashSeed, Labels, ObjectMeta, ObjectRef,
    SlicePort, StoredSlices, Text, names, protocol_or_tcp,
};

/// The most addresses that are named; the others are counted.
const NAMED: usize = 3;

/// The identity of an endpoint: its address and its pod.
type EndpointId<'a> = (&'a str, &'a str);
/// The stages of an endpoint, each with the place of its ports among all lists: sorted, each once.
type Stages = Vec<(usize, &'static str)>;
type Entries<'a> = BTreeMap<EndpointId<'a>, Stages>;

/// An Endpoints object in a few words.
pub(super) fn endpoints_in_short(object: &Endpoints) -> String {
    let ports = endpoints_ports(object);
    let lists = PortLists::of(ports.iter());
    in_short(&lists, &endpoints_entries(object, &ports, &lists))
}

/// A slice in a few words.
pub(super) fn slice_in_short(slice: &EndpointSlice) -> String {
    let ports = slice_ports(slice);
    let lists = PortLists::of([&ports].into_iter());
    format!("{}, {}", slice.address_type.as_str(), in_short(&lists, &slice_entries(slice, &ports, &lists)))
}

/// How an Endpoints object differs; `None` if it does not.
pub(super) fn endpoints(old: &Endpoints, new: &Endpoints) -> Option<ObjectDifference> {
    add_endpoints(ObjectDifference::default(), old, new).some()
}

/// Whether an Endpoints object differs at all.
pub(super) fn endpoints_differ(old: &Endpoints, new: &Endpoints) -> bool {
    !add_endpoints(ObjectDifference::silent(), old, new).is_empty()
}

fn add_endpoints(mut found: ObjectDifference, old: &Endpoints, new: &Endpoints) -> ObjectDifference {
    addresses_of_endpoints(&mut found, old, new);
    metadata(&mut found, &old.meta, &new.meta);
    if found.is_empty() && old.subsets.iter().map(comparable).ne(new.subsets.iter().map(comparable)) {
        found.add(Aspect::Order, || "order or details of the subsets".to_owned());
    }
    found
}

fn addresses_of_endpoints(found: &mut ObjectDifference, old: &Endpoints, new: &Endpoints) {
    let (before, after) = (endpoints_ports(old), endpoints_ports(new));
    let lists = PortLists::of(before.iter().chain(&after));
    entries(found, &lists, &endpoints_entries(old, &before, &lists), &endpoints_entries(new, &after, &lists));
}

/// How a slice differs; `None` if it does not.
pub(super) fn slices(old: &EndpointSlice, new: &EndpointSlice) -> Option<ObjectDifference> {
    add_slices(ObjectDifference::default(), old, new).some()
}

/// Whether a slice differs at all.
pub(super) fn slices_differ(old: &EndpointSlice, new: &EndpointSlice) -> bool {
    !add_slices(ObjectDifference::silent(), old, new).is_empty()
}

fn add_slices(mut found: ObjectDifference, old: &EndpointSlice, new: &EndpointSlice) -> ObjectDifference {
    let (before, after) = (slice_ports(old), slice_ports(new));
    let lists = PortLists::of([&before, &after].into_iter());
    entries(&mut found, &lists, &slice_entries(old, &before, &lists), &slice_entries(new, &after, &lists));
    fields(&mut found, old, new);
    metadata(&mut found, &old.meta, &new.meta);
    if found.is_empty() && (old.address_type != new.address_type || old.endpoints.len() != new.endpoints.len()) {
        found.add(Aspect::Order, || "repeated endpoints".to_owned());
    }
    found
}

/// What differs between the stored objects of a list and those that the controller would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishedChange {
    /// Addresses, their states or their ports.
    Addresses(String),
    /// Nothing but labels, annotations, owners, hints, or how addresses are arranged.
    Details(String),
}

/// What differs between two Endpoints objects; `None` if nothing does.
pub(crate) fn published_endpoints(old: &Endpoints, new: &Endpoints) -> Option<PublishedChange> {
    let mut addresses = ObjectDifference::default();
    addresses_of_endpoints(&mut addresses, old, new);
    let addresses = addresses.some();
    let details = || endpoints(old, new).map(|found| PublishedChange::Details(found.text()));
    addresses.map(|found| PublishedChange::Addresses(found.text())).or_else(details)
}

/// What differs between the slices of a Service; `None` if nothing does. How addresses are spread over slices is a detail.
pub(crate) fn published_slices(old: &[&EndpointSlice], new: &[&EndpointSlice]) -> Option<PublishedChange> {
    let ports = |slices: &[&EndpointSlice]| slices.iter().map(|slice| slice_ports(slice)).collect::<Vec<_>>();
    let (before, after) = (ports(old), ports(new));
    let lists = PortLists::of(before.iter().chain(&after));
    let mut addresses = ObjectDifference::default();
    entries(&mut addresses, &lists, &entries_of_all(old, &before, &lists), &entries_of_all(new, &after, &lists));
    addresses
        .some()
        .map(|found| PublishedChange::Addresses(found.text()))
        .or_else(|| details(old, new).map(PublishedChange::Details))
}

/// The entries of several slices together.
fn entries_of_all<'a>(slices: &[&'a EndpointSlice], ports: &[String], lists: &PortLists<'_>) -> Entries<'a> {
    let mut all = Entries::new();
    for (who, mut stages) in slices.iter().zip(ports).flat_map(|(slice, ports)| slice_entries(slice, ports, lists)) {
        all.entry(who).or_default().append(&mut stages);
    }
    with_stages_in_order(all)
}

fn with_stages_in_order(mut entries: Entries<'_>) -> Entries<'_> {
    for stages in entries.values_mut() {
        stages.sort_unstable();
        stages.dedup();
    }
    entries
}

/// What differs between slices with the same addresses.
fn details(old: &[&EndpointSlice], new: &[&EndpointSlice]) -> Option<String> {
    let stored = StoredSlices::of(old);
    let mut updated = new.iter().filter_map(|new| slices(stored.get(&new.meta.name)?, new));
    let is_moved = || old.len() != new.len() || new.iter().any(|s| stored.get(&s.meta.name).is_none());
    let first = updated.next().map(|found| found.text());
    first.or_else(|| is_moved().then(|| "the same addresses in other slices".to_owned()))
}

fn in_short(lists: &PortLists<'_>, entries: &Entries<'_>) -> String {
    let mut stages: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ports: BTreeSet<usize> = BTreeSet::new();
    for (list, stage) in entries.values().flatten() {
        *stages.entry(stage).or_default() += 1;
        ports.insert(*list);
    }
    let mut text = match entries.len() {
        0 => "no addresses".to_owned(),
        1 => "1 address".to_owned(),
        n => format!("{n} addresses"),
    };
    if stages.keys().any(|s| *s != READY) {
        let counts: Vec<String> = stages.iter().map(|(stage, n)| format!("{n} {stage}")).collect();
        text = format!("{text} ({})", counts.join(", "));
    }
    let ports: Vec<_> = ports.into_iter().map(|list| lists.shown(list)).filter(|p| !p.is_empty()).collect();
    if !ports.is_empty() {
        text = format!("{text}, ports {}", some(&ports));
    }
    text
}

const READY: &str = "ready";
const NOT_READY: &str = "not ready";
const TERMINATING: &str = "terminating";

/// The port lists of two objects, sorted, each once: lists are compared with each other, and not for each address.
struct PortLists<'p>(Vec<&'p String>);

impl<'p> PortLists<'p> {
    /// Up to this length a list is shown as it is.
    const SHORT: usize = 512;
    /// The most ports of a longer list that are shown, and the most letters.
    const SHOWN: usize = 32;
    const LETTERS: usize = 4096;

    fn of(all: impl Iterator<Item = &'p String>) -> Self {
        let mut all: Vec<&String> = all.collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    fn place(&self, list: &str) -> usize {
        self.0.binary_search_by(|known| known.as_str().cmp(list)).unwrap_or_default()
    }

    /// A list in a message.
    fn shown(&self, place: usize) -> Cow<'p, str> {
        let list: &'p str = self.0.get(place).map_or("", |list| list);
        if list.len() <= Self::SHORT {
            return Cow::Borrowed(list);
        }
        let shown = list.match_indices(PLUS).nth(Self::SHOWN - 1).map_or(list, |(end, _)| &list[..end]);
        let shown = shown.char_indices().nth(Self::LETTERS).map_or(shown, |(end, _)| &shown[..end]);
        match list[shown.len()..].matches(PLUS).count() {
            0 => Cow::Borrowed(shown),
            more => Cow::Owned(format!("{shown}{PLUS}{more} more")),
        }
    }
}

/// What is between the ports of a list.
const PLUS: &str = " + ";

/// The ports of each subset.
pub(super) fn endpoints_ports(object: &Endpoints) -> Vec<String> {
    object.subsets.iter().map(|subset| ports(subset.ports.iter().map(endpoints_port))).collect()
}

pub(super) fn slice_ports(slice: &EndpointSlice) -> String {
    ports(slice.ports.iter().flatten().map(slice_port))
}

fn endpoints_entries<'a>(object: &'a Endpoints, ports: &[String], lists: &PortLists<'_>) -> Entries<'a> {
    let mut all = Entries::new();
    for (subset, ports) in object.subsets.iter().zip(ports) {
        let ports = lists.place(ports);
        for (list, stage) in [(&subset.addresses, READY), (&subset.not_ready_addresses, NOT_READY)] {
            for address in list {
                let who = (address.ip.as_str(), target(address.target_ref.as_deref()));
                all.entry(who).or_default().push((ports, stage));
            }
        }
    }
    with_stages_in_order(all)
}

fn slice_entries<'a>(slice: &'a EndpointSlice, ports: &str, lists: &PortLists<'_>) -> Entries<'a> {
    let mut all = Entries::new();
    let ports = lists.place(ports);
    for endpoint in &slice.endpoints {
        let stage = stage(endpoint);
        let pod = target(endpoint.target_ref.as_deref());
        for address in &endpoint.addresses {
            all.entry((address, pod)).or_default().push((ports, stage));
        }
    }
    with_stages_in_order(all)
}

fn stage(endpoint: &Endpoint) -> &'static str {
    match (endpoint.conditions.terminating, endpoint.ready()) {
        (Some(true), _) => TERMINATING,
        (_, true) => READY,
        (_, false) => NOT_READY,
    }
}

pub(super) fn target(reference: Option<&ObjectRef>) -> &str {
    reference.map(|r| r.name.as_str()).unwrap_or_default()
}

fn endpoints_port(p: &EndpointPort) -> String {
    port(&p.name, Some(p.port), &p.protocol, p.app_protocol.as_deref())
}

fn slice_port(p: &SlicePort) -> String {
    let text = |t: &Option<Text>| t.clone().unwrap_or_default();
    port(&text(&p.name), p.port, &text(&p.protocol), p.app_protocol.as_deref())
}

/// `http 8080/TCP`.
fn port(name: &str, number: Option<i32>, protocol: &str, app_protocol: Option<&str>) -> String {
    let space = if name.is_empty() { "" } else { " " };
    let number = number.map_or_else(|| "any".to_owned(), |n| n.to_string());
    let protocol = protocol_or_tcp(protocol);
    let app = app_protocol.map(|a| format!(" ({a})")).unwrap_or_default();
    format!("{name}{space}{number}/{protocol}{app}")
}

/// The ports of a list as one text, whatever their order.
fn ports(list: impl Iterator<Item = String>) -> String {
    let list: BTreeSet<String> = list.collect();
    list.into_iter().collect::<Vec<_>>().join(PLUS)
}

/// Addresses that come, go or change.
fn entries<'a>(found: &mut ObjectDifference, lists: &PortLists<'_>, old: &Entries<'a>, new: &Entries<'a>) {
    let added: Vec<EndpointId<'_>> = new.keys().filter(|who| !old.contains_key(*who)).copied().collect();
    let removed: Vec<EndpointId<'_>> = old.keys().filter(|who| !new.contains_key(*who)).copied().collect();
    // Thousands of addresses often change in the same way.
    let mut steps: BTreeMap<Step, Vec<EndpointId<'_>>> = BTreeMap::new();
    let mut known: BTreeMap<(&Stages, &Stages), Step> = BTreeMap::new();
    for (who, after) in new {
        let Some(before) = old.get(who).filter(|before| *before != after) else { continue };
        let step = known.entry((before, after)).or_insert_with(|| Step::of(before, after));
        match steps.get_mut(step) {
            Some(of_step) => of_step.push(*who),
            None => drop(steps.insert(step.clone(), vec![*who])),
        }
    }
    for (sign, all) in [('+', added), ('-', removed)] {
        if !all.is_empty() {
            found.add(Aspect::Addresses, || format!("{sign} {}", named(&all)));
        }
    }
    // Every step of ports may be of other lists, which are long: a few of them are put into words.
    let (of_ports, of_readiness): (Vec<_>, Vec<_>) =
        steps.into_iter().partition(|(step, _)| matches!(step, Step::Ports(..)));
    let mut texts: BTreeMap<(String, Aspect), Vec<EndpointId<'_>>> = BTreeMap::new();
    let others = of_ports.len().saturating_sub(NAMED);
    for (step, who) in of_ports.into_iter().take(NAMED).chain(of_readiness) {
        let text = if found.is_silent() { String::new() } else { step.text(lists) };
        texts.entry((text, step.aspect())).or_default().extend(who);
    }
    for ((step, aspect), mut who) in texts {
        who.sort_unstable();
        found.add(aspect, || format!("{step}: {}", named(&who)));
    }
    if others > 0 {
        found.add(Aspect::Ports, || format!("{others} more changes of ports"));
    }
}

/// The change of an endpoint: of its stage, or else of its ports, which are numbers of lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Readiness(&'static str, &'static str),
    Ports(Vec<usize>, Vec<usize>),
}

impl Step {
    fn of(before: &Stages, after: &Stages) -> Self {
        let stages = |what: &Stages| -> BTreeSet<&'static str> { what.iter().map(|(_, stage)| *stage).collect() };
        let ports = |what: &Stages| what.iter().map(|(list, _)| *list).collect();
        let (was, is) = (stages(before), stages(after));
        match (was.first(), is.first()) {
            (Some(a), Some(b)) if a != b && was.len() == 1 && is.len() == 1 => Self::Readiness(a, b),
            _ => Self::Ports(ports(before), ports(after)),
        }
    }

    fn aspect(&self) -> Aspect {
        match self {
            Self::Readiness(..) => Aspect::Readiness,
            Self::Ports(..) => Aspect::Ports,
        }
    }

    fn text(&self, lists: &PortLists<'_>) -> String {
        let ports = |of: &[usize]| some_of(of.len(), of.iter().map(|list| lists.shown(*list)));
        match self {
            Self::Readiness(before, after) => format!("{before} -> {after}"),
            Self::Ports(before, after) => format!("ports {} -> {}", or_none(&ports(before)), or_none(&ports(after))),
        }
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// `10.0.0.1 (web-0)`.
fn name((address, pod): EndpointId<'_>) -> String {
    if pod.is_empty() { address.to_owned() } else { format!("{address} ({pod})") }
}

/// The first few endpoints, and the number of the others.
fn named(all: &[EndpointId<'_>]) -> String {
    some_of(all.len(), all.iter().map(|who| name(*who)))
}

/// The first few of a list, and the number of the others.
fn some<T: Display>(list: &[T]) -> String {
    some_of(list.len(), list.iter())
}

/// The same of as many things as there are.
fn some_of<T: Display>(all: usize, list: impl Iterator<Item = T>) -> String {
    let mut text = list.take(NAMED).map(|of| of.to_string()).collect::<Vec<_>>().join(", ");
    if all > NAMED {
        text = format!("{text} and {} more", all - NAMED);
    }
    text
}

/// The fields besides address, pod and stage that differ, each with the number of endpoints.
fn fields(found: &mut ObjectDifference, old: &EndpointSlice, new: &EndpointSlice) {
    let mut before: HashMap<(&[Text], &str), &Endpoint, HashSeed> = HashMap::default();
    for e in &old.endpoints {
        before.insert((&e.addresses, target(e.target_ref.as_deref())), e);
    }
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for new in &new.endpoints {
        let Some(old) = before.get(&(&new.addresses[..], target(new.target_ref.as_deref()))) else { continue };
        let differs = [
            // A change of the stage is already listed.
            ("conditions", stage(old) == stage(new) && old.conditions != new.conditions),
            ("hostname", old.hostname != new.hostname),
            ("node", old.node_name != new.node_name),
            ("zone", old.zone != new.zone || old.deprecated_topology != new.deprecated_topology),
            ("hints", old.hints != new.hints),
            ("target", !same_target(old.target_ref.as_deref(), new.target_ref.as_deref())),
        ];
        for (field, _) in differs.into_iter().filter(|(_, differs)| *differs) {
            *counts.entry(field).or_default() += 1;
        }
    }
    for (field, n) in counts {
        found.add(Aspect::Field(field), || format!("{field} of {n}"));
    }
}

fn same_target(a: Option<&ObjectRef>, b: Option<&ObjectRef>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same_target(b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Labels, annotations and owners that differ. The trigger time does not count: it changes with every write.
fn metadata(found: &mut ObjectDifference, old: &ObjectMeta, new: &ObjectMeta) {
    map(found, "label", Aspect::Label, &old.labels, &new.labels);
    map(found, "annotation", Aspect::Annotation, &old.annotations, &new.annotations);
    if old.owner_references != new.owner_references {
        found.add(Aspect::Owner, || "owner".to_owned());
    }
}

fn map(found: &mut ObjectDifference, what: &str, aspect: fn(Text) -> Aspect, old: &Labels, new: &Labels) {
    let counts = |(key, _): &(&Text, &Text)| key.as_str() != names::TRIGGER_TIME;
    let set = new.iter().filter(counts).filter(|(k, v)| old.get(k) != Some(v)).map(|(k, v)| (k, Some(v)));
    let gone = old.iter().filter(counts).filter(|(k, _)| !new.contains_key(k)).map(|(k, _)| (k, None));
    let all: Vec<(&Text, Option<&Text>)> = set.chain(gone).collect();
    if !all.is_empty() {
        let text = |(key, value): &(&Text, Option<&Text>)| {
            value.map_or_else(|| format!("{key} removed"), |value| format!("{key}={value}"))
        };
        found.add_all(all.iter().map(|(key, _)| aspect((*key).clone())), || {
            format!("{what} {}", some_of(all.len(), all.iter().map(text)))
        });
    }
}

/// A subset without the resource versions of its targets, which never count.
fn comparable(subset: &EndpointSubset) -> EndpointSubset {
    let mut subset = subset.clone();
    for address in subset.addresses.iter_mut().chain(&mut subset.not_ready_addresses) {
        if let Some(target) = &mut address.target_ref {
            std::sync::Arc::make_mut(target).resource_version = Text::default();
        }
    }
    subset
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Endpoints, endpoints, endpoints_differ};

    /// One subset for each address and port.
    fn object(addresses: usize, ports: std::ops::Range<usize>) -> Endpoints {
        let subset = |address: usize, port: usize| {
            let address = json!({ "ip": format!("10.0.0.{address}") });
            json!({ "addresses": [address], "ports": [{ "port": port }] })
        };
        let subsets = (1..=addresses).flat_map(|a| ports.clone().map(move |port| subset(a, a * 100 + port)));
        let subsets: Vec<_> = subsets.collect();
        serde_json::from_value(json!({ "metadata": { "namespace": "ns", "name": "web" }, "subsets": subsets })).unwrap()
    }

    #[test]
    fn few_steps_and_few_lists_of_each_are_put_into_words() {
        for (addresses, before, after, text) in [
            (1, 0..1, 0..1, None),
            (1, 0..1, 1..2, Some("ports 100/TCP -> 101/TCP: 10.0.0.1")),
            (1, 0..3, 0..2, Some("ports 100/TCP, 101/TCP, 102/TCP -> 100/TCP, 101/TCP: 10.0.0.1")),
            (
                1,
                0..9,
                0..4,
                Some("ports 100/TCP, 101/TCP, 102/TCP and 6 more -> 100/TCP, 101/TCP, 102/TCP and 1 more: 10.0.0.1"),
            ),
            (
                5,
                0..1,
                1..2,
                Some(
                    "ports 100/TCP -> 101/TCP: 10.0.0.1; ports 200/TCP -> 201/TCP: 10.0.0.2; \
                     ports 300/TCP -> 301/TCP: 10.0.0.3; 2 more changes of ports",
                ),
            ),
        ] {
            let (old, new) = (object(addresses, before), object(addresses, after));
            assert_eq!(endpoints(&old, &new).map(|found| found.text()).as_deref(), text);
            assert_eq!(endpoints_differ(&old, &new), text.is_some(), "{text:?}");
        }
    }
}
