//! Where an object is in the file that it was rendered from.

/// The line, from 1, of an object in the text of its source, which may be a template. Its name may have got a prefix or a suffix,
/// or be made of expressions: of several objects of its kind, the one with the most similar name counts.
pub(in crate::cli) fn place_in_source(source: &str, kind: &str, rendered_name: &str) -> Option<usize> {
    let of_kind = written_objects(source, kind);
    if let [only] = of_kind.as_slice() {
        return Some(only.line);
    }
    let mut best: Option<(usize, usize)> = None;
    for object in &of_kind {
        let Some(similarity) = similarity(object.name, rendered_name) else { continue };
        if best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, object.line));
        }
    }
    best.map(|(_, line)| line)
}

/// An object as it is written.
struct WrittenObject<'s> {
    /// The line, from 1, of its first field: that of its `apiVersion` if this comes right before its kind, else that of its kind.
    line: usize,
    /// Empty if it is not found.
    name: &'s str,
}

/// The objects of a kind, each with metadata: a reference to an object has a kind, too.
fn written_objects<'s>(source: &'s str, kind: &str) -> Vec<WrittenObject<'s>> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    // No line is part of two objects.
    let mut read = 0;
    for at in 0..lines.len() {
        if at >= read && value_of(lines[at], "kind") == Some(kind) {
            let depth = indentation(lines[at]);
            let start = read + start_of_object(&lines[read..at], depth);
            let end = at + 1 + end_of_object(&lines[at + 1..], depth);
            if let Some(name) = name_in_metadata(&lines[start..end], depth) {
                let is_version = |at: &usize| {
                    *at >= start && indentation(lines[*at]) == depth && value_of(lines[*at], "apiVersion").is_some()
                };
                let line = at.checked_sub(1).filter(is_version).unwrap_or(at) + 1;
                found.push(WrittenObject { line, name });
            }
            read = end;
        }
    }
    found
}

/// Where an object begins in the lines before its kind, whose key is at this depth.
fn start_of_object(before: &[&str], depth: usize) -> usize {
    for (at, line) in before.iter().enumerate().rev().filter(|(_, line)| !is_skipped(line)) {
        if is_separator(line) || indentation(line) < depth {
            return at + 1;
        }
        if is_item(line, depth) {
            return at;
        }
    }
    0
}

/// Where an object ends in the lines after its kind, whose key is at this depth.
fn end_of_object(after: &[&str], depth: usize) -> usize {
    let is_end =
        |line: &&str| !is_skipped(line) && (is_separator(line) || indentation(line) < depth || is_item(line, depth));
    after.iter().position(is_end).unwrap_or(after.len())
}

/// The name of an object in its lines, whose keys are at this depth; empty if it is not found, `None` if there are no metadata.
fn name_in_metadata<'s>(lines: &[&'s str], depth: usize) -> Option<&'s str> {
    let is_metadata = |line: &&str| indentation(line) == depth && after_key(line, "metadata").is_some();
    let at = lines.iter().position(is_metadata)?;
    // In flow style: `metadata: {name: web}`.
    if let Some((_, rest)) = after_key(lines[at], "metadata").and_then(|rest| rest.split_once("name:")) {
        return Some(plain(rest.split([',', '}']).next().unwrap_or_default()));
    }
    let below = lines[at + 1..].iter().filter(|line| !is_skipped(line));
    let below = below.take_while(|line| indentation(line) > depth);
    let mut below = below.copied().peekable();
    let members = below.peek().map_or(0, |line| indentation(line));
    Some(below.filter(|line| indentation(line) == members).find_map(|line| value_of(line, "name")).unwrap_or_default())
}

/// Whether a line is empty, a comment, an action of a template, or a bracket of JSON.
fn is_skipped(line: &&str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['#', '{', '}'])
}

/// Whether a document ends with this line.
fn is_separator(line: &str) -> bool {
    line.starts_with("---")
}

/// Whether a line begins an element of a list of objects, whose keys are at this depth.
fn is_item(line: &str, depth: usize) -> bool {
    line.trim_start().starts_with("- ") && indentation(line) == depth
}

/// At which column, from 0, the key of a line begins: that of `- kind: A` begins after the hyphen.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().trim_start_matches("- ").trim_start().len()
}

