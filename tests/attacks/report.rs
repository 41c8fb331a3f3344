//! The table of all attacks, and the goals.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    genuine::Review,
    genuine_request::Outcome,
    run::{Measured, UpstreamLoad},
    site::Site,
};

/// The p99 of genuine reviews.
const P99: Duration = Duration::from_millis(100);
/// Resident memory of a server without the REST API, and with it; and of a node proxy.
const WEBHOOK_ALONE: u64 = 256 << 20;
const WITH_REST: u64 = 512 << 20;
const EDGE: u64 = 256 << 20;
/// The processor time of a start.
const START: Duration = Duration::from_secs(2);
/// The share of a core that a server may take once the attackers are gone: the genuine client is not.
pub(crate) const IDLE: f64 = 0.3;
/// The most connections of a node proxy to the API server.
const UPSTREAM_CONNECTIONS: usize = 300;
/// How long after the attack a review may still fail or be slow.
const RECOVERY: Duration = Duration::from_secs(2);
/// Slower than the shortest time-out of an API server.
pub(crate) const SLOW: Duration = Duration::from_secs(1);

/// How many sorts of failures are printed.
const EXAMPLES: usize = 8;

/// What is judged besides memory, objects that are let in, and recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goals {
    /// Whether no review is lost and no probe fails.
    pub(crate) no_loss: bool,
    /// Whether the p99 of reviews is short. Where other programs use the machine, it says little.
    pub(crate) p99: bool,
}

/// All rows so far.
pub(crate) struct Report {
    goals: Goals,
    rows: Vec<Row>,
    /// The attacks whose measurement failed, and why.
    not_measured: Vec<String>,
}

impl Report {
    pub(crate) fn new(goals: Goals) -> Self {
        Self { goals, rows: Vec::new(), not_measured: Vec::new() }
    }

    /// Adds a row, and prints what was measured.
    pub(crate) fn add(&mut self, measured: &Measured) {
        let row = Row::new(measured, self.goals);
        let seconds = (measured.ended - measured.began).as_secs_f64();
        let cores = |time: Duration| time.as_secs_f64() / seconds;
        println!(
            "    {}; {:.2} cores for the attackers, {:.2} for the server, {:.2} after the attack; {:.2} s to start; \
             the client began up to {} ms late",
            measured.counts,
            cores(measured.attackers_time),
            cores(measured.server_time),
            measured.cores_after,
            measured.start_time.as_secs_f64(),
            measured.seen.late.iter().max().map_or(0, Duration::as_millis),
        );
        if let Some(UpstreamLoad { access_reviews, most_connections }) = measured.upstream {
            println!(
                "    the API server had {access_reviews} access reviews, and at most {most_connections} connections"
            );
        }
        for (why, count) in row.examples.iter().take(EXAMPLES) {
            println!("    {count} times: {}", why.trim_end().replace('\n', " "));
        }
        println!("    {HEAD}\n    {}", row.line());
        self.rows.push(row);
    }

    /// Adds an attack that could not be measured. The others still can.
    pub(crate) fn not_measured(&mut self, name: &str, site: Site, error: &anyhow::Error) {
        println!("    not measured: {error:#}");
        self.not_measured.push(format!("{}, {name}: missed: not measured: {error:#}", site.name()));
    }

    /// Prints the tables, in the Markdown of docs/explanation/attacks.md. Returns whether all was measured and all goals are met.
    pub(crate) fn finish(&self) -> bool {
        for (is_edge, head) in [(false, MARKDOWN), (true, MARKDOWN_EDGE)] {
            let mut rows = self.rows.iter().filter(|row| row.site.is_edge() == is_edge).peekable();
            if rows.peek().is_some() {
                println!("\n{head}");
            }
            for row in rows {
                println!("{}", row.markdown());
            }
        }
        for row in self.rows.iter().filter(|row| !row.missed.is_empty()) {
            println!("\n{}, {}: missed: {}", row.site.name(), row.name, row.missed.join(", "));
        }
        for attack in &self.not_measured {
            println!("\n{attack}");
        }
        let missed: usize = self.rows.iter().map(|row| row.missed.len()).sum();
        println!(
            "\n{missed} goals missed in {} of {} attacks, and {} not measured",
            self.rows.iter().filter(|r| !r.missed.is_empty()).count(),
            self.rows.len(),
            self.not_measured.len()
        );
        missed == 0 && self.not_measured.is_empty()
    }
}

const HEAD: &str = "attack                    | reviews | lost | let in | p50 ms |    p99 |     max | probes failed | MiB at most | after | back after | goals";

const MARKDOWN: &str = "\
| attack | reviews | lost | wrongly admitted | p99 | probes failed | memory at most | recovered after |
|---|---|---|---|---|---|---|---|";

const MARKDOWN_EDGE: &str = "\
| attack | requests | lost | let in | p99 | events | lost or late | probes failed | memory at most | recovered after |
|---|---|---|---|---|---|---|---|---|---|";

/// One attack in the table.
struct Row {
    name: &'static str,
    site: Site,
    reviews: usize,
    lost: usize,
    let_in: u64,
    /// Of the reviews that were answered rightly.
    p50: Duration,
    p99: Duration,
    max: Duration,
    probes: usize,
    probes_failed: usize,
    /// Plans or events of the genuine client.
    calls: usize,
    /// Those that the genuine client did not get in time.
    calls_failed: usize,
    most: u64,
    after: u64,
    /// From the end of the attack to the beginning of the last review that failed or was slow. `None`: none was answered
    /// after that.
    back: Option<Duration>,
    missed: Vec<&'static str>,
    /// What lost reviews and failed probes got, and how often.
    examples: BTreeMap<String, usize>,
}

