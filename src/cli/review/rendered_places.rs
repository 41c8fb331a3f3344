//! Findings about rendered objects, placed where these are written.

use std::collections::HashMap;

use roster_engine::model::HashSeed;
use roster_lint::{FileFinding, Report};

use crate::cli::render::{RenderedField, RenderedUnit};

/// Adds to each finding about a rendered object where it is written, as far as that is known.
pub(super) fn add<'a>(input: &mut Report<'a>, units: &'a [RenderedUnit]) {
    if units.is_empty() {
        return;
    }
    let mut by_file: HashMap<&str, Vec<&mut FileFinding<'a>>, HashSeed> = HashMap::default();
    for object in &mut input.objects {
        for finding in object.input_findings.iter_mut().chain(&mut object.rule_findings) {
            by_file.entry(finding.file).or_default().push(finding);
        }
    }
    for unit in units {
        let findings = by_file.remove(unit.name.as_str()).unwrap_or_default();
        let fields: Vec<RenderedField<'_>> =
            findings.iter().map(|finding| RenderedField { line: finding.line, field: &finding.field }).collect();
        let places = unit.places_of(&fields);
        for (finding, place) in findings.into_iter().zip(places) {
            finding.source = place;
        }
    }
}
