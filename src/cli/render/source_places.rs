//! Where the objects of a rendered unit, and their fields, are written.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::Read,
};

use roster_engine::{
    model::{
        HashSeed,
        json::pointer::{escape, steps},
    },
    reason::Finding,
};
use roster_lint::split_place;
use roster_manifests::{
    decode::{self, Document, Source},
    inventory::Findings,
    lint::{SourcePlace, has_template_action},
};
use serde_json::Value;

use super::{
    rendered_unit::RenderedUnit,
    template_objects::TemplateObjects,
    written_object::{RenderedKey, WrittenObjects},
};

/// In larger files, no lines are looked for.
const MAX_SOURCE: u64 = 4 << 20;

/// A field of an object that was rendered.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct RenderedField<'f> {
    /// A line of the object in the text of its unit, from 1.
    pub(in crate::cli) line: usize,
    /// The path of the field, or the pointer to it; empty for the whole object.
    pub(in crate::cli) field: &'f str,
}

/// The fields of one source that are looked for, and all objects that come from it.
#[derive(Default)]
struct OfSource {
    /// The numbers of the documents.
    documents: Vec<usize>,
    /// The number of each field, and the place of its document among these.
    fields: Vec<(usize, usize)>,
}

impl RenderedUnit {
    /// Where fields are written. The line is missing if there is any doubt, and the place if the file is not known.
    pub(in crate::cli) fn places_of(&self, fields: &[RenderedField<'_>]) -> Vec<Option<SourcePlace<'_>>> {
        let in_file =
            |f: &RenderedField<'_>| self.source_at(f.line).map(|file| SourcePlace { file, line: None, column: None });
        let mut places: Vec<Option<SourcePlace<'_>>> = fields.iter().map(in_file).collect();
        let source = Source::manifests(&self.name);
        // It was read before: this does not fail.
        let json = decode::text(self.text.as_bytes(), &source).unwrap_or_default();
        let (documents, _) = decode::readable_documents(&json, &source);
        for (file, of_source) in self.by_source(&documents, fields) {
            if of_source.fields.is_empty() {
                continue;
            }
            let Some(text) = SourceText::read(file) else { continue };
            let objects = text.objects();
            let keys: Vec<RenderedKey> =
                of_source.documents.iter().map(|d| RenderedKey::of(&documents[*d].raw)).collect();
            let sources = objects.sources_of(&keys);
            let mut values: HashMap<usize, (Value, Value), HashSeed> = HashMap::default();
            for (field, at) in of_source.fields {
                let Some(written) = sources[at] else { continue };
                let (line, column) = match &written.document {
                    None => (written.line, None),
                    Some(document) => {
                        let (rendered, written) = values
                            .entry(at)
                            .or_insert_with(|| (value_of(&documents[of_source.documents[at]]), value_of(document)));
                        let path = shared_path(fields[field].field, rendered, written);
                        document.places_of(&[&path]).first().copied().unwrap_or((document.line, None))
                    }
                };
                places[field] = Some(SourcePlace { file, line: Some(line), column });
            }
        }
        places
    }

    /// Names the places in these messages that begin with one of the text.
    pub(in crate::cli) fn place_messages(&self, findings: &mut Findings) {
        let mut found: Vec<(&mut Finding, usize)> = findings
            .iter_mut()
            .filter_map(|finding| self.split_place(&finding.message).map(|(line, _)| line).map(|line| (finding, line)))
            .collect();
        if found.is_empty() {
            return;
        }
        let fields: Vec<RenderedField<'_>> =
            found.iter().map(|(finding, line)| RenderedField { line: *line, field: finding.at() }).collect();
        let places = self.places_of(&fields);
        for ((finding, _), place) in found.iter_mut().zip(places) {
            if let Some((place, (_, message))) = place.zip(self.split_place(&finding.message)) {
                finding.message = format!("{place}: {message}");
            }
        }
    }

    /// The line in a message that begins with a place of the text, and what follows that.
    fn split_place<'m>(&self, message: &'m str) -> Option<(usize, &'m str)> {
        let (place, rest) = split_place(&self.name, message);
        place.map(|(line, _)| (line, rest))
    }

    /// The documents and the fields, by the files that they come from.
    fn by_source(&self, documents: &[Document<'_>], fields: &[RenderedField<'_>]) -> BTreeMap<&str, OfSource> {
        let mut by_source: BTreeMap<&str, OfSource> = BTreeMap::new();
        let mut places = vec![None; documents.len()];
        for (number, document) in documents.iter().enumerate() {
            if let Some(file) = self.source_at(document.line) {
                let of_source = by_source.entry(file).or_default();
                places[number] = Some(of_source.documents.len());
                of_source.documents.push(number);
            }
        }
        for (number, field) in fields.iter().enumerate() {
            let document = documents.partition_point(|document| document.line <= field.line).checked_sub(1);
            let Some((file, place)) = self.source_at(field.line).zip(document.and_then(|d| places[d])) else {
                continue;
            };
            by_source.entry(file).or_default().fields.push((number, place));
        }
        by_source
    }
}

/// The text of a source.
enum SourceText {
    /// As JSON with the lines of the file.
    Manifests(String),
    Template(String),
}

impl SourceText {
    fn read(file: &str) -> Option<Self> {
        let mut text = String::new();
        #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it reads files")]
        let read = File::open(file).ok()?.take(MAX_SOURCE + 1).read_to_string(&mut text).ok()?;
        if read as u64 > MAX_SOURCE {
            return None;
        }
        let json =
            if has_template_action(&text) { None } else { decode::text(text.as_bytes(), &Source::file(file)).ok() };
        Some(json.map_or(Self::Template(text), Self::Manifests))
    }

