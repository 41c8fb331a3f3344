//! What the cases of a file are checked against.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use roster_admission::{
    offline_review::{self, Namespaces},
    policy::Policies,
};
use roster_engine::{
    explain::{Focus, explain_only},
    model::{HashSeed, ObjectKey, ServicePort, Text, json::raw::object_key, spelling::nearest},
    reason::Reason,
    state::{Controller, Options, Plan, State},
};
use serde_json::value::RawValue;

use super::{
    test_answer::{Answer, ExplanationByPod, Question},
    test_file::PortChoice,
};
use crate::inventory::{Entry, Index, Snapshot, whole};

/// The objects of the inputs, and everything that is derived from them once for all cases.
#[derive(Debug)]
pub struct TestInput<'a> {
    /// The objects, with the pods of workloads.
    pub index: &'a Index<'a>,
    /// The same objects, for the rules.
    pub snapshot: &'a Snapshot<'a>,
    /// The policies in force.
    pub policies: &'a Policies,
    /// The namespace of objects that do not name one.
    pub namespace: &'a str,
    /// The options of plans.
    pub options: Options,
    objects: ObjectsByKey<'a>,
    stored: ObjectsByKey<'a>,
    namespaces: Namespaces,
    answers: RefCell<BTreeMap<Question, Result<Rc<Answer>, String>>>,
    /// By the namespace and the name of the Service.
    explained: RefCell<HashMap<(&'a str, &'a str), Rc<ExplanationByPod>, HashSeed>>,
    zones: OnceCell<BTreeSet<Text>>,
    /// The first Service of each name, by its place.
    names: OnceCell<HashMap<&'a str, usize, HashSeed>>,
    separators: OnceCell<Result<(), String>>,
    /// How many names may still be compared.
    comparisons: Cell<usize>,
}

/// How many names of Services are compared with those that the cases of a file name and no Service has: each of the cases could
/// ask about all of them.
const COMPARED: usize = 5000;

type ObjectsByKey<'a> = HashMap<ObjectKey, &'a RawValue, HashSeed>;

