//! Everything that was read, and the look-ups that turn it into the state of each Service.
//!
//! [`Inventory`] holds the objects as they came; [`Index`] borrows it, drops duplicates, sorts, and
//! knows for each Service which pods, Endpoints and slices belong to it.

pub mod cache;
mod check;
mod index;
mod intern;
pub mod whole;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use check::check;
pub use index::{Entry, Index};
pub use intern::{Interner, Targets};

use crate::{
    engine::reason::{Finding, Reason},
    model::{EndpointSlice, Endpoints, Node, ObjectKey, Pod, Service, Text},
};

/// An object of a kind that Roster reads.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variants are Kubernetes' kinds")]
pub enum Object {
    Service(Service),
    Pod(Pod),
    Node(Node),
    Endpoints(Endpoints),
    EndpointSlice(EndpointSlice),
}

impl Object {
    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Service(o) => o.key(),
            Self::Pod(o) => o.key(),
            Self::Node(o) => ObjectKey::new("Node", &Text::default(), &o.name),
            Self::Endpoints(o) => o.key(),
            Self::EndpointSlice(o) => o.key(),
        }
    }
}

/// Objects in the order in which they were read, and what was wrong with the others.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' kinds")]
pub struct Inventory {
    pub services: Vec<Service>,
    pub pods: Vec<Pod>,
    pub nodes: Vec<Node>,
    pub endpoints: Vec<Endpoints>,
    pub slices: Vec<EndpointSlice>,
    /// What is wrong with the input.
    pub problems: Problems,
    /// What the objects that were read refer to, so that those read later share it.
    targets: Arc<Targets>,
    /// How many objects of other kinds there were.
    ignored: BTreeMap<Text, u64>,
    /// Namespaces and names of Services of which an object is there that cannot be read.
    unreadable: BTreeSet<(Text, Text)>,
}

/// More kinds than this that Roster does not read are counted under one name.
const MAX_IGNORED_KINDS: usize = 100;

impl Inventory {
    /// Adds an object.
    pub fn add(&mut self, object: Object) {
        match object {
            Object::Service(o) => self.services.push(o),
            Object::Pod(o) => self.pods.push(o),
            Object::Node(o) => self.nodes.push(o),
            Object::Endpoints(o) => self.endpoints.push(o),
            Object::EndpointSlice(o) => self.slices.push(o),
        }
    }

    /// Counts an object of a kind that Roster does not read.
    pub fn ignore(&mut self, kind: Text) {
        self.ignore_many(kind, 1);
    }

    /// Notes that something of this Service is there and cannot be read: itself, its Endpoints or a slice. Nobody knows
    /// what the controllers would do to it; above all, it is not gone.
    pub fn cannot_read(&mut self, namespace: Text, service: Text) {
        self.unreadable.insert((namespace, service));
    }

    fn ignore_many(&mut self, kind: Text, count: u64) {
        let room = self.ignored.len() < MAX_IGNORED_KINDS || self.ignored.contains_key(&kind);
        *self.ignored.entry(if room { kind } else { Text::new_static("other kinds") }).or_default() += count;
    }

    /// Appends all that `other` holds: for readers that read parts of one input.
    pub fn merge(&mut self, mut other: Self) {
        self.services.append(&mut other.services);
        self.pods.append(&mut other.pods);
        self.nodes.append(&mut other.nodes);
        self.endpoints.append(&mut other.endpoints);
        self.slices.append(&mut other.slices);
        self.problems.merge(other.problems);
        for (kind, count) in other.ignored {
            self.ignore_many(kind, count);
        }
        self.unreadable.append(&mut other.unreadable);
    }

    /// An empty inventory, to be merged into this one: objects of both share what they refer to.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self { targets: self.targets(), ..Self::default() }
    }

    /// The references that were seen so far, for an [`Interner`].
    pub fn targets(&self) -> Arc<Targets> {
        Arc::clone(&self.targets)
    }

    /// Takes everything out, into lists of the right size; the room stays here.
    #[must_use]
    pub fn take_exact(&mut self) -> Self {
        Self {
            services: self.services.drain(..).collect(),
            pods: self.pods.drain(..).collect(),
            nodes: self.nodes.drain(..).collect(),
            endpoints: self.endpoints.drain(..).collect(),
            slices: self.slices.drain(..).collect(),
            problems: std::mem::take(&mut self.problems),
            targets: Arc::clone(&self.targets),
            ignored: std::mem::take(&mut self.ignored),
            unreadable: std::mem::take(&mut self.unreadable),
        }
    }

    /// Makes room for all that `parts` hold.
    pub fn reserve<'a>(&mut self, parts: impl Iterator<Item = &'a Self> + Clone) {
        self.services.reserve_exact(parts.clone().map(|p| p.services.len()).sum());
        self.pods.reserve_exact(parts.clone().map(|p| p.pods.len()).sum());
        self.nodes.reserve_exact(parts.clone().map(|p| p.nodes.len()).sum());
        self.endpoints.reserve_exact(parts.clone().map(|p| p.endpoints.len()).sum());
        self.slices.reserve_exact(parts.map(|p| p.slices.len()).sum());
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.services.len() + self.pods.len() + self.nodes.len() + self.endpoints.len() + self.slices.len()
    }

    /// Whether no object is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sorts, drops duplicates and finds out what belongs to which Service.
    pub fn index(&self) -> Index<'_> {
        Index::new(self)
    }

    /// One problem for each kind that is not read.
    fn ignored_problems(&self) -> impl Iterator<Item = Finding> + '_ {
        self.ignored.iter().map(|(kind, &count)| {
            let (s, are) = if count == 1 { ("", "is") } else { ("s", "are") };
            let key = ObjectKey { kind: kind.clone(), ..ObjectKey::default() };
            Finding::new(Reason::IgnoredObject, key, format!("{count} object{s} of kind {kind} {are} not read"))
        })
    }
}

/// A list of problems that hostile input cannot make long: what is over the limit is only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Finding>,
    more: u64,
}

impl Problems {
    /// How many are kept.
    pub const LIMIT: usize = 1000;

    /// Adds a problem, or counts it.
    pub fn push(&mut self, problem: Finding) {
        self.add(|| problem);
    }

    /// Adds a problem, or counts it: then it is not even made. What millions of objects have wrong must not
    /// cost more than to find it.
    pub fn add(&mut self, problem: impl FnOnce() -> Finding) {
        if self.list.len() < Self::LIMIT {
            self.list.push(problem());
        } else {
            self.more += 1;
        }
    }

    /// Appends `other`.
    pub fn merge(&mut self, other: Self) {
        self.more += other.more;
        for problem in other.list {
            self.push(problem);
        }
    }

    /// Those that are kept.
    pub fn as_slice(&self) -> &[Finding] {
        &self.list
    }

    /// Those that are kept, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }

    /// How many were only counted.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Finding;
    type IntoIter = std::slice::Iter<'a, Finding>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Extend<Finding> for Problems {
    fn extend<I: IntoIterator<Item = Finding>>(&mut self, problems: I) {
        problems.into_iter().for_each(|p| self.push(p));
    }
}
