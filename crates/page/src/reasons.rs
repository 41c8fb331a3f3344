//! The right column: how much of a Service is served, why not the rest, and what to do.

use roster_engine::{
    explain::{PodState, PodVerdict, PortName, ServedTotals},
    phrase::counted,
    picture::PictureReason,
    reason::{Finding, Reason, Severity},
    record::Scope,
};
use roster_lint::FindingCode;
use serde_json::json;

use crate::{
    cluster::Explained,
    code_note::{code_note, reason_note, severity_word},
    html::Html,
    limits::{MAX_FINDINGS, MAX_ROWS},
    patch::Patch,
    plain_words::port_text,
    request::Tab,
    what_if::Change,
};

/// The box above the reasons: what is so, why, and what to do.
pub(crate) struct Lead<'a> {
    pub(crate) title: &'a str,
    pub(crate) explained: &'a Explained,
    /// How much gets traffic.
    pub(crate) account: String,
    /// Why not all of it, in sentences.
    pub(crate) why: &'a [String],
    pub(crate) advice: Option<String>,
    /// A change that may put it right.
    pub(crate) remedy: Option<Change>,
}

/// Writes the box.
pub(crate) fn write_lead(html: &mut Html, lead: &Lead<'_>) {
    let explanation = &lead.explained.explanation;
    html.leaf("h2", &[], lead.title);
    html.leaf("p", &[("class", "account")], &lead.account);
    for (place, why) in lead.why.iter().enumerate() {
        html.element("p", &[], |html| {
            if place == 0 {
                html.leaf("strong", &[], "Why: ");
            }
            html.prose(why);
        });
    }
    if let Some(advice) = &lead.advice {
        html.element("p", &[("class", "advice")], |html| {
            html.leaf("strong", &[], "Do this: ");
            html.prose(advice);
        });
    }
    if let Some(change) = &lead.remedy {
        let patch = Patch::one("tab", json!(Tab::WhatIf)).and("changes", json!([change])).to_string();
        html.element("button", &[("type", "button"), ("data-set", &patch)], |html| {
            html.text(format_args!("What if {}?", change.text()));
        });
    }
    if lead.explained.is_headless {
        html.leaf(
            "p",
            &[("class", "note")],
            "The Service is headless: its DNS name leads clients to the pods themselves.",
        );
    }
    if explanation.summary.ports > 1 && ServedTotals::of(explanation).pod_ports > 0 {
        let (pods, ports) = (explanation.summary.pods, explanation.summary.ports);
        let (of_pods, of_ports) = (counted(pods, "pod"), counted(ports, "port"));
        let sum =
            format!("A pod port is one port of the Service on one pod: {of_pods} × {of_ports} = {}.", pods * ports);
        html.leaf("p", &[("class", "note")], sum);
    }
}

/// Writes the reasons, the pods and the findings about the input.
pub(crate) fn write(html: &mut Html, lead: &Lead<'_>, others: &[Finding]) {
    causes(html, lead);
    rows(html, lead.explained);
    findings(html, others);
}

/// What is wrong, and what else keeps pods from traffic, with explanations.
fn causes(html: &mut Html, lead: &Lead<'_>) {
    let reasons = lead.explained.all_reasons();
    if reasons.is_empty() {
        return;
    }
    html.leaf("h3", &[], "Reasons");
    html.element("ul", &[("class", "causes")], |html| {
        for reason in &reasons {
            html.element("li", &[("class", severity_word(reason.severity))], |html| {
                write_note(html, reason);
                html.leaf("p", &[], &reason.detail);
            });
        }
    });
}

/// Writes the code of a reason, with its explanation.
fn write_note(html: &mut Html, reason: &PictureReason) {
    if let Some(code) = FindingCode::of(reason.code) {
        code_note(html, code, reason.severity);
    }
}

/// The pods and ports, those that are not served first.
fn rows(html: &mut Html, Explained { explanation, is_headless, .. }: &Explained) {
    let mut rows: Vec<&PodVerdict> = explanation
        .rows
        .iter()
        .filter(|row| row.scope != Scope::Endpoints || explanation.summary.scopes.len() == 1)
        .collect();
    if rows.is_empty() {
        return;
    }
    // Stable: pods stay in their order.
    rows.sort_by_key(|row| (row.served, row.state == PodState::Ready));
    html.leaf("h3", &[], "Pods");
    html.element("ul", &[("class", "pods")], |html| {
        let each = rows.iter().flat_map(|row| row.ports.each().map(move |port| (row, port)));
        each.take(MAX_ROWS)
            .for_each(|(row, port)| html.element("li", &[], |html| write_row(html, row, port, *is_headless)));
    });
    let all: usize = rows.iter().map(|row| row.ports.places().len()).sum();
    let more = all.saturating_sub(MAX_ROWS) + explanation.summary.omitted_rows;
    if more > 0 {
        html.leaf("p", &[("class", "more")], format_args!("and {}", counted(more, "more row")));
    }
}

fn write_row(html: &mut Html, row: &PodVerdict, port: Option<&PortName>, is_headless: bool) {
    let (class, word) = match (row.served, row.is_last_resort) {
        (true, _) if is_headless => ("ok", "in DNS"),
        (true, _) => ("ok", "traffic"),
        (false, true) => ("no", "traffic until it ends"),
        (false, false) if is_headless => ("no", "not in DNS"),
        (false, false) => ("no", "no traffic"),
    };
    html.leaf("b", &[("class", class)], word);
    html.text(" ");
    html.leaf("span", &[("class", "pod")], &row.pod);
    if let Some(port) = port {
        html.leaf("small", &[], format_args!(" {}", port_text(port)));
    }
    for cause in row.reasons.iter().filter(|cause| cause.code != Reason::Ready) {
        html.element("span", &[("class", "cause")], |html| {
            html.leaf("code", &[], cause.code);
            if !cause.detail.is_empty() {
                html.text(": ");
                html.text(&cause.detail);
            }
        });
    }
}

/// Writes the findings about the input.
pub(crate) fn findings(html: &mut Html, others: &[Finding]) {
    if others.is_empty() {
        return;
    }
    let worst = others.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
    html.element("details", &[("class", "input")], |html| {
        html.element("summary", &[], |html| {
            html.leaf("span", &[("class", severity_word(worst))], severity_word(worst));
            html.text(format_args!(" {} about the input", counted(others.len(), "finding")));
        });
        html.element("ul", &[("class", "causes")], |html| {
            for finding in others.iter().take(MAX_FINDINGS) {
                html.element("li", &[("class", severity_word(finding.severity))], |html| {
                    reason_note(html, finding.code, finding.severity);
                    html.element("p", &[], |html| {
                        html.text(&finding.object);
                        html.text(": ");
                        html.text(&finding.message);
                    });
                });
            }
        });
    });
}
