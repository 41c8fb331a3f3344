//! The tab `What if`: the changes, what they do, and the pictures before and after.

use roster_engine::{
    phrase::counted,
    plan::selected_pods,
    profile::Minor,
    reason::{Finding, Reason},
    state::Options,
};
use roster_manifests::inventory::{Entry, Inventory};

use super::{
    Change,
    change::changed,
    difference::{self, DifferenceCause, DifferenceGroup, Effect},
    form::Choices,
    refusal, unserved, writes,
};
use crate::{
    PageFault,
    cluster::{self, Cluster, Explained},
    code_note::reason_note,
    html::{Attribute, Html},
    limits::MAX_CHOICES,
    patch::Patch,
    picture,
    plain_words::PlainWords,
    service_line::ServiceLine,
    services,
};

/// What a what-if starts from.
pub(crate) struct Before<'a, 'c> {
    /// The text of the objects.
    pub(crate) text: &'a str,
    pub(crate) objects: &'a Inventory,
    pub(crate) cluster: &'a Cluster<'c>,
    pub(crate) entry: &'a Entry<'a>,
    pub(crate) explained: &'a Explained,
    pub(crate) lines: &'a [ServiceLine],
}

/// What a what-if comes to.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The changes that are made, if some are refused.
    pub(crate) kept: Option<Vec<Change>>,
    /// The Service after the changes, if there are any.
    pub(crate) after: Option<After>,
}

/// A Service after changes.
pub(crate) struct After {
    pub(crate) explained: Explained,
    /// Why pods have no traffic then, in sentences: first what the changes broke.
    pub(crate) why: Vec<String>,
    /// The findings about the objects that are not shown with a Service.
    pub(crate) other_findings: Vec<Finding>,
}

/// Writes the tab.
pub(crate) fn write(
    html: &mut Html,
    before: &Before<'_, '_>,
    changes: &[Change],
    against: Option<Minor>,
) -> Result<Outcome, PageFault> {
    let release = before.cluster.options.compat;
    let against = against.filter(|against| *against != release);
    let (made, refused): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|one| one.applies(before.objects));
    for change in &refused {
        html.leaf("p", &[("class", "problem")], refusal::of(change, before.objects));
    }
    let kept = (!refused.is_empty()).then(|| made.iter().copied().cloned().collect());
    if made.is_empty() && against.is_none() {
        let note = "Change something, and see what becomes of the traffic. The objects stay as they are.";
        html.leaf("p", &[("class", "note")], note);
        write_forms(html, before, against, true);
        return Ok(Outcome { kept, after: None });
    }
    let objects = changed(&made, before.text, before.objects, before.cluster.source)?;
    html.element("ul", &[("class", "changes")], |html| {
        for (place, change) in made.iter().enumerate() {
            html.element("li", &[], |html| write_change(html, change, place));
        }
        if let Some(against) = against {
            let undo = Patch::one("against", release.to_string().into()).to_string();
            html.element("li", &[], |html| {
                html.text(format_args!("Kubernetes {against} instead of {release} "));
                html.leaf("button", &[("type", "button"), ("data-set", &undo)], "Undo");
            });
        }
    });
    write_forms(html, before, against, false);
    let options = Options { compat: against.unwrap_or(release), ..before.cluster.options };
    let index = cluster::index(&objects);
    let after = Cluster::new(&objects, &index, options, before.cluster.source);
    let Some(entry) = after.service(&format!("{}/{}", before.entry.namespace, before.entry.name)) else {
        html.leaf("p", &[], "The Service does not exist any more.");
        return Ok(Outcome { kept, after: None });
    };
    let explained = explain(before, &after, entry);
    write_result(html, before, &after, entry, &explained);
    let mut why = unserved::sentences(&before.explained.explanation, &explained.explanation);
    if why.is_empty() {
        why.extend(PlainWords::of(&explained).why);
    }
    Ok(Outcome { kept, after: Some(After { explained, why, other_findings: after.other_findings() }) })
}

/// Explains a Service after the changes. Nobody has written what the controllers would write then, so that the stored objects
/// differ from it says nothing.
fn explain(before: &Before<'_, '_>, after: &Cluster<'_>, entry: &Entry<'_>) -> Explained {
    let mut explained = after.explain(entry);
    let has_differed = before.explained.explanation.reasons.iter().any(|cause| cause.code == Reason::StoredDiffers);
    explained.explanation.reasons.retain(|cause| has_differed || cause.code != Reason::StoredDiffers);
    explained
}

