//! A Service and the pods it selects.

use std::collections::BTreeMap;

use crate::{
    admission::{
        Known, Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    model::{Phase, Service, ServicePort, ServiceType, TargetPort, protocol_or_tcp},
};

/// Most numbers of one port that are told apart.
const MAX_NUMBERS: usize = 3;

pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let service = subject.object;
    // An API server stores no empty one.
    let Some(selector) = service.selector.as_ref().filter(|s| !s.is_empty()) else { return };
    if service.kind == ServiceType::ExternalName {
        return;
    }
    let named: Vec<Named<'_>> = service.ports.iter().enumerate().filter_map(Named::of).collect();
    let mut numbers: Vec<Numbers<'_>> = named.iter().map(|n| Numbers { key: n.key(), ..Numbers::default() }).collect();
    // Ports that look for the same are looked up once: there may be thousands, of thousands of pods.
    numbers.sort_unstable_by_key(|n| n.key);
    numbers.dedup_by_key(|n| n.key);
    let mut pods = 0usize;
    let known = subject.cluster.pods(subject.namespace, selector, &mut |pod| {
        if pod.phase == Phase::Live {
            pods += 1;
            // As the newest release looks for it: the first port that has both counts.
            for port in pod.ports.iter() {
                let key = (port.name.as_str(), port.protocol.as_str());
                if let Ok(at) = numbers.binary_search_by(|n| n.key.cmp(&key)) {
                    numbers[at].add(pods, port.number);
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
    for named in &named {
        if let Ok(at) = numbers.binary_search_by(|n| n.key.cmp(&named.key())) {
            of_port(named, &numbers[at].pods, pods, findings);
        }
    }
}

/// A port of the Service whose target is a name.
struct Named<'a> {
    at: usize,
    name: &'a str,
    protocol: &'a str,
}

impl<'a> Named<'a> {
    fn of((at, port): (usize, &'a ServicePort)) -> Option<Self> {
        let TargetPort::Name(name) = &port.target_port else { return None };
        Some(Self { at, name, protocol: protocol_or_tcp(&port.protocol) })
    }

    fn key(&self) -> (&'a str, &'a str) {
        (self.name, self.protocol)
    }
}

/// The numbers that pods have for one name and protocol.
#[derive(Default)]
struct Numbers<'a> {
    key: (&'a str, &'a str),
    /// How many pods have each.
    pods: BTreeMap<i32, usize>,
    /// The last pod that has one.
    last: usize,
}

impl Numbers<'_> {
    fn add(&mut self, pod: usize, number: i32) {
        if self.last != pod {
            self.last = pod;
            *self.pods.entry(number).or_default() += 1;
        }
    }
}

/// What is to be said of one named port of which the pods have these numbers.
fn of_port(named: &Named<'_>, numbers: &BTreeMap<i32, usize>, pods: usize, findings: &mut Findings<'_>) {
    let Named { at, name, protocol } = named;
    let field = format_args!("spec.ports[{at}].targetPort");
    if numbers.is_empty() {
        let message = format_args!("none of {pods} selected pods has a {protocol} port {name:?}");
        findings.add(Rule::TargetPortMissing, About::Text(name), field, message);
    } else if numbers.len() > 1 {
        let shown: Vec<String> = numbers.iter().take(MAX_NUMBERS).map(|(n, pods)| format!("{n} in {pods}")).collect();
        let more = if numbers.len() > MAX_NUMBERS { ", …" } else { "" };
        let message = format_args!("{name:?} is {}{more} pods", shown.join(", "));
        findings.add(Rule::TargetPortDiffers, About::Text(name), field, message);
    }
}
