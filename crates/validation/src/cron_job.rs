//! What an API server refuses of the spec of a CronJob.

use super::{
    cron,
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, NOT_NEGATIVE, Presence, check_fields},
    job,
};

const CRON_JOB: &FieldRules = &[
    ("concurrencyPolicy", Presence::Optional, FieldRule::OneOf(&["Allow", "Forbid", "Replace"])),
    ("startingDeadlineSeconds", Presence::Optional, NOT_NEGATIVE),
    ("successfulJobsHistoryLimit", Presence::Optional, NOT_NEGATIVE),
    ("failedJobsHistoryLimit", Presence::Optional, NOT_NEGATIVE),
];

pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(spec, CRON_JOB, faults);
    let schedule = spec.key("schedule");
    if let Some(why) = schedule.as_text().and_then(cron::not_schedule) {
        schedule.refuse(format!("{} is not a schedule: {why}", quoted(schedule.text())), faults);
    }
    let zone = spec.key("timeZone");
    if zone.as_text().is_some_and(|name| !may_be_time_zone(name)) {
        let message = format!("{} is not the name of a time zone, such as Europe/Paris", quoted(zone.text()));
        zone.refuse(message, faults);
    }
    let template = spec.key("jobTemplate");
    let job = template.key("spec");
    // The schema reports a template that is missing.
    if template.is_set() && !job.is_set() {
        return job.require("the template has no spec", faults);
    }
    check_job(&job, faults);
}

fn check_job(job: &Field<'_, '_>, faults: &mut Faults<'_>) {
    job::check(job, true, faults);
    let (selector, manual) = (job.key("selector"), job.key("manualSelector"));
    if selector.is_set() {
        selector.refuse("an API server makes the selector of each Job", faults);
    }
    if manual.is_true() {
        manual.refuse("an API server makes the selector of each Job", faults);
    }
}

/// Whether a text has the form of a name in the database of time zones. Each release has a newer one, so that the names
/// are not compared.
fn may_be_time_zone(name: &str) -> bool {
    const MOST: usize = 14;
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_+-.".contains(&b);
    let is_part = |part: &str| {
        (1..=MOST).contains(&part.len())
            && !matches!(part, "." | "..")
            && !part.starts_with('-')
            && part.bytes().all(is_allowed)
    };
    name.split('/').all(is_part) && !name.eq_ignore_ascii_case("Local")
}
