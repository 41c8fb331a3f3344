//! Recognizes templates of ytt: YAML whose comments are code.

use memchr::memmem;

use super::scalar_scan::ScalarScan;

/// Whether a comment of the text is code of ytt: `#@ data.values.x`, `#@overlay/match`.
pub(super) fn is_ytt_template(text: &str) -> bool {
    if memmem::find(text.as_bytes(), b"#@").is_none() {
        return false;
    }
    let mut scan = ScalarScan::default();
    text.lines().any(|line| {
        scan.line(line, |offset, quote| {
            let begins = offset == 0 || line[..offset].ends_with([' ', '\t']);
            begins && quote.is_none() && line[offset..].strip_prefix("#@").is_some_and(is_code)
        })
    })
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
    use super::is_ytt_template;

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
            ("#@\n#@todo: b\n#@ \na: 1\n", false),
        ] {
            assert_eq!(is_ytt_template(text), want, "{text}");
        }
    }
}
