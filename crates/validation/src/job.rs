//! What an API server refuses of the spec of a Job, also of one that a CronJob makes.

use roster_engine::{model::dns, reason::Reason};

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, NOT_NEGATIVE, Presence, check_fields},
    job_policies,
    job_policies::is_indexed,
    labels,
};

/// Labels that an API server gives to a Job and its pods: the uid of the Job.
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
/// The same: its name.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

/// Most indexes that a Job of any kind may have in its status.
const MOST_INDEXES: i64 = 100_000;
/// Most pods at once, and most failed indexes, of a Job with more completions than [`MOST_INDEXES`].
const MOST_OF_LARGE: i64 = 10_000;
const MOST_MANAGER_CHARACTERS: usize = 63;

const JOB: &FieldRules = &[
    ("parallelism", Presence::Optional, NOT_NEGATIVE),
    ("completions", Presence::Optional, NOT_NEGATIVE),
    ("activeDeadlineSeconds", Presence::Optional, NOT_NEGATIVE),
    ("backoffLimit", Presence::Optional, NOT_NEGATIVE),
    ("ttlSecondsAfterFinished", Presence::Optional, NOT_NEGATIVE),
    ("backoffLimitPerIndex", Presence::Optional, NOT_NEGATIVE),
    ("maxFailedIndexes", Presence::Optional, NOT_NEGATIVE),
    ("completionMode", Presence::Nullable, FieldRule::OneOf(&["NonIndexed", "Indexed"])),
];

/// Checks the spec of a Job, apart from its selector. In a CronJob, an API server fills in less.
pub(super) fn check(spec: &Field<'_, '_>, of_cron_job: bool, faults: &mut Faults<'_>) {
    check_fields(spec, JOB, faults);
    check_manager(&spec.key("managedBy"), faults);
    if is_indexed(spec) {
        check_indexed(spec, of_cron_job, faults);
    } else {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
            let field = spec.key(name);
            if field.is_set() {
                field.refuse("it needs completionMode: Indexed", faults);
            }
        }
    }
    if spec.key("maxFailedIndexes").is_set() && !spec.key("backoffLimitPerIndex").is_set() {
        spec.key("backoffLimitPerIndex").require("maxFailedIndexes needs it", faults);
    }
    job_policies::check(spec, completions(spec, of_cron_job), faults);
}

/// The completions. An API server fills in 1 for a Job that has no parallelism either.
fn completions(spec: &Field<'_, '_>, of_cron_job: bool) -> Option<i64> {
    let is_filled_in = !of_cron_job && !spec.key("parallelism").is_set();
    spec.key("completions").number().or(is_filled_in.then_some(1))
}

fn check_indexed(spec: &Field<'_, '_>, of_cron_job: bool, faults: &mut Faults<'_>) {
    let (parallelism, failed) = (spec.key("parallelism"), spec.key("maxFailedIndexes"));
    let Some(all) = completions(spec, of_cron_job) else {
        return spec.key("completions").require("completionMode: Indexed needs it", faults);
    };
    let is_large = all > MOST_INDEXES && spec.key("backoffLimitPerIndex").is_set();
    if is_large && !failed.is_set() {
        failed.require(format!("more than {MOST_INDEXES} completions with backoffLimitPerIndex need it"), faults);
    }
    let most = if is_large { MOST_OF_LARGE } else { MOST_INDEXES };
    for (field, most) in [(parallelism, most), (failed, most.min(all))] {
        if let Some(number) = field.number().filter(|n| *n > most) {
            field.refuse(format!("{number} is more than {most}, the most for these completions"), faults);
        }
    }
}

/// The controller of the Job, as `example.com/controller`.
fn check_manager(name: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let Some(text) = name.as_text() else { return };
    let is_path = |path: &str| {
        !path.is_empty() && path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b))
    };
    let has_form =
        text.split_once('/').is_some_and(|(domain, path)| dns::is_subdomain(domain.as_bytes()) && is_path(path));
    if !has_form {
        name.refuse(format!("{} is not the name of a controller such as example.com/controller", quoted(text)), faults);
    } else if text.len() > MOST_MANAGER_CHARACTERS {
        name.refuse(format!("it has {} characters; {MOST_MANAGER_CHARACTERS} are allowed", text.len()), faults);
    }
}

/// Checks the selector of a Job that is not part of a CronJob.
pub(super) fn check_selector(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (selector, is_manual) = (spec.key("selector"), spec.key("manualSelector").is_true());
    labels::check_selector(&selector, faults);
    let labels = selector.key("matchLabels");
    if is_manual && !selector.is_set() {
        selector.require("with manualSelector, a Job needs a selector", faults);
    } else if !is_manual && labels.entries().any(|(key, _)| !is_generated(key)) {
        selector.refuse("an API server makes the selector of a Job, unless it has manualSelector: true", faults);
    }
    let template = spec.key("template");
    let metadata = template.key("metadata");
    if is_manual && selector.is_set() && !labels::selects(&selector, &metadata.key("labels")) {
        selector.refuse("it does not select the labels of the template", faults);
    }
}

/// Whether an API server makes a label.
fn is_generated(key: &str) -> bool {
    UID_LABELS.contains(&key) || NAME_LABELS.contains(&key)
}

/// Checks the labels of the template that an API server makes unless they are there (upstream's `validateGeneratedSelector`).
/// Nobody knows the uid or the generated name of a new Job, but one that was in a cluster has both.
pub(super) fn check_generated_labels(metadata: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if spec.key("manualSelector").is_true() {
        return;
    }
    let (uid, name) = (metadata.key("uid"), metadata.key("name"));
    for (key, label) in spec.key("template").key("metadata").key("labels").entries() {
        let (own, what) = if UID_LABELS.contains(&key) { (&uid, "uid") } else { (&name, "name") };
        if !is_generated(key) || (own.is_set() && label.text() == own.text()) {
            continue;
        }
        label.refuse(format!("an API server sets it to the {what} of the Job, and refuses another value"), faults);
    }
}

/// The name of a Job is a label of its pods, unless it says how these are selected; with an index, it is the hostname.
pub(super) fn check_name(name: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let text = name.text();
    if text.len() > dns::MAX_LABEL && !spec.key("manualSelector").is_true() {
        let message = format!("the name has {} characters; {} are allowed", text.len(), dns::MAX_LABEL);
        faults.add(Reason::InvalidName, name.at, message);
    }
    let last = completions(spec, false).filter(|n| *n > 0 && is_indexed(spec) && !text.is_empty());
    if let Some(hostname) = last.map(|n| format!("{text}-{}", n - 1)).filter(|name| !dns::is_label(name.as_bytes())) {
        let message = format!("{} would be the hostname of a pod, and is not a DNS label", quoted(&hostname));
        faults.add(Reason::InvalidName, name.at, message);
    }
}
