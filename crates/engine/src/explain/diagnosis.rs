//! What is wrong with a Service, in a few words: its warnings and errors by code, the one to look at first in front.

use super::{
    explanation::{Cause, Explanation, PodState, PodVerdict},
    port_run::each_piece,
};
use crate::{
    model::Text,
    phrase::counted,
    reason::{Reason, Severity},
};

/// The most causes that [`Diagnosis::leading`] gives.
const LEADING: usize = 3;

/// The warnings and errors of an [`Explanation`], each code once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// The causes: the worst first; of equal severity those of the Service first, and those that follow from others last.
    pub causes: Vec<DiagnosedCause>,
    /// If nothing is wrong and something is not served nevertheless: why.
    pub note: Option<DiagnosedCause>,
    /// What else keeps pod ports from being served without being wrong, such as that pods are shutting down; each code once.
    pub others: Vec<DiagnosedCause>,
}

/// A warning or an error of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosedCause {
    /// The code.
    pub code: Reason,
    /// How much it matters.
    pub severity: Severity,
    /// What it means here, and for which pods.
    pub detail: String,
}

impl Diagnosis {
    /// The warnings and errors of `explanation`.
    pub fn of(explanation: &Explanation) -> Self {
        let mut causes = of_service(&explanation.reasons);
        causes.extend(of_pods(explanation));
        causes.sort_by_key(|c| (std::cmp::Reverse(c.severity), c.code == Reason::PortUnserved));
        // A code that concerns the Service and its pods counts once.
        let mut seen = Vec::new();
        causes.retain(|c| {
            let first = !seen.contains(&c.code);
            seen.push(c.code);
            first
        });
        let note = if causes.is_empty() { note(explanation) } else { None };
        let is_said = |code| note.iter().chain(&causes).any(|cause| cause.code == code);
        let others = unserved(explanation).into_iter().filter(|cause| !is_said(cause.code)).collect();
        Self { causes, note, others }
    }

    /// What to look at first.
    pub fn lead(&self) -> Option<&DiagnosedCause> {
        self.causes.first().or(self.note.as_ref())
    }

    /// The causes that matter most: those as severe as the worst, or the note.
    pub fn leading(&self) -> impl Iterator<Item = &DiagnosedCause> {
        let worst = self.causes.iter().filter(|cause| cause.severity == self.severity());
        worst.chain(&self.note).take(LEADING)
    }

    /// How bad it is; `Info` if nothing is wrong.
    pub fn severity(&self) -> Severity {
        self.causes.first().map_or(Severity::Info, |cause| cause.severity)
    }
}

/// Why nothing is served although nothing is wrong, as for a Service without a selector; else why a pod is not served.
fn note(explanation: &Explanation) -> Option<DiagnosedCause> {
    if explanation.summary.pods > 0 {
        // A row of Endpoints is ready, and never served: kube-proxy reads slices only.
        let row = explanation.rows.iter().find(|row| !row.served && row.state != PodState::Ready)?;
        return row.reasons.first().map(|cause| of_pod(&row.pod, [1, 0], cause));
    }
    let cause = explanation.reasons.first()?;
    Some(DiagnosedCause { code: cause.code, severity: cause.severity, detail: cause.detail.clone() })
}

/// The warnings and errors that concern the Service as a whole.
fn of_service(reasons: &[Cause]) -> Vec<DiagnosedCause> {
    let bad = reasons.iter().filter(|cause| cause.severity > Severity::Info);
    bad.map(|cause| DiagnosedCause {
        code: cause.code,
        severity: cause.severity,
        // What the closest pods have instead says more than how many do not match.
        detail: match cause.code {
            Reason::SelectorMatchesNothing => nearest_miss(reasons).unwrap_or(cause).detail.clone(),
            _ => cause.detail.clone(),
        },
    })
    .collect()
}

/// The closest pods of a selector that matches nothing.
fn nearest_miss(reasons: &[Cause]) -> Option<&Cause> {
    reasons.iter().find(|cause| matches!(cause.code, Reason::LabelDiffers | Reason::OtherNamespace))
}

/// The warnings and errors about pods.
fn of_pods(explanation: &Explanation) -> Vec<DiagnosedCause> {
    let all = explanation.rows.iter().flat_map(|row| row.reasons.iter().map(move |cause| (&row.pod, cause)));
    by_code(all.filter(|(_, cause)| cause.severity > Severity::Info))
}

/// Why pod ports are served in no list, by their decisive reasons.
fn unserved(explanation: &Explanation) -> Vec<DiagnosedCause> {
    by_code(explanation.rows.chunk_by(|a, b| a.pod == b.pod).flat_map(unserved_of_pod))
}

/// The reasons why some ports of a pod are served in no list.
fn unserved_of_pod(rows: &[PodVerdict]) -> impl Iterator<Item = (&Text, &Cause)> {
    let lists: Vec<&[PodVerdict]> = rows.chunk_by(|a, b| a.scope == b.scope).collect();
    let mut causes = Vec::new();
    each_piece(
        &lists,
        |row| row.ports.places(),
        |_, rows| {
            if !rows.iter().any(|row| row.served) {
                // A row of Endpoints is ready, and never served: kube-proxy reads slices only.
                let unready = rows.iter().filter(|row| row.state != PodState::Ready);
                causes.extend(unready.filter_map(|row| Some((row.scope, (&row.pod, row.reasons.first()?)))));
            }
        },
    );
    // Stable: as the rows, list by list.
    causes.sort_by_key(|(scope, _)| *scope);
    causes.into_iter().map(|(_, cause)| cause)
}

