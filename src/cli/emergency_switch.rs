//! `roster disable` and `roster enable`: the emergency switch of the webhook in a live cluster.

use std::{io::Write, time::Duration};

use clap::Args;
use roster_engine::{
    model::{Resource, installed::NAME},
    phrase::counted,
};
use serde::Serialize;

use super::{
    cluster_args::KubeconfigArgs,
    help_end::help_end,
    messages,
    outcome::Outcome,
    output::{Output, OutputFormat},
    style::{BOLD, GREEN},
    table::Table,
};
use crate::{
    kube_api::Target,
    servers::webhook::emergency::{
        self, ConfigurationOutcome, Direction, FailurePolicyChange, SwitchError, SwitchOrder,
    },
};

/// Let writes pass while the webhook does not answer.
///
/// Sets the failurePolicy of Roster's webhooks to Ignore, and keeps the previous value in an annotation. `roster
/// enable` restores it. A webhook that still answers stays in effect. No other field is written.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 done, or nothing to do, 2 usage error, or a change failed.",
    "roster disable --dry-run",
    "roster disable --context prod",
))]
pub(super) struct DisableArgs {
    #[command(flatten)]
    args: EmergencyArgs,
}

/// Undo `roster disable`.
///
/// Restores the previous failurePolicy of Roster's webhooks. If somebody has changed it in the meantime, it stays.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 done, or nothing to do, 2 usage error, or a change failed.",
    "roster enable --dry-run",
    "roster enable --context prod",
))]
pub(super) struct EnableArgs {
    #[command(flatten)]
    args: EmergencyArgs,
}

#[derive(Debug, Args)]
struct EmergencyArgs {
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    /// Maximum seconds to wait for one response of the API server.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    request_timeout: u64,
    /// The name of the mutating and the validating webhook configuration.
    #[arg(long, value_name = "NAME", default_value = NAME)]
    webhook_configuration: String,
    /// Send the changes to the API server as a dry run, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

impl DisableArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        self.args.run(Direction::Disable)
    }
}

impl EnableArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        self.args.run(Direction::Enable)
    }
}

/// A webhook whose failurePolicy was changed.
#[derive(Serialize)]
struct ChangedWebhook<'a> {
    kind: Resource,
    name: &'a str,
    #[serde(flatten)]
    change: &'a FailurePolicyChange,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangedWebhooks<'a> {
    items: &'a [ChangedWebhook<'a>],
    dry_run: bool,
}

impl EmergencyArgs {
    fn run(&self, direction: Direction) -> anyhow::Result<Outcome> {
        let name = &self.webhook_configuration;
        let all = emergency::switch(&SwitchOrder {
            target: Target {
                cluster: self.kubeconfig.choice(),
                namespace: None,
                timeout: Duration::from_secs(self.request_timeout),
            },
            name: name.clone(),
            direction,
            dry_run: self.dry_run,
        })?;
        if all.iter().all(|t| matches!(t.result, Err(SwitchError::Missing(..)))) {
            anyhow::bail!(
                "no webhook configuration {name} found, neither mutating nor validating; check the cluster (--context) \
                 and the name (--webhook-configuration)"
            );
        }
        let mut rows = Vec::new();
        for ConfigurationOutcome { kind, result } in &all {
            let changes = result.as_ref().map(Vec::as_slice).unwrap_or_default();
            rows.extend(changes.iter().map(|change| ChangedWebhook { kind: *kind, name, change }));
        }
        // If a configuration could not be read, "nothing to do" would be a guess.
        let failed = all.iter().any(|t| !matches!(t.result, Ok(_) | Err(SwitchError::Missing(..))));
        if !(failed && rows.is_empty() && self.output.is_table()) {
            self.print(&rows, direction)?;
        }
        let mut outcome = Outcome::Success;
        for ConfigurationOutcome { result, .. } in all {
            match result {
                Ok(_) => {}
                // A cluster may register only one of the two on purpose.
                Err(error @ SwitchError::Missing(..)) => messages::warning(&error.to_string()),
                Err(error) => {
                    outcome = Outcome::BadInput;
                    messages::error(&error.into());
                }
            }
        }
        Ok(outcome)
    }

    fn print(&self, rows: &[ChangedWebhook<'_>], direction: Direction) -> anyhow::Result<()> {
        let mut out = Output::stdout(self.output);
        if !self.output.is_table() {
            out.document(self.output, &ChangedWebhooks { items: rows, dry_run: self.dry_run })?;
            return Ok(out.flush()?);
        }
        let mut table = Table::new(["CONFIGURATION", "WEBHOOK", "BEFORE", "AFTER"]);
        for ChangedWebhook { kind, name, change } in rows {
            let FailurePolicyChange { webhook, before, after } = change;
            table.push([
                format!("{kind}/{name}").into(),
                webhook.as_str().into(),
                before.as_str().into(),
                after.as_str().into(),
            ]);
        }
        if table.is_empty() {
            let why = match direction {
                Direction::Disable => "no webhook has the failurePolicy Fail",
                Direction::Enable => "no webhook is disabled",
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