impl Row {
    fn new(measured: &Measured, goals: Goals) -> Self {
        let Measured { attack, site, began, ended, seen, counts, .. } = measured;
        let during = |at| *began <= at && at < *ended;
        let reviews: Vec<_> = seen.reviews.iter().filter(|r| during(r.began)).collect();
        let mut took: Vec<Duration> =
            reviews.iter().filter(|r| matches!(r.outcome, Outcome::Right)).map(|r| r.took).collect();
        took.sort_unstable();
        // All but one in so many took at most this long.
        let quantile = |one_in: usize| took.get(took.len().saturating_sub(1 + took.len() / one_in)).copied();
        let probes: Vec<_> = seen.probes.iter().filter(|p| during(p.began)).collect();
        let why = |outcome: &Outcome| if let Outcome::Lost(why) = outcome { Some(why.clone()) } else { None };
        let lost: Vec<String> = reviews.iter().filter_map(|r| why(&r.outcome)).collect();
        let failed: Vec<&String> = probes.iter().filter_map(|p| p.failed.as_ref()).collect();
        let calls: Vec<_> = seen.calls.iter().filter(|c| during(c.began)).filter_map(|c| c.failed.as_ref()).collect();
        let mut examples = BTreeMap::new();
        for why in lost.iter().chain(failed.iter().chain(&calls).copied()) {
            *examples.entry(why.clone()).or_default() += 1;
        }
        let let_in = reviews.iter().filter(|r| matches!(r.outcome, Outcome::LetIn)).count() as u64 + counts.let_in();
        let is_well = |r: &Review| matches!(r.outcome, Outcome::Right) && r.took <= SLOW;
        let after = || seen.reviews.iter().filter(|r| r.began >= *ended);
        let last_wrong = after().filter(|r| !is_well(r)).map(|r| r.began).max();
        let recovered = after().any(|r| last_wrong.is_none_or(|wrong| r.began > wrong));
        let mut row = Self {
            name: attack.name,
            site: *site,
            reviews: reviews.len(),
            lost: lost.len(),
            let_in,
            p50: quantile(2).unwrap_or_default(),
            p99: quantile(100).unwrap_or_default(),
            max: took.last().copied().unwrap_or_default(),
            probes: probes.len(),
            probes_failed: failed.len(),
            calls: seen.calls.iter().filter(|c| during(c.began)).count(),
            calls_failed: calls.len(),
            most: seen.memory.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0),
            after: seen.memory.last().map_or(0, |(_, bytes)| *bytes),
            back: recovered.then(|| last_wrong.map_or(Duration::ZERO, |wrong| wrong - *ended)),
            missed: Vec::new(),
            examples,
        };
        row.missed = row.judge(measured, goals);
        row
    }

    /// The goals that are missed.
    fn judge(&self, measured: &Measured, goals: Goals) -> Vec<&'static str> {
        let (memory, calls) = match self.site {
            Site::Webhook | Site::Cluster | Site::Policies => (WEBHOOK_ALONE, "calls"),
            Site::Rest => (WITH_REST, "REST calls"),
            Site::Edge | Site::Keys | Site::Restarted => (EDGE, "watches"),
        };
        let connections = measured.upstream.map_or(0, |upstream| upstream.most_connections);
        let always = [
            (measured.survived, "alive"),
            (measured.counts.connections() > 0, "attacked"),
            (self.let_in == 0, "let in"),
            (self.most < memory, "memory"),
            (connections <= UPSTREAM_CONNECTIONS, "API server"),
            (self.back.is_some_and(|back| back <= RECOVERY), "recovery"),
            (measured.start_time < START, "start"),
            (measured.cores_after < IDLE, "work that goes on"),
        ];
        let others = [
            (self.reviews > 0 && self.lost == 0 || !goals.no_loss, "lost"),
            (self.probes > 0 && self.probes_failed == 0 || !goals.no_loss, "probes"),
            (self.p99 < P99 || !goals.p99, "p99"),
            ((self.calls > 0 || !self.site.is_edge()) && self.calls_failed == 0 || !goals.no_loss, calls),
        ];
        always.into_iter().chain(others).filter(|(met, _)| !met).map(|(_, name)| name).collect()
    }

    fn line(&self) -> String {
        let goals =
            if self.missed.is_empty() { "met".to_owned() } else { format!("MISSED: {}", self.missed.join(", ")) };
        format!(
            "{:<25} | {:>7} | {:>4} | {:>6} | {:>6} | {:>6} | {:>7} | {:>13} | {:>11} | {:>5} | {:>10} | {goals}",
            self.name,
            self.reviews,
            self.lost,
            self.let_in,
            millis(self.p50),
            millis(self.p99),
            millis(self.max),
            format!("{} of {}", self.probes_failed, self.probes),
            self.most >> 20,
            self.after >> 20,
            self.back(),
        )
    }

    fn markdown(&self) -> String {
        let events =
            if self.site.is_edge() { format!(" {} | {} |", self.calls, self.calls_failed) } else { String::new() };
        format!(
            "| {} | {} | {} | {} | {} ms |{events} {} | {} MiB | {} |",
            self.name,
            self.reviews,
            self.lost,
            self.let_in,
            millis(self.p99),
            self.probes_failed,
            self.most >> 20,
            self.back(),
        )
    }

    fn back(&self) -> String {
        self.back.map_or_else(|| "never".to_owned(), |back| format!("{:.1} s", back.as_secs_f64()))
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}
