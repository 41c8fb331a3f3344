//! What a controller has said about Services last, and what it would say now.
//!
//! A controller that goes through more states says more. What it said last is about the state in which it rests, so that this can
//! be compared with what a plan for that state says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::changes::NAMESPACE;
use crate::api::ApiServer;

/// From so many Events about an object on, client-go keeps some back.
const MANY: u64 = 25;
const ENABLED: &str = "TopologyAwareHintsEnabled";
const ZONES: &str = "service.kubernetes.io/topology-mode";

/// An Event, with all words in an order: an error lists its parts in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    reason: String,
    words: Vec<String>,
}

impl Message {
    fn of(event: &Value) -> Self {
        let message = text(&event["message"]);
        let message = message.trim_start_matches("(combined from similar events): ");
        let mut words: Vec<String> = message.split([' ', ',', '[', ']']).map(str::to_owned).collect();
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        Self { reason: text(&event["reason"]), words }
    }

    /// What it is about. What is said of the hints of two address types does not contradict.
    fn topic(&self) -> String {
        let is_family = |family: &&str| self.words.iter().any(|word| word == family);
        match ["IPv4", "IPv6"].into_iter().find(is_family) {
            Some(family) if self.is_about_hints() => format!("hints {family}"),
            _ => self.reason.clone(),
        }
    }

    fn is_about_hints(&self) -> bool {
        self.reason.starts_with("TopologyAwareHints")
    }
}

/// What was said about one Service: the last message of each topic, and of hints.
#[derive(Default)]
struct SaidOfService {
    last: BTreeMap<String, Message>,
    hints: Option<Message>,
    /// How often that there are hints, and that there are none.
    enabled: u64,
    disabled: u64,
    count: u64,
}

/// What a plan for the present state would say, compared with what was said.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    /// How many Events the plan has.
    pub(super) planned: usize,
    /// The Services of which the last Event is about another state.
    pub(super) services: Vec<String>,
}

/// Compares the Events of a cluster with a plan for it.
pub(super) fn unsaid(api: &ApiServer, plan: &Value) -> Unsaid {
    let mut said = said(api);
    let mut unsaid = Unsaid::default();
    for service in list(api, "services") {
        let of_service = said.remove(&text(&service["metadata"]["uid"])).unwrap_or_default();
        if of_service.count >= MANY {
            continue;
        }
        let name = text(&service["metadata"]["name"]);
        let planned = plan["items"].as_array().unwrap().iter().find(|item| item["service"]["name"] == *name);
        let planned: Vec<Message> =
            planned.iter().flat_map(|item| item["events"].as_array().unwrap()).map(Message::of).collect();
        let is_synced = service["spec"]["type"] != "ExternalName" && !service["spec"]["selector"].is_null();
        let asks_for_zones = service["metadata"]["annotations"][ZONES] == "Auto";
        unsaid.planned += planned.len();
        let fault = of_service.fault(&planned, is_synced && !asks_for_zones);
        unsaid.services.extend(fault.map(|fault| format!("{name}: {fault}")));
    }
    unsaid
}

/// What was said about each Service, by its uid.
fn said(api: &ApiServer) -> BTreeMap<String, SaidOfService> {
    let mut events = list(api, "events");
    events.sort_by_key(|event| text(&event["metadata"]["resourceVersion"]).parse::<u64>().unwrap());
    let mut said: BTreeMap<String, SaidOfService> = BTreeMap::new();
    for event in events.iter().filter(|event| event["source"]["component"] == "endpoint-slice-controller") {
        let of_service = said.entry(text(&event["involvedObject"]["uid"])).or_default();
        let message = Message::of(event);
        let count = event["count"].as_u64().unwrap();
        of_service.count += count;
        if message.is_about_hints() {
            *(if message.reason == ENABLED { &mut of_service.enabled } else { &mut of_service.disabled }) += count;
            of_service.hints = Some(message.clone());
        }
        of_service.last.insert(message.topic(), message);
    }
    said
}

/// The kinds of Events that the controllers have sent about at least so many objects.
pub(super) fn kinds(api: &ApiServer, at_least: usize) -> BTreeSet<String> {
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in list(api, "events") {
        let (component, object) = (text(&event["source"]["component"]), &event["involvedObject"]);
        if component.starts_with("endpoint") {
            let words = [&event["type"], &event["reason"], &object["kind"]].map(text);
            kinds.entry(format!("{component} {}", words.join(" "))).or_default().insert(text(&object["uid"]));
        }
    }
    kinds.into_iter().filter(|(_, objects)| objects.len() >= at_least).map(|(kind, _)| kind).collect()
}

fn list(api: &ApiServer, resource: &str) -> Vec<Value> {
    let list = api.get(&format!("/api/v1/namespaces/{NAMESPACE}/{resource}"));
    list.body["items"].as_array().unwrap().clone()
}

impl SaidOfService {
    /// Why what was said last is not what is planned.
    fn fault(&self, planned: &[Message], wants_no_zones: bool) -> Option<String> {
        let is_enabled = self.hints.as_ref().is_some_and(|last| last.reason == ENABLED);
        if wants_no_zones && is_enabled {
            return Some("nobody said that it has no hints any more".to_owned());
        }
        if self.enabled > self.disabled + 1 {
            return Some(format!("{} times it was said that it has hints", self.enabled));
        }
        // Of several address types, the first one says that there are hints, and only if there were none.
        let has_hints = |message: &Message| !message.is_about_hints() || message.reason == ENABLED;
        let wants_enabled = planned.iter().all(has_hints);
        planned.iter().find_map(|message| {
            if message.reason == ENABLED {
                return (wants_enabled && !is_enabled).then(|| "nobody said that it has hints".to_owned());
            }
            let last = self.last.get(&message.topic());
            (last != Some(message)).then(|| format!("{last:?} was said last, and {message:?} is planned"))
        })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