/// Writes the forms that add a change.
fn write_forms(html: &mut Html, before: &Before<'_, '_>, against: Option<Minor>, is_open: bool) {
    let state = before.cluster.index.state(before.entry);
    let selected = selected_pods(&state);
    let release = before.cluster.options.compat;
    let choices = Choices { objects: before.objects, entry: before.entry, selected: &selected, release, against };
    let open: &[Attribute<'_>] = if is_open { &[("class", "change"), ("open", "")] } else { &[("class", "change")] };
    html.element("details", open, |html| {
        html.leaf("summary", &[], if is_open { "Change something" } else { "Change something else" });
        choices.write(html);
    });
}

fn write_change(html: &mut Html, change: &Change, place: usize) {
    html.text(change.text());
    html.text(" ");
    let label = format!("Undo: {}", change.text());
    html.leaf("button", &[("type", "button"), ("data-remove", &place.to_string()), ("aria-label", &label)], "Undo");
}

/// Writes what the changes do.
fn write_result(
    html: &mut Html,
    before: &Before<'_, '_>,
    after: &Cluster<'_>,
    entry: &Entry<'_>,
    explained: &Explained,
) {
    let (old, new) = (PlainWords::of(before.explained), PlainWords::of(explained));
    html.element("div", &[("class", "outcome")], |html| {
        html.element("p", &[], |html| {
            html.leaf("strong", &[], "Before: ");
            html.text(&old.account);
        });
        html.element("p", &[("class", "account")], |html| {
            html.leaf("strong", &[], "After: ");
            html.text(&new.account);
        });
    });
    html.leaf("h3", &[], "What changes for pods");
    let groups = difference::groups(&before.explained.explanation, &explained.explanation);
    if groups.is_empty() {
        html.leaf("p", &[("class", "note")], "Nothing changes for the pods of this Service.");
    }
    html.element("ul", &[("class", "causes")], |html| {
        for group in &groups {
            html.element("li", &[], |html| write_group(html, group));
        }
    });
    writes::write(html, before, after, entry);
    others(html, before.lines, &services::lines(after), entry);
    html.leaf("h3", &[], "After");
    picture::write(html, &picture::of(after, entry, &explained.explanation, None));
    html.leaf("h3", &[], "Before");
    picture::write(html, &picture::of(before.cluster, before.entry, &before.explained.explanation, None));
}

fn write_group(html: &mut Html, group: &DifferenceGroup) {
    let count = counted(group.pod_ports, "pod port");
    let (class, effect) = match group.effect {
        Effect::Lost => ("error", format!("{count} without traffic now")),
        Effect::Gained => ("ok", format!("{count} with traffic now")),
        Effect::Other => ("info", format!("{count} in another state, and without a change of traffic")),
    };
    html.element("p", &[], |html| {
        html.leaf("b", &[("class", class)], effect);
        match (group.effect, group.cause) {
            (Effect::Gained, DifferenceCause::NotSelected) => html.text(": the selector matches the pod now"),
            (_, DifferenceCause::NotSelected) => html.text(": the selector does not match the pod any more"),
            (Effect::Gained, DifferenceCause::Code(_)) => html.text(". What was in the way:"),
            (_, DifferenceCause::Code(_)) => {}
        }
    });
    if let DifferenceCause::Code(code) = group.cause {
        reason_note(html, code, code.severity());
        if !group.detail.is_empty() {
            html.leaf("p", &[], &group.detail);
        }
    }
    let more = group.pod_ports - group.named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    html.leaf("p", &[("class", "note")], format_args!("{}{more}", group.named.join(", ")));
}

/// The other Services that change.
fn others(html: &mut Html, before: &[ServiceLine], after: &[ServiceLine], entry: &Entry<'_>) {
    let title = format!("{}/{}", entry.namespace, entry.name);
    let sorted = |lines: &[ServiceLine]| {
        let mut all: Vec<(String, String)> =
            lines.iter().filter_map(|line| Some((line.title(), line.known.as_ref()?.served.clone()))).collect();
        all.sort_unstable();
        all
    };
    let (old, new) = (sorted(before), sorted(after));
    let change = |(name, served): &(String, String)| {
        let place = new.binary_search_by(|(other, _)| other.cmp(name)).ok()?;
        let now = &new[place].1;
        (now != served && *name != title).then(|| (name.clone(), served.clone(), now.clone()))
    };
    let changed: Vec<(String, String, String)> = old.iter().filter_map(change).collect();
    if changed.is_empty() {
        return;
    }
    html.leaf("h3", &[], "Other Services that change");
    html.element("ul", &[("class", "causes")], |html| {
        for (name, was, now) in changed.iter().take(MAX_CHOICES) {
            let patch = Patch::service(name).to_string();
            html.element("li", &[], |html| {
                html.leaf("button", &[("type", "button"), ("data-set", &patch)], name);
                html.text(format_args!(" {was} → {now}"));
            });
        }
    });
    if let Some(more) = changed.len().checked_sub(MAX_CHOICES).filter(|more| *more > 0) {
        html.leaf("p", &[("class", "more")], format_args!("and {}", counted(more, "more Service")));
    }
}
