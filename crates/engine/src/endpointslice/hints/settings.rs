//! The settings of a Service that ask for hints: which of them count, their values, and those without effect.

use crate::{
    model::{Service, Text, names},
    phrase::clip,
    profile::{Minor, Profile, TrafficDistribution},
    reason::Reason,
};

/// The values of `spec.trafficDistribution`, in the order in which releases learned them.
pub const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/// Whether an annotation with this value asks for hints.
fn is_auto(value: &str) -> bool {
    matches!(value, "Auto" | "auto")
}

/// Whether an annotation with this value asks for none.
fn is_disabled(value: &str) -> bool {
    matches!(value, "" | "Disabled" | "disabled")
}

/// Whether an annotation asks for hints in proportion to the CPU of zones (`hintsEnabled`).
pub fn asks_for_zones(service: &Service, profile: &Profile) -> bool {
    zones_annotation(service, profile).is_some()
}

/// The annotation that does.
fn zones_annotation(service: &Service, profile: &Profile) -> Option<&'static str> {
    let (annotation, value) = mode(service, profile).filter(|_| profile.hints)?;
    is_auto(value).then_some(annotation)
}

/// The annotation that counts, and its value (`hintsEnabled`): the deprecated one, if it is there at all.
fn mode<'a>(service: &'a Service, profile: &Profile) -> Option<(&'static str, &'a Text)> {
    let value = |name| service.meta.annotations.get(name).map(|value| (name, value));
    value(names::TOPOLOGY_HINTS).or_else(|| value(names::TOPOLOGY_MODE).filter(|_| profile.topology_mode))
}

/// Whether a release knows this value of `spec.trafficDistribution` (`canUseTrafficDistribution`).
pub fn knows_distribution(value: &str, profile: &Profile) -> bool {
    let known = match profile.traffic_distribution {
        TrafficDistribution::Ignored => 0,
        TrafficDistribution::CloseWithEmptyZone | TrafficDistribution::Close => 1,
        TrafficDistribution::Same => DISTRIBUTIONS.len(),
    };
    DISTRIBUTIONS[..known].contains(&value)
}

/// Every setting without effect, with the reason: the release does not know it, no release knows it, or another setting
/// overrides it.
pub(in super::super) fn without_effect(service: &Service, profile: &Profile, minor: Minor) -> Vec<(Reason, String)> {
    let mut found = Vec::new();
    let older = service.meta.annotations.get(names::TOPOLOGY_HINTS);
    for (annotation, honoured, over) in [
        (names::TOPOLOGY_HINTS, profile.hints, None),
        (names::TOPOLOGY_MODE, profile.hints && profile.topology_mode, older),
    ] {
        let Some(value) = service.meta.annotations.get(annotation) else { continue };
        let shown = clip(value);
        if !is_auto(value) && !is_disabled(value) {
            let message = format!("the annotation {annotation} is {shown:?}: it can be \"Auto\" or \"Disabled\"");
            found.push((Reason::InvalidSetting, message));
        } else if is_auto(value) && !honoured {
            found.push((Reason::SettingIgnored, format!("{minor} ignores the annotation {annotation}")));
        } else if let Some(over) = over.filter(|over| honoured && is_auto(over) != is_auto(value)) {
            let message = format!(
                "the annotation {annotation} is {shown:?} and has no effect, because the older one, {}, is {:?}",
                names::TOPOLOGY_HINTS,
                clip(over)
            );
            found.push((Reason::SettingOverridden, message));
        }
    }
    let Some(value) = service.traffic_distribution.as_deref() else { return found };
    if !DISTRIBUTIONS.contains(&value) {
        let message = format!(
            "spec.trafficDistribution is {:?}: it can be PreferClose, PreferSameZone or PreferSameNode",
            clip(value)
        );
        found.push((Reason::InvalidSetting, message));
    } else if let Some(annotation) = zones_annotation(service, profile) {
        let message = format!(
            "spec.trafficDistribution is {value:?} and has no effect, because the annotation {annotation} asks for \
             zones by their CPU"
        );
        found.push((Reason::SettingOverridden, message));
    } else if !knows_distribution(value, profile) {
        found.push((Reason::SettingIgnored, format!("{minor} ignores spec.trafficDistribution: {value}")));
    }
    found
}
