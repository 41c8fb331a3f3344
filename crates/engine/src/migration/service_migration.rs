//! What becomes of the topology keys of one Service.

use serde_json::{Value, json};

use super::service_keys::{KeyLevel, KeySource, ServiceKeys};
use crate::{
    model::{Service, ServiceType, Text},
    profile::{Minor, TrafficDistribution},
};

/// What a Service with topology keys gets instead.
#[derive(Debug)]
pub struct ServiceMigration<'a> {
    /// The Service.
    pub service: &'a Service,
    /// Its keys.
    pub keys: ServiceKeys,
    /// What it gets.
    pub target: TrafficTarget,
    /// Whether that does the same.
    pub equivalence: Equivalence,
    /// What it would get from a newer release, if that is something else.
    wanted: Option<TrafficTarget>,
}

/// Where traffic goes, as far as Kubernetes can say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficTarget {
    /// `internalTrafficPolicy: Local`: to the same node only.
    SameNodeOnly,
    /// `trafficDistribution: PreferSameNode`.
    PreferSameNode,
    /// `trafficDistribution: PreferSameZone`.
    PreferSameZone,
    /// `trafficDistribution: PreferClose`: what older releases have for the zone.
    PreferClose,
    /// Nothing: everywhere.
    Anywhere,
}

/// How near the target comes to the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equivalence {
    /// Nothing is equivalent: the keys have no effect any more.
    None,
    /// The fence becomes a preference: traffic may leave it.
    FenceLost,
    /// Both are preferences.
    Preference,
    /// Both are fences.
    Strict,
    /// kube-proxy does not serve the Service, so that neither has an effect.
    NotProxied,
}

impl Equivalence {
    /// What a user must know of it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::None => "no equivalent: traffic goes everywhere",
            Self::FenceLost => "the fence becomes a preference: traffic may leave it",
            Self::Preference => "a preference before and after",
            Self::Strict => "a fence before and after, for traffic to the cluster IP",
            Self::NotProxied => {
                "no effect before or after: without a cluster IP, kube-proxy does not serve the Service"
            }
        }
    }

    /// Its word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FenceLost => "fence-lost",
            Self::Preference => "preference",
            Self::Strict => "strict",
            Self::NotProxied => "not-proxied",
        }
    }
}

impl TrafficTarget {
    /// The field and its value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameNodeOnly => "internalTrafficPolicy: Local",
            Self::PreferSameNode => "trafficDistribution: PreferSameNode",
            Self::PreferSameZone => "trafficDistribution: PreferSameZone",
            Self::PreferClose => "trafficDistribution: PreferClose",
            Self::Anywhere => "nothing",
        }
    }

    fn distribution(self) -> Option<&'static str> {
        match self {
            Self::PreferSameNode => Some("PreferSameNode"),
            Self::PreferSameZone => Some("PreferSameZone"),
            Self::PreferClose => Some("PreferClose"),
            Self::SameNodeOnly | Self::Anywhere => None,
        }
    }

    /// The nearest that a release has.
    fn available(self, compat: Minor) -> Self {
        match (self, compat.profile().traffic_distribution) {
            (Self::PreferSameNode | Self::PreferSameZone, TrafficDistribution::Ignored) => Self::Anywhere,
            (
                Self::PreferSameNode | Self::PreferSameZone,
                TrafficDistribution::CloseWithEmptyZone | TrafficDistribution::Close,
            ) => Self::PreferClose,
            _ => self,
        }
    }
}

/// The first release in which `trafficDistribution` has these values.
fn first_with(values: TrafficDistribution) -> Minor {
    Minor::all().find(|minor| minor.profile().traffic_distribution >= values).unwrap_or(Minor::NEWEST)
}

impl<'a> ServiceMigration<'a> {
    /// Decides for one Service of a cluster of this release.
    pub(super) fn of(service: &'a Service, keys: ServiceKeys, zone_key: Option<&Text>, compat: Minor) -> Self {
        // One without any address was never in a cluster, and gets one.
        if service.cluster_ip == "None" || service.kind == ServiceType::ExternalName {
            let (target, equivalence) = (TrafficTarget::Anywhere, Equivalence::NotProxied);
            return Self { service, keys, target, equivalence, wanted: None };
        }
        let levels = keys.levels(zone_key);
        let (wanted, equivalence) = match keys.source {
            KeySource::Field => in_order(&levels),
            KeySource::SuperEdge | KeySource::OpenYurt => any_of(&levels),
        };
        let target = wanted.available(compat);
        if target == wanted {
            return Self { service, keys, target, equivalence, wanted: None };
        }
        let equivalence = if target == TrafficTarget::Anywhere { Equivalence::None } else { equivalence };
        Self { service, keys, target, equivalence, wanted: Some(wanted) }
    }

