//! A Service in plain words: how much of it gets traffic, and why not the rest.

use std::collections::BTreeSet;

use roster_engine::{
    explain::{Cause, Diagnosis, Explanation, PortName, ServedTotals},
    model::{TargetPort, Text},
    phrase::counted,
    reason::{Reason, Severity},
};

use crate::cluster::Explained;

/// A Service in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlainWords {
    /// `5 of 6 pod ports get traffic.`
    pub(crate) account: String,
    /// Why not all of them, in sentences.
    pub(crate) why: Vec<String>,
}

impl PlainWords {
    pub(crate) fn of(explained: &Explained) -> Self {
        let words = Self::of_service(explained);
        let Some((route, fault)) = explained.broken_route() else { return words };
        let account = format!("{} {} {} does not reach it.", words.account, route.kind, route.name);
        if Diagnosis::of(&explained.explanation).severity() >= fault.severity {
            return Self { account, ..words };
        }
        let why = [sentence(fault.message.clone())].into_iter().chain(words.why).collect();
        Self { account, why }
    }

    /// The same without its routes.
    fn of_service(Explained { explanation, title, is_headless, .. }: &Explained) -> Self {
        let account = title.as_ref().map_or_else(|| account(explanation, *is_headless), |title| capitalized(title));
        let diagnosis = Diagnosis::of(explanation);
        let Some(lead) = diagnosis.lead() else {
            return Self { account, why: Vec::new() };
        };
        // The detail of a cause of pods begins with the name of one.
        let why = if explanation.rows.iter().any(|row| begins_with(&lead.detail, &row.pod)) {
            format!("Pod {}", lead.detail)
        } else {
            lead.detail.clone()
        };
        let why = if lead.detail.is_empty() { lead.code.meaning().to_owned() } else { sentence(why) };
        Self { account, why: vec![why] }
    }
}

/// What is counted.
pub(crate) fn things(explanation: &Explanation) -> &'static str {
    if explanation.summary.ports > 1 { "pod port" } else { "pod" }
}

/// How much of a Service gets traffic, or is in DNS.
fn account(explanation: &Explanation, is_headless: bool) -> String {
    let ServedTotals { pod_ports, served, .. } = ServedTotals::of(explanation);
    // The address of a pod that lacks the port is in DNS all the same.
    let is_of_ports = is_headless && served < pod_ports && explanation.summary.ports > 0;
    let things = if is_of_ports { "pod port" } else { things(explanation) };
    let ending = explanation.rows.iter().filter(|row| row.is_last_resort);
    let ending: BTreeSet<&Text> = ending.map(|row| &row.pod).collect();
    if served == 0 && !ending.is_empty() {
        let pods = counted(ending.len(), "pod");
        let (is, uses) = if ending.len() == 1 { ("is", "it") } else { ("are", "them") };
        return format!("No pod is ready; {pods} {is} shutting down, and kube-proxy still uses {uses}.");
    }
    // What is counted is what the controllers write. kube-proxy and DNS read what is stored.
    let differs = |cause: &Cause| cause.code == Reason::StoredDiffers && cause.severity > Severity::Info;
    let [one, many, none] = match (is_headless, explanation.reasons.iter().any(differs)) {
        (false, false) => ["gets traffic", "get traffic", "gets no traffic"],
        (false, true) => ["should get traffic", "should get traffic", "should get no traffic"],
        (true, false) => ["is in DNS", "are in DNS", "is not in DNS"],
        (true, true) => ["should be in DNS", "should be in DNS", "should not be in DNS"],
    };
    match (served, pod_ports) {
        (0, 1) => format!("The only {things} {none}."),
        (0, all) => format!("None of {} {one}.", counted(all, things)),
        (served, all) if served == all && all == 1 => format!("The only {things} {one}."),
        (served, all) if served == all => format!("All {all} {things}s {many}."),
        (1, all) => format!("1 of {all} {things}s {one}."),
        (served, all) => format!("{served} of {all} {things}s {many}."),
    }
}

/// Whether a text begins with this name.
fn begins_with(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']))
}

/// A title as a sentence.
fn capitalized(title: &str) -> String {
    let mut chars = title.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    sentence(first + chars.as_str())
}

/// The text with a full stop at its end.
fn sentence(text: String) -> String {
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

/// `metrics 9090 → "metrics"`: a port of a Service, and where it leads.
pub(crate) fn port_text(port: &PortName) -> String {
    let target = match &port.target_port {
        TargetPort::Number(number) => number.to_string(),
        TargetPort::Name(name) => format!("\"{name}\""),
    };
    let name = if port.name.is_empty() { String::new() } else { format!("{} ", port.name) };
    format!("{name}{} → {target}", port.port)
}
