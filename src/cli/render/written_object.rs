//! The objects that are written in a source, and which of them a rendered object is made of.

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use roster_engine::model::{HashSeed, ObjectKey, json::raw::ObjectIdentity};
use roster_manifests::decode::{self, Document, Source};
use serde_json::value::RawValue;

use super::template_objects::TemplateObjects;

/// Most comparisons of names in one source.
const MAX_COMPARISONS: usize = 1 << 20;

/// An object as it is written.
#[derive(Debug)]
pub(super) struct WrittenObject<'s> {
    /// With its group, if the source is not a template.
    pub(super) kind: Cow<'s, str>,
    /// It may have expressions: `{{ … }}`.
    pub(super) name: Cow<'s, str>,
    pub(super) namespace: Cow<'s, str>,
    /// Its line, from 1.
    pub(super) line: usize,
    /// Its text; `None` in a template.
    pub(super) document: Option<Document<'s>>,
}

/// A rendered object, by what it has in common with the written one.
pub(super) struct RenderedKey {
    kind: String,
    group: String,
    name: String,
    namespace: String,
}

impl RenderedKey {
    pub(super) fn of(object: &RawValue) -> Self {
        let ObjectIdentity { key: ObjectKey { kind, namespace, name }, group, .. } = ObjectIdentity::of(object);
        let (kind, name, namespace) = (kind.to_string(), name.to_string(), namespace.to_string());
        Self { kind, group: group.to_string(), name, namespace }
    }
}

/// The objects of a source.
pub(super) enum WrittenObjects<'s> {
    /// Those of a file that kustomize or Helm reads as it is.
    Plain(Vec<WrittenObject<'s>>),
    Template(TemplateObjects<'s>),
}

impl<'s> WrittenObjects<'s> {
    /// The objects of a manifest, as JSON with the lines of the file.
    pub(super) fn of_manifests(json: &'s str) -> Self {
        let object = |document: Document<'s>| {
            let RenderedKey { kind, group, name, namespace } = RenderedKey::of(&document.raw);
            WrittenObject {
                kind: kind_in_group(&kind, &group).into(),
                name: name.into(),
                namespace: namespace.into(),
                line: document.line,
                document: Some(document),
            }
        };
        let (documents, _) = decode::readable_documents(json, &Source::manifests(""));
        Self::Plain(documents.into_iter().map(object).collect())
    }

    fn all(&self) -> &[WrittenObject<'s>] {
        match self {
            Self::Plain(objects) | Self::Template(TemplateObjects { objects, .. }) => objects,
        }
    }

    /// The object that each of the rendered ones is made of, if there is no doubt. `rendered` are all objects that come from the
    /// source, in the order in which the renderer prints them.
    pub(super) fn sources_of(&self, rendered: &[RenderedKey]) -> Vec<Option<&WrittenObject<'s>>> {
        let mut by_kind: BTreeMap<String, (Vec<&WrittenObject<'s>>, Vec<usize>)> = BTreeMap::new();
        for written in self.all() {
            by_kind.entry(written.kind.to_string()).or_default().0.push(written);
        }
        for (place, object) in rendered.iter().enumerate() {
            let kind = match self {
                Self::Plain(_) => kind_in_group(&object.kind, &object.group),
                Self::Template(_) => object.kind.clone(),
            };
            by_kind.entry(kind).or_default().1.push(place);
        }
        let mut found = vec![None; rendered.len()];
        let mut left = MAX_COMPARISONS;
        for (written, places) in by_kind.into_values() {
            let of_kind: Vec<&RenderedKey> = places.iter().map(|place| &rendered[*place]).collect();
            let sources = self.of_one_kind(&written, &of_kind, &mut left);
            for (place, source) in places.into_iter().zip(sources) {
                found[place] = source;
            }
        }
        found
    }

    /// The same for objects of one kind.
    fn of_one_kind<'w>(
        &self,
        written: &[&'w WrittenObject<'s>],
        rendered: &[&RenderedKey],
        left: &mut usize,
    ) -> Vec<Option<&'w WrittenObject<'s>>> {
        let all = match self {
            Self::Plain(_) => renamed_alike(written, rendered),
            // Each object is printed once at most, in the order of the template: these are all.
            Self::Template(TemplateObjects { repeats: false, has_others: false, .. })
                if written.len() == rendered.len()
                    && written.iter().zip(rendered).all(|(w, r)| may_become(&w.name, &r.name)) =>
            {
                Some(written.to_vec())
            }
            Self::Template(_) => None,
        };
        if let Some(all) = all {
            return all.into_iter().map(Some).collect();
        }
        let mut by_name: HashMap<&str, Vec<&'w WrittenObject<'s>>, HashSeed> = HashMap::default();
        for object in written {
            by_name.entry(&object.name).or_default().push(object);
        }
        let may_have_others = matches!(self, Self::Template(TemplateObjects { has_others: true, .. }));
        let source = |object: &&RenderedKey| {
            let same_name = by_name.get(object.name.as_str()).map(Vec::as_slice).unwrap_or_default();
            let mut same = same_name.iter().filter(|w| same_name.len() == 1 || w.namespace == object.namespace);
            if let (Some(one), None) = (same.next(), same.next()) {
                return Some(*one);
            }
            if may_have_others || !same_name.is_empty() {
                return None;
            }
            *left = left.checked_sub(written.len())?;
            let mut possible = written.iter().filter(|w| may_become(&w.name, &object.name));
            possible.next().filter(|_| possible.next().is_none()).copied()
        };
        rendered.iter().map(source).collect()
    }
}