/// What follows a key in a line that begins with it.
fn after_key<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let line = line.trim_start().trim_start_matches("- ").trim_start();
    let quoted = line.strip_prefix('"').and_then(|rest| rest.strip_prefix(key)?.strip_prefix('"'));
    quoted.or_else(|| line.strip_prefix(key))?.trim_start().strip_prefix(':')
}

/// The value of a key in a line that begins with it.
fn value_of<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    after_key(line, key).map(plain).filter(|value| !value.is_empty())
}

/// A value without its comment and its quotes.
fn plain(value: &str) -> &str {
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim().trim_end_matches(',');
    let unquoted = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    unquoted('"').or_else(|| unquoted('\'')).unwrap_or(value)
}

/// How many characters a written name has in common with the rendered one; `None` if this cannot be made of it.
fn similarity(written: &str, rendered: &str) -> Option<usize> {
    if !written.contains("{{") {
        // Generators and kustomizations add to both ends.
        let is_same = written == rendered;
        return rendered.contains(written).then_some(if is_same { usize::MAX } else { written.len() });
    }
    let mut rest = rendered;
    let mut common = 0;
    let mut parts = written
        .split("{{")
        .enumerate()
        .map(|(index, part)| match index {
            0 => part,
            _ => part.split_once("}}").map_or("", |(_, text)| text),
        })
        .peekable();
    let mut is_first = true;
    while let Some(part) = parts.next() {
        rest = match (is_first, parts.peek().is_none()) {
            (true, _) => rest.strip_prefix(part)?,
            (false, true) => rest.strip_suffix(part)?,
            (false, false) => &rest[rest.find(part)? + part.len()..],
        };
        is_first = false;
        common += part.len();
    }
    Some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_its_kind_with_the_most_similar_name_is_found() {
        let two = "# shop\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\n---\napiVersion: v1\nkind: \"Service\" # two\n\
                   metadata: {name: web-admin, labels: {a: b}}\n---\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  \
                   template:\n    metadata: {name: no}\n";
        let list = "kind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata:\n    labels:\n      name: b\n    name: \
                    a\n- metadata:\n    name: b\n  kind: Service\n";
        let template = "{{- if .Values.x }}\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ include \"x.fullname\" . \
                        }}\n  labels:\n{{ include \"x.labels\" . | indent 4 }}\n---\napiVersion: v1\nkind: \
                        Service\nmetadata:\n  name: {{ template \"x.fullname\" $ }}-headless\n{{- end }}\n";
        let json = "{\n  \"kind\": \"Service\",\n  \"metadata\": {\n    \"name\": \"a\"\n  }\n}\n";
        for (source, kind, name, want) in [
            (two, "Service", "web", Some(2)),
            (two, "Service", "web-admin", Some(7)),
            (two, "Service", "prod-web-admin", Some(7)),
            (two, "Service", "prod-web-v2", Some(2)),
            (two, "Service", "other", None),
            (two, "Deployment", "anything", Some(11)),
            (two, "Pod", "web", None),
            (list, "Service", "a", Some(3)),
            (list, "Service", "b", Some(11)),
            ("kind: A\nspec:\n  ref:\n    kind: B\n    name: b\nmetadata:\n  name: a\n", "B", "b", None),
            (template, "Service", "shop-x", Some(2)),
            (template, "Service", "shop-x-headless", Some(9)),
            (json, "Service", "a", Some(2)),
            ("", "Service", "a", None),
            ("kind: Service", "Service", "a", None),
        ] {
            assert_eq!(place_in_source(source, kind, name), want, "{kind} {name} in\n{source}");
        }
    }

    #[test]
    fn expressions_of_a_name_stand_for_anything() {
        for (written, rendered, want) in [
            ("web", "web", Some(usize::MAX)),
            ("web", "a-web-b", Some(3)),
            ("web", "we", None),
            ("{{ x }}", "web", Some(0)),
            ("{{ x }}-db", "web-db", Some(3)),
            ("{{ x }}-db", "web", None),
            ("a-{{ x }}-b-{{ y }}-c", "a-1-b-2-c", Some(7)),
            ("a-{{ x }}", "b-1", None),
            ("{{ x", "web", Some(0)),
        ] {
            assert_eq!(similarity(written, rendered), want, "{written} {rendered}");
        }
    }
}
