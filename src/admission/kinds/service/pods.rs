//! Checks of a Service against the pods that it selects.

use std::collections::BTreeMap;

use crate::{
    admission::{Rule, Unknown, fault::Fault, findings::RuleFindings, kinds::check::Subject},
    engine::phrase::port_numbers,
    model::{PodPhase, Service, ServicePort, ServiceType, TargetPort, protocol_or_tcp},
};

/// Most numbers of one port that a message lists.
const MAX_NUMBERS: usize = 3;

/// [`Rule::SelectorMatchesNothing`], [`Rule::TargetPortMissing`] and [`Rule::TargetPortDiffers`].
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let service = subject.object;
    // An API server drops an empty selector.
    let Some(selector) = service.selector.as_ref().filter(|s| !s.is_empty()) else { return };
    if service.kind == ServiceType::ExternalName {
        return;
    }
    let named: Vec<NamedPort<'_>> = service.ports.iter().enumerate().filter_map(NamedPort::of).collect();
    let mut numbers: Vec<PortNumbers<'_>> =
        named.iter().map(|n| PortNumbers { key: n.key(), ..PortNumbers::default() }).collect();
    // Each distinct target is looked up once: there may be thousands of ports and thousands of pods.
    numbers.sort_unstable_by_key(|n| n.key);
    numbers.dedup_by_key(|n| n.key);
    let mut pods = 0usize;
    let known = subject.cluster.pods(subject.namespace, selector, &mut |pod| {
        if pod.phase == PodPhase::Live {
            pods += 1;
            // As in the newest release: the first port with this name and protocol counts.
            for port in pod.ports {
                let key = (port.name.as_str(), port.protocol.as_str());
                if let Ok(at) = numbers.binary_search_by(|n| n.key.cmp(&key)) {
                    numbers[at].add(pods, port.number);
                }
            }
        }
        // Without named ports, one pod is enough.
        pods == 0 || !named.is_empty()
    });
    if let Err(Unknown(why)) = known {
        findings.unchecked(Rule::SelectorMatchesNothing, why);
        if !named.is_empty() {
            findings.unchecked(Rule::TargetPortMissing, why);
            findings.unchecked(Rule::TargetPortDiffers, why);
        }
        return;
    }
    let text = || selector.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",");
    if pods == 0 {
        let text = text();
        let message = format_args!("no pod in namespace {} has the labels {text} yet", subject.namespace);
        findings.add(Rule::SelectorMatchesNothing, Fault::Text(&text), format_args!("spec.selector"), message);
        return;
    }
    for named in &named {
        if let Ok(at) = numbers.binary_search_by(|n| n.key.cmp(&named.key())) {
            check_port(named, &numbers[at].pods, pods, &text, findings);
        }
    }
}

/// A port of the Service whose target is a name.
struct NamedPort<'a> {
    at: usize,
    name: &'a str,
    protocol: &'a str,
}

impl<'a> NamedPort<'a> {
    fn of((at, port): (usize, &'a ServicePort)) -> Option<Self> {
        let TargetPort::Name(name) = &port.target_port else { return None };
        Some(Self { at, name, protocol: protocol_or_tcp(&port.protocol) })
    }

    fn key(&self) -> (&'a str, &'a str) {
        (self.name, self.protocol)
    }
}

/// The numbers that the pods use for one name and protocol.
#[derive(Default)]
struct PortNumbers<'a> {
    key: (&'a str, &'a str),
    /// The number of pods that use each.
    pods: BTreeMap<i32, usize>,
    /// The last pod that was counted.
    last: usize,
}

impl PortNumbers<'_> {
    fn add(&mut self, pod: usize, number: i32) {
        if self.last != pod {
            self.last = pod;
            *self.pods.entry(number).or_default() += 1;
        }
    }
}

/// Checks one named port, for which the selected pods use these numbers. The same port for another selector is another
/// fault.
fn check_port(
    named: &NamedPort<'_>,
    numbers: &BTreeMap<i32, usize>,
    pods: usize,
    selector: &dyn Fn() -> String,
    findings: &mut RuleFindings<'_>,
) {
    let NamedPort { at, name, protocol } = named;
    if numbers.len() == 1 {
        return;
    }
    let fault = format!("{protocol} {name} {}", selector());
    let fault = Fault::Text(&fault);
    let field = format_args!("spec.ports[{at}].targetPort");
    if numbers.is_empty() {
        let none = match pods {
            1 => "the selected pod does not have".to_owned(),
            pods => format!("none of the {pods} selected pods has"),
        };
        let message = format_args!("{none} a {protocol} port {name:?}");
        findings.add(Rule::TargetPortMissing, fault, field, message);
    } else {
        let message = format_args!("{name:?} is {}", port_numbers(numbers, MAX_NUMBERS));
        findings.add(Rule::TargetPortDiffers, fault, field, message);
    }
}
