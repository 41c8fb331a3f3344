//! Recognizes templates that are YAML as well: their code is in what YAML takes for comments.

use memchr::memmem;

use super::scalar_scan::ScalarScan;

/// Whether a comment of the text is code of ytt, as `#@ data.values.x`, or the only value of a key or an item is a token that a
/// pipeline replaces, as `#{IMAGE}` and `#{IMAGE}#`.
pub(super) fn is_template_in_comments(text: &str) -> bool {
    if ["#@", "#{"].iter().all(|mark| memmem::find(text.as_bytes(), mark.as_bytes()).is_none()) {
        return false;
    }
    let mut scan = ScalarScan::default();
    text.lines().any(|line| {
        scan.line(line, |offset, quote| {
            let (before, comment) = line.split_at(offset);
            let begins = offset == 0 || before.ends_with([' ', '\t']);
            let is_template = || match comment.as_bytes() {
                [b'#', b'@', ..] => is_code(&comment[2..]),
                [b'#', b'{', ..] => before.trim_end().ends_with([':', '-']) && is_token(&comment[2..]),
                _ => false,
            };
            begins && quote.is_none() && is_template()
        })
    })
}

/// Whether a text is the name of a token and its end.
fn is_token(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_.-".contains(c));
    rest.len() < text.len() && ["}", "}#"].contains(&rest.trim_end())
}

/// Whether the text of a comment behind `#@` is code or an annotation.
fn is_code(text: &str) -> bool {
    if let Some(code) = text.strip_prefix(' ') {
        return !code.trim().is_empty();
    }
    let name = text.trim_start_matches(|c: char| c.is_ascii_lowercase());
    name.len() < text.len() && name.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::is_template_in_comments;

    #[test]
    fn comments_with_code_make_a_template() {
        for (text, want) in [
            ("#@ load(\"@ytt:data\", \"data\")\na: 1\n", true),
            ("a:\n  b: #@ data.values.b\n", true),
            ("a:\n  #@overlay/match missing_ok=True\n  b: 1\n", true),
            ("#@data/values\n---\na: 1\n", true),
            ("a: b#@ c\n", false),
            ("a: '#@ b'\n", false),
            ("a: |\n  #@ b\nc: 1\n", false),
            ("# a #@ b\nc: 1\n", false),
            ("image: #{IMAGE}\n", true),
            ("- #{Project.Port}# \n", true),
            ("image: web # the #{IMAGE}\n", false),
            ("image: web #{IMAGE}\n", false),
            ("env: # {IMAGE}\n", false),
            ("a: #{see} below\n", false),
            ("#{IMAGE}\na: '#{IMAGE}'\n", false),
            ("#@\n#@todo: b\n#@ \na: 1\n", false),
        ] {
            assert_eq!(is_template_in_comments(text), want, "{text}");
        }
    }
}
