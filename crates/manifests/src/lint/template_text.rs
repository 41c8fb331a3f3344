//! Whether text that is not YAML is a template: it has actions of a template language where YAML has no string.

use crate::decode::scalar_scan::ScalarScan;

/// How actions begin and end, in Go templates and in Jinja.
const ACTIONS: [(&str, &str); 2] = [("{{", "}}"), ("{%", "%}")];

/// Whether the text of a document has an action outside of quoted scalars, block scalars and comments, or one whose own
/// quotes end the quoted scalar around it. A dashboard with `"{{pod}}"` is not a template.
pub fn has_template_action(text: &str) -> bool {
    let mut scan = ScalarScan::default();
    text.lines().any(|line| has_action(&mut scan, line))
}

/// Whether a line has an action.
fn has_action(scan: &mut ScalarScan, line: &str) -> bool {
    // Where the next end of each action is, if no quoted scalar ends before it: a line has many beginnings.
    let mut searched = [0; ACTIONS.len()];
    scan.line(line, |offset, quote| {
        let rest = &line[offset..];
        let action = ACTIONS.iter().zip(&mut searched).find(|((begin, _), _)| rest.starts_with(begin));
        match (quote, action) {
            (None, Some(_)) => return true,
            (Some(quote), Some(((_, end), searched))) if offset >= *searched => match rest.find(end) {
                Some(at) if has_end(&rest[..at], quote) => return true,
                at => *searched = at.map_or(usize::MAX, |at| offset + at),
            },
            _ => {}
        }
        false
    })
}

/// Whether the quoted scalar ends within the text.
fn has_end(text: &str, quote: char) -> bool {
    let text = match quote {
        '"' => text.replace("\\\"", ""),
        _ => text.replace("''", ""),
    };
    text.contains(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_outside_of_strings_make_a_template() {
        for (text, want) in [
            ("name: {{ .Release.Name }}", true),
            ("{{- if .Values.service }}\nkind: Service", true),
            ("name: web-{{ .Release.Name }}", true),
            ("{% if web %}", true),
            (r#"name: "{{ default "web" .Values.name }}""#, true),
            ("name: '{{ default 'web' .Values.name }}'", true),
            (r#"a.json: '{"legendFormat": "{{pod}}"}'"#, false),
            (r#"a: "{{pod}}""#, false),
            (r#"a: "\"{{pod}}\"" # {{ x }}"#, false),
            ("a: 'it''s {{pod}}'", false),
            ("# {{ .Values.web }}\nkind: Service", false),
            ("data:\n  a: |\n    {{pod}}\n\n    {{pod}}\n  b: x", false),
            ("data:\n  a: |-\n    {{pod}}\n  b: {{ x }}", true),
            ("- a: >\n    {{pod}}\n  b: {{ x }}", true),
            ("- |\n {{pod}}\n- x", false),
            ("a: \"x\n  {{pod}}\"\nb: 1", false),
            ("a: \"x\n  y\"\nb: {{ x }}", true),
            ("a: {b: \"{{pod}}\"}\nc: it's {{ x }}", true),
            ("\tport: 80", false),
        ] {
            assert_eq!(has_template_action(text), want, "{text}");
        }
    }
}
