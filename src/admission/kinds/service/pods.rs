//! A Service and the pods it selects.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    admission::{
        Known, Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    model::{Phase, Service, ServicePort, ServiceType, TargetPort, Text},
    select,
};

/// Most numbers of one port that are told apart.
const MAX_NUMBERS: usize = 3;

pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let service = subject.object;
    let Some(selector) = &service.selector else { return };
    if service.kind == ServiceType::ExternalName {
        return;
    }
    let named: Vec<Named<'_>> = service
        .ports
        .iter()
        .enumerate()
        .filter_map(|(at, port)| match &port.target_port {
            // A file may leave out what an API server fills in.
            TargetPort::Name(name) if port.protocol.is_empty() => {
                let protocol = Text::new_static("TCP");
                Some(Named { at, port: Cow::Owned(ServicePort { protocol, ..port.clone() }), name })
            }
            TargetPort::Name(name) => Some(Named { at, port: Cow::Borrowed(port), name }),
            TargetPort::Number(_) => None,
        })
        .collect();
    let mut numbers: Vec<BTreeMap<i32, usize>> = vec![BTreeMap::new(); named.len()];
    let mut pods = 0usize;
    let known = subject.cluster.pods(subject.namespace, selector, &mut |pod| {
        if pod.phase == Phase::Live {
            pods += 1;
            for (named, numbers) in named.iter().zip(&mut numbers) {
                // As the newest release looks for it.
                if let Some(number) = select::named_port(pod, named.name, &named.port.protocol) {
                    *numbers.entry(number).or_default() += 1;
                }
            }
        }
        // Without named ports, one pod tells all.
        pods == 0 || !named.is_empty()
    });
    if let Known::No(why) = known {
        findings.unchecked(Rule::SelectorMatchesNothing, why);
        if !named.is_empty() {
            findings.unchecked(Rule::TargetPortMissing, why);
            findings.unchecked(Rule::TargetPortDiffers, why);
        }
        return;
    }
    if pods == 0 {
        let text = selector.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",");
        let message = format_args!("no pod in namespace {} has {text} yet", subject.namespace);
        findings.add(Rule::SelectorMatchesNothing, About::Text(&text), format_args!("spec.selector"), message);
        return;
    }
    for (named, numbers) in named.iter().zip(&numbers) {
        of_port(named, numbers, pods, findings);
    }
}

/// A port of the Service whose target is a name.
struct Named<'a> {
    at: usize,
    port: Cow<'a, ServicePort>,
    name: &'a Text,
}

/// What is to be said of one named port of which the pods have these numbers.
fn of_port(
    Named { at, port, name }: &Named<'_>,
    numbers: &BTreeMap<i32, usize>,
    pods: usize,
    findings: &mut Findings<'_>,
) {
    let field = format_args!("spec.ports[{at}].targetPort");
    if numbers.is_empty() {
        let message = format_args!("none of {pods} selected pods has a {} port {name:?}", port.protocol);
        findings.add(Rule::TargetPortMissing, About::Text(name), field, message);
    } else if numbers.len() > 1 {
        let shown: Vec<String> = numbers.iter().take(MAX_NUMBERS).map(|(n, pods)| format!("{n} in {pods}")).collect();
        let more = if numbers.len() > MAX_NUMBERS { ", …" } else { "" };
        let message = format_args!("{name:?} is {}{more} pods", shown.join(", "));
        findings.add(Rule::TargetPortDiffers, About::Text(name), field, message);
    }
}
