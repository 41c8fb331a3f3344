//! `roster explain CODE`: the page of a reason or of a rule, as in `docs/reference/reasons.md` and `docs/reference/rules.md`.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use anyhow::Error;
use roster_admission::{Remedy, Rule};
use roster_engine::{
    model::spelling::{has_word, mistyped, nearest},
    phrase::any_of,
    reason::Reason,
};
use roster_lint::{LintRule, all_codes};
use serde::Serialize;

use crate::cli::{
    column_layout::wrap,
    output::{ItemWriter, Output, OutputFormat},
    service_choice::ServiceNotFound,
    style::BOLD,
};

/// The examples of the rules, each below a heading with the code of its rule.
const RULES: &str = include_str!("../../../docs/reference/rules.md");
/// The width of prose where there is no screen.
const PROSE: usize = 100;

/// What there is to say about a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::cli) struct CodePage {
    code: &'static str,
    /// `reason`, `rule` or `lint rule`: some codes are both of the first two.
    kind: &'static str,
    /// Severity, or kinds and modes.
    about: String,
    meaning: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    fix: &'static str,
    /// Objects, and the answer of the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<CodeExample>,
}

/// Objects that a rule finds fault with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct CodeExample {
    object: &'static str,
    /// Empty if the rule is not one of the webhook.
    #[serde(skip_serializing_if = "str::is_empty")]
    answer: &'static str,
}

/// The end of a page without pages.
#[derive(Serialize)]
struct Tail {}

/// The pages of these texts, if all of them are codes.
pub(in crate::cli) fn of_all(texts: &[String]) -> Option<Vec<CodePage>> {
    let pages: Vec<Vec<CodePage>> = texts.iter().map(|text| of(text)).collect();
    (!pages.is_empty() && pages.iter().all(|p| !p.is_empty())).then(|| pages.concat())
}

/// Whether a text is a code.
pub(super) fn is_code(text: &str) -> bool {
    !of(text).is_empty()
}

/// The codes that have a page, sorted, each once.
pub(in crate::cli) fn codes() -> Vec<&'static str> {
    let codes: BTreeSet<&str> = all_codes().collect();
    codes.into_iter().collect()
}

/// Most codes that are suggested.
const MAX_SUGGESTED: usize = 3;

/// The codes that were most likely meant: the one that is mistyped, or else those that contain the text, or else those that
/// contain what is like it.
pub(in crate::cli) fn suggestions(text: &str) -> Vec<&'static str> {
    if let Some(code) = mistyped(text, all_codes(), |code| code) {
        return vec![code];
    }
    let containing: Vec<&'static str> = all_codes().filter(|code| has_word(code, text)).collect();
    if !containing.is_empty() {
        return first_of(containing);
    }
    let parts: Vec<(String, &'static str)> = all_codes().flat_map(|code| parts_like(code, text)).collect();
    let Some((part, _)) = nearest(text, &parts, |(part, _)| part) else { return Vec::new() };
    first_of(parts.iter().filter(|(of, _)| of == part).map(|(_, code)| *code).collect())
}

/// The first of these codes, each once.
fn first_of(mut codes: Vec<&'static str>) -> Vec<&'static str> {
    codes.sort_unstable();
    codes.dedup();
    codes.truncate(MAX_SUGGESTED);
    codes
}

/// The parts of a code with as many words as the text.
fn parts_like(code: &'static str, text: &str) -> Vec<(String, &'static str)> {
    let words: Vec<&str> = code.split('-').collect();
    words.windows(text.split('-').count()).map(|part| (part.join("-"), code)).collect()
}

/// Adds the codes that may be meant to an error about a Service that does not exist.
pub(super) fn with_suggestions(error: Error) -> Error {
    match error.downcast::<ServiceNotFound>() {
        Ok(mut error) => {
            // A Service that is like it is meant rather than a code.
            let codes = if error.meant.is_empty() { suggestions(&error.typed) } else { Vec::new() };
            error.meant.extend((!codes.is_empty()).then(|| format!("the code {}", any_of(&codes))));
            error.into()
        }
        Err(error) => error,
    }
}

/// The pages of a code: that of the reason and that of the rule.
fn of(code: &str) -> Vec<CodePage> {
    let reason = Reason::ALL.iter().filter(|r| r.code() == code).map(|r| CodePage {
        code: r.code(),
        kind: "reason",
        about: format!("severity {}", any_of(&r.severities().iter().map(ToString::to_string).collect::<Vec<_>>())),
        meaning: r.meaning(),
        fix: r.fix(),
        example: None,
    });
    let rule = Rule::ALL.iter().filter(|r| r.code() == code).map(|r| CodePage {
        code: r.code(),
        kind: "rule",
        about: format!("for {}; {}", r.kinds().join(", "), modes(*r)),
        meaning: r.meaning(),
        fix: r.fix(),
        example: example(code),
    });
    let lint = LintRule::ALL.iter().filter(|r| r.code == code).map(|r| CodePage {
        code: r.code,
        kind: "lint rule",
        about: format!("severity {}", r.severity),
        meaning: r.meaning,
        fix: r.fix,
        example: Some(CodeExample { object: r.example, answer: "" }),
    });
    reason.chain(rule).chain(lint).collect()
}

/// What the webhook does by default, and where a policy enforces the rule.
fn modes(rule: Rule) -> String {
    let default = format!("{:?}", rule.default_mode()).to_lowercase();
    let enforced = match rule.remedy() {
        Remedy::Change => "changes the object".to_owned(),
        Remedy::Refuse => format!("refuses it ({} {})", rule.refusal().code(), rule.refusal().reason()),
    };
    format!("mode {default} by default; enforce {enforced}")
}

/// The example below the heading of a rule: two blocks of code.
fn example(code: &str) -> Option<CodeExample> {
    let (_, section) = RULES.split_once(&format!("\n### {code}\n"))?;
    let section = section.split("\n### ").next()?;
    let block = |fence: &str| section.split_once(fence)?.1.split_once("\n```").map(|(block, _)| block);
    Some(CodeExample { object: block("```yaml\n")?, answer: block("```text\n")? })
}

/// Prints pages.
pub(super) fn print(pages: &[CodePage], format: OutputFormat, out: &mut Output) -> anyhow::Result<()> {
    if !format.is_table() {
        let mut items = ItemWriter::start(out, format)?;
        for page in pages {
            items.write(&ItemWriter::item(format, page)?)?;
        }
        return items.end(&Tail {});
    }
    let width = out.width();
    for (i, page) in pages.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        page.write(out, width)?;
    }
    Ok(())
}

