//! The time of the change that leads to a sync (upstream: `TriggerTimeTracker` in `k8s.io/endpointslice/util`).

use roster_engine::{
    model::{Pod, Service, Text, Time},
    state::Trigger,
};

/// The times of a Service and of its pods at the last sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenTimes {
    service: Option<Time>,
    /// When the readiness of each pod last changed; sorted by name.
    pods: Box<[(Text, Time)]>,
}

impl SeenTimes {
    /// The times as they are now. The pods are sorted by name.
    pub(super) fn of<'a>(service: &Service, pods: impl IntoIterator<Item = &'a Pod>) -> Self {
        let times = pods.into_iter().filter_map(|pod| Some((pod.name().clone(), pod.readiness_since?)));
        Self { service: service.meta.creation_timestamp, pods: times.collect() }
    }

    /// The earliest change since `before`. A pod that was not there before has changed.
    pub(super) fn since(&self, before: Option<&Self>) -> Trigger {
        let Some(before) = before else { return Trigger::Creation };
        let mut earlier = before.pods.iter().peekable();
        let changed = self.pods.iter().filter(|(name, time)| {
            while earlier.next_if(|(other, _)| other < name).is_some() {}
            earlier.next_if(|(other, _)| other == name).is_none_or(|(_, seen)| time > seen)
        });
        let changed = changed.map(|(_, time)| *time);
        let service = self.service.filter(|time| before.service.is_none_or(|seen| *time > seen));
        changed.chain(service).min().map_or(Trigger::Unknown, Trigger::At)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: u8) -> Time {
        format!("2026-01-01T00:00:{second:02}Z").parse().unwrap()
    }

    fn seen(service: u8, pods: &[(&str, u8)]) -> SeenTimes {
        let pods = pods.iter().map(|(name, second)| ((*name).into(), time(*second))).collect();
        SeenTimes { service: Some(time(service)), pods }
    }

    #[test]
    fn the_earliest_new_time_counts() {
        let before = seen(1, &[("a", 5), ("c", 7)]);
        for (name, now, want) in [
            ("nothing new", seen(1, &[("a", 5), ("c", 7)]), Trigger::Unknown),
            ("a pod that is gone", seen(1, &[("c", 7)]), Trigger::Unknown),
            ("one that changed", seen(1, &[("a", 5), ("c", 9)]), Trigger::At(time(9))),
            ("several", seen(1, &[("a", 8), ("c", 9)]), Trigger::At(time(8))),
            ("new ones", seen(1, &[("a", 5), ("b", 3), ("c", 7), ("d", 4)]), Trigger::At(time(3))),
            ("a clock that was set back", seen(1, &[("a", 4), ("c", 7)]), Trigger::Unknown),
            ("a Service that was created again", seen(9, &[("a", 5), ("c", 7)]), Trigger::At(time(9))),
        ] {
            assert_eq!(now.since(Some(&before)), want, "{name}");
        }
        assert_eq!(before.since(None), Trigger::Creation);
    }

    #[test]
    fn times_are_those_of_the_service_and_of_the_readiness_of_pods() {
        let service = serde_json::json!({ "metadata": { "name": "web", "creationTimestamp": "2026-01-01T00:00:01Z" } });
        let pod = |name: &str, since: serde_json::Value| -> Pod {
            let ready = serde_json::json!({ "type": "Ready", "status": "False", "lastTransitionTime": since });
            let other = serde_json::json!({ "type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z" });
            let pod = serde_json::json!({ "metadata": { "name": name }, "status": { "conditions": [other, ready] } });
            serde_json::from_value(pod).unwrap()
        };
        let pods = [pod("a", "2026-01-01T00:00:05Z".into()), pod("b", serde_json::Value::Null)];
        let times = SeenTimes::of(&serde_json::from_value(service).unwrap(), &pods);
        assert_eq!(times, seen(1, &[("a", 5)]));
    }
}
