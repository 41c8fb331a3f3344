//! The identity of a fault: what an update may excuse.
//!
//! An update is not refused for a fault that the stored object already has. A fault is the same one only if it has no
//! further effect: the address of a pod that has ended is harmless as long as nobody reaches it. What reaches an address
//! is its [`Traffic`] and its [`AddressReadiness`].

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::model::{AddressKey, Labels, TargetPort, Text};

use super::rule::Rule;

/// What a finding is about. The place in the object does not matter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault<'a> {
    /// A value, such as the name of a label.
    Text(&'a str),
    /// A port of the pods that the object selects. The same port for another selector is another fault.
    SelectedPort(&'a str),
    /// A quantity; a smaller one is not a new fault.
    Count(usize),
    /// An address.
    Address {
        /// The address, whichever text it has.
        address: AddressKey<&'a str>,
        /// Which [`Traffic`] of the object goes to it.
        traffic: usize,
        /// How far it takes traffic.
        readiness: AddressReadiness,
    },
}

/// How far an address takes traffic; more of it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AddressReadiness {
    /// Not at all.
    NotReady,
    /// If no other endpoint is ready: it terminates, but still serves.
    Terminating,
    /// It is ready.
    Ready,
}

/// The traffic that goes to some addresses of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Traffic {
    /// The Service, where a label names it.
    service: Option<Text>,
    /// The pods that share it.
    selector: Labels,
    /// The ports, in order and each once: a port of another name or number is other traffic.
    ports: Vec<TrafficPort>,
}

/// A port of a [`Traffic`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TrafficPort {
    pub(super) name: Text,
    pub(super) protocol: Text,
    /// `None` means every port.
    pub(super) number: Option<i32>,
    /// Where a Service sends it.
    pub(super) target: Option<TargetPort>,
}

impl Traffic {
    /// The traffic to these ports.
    pub(super) fn to(ports: impl Iterator<Item = TrafficPort>) -> Self {
        let mut ports: Vec<TrafficPort> = ports.collect();
        ports.sort_unstable();
        ports.dedup();
        Self { ports, ..Self::default() }
    }

    /// The same traffic, for a Service.
    pub(super) fn of_service(self, service: Option<&str>) -> Self {
        Self { service: service.map(Text::from), ..self }
    }

    /// The same traffic, shared by the pods that a selector matches.
    pub(super) fn for_pods(self, selector: Labels) -> Self {
        Self { selector, ..self }
    }
}

/// All traffic of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectTraffic {
    /// Whether kube-proxy uses the object. It ignores objects with some labels.
    pub(super) is_proxied: bool,
    /// By the index that its addresses have in [`Fault::Address`].
    pub(super) all: Vec<Traffic>,
}

impl ObjectTraffic {
    /// The selector of a Service, which has one traffic.
    fn selector(&self) -> Option<&Labels> {
        self.all.first().map(|traffic| &traffic.selector)
    }
}

/// The faults of a stored object that an update may excuse.
#[derive(Debug, Default)]
pub(super) struct StoredFaults {
    texts: BTreeSet<(Rule, Text)>,
    counts: BTreeMap<Rule, usize>,
    /// By the number of its traffic, how far each address takes it.
    addresses: BTreeMap<(Rule, AddressKey<Text>, usize), AddressReadiness>,
    /// The enforced rules whose budget ended, and why: the stored object may have more of their faults.
    cut: BTreeMap<Rule, &'static str>,
    /// The traffic of the stored object, numbered.
    numbers: BTreeMap<Traffic, usize>,
    is_proxied: bool,
    /// The selector of the stored object.
    selector: Labels,
    /// Whether the object that is compared has this selector.
    has_same_selector: bool,
    /// For each traffic of the object that is compared, its number; `None` if the stored object does not have it.
    compared: Vec<Option<usize>>,
}

impl StoredFaults {
    /// No faults yet of a stored object with this traffic.
    pub(super) fn with(traffic: ObjectTraffic) -> Self {
        let mut numbers = BTreeMap::new();
        let mut compared = Vec::with_capacity(traffic.all.len());
        let selector = traffic.selector().cloned().unwrap_or_default();
        for traffic in traffic.all {
            let next = numbers.len();
            compared.push(Some(*numbers.entry(traffic).or_insert(next)));
        }
        Self { numbers, compared, is_proxied: traffic.is_proxied, selector, ..Self::default() }
    }

    /// The same faults, to compare with those of an object with this traffic.
    pub(super) fn compared_with(self, traffic: &ObjectTraffic) -> Self {
        // To an object that kube-proxy did not use, all traffic is new.
        let is_known = self.is_proxied || !traffic.is_proxied;
        let number = |traffic| self.numbers.get(traffic).copied().filter(|_| is_known);
        let compared = traffic.all.iter().map(number).collect();
        let has_same_selector = traffic.selector().is_none_or(|selector| *selector == self.selector);
        Self { has_same_selector, compared, ..self }
    }

    /// Adds a fault of the stored object.
    pub(super) fn insert(&mut self, rule: Rule, fault: Fault<'_>) {
        match fault {
            Fault::Text(text) | Fault::SelectedPort(text) => {
                self.texts.insert((rule, text.into()));
            }
            Fault::Count(n) => {
                let most = self.counts.entry(rule).or_default();
                *most = n.max(*most);
            }
            Fault::Address { address, traffic, readiness } => {
                if let Some(number) = self.number(traffic) {
                    let key = (rule, address.into_owned(), number);
                    let most = self.addresses.entry(key).or_insert(readiness);
                    *most = readiness.max(*most);
                }
            }
        }
    }

    /// Records that not all faults of a rule are known.
    pub(super) fn cut(&mut self, rule: Rule, why: &'static str) {
        self.cut.insert(rule, why);
    }

    /// Why it is not known whether the stored object has a fault that [`excuse`](Self::excuse) does not find.
    pub(super) fn may_excuse(&self, rule: Rule, fault: Fault<'_>) -> Option<&'static str> {
        let is_possible = match fault {
            Fault::Text(_) | Fault::Count(_) => true,
            Fault::SelectedPort(_) => self.has_same_selector,
            Fault::Address { traffic, .. } => self.number(traffic).is_some(),
        };
        self.cut.get(&rule).copied().filter(|_| is_possible)
    }

    /// Whether a fault is one of the stored object, without a further effect.
    pub(super) fn excuse(&self, rule: Rule, fault: Fault<'_>) -> bool {
        match fault {
            Fault::Text(text) => self.texts.contains(&(rule, text.into())),
            Fault::SelectedPort(text) => self.has_same_selector && self.texts.contains(&(rule, text.into())),
            Fault::Count(n) => self.counts.get(&rule).is_some_and(|most| n <= *most),
            Fault::Address { address, traffic, readiness } => self.number(traffic).is_some_and(|number| {
                self.addresses.get(&(rule, address.into_owned(), number)).is_some_and(|most| readiness <= *most)
            }),
        }
    }

    /// Whether the stored object has the fault in some form, and the update would extend it.
    pub(super) fn would_grow(&self, rule: Rule, fault: Fault<'_>) -> bool {
        let Fault::Address { address, .. } = fault else { return false };
        let key = |number| (rule, address.into_owned(), number);
        self.addresses.range(key(0)..=key(usize::MAX)).next().is_some()
    }

    fn number(&self, traffic: usize) -> Option<usize> {
        self.compared.get(traffic).copied().flatten()
    }
}