impl CodePage {
    /// Writes it for a screen of this width.
    pub(in crate::cli) fn write(&self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        let width = width.unwrap_or(PROSE).min(PROSE);
        writeln!(out, "{BOLD}{}{BOLD:#}: {}, {}", self.code, self.kind, self.about)?;
        paragraph(out, self.meaning, width)?;
        if !self.fix.is_empty() {
            writeln!(out, "\n{BOLD}What to do{BOLD:#}")?;
            paragraph(out, self.fix, width)?;
        }
        if let Some(CodeExample { object, answer }) = &self.example {
            writeln!(out, "\n{BOLD}Example{BOLD:#}")?;
            object.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
            if !answer.is_empty() {
                writeln!(out, "\n{BOLD}Answer in each mode{BOLD:#}")?;
            }
            answer.lines().try_for_each(|line| paragraph(out, line, width))?;
        }
        Ok(())
    }
}

/// Writes a text in lines that fit, indented.
fn paragraph(out: &mut dyn Write, text: &str, width: usize) -> io::Result<()> {
    wrap(text, width.saturating_sub(2)).into_iter().try_for_each(|line| writeln!(out, "  {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str, width: usize) -> String {
        let pages = of_all(&[code.to_owned()]).unwrap();
        let mut out = Vec::new();
        for page in &pages {
            page.write(&mut out, Some(width)).unwrap();
        }
        anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
    }

    #[test]
    fn a_reason_has_a_page_that_fits() {
        for (width, want) in [
            (
                100,
                "\
no-pod-ip: reason, severity warning
  The pod has no address yet.

What to do
  Wait until the pod is scheduled and its network is set up; see the pod's events.
",
            ),
            (
                50,
                "\
no-pod-ip: reason, severity warning
  The pod has no address yet.

What to do
  Wait until the pod is scheduled and its network
  is set up; see the pod's events.
",
            ),
        ] {
            assert_eq!(shown("no-pod-ip", width), want, "{width}");
        }
    }

    #[test]
    fn a_rule_has_a_page_with_its_example() {
        let want = "\
superedge-topology-keys: rule, for Service; mode warn by default; enforce refuses it (422 Invalid)
  SuperEdge's annotation";
        let got = shown("superedge-topology-keys", 100);
        assert!(got.starts_with(want), "{got}");
        assert!(got.contains("\nExample\n  apiVersion: v1\n  kind: Service\n"), "{got}");
        assert!(got.contains("\nAnswer in each mode\n  enforce: 422 Invalid: "), "{got}");
    }

    #[test]
    fn every_code_has_a_page_and_every_rule_an_example() {
        for reason in Reason::ALL {
            assert!(of(reason.code()).iter().any(|page| page.kind == "reason"), "{reason}");
        }
        for rule in Rule::ALL {
            let page = of(rule.code()).pop().unwrap();
            assert!(page.kind == "rule" && page.example.is_some(), "{rule}");
        }
        for rule in LintRule::ALL {
            assert_eq!(of(rule.code).len(), 1, "{}: no reason and no other rule has its code", rule.code);
        }
        assert_eq!(of("selector-matches-nothing").len(), 2, "a reason and a rule");
        assert_eq!(of_all(&["ready".to_owned(), "web".to_owned()]), None);
    }

    #[test]
    fn a_misspelt_code_is_recognized_by_a_part() {
        for (text, want) in [
            ("named-port-mising", &["named-port-missing"][..]),
            ("port-mising", &["backend-port-missing", "endpoint-port-missing", "monitor-port-missing"]),
            ("not-redy", &["not-ready"]),
            ("no-such-code", &[]),
            ("", &[]),
        ] {
            assert_eq!(suggestions(text), want, "{text}");
        }
    }
}