    /// What a user must know besides the [equivalence](Equivalence::meaning).
    pub fn notes(&self) -> Vec<String> {
        let outside = self.opens_external_traffic();
        let outside = outside.then(|| "for traffic from outside, set externalTrafficPolicy: Local".to_owned());
        let older = self.wanted.and_then(|wanted| match (self.target, wanted) {
            (TrafficTarget::Anywhere, _) => {
                let first = first_with(TrafficDistribution::CloseWithEmptyZone);
                Some(format!("trafficDistribution takes effect from Kubernetes {first} on"))
            }
            (_, TrafficTarget::PreferSameNode) => {
                let first = first_with(TrafficDistribution::Same);
                Some(format!("before Kubernetes {first}, the same zone can be preferred, but not the same node"))
            }
            _ => None,
        });
        let others = self.keys.others.iter().map(|source| {
            format!(
                "the keys of {} are not migrated, because those of {} count",
                source.as_str(),
                self.keys.source.as_str()
            )
        });
        outside.into_iter().chain(older).chain(others).collect()
    }

    /// The merge patch for the Service. The annotation is removed; the field is not: API servers since 1.22 do not store it.
    pub fn patch(&self) -> Value {
        let mut patch = json!({});
        if let Some(annotation) = self.keys.source.annotation() {
            patch["metadata"] = json!({ "annotations": { annotation: null } });
        }
        if self.target == TrafficTarget::SameNodeOnly {
            patch["spec"] = json!({ "internalTrafficPolicy": "Local" });
        } else if let Some(distribution) = self.target.distribution() {
            patch["spec"] = json!({ "trafficDistribution": distribution });
        }
        patch
    }

    /// The Service with the patch.
    pub fn patched(&self) -> Service {
        let mut service = self.service.clone();
        service.topology_keys.clear();
        self.keys.source.annotation().map(|annotation| service.meta.annotations.remove(annotation));
        match self.target.distribution() {
            Some(distribution) => service.traffic_distribution = Some(Text::new_static(distribution)),
            None if self.target == TrafficTarget::SameNodeOnly => {
                service.internal_traffic_policy = Text::new_static("Local");
            }
            None => {}
        }
        service
    }

    /// Whether traffic from outside was fenced in too, and is not any more.
    fn opens_external_traffic(&self) -> bool {
        self.target == TrafficTarget::SameNodeOnly && self.service.takes_external_traffic()
    }
}

/// Keys of which the first one with an endpoint decides.
fn in_order(levels: &[KeyLevel]) -> (TrafficTarget, Equivalence) {
    let before_all: Vec<KeyLevel> = levels.iter().copied().take_while(|level| *level != KeyLevel::Everything).collect();
    let is_fence = before_all.len() == levels.len();
    let target = match before_all[..] {
        [] => return (TrafficTarget::Anywhere, Equivalence::Strict),
        [KeyLevel::Node] if is_fence => return (TrafficTarget::SameNodeOnly, Equivalence::Strict),
        [KeyLevel::Node, ..] => TrafficTarget::PreferSameNode,
        _ if before_all.contains(&KeyLevel::Zone) => TrafficTarget::PreferSameZone,
        _ => return (TrafficTarget::Anywhere, Equivalence::None),
    };
    (target, if is_fence { Equivalence::FenceLost } else { Equivalence::Preference })
}

/// Keys of which any may agree: the widest decides.
fn any_of(levels: &[KeyLevel]) -> (TrafficTarget, Equivalence) {
    match levels.iter().max() {
        Some(KeyLevel::Node) => (TrafficTarget::SameNodeOnly, Equivalence::Strict),
        Some(KeyLevel::Zone) => (TrafficTarget::PreferSameZone, Equivalence::FenceLost),
        Some(KeyLevel::Other | KeyLevel::Everything) | None => (TrafficTarget::Anywhere, Equivalence::None),
    }
}
