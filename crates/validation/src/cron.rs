//! The schedule of a CronJob.

use std::ops::RangeInclusive;

/// A field of a schedule.
struct ScheduleField {
    name: &'static str,
    range: RangeInclusive<u32>,
    /// Names of the numbers, from the first of the range.
    words: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [ScheduleField; 5] = [
    ScheduleField { name: "minute", range: 0..=59, words: &[] },
    ScheduleField { name: "hour", range: 0..=23, words: &[] },
    ScheduleField { name: "day of the month", range: 1..=31, words: &[] },
    ScheduleField { name: "month", range: 1..=12, words: MONTHS },
    ScheduleField { name: "day of the week", range: 0..=6, words: DAYS },
];

/// Words that stand for a whole schedule. `@every` stands before a duration.
const DESCRIPTORS: [&str; 8] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every"];

/// Why a text is not a schedule.
pub(super) fn not_schedule(schedule: &str) -> Option<String> {
    if schedule.trim().is_empty() {
        return Some("it is empty".to_owned());
    }
    if schedule.contains("TZ=") {
        return Some("the time zone belongs to the field timeZone".to_owned());
    }
    if schedule.starts_with('@') {
        return not_descriptor(schedule);
    }
    let given: Vec<&str> = schedule.split_whitespace().collect();
    if given.len() != FIELDS.len() {
        return Some(format!(
            "it has {} fields instead of five: minute, hour, day of the month, month, day of the week",
            given.len()
        ));
    }
    FIELDS.iter().zip(given).find_map(|(field, text)| {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let why = parts.into_iter().find_map(|part| field.refuses(part))?;
        Some(format!("the {} {text} {why}", field.name))
    })
}

fn not_descriptor(schedule: &str) -> Option<String> {
    let (word, duration) = schedule.split_once(' ').map_or((schedule, None), |(word, rest)| (word, Some(rest)));
    let is_known = DESCRIPTORS.contains(&word) && duration.is_some() == (word == "@every");
    if !is_known {
        return Some("the words are @yearly, @monthly, @weekly, @daily, @hourly and @every with a duration".to_owned());
    }
    let is_duration =
        duration.is_none_or(|text| text.bytes().any(|b| b.is_ascii_digit()) && text.ends_with(['h', 'm', 's']));
    (!is_duration).then(|| "@every needs a duration such as 1h30m".to_owned())
}

impl ScheduleField {
    /// Why a part of the field, such as `1-5/2`, is refused.
    fn refuses(&self, part: &str) -> Option<String> {
        let mut steps = part.split('/');
        let (range, step) = (steps.next().unwrap_or_default(), steps.next());
        if steps.next().is_some() {
            return Some("has more than one /".to_owned());
        }
        match step.map(str::parse::<u32>) {
            Some(Err(_)) => return Some("has a step that is not a number".to_owned()),
            Some(Ok(0)) => return Some("has a step of 0".to_owned()),
            _ => {}
        }
        let mut ends = range.split('-');
        let (first, last) = (ends.next().unwrap_or_default(), ends.next());
        if matches!(first, "*" | "?") {
            return None;
        }
        if ends.next().is_some() {
            return Some("has more than one -".to_owned());
        }
        let (Some(from), Some(to)) = (self.number(first), self.number(last.unwrap_or(first))) else {
            return Some("is not a number".to_owned());
        };
        let (least, most) = (self.range.start(), self.range.end());
        if from < *least || to > *most {
            Some(format!("is not from {least} to {most}"))
        } else if from > to {
            Some("ends before it begins".to_owned())
        } else {
            None
        }
    }

    fn number(&self, text: &str) -> Option<u32> {
        let word = self.words.iter().zip(*self.range.start()..).find(|(word, _)| word.eq_ignore_ascii_case(text));
        word.map(|(_, number)| number).or_else(|| text.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As kube-apiserver 1.37 answers.
    #[test]
    fn schedules_are_those_of_an_api_server() {
        for (schedule, want) in [
            ("* * * * *", true),
            ("@daily", true),
            ("@every 1h", true),
            ("0 0 * * MON-FRI", true),
            ("0 0 1 jan ?", true),
            ("1/5 * * * *", true),
            ("1,2,3-4/2 * * * *", true),
            ("1,2, * * * *", true),
            ("  0  0 * * *  ", true),
            ("*/100 * * * *", true),
            ("*-5 * * * *", true),
            ("+5 * * * *", true),
            ("0 0 * * sun-sat", true),
            ("?/2 * * * *", true),
            ("every day", false),
            ("@every x", false),
            ("@every", false),
            ("@foo", false),
            ("@Daily", false),
            ("0 * * * * *", false),
            ("* * * *", false),
            ("", false),
            ("60 * * * *", false),
            ("0 0 * * 7", false),
            ("0 0 * * 5-7", false),
            ("0 0 0 * *", false),
            ("*/0 * * * *", false),
            ("5-1 * * * *", false),
            ("0 0 L * *", false),
            ("H * * * *", false),
            ("TZ=UTC * * * * *", false),
            ("CRON_TZ=UTC 0 0 * * *", false),
            ("1-2-3 * * * *", false),
            ("1/2/3 * * * *", false),
            ("-5 * * * *", false),
            ("0 0 * * monday", false),
        ] {
            assert_eq!(not_schedule(schedule).is_none(), want, "{schedule:?}: {:?}", not_schedule(schedule));
        }
    }
}
