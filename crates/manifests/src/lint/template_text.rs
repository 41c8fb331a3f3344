//! Whether text that is not YAML is a template: it has actions of a template language where YAML has no string.

/// How actions begin and end, in Go templates and in Jinja.
const ACTIONS: [(&str, &str); 2] = [("{{", "}}"), ("{%", "%}")];

/// Whether the text of a document has an action outside of quoted scalars, block scalars and comments, or one whose own
/// quotes end the quoted scalar around it. A dashboard with `"{{pod}}"` is not a template.
pub fn has_template_action(text: &str) -> bool {
    let mut scan = TemplateScan::default();
    text.lines().any(|line| scan.line(line))
}

/// What the lines so far leave open.
#[derive(Default)]
struct TemplateScan {
    /// The quote of the open scalar.
    quote: Option<char>,
    /// The indentation of the key whose block scalar is open.
    block: Option<usize>,
}

impl TemplateScan {
    /// Whether a line has an action.
    fn line(&mut self, line: &str) -> bool {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if self.block.is_some_and(|key| line.trim().is_empty() || indent > key) {
            return false;
        }
        self.block = None;
        let mut rest = line;
        // The last character that is not a space: a quote begins a scalar only behind an indicator.
        let mut before = ' ';
        // Where the next end of each action is, if no quoted scalar ends before it: a line has many beginnings.
        let mut searched = [0; ACTIONS.len()];
        while let Some(c) = rest.chars().next() {
            let behind = &rest[c.len_utf8()..];
            let action = ACTIONS.iter().zip(&mut searched).find(|((begin, _), _)| rest.starts_with(begin));
            let offset = line.len() - rest.len();
            match (self.quote, action) {
                (None, Some(_)) => return true,
                (Some(quote), Some(((_, end), searched))) if offset >= *searched => match rest.find(end) {
                    Some(at) if has_end(&rest[..at], quote) => return true,
                    at => *searched = at.map_or(usize::MAX, |at| offset + at),
                },
                _ => {}
            }
            let is_first =
                behind.len() + c.len_utf8() == line.len() || line[..line.len() - rest.len()].ends_with([' ', '\t']);
            rest = match self.quote {
                Some(quote) => self.in_quotes(quote, c, behind),
                None if c == '#' && is_first => break,
                None => {
                    if ['"', '\''].contains(&c) && " :,[{-?".contains(before) {
                        self.quote = Some(c);
                    }
                    behind
                }
            };
            before = if c == ' ' { before } else { c };
        }
        if self.quote.is_none() {
            self.block = block_key(&line[..line.len() - rest.len()]);
        }
        false
    }

    /// Passes a character of a quoted scalar. Returns what follows.
    fn in_quotes<'t>(&mut self, quote: char, c: char, behind: &'t str) -> &'t str {
        let escaped = (quote == '"' && c == '\\') || (quote == '\'' && c == quote && behind.starts_with('\''));
        if escaped {
            let mut chars = behind.chars();
            chars.next();
            return chars.as_str();
        }
        if c == quote {
            self.quote = None;
        }
        behind
    }
}

/// Whether the quoted scalar ends within the text.
fn has_end(text: &str, quote: char) -> bool {
    let text = match quote {
        '"' => text.replace("\\\"", ""),
        _ => text.replace("''", ""),
    };
    text.contains(quote)
}

/// The indentation of the key of a block scalar, if one begins at the end of the line.
fn block_key(line: &str) -> Option<usize> {
    let (before, indicator) = line.trim_end().rsplit_once(' ')?;
    let style = indicator.strip_prefix(['|', '>'])?;
    let is_indicator = style.chars().all(|c| "+-0123456789".contains(c));
    let before = before.trim_end();
    if !is_indicator || !(before.ends_with([':', '-']) || before.contains(": !") || before.contains(": &")) {
        return None;
    }
    let mut key = line.len() - line.trim_start_matches(' ').len();
    while let Some(item) = before.get(key..).and_then(|rest| rest.strip_prefix("- ")) {
        key += 2 + item.len() - item.trim_start_matches(' ').len();
    }
    Some(key)
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
