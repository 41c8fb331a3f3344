//! The findings about several objects together: Services and workloads, what is stored of them, and objects that are written
//! more than once.

use std::collections::BTreeMap;

use roster_engine::{
    model::ObjectKey,
    phrase::counted,
    reason::{Finding, Reason, Severity},
};
use roster_manifests::{
    decode::{self, DecodeError, Document},
    inventory::{
        Inventory,
        workloads::{ComparedObjects, Comparison, ObjectDocuments, UnreadIndex},
    },
    units::Units,
};

use crate::{
    finding_room::FindingRoom,
    options::LintOptions,
    referring::{self, ClosedWebhook},
    reviewed_object::ReviewedObject,
    rule::{LintRule, RuleFault},
    stale_findings,
    unread_of_unit::UnreadOfUnit,
};

/// All objects of an input, and where they are.
pub(crate) struct ComparedInput<'i> {
    pub(crate) inventory: &'i Inventory,
    pub(crate) documents: &'i ObjectDocuments,
    pub(crate) units: &'i Units,
}

/// Adds the findings to the objects that they are about.
pub(crate) fn add(
    items: &mut [ReviewedObject<'_>],
    options: &LintOptions<'_>,
    input: &ComparedInput<'_>,
) -> Result<(), DecodeError> {
    let defaults = options.source.defaults;
    let outcomes = input.inventory.outcomes_of_units(&defaults, input.documents, input.units);
    let unrendered: Vec<bool> = items.iter().map(|item| item.is_listed).collect();
    let in_tests: Vec<bool> = items.iter().map(|item| item.is_test).collect();
    let unread = UnreadIndex::new(&input.inventory.unread);
    let objects = ComparedObjects {
        services: &input.inventory.services,
        pods: &input.inventory.pods,
        workloads: &input.inventory.workloads,
        autoscalers: &input.inventory.autoscalers,
        outcomes: &outcomes,
        custom_resources: &input.inventory.custom_resources,
        unread: &input.inventory.unread,
        assumed_namespace: defaults.namespace().unwrap_or_default(),
        documents: input.documents,
        units: input.units,
        unrendered: &unrendered,
        in_tests: &in_tests,
    };
    let comparison = Comparison::new(&objects, &unread);
    options.source.check_interrupt()?;
    let found = comparison.findings();
    options.source.check_interrupt()?;
    let of_rules = of_rules(items, options, &comparison, input.units, &unread)?;
    options.source.check_interrupt()?;
    let mut findings_of: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
    for (document, finding) in found.into_iter().chain(repeated(items, options)) {
        findings_of.entry(document).or_default().push(finding);
    }
    let mut room = FindingRoom::new(options.max_findings);
    for (place, found) in findings_of {
        let item = &mut items[place];
        let before = item.count();
        item.add_workload_findings(found.iter());
        item.keep_within(&mut room, before);
    }
    for of_item in of_rules.chunk_by(|a, b| a.1.document == b.1.document) {
        let item = &mut items[of_item[0].1.document];
        let before = item.count();
        item.add_lint_findings(of_item);
        item.keep_within(&mut room, before);
    }
    note_units(items, input.units);
    add_stale(items, options, input, &unread)
}

/// What the rules of the linter find, in the order of the documents.
fn of_rules<'a>(
    items: &[ReviewedObject<'_>],
    options: &LintOptions<'_>,
    comparison: &'a Comparison<'a>,
    units: &Units,
    unread: &UnreadIndex<'_>,
) -> Result<Vec<(&'static LintRule, RuleFault)>, DecodeError> {
    let most = options.max_findings.saturating_mul(2);
    let mut objects = referring::read(items, options.namespace, most, comparison);
    objects.webhooks = closed_webhooks(items, options, units, unread)?;
    let of_rule = |rule: &&'static LintRule| {
        let rule = *rule;
        rule.faults(&objects).into_iter().map(move |fault| (rule, fault))
    };
    let mut found: Vec<_> = LintRule::ALL.iter().flat_map(of_rule).collect();
    found.sort_by_key(|(_, fault)| fault.document);
    Ok(found)
}

