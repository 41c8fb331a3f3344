//! `roster disable` and `roster enable`: the webhook of a live cluster.

use std::{io::Write, path::PathBuf, time::Duration};

use clap::Args;
use serde::Serialize;

use super::{
    Outcome, Output, output,
    output::Format,
    table::{BOLD, GREEN, Table},
};
use crate::{
    engine::reason::counted,
    kube_api::Target,
    model::installed::NAME,
    servers::webhook::emergency::{self, Change, Direction, Kind, Order, SwitchError, Turned},
};

/// Let writes pass while the webhook does not answer.
///
/// Sets failurePolicy of Roster's webhooks to Ignore, and remembers in an annotation what it was; `roster enable` sets
/// it back. A webhook that does answer is still heard. Only the two webhook configurations are written, and only these
/// fields of them.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 it is done, or was so already, 2 wrong use, or something could not be done.")]
pub(super) struct Disable {
    #[command(flatten)]
    args: SwitchArgs,
}

/// Set back what `roster disable` changed.
///
/// Sets failurePolicy of Roster's webhooks to what it was before. What somebody set to something else meanwhile stays.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 it is done, or was so already, 2 wrong use, or something could not be done.")]
pub(super) struct Enable {
    #[command(flatten)]
    args: SwitchArgs,
}

#[derive(Debug, Args)]
struct SwitchArgs {
    /// The kubeconfig context; the current one if it is not given.
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// The kubeconfig file; else KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Longest wait for one answer of the API server, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    request_timeout: u64,
    /// Name of the mutating and of the validating webhook configuration.
    #[arg(long, value_name = "NAME", default_value = NAME)]
    webhook_configuration: String,
    /// Ask the API server whether it would do it, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

impl Disable {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        self.args.run(Direction::Disable)
    }
}

impl Enable {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        self.args.run(Direction::Enable)
    }
}

/// A webhook that was changed.
#[derive(Serialize)]
struct Row<'a> {
    kind: Kind,
    name: &'a str,
    #[serde(flatten)]
    change: &'a Change,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rows<'a> {
    items: &'a [Row<'a>],
    dry_run: bool,
}

impl SwitchArgs {
    fn run(&self, direction: Direction) -> anyhow::Result<Outcome> {
        let name = &self.webhook_configuration;
        let all = emergency::turn(&Order {
            target: Target {
                context: self.context.clone(),
                kubeconfig: self.kubeconfig.clone(),
                namespace: None,
                timeout: Duration::from_secs(self.request_timeout),
            },
            name: name.clone(),
            direction,
            dry_run: self.dry_run,
        })?;
        if all.iter().all(|t| matches!(t.result, Err(SwitchError::Missing(..)))) {
            anyhow::bail!(
                "there is no webhook configuration {name}, neither mutating nor validating: is this the cluster, and is \
                 Roster registered under this name (--webhook-configuration)?"
            );
        }
        let mut rows = Vec::new();
        for Turned { kind, result } in &all {
            let changes = result.as_ref().map(Vec::as_slice).unwrap_or_default();
            rows.extend(changes.iter().map(|change| Row { kind: *kind, name, change }));
        }
        // Where nothing could be read, nobody knows that there is nothing to do.
        let failed = all.iter().any(|t| !matches!(t.result, Ok(_) | Err(SwitchError::Missing(..))));
        if !(failed && rows.is_empty() && self.output.is_table()) {
            self.print(&rows, direction)?;
        }
        let mut outcome = Outcome::Fine;
        for Turned { result, .. } in all {
            match result {
                Ok(_) => {}
                // Whoever registers only one of them means it so.
                Err(error @ SwitchError::Missing(..)) => output::warning(&error.to_string()),
                Err(error) => {
                    outcome = Outcome::BadInput;
                    output::error(&error.into());
                }
            }
        }
        Ok(outcome)
    }

    fn print(&self, rows: &[Row<'_>], direction: Direction) -> anyhow::Result<()> {
        let mut out = Output::stdout(self.output);
        if !self.output.is_table() {
            out.document(self.output, &Rows { items: rows, dry_run: self.dry_run })?;
            return Ok(out.flush()?);
        }
        let mut table = Table::new(["CONFIGURATION", "WEBHOOK", "BEFORE", "AFTER"]);
        for Row { kind, name, change } in rows {
            let Change { webhook, before, after } = change;
            table.push([
                format!("{kind}/{name}").into(),
                webhook.as_str().into(),
                before.as_str().into(),
                after.as_str().into(),
            ]);
        }
        if table.is_empty() {
            let why = match direction {
                Direction::Disable => "no webhook refuses what it does not answer",
                Direction::Enable => "nothing is disabled",
            };
            writeln!(out, "{GREEN}nothing to do{GREEN:#}: {why}")?;
        } else {
            table.print(&mut out, 0)?;
            let dry = if self.dry_run { " would be changed (dry run)" } else { " changed" };
            writeln!(out, "\n{BOLD}{}{dry}{BOLD:#}", counted(rows.len(), "webhook"))?;
        }
        Ok(out.flush()?)
    }
}
