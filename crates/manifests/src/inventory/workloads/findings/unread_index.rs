//! The objects that cannot be read, by what may refer to them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    ops::Range,
};

use roster_engine::model::{HashSeed, Labels, ObjectKey, Resource, Text};

use super::{candidate_index::CandidateIndex, matching::Candidate};
use crate::inventory::workloads::{
    unread::UnreadObjects,
    unread_text::{TextClues, UnreadText},
    workload::Workload,
};

/// Most objects with a label of a selector that are compared with it: any number of Services may have such a selector.
const MAX_COMPARED: usize = 256;

/// The objects that cannot be read, by namespace. Nothing depends on the order in which they were read.
#[derive(Debug, Default)]
pub struct UnreadIndex<'a> {
    by_namespace: HashMap<&'a str, NamespaceIndex<'a>, HashSeed>,
    texts: TextIndex<'a>,
}

/// Text that cannot be read, by its words.
#[derive(Debug, Default)]
struct TextIndex<'a> {
    all: Vec<TextClues<'a>>,
    by_word: HashMap<&'a str, Vec<usize>, HashSeed>,
    /// Those that may have any word.
    open: Vec<usize>,
    /// Templates whose pods may have any labels.
    templates: TemplatesByReach,
    /// Templates whose objects may have any name.
    named_templates: TemplatesByReach,
}

/// Templates by the documents that they reach. Two ranges are apart, or one has the other.
#[derive(Debug, Default)]
struct TemplatesByReach(BTreeMap<(usize, Reverse<usize>), Vec<usize>>);

/// The objects of a namespace.
#[derive(Debug, Default)]
struct NamespaceIndex<'a> {
    /// Those whose pods have known labels, by these labels, and their names by their places.
    labelled: CandidateIndex<'a>,
    keys: Vec<&'a ObjectKey>,
    /// The first one that may have pods with any labels, and how many follow it.
    any_labels: Option<(&'a ObjectKey, usize)>,
    /// How many there are.
    count: usize,
    /// The first of each name and kind, with its number.
    by_name_and_kind: HashMap<(&'a str, &'a str), (usize, &'a ObjectKey), HashSeed>,
    /// The first of each name that may have pods and is of a kind that does not exist.
    misspelt: HashMap<&'a str, (usize, &'a ObjectKey), HashSeed>,
    /// The kinds of all.
    kinds: HashSet<&'a str, HashSeed>,
}

/// What of a namespace cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnreadOfNamespace<'a> {
    objects: Option<&'a NamespaceIndex<'a>>,
    namespace: &'a str,
    texts: Option<&'a TextIndex<'a>>,
}

/// What that cannot be read may be what something refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadMatch {
    /// This object: so much of it is known.
    Known(String),
    /// Nothing is known that says that it is not.
    Possible(String),
    /// A kustomization may change what refers to it.
    Unrendered,
}

/// What a Service does whose selector matches it.
impl fmt::Display for UnreadMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(object) => write!(f, "selects the pods of {object}, which cannot be read"),
            Self::Possible(unread) => write!(f, "may select pods of {unread}, which cannot be read"),
            Self::Unrendered => f.write_str("is changed by a kustomization before it is applied: check it with -k DIR"),
        }
    }
}

impl<'a> UnreadIndex<'a> {
    /// The index of these objects.
    pub fn new(unread: &'a UnreadObjects) -> Self {
        let mut this = Self { by_namespace: HashMap::default(), texts: TextIndex::new(unread.texts()) };
        let mut labelled: Vec<(&ObjectKey, &Workload)> =
            unread.labelled().iter().map(|(key, workload)| (key, &**workload)).collect();
        labelled.sort_by_key(|(key, _)| *key);
        for (key, workload) in labelled {
            let of = this.by_namespace.entry(&key.namespace).or_default();
            of.labelled.push(Candidate::Workload(workload));
            of.keys.push(key);
            of.push(key, true);
        }
        for (key, may_have_pods, count) in unread.unlabelled() {
            let of = this.by_namespace.entry(&key.namespace).or_default();
            of.push(key, may_have_pods);
            if may_have_pods {
                let (first, more) = of.any_labels.map_or((key, count - 1), |(first, more)| (first, more + count));
                of.any_labels = Some((first, more));
            }
        }
        this
    }

    /// Whether everything can be read.
    pub fn is_empty(&self) -> bool {
        self.by_namespace.is_empty() && self.texts.all.is_empty()
    }

    /// What of a namespace cannot be read.
    pub fn of<'i>(&'i self, namespace: &'i str) -> UnreadOfNamespace<'i> {
        UnreadOfNamespace { objects: self.by_namespace.get(namespace), namespace, texts: Some(&self.texts) }
    }
}