/// A kind with its group. Other groups may have a kind of the same name.
fn kind_in_group(kind: &str, group: &str) -> String {
    format!("{group}/{kind}")
}

/// The written object of each rendered one, if all of them have got the same prefix and suffix, which may be empty.
fn renamed_alike<'w, 's>(
    written: &[&'w WrittenObject<'s>],
    rendered: &[&RenderedKey],
) -> Option<Vec<&'w WrittenObject<'s>>> {
    // Names that have got the same have the order that they had. Those of one name are in several namespaces.
    let order = |a: (&str, &str), b: (&str, &str)| -> Ordering { (a.0.len(), a).cmp(&(b.0.len(), b)) };
    let (mut before, mut after) = (written.to_vec(), rendered.iter().enumerate().collect::<Vec<_>>());
    before.sort_by(|a, b| order((&a.name, &a.namespace), (&b.name, &b.namespace)));
    after.sort_by(|(_, a), (_, b)| order((&a.name, &a.namespace), (&b.name, &b.namespace)));
    let (first, renamed) = (before.first()?, after.first()?.1);
    let start = renamed.name.find(&*first.name)?;
    let (prefix, suffix) = (&renamed.name[..start], &renamed.name[start + first.name.len()..]);
    let is_alike = |before: &WrittenObject<'_>, after: &RenderedKey| {
        after.name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)) == Some(&before.name)
    };
    if before.len() != after.len() || !before.iter().zip(&after).all(|(b, (_, a))| is_alike(b, a)) {
        return None;
    }
    let is_repeated = |pair: &[(&&'w WrittenObject<'s>, &(usize, &&RenderedKey))]| {
        let [(a, (_, renamed_a)), (b, (_, renamed_b))] = pair else { return false };
        let is_kept = a.namespace == renamed_a.namespace && b.namespace == renamed_b.namespace;
        a.name == b.name && !(is_kept && a.namespace != b.namespace)
    };
    let pairs: Vec<_> = before.iter().zip(&after).collect();
    if pairs.windows(2).any(is_repeated) {
        return None;
    }
    let mut in_order: Vec<(usize, &'w WrittenObject<'s>)> =
        pairs.into_iter().map(|(b, (place, _))| (*place, *b)).collect();
    in_order.sort_by_key(|(place, _)| *place);
    Some(in_order.into_iter().map(|(_, object)| object).collect())
}