impl<'a> TestInput<'a> {
    /// The input of cases. `objects` and `stored` are the objects of the inputs and the stored ones, as they are written.
    pub fn new(
        index: &'a Index<'a>,
        snapshot: &'a Snapshot<'a>,
        policies: &'a Policies,
        namespace: &'a str,
        options: Options,
        objects: &[&'a RawValue],
        stored: &[&'a RawValue],
    ) -> Self {
        let namespace = if namespace.is_empty() { "default" } else { namespace };
        let mut namespaces = Namespaces::default();
        let mut by_key = |all: &[&'a RawValue]| -> ObjectsByKey<'a> {
            let keyed = all.iter().map(|raw| {
                let key = object_key(raw);
                offline_review::note_namespace(raw, &key, &mut namespaces);
                (key.placed(namespace), *raw)
            });
            keyed.collect()
        };
        let (stored, objects) = (by_key(stored), by_key(objects));
        Self {
            index,
            snapshot,
            policies,
            namespace,
            options,
            objects,
            stored,
            namespaces,
            answers: RefCell::default(),
            explained: RefCell::default(),
            zones: OnceCell::new(),
            names: OnceCell::new(),
            separators: OnceCell::new(),
            comparisons: Cell::new(COMPARED),
        }
    }

    /// The Service `NAME` or `NAMESPACE/NAME`.
    pub(super) fn entry(&self, service: &str) -> Result<&'a Entry<'a>, String> {
        let (namespace, name) = service.split_once('/').unwrap_or((self.namespace, service));
        self.index.get(namespace, name).ok_or_else(|| {
            let similar = self.similar(name);
            let hint = similar.map(|e| format!("; did you mean {}/{}?", e.namespace, e.name)).unwrap_or_default();
            format!("the inputs have no Service {namespace}/{name}{hint}")
        })
    }

    /// A Service with this name in another namespace, or one whose name may be meant.
    fn similar(&self, name: &str) -> Option<&'a Entry<'a>> {
        let entries = self.index.entries();
        let names = self.names.get_or_init(|| {
            entries.iter().enumerate().rev().map(|(place, entry)| (entry.name.as_str(), place)).collect()
        });
        let same = names.get(name).and_then(|place| entries.get(*place));
        same.or_else(|| {
            let compared = entries.len().min(self.comparisons.get());
            self.comparisons.update(|left| left - compared);
            nearest(name, entries.iter().take(compared), |entry| entry.name.as_str())
        })
    }

    /// The answer to a question, which is found once for all cases that ask it.
    pub(super) fn answer(
        &self,
        question: Question,
        find: impl FnOnce() -> Result<Answer, String>,
    ) -> Result<Rc<Answer>, String> {
        if let Some(known) = self.answers.borrow().get(&question) {
            return known.clone();
        }
        let found = find().map(Rc::new);
        self.answers.borrow_mut().insert(question, found.clone());
        found
    }

    /// One Service, or all. Where there is none, a case would pass whatever it expects.
    pub(super) fn entries(&self, service: Option<&str>) -> Result<Vec<&'a Entry<'a>>, String> {
        match service {
            Some(service) => Ok(vec![self.entry(service)?]),
            None if self.index.entries().is_empty() => Err("the inputs have no Service".to_owned()),
            None => Ok(self.index.entries().iter().collect()),
        }
    }

    /// Fails if something of `entries` is not checked: what the controllers would do is then unknown, and an expectation
    /// that nothing is there or that nothing changes would always hold.
    pub(super) fn is_checked(&self, entries: &[&Entry<'a>]) -> Result<(), String> {
        let Some((entry, why)) = entries.iter().find_map(|e| Some((e, self.index.not_checked_of(e)?))) else {
            return Ok(());
        };
        Err(format!(
            "{}/{}: {why}; add them or their workloads, or set options.complete if the inputs are the whole cluster",
            entry.namespace, entry.name
        ))
    }

    /// Fails if `---` is missing between two objects of the inputs: neither of them is read as it is meant.
    pub(super) fn has_separators(&self) -> Result<(), String> {
        let check = || {
            let missing = self.index.problems().iter().find(|finding| finding.code == Reason::MissingSeparator);
            missing.map_or(Ok(()), |finding| Err(format!("{}: {}: {}", finding.object, finding.code, finding.message)))
        };
        self.separators.get_or_init(check).clone()
    }

    /// Fails if no node and no endpoint of the inputs is in the zone.
    pub(super) fn has_zone(&self, zone: &str) -> Result<(), String> {
        let zones = self.zones.get_or_init(|| {
            let of_nodes = self.index.nodes().iter().filter_map(|node| node.zone());
            let slices = self.index.entries().iter().flat_map(|entry| self.index.state(entry).slices);
            let of_endpoints = slices.flat_map(|slice| &slice.endpoints).filter_map(|endpoint| endpoint.zone.as_ref());
            of_nodes.chain(of_endpoints).cloned().collect()
        });
        if zones.contains(zone) {
            return Ok(());
        }
        let known: Vec<&str> = zones.iter().take(10).map(Text::as_str).collect();
        Err(match known.as_slice() {
            [] => format!(
                "nothing is known of zone {zone}: the inputs have no Nodes with zones; add them, or options.zones"
            ),
            known => format!("no node is in zone {zone}; the zones are: {}", known.join(", ")),
        })
    }

    pub(super) fn state(&self, entry: &'a Entry<'a>) -> State<'a> {
        self.index.state(entry)
    }

    /// What `explain` says of a Service, which is found once for all cases that ask it.
    pub(super) fn explain(&self, entry: &'a Entry<'a>) -> Rc<ExplanationByPod> {
        let mut explained = self.explained.borrow_mut();
        let of_service = explained.entry((entry.namespace.as_str(), entry.name.as_str())).or_insert_with(|| {
            let focus = Focus { unknown: self.index.unknown_of(entry), ..Focus::default() };
            Rc::new(ExplanationByPod::new(explain_only(&self.index.state(entry), &self.options, focus)))
        });
        of_service.clone()
    }

    pub(super) fn plan(&self, entry: &'a Entry<'a>, options: &Options) -> Plan {
        whole::plan_of(self.index, entry, &Controller::ALL, options)
    }

    /// The object `KIND NAME` or `KIND NAMESPACE/NAME`.
    pub(super) fn object(&self, text: &str) -> Result<&'a RawValue, String> {
        let key = self.key(text)?;
        self.objects.get(&key).copied().ok_or_else(|| format!("the inputs have no {key}"))
    }

    /// The key of an object of the inputs.
    pub(super) fn known_key(&self, text: &str) -> Result<ObjectKey, String> {
        self.object(text)?;
        self.key(text)
    }

    /// The key that a text names.
    fn key(&self, text: &str) -> Result<ObjectKey, String> {
        let (kind, name) = text.split_once(' ').ok_or_else(|| format!("{text:?} is not KIND NAMESPACE/NAME"))?;
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        Ok(ObjectKey::new(kind, &namespace.into(), &name.into()).placed(self.namespace))
    }

    /// The stored object that another one replaces.
    pub(super) fn stored(&self, object: &RawValue) -> Option<&'a RawValue> {
        self.stored.get(&object_key(object).placed(self.namespace)).copied()
    }

    /// The labels of the namespaces of the inputs.
    pub(super) fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }
}

impl PortChoice {
    /// Whether this is the port of the Service that is meant.
    pub(super) fn is(&self, port: &ServicePort) -> bool {
        self.has(&port.name, port.port)
    }

    /// Whether the port of this name and number is meant.
    pub(super) fn has(&self, of_name: &Text, of_number: i32) -> bool {
        match self {
            Self::Number(number) => of_number == *number,
            Self::Name(name) => of_name == name,
        }
    }
}
