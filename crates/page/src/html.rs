//! A fragment of HTML whose texts and attribute values are escaped, because nothing else can be written into it.
//!
//! A text that is shown has what nobody sees written out, as [`printable`] does. A value that the browser sends back, such as the
//! text of a field, stays what it is.

use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};

use roster_engine::shown_text::{is_hidden, printable};

/// A fragment of HTML. Names of elements and attributes are literals; everything else is escaped as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

/// A name and a value.
pub(crate) type Attribute<'a> = (&'static str, &'a str);

/// Elements without an end tag.
const VOID: &[&str] = &["input", "br"];

/// Attributes whose values are shown.
const SHOWN: &[&str] = &["title", "aria-label"];

impl Html {
    /// An empty fragment.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// What `write` writes.
    pub(crate) fn of(write: impl FnOnce(&mut Self)) -> Self {
        let mut html = Self::new();
        write(&mut html);
        html
    }

    /// Appends a text that is shown.
    pub(crate) fn text(&mut self, text: impl fmt::Display) {
        // Writing to a string does not fail.
        let _ = write!(Escaping(&mut self.0), "{text}");
    }

    /// Appends a value that the browser gives back as it is.
    fn value(&mut self, value: &str) {
        value.chars().for_each(|c| escape_of_value(&mut self.0, c));
    }

    /// Appends a field of several lines with its text.
    pub(crate) fn text_field(&mut self, attributes: &[Attribute<'_>], value: &str) {
        self.element("textarea", attributes, |html| {
            // A parser of HTML drops one line feed at the begin.
            html.0.push('\n');
            html.value(value);
        });
    }

    /// Appends a text of Roster's own, in which what stands between backticks is code.
    pub(crate) fn prose(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, (code, after))) =
            rest.split_once('`').and_then(|(before, quoted)| Some((before, quoted.split_once('`')?)))
        {
            self.text(before);
            self.leaf("code", &[], code);
            rest = after;
        }
        self.text(rest);
    }

    /// Appends an element with what `content` writes.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: &[Attribute<'_>], content: impl FnOnce(&mut Self)) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            if SHOWN.contains(name) {
                self.text(value);
            } else {
                self.value(value);
            }
            self.0.push('"');
        }
        self.0.push('>');
        if VOID.contains(&tag) {
            return;
        }
        content(self);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
    }

    /// Appends an element with a text.
    pub(crate) fn leaf(&mut self, tag: &'static str, attributes: &[Attribute<'_>], text: impl fmt::Display) {
        self.element(tag, attributes, |html| html.text(text));
    }

    /// Appends the head of a table.
    pub(crate) fn head_row(&mut self, heads: &[&str]) {
        self.element("thead", &[], |html| {
            html.element("tr", &[], |html| {
                for head in heads {
                    html.leaf("th", &[("scope", "col")], head);
                }
            });
        });
    }

    /// Appends a picture, whose renderer escapes its texts by itself.
    pub(crate) fn picture(&mut self, svg: &str) {
        self.0.push_str(svg);
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Html {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

/// A writer that escapes a text for content and for attributes in quotes. Characters that nobody sees are shown.
struct Escaping<'h>(&'h mut String);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in printable(text).chars() {
            escape(self.0, c);
        }
        Ok(())
    }
}

/// Writes a character that is not markup.
fn escape(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        c => out.push(c),
    }
}

/// The same for a value: what nobody sees is a number, which is the same character to the browser.
fn escape_of_value(out: &mut String, c: char) {
    match c {
        // As numbers, the latter are characters of another code page.
        '\n' | '\t' | '\0' | '\u{80}'..='\u{9f}' => out.push(c),
        c if is_hidden(c) => {
            // Writing to a string does not fail.
            let _ = write!(out, "&#{};", u32::from(c));
        }
        c => escape(out, c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values_cannot_become_markup() {
        for (text, want) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("a&lt;", "a&amp;lt;"),
            ("abc\u{202e}def\u{0}", "abc\\u{202e}def\\u{0}"),
            ("日本 – naïve", "日本 – naïve"),
        ] {
            let html = Html::of(|html| html.leaf("p", &[("title", text)], text));
            assert_eq!(html.as_str(), format!("<p title=\"{want}\">{want}</p>"));
        }
    }

    #[test]
    fn values_stay_what_they_are() {
        for (value, want) in [
            ("a: b\n\tc: 'd'\n", "a: b\n\tc: &#39;d&#39;\n"),
            ("\n</textarea><b>", "\n&lt;/textarea&gt;&lt;b&gt;"),
            ("a\\nb\r\n", "a\\nb&#13;\n"),
            ("we\u{200d}b\u{202e}\u{85}", "we&#8205;b&#8238;\u{85}"),
            ("\"&amp;", "&quot;&amp;amp;"),
            ("日本 – naïve", "日本 – naïve"),
        ] {
            let html = Html::of(|html| html.text_field(&[("data-is", value)], value));
            assert_eq!(html.as_str(), format!("<textarea data-is=\"{want}\">\n{want}</textarea>"));
        }
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        for (text, want) in [
            ("plain", "plain"),
            ("`a` and `<b>`.", "<code>a</code> and <code>&lt;b&gt;</code>."),
            ("one ` alone", "one ` alone"),
            ("`a` and ` alone", "<code>a</code> and ` alone"),
            ("``", "<code></code>"),
        ] {
            assert_eq!(Html::of(|html| html.prose(text)).as_str(), want);
        }
    }

    #[test]
    fn elements_nest() {
        let html = Html::of(|html| {
            html.element("label", &[], |html| {
                html.text("Pod");
                html.element("input", &[("name", "pod")], |_| ());
            });
        });
        assert_eq!(html.as_str(), "<label>Pod<input name=\"pod\"></label>");
    }
}
