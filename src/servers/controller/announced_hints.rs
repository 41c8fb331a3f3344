//! Of which Services an Event has said that their endpoints have hints by zones (upstream: `hintsPopulatedByService` in `topologycache`).
//!
//! A plan knows nothing of earlier ones: it says each time that a Service has got hints.

use std::collections::HashSet;

use roster_engine::{
    endpointslice::asks_for_zones,
    model::{HashSeed, Service, ServiceType},
    profile::Profile,
    state::{Event, EventType},
};

use super::queue::ServiceKey;

const ENABLED: &str = "TopologyAwareHintsEnabled";
const DISABLED: &str = "TopologyAwareHintsDisabled";

/// The Services that have hints, as far as Events have said.
#[derive(Debug, Default)]
pub(super) struct AnnouncedHints(HashSet<ServiceKey, HashSeed>);

impl AnnouncedHints {
    /// The Events of a plan that say something new, and the one that a plan cannot know of: that a Service does not ask for zones
    /// any more. A Service that is not synced, because it is an `ExternalName` or selects nothing, keeps its hints.
    pub(super) fn news(
        &mut self,
        key: &ServiceKey,
        service: Option<&Service>,
        profile: &Profile,
        events: Vec<Event>,
    ) -> Vec<Event> {
        let Some(service) = service else {
            self.0.remove(key);
            return events;
        };
        let is_synced = service.selector.is_some() && service.kind != ServiceType::ExternalName;
        let mut news = Vec::with_capacity(events.len());
        if is_synced && !asks_for_zones(service, profile) && self.0.remove(key) && profile.hint_events {
            let family = service.families.first().map_or("IPv4", |family| family.as_str());
            let message = format!("Topology Aware Hints has been disabled, addressType: {family}");
            news.push(Event { kind: EventType::Warning, reason: DISABLED, message, object: service.key() });
        }
        for event in events {
            let is_news = match event.reason {
                ENABLED => self.0.insert(key.clone()),
                DISABLED => {
                    self.0.remove(key);
                    true
                }
                _ => true,
            };
            news.extend(is_news.then_some(event));
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::{
        model::{ObjectKey, names},
        profile::Minor,
    };
    use serde_json::json;

    use super::*;

    fn event(reason: &'static str) -> Event {
        Event { kind: EventType::Normal, reason, message: reason.to_owned(), object: ObjectKey::default() }
    }

    #[test]
    fn an_event_says_what_is_new_about_hints() {
        let service = |mode: &str, spec: serde_json::Value| -> Option<Service> {
            let meta = json!({ "name": "web", "namespace": "shop", "annotations": { names::TOPOLOGY_MODE: mode } });
            Some(serde_json::from_value(json!({ "metadata": meta, "spec": spec })).unwrap())
        };
        let selects = || json!({ "selector": {}, "ipFamilies": ["IPv6"] });
        let auto = || service("Auto", selects());
        let external = || service("", json!({ "selector": {}, "type": "ExternalName" }));
        let (plain, by_hand) = (|| service("", selects()), || service("", json!({})));
        let gone = "Topology Aware Hints has been disabled, addressType: IPv6";
        let mut announced = AnnouncedHints::default();
        for (service, events, want) in [
            (plain(), vec![], vec![]),
            (auto(), vec![ENABLED], vec![ENABLED]),
            (auto(), vec![ENABLED], vec![]),
            (external(), vec![], vec![]),
            (by_hand(), vec![], vec![]),
            (auto(), vec![ENABLED, "Other"], vec!["Other"]),
            (plain(), vec!["Other"], vec![gone, "Other"]),
            (plain(), vec![], vec![]),
            (auto(), vec![DISABLED], vec![DISABLED]),
            (auto(), vec![DISABLED], vec![DISABLED]),
            (auto(), vec![DISABLED, ENABLED], vec![DISABLED, ENABLED]),
            (auto(), vec![DISABLED], vec![DISABLED]),
            (plain(), vec![], vec![]),
            (auto(), vec![ENABLED], vec![ENABLED]),
            (None, vec![], vec![]),
            (auto(), vec![ENABLED], vec![ENABLED]),
        ] {
            let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
            let events = events.into_iter().map(event).collect();
            let news = announced.news(&key, service.as_ref(), Minor::NEWEST.profile(), events);
            assert_eq!(news.into_iter().map(|event| event.message).collect::<Vec<_>>(), want);
        }
    }
}
