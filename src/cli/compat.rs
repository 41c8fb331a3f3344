//! `roster compat`: the releases that Roster can act like, and what differs between them.

use std::io::{self, Write};

use clap::Args;
use roster_engine::profile::{self, Difference, MEANINGS, Minor, Profile};
use serde::Serialize;
use serde_json::Value;

use super::{
    help_end::help_end,
    outcome::Outcome,
    output::{Output, OutputFormat},
    style::{BOLD, DIM},
    table::{Cell, Table},
};

/// List the Kubernetes releases that Roster knows, and their differences.
///
/// No release: the changes in each release. One release: all its switches. With --against: the differences between two
/// releases.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 success, 2 usage error.",
    "roster compat 1.30                        # all its switches",
    "roster compat 1.30 --against 1.37         # what differs between the two",
))]
pub(super) struct CompatArgs {
    /// A release, such as 1.30.
    minor: Option<Minor>,
    /// Show what differs between MINOR [default: the newest] and this release.
    #[arg(long, value_name = "MINOR")]
    against: Option<Minor>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

/// A release and its switches.
#[derive(Serialize)]
struct ReleaseProfile {
    minor: Minor,
    profile: &'static Profile,
}

/// All releases.
#[derive(Serialize)]
struct ReleaseList {
    default: Minor,
    items: Vec<ReleaseProfile>,
}

/// What differs between two releases.
#[derive(Serialize)]
struct ReleaseDifferences {
    from: Minor,
    to: Minor,
    differences: Vec<Difference>,
}

impl CompatArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let mut out = Output::stdout(self.output);
        match (self.minor, self.against) {
            (None, None) if self.output.is_table() => changes_of_each(&mut out)?,
            (None, None) => self.all(&mut out)?,
            (Some(minor), None) if self.output.is_table() => switches(&mut out, minor)?,
            (Some(minor), None) => out.document(self.output, &ReleaseProfile { minor, profile: minor.profile() })?,
            (from, Some(to)) => self.between(&mut out, from.unwrap_or_default(), to)?,
        }
        out.flush()?;
        Ok(Outcome::Success)
    }

    fn all(&self, out: &mut Output) -> anyhow::Result<()> {
        let items: Vec<ReleaseProfile> =
            Minor::all().map(|minor| ReleaseProfile { minor, profile: minor.profile() }).collect();
        if self.output == OutputFormat::Ndjson {
            return items.iter().try_for_each(|item| out.document(self.output, item));
        }
        out.document(self.output, &ReleaseList { default: Minor::default(), items })
    }

    fn between(&self, out: &mut Output, from: Minor, to: Minor) -> anyhow::Result<()> {
        let differences = profile::differences(from, to);
        if !self.output.is_table() {
            return out.document(self.output, &ReleaseDifferences { from, to, differences });
        }
        if differences.is_empty() {
            return Ok(writeln!(out, "{from} and {to} have the same switches")?);
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
        let changed = profile::differences(before, after);
        if changed.is_empty() {
            let nothing = Cell::styled("no difference", DIM);
            table.push([minor.into(), nothing, "".into(), "".into(), "".into()]);
            continue;
        }
        for d in changed {
            // Name each release only in its first row.
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

/// The value of a switch, for a table.
fn plain(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
