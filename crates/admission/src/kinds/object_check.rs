//! The checks of one kind of object: what a check sees, and how all of them run on a request.

use std::cell::OnceCell;

use roster_engine::model::{
    Labels,
    json::message::message,
    wire::{Present, nullable},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    decision::Decision,
    fault::{Fault, ObjectTraffic},
    findings::RuleFindings,
    knowledge::Knowledge,
    owner,
    request::{AdmissionRequest, Stage},
    rule::Rule,
    settings::Settings,
};

/// A kind of object, reduced to what the rules read.
pub(super) trait CheckedObject: DeserializeOwned + 'static {
    /// All checks of the kind.
    const CHECKS: &'static [ObjectCheck<Self>];

    /// Whether the object is being deleted.
    fn deleting(&self) -> bool;

    /// The traffic that the object sends to its addresses.
    fn traffic(&self) -> ObjectTraffic;

    /// Whether kube-controller-manager writes the object, and would overwrite a change forever. A label of the object
    /// does not prove it: any writer can set one.
    fn is_owned(_: &Subject<'_, Self>) -> bool {
        false
    }
}

/// A check, and the rules that it implements.
pub(super) struct ObjectCheck<T> {
    pub(super) rules: &'static [Rule],
    pub(super) check: fn(&Subject<'_, T>, &mut RuleFindings<'_>),
}

/// The object that a check looks at, and its surroundings.
pub(super) struct Subject<'a, T> {
    /// The object as it will be stored.
    pub(super) object: &'a T,
    /// Its raw text, for patches that depend on what exists.
    pub(super) raw: &'a RawValue,
    /// The object as it is stored.
    pub(super) stored: &'a StoredObject<'a, T>,
    /// Namespace of the request; an object may leave it out.
    pub(super) namespace: &'a str,
    /// Name of the request; an object may leave it out.
    pub(super) name: &'a str,
    /// The cluster around the object.
    pub(super) cluster: &'a dyn Knowledge,
}

/// The stored object, parsed on demand: a review of Endpoints carries two long lists, and mostly one of them is enough.
/// A stored object that cannot be parsed does not excuse any fault.
pub(super) struct StoredObject<'a, T> {
    raw: Option<&'a RawValue>,
    object: OnceCell<Option<T>>,
}

impl<T: DeserializeOwned> StoredObject<'_, T> {
    pub(super) fn get(&self) -> Option<&T> {
        self.object.get_or_init(|| self.raw.and_then(|raw| serde_json::from_str(raw.get()).ok())).as_ref()
    }
}

/// Metadata, reduced to what the rules read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CheckedMeta {
    #[serde(deserialize_with = "nullable")]
    pub(super) labels: Labels,
    #[serde(deserialize_with = "nullable")]
    pub(super) annotations: Labels,
    deletion_timestamp: Present,
}

impl CheckedMeta {
    pub(super) fn deleting(&self) -> bool {
        self.deletion_timestamp.0
    }
}

/// [`Rule::ManagedBy`]: a label that the stored object already has is not a fault of this writer.
pub(super) fn check_managed_by<T: CheckedObject>(
    subject: &Subject<'_, T>,
    meta: fn(&T) -> &CheckedMeta,
    owner: (&str, &[&str]),
    findings: &mut RuleFindings<'_>,
) {
    let Some(controller) = owner::managed_by(&meta(subject.object).labels, owner) else { return };
    let before = subject.stored.get().and_then(|stored| owner::managed_by(&meta(stored).labels, owner));
    if before != Some(controller) {
        findings.add(
            Rule::ManagedBy,
            Fault::Text(controller),
            format_args!("metadata.labels[{}]", owner.0),
            format_args!("names the built-in controller {controller}, but another user writes"),
        );
    }
}

/// Runs all checks of a kind. An error means that the object cannot be parsed.
pub(super) fn run<T: CheckedObject>(
    request: &AdmissionRequest<'_>,
    stage: Stage,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<Decision, String> {
    let applies = |check: &ObjectCheck<T>| check.rules.iter().any(|rule| settings.checks(*rule, stage));
    let Some(raw) = request.object else { return Ok(Decision::default()) };
    // The parser would also accept a list, as the fields in order.
    if !raw.get().starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    if !T::CHECKS.iter().any(applies) {
        return Ok(Decision::default());
    }
    let object: T = serde_json::from_str(raw.get()).map_err(|error| message(&error))?;
    let stored = StoredObject { raw: request.old_object, object: OnceCell::new() };
    let subject =
        Subject { object: &object, raw, stored: &stored, namespace: &request.namespace, name: &request.name, cluster };
    if stage == Stage::Mutate && (object.deleting() || T::is_owned(&subject)) {
        return Ok(Decision::default());
    }
    let check_all = |subject: &Subject<'_, T>, mut findings| {
        for check in T::CHECKS.iter().filter(|check| applies(check)) {
            (check.check)(subject, &mut findings);
        }
        findings
    };
    let mut findings = check_all(&subject, RuleFindings::new(settings, stage));
    // As in an API server, a stored fault may stay as it is. Otherwise a user could neither remove a finalizer nor correct
    // one of two faults.
    if stage == Stage::Validate
        && findings.refuse()
        && let Some(old) = stored.get()
        && let Some(raw) = stored.raw
    {
        let before = settings.before.as_deref().unwrap_or(settings);
        let before =
            check_all(&Subject { object: old, raw, ..subject }, RuleFindings::of_stored(before, old.traffic()));
        findings = check_all(&subject, before.of_successor(settings, &object.traffic()));
    }
    Ok(Decision::of(findings, stage))
}
