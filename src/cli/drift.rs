//! `roster drift`: what a controller in shadow has found.

use std::{collections::BTreeMap, io::Write, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use roster_engine::phrase::counted;

use super::{
    help_end::help_end,
    outcome::Outcome,
    output::{Output, OutputFormat},
    style::{DIM, RED},
    table::{Cell, Table},
};
use crate::{
    kube_api::get_text,
    runtime::{
        async_runtime,
        files::{FileContents, FileSet},
    },
    servers::controller::{DriftReport, PastReport},
};

/// Show which endpoints of a cluster are wrong.
///
/// It asks `roster controller --shadow`. In a cluster, reach it with kubectl -n roster-system port-forward
/// deployment/roster-shadow 10270:8081
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 nothing differs, 1 something differs, 2 usage error, or the shadow does not answer or does not see all of the cluster.",
    "roster drift",
    "roster drift -n shop -o json --server http://127.0.0.1:10270",
)
)]
pub(super) struct DriftArgs {
    /// The address of the shadow
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:10270")]
    server: Uri,
    /// A file with a bearer token, for a shadow that is reached in another way. It is sent without encryption
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Only Services of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

/// How many lines tell what is over.
const PAST: usize = 20;

/// The limit of a token in bytes.
const TOKEN: u64 = 64 << 10;

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
        Ok(Outcome::of(report.stale.is_empty(), report.drifting + report.without_service > 0))
    }

    fn report(&self) -> anyhow::Result<DriftReport> {
        if self.server.scheme_str() != Some("http") {
            bail!("--server {}: not an address such as http://127.0.0.1:10270", self.server);
        }
        let mut path = "/v1/drift".to_owned();
        if let Some(namespace) = &self.namespace {
            path = format!("{path}?namespace={}", utf8_percent_encode(namespace, NON_ALPHANUMERIC));
        }
        let asked = async {
            let token = self.token().await?;
            get_text(&self.server, &path, token.as_deref(), ANSWER).await
        };
        let text = async_runtime::run(1, asked).with_context(|| format!("the shadow at {}", self.server))?;
        serde_json::from_str(&text).with_context(|| format!("the answer of {} cannot be read", self.server))
    }

    async fn token(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = self.token_file.clone() else { return Ok(None) };
        let FileContents(contents) = FileSet::new([path], TOKEN).read().await.context("--token-file")?;
        let token = String::from_utf8(contents.concat()).context("--token-file")?;
        Ok(Some(token.trim().to_owned()))
    }
}

fn print(report: &DriftReport, out: &mut Output) -> anyhow::Result<()> {
    if !report.stale.is_empty() {
        let stale = report.stale.join(", ");
        writeln!(out, "the watch of {stale} has failed for a minute: what follows may be old\n")?;
    }
    writeln!(out, "{}", headline(report))?;
    let mut table = Table::new(["SERVICE", "CLASS", "FOR", "WHAT"]);
    for drift in &report.drift {
        let style = if drift.class.is_alarm() { RED } else { DIM };
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
    print_past(report, out)?;
    let DriftReport { grace_seconds: grace, release, latency, .. } = report;
    let took = latency.as_ref().map(|l| format!("; the controllers take {:.3} s (p99)", l.p99_seconds));
    let took = took.unwrap_or_default();
    writeln!(out, "\ncompared with what Kubernetes {release} does. A difference counts after {grace:.1} s{took}")?;
    Ok(())
}

fn headline(report: &DriftReport) -> String {
    let all = counted(report.services, "Service");
    let drifting = match report.drifting {
        0 => format!("the endpoints of {all} are as they should be"),
        n => format!("the endpoints of {n} of {all} are not as they should be"),
    };
    match report.without_service {
        0 => drifting,
        n => format!("{drifting}, and there are objects of {} that do not exist", counted(n, "Service")),
    }
}

/// What is over, by Service and class, the latest first.
fn print_past(report: &DriftReport, out: &mut Output) -> anyhow::Result<()> {
    let mut groups: BTreeMap<_, Vec<&PastReport>> = BTreeMap::new();
    for past in &report.past {
        groups.entry((&past.namespace, &past.service, past.class, past.healed)).or_default().push(past);
    }
    let ended = |group: &[&PastReport]| group.iter().map(|past| past.ended_seconds_ago).fold(f64::INFINITY, f64::min);
    let mut groups: Vec<_> = groups.into_iter().map(|(key, group)| (ended(&group), key, group)).collect();
    if groups.is_empty() {
        return Ok(());
    }
    groups.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let more = groups.len().saturating_sub(PAST);
    let mut table = Table::new(["OVER", "CLASS", "LASTED", "ENDED", "WHAT"]);
    for (ended, (namespace, service, class, healed), group) in groups.into_iter().take(PAST) {
        let lasted = group.iter().map(|past| past.lasted_seconds).fold(0.0, f64::max);
        let more = if group.len() > 1 { format!(" and {} more", group.len() - 1) } else { String::new() };
        let healed = if healed { "; healed by the shadow" } else { "" };
        table.push([
            format!("{namespace}/{service}").into(),
            Cell::styled(class.name(), DIM),
            format!("{lasted:.1} s").into(),
            format!("{ended:.0} s ago").into(),
            format!("{}{more}{healed}", group[0].what).into(),
        ]);
    }
    writeln!(out)?;
    table.print(out, 0)?;
    if more > 0 {
        writeln!(out, "and {more} more within ten minutes (-o yaml lists them)")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_no_service_is_not_one_of_them() {
        for (drifting, without_service, want) in [
            (0, 0, "the endpoints of 7 Services are as they should be"),
            (1, 0, "the endpoints of 1 of 7 Services are not as they should be"),
            (
                0,
                2,
                "the endpoints of 7 Services are as they should be, and there are objects of 2 Services that do not exist",
            ),
        ] {
            let report = json!({ "services": 7, "release": "1.37", "stale": [], "graceSeconds": 0.8, "latency": null,
                "drifting": drifting, "withoutService": without_service, "drift": [], "past": [] });
            assert_eq!(headline(&serde_json::from_value(report).unwrap()), want);
        }
    }
}
