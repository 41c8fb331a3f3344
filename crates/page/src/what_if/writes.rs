//! What the controllers write differently after a change.

use roster_engine::{
    compare::{self, Deviation, Verb},
    state::Controller,
};
use roster_manifests::inventory::{Entry, whole};

use super::Before;
use crate::{cluster::Cluster, html::Html, limits::MAX_ROWS};

/// Writes what is written before and after a change, where that differs.
pub(super) fn write(html: &mut Html, before: &Before<'_, '_>, after: &Cluster<'_>, entry: &Entry<'_>) {
    let old = whole::plan_of(before.cluster.index, before.entry, &Controller::ALL, &before.cluster.options);
    let new = whole::plan_of(after.index, entry, &Controller::ALL, &after.options);
    let deviations = compare::deviations(&after.index.state(entry), &old, &new);
    html.leaf("h3", &[], "What the controllers write differently");
    if deviations.is_empty() {
        return html.leaf("p", &[("class", "note")], "Nothing.");
    }
    html.element("ul", &[("class", "causes")], |html| {
        for deviation in deviations.iter().take(MAX_ROWS) {
            html.element("li", &[], |html| {
                html.leaf("b", &[], format_args!("{} {}", deviation.kind, deviation.name));
                html.text(": ");
                html.text(text(deviation));
            });
        }
    });
}

/// `before: nothing to write; now: update, removes 10.0.0.1`.
fn text(Deviation { compat, against, detail, .. }: &Deviation) -> String {
    let part = |part: &str| match (part.strip_prefix("- "), part.strip_prefix("+ ")) {
        (Some(removed), _) => format!(", removes {removed}"),
        (_, Some(added)) => format!(", adds {added}"),
        _ => format!(", {part}"),
    };
    let parts: String = detail.split("; ").filter(|part| !part.is_empty()).map(part).collect();
    format!("before: {}; now: {}{parts}", verb(*compat), verb(*against))
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::None => "nothing to write",
        other => other.word(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_difference_is_a_sentence() {
        for (compat, against, detail, want) in [
            (Verb::None, Verb::Update, "- 10.0.0.1", "before: nothing to write; now: update, removes 10.0.0.1"),
            (
                Verb::Update,
                Verb::Update,
                "+ 10.0.0.2 (b); ready -> not ready: 10.0.0.1 (a)",
                "before: update; now: update, adds 10.0.0.2 (b), ready -> not ready: 10.0.0.1 (a)",
            ),
            (Verb::Delete, Verb::None, "", "before: delete; now: nothing to write"),
        ] {
            let (name, detail) = (String::new(), detail.to_owned());
            let deviation = Deviation { kind: "Endpoints", name, compat, against, detail, aspects: BTreeSet::new() };
            assert_eq!(text(&deviation), want);
        }
    }
}
