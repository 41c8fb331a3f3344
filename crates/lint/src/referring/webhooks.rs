//! The admission webhooks that fail closed, and whether the Services that they call serve them.

use std::{collections::BTreeMap, ops::Range, rc::Rc};

use roster_engine::{
    explain::{DiagnosedCause, Diagnosis, Explanation, Focus, explain_only},
    model::{
        EndpointSlice, ObjectKey, Service, Text, protocol_or_tcp,
        wire::{lenient, nullable},
    },
    phrase::counted,
    plan::selected_pods,
    reason::Reason,
    state::{Options, State},
};
use roster_manifests::inventory::{HTTPS, Index, Inventory, ServiceFindings};
use serde::Deserialize;

use super::foreign_scalers::ForeignScalers;
use crate::{options::LintOptions, report::Report, reviewed_object::ReviewedObject, unread_of_unit::UnreadOfUnit};

/// The group of the configurations.
const GROUP: &str = "admissionregistration.k8s.io";
/// Most pods that are assumed for the workloads of a unit.
const MOST_PODS: usize = 10_000;
/// Most pods, ports and stored endpoints that are looked at for all called ports together. Nothing is said of those behind them.
const MOST_LOOKED_AT: usize = 500_000;

/// The Services that webhooks of a report call whose failure refuses requests: the key of the configuration, namespace and name of the
/// Service, and what is refused.
pub fn required_services(report: &Report<'_>) -> Vec<RequiredService> {
    let all = closed(&report.objects, 0..report.objects.len()).into_iter();
    let required = |webhook: ClosedWebhook| RequiredService {
        configuration: report.objects[webhook.document].key.clone(),
        webhook: webhook.name,
        service: webhook.service,
        requests: webhook.requests,
    };
    all.map(required).collect()
}

/// A Service that a webhook calls which fails closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredService {
    /// The configuration.
    pub configuration: ObjectKey,
    /// The name of the webhook in it.
    pub webhook: Text,
    /// Namespace and name of the Service.
    pub service: (Text, Text),
    /// What an API server refuses if it does not answer.
    pub requests: String,
}

/// A webhook that fails closed: if its Service does not answer, an API server refuses each request that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClosedWebhook {
    /// The document of its configuration.
    pub(crate) document: usize,
    /// Its place in the configuration.
    pub(crate) place: usize,
    /// Its name.
    pub(crate) name: Text,
    /// Namespace and name of the Service.
    pub(crate) service: (Text, Text),
    /// The port of the Service.
    pub(crate) port: i32,
    /// What is refused, such as `CREATE of pods`.
    pub(crate) requests: String,
    /// Why the Service serves nothing at the port: a code, and what it means there. `None` if it serves, or if that is not known.
    pub(crate) unserved: Option<Rc<str>>,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default, rename = "apiVersion", deserialize_with = "nullable")]
    api_version: Text,
    #[serde(default, deserialize_with = "nullable")]
    webhooks: Vec<Webhook>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Webhook {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    failure_policy: Text,
    #[serde(deserialize_with = "nullable")]
    client_config: ClientConfig,
    #[serde(deserialize_with = "nullable")]
    rules: Vec<RequestRule>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClientConfig {
    service: Option<CalledService>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CalledService {
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "lenient")]
    port: Option<i32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RequestRule {
    #[serde(deserialize_with = "nullable")]
    operations: Vec<Text>,
    #[serde(deserialize_with = "nullable")]
    resources: Vec<Text>,
}

/// The webhooks of a unit that fail closed.
pub(crate) fn closed(items: &[ReviewedObject<'_>], unit: Range<usize>) -> Vec<ClosedWebhook> {
    let is_one = |item: &ReviewedObject<'_>| {
        let is_kind = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"].contains(&&*item.key.kind);
        is_kind && item.api_group() == GROUP && !item.is_mixture() && !item.is_listed && !item.is_test
    };
    let of_unit = unit.filter(|document| is_one(&items[*document]));
    of_unit.flat_map(|document| of_configuration(document, items[document].document.raw.get())).collect()
}

fn of_configuration(document: usize, text: &str) -> Vec<ClosedWebhook> {
    // What an API server refuses of it is reported elsewhere.
    let Ok(Configuration { api_version, webhooks }) = serde_json::from_str(text) else { return Vec::new() };
    // Version v1beta1 ignored failures by default.
    let default = if api_version.ends_with("/v1beta1") { "Ignore" } else { "Fail" };
    let closed = |webhook: &Webhook| match webhook.failure_policy.as_str() {
        "" => default == "Fail",
        policy => policy == "Fail",
    };
    let webhooks = webhooks.into_iter().enumerate().filter(|(_, webhook)| closed(webhook));
    let called = |(place, webhook): (usize, Webhook)| {
        let CalledService { namespace, name, port } =
            webhook.client_config.service.filter(|service| !service.name.is_empty())?;
        let requests = requests(&webhook.rules);
        Some(ClosedWebhook {
            document,
            place,
            name: webhook.name,
            service: (namespace, name),
            port: port.unwrap_or(HTTPS),
            requests,
            unserved: None,
        })
    };
    webhooks.filter_map(called).collect()
}

/// The requests of the first rule, and how many more rules there are.
fn requests(rules: &[RequestRule]) -> String {
    /// Most operations and resources that are named.
    const NAMED: usize = 4;
    let listed = |names: &[Text]| {
        let more = if names.len() > NAMED { ", …" } else { "" };
        let names: Vec<&str> =
            names.iter().take(NAMED).map(|name| if name == "*" { "all" } else { name.as_str() }).collect();
        format!("{}{more}", names.join(", "))
    };
    let Some(first) = rules.first() else { return "each request that it concerns".to_owned() };
    let more = match rules.len() {
        1 => String::new(),
        rules => format!(", and of {} more", counted(rules - 1, "rule")),
    };
    format!("{} of {}{more}", listed(&first.operations), listed(&first.resources))
}

/// Finds out which of the webhooks are called in vain. `items` and `inventory` have all objects of their unit.
pub(crate) fn find_unserved(
    webhooks: &mut [ClosedWebhook],
    items: &[ReviewedObject<'_>],
    mut inventory: Inventory,
    unread: &UnreadOfUnit<'_>,
    options: &LintOptions<'_>,
) {
    let defaults = &options.source.defaults;
    inventory.label_pods(defaults);
    inventory.assume_pods(defaults, &[], MOST_PODS);
    let index = inventory.index_of_part();
    let services = CalledServices {
        findings: ServiceFindings::new(&index),
        scalers: ForeignScalers::new(items, &inventory, options),
        index: &index,
        unread,
    };
    // Any number of webhooks may call a port of a Service.
    let mut known: BTreeMap<CalledPort<'_>, Option<Rc<str>>> = BTreeMap::new();
    let mut left = MOST_LOOKED_AT;
    for ClosedWebhook { service, port, unserved, .. } in webhooks {
        let found = known.entry((&*service, *port)).or_insert_with(|| services.unserved(service, *port, &mut left));
        unserved.clone_from(found);
    }
}

/// Namespace and name of a Service, and a port of it.
type CalledPort<'w> = (&'w (Text, Text), i32);

/// The Services that webhooks of a unit call.
struct CalledServices<'u> {
    index: &'u Index<'u>,
    findings: ServiceFindings<'u>,
    scalers: ForeignScalers<'u>,
    unread: &'u UnreadOfUnit<'u>,
}