/// For each code the first pod, what it means there, and how many other pods have it, in the same words or in others. The causes
/// come pod by pod.
fn by_code<'a>(causes: impl Iterator<Item = (&'a Text, &'a Cause)>) -> Vec<DiagnosedCause> {
    struct Affected<'a> {
        first: (&'a Text, &'a Cause),
        last: &'a Text,
        /// How many pods have it in the words of the first one, and how many in others.
        alike: usize,
        unlike: usize,
    }
    let mut all: Vec<Affected<'_>> = Vec::new();
    for (pod, cause) in causes {
        match all.iter_mut().find(|known| known.first.1.code == cause.code) {
            None => all.push(Affected { first: (pod, cause), last: pod, alike: 1, unlike: 0 }),
            Some(known) if *known.last != *pod => {
                known.last = pod;
                let count = if known.first.1.detail == cause.detail { &mut known.alike } else { &mut known.unlike };
                *count += 1;
            }
            Some(_) => {}
        }
    }
    all.into_iter().map(|of| of_pod(of.first.0, [of.alike, of.unlike], of.first.1)).collect()
}

/// A cause in a pod, in as many pods in the same words, and in as many in others.
fn of_pod(pod: &Text, [alike, unlike]: [usize; 2], cause: &Cause) -> DiagnosedCause {
    let more = if alike > 1 { format!(" and {}", counted(alike - 1, "other pod")) } else { String::new() };
    let colon = if cause.detail.is_empty() { "" } else { ": " };
    let others = if unlike > 0 { format!("; also {}", counted(unlike, "other pod")) } else { String::new() };
    let detail = format!("{pod}{more}{colon}{}{others}", cause.detail);
    DiagnosedCause { code: cause.code, severity: cause.severity, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        explain::{PortRun, Summary},
        model::Family,
        profile::Minor,
        record::Scope,
    };

    /// An explanation with these causes of the Service, and one cause for each of these pods.
    fn explanation(reasons: &[(Reason, &str)], pods: &[(&str, Reason, &str)]) -> Explanation {
        let row = |(pod, code, detail): &(&str, Reason, &str)| PodVerdict {
            pod: Text::new(pod),
            ports: PortRun::of([]),
            scope: Scope::Slices(Family::V4),
            served: *code == Reason::Ready,
            state: PodState::Absent,
            reasons: vec![Cause::new(*code, *detail)],
            is_last_resort: false,
        };
        Explanation {
            service: None,
            compat: Minor::default(),
            summary: Summary { pods: pods.len(), ..Summary::default() },
            reasons: reasons.iter().map(|(code, detail)| Cause::new(*code, *detail)).collect(),
            rows: pods.iter().map(row).collect(),
        }
    }

    #[test]
    fn the_worst_cause_comes_first_and_each_code_once() {
        use Reason::{
            LabelDiffers, NamedPortMissing, NoSelector, NotReady, PodEnded, PortUnserved, Ready, SelectorMatchesNothing,
        };
        for (name, reasons, pods, want) in [
            ("served", &[][..], &[("a", Ready, "")][..], &[][..]),
            (
                "errors before warnings, consequences last",
                &[(PortUnserved, "port 80: not-ready in 2 pods")],
                &[
                    ("a", NotReady, "starting"),
                    ("a", NotReady, "starting"),
                    ("b", NotReady, ""),
                    ("c", NamedPortMissing, ""),
                    ("d", NotReady, "starting"),
                ],
                &[
                    "named-port-missing c",
                    "not-ready a and 1 other pod: starting; also 1 other pod",
                    "port-unserved port 80: not-ready in 2 pods",
                ],
            ),
            (
                "the nearest miss",
                &[
                    (SelectorMatchesNothing, "none of 3 pods"),
                    (LabelDiffers, "pod a: label app is \"wed\", not \"web\""),
                ],
                &[],
                &["selector-matches-nothing pod a: label app is \"wed\", not \"web\""],
            ),
            ("no pods to miss", &[(SelectorMatchesNothing, "no pod")], &[], &["selector-matches-nothing no pod"]),
            ("by intention", &[(NoSelector, "no Endpoints")], &[], &["no-selector no Endpoints"]),
            ("a pod less", &[], &[("a", Ready, ""), ("b", PodEnded, "")], &["pod-ended b"]),
        ] {
            let diagnosis = Diagnosis::of(&explanation(reasons, pods));
            assert_eq!(diagnosis.others, [], "{name}");
            let got: Vec<String> =
                diagnosis.causes.iter().chain(&diagnosis.note).map(|c| format!("{} {}", c.code, c.detail)).collect();
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn what_is_not_wrong_and_serves_nothing_is_said_as_well() {
        use Reason::{NotReady, PodEnded, Ready, Terminating};
        for (pods, want) in [
            (&[("a", Ready, ""), ("b", NotReady, "")][..], &[][..]),
            (
                &[("a", NotReady, ""), ("b", Terminating, "it is shutting down"), ("c", Terminating, "")],
                &["terminating b: it is shutting down; also 1 other pod"],
            ),
            (&[("a", PodEnded, ""), ("b", Terminating, "")], &["terminating b"]),
        ] {
            let others = Diagnosis::of(&explanation(&[], pods)).others;
            let got: Vec<String> = others.iter().map(|c| format!("{} {}", c.code, c.detail)).collect();
            assert_eq!(got, want, "{pods:?}");
        }
    }
}
