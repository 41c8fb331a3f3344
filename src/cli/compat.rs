//! `roster compat`: the releases with a profile, and what differs between them.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{
    Outcome, Output,
    output::Format,
    table::{BOLD, Cell, DIM, Table},
};
use crate::engine::compat::{self, Difference, MEANINGS, Minor, Profile};

/// List the Kubernetes releases that Roster can act like, and what differs.
///
/// Without a release: what each one changed. With one: all its switches. With --against: what differs between the two.
#[derive(Debug, Args)]
pub(super) struct Compat {
    /// A release, such as 1.30.
    minor: Option<Minor>,
    /// Show what differs between the release (or else the newest) and this one.
    #[arg(long, value_name = "MINOR")]
    against: Option<Minor>,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// A release and its switches.
#[derive(Serialize)]
struct Release {
    minor: Minor,
    profile: &'static Profile,
}

/// All releases.
#[derive(Serialize)]
struct All {
    default: Minor,
    items: Vec<Release>,
}

/// What differs between two releases.
#[derive(Serialize)]
struct Between {
    from: Minor,
    to: Minor,
    differences: Vec<Difference>,
}

impl Compat {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let mut out = Output::stdout(self.output);
        match (self.minor, self.against) {
            (None, None) if self.output.is_table() => changes_of_each(&mut out)?,
            (None, None) => self.all(&mut out)?,
            (Some(minor), None) if self.output.is_table() => switches(&mut out, minor)?,
            (Some(minor), None) => out.document(self.output, &Release { minor, profile: minor.profile() })?,
            (from, Some(to)) => self.between(&mut out, from.unwrap_or_default(), to)?,
        }
        out.flush()?;
        Ok(Outcome::Fine)
    }

    fn all(&self, out: &mut Output) -> anyhow::Result<()> {
        let items: Vec<Release> = Minor::all().map(|minor| Release { minor, profile: minor.profile() }).collect();
        if self.output == Format::Ndjson {
            return items.iter().try_for_each(|item| out.document(self.output, item));
        }
        out.document(self.output, &All { default: Minor::default(), items })
    }

    fn between(&self, out: &mut Output, from: Minor, to: Minor) -> anyhow::Result<()> {
        let differences = compat::differences(from, to);
        if !self.output.is_table() {
            return out.document(self.output, &Between { from, to, differences });
        }
        if differences.is_empty() {
            return Ok(writeln!(out, "{from} and {to} write the same")?);
        }
        let (before, after) = (from.to_string(), to.to_string());
        let mut table = Table::new(["SWITCH", &before, &after, "MEANING"]);
        for d in differences {
            table.push([d.switch.into(), plain(&d.from).into(), plain(&d.to).into(), d.meaning.into()]);
        }
        Ok(table.print(out, 0)?)
    }
}

/// What each release changed.
fn changes_of_each(out: &mut Output) -> io::Result<()> {
    let mut table = Table::new(["MINOR", "SWITCH", "BEFORE", "AFTER", "MEANING"]);
    for (before, after) in Minor::all().zip(Minor::all().skip(1)) {
        let mut minor = after.to_string();
        let changed = compat::differences(before, after);
        if changed.is_empty() {
            let nothing = Cell::styled("no difference", DIM);
            table.push([minor.into(), nothing, "".into(), "".into(), "".into()]);
            continue;
        }
        for d in changed {
            // Each release is named once.
            let minor = std::mem::take(&mut minor);
            table.push([minor.into(), d.switch.into(), plain(&d.from).into(), plain(&d.to).into(), d.meaning.into()]);
        }
    }
    let (oldest, newest, default) = (Minor::OLDEST, Minor::NEWEST, Minor::default());
    writeln!(out, "{BOLD}{oldest}{BOLD:#} to {BOLD}{newest}{BOLD:#}, default {default}. What each release changed:\n")?;
    table.print(out, 0)
}

/// All switches of a release.
fn switches(out: &mut Output, minor: Minor) -> anyhow::Result<()> {
    let profile = serde_json::to_value(minor.profile())?;
    let mut table = Table::new(["SWITCH", "VALUE", "MEANING"]);
    for (switch, meaning) in MEANINGS {
        table.push([(*switch).into(), plain(&profile[switch]).into(), (*meaning).into()]);
    }
    Ok(table.print(out, 0)?)
}

/// A value as people write it.
fn plain(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