/// Whether a written name may become the rendered one: expressions stand for any text, and kustomizations add to both ends.
fn may_become(written: &str, rendered: &str) -> bool {
    let mut parts = written.split("{{");
    let first = parts.next().unwrap_or_default();
    let mut parts = parts.map(|part| part.split_once("}}").map_or("", |(_, text)| text)).peekable();
    if parts.peek().is_none() {
        return rendered.contains(written);
    }
    let Some(mut rest) = rendered.strip_prefix(first) else { return false };
    while let Some(part) = parts.next() {
        let found = if parts.peek().is_none() {
            rest.strip_suffix(part)
        } else {
            rest.find(part).map(|at| &rest[at + part.len()..])
        };
        match found {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources, each with the names of rendered Services and the lines that they are written at.
    #[test]
    fn an_object_is_placed_if_there_is_no_doubt() {
        let service = |name: &str| format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n");
        let services = |names: &[&str]| names.iter().map(|name| service(name)).collect::<Vec<_>>().join("---\n");
        let ranged = |text: String| format!("{{{{ range .x }}}}\n{text}{{{{ end }}}}\n");
        for (source, is_template, names, want) in [
            (services(&["web"]), false, &["web"][..], &[Some(1)][..]),
            (services(&["web"]), false, &["a-web-b"], &[Some(1)]),
            (services(&["web", "web-admin"]), false, &["web-admin", "web"], &[Some(6), Some(1)]),
            (services(&["web", "web-admin"]), false, &["web-admin", "web-admin-admin"], &[Some(1), Some(6)]),
            (services(&["web", "api"]), false, &["p-web", "p-api"], &[Some(1), Some(6)]),
            // One of them is left out, or has got another name.
            (services(&["web", "web-admin"]), false, &["web-admin"], &[Some(6)]),
            (services(&["web", "api"]), false, &["p-api"], &[Some(6)]),
            (services(&["web", "web-admin"]), false, &["p-web-admin"], &[None]),
            (services(&["web", "api"]), false, &["p-web", "other"], &[Some(1), None]),
            (services(&["web", "web"]), false, &["web", "web"], &[None, None]),
            (services(&["web"]).replace("v1", "serving.knative.dev/v1"), false, &["web"], &[None]),
            (
                "kind: List\nitems:\n".to_owned() + "- {apiVersion: v1, kind: Service, metadata: {name: web}}",
                false,
                &["web"],
                &[Some(3)],
            ),
            (services(&["web"]).replace("Service", "Pod"), false, &["web"], &[None]),
            (String::new(), false, &["web"], &[None]),
            (services(&["{{ x }}", "{{ x }}-headless"]), true, &["shop", "shop-headless"], &[Some(1), Some(6)]),
            (services(&["{{ a }}", "{{ b }}"]), true, &["shop", "other"], &[Some(1), Some(6)]),
            // Which one is left out?
            (services(&["{{ a }}", "{{ b }}"]), true, &["shop"], &[None]),
            (services(&["{{ a }}", "{{ a }}-db"]), true, &["shop"], &[Some(1)]),
            (services(&["{{ a }}", "{{ a }}-db"]), true, &["shop-db"], &[None]),
            (services(&["{{ a }}", "web"]), true, &["web"], &[Some(6)]),
            (ranged(service("{{ a }}")), true, &["shop", "other"], &[Some(2), Some(2)]),
            (ranged(services(&["{{ a }}", "{{ b }}"])), true, &["shop", "other"], &[None, None]),
            (format!("{{{{ include \"x\" . }}}}\n---\n{}", service("{{ a }}")), true, &["shop"], &[None]),
            (format!("{{{{ include \"x\" . }}}}\n---\n{}", service("web")), true, &["web"], &[Some(3)]),
        ] {
            let source_text = Source::file("");
            let json = if is_template { String::new() } else { decode::text(source.as_bytes(), &source_text).unwrap() };
            let written = if is_template {
                WrittenObjects::Template(TemplateObjects::of(&source))
            } else {
                WrittenObjects::of_manifests(&json)
            };
            let key = |name: &&str| RenderedKey {
                kind: "Service".to_owned(),
                group: String::new(),
                name: (*name).to_owned(),
                namespace: String::new(),
            };
            let rendered: Vec<RenderedKey> = names.iter().map(key).collect();
            let found: Vec<_> = written.sources_of(&rendered).iter().map(|found| found.map(|o| o.line)).collect();
            assert_eq!(found, want, "{names:?} in\n{source}");
        }
    }

    #[test]
    fn objects_of_one_name_are_told_apart_by_their_namespaces() {
        let service =
            |namespace| format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: {namespace}}}\n");
        let json =
            decode::text(format!("{}---\n{}", service("a"), service("b")).as_bytes(), &Source::file("")).unwrap();
        let written = WrittenObjects::of_manifests(&json);
        let key = |namespace: &str| RenderedKey {
            kind: "Service".to_owned(),
            group: String::new(),
            name: "web".to_owned(),
            namespace: namespace.to_owned(),
        };
        for (namespaces, want) in
            [(&["b", "a"][..], &[Some(5), Some(1)][..]), (&["b"], &[Some(5)]), (&["c", "d"], &[None, None])]
        {
            let rendered: Vec<RenderedKey> = namespaces.iter().map(|namespace| key(namespace)).collect();
            let found: Vec<_> = written.sources_of(&rendered).iter().map(|found| found.map(|o| o.line)).collect();
            assert_eq!(found, want, "{namespaces:?}");
        }
    }

    #[test]
    fn expressions_of_a_name_stand_for_anything() {
        for (written, rendered, want) in [
            ("web", "web", true),
            ("web", "a-web-b", true),
            ("web", "we", false),
            ("{{ x }}", "web", true),
            ("{{ x }}-db", "web-db", true),
            ("{{ x }}-db", "web", false),
            ("a-{{ x }}-b-{{ y }}-c", "a-1-b-2-c", true),
            ("a-{{ x }}", "b-1", false),
            ("{{ x", "web", true),
        ] {
            assert_eq!(may_become(written, rendered), want, "{written} {rendered}");
        }
    }
}
