//! How Deployments, DaemonSets and StatefulSets replace their pods.

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, NOT_NEGATIVE, Presence},
};

/// Checks the strategy of a Deployment.
pub(super) fn check_deployment(strategy: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let kind = strategy.key("type");
    FieldRule::OneOf(&["Recreate", "RollingUpdate"]).check(&kind, Presence::Optional, faults);
    let update = strategy.key("rollingUpdate");
    if kind.text() == "Recreate" {
        return refuse_update(&update, "Recreate", faults);
    }
    let (unavailable, surge) = (update.key("maxUnavailable"), update.key("maxSurge"));
    check_share(&unavailable, 100, faults);
    check_share(&surge, i64::MAX, faults);
    if share(&unavailable) == Some(0) && share(&surge) == Some(0) {
        unavailable.refuse(NEITHER, faults);
    }
}

/// Checks the strategy of a DaemonSet. An API server fills in 1 for maxUnavailable, and 0 for maxSurge.
pub(super) fn check_daemon_set(strategy: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let kind = strategy.key("type");
    FieldRule::OneOf(&["RollingUpdate", "OnDelete"]).check(&kind, Presence::Optional, faults);
    let update = strategy.key("rollingUpdate");
    if !update.is_set() || kind.text() == "OnDelete" {
        return;
    }
    let (unavailable, surge) = (update.key("maxUnavailable"), update.key("maxSurge"));
    check_share(&unavailable, 100, faults);
    check_share(&surge, 100, faults);
    let or_default = |field: &Field<'_, '_>, default| if field.is_set() { share(field) } else { Some(default) };
    match (or_default(&unavailable, 1), or_default(&surge, 0)) {
        (Some(0), Some(0)) => unavailable.refuse(NEITHER, faults),
        (Some(1..), Some(1..)) => {
            surge.refuse("it needs maxUnavailable: 0, which is 1 where it is missing", faults);
        }
        _ => {}
    }
}

/// Checks the strategy of a StatefulSet.
pub(super) fn check_stateful_set(strategy: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let kind = strategy.key("type");
    FieldRule::OneOf(&["RollingUpdate", "OnDelete"]).check(&kind, Presence::Optional, faults);
    let update = strategy.key("rollingUpdate");
    if kind.text() == "OnDelete" {
        return refuse_update(&update, "OnDelete", faults);
    }
    NOT_NEGATIVE.check(&update.key("partition"), Presence::Optional, faults);
    let unavailable = update.key("maxUnavailable");
    check_share(&unavailable, 100, faults);
    if share(&unavailable) == Some(0) {
        unavailable.refuse("it cannot be 0: no pod could be replaced", faults);
    }
}

const NEITHER: &str = "it cannot be 0 when maxSurge is 0: no pod could be replaced";

fn refuse_update(update: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    if update.is_set() {
        update.refuse(format!("a strategy of type {kind} cannot have it"), faults);
    }
}

/// A number of pods, or a percentage; `None` for anything else.
fn share(field: &Field<'_, '_>) -> Option<i64> {
    let percentage = |text: &str| {
        let digits = text.strip_suffix('%')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    field.number().or_else(|| percentage(field.as_text()?))
}

/// Reports a value that is neither a number of pods nor a percentage up to `most`.
pub(super) fn check_share(field: &Field<'_, '_>, most: i64, faults: &mut Faults<'_>) {
    match (share(field), field.as_text()) {
        (None, Some(text)) => {
            let hint = text.parse::<u32>().map_or(String::new(), |number| format!("; write {number} without quotes"));
            field.refuse(format!("{} is neither a number nor a percentage such as 25%{hint}", quoted(text)), faults);
        }
        (Some(share), _) if share < 0 => field.refuse("it is negative", faults),
        (Some(share), Some(_)) if share > most => field.refuse(format!("it is more than {most}%"), faults),
        // The schema reports other types.
        _ => {}
    }
}
