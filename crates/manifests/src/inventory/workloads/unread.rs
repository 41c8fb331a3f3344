//! Objects that cannot be read: what they have is unknown, and not absent.

use std::collections::BTreeMap;

use roster_engine::model::{HeapSize, ObjectKey};

use super::{unread_text::UnreadText, workload::Workload};

/// What of an input cannot be read.
#[derive(Clone, Debug, Default)]
pub struct UnreadObjects {
    /// Those whose pods have known labels.
    labelled: Vec<(ObjectKey, Box<Workload>)>,
    /// How many of the others have a name, and whether they may have pods: many objects without a name are alike.
    unlabelled: BTreeMap<(ObjectKey, bool), usize>,
    /// Text that Roster cannot read, and that may hold objects.
    texts: Vec<UnreadText>,
}

/// An object that cannot be read, as far as it is known.
#[derive(Clone, Debug)]
pub struct UnreadObject {
    /// Its kind, namespace and name.
    pub key: ObjectKey,
    /// Its pods.
    pub pods: UnreadPods,
}

/// The pods of an object that cannot be read.
#[derive(Clone, Debug)]
pub enum UnreadPods {
    /// It is of a kind without pods.
    None,
    /// It may have pods with any labels.
    AnyLabels,
    /// It has pods with the labels of this workload, of which nothing else is known.
    Labelled(Box<Workload>),
}

impl UnreadObjects {
    /// Adds an object. Returns the memory in bytes that it takes.
    pub fn add(&mut self, object: UnreadObject) -> usize {
        let bytes = object.memory();
        let UnreadObject { key, pods } = object;
        let may_have_pods = match pods {
            UnreadPods::Labelled(workload) => {
                self.labelled.push((key, workload));
                return bytes;
            }
            UnreadPods::AnyLabels => true,
            UnreadPods::None => false,
        };
        let count = self.unlabelled.entry((key, may_have_pods)).or_default();
        *count += 1;
        if *count == 1 { bytes } else { 0 }
    }

    /// Adds text that cannot be read.
    pub fn add_text(&mut self, text: UnreadText) {
        self.texts.push(text);
    }

    /// Appends those of `other`.
    pub fn merge(&mut self, mut other: Self) {
        self.labelled.append(&mut other.labelled);
        for (object, count) in other.unlabelled {
            *self.unlabelled.entry(object).or_default() += count;
        }
        self.texts.append(&mut other.texts);
    }

    /// The objects whose pods have known labels, in the order in which they were read.
    pub fn labelled(&self) -> &[(ObjectKey, Box<Workload>)] {
        &self.labelled
    }

    /// The first object whose pods have known labels, as messages name it.
    pub fn first_labelled(&self) -> Option<String> {
        self.labelled.first().map(|(key, _)| format!("{} {}", key.kind, key.name))
    }

    /// The other objects: their keys, whether they may have pods, and how many are alike.
    pub fn unlabelled(&self) -> impl Iterator<Item = (&ObjectKey, bool, usize)> {
        self.unlabelled.iter().map(|((key, may_have_pods), count)| (key, *may_have_pods, *count))
    }

    /// Namespace and name of the objects of a kind.
    pub fn of_kind<'o>(&'o self, kind: &'static str) -> impl Iterator<Item = (&'o str, &'o str)> {
        let all = self.labelled.iter().map(|(key, _)| key).chain(self.unlabelled.keys().map(|(key, _)| key));
        all.filter(move |key| key.kind == kind).map(|key| (key.namespace.as_str(), key.name.as_str()))
    }

    /// The text that cannot be read.
    pub fn texts(&self) -> &[UnreadText] {
        &self.texts
    }
}

impl UnreadObject {
    fn memory(&self) -> usize {
        /// A place in the index by one of its labels, and the list that it is in.
        const INDEXED: usize = size_of::<[usize; 16]>();
        let of_names: usize =
            [&self.key.kind, &self.key.namespace, &self.key.name].map(HeapSize::heap_size).iter().sum();
        let of_pods = match &self.pods {
            UnreadPods::Labelled(workload) => {
                let labels = &workload.template.labels;
                size_of::<Workload>() + labels.heap_size() + labels.iter().count() * INDEXED
            }
            UnreadPods::None | UnreadPods::AnyLabels => 0,
        };
        // A list doubles its capacity, and the index has references.
        of_names + of_pods + 2 * size_of::<Self>() + size_of::<[usize; 8]>()
    }
}
