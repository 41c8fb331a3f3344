//! `roster compat`: the releases with a profile, and what differs between them.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{
    Outcome, Output,
    output::Format,
    table::{BOLD, DIM, Table},
};
use crate::compat::{Minor, Profile};

/// List the Kubernetes releases that Roster can act like, and what differs.
///
/// Without a release: what each one changed. With one: all its switches. With --against: what differs between the two.
#[derive(Debug, Args)]
pub(super) struct Compat {
    /// A release, such as 1.30.
    minor: Option<Minor>,
    /// Show what differs between the release (default: the newest) and this one.
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

/// One switch that differs.
#[derive(Serialize)]
struct Difference {
    switch: String,
    before: Value,
    after: Value,
}

/// What differs between two releases.
#[derive(Serialize)]
struct Comparison {
    compat: Minor,
    against: Minor,
    differences: Vec<Difference>,
}

/// All releases.
#[derive(Serialize)]
struct Releases {
    default: Minor,
    items: Vec<Release>,
}

impl Compat {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let mut out = Output::stdout(self.output);
        match (self.minor, self.against) {
            (None, None) => self.all(&mut out)?,
            (Some(minor), None) => self.one(&mut out, minor)?,
            (from, Some(to)) => self.two(&mut out, from.unwrap_or_default(), to)?,
        }
        out.flush()?;
        Ok(Outcome::Fine)
    }

    fn all(&self, out: &mut Output) -> anyhow::Result<()> {
        let items: Vec<Release> = Minor::all().map(|minor| Release { minor, profile: minor.profile() }).collect();
        match self.output {
            Format::Ndjson => items.iter().try_for_each(|item| out.document(self.output, item)),
            Format::Json | Format::Yaml => out.document(self.output, &Releases { default: Minor::NEWEST, items }),
            Format::Table | Format::Wide => {
                let mut table = Table::new(["MINOR", "SWITCH", "BEFORE", "AFTER"]);
                for pair in items.windows(2) {
                    let [before, after] = pair else { continue };
                    let changed = differences(before.profile, after.profile)?;
                    if changed.is_empty() {
                        table.push([after.minor.to_string().into(), cell_dim("no difference"), "".into(), "".into()]);
                    }
                    for (n, d) in changed.into_iter().enumerate() {
                        let minor = if n == 0 { after.minor.to_string() } else { String::new() };
                        table.push([minor.into(), d.switch.into(), plain(&d.before).into(), plain(&d.after).into()]);
                    }
                }
                writeln!(
                    out,
                    "Roster acts like {BOLD}{}{BOLD:#} to {BOLD}{}{BOLD:#}; default: {}. What each release changed:\n",
                    Minor::OLDEST,
                    Minor::NEWEST,
                    Minor::default()
                )?;
                let width = out.width();
                Ok(table.print(out, 0, width)?)
            }
        }
    }

    fn one(&self, out: &mut Output, minor: Minor) -> anyhow::Result<()> {
        let release = Release { minor, profile: minor.profile() };
        if !self.output.is_table() {
            return out.document(self.output, &release);
        }
        let mut table = Table::new(["SWITCH", "VALUE"]);
        for (switch, value) in switches(release.profile)? {
            table.push([switch.into(), plain(&value).into()]);
        }
        let width = out.width();
        Ok(table.print(out, 0, width)?)
    }

    fn two(&self, out: &mut Output, compat: Minor, against: Minor) -> anyhow::Result<()> {
        let differences = differences(compat.profile(), against.profile())?;
        if !self.output.is_table() {
            return out.document(self.output, &Comparison { compat, against, differences });
        }
        if differences.is_empty() {
            return Ok(writeln!(out, "{compat} and {against} write the same.")?);
        }
        let mut table = Table::new(["SWITCH", "BEFORE", "AFTER"]);
        for d in differences {
            table.push([d.switch.into(), plain(&d.before).into(), plain(&d.after).into()]);
        }
        writeln!(out, "From {BOLD}{compat}{BOLD:#} to {BOLD}{against}{BOLD:#}:\n")?;
        let width = out.width();
        Ok(table.print(out, 0, width)?)
    }
}

/// The switches of a release by name, in the order of the table.
fn switches(profile: &Profile) -> anyhow::Result<serde_json::Map<String, Value>> {
    match serde_json::to_value(profile)? {
        Value::Object(map) => Ok(map),
        other => anyhow::bail!("a profile is written as {other}"),
    }
}

fn differences(before: &Profile, after: &Profile) -> anyhow::Result<Vec<Difference>> {
    let mut after = switches(after)?;
    Ok(switches(before)?
        .into_iter()
        .filter_map(|(switch, before)| {
            let after = after.remove(&switch).filter(|after| *after != before)?;
            Some(Difference { switch, before, after })
        })
        .collect())
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

fn cell_dim(text: &str) -> super::table::Cell {
    super::table::Cell::styled(text, DIM)
}
