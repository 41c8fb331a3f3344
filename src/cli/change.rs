//! What a plan does to each object of a Service: one row each of `roster plan`.

use anstyle::Style;
use serde::Serialize;

use super::{
    difference,
    table::{DIM, GREEN, RED, YELLOW},
};
use crate::{
    plan::{EndpointsAction, Plan, State},
    reason::Reason,
};

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    /// It is written for the first time.
    Create,
    /// It is written again, with something new.
    Update,
    /// It goes.
    Delete,
    /// It is written again at every sync, for ever, with nothing new.
    Rewrite,
    /// It stays.
    None,
}

impl Verb {
    /// The word in the table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Rewrite => "rewrite",
            Self::None => "none",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::Create => GREEN,
            Self::Update | Self::Rewrite => YELLOW,
            Self::Delete => RED,
            Self::None => DIM,
        }
    }

    /// Whether the cluster is another one afterwards.
    pub(super) fn is_change(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Delete)
    }
}

/// What happens to one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// Kind.
    pub(super) kind: &'static str,
    /// Name; of a slice that is created the start of it, and a star.
    pub(super) name: String,
    /// What happens to it.
    pub(super) action: Verb,
    /// What is new about it.
    pub(super) detail: String,
}

/// The writes that upstream repeats for ever, by the kind they hit.
const ENDLESS_ENDPOINTS: [Reason; 3] =
    [Reason::ServiceCarriesManagedByLabel, Reason::ServiceCarriesHeadlessLabel, Reason::OverCapacityRewrite];
const ENDLESS_SLICES: [Reason; 4] =
    [Reason::MirrorReservedLabel, Reason::MirrorRandomCut, Reason::PlaceholderChurn, Reason::PortlessChurn];

/// What `plan` does to each object of `state`; objects that stay as they are only `with_unchanged`.
pub(super) fn changes(state: &State<'_>, plan: &Plan, with_unchanged: bool) -> Vec<Change> {
    let mut all = Vec::new();
    all.extend(of_endpoints(state, plan).filter(|c| with_unchanged || c.action != Verb::None));
    of_slices(state, plan, with_unchanged, &mut all);
    all
}

fn of_endpoints(state: &State<'_>, plan: &Plan) -> Option<Change> {
    let stored = state.endpoints;
    let name = stored.map(|e| &e.meta.name).or(state.service.map(|s| &s.meta.name))?;
    let (action, detail) = match (&plan.endpoints, stored) {
        (EndpointsAction::None, None) => return None,
        (EndpointsAction::None, Some(stored)) => (Verb::None, difference::endpoints_in_short(stored)),
        (EndpointsAction::Create(new), _) => (Verb::Create, difference::endpoints_in_short(new)),
        (EndpointsAction::Update(new), None) => (Verb::Update, difference::endpoints_in_short(new)),
        (EndpointsAction::Update(new), Some(stored)) => {
            updated(difference::endpoints(stored, new), &ENDLESS_ENDPOINTS, plan)
        }
        (EndpointsAction::Delete, stored) => {
            (Verb::Delete, stored.map(difference::endpoints_in_short).unwrap_or_default())
        }
    };
    Some(Change { kind: "Endpoints", name: name.to_string(), action, detail })
}

fn of_slices(state: &State<'_>, plan: &Plan, with_unchanged: bool, all: &mut Vec<Change>) {
    let slices = &plan.endpoint_slices;
    let stored = |name: &str| state.slices.iter().find(|s| s.meta.name == name);
    let in_short = |name: &str| stored(name).map(|s| difference::slice_in_short(s)).unwrap_or_default();
    let mut push = |name: String, (action, detail)| all.push(Change { kind: "EndpointSlice", name, action, detail });
    for new in &slices.create {
        push(format!("{}*", new.meta.generate_name), (Verb::Create, difference::slice_in_short(new)));
    }
    for new in &slices.update {
        let what = match stored(&new.meta.name) {
            None => (Verb::Update, difference::slice_in_short(new)),
            Some(old) => updated(difference::slices(old, new), &ENDLESS_SLICES, plan),
        };
        push(new.meta.name.to_string(), what);
    }
    for name in &slices.delete {
        push(name.to_string(), (Verb::Delete, in_short(name)));
    }
    for name in slices.unchanged.iter().filter(|_| with_unchanged) {
        push(name.to_string(), (Verb::None, in_short(name)));
    }
}

/// An update, or one that changes nothing: the controllers do not see that what they want is stored
/// already, and will not see it after the write either.
fn updated(difference: Option<String>, causes: &[Reason], plan: &Plan) -> (Verb, String) {
    if let Some(detail) = difference {
        return (Verb::Update, detail);
    }
    let codes: Vec<&str> =
        causes.iter().filter(|c| plan.problems.iter().any(|p| p.code == **c)).map(|c| c.code()).collect();
    let colon = if codes.is_empty() { "" } else { ": " };
    (Verb::Rewrite, format!("endless update by upstream{colon}{}", codes.join(", ")))
}
