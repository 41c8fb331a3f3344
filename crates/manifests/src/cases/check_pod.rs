//! `pod`: what `explain` says about one pod.

use roster_engine::{
    explain::{PodVerdict, PortName},
    record::Scope,
};

use super::{
    test_answer::{Explained, ExplanationByPod, first_names},
    test_file::PodExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};

/// Why the Service has no such pod or port.
fn missing(of_service: &ExplanationByPod, wanted: &PodExpectation) -> String {
    const SHOWN: usize = 10;
    let mut ports: Vec<String> = of_service
        .of_pod(&wanted.name)
        .flat_map(|row| row.ports.names())
        .map(|port| format!("{} {}", port.name, port.port).trim().to_owned())
        .collect();
    if !ports.is_empty() {
        ports.sort();
        ports.dedup();
        return format!("the Service has no such port; it has: {}", ports.join(", "));
    }
    let (pods, all) = of_service.pods(SHOWN);
    if pods.is_empty() {
        let why = of_service.explanation.reasons.iter().find(|cause| !cause.detail.is_empty());
        let why = why.map(|cause| format!(": {}: {}", cause.code, cause.detail)).unwrap_or_default();
        return format!("the Service has no pod {}, and selects no pod at all{why}", wanted.name);
    }
    format!("the Service does not select a pod {}; it selects: {}", wanted.name, first_names(&pods, all))
}

pub(super) fn check(wanted: &PodExpectation, input: &TestInput<'_>) -> Differences {
    let of_service = input.explain(input.entry(&wanted.service)?);
    let is_port = |row: &PodVerdict| {
        let is_wanted = |port: Option<&PortName>| match (&wanted.port, port) {
            (None, _) | (_, None) => true,
            (Some(wanted), Some(port)) => wanted.has(&port.name, port.port),
        };
        row.ports.each().any(is_wanted)
    };
    let rows: Vec<&PodVerdict> = of_service.of_pod(&wanted.name).filter(|row| is_port(row)).collect();
    if rows.is_empty() {
        return Err(missing(&of_service, wanted));
    }
    // kube-proxy reads slices.
    let served = rows.iter().any(|r| r.served && matches!(r.scope, Scope::Slices(_)));
    let mut codes: Vec<String> = rows.iter().flat_map(|r| &r.reasons).map(|c| c.code.to_string()).collect();
    codes.sort();
    codes.dedup();
    let why: Explained = rows
        .iter()
        .filter_map(|r| r.reasons.first().map(|c| format!("{}: {}: {}", r.scope, c.code, c.code.meaning())))
        .collect();
    let differences = [
        wanted.served.and_then(|wanted| Difference::of_values("served", &wanted, &served)),
        wanted.reason.as_ref().filter(|code| !codes.contains(code)).map(|code| Difference {
            field: "reason",
            expected: vec![code.clone()],
            found: codes.clone(),
            why: Vec::new(),
        }),
    ];
    Ok(differences.into_iter().flatten().map(|d| d.because(&why)).collect())
}
