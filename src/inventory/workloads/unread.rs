//! Objects that cannot be read: what they have is unknown, and not absent.

use std::collections::BTreeMap;

use super::workload::Workload;
use crate::model::{HeapSize, Labels, ObjectKey, Resource, Text};

/// Most objects of a namespace of which more is kept than their number: each is compared with every selector that matches
/// nothing else.
const MAX_KEPT: usize = 64;

/// What of an input cannot be read.
#[derive(Clone, Debug, Default)]
pub struct UnreadObjects {
    by_namespace: BTreeMap<Text, Vec<UnreadObject>>,
    /// Namespaces with more objects than are kept, and how many more these are.
    more: BTreeMap<Text, usize>,
    /// The places of text that cannot be read at all, which may hold any object: the first of them, and how many follow it.
    text: Option<(String, usize)>,
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

/// What of a namespace cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnreadOfNamespace<'a> {
    objects: &'a [UnreadObject],
    more: usize,
    text: Option<&'a (String, usize)>,
}

/// What that cannot be read may be what something refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadMatch {
    /// This object: so much of it is known.
    Known(String),
    /// Nothing is known that says that it is not.
    Possible(String),
}

impl UnreadObjects {
    /// Adds an object. Returns the memory in bytes that it takes.
    pub fn add(&mut self, object: UnreadObject) -> usize {
        let of_namespace = self.by_namespace.entry(object.key.namespace.clone()).or_default();
        if of_namespace.len() < MAX_KEPT {
            let bytes = object.memory();
            of_namespace.push(object);
            bytes
        } else {
            *self.more.entry(object.key.namespace).or_default() += 1;
            0
        }
    }

    /// Adds the place of text that cannot be read.
    pub fn add_text(&mut self, place: String) {
        match &mut self.text {
            Some((_, more)) => *more += 1,
            None => self.text = Some((place, 0)),
        }
    }

    /// Appends those of `other`.
    pub fn merge(&mut self, other: Self) {
        for object in other.by_namespace.into_values().flatten() {
            self.add(object);
        }
        for (namespace, more) in other.more {
            *self.more.entry(namespace).or_default() += more;
        }
        if let Some((place, more)) = other.text {
            self.add_text(place);
            self.text = self.text.take().map(|(first, of_all)| (first, of_all + more));
        }
    }

    /// The places of text alone.
    #[must_use]
    pub fn of_text(&self) -> Self {
        Self { text: self.text.clone(), ..Self::default() }
    }

    /// What of a namespace cannot be read.
    pub fn of(&self, namespace: &str) -> UnreadOfNamespace<'_> {
        UnreadOfNamespace {
            objects: self.by_namespace.get(namespace).map(Vec::as_slice).unwrap_or_default(),
            more: self.more.get(namespace).copied().unwrap_or_default(),
            text: self.text.as_ref(),
        }
    }
}

impl UnreadObject {
    fn memory(&self) -> usize {
        let of_names: usize =
            [&self.key.kind, &self.key.namespace, &self.key.name].map(HeapSize::heap_size).iter().sum();
        let of_pods = match &self.pods {
            UnreadPods::Labelled(workload) => size_of::<Workload>() + workload.template.labels.heap_size(),
            UnreadPods::None | UnreadPods::AnyLabels => 0,
        };
        // A list doubles its capacity, and a namespace has a node of the map.
        of_names + of_pods + 2 * size_of::<(Text, Self)>()
    }
}

impl UnreadOfNamespace<'_> {
    /// Whether pods of the namespace that `selector` selects may be those of something that cannot be read.
    pub fn selected_by(&self, selector: &Labels) -> Option<UnreadMatch> {
        let is_selected = |object: &&UnreadObject| match &object.pods {
            UnreadPods::Labelled(workload) => workload.is_selected_by(selector),
            UnreadPods::None | UnreadPods::AnyLabels => false,
        };
        if let Some(object) = self.objects.iter().find(is_selected) {
            return Some(UnreadMatch::Known(name(&object.key)));
        }
        let mut unlabelled = self.objects.iter().filter(|object| matches!(object.pods, UnreadPods::AnyLabels));
        let first = unlabelled.next().map(|object| name(&object.key));
        self.possible(first, unlabelled.count()).map(UnreadMatch::Possible)
    }

    /// What may be the object of this kind and name; `None` if it does not exist as far as is known. An object with pods, of
    /// a kind that does not exist, may be of any: a misspelt kind is one reason why it cannot be read.
    pub fn may_be(&self, kind: &str, name: &str) -> Option<UnreadMatch> {
        let is_it = |object: &&UnreadObject| {
            let is_misspelt = || {
                !matches!(object.pods, UnreadPods::None) && Resource::ALL.iter().all(|r| r.kind() != object.key.kind)
            };
            let has_kind = object.key.kind == kind || is_misspelt();
            object.key.name == name && has_kind
        };
        let known = self.objects.iter().find(is_it).map(|object| UnreadMatch::Known(self::name(&object.key)));
        known.or_else(|| self.possible(None, 0).map(UnreadMatch::Possible))
    }

    /// Names the first object, and counts the others of which nothing else is known.
    fn possible(&self, first: Option<String>, others: usize) -> Option<String> {
        let more = others + self.more;
        let (first, more) = match (first, self.text) {
            (Some(first), Some((_, texts))) => (first, more + texts + 1),
            (Some(first), None) => (first, more),
            (None, Some((place, texts))) => (place.clone(), more + texts),
            (None, None) if more == 0 => return None,
            (None, None) => ("an object".to_owned(), more - 1),
        };
        Some(match more {
            0 => first,
            more => format!("{first} and {more} more"),
        })
    }
}