/// The webhooks that fail closed, with whether their Services serve them, as their units show it.
fn closed_webhooks(
    items: &[ReviewedObject<'_>],
    options: &LintOptions<'_>,
    units: &Units,
    unread: &UnreadIndex<'_>,
) -> Result<Vec<ClosedWebhook>, DecodeError> {
    let (mut all, mut start) = (Vec::new(), 0);
    while start < items.len() {
        let unit = units.unit(start);
        let mut webhooks = referring::closed_webhooks(items, unit.clone());
        if !webhooks.is_empty() {
            options.source.check_interrupt()?;
            let of_unit = &items[unit.clone()];
            let unread = UnreadOfUnit::new(of_unit, unit.start, options.namespace, unread);
            referring::find_unserved(&mut webhooks, of_unit, inventory_of(of_unit, options)?, &unread, options);
            all.append(&mut webhooks);
        }
        start = unit.end.max(start + 1);
    }
    Ok(all)
}

/// Notes in which unit each object is.
fn note_units(items: &mut [ReviewedObject<'_>], units: &Units) {
    for (place, item) in items.iter_mut().enumerate() {
        item.unit = units.unit(place).start;
    }
}

/// Adds what of stored objects does not hold any more, as their units show it. Beside the objects of a cluster, the input is one
/// unit: all of it is written to that cluster.
fn add_stale(
    items: &mut [ReviewedObject<'_>],
    options: &LintOptions<'_>,
    input: &ComparedInput<'_>,
    unread: &UnreadIndex<'_>,
) -> Result<(), DecodeError> {
    if input.inventory.endpoints.is_empty() && input.inventory.slices.is_empty() {
        return Ok(());
    }
    if !options.stored.is_empty() {
        stale_findings::add(items, 0..items.len(), options, input.inventory, None);
        return Ok(());
    }
    let mut start = 0;
    while start < items.len() {
        options.source.check_interrupt()?;
        let unit = input.units.unit(start);
        let has_stored = |item: &ReviewedObject<'_>| ["Endpoints", "EndpointSlice"].contains(&item.key.kind.as_str());
        if unit.len() == items.len() {
            stale_findings::add(items, unit.clone(), options, input.inventory, None);
        } else if items[unit.clone()].iter().any(has_stored) {
            let of_unit = &items[unit.clone()];
            let unread = UnreadOfUnit::new(of_unit, unit.start, options.namespace, unread);
            let inventory = inventory_of(of_unit, options)?;
            stale_findings::add(items, unit.clone(), options, &inventory, Some(&unread));
        }
        start = unit.end.max(start + 1);
    }
    Ok(())
}

/// The objects of a unit.
fn inventory_of(items: &[ReviewedObject<'_>], options: &LintOptions<'_>) -> Result<Inventory, DecodeError> {
    let mut inventory = Inventory::default();
    for of_file in items.chunk_by(|a, b| a.file == b.file) {
        let Some(first) = of_file.first() else { continue };
        let documents: Vec<Document<'_>> = of_file.iter().map(|item| item.document.clone()).collect();
        decode::objects(&documents, &options.source_of(first.file), &mut inventory, |_, _| {})?;
    }
    Ok(inventory)
}

/// The findings about objects that are written more than once: in one file, where the last one counts, or in several, which
/// are versions or copies.
fn repeated(items: &[ReviewedObject<'_>], options: &LintOptions<'_>) -> Vec<(usize, Finding)> {
    let mut places: Vec<((ObjectKey, &str), usize)> = Vec::new();
    for (place, item) in items.iter().enumerate().filter(|(_, item)| is_named(item)) {
        // Another group may have a kind of the same name.
        places.push(((item.key.clone().placed(options.namespace), item.api_group()), place));
    }
    places.sort_unstable();
    let mut findings = Vec::new();
    // How many objects of the second file the first one has, and where the first of them is.
    let mut copies: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for alike in places.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        let of_files: Vec<&[(_, usize)]> = alike.chunk_by(|a, b| items[a.1].file == items[b.1].file).collect();
        findings.extend(
            of_files.iter().filter_map(|of_file| repeated_in_file(items, of_file.iter().map(|(_, place)| *place))),
        );
        let first = of_files[0][0].1;
        for (_, place) in of_files[1..].iter().map(|of_file| &of_file[0]) {
            let copy = copies.entry((items[first].file, items[*place].file)).or_insert((0, *place));
            *copy = (copy.0 + 1, copy.1.min(*place));
        }
    }
    for ((file, copy), (count, place)) in copies {
        let verb = if count == 1 { "is" } else { "are" };
        let message = format!("{} of {copy} {verb} also in {file}", counted(count, "object"));
        let finding = Finding::new(Reason::DuplicateObject, items[place].key.clone(), message);
        findings.push((place, Finding { severity: Severity::Info, ..finding }));
    }
    findings
}

/// The finding about an object that a file has at several places.
fn repeated_in_file(items: &[ReviewedObject<'_>], places: impl Iterator<Item = usize>) -> Option<(usize, Finding)> {
    /// Most places that are named.
    const NAMED: usize = 100;
    let places: Vec<usize> = places.collect();
    let (last, others) = places.split_last().filter(|(_, others)| !others.is_empty())?;
    let at = |place: &usize| format!("{}:{}", items[*place].file, items[*place].document.line);
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more place")),
    };
    let named: Vec<String> = others.iter().take(NAMED).map(at).collect();
    let key = items[*last].key.clone();
    let message = format!("{key} is also at {}{more}; the last one counts", named.join(", "));
    let is_same = others.iter().all(|other| items[*other].document.raw.get() == items[*last].document.raw.get());
    // A test may compare an object with a later one.
    let severity = if is_same || items[*last].is_test { Severity::Info } else { Reason::DuplicateObject.severity() };
    Some((*last, Finding { severity, ..Finding::new(Reason::DuplicateObject, key, message) }))
}

/// Whether the object has a name of its own. Of two with one `generateName`, none replaces the other.
fn is_named(item: &ReviewedObject<'_>) -> bool {
    !item.key.name.is_empty() && !item.document.identity().is_name_generated
}