    fn objects(&self) -> WrittenObjects<'_> {
        match self {
            Self::Manifests(json) => WrittenObjects::of_manifests(json),
            Self::Template(text) => WrittenObjects::Template(TemplateObjects::of(text)),
        }
    }
}

fn value_of(document: &Document<'_>) -> Value {
    serde_json::from_str(document.raw.get()).unwrap_or_default()
}

/// The path of a field in the object as it is written; empty if what is there is not what was rendered: then it comes from a
/// patch, or a renderer has changed it. For a field that is missing in both, the path of what should contain it.
fn shared_path(field: &str, rendered: &Value, written: &Value) -> String {
    let (mut rendered, mut written, mut path) = (rendered, written, String::new());
    for step in steps(field) {
        match (part(rendered, &step), part(written, &step)) {
            (Some(r), Some(w)) if !rendered.is_array() || is_same_element(r, w) => (rendered, written) = (r, w),
            (None, None) => return path,
            _ => return String::new(),
        }
        path.push('/');
        path.push_str(&escape(&step));
    }
    let is_value = |value: &Value| !value.is_object() && !value.is_array();
    if is_value(rendered) && rendered != written { String::new() } else { path }
}

/// A member or an element.
fn part<'v>(value: &'v Value, step: &str) -> Option<&'v Value> {
    match value {
        Value::Array(all) => all.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    }
}

/// Whether two elements at one place of a list are the same: patches may insert others.
fn is_same_element(rendered: &Value, written: &Value) -> bool {
    match (rendered.get("name"), written.get("name")) {
        (None, None) => rendered == written,
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Fields of a rendered object, each with the path of what is written.
    #[test]
    fn a_field_is_placed_if_it_is_written_as_it_is_rendered() {
        let written = json!({
            "metadata": {"name": "web", "labels": {"a/b": "c"}},
            "spec": {
                "replicas": 1,
                "selector": {"app": "web"},
                "ports": [{"port": 80, "targetPort": "htp"}, {"name": "x", "port": 81}],
                "gone": 1,
            },
        });
        let rendered = json!({
            "metadata": {"name": "p-web", "labels": {"a/b": "c"}},
            "spec": {
                "replicas": 3,
                "selector": {"app": "web", "env": "prod"},
                "ports": [{"port": 80, "targetPort": "htp"}, {"name": "x", "port": 82}, {"port": 83}],
                "added": 1,
            },
        });
        for (field, want) in [
            ("", ""),
            ("metadata.labels[\"a/b\"]", "/metadata/labels/a~1b"),
            ("metadata.name", ""),
            ("spec.replicas", ""),
            ("spec.selector", "/spec/selector"),
            ("/spec/selector/app", "/spec/selector/app"),
            ("spec.selector.env", ""),
            ("spec.ports[0].targetPort", "/spec/ports/0/targetPort"),
            ("spec.ports[1]", "/spec/ports/1"),
            ("spec.ports[1].port", ""),
            ("spec.ports[1].targetPort", "/spec/ports/1"),
            ("spec.ports[2].port", ""),
            ("spec.added", ""),
            ("spec.gone", ""),
            ("spec.missing.part", "/spec"),
        ] {
            assert_eq!(shared_path(field, &rendered, &written), want, "{field}");
        }
    }
}
