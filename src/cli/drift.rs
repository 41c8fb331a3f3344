//! `roster drift`: what a controller in shadow has found.

use std::{io::Write, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use roster_engine::phrase::counted;

use super::{
    outcome::Outcome,
    output::{Output, OutputFormat},
    style::{DIM, RED},
    table::{Cell, Table},
};
use crate::{
    kube_api::get_text,
    runtime::async_runtime,
    servers::controller::{DriftReport, ServiceDrift, ShadowClass},
};

/// Show where the endpoints of a cluster are not what they should be.
///
/// It asks `roster controller --shadow`. In a cluster, reach it with
/// kubectl -n roster-system port-forward deployment/roster-shadow 10270:8081
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing differs, 1 something differs, 2 usage error, or the shadow does not answer or does not see all of the cluster."
)]
pub(super) struct DriftArgs {
    /// The address of the shadow
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:10270")]
    server: Uri,
    /// Only Services of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

/// The longest wait for the answer.
const ANSWER: Duration = Duration::from_secs(10);

impl DriftArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let report = self.report()?;
        let mut out = Output::stdout(self.output);
        if self.output.is_table() {
            print(&report, &mut out)?;
        } else {
            out.document(self.output, &report)?;
        }
        out.flush()?;
        Ok(Outcome::of(report.stale.is_empty(), report.drifting > 0))
    }

    fn report(&self) -> anyhow::Result<DriftReport> {
        if self.server.scheme_str() != Some("http") {
            bail!("--server {}: not an address such as http://127.0.0.1:10270", self.server);
        }
        let mut path = "/v1/drift".to_owned();
        if let Some(namespace) = &self.namespace {
            path = format!("{path}?namespace={}", utf8_percent_encode(namespace, NON_ALPHANUMERIC));
        }
        let asked = async { get_text(&self.server, &path, ANSWER).await };
        let text = async_runtime::run(1, asked).with_context(|| format!("the shadow at {}", self.server))?;
        serde_json::from_str(&text).with_context(|| format!("the answer of {} cannot be read", self.server))
    }
}

fn is_alarm(drift: &ServiceDrift) -> bool {
    drift.class != ShadowClass::Unsettled
}

fn print(report: &DriftReport, out: &mut Output) -> anyhow::Result<()> {
    if !report.stale.is_empty() {
        let stale = report.stale.join(", ");
        writeln!(out, "the watch of {stale} has failed for a minute: what follows may be old\n")?;
    }
    let all = counted(report.services, "Service");
    match report.drifting {
        0 => writeln!(out, "the endpoints of {all} are as they should be")?,
        1 => writeln!(out, "the endpoints of 1 of {all} are not as they should be")?,
        n => writeln!(out, "the endpoints of {n} of {all} are not as they should be")?,
    }
    let mut table = Table::new(["SERVICE", "CLASS", "FOR", "WHAT"]);
    for drift in &report.drift {
        let style = if is_alarm(drift) { RED } else { DIM };
        let contested = if drift.contested { "; healed several times, and left alone" } else { "" };
        table.push([
            format!("{}/{}", drift.namespace, drift.service).into(),
            Cell::styled(drift.class.name(), style),
            format!("{:.1} s", drift.seconds).into(),
            format!("{}{contested}", drift.message).into(),
        ]);
    }
    if !report.drift.is_empty() {
        writeln!(out)?;
        table.print(out, 0)?;
    }
    let healed = report.past.iter().filter(|past| past.healed).count();
    if !report.past.is_empty() {
        let past = counted(report.past.len(), "difference");
        writeln!(
            out,
            "\nwithin ten minutes, {past} went away, {healed} of them healed by the shadow (-o yaml lists them)"
        )?;
    }
    let took = report.latency.as_ref().map(|l| format!("; the controllers take {:.3} s (p99)", l.p99_seconds));
    writeln!(out, "\na difference counts after {:.1} s{}", report.grace_seconds, took.unwrap_or_default())?;
    Ok(())
}