impl<'a> TextIndex<'a> {
    fn new(texts: &'a [UnreadText]) -> Self {
        let mut this = Self { all: texts.iter().map(TextClues::of).collect(), ..Self::default() };
        for (place, clues) in this.all.iter().enumerate() {
            match &clues.words {
                Some(words) =>
                {
                    #[expect(clippy::iter_over_hash_type, reason = "each word has a list of its own")]
                    for word in words {
                        this.by_word.entry(word).or_default().push(place);
                    }
                }
                None => this.open.push(place),
            }
            this.templates.push(clues.reach(), place);
            this.named_templates.push(clues.named_reach(), place);
        }
        this
    }

    /// The places of those that are meant, among those that may have all of some words. Of too many, the first that is not
    /// compared may be meant.
    fn with_words<'s, 'w>(
        &'s self,
        words: impl Iterator<Item = &'w str>,
        is_meant: impl Fn(&TextClues<'a>) -> bool + 's,
    ) -> impl Iterator<Item = usize> + 's {
        let lists = words.map(|word| self.by_word.get(word).map(Vec::as_slice).unwrap_or_default());
        let fewest = lists.min_by_key(|list| list.len()).unwrap_or_default();
        let (compared, others) = fewest.split_at(fewest.len().min(MAX_COMPARED));
        let compared = compared.iter().chain(&self.open).copied();
        compared.filter(move |place| is_meant(&self.all[*place])).chain(others.first().copied())
    }

    /// Text that may have pods which a selector selects: it has the values, or it is a template whose labels may be any.
    fn with_pods(&self, namespace: &str, selector: &Labels, document: Option<usize>) -> Vec<usize> {
        let values = || selector.iter().map(|(_, value)| value.as_str());
        let is_meant = |clues: &TextClues<'_>| clues.may_have_pods(namespace) && clues.has_all(values());
        let mut found: Vec<usize> = self.with_words(values(), is_meant).collect();
        let may_have_pods = |place: &usize| self.all[*place].may_have_pods(namespace);
        found.extend(self.templates.reaching(document).find(may_have_pods));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Text that may have an object of this kind and name.
    fn with_object(&self, namespace: &str, kind: &str, name: &str) -> Vec<usize> {
        let word = || std::iter::once(name);
        let is_meant = |clues: &TextClues<'_>| clues.may_have(kind, namespace) && clues.has_all(word());
        self.with_words(word(), is_meant).collect()
    }

    /// Whether a template that reaches a document may have an object of this kind with any name.
    fn may_name(&self, namespace: &str, kind: &str, document: usize) -> bool {
        let mut reaching = self.named_templates.reaching(Some(document));
        reaching.any(|place| self.all[place].may_have(kind, namespace))
    }

    /// Whether a text may have an object of this kind with these labels.
    fn may_have_labels(&self, namespace: &str, kind: &str, labels: &Labels, document: usize) -> bool {
        let values = || labels.iter().map(|(_, value)| value.as_str());
        let may_have = |clues: &TextClues<'_>| clues.may_have(kind, namespace);
        let is_meant = |clues: &TextClues<'_>| may_have(clues) && clues.has_all(values());
        self.with_words(values(), is_meant).next().is_some()
            || self.templates.reaching(Some(document)).any(|place| may_have(&self.all[place]))
    }
}

impl TemplatesByReach {
    fn push(&mut self, reach: Range<usize>, place: usize) {
        if !reach.is_empty() {
            self.0.entry((reach.start, Reverse(reach.end))).or_default().push(place);
        }
    }

    /// The templates that reach a document: of each folder above it those that reach as far, from the innermost. Between two of
    /// them may be the templates of folders beside them, of which some are passed.
    fn reaching(&self, document: Option<usize>) -> impl Iterator<Item = usize> {
        let before = document.map_or(usize::MAX, |document| document.saturating_add(1));
        let ranges = self.0.range(..(before, Reverse(usize::MAX))).rev().take(MAX_COMPARED);
        let reaches = move |end: usize| document.is_none_or(|document| document < end);
        let places = ranges.filter(move |((_, Reverse(end)), _)| reaches(*end)).flat_map(|(_, places)| places);
        places.copied().take(MAX_COMPARED)
    }
}

impl<'a> NamespaceIndex<'a> {
    fn push(&mut self, key: &'a ObjectKey, may_have_pods: bool) {
        let numbered = (self.count, key);
        self.count += 1;
        self.kinds.insert(&key.kind);
        self.by_name_and_kind.entry((&key.name, &key.kind)).or_insert(numbered);
        if may_have_pods && Resource::ALL.iter().all(|r| r.kind() != key.kind) {
            self.misspelt.entry(&key.name).or_insert(numbered);
        }
    }

