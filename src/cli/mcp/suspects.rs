//! What may be the cause of a fault, from everything that Roster finds: the one to look at first in front.

use std::{cmp::Reverse, collections::BTreeSet};

use roster_engine::{
    explain::{Cause, DiagnosedCause, Diagnosis, Explanation, ServedTotals},
    model::ObjectKey,
    reason::{Finding, Reason, Severity},
};
use roster_lint::{FileFinding, FindingCode, FindingEffect, LintRule, RequiredService};

/// What something means for the traffic of a Service, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bearing {
    /// It breaks something.
    Cause,
    /// It breaks something, but it follows from a cause if there is one.
    Consequence,
    /// It may break something: the objects do not say.
    Suspicion,
    /// It breaks nothing.
    Harmless,
}

/// What may be the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) bearing: Bearing,
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    /// Kind, namespace and name.
    pub(super) object: ObjectKey,
    pub(super) detail: String,
    pub(super) fix: &'static str,
}

/// Reasons that say which address or port does not work, though something is served.
const OF_ADDRESSES: [Reason; 4] =
    [Reason::TargetGone, Reason::NodeGone, Reason::EndpointPortMissing, Reason::TargetPortUndeclared];
/// Reasons of other objects for which pods do not serve.
const OF_PODS: [Reason; 3] = [Reason::ProbePortMissing, Reason::PodsRefused, Reason::NoNodeFits];
/// The rules of the linter about what nobody can reach.
const OF_REFERENCES: [&str; 4] =
    ["backend-port-missing", "backend-service-missing", "reference-grant-missing", UNSERVED];
/// The code of a webhook whose Service serves nothing.
const UNSERVED: &str = "webhook-unserved";
/// Reasons that only say what was not looked at.
const UNCHECKED: [Reason; 3] = [Reason::NotChecked, Reason::TooManyPods, Reason::SelectorNotChecked];

impl Suspect {
    /// The suspect in a line.
    pub(super) fn line(&self) -> String {
        format!("{} ({}) in {}: {}", self.code, self.severity, self.place(), self.detail)
    }

    /// The object, if it can be named.
    pub(super) fn place(&self) -> String {
        if self.object.kind.is_empty() { "the objects".to_owned() } else { self.object.to_string() }
    }

    /// What the explanation of a Service says.
    pub(super) fn of_service(explanation: &Explanation) -> Vec<Self> {
        let Some(key) = &explanation.service else { return Vec::new() };
        let totals = ServedTotals::of(explanation);
        let is_served = totals.pod_ports > 0 && totals.served == totals.pod_ports;
        let Diagnosis { causes, note, .. } = Diagnosis::of(explanation);
        let of_causes = causes.into_iter().map(|cause| {
            let bearing = match cause.code {
                Reason::PortUnserved | Reason::NotReady | Reason::NoPodIp => Bearing::Consequence,
                code if OF_ADDRESSES.contains(&code) || !is_served => Bearing::Cause,
                _ => Bearing::Harmless,
            };
            (bearing, cause)
        });
        let undeclared = explanation
            .reasons
            .iter()
            .find(|cause| cause.code == Reason::TargetPortUndeclared && cause.severity == Severity::Info);
        let undeclared = undeclared.map(|cause| {
            let Cause { code, severity, detail, .. } = cause.clone();
            (Bearing::Suspicion, DiagnosedCause { code, severity, detail })
        });
        let of_note = note.into_iter().map(|note| match note.code {
            Reason::NoReplicas => (Bearing::Cause, note),
            _ => (Bearing::Harmless, note),
        });
        let all = of_causes.chain(undeclared).chain(of_note).filter(|(_, cause)| !UNCHECKED.contains(&cause.code));
        let suspect = |(bearing, cause): (Bearing, DiagnosedCause)| Self {
            bearing,
            severity: cause.severity,
            code: cause.code.code(),
            object: key.clone(),
            detail: if cause.detail.is_empty() { cause.code.meaning().to_owned() } else { cause.detail },
            fix: cause.code.fix(),
        };
        all.map(suspect).collect()
    }

    /// What a webhook means that fails closed, if nobody knows whether its Service serves it.
    pub(super) fn of_webhook(of: RequiredService, is_known: bool) -> Self {
        let RequiredService { configuration, webhook, service: (namespace, name), requests } = of;
        let unknown = if is_known { "its pods are not among the objects" } else { "it is not among the objects" };
        let rule = LintRule::ALL.iter().find(|rule| rule.code == UNSERVED);
        Self {
            bearing: Bearing::Suspicion,
            severity: Severity::Info,
            code: UNSERVED,
            object: configuration,
            detail: format!(
                "webhook {webhook} fails closed and calls Service {namespace}/{name}: {unknown}; if no pod of it is ready, an API \
                 server refuses {requests}"
            ),
            fix: rule.map_or("", |rule| rule.fix),
        }
    }

    /// What a finding about another object than a Service says.
    pub(super) fn of_finding(finding: &Finding) -> Option<Self> {
        // The linter says it of each object.
        if finding.severity == Severity::Info || finding.code == Reason::RefusedObjects {
            return None;
        }
        let breaks = finding.severity == Severity::Error || OF_PODS.contains(&finding.code);
        Some(Self {
            bearing: if breaks { Bearing::Cause } else { Bearing::Harmless },
            severity: finding.severity,
            code: finding.code.code(),
            object: finding.object.clone(),
            detail: finding.message.clone(),
            fix: finding.code.fix(),
        })
    }

    /// What a finding of the linter says.
    pub(super) fn of_lint(finding: &FileFinding<'_>) -> Option<Self> {
        let is_error = finding.severity == Severity::Error;
        let bearing = match finding.code {
            FindingCode::Lint(rule) if OF_REFERENCES.contains(&rule.code) => Bearing::Cause,
            FindingCode::Reason(Reason::TargetPortUndeclared | Reason::ProbePortMissing) => Bearing::Suspicion,
            _ if is_error && finding.effect != FindingEffect::Denied => Bearing::Cause,
            FindingCode::Lint(_) => Bearing::Harmless,
            FindingCode::Reason(_) | FindingCode::Rule(_) => return None,
        };
        Some(Self {
            bearing,
            severity: finding.severity,
            code: finding.code.as_str(),
            object: finding.object.clone(),
            detail: finding.text(),
            fix: finding.code.fix(),
        })
    }
}

/// The suspects of several sources, the gravest first. What one source says of an object with a code, the next ones do not repeat.
pub(super) fn ranked(sources: Vec<Vec<Suspect>>) -> Vec<Suspect> {
    let mut seen: BTreeSet<(&str, ObjectKey)> = BTreeSet::new();
    let mut found: Vec<Suspect> = Vec::new();
    for mut source in sources {
        source.retain(|suspect| !seen.contains(&(suspect.code, suspect.object.clone())));
        seen.extend(source.iter().map(|suspect| (suspect.code, suspect.object.clone())));
        found.append(&mut source);
    }
    // Stable: suspects of one bearing and severity stay in the order in which they are found.
    found.sort_by_key(|suspect| (suspect.bearing, Reverse(suspect.severity)));
    found
}