/// Kind and name, as far as they are known.
fn name(key: &ObjectKey) -> String {
    let known = [&key.kind, &key.name].into_iter().filter(|part| !part.is_empty());
    let parts: Vec<&str> = known.map(Text::as_str).collect();
    if parts.is_empty() { "an object".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, name: &str, pods: UnreadPods) -> UnreadObject {
        UnreadObject { key: ObjectKey::new(kind, &"shop".into(), &name.into()), pods }
    }

    fn labelled(app: &str) -> UnreadPods {
        let template = json!({ "metadata": { "labels": { "app": app } } });
        let object = json!({ "metadata": { "name": app }, "spec": { "template": template } });
        UnreadPods::Labelled(Box::new(Workload::read(Resource::Deployment, object).unwrap()))
    }

    #[test]
    fn what_cannot_be_read_may_be_what_is_missing() {
        let known = |name: &str| Some(UnreadMatch::Known(name.to_owned()));
        let possible = |text: &str| Some(UnreadMatch::Possible(text.to_owned()));
        let web = || object("Deployment", "web", labelled("web"));
        let db = || object("StatefulSet", "db", UnreadPods::AnyLabels);
        let broken = || "web.yaml:7:1".to_owned();
        for (objects, texts, want, is_there) in [
            (vec![], vec![], None, None),
            (vec![web()], vec![], known("Deployment web"), known("Deployment web")),
            (vec![object("Deployment", "api", labelled("api"))], vec![], None, None),
            (vec![db(), web()], vec![], known("Deployment web"), known("Deployment web")),
            (vec![db()], vec![], possible("StatefulSet db"), None),
            (vec![db(), db()], vec![], possible("StatefulSet db and 1 more"), None),
            (vec![object("Service", "web", UnreadPods::None)], vec![], None, None),
            // A misspelt kind.
            (vec![object("Deploymnt", "web", labelled("web"))], vec![], known("Deploymnt web"), known("Deploymnt web")),
            (vec![], vec![broken()], possible("web.yaml:7:1"), possible("web.yaml:7:1")),
            (
                vec![],
                vec![broken(), broken()],
                possible("web.yaml:7:1 and 1 more"),
                possible("web.yaml:7:1 and 1 more"),
            ),
            (vec![db()], vec![broken()], possible("StatefulSet db and 1 more"), possible("web.yaml:7:1")),
        ] {
            let (mut unread, mut parts) = (UnreadObjects::default(), UnreadObjects::default());
            for object in objects.clone() {
                parts.add(object);
            }
            texts.iter().cloned().for_each(|place| parts.add_text(place));
            unread.merge(parts);
            let selector: Labels = serde_json::from_value(json!({ "app": "web" })).unwrap();
            let of = unread.of("shop");
            let got = (of.selected_by(&selector), of.may_be("Deployment", "web"));
            assert_eq!(got, (want, is_there), "{objects:?} {texts:?}");
        }
    }

    #[test]
    fn of_many_objects_the_first_are_compared() {
        let mut unread = UnreadObjects::default();
        for i in 0..MAX_KEPT + 2 {
            unread.add(object("Deployment", &format!("n{i}"), labelled("x")));
        }
        let selector: Labels = serde_json::from_value(json!({ "app": "web" })).unwrap();
        let possible = UnreadMatch::Possible("an object and 1 more".to_owned());
        assert_eq!(unread.of("shop").selected_by(&selector), Some(possible));
        assert_eq!(unread.of("back").selected_by(&selector), None);
    }
}