    fn has_kind(&self, kind: &str) -> bool {
        self.kinds.contains(kind)
    }

    /// The first object of this name that is of this kind, or may be.
    fn named(&self, kind: &str, name: &str) -> Option<&'a ObjectKey> {
        let (of_kind, misspelt) = (self.by_name_and_kind.get(&(name, kind)), self.misspelt.get(name));
        of_kind.into_iter().chain(misspelt).min_by_key(|(number, _)| *number).map(|(_, key)| *key)
    }

    /// The first object whose pods `selector` selects; and, of more than are compared, the first one, and how many follow it.
    fn selected_by(&self, selector: &Labels) -> (Option<&'a ObjectKey>, Option<(&'a ObjectKey, usize)>) {
        let places = self.labelled.places(selector, 0..self.labelled.len());
        let more = places.len().checked_sub(MAX_COMPARED).filter(|more| *more > 0);
        let places = places.first(MAX_COMPARED);
        let first = places.first().map(|place| self.keys[*place]);
        let selected = places.into_iter().find(|place| self.labelled.at(*place).is_selected_by(selector));
        (selected.map(|place| self.keys[place]), first.zip(more.map(|more| more + MAX_COMPARED - 1)))
    }
}

impl<'a> UnreadOfNamespace<'a> {
    /// The objects whose pods have known labels.
    pub(super) fn labelled(&self) -> impl Iterator<Item = Candidate<'a>> {
        let labelled = self.objects.map(|objects| &objects.labelled);
        labelled.into_iter().flat_map(|labelled| (0..labelled.len()).map(|place| labelled.at(place)))
    }

    /// Whether pods of the namespace that `selector` selects may be those of something that cannot be read. The selector is that
    /// of a document, if it is known which.
    pub fn selected_by(&self, selector: &Labels, document: Option<usize>) -> Option<UnreadMatch> {
        let (selected, not_compared) = self.objects.map(|objects| objects.selected_by(selector)).unwrap_or_default();
        if let Some(object) = selected {
            return Some(UnreadMatch::Known(name(object)));
        }
        let unlabelled = self.objects.and_then(|objects| objects.any_labels).or(not_compared);
        let texts = self.texts.map(|texts| texts.with_pods(self.namespace, selector, document)).unwrap_or_default();
        self.possible(unlabelled.map(|(first, more)| (name(first), more)), &texts).map(UnreadMatch::Possible)
    }

    /// Whether pods that `selector` selects, of a document that has some in its own unit, may be those of something else that is
    /// applied with it and cannot be read.
    pub(super) fn adds_to(&self, selector: &Labels, document: usize) -> bool {
        let (selected, not_compared) = self.objects.map(|objects| objects.selected_by(selector)).unwrap_or_default();
        let is_open = not_compared.is_some() || self.objects.is_some_and(|objects| objects.any_labels.is_some());
        selected.is_some()
            || is_open
            || self.texts.is_some_and(|texts| {
                let found = texts.with_pods(self.namespace, selector, Some(document));
                found.into_iter().any(|place| texts.all[place].may_be_beside(document))
            })
    }

    /// What may be the object of this kind and name; `None` if it does not exist as far as is known. An object with pods, of
    /// a kind that does not exist, may be of any: a misspelt kind is one reason why it cannot be read.
    pub fn may_be(&self, kind: &str, name: &str) -> Option<UnreadMatch> {
        let known = self.objects.and_then(|objects| objects.named(kind, name));
        let known = known.map(|key| UnreadMatch::Known(self::name(key)));
        let texts = || self.texts.map(|texts| texts.with_object(self.namespace, kind, name)).unwrap_or_default();
        known.or_else(|| self.possible(None, &texts()).map(UnreadMatch::Possible))
    }

    /// Whether something may be the object of this kind and name that a document refers to: also a template that reaches the
    /// document, and whose names are made of placeholders.
    pub(super) fn may_be_named(&self, kind: &str, name: &str, document: usize) -> bool {
        self.may_be(kind, name).is_some()
            || self.texts.is_some_and(|texts| texts.may_name(self.namespace, kind, document))
    }

    /// Whether something may be an object of this kind with these labels.
    pub(super) fn may_have_labels(&self, kind: &str, labels: &Labels, document: usize) -> bool {
        self.objects.is_some_and(|objects| objects.has_kind(kind))
            || self.texts.is_some_and(|texts| texts.may_have_labels(self.namespace, kind, labels, document))
    }

    /// Whether something may be an object of this kind, whatever its name.
    pub(super) fn may_have_kind(&self, kind: &str) -> bool {
        let may_have = |texts: &TextIndex<'_>| {
            let is_meant = |clues: &TextClues<'_>| clues.may_have(kind, self.namespace);
            texts.with_words(std::iter::once(kind), is_meant).next().is_some()
        };
        self.objects.is_some_and(|objects| objects.has_kind(kind)) || self.texts.is_some_and(may_have)
    }

    /// Names the first of what may be meant, and counts the others. `objects` are the first object and how many follow it.
    fn possible(&self, objects: Option<(String, usize)>, texts: &[usize]) -> Option<String> {
        let first_text = texts.first().zip(self.texts).map(|(place, texts)| texts.all[*place].text.to_string());
        let (first, more) = match (objects, first_text) {
            (Some((first, more)), _) => (first, more + texts.len()),
            (None, Some(place)) => (place, texts.len() - 1),
            (None, None) => return None,
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
    use crate::inventory::workloads::unread::{UnreadObject, UnreadPods};

    fn object(kind: &str, name: &str, pods: UnreadPods) -> UnreadObject {
        UnreadObject { key: ObjectKey::new(kind, &"shop".into(), &name.into()), pods }
    }

    fn labelled(app: &str) -> UnreadPods {
        let template = json!({ "metadata": { "labels": { "app": app } } });
        let object = json!({ "metadata": { "name": app }, "spec": { "template": template } });
        UnreadPods::Labelled(Box::new(Workload::read(Resource::Deployment, object).unwrap()))
    }

    fn selector(app: &str) -> Labels {
        serde_json::from_value(json!({ "app": app })).unwrap()
    }

    #[test]
    fn what_cannot_be_read_may_be_what_is_missing() {
        let known = |name: &str| Some(UnreadMatch::Known(name.to_owned()));
        let possible = |text: &str| Some(UnreadMatch::Possible(text.to_owned()));
        let web = || object("Deployment", "web", labelled("web"));
        let db = || object("StatefulSet", "db", UnreadPods::AnyLabels);
        let misspelt = |kind| object(kind, "web", labelled("web"));
        let broken = || UnreadText { file: "web.yaml".into(), line: Some(7), text: None, reach: 0..0 };
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
            // The first of its name counts, of whichever kind it is.
            (vec![misspelt("Deploymnt"), web()], vec![], known("Deployment web"), known("Deployment web")),
            (vec![web(), misspelt("Deploment")], vec![], known("Deploment web"), known("Deploment web")),
            (
                vec![web(), object("Cron", "web", UnreadPods::None)],
                vec![],
                known("Deployment web"),
                known("Deployment web"),
            ),
            (vec![], vec![broken()], possible("web.yaml:7"), possible("web.yaml:7")),
            (vec![], vec![broken(), broken()], possible("web.yaml:7 and 1 more"), possible("web.yaml:7 and 1 more")),
            (vec![db()], vec![broken()], possible("StatefulSet db and 1 more"), possible("web.yaml:7")),
        ] {
            let (mut unread, mut parts) = (UnreadObjects::default(), UnreadObjects::default());
            for object in objects.clone() {
                parts.add(object);
            }
            texts.iter().cloned().for_each(|text| parts.add_text(text));
            unread.merge(parts);
            let index = UnreadIndex::new(&unread);
            let of = index.of("shop");
            let got = (of.selected_by(&selector("web"), None), of.may_be("Deployment", "web"));
            assert_eq!(got, (want, is_there), "{objects:?} {texts:?}");
        }
    }

    /// However many there are, and whichever of them comes first.
    #[test]
    fn the_order_and_the_number_of_objects_do_not_matter() {
        let services = (0..100).map(|i| object("Service", &format!("s{i}"), UnreadPods::None));
        let deployments =
            (0..100).map(|i| object("Deployment", &format!("d{i:02}"), labelled(&format!("a{}", i % 90))));
        let sets = (0..100).map(|i| object("StatefulSet", &format!("t{i:02}"), UnreadPods::AnyLabels));
        let known = |name: &str| Some(UnreadMatch::Known(name.to_owned()));
        for (objects, app, want) in [
            (services.clone().collect::<Vec<_>>(), "a5", None),
            (services.chain(deployments.clone()).collect(), "a5", known("Deployment d05")),
            (deployments.clone().collect(), "x", None),
            (
                deployments.chain(sets).collect(),
                "x",
                Some(UnreadMatch::Possible("StatefulSet t00 and 99 more".to_owned())),
            ),
        ] {
            for reversed in [false, true] {
                let mut unread = UnreadObjects::default();
                let mut objects = objects.clone();
                if reversed {
                    objects.reverse();
                }
                for object in objects {
                    unread.add(object);
                }
                let index = UnreadIndex::new(&unread);
                assert_eq!(index.of("shop").selected_by(&selector(app), None), want, "{app} {reversed}");
                assert_eq!(index.of("back").selected_by(&selector(app), None), None);
            }
        }
    }
}
