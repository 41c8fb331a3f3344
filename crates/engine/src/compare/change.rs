//! What a plan does to each object of a Service.

use std::cell::OnceCell;

use serde::Serialize;

use super::{aspect::ObjectDifference, difference};
use crate::{
    model::{Endpoint, EndpointSlice, Endpoints, StoredSlices},
    reason::{EndlessWrite, Reason},
    state::{EndpointsAction, Plan, State},
};

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// It is created.
    Create,
    /// It is written with a difference.
    Update,
    /// It is deleted.
    Delete,
    /// It is written again at every sync, without a difference.
    Rewrite,
    /// It stays.
    None,
}

impl Verb {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Rewrite => "rewrite",
            Self::None => "none",
        }
    }

    /// Whether the cluster changes.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Delete)
    }
}

/// An object after the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedObject<'a> {
    /// The Endpoints.
    Endpoints(&'a Endpoints),
    /// A slice.
    Slice(&'a EndpointSlice),
}

/// What happens to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange<'a> {
    /// Kind.
    pub kind: &'static str,
    /// Name; for a new slice the prefix and a star.
    pub name: String,
    /// What happens to it.
    pub action: Verb,
    /// How it differs from the stored object.
    pub detail: String,
    /// The stored object.
    pub before: Option<ChangedObject<'a>>,
    /// The object after the plan; `None` if it is deleted.
    pub after: Option<ChangedObject<'a>>,
}

/// What `plan` does to each object of `state`; unchanged objects only if `with_unchanged`.
pub fn changes<'a>(state: &State<'a>, plan: &'a Plan, with_unchanged: bool) -> Vec<ObjectChange<'a>> {
    if plan.is_noop() && !with_unchanged {
        return Vec::new();
    }
    let mut all: Vec<ObjectChange<'a>> = of_endpoints(state, plan).into_iter().collect();
    all.extend(of_slices(state, plan));
    all.retain(|c| with_unchanged || c.action != Verb::None);
    all
}

/// Whether no ready address of the Service is published once `plan` is carried out.
pub fn publishes_nothing(state: &State<'_>, plan: &Plan) -> bool {
    changes(state, plan, true).iter().filter_map(|change| change.after).all(|after| match after {
        ChangedObject::Endpoints(object) => object.subsets.iter().all(|subset| subset.addresses.is_empty()),
        ChangedObject::Slice(slice) => !slice.endpoints.iter().any(Endpoint::ready),
    })
}

fn of_endpoints<'a>(state: &State<'a>, plan: &'a Plan) -> Option<ObjectChange<'a>> {
    let stored = state.endpoints;
    let name = stored.map(|e| &e.meta.name).or(state.service.map(|s| &s.meta.name))?;
    let (action, detail, after) = match (&plan.endpoints, stored) {
        (EndpointsAction::None, None) => return None,
        (EndpointsAction::None, Some(old)) => (Verb::None, difference::endpoints_in_short(old), stored),
        (EndpointsAction::Create(new), _) => (Verb::Create, difference::endpoints_in_short(new), Some(&**new)),
        (EndpointsAction::Update(new), None) => (Verb::Update, difference::endpoints_in_short(new), Some(&**new)),
        (EndpointsAction::Update(new), Some(old)) => {
            let endless = || endless_text(EndlessWrite::Endpoints, plan);
            let (action, detail) = updated(difference::endpoints(old, new), endless);
            (action, detail, Some(&**new))
        }
        (EndpointsAction::Delete, old) => {
            (Verb::Delete, old.map(difference::endpoints_in_short).unwrap_or_default(), None)
        }
    };
    Some(ObjectChange {
        kind: "Endpoints",
        name: name.to_string(),
        action,
        detail,
        before: stored.map(ChangedObject::Endpoints),
        after: after.map(ChangedObject::Endpoints),
    })
}

fn of_slices<'a>(state: &State<'a>, plan: &'a Plan) -> impl Iterator<Item = ObjectChange<'a>> {
    let stored = StoredSlices::of(state.slices);
    let slices = &plan.endpoint_slices;
    let change = |name: String, action, detail, before: Option<&'a EndpointSlice>, after: Option<&'a EndpointSlice>| {
        ObjectChange {
            kind: "EndpointSlice",
            name,
            action,
            detail,
            before: before.map(ChangedObject::Slice),
            after: after.map(ChangedObject::Slice),
        }
    };
    // The findings are searched once, not for each slice.
    let endless = OnceCell::new();
    let mut all = Vec::new();
    for new in &slices.create {
        let name = format!("{}*", new.meta.generate_name);
        all.push(change(name, Verb::Create, difference::slice_in_short(new), None, Some(new)));
    }
    for new in &slices.update {
        let before = stored.get(&new.meta.name);
        let (action, detail) = match before {
            None => (Verb::Update, difference::slice_in_short(new)),
            Some(old) => {
                let text = || endless.get_or_init(|| endless_text(EndlessWrite::Slices, plan)).clone();
                updated(difference::slices(old, new), text)
            }
        };
        all.push(change(new.meta.name.to_string(), action, detail, before, Some(new)));
    }
    for (names, action) in [(&slices.delete, Verb::Delete), (&slices.unchanged, Verb::None)] {
        for name in names {
            let old = stored.get(name);
            let detail = old.map(difference::slice_in_short).unwrap_or_default();
            all.push(change(name.to_string(), action, detail, old, old.filter(|_| action == Verb::None)));
        }
    }
    all.into_iter()
}

/// The verb of an update. Without a difference it is a rewrite: the controllers do not notice that the object is
/// already stored, and will not notice it after the write either.
fn updated(difference: Option<ObjectDifference>, endless: impl FnOnce() -> String) -> (Verb, String) {
    match difference {
        Some(difference) => (Verb::Update, difference.text()),
        None => (Verb::Rewrite, endless()),
    }
}

/// Why upstream repeats a write, by the findings.
fn endless_text(kind: EndlessWrite, plan: &Plan) -> String {
    let found = |code: &Reason| plan.problems.iter().any(|p| p.code == *code);
    let codes: Vec<&str> =
        Reason::ALL.iter().filter(|c| c.endless() == Some(kind) && found(c)).map(|c| c.code()).collect();
    let colon = if codes.is_empty() { "" } else { ": " };
    format!("endless update by upstream{colon}{}", codes.join(", "))
}
