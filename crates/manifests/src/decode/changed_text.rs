//! A text that is read as if some of its objects were written differently.

use std::borrow::Cow;

use super::{
    document::Document,
    documents::documents,
    error::DecodeError,
    input,
    source::{Source, TextFormat},
    stream,
    yaml::yaml_as_json,
};
use crate::inventory::Inventory;

/// Reads all objects of a text as [`read_text`](super::read_text) does, but those for which `change` has another text as that.
/// The others stay in their lines.
pub fn read_changed(
    text: &str,
    source: &Source<'_>,
    into: &mut Inventory,
    mut change: impl FnMut(&Document<'_>) -> Option<String>,
) -> Result<(), DecodeError> {
    let format = input::format_of(text.as_bytes(), true, source);
    let json = match format {
        TextFormat::Json => Cow::Borrowed(text),
        TextFormat::Yaml | TextFormat::FlowYaml => Cow::Owned(yaml_as_json(text, source)?),
    };
    let mut changed = String::with_capacity(json.len());
    let mut done = 0;
    for document in documents(&json, source)? {
        let Some(new) = change(&document) else { continue };
        let old = json.get(document.span.clone()).unwrap_or_default();
        changed.push_str(json.get(done..document.span.start).unwrap_or_default());
        push_in_lines(&mut changed, old, &new);
        done = document.span.end;
    }
    changed.push_str(json.get(done..).unwrap_or_default());
    stream::read(Box::new(changed.as_bytes()), format, source, into)
}

/// Appends `new` with at least as many lines as `old` has: what follows stays in its line.
fn push_in_lines(text: &mut String, old: &str, new: &str) {
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    text.push_str(new);
    text.extend(std::iter::repeat_n('\n', lines(old).saturating_sub(lines(new))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::read_text;

    #[test]
    fn only_the_changed_objects_are_read_differently() {
        let service = |name: &str, ports: &str| {
            format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  ports: {ports}\n")
        };
        let text = format!("{}---\n{}---\n{}", service("a", "[]"), service("b", "[]"), service("c", "5"));
        let source = Source::file("f");
        let mut read = Inventory::default();
        read_changed(&text, &source, &mut read, |document| {
            let text = document.raw.get();
            text.contains("\"b\"").then(|| text.replace("\"b\"", "\"x\"").replace('\n', ""))
        })
        .unwrap();
        let names: Vec<&str> = read.services.iter().map(|service| service.meta.name.as_str()).collect();
        assert_eq!(names, ["a", "x"]);
        let mut unchanged = Inventory::default();
        read_text(&text, &source, &mut unchanged).unwrap();
        let problems = |read: &Inventory| read.problems.iter().map(|of| of.message.clone()).collect::<Vec<_>>();
        assert_eq!(problems(&read), problems(&unchanged));
        assert_eq!(problems(&read), ["f:20:12 (document 3): invalid type: integer `5`, expected a list"]);
    }
}