impl CalledServices<'_> {
    /// Why a port of a Service serves nothing; `None` if it serves, or if that is not known. A port that the Service does not
    /// have is reported elsewhere.
    fn unserved(&self, (namespace, name): &(Text, Text), port: i32, left: &mut usize) -> Option<Rc<str>> {
        let entry = self.index.get(namespace, name)?;
        // Without a selector, others write its endpoints: they are not among manifests.
        let service = entry.service.filter(|service| service.selector.is_some() && !self.unread.may_be_of(service))?;
        take(left, 1 + service.ports.len())?;
        let called = with_port(service, port)?;
        let state = State { service: Some(&called), ..self.index.state(entry) };
        take(left, state.pods.len() + state.slices.len())?;
        take(left, state.slices.iter().map(|slice| slice.endpoints.len()).sum())?;
        let selected = selected_pods(&state);
        if selected.is_empty() && self.scalers.make_pods_for(service, left)? {
            return None;
        }
        let focus = Focus { selected: Some(&selected), unknown: self.index.unknown_of(entry), ..Focus::default() };
        let mut explanation = explain_only(&state, &Options::default(), focus);
        // Other findings may be about other ports.
        self.findings.explain_selector(entry, &mut explanation);
        if explanation.summary.served > 0 {
            return None;
        }
        let is_unchecked = explanation.reasons.iter().any(|cause| cause.code == Reason::NotChecked);
        match (is_unchecked, is_stored_empty(&state, &called)) {
            // Pods that are not among the manifests may serve it.
            (true, false) => None,
            (true, true) => Some("its slices have no ready endpoint".into()),
            (false, _) => Some(why(&explanation).into()),
        }
    }
}

/// Takes from what may still be looked at. If it is too little, nothing is left for those behind it either.
pub(super) fn take(left: &mut usize, cost: usize) -> Option<()> {
    let rest = left.checked_sub(cost);
    *left = rest.unwrap_or_default();
    rest.map(|_| ())
}

/// The Service with this port only, so that nothing is said of the others.
fn with_port(service: &Service, number: i32) -> Option<Service> {
    let of_number = service.ports.iter().filter(|port| port.port == number);
    // An API server calls by TCP.
    let port = of_number.min_by_key(|port| protocol_or_tcp(&port.protocol) != "TCP")?;
    Some(Service { ports: vec![port.clone()], ..service.clone() })
}

/// Whether the Service has stored slices, and none has a ready endpoint for a port of it.
fn is_stored_empty(state: &State<'_>, service: &Service) -> bool {
    let is_called = |name: &str| service.ports.iter().any(|port| port.name == *name);
    let has_port = |slice: &&&EndpointSlice| {
        slice.ports.iter().flatten().any(|port| is_called(port.name.as_deref().unwrap_or_default()))
    };
    let mut stored = state.slices.iter().filter(has_port).flat_map(|slice| &slice.endpoints);
    !state.slices.is_empty() && stored.all(|endpoint| !endpoint.ready())
}

/// The first cause, with its code.
fn why(explanation: &Explanation) -> String {
    match Diagnosis::of(explanation).lead() {
        Some(DiagnosedCause { code, detail, .. }) if !detail.is_empty() => format!("{code}: {detail}"),
        Some(cause) => cause.code.code().to_owned(),
        None => "no pod is ready".to_owned(),
    }
}
