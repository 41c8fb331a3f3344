//! Plans every Service of a cluster on all cores, in order, with bounded memory.
//!
//! ```text
//! let mut inventory = Inventory::default();
//! decode::read(input, &source, &mut inventory)?;       // as often as there are inputs
//! let index = inventory.index();
//! cluster::plan_all(&index, &Controller::ALL, &options, threads, |lines| out.write_all(lines))?;
//! ```

mod line;
mod ordered;

use std::{convert::Infallible, num::NonZeroUsize};

pub use line::{ClusterSummary, InputProblems, last_line, line};

use roster_engine::{
    model::names,
    reason::{Finding, Reason},
    record::Discard,
    stale::{self, PodNames, StaleReport},
    state::{Controller, Options, Plan},
    unknown_kinds::plan_known,
};

use crate::inventory::{Entry, Index};

/// All cores.
pub fn all_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What the controllers would do to one entry of a cluster at work.
///
/// Endpoints without a Service are written by hand, or remain from a Service that was deleted while no controller ran. A
/// controller deletes them at its next start (upstream's `checkLeftoverEndpoints`). It deletes them at once only when it
/// sees the Service deleted, which the objects of a cluster do not show.
///
/// Nothing is planned for a controller that reads a kind about which the index knows nothing.
pub fn plan_of(index: &Index<'_>, entry: &Entry<'_>, controllers: &[Controller], options: &Options) -> Plan {
    let state = index.state(entry);
    let unknown = index.unknown_of(entry);
    let plan_by = |controllers: &[Controller]| plan_known(&state, controllers, options, unknown, &mut Discard);
    let (None, Some(endpoints)) = (entry.service, entry.endpoints) else { return plan_by(controllers) };
    let others: Vec<Controller> = controllers.iter().copied().filter(|c| *c != Controller::Endpoints).collect();
    let mut plan = plan_by(&others);
    let is_planned = others.len() < controllers.len() && !unknown.services;
    // The controller never deletes Endpoints that serve as a lock of leader election.
    if is_planned && !endpoints.meta.annotations.contains_key(names::LEADER) {
        let message = "these Endpoints have no Service: they are deleted when kube-controller-manager starts again";
        plan.problems.push(Finding::new(Reason::ServiceMissing, endpoints.key(), message));
    }
    plan
}

/// What is stored for one entry and does not hold any more; `pods` are those of [`Index::pod_names`].
pub fn stale_of(index: &Index<'_>, entry: &Entry<'_>, options: &Options, pods: &PodNames<'_>) -> StaleReport {
    let plan = plan_of(index, entry, &Controller::ALL, options);
    stale::find(&index.state(entry), &plan, &index.targets(entry, pods))
}

/// What is stored for all entries and does not hold any more, in order of namespace and name.
pub fn stale_findings(index: &Index<'_>, options: &Options) -> Vec<Finding> {
    let pods = index.pod_names();
    let mut findings = Vec::new();
    let collected = each(
        index,
        all_cores(),
        |entry| stale_of(index, entry, options, &pods).findings,
        |mut found| {
            findings.append(&mut found);
            Ok::<(), Infallible>(())
        },
    );
    match collected {
        Ok(()) => findings,
    }
}

/// Plans every entry of `index` on `threads` threads and hands NDJSON to `sink`, in order of namespace
/// and name: one line for each Service (`{"service":{"namespace":…,"name":…},` and the fields of a
/// [`Plan`]), and a last line `{"summary":{…}}`. Each call of `sink` gets whole lines.
///
/// Only a few dozen plans are in memory at once: a slow `sink` slows the computation down. An error of `sink` ends the
/// computation and is returned.
pub fn plan_all<E: Send>(
    index: &Index<'_>,
    controllers: &[Controller],
    options: &Options,
    threads: NonZeroUsize,
    mut sink: impl FnMut(&[u8]) -> Result<(), E> + Send,
) -> Result<ClusterSummary, E> {
    let mut summary = ClusterSummary::new(index);
    let chunk = |entries: &[Entry<'_>]| {
        let mut part = (Vec::new(), ClusterSummary::default());
        for entry in entries {
            let plan = plan_of(index, entry, controllers, options);
            part.1.count(&index.state(entry), &plan);
            line::write(&mut part.0, entry, &plan);
        }
        part
    };
    ordered::map(index.entries(), CHUNK, threads, chunk, |(lines, counted)| {
        summary.add(&counted);
        sink(&lines)
    })?;
    let mut last = Vec::new();
    line::write_summary(&mut last, &summary, index.problems());
    sink(&last)?;
    Ok(summary)
}

/// Applies `f` to every entry of `index` on `threads` threads, and hands the results to `sink` in order of
/// namespace and name, with bounded memory. An error of `sink` ends it, and is returned.
pub fn each<T: Send, E: Send>(
    index: &Index<'_>,
    threads: NonZeroUsize,
    f: impl Fn(&Entry<'_>) -> T + Sync,
    mut sink: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let chunk = |entries: &[Entry<'_>]| -> Vec<T> { entries.iter().map(&f).collect() };
    ordered::map(index.entries(), CHUNK, threads, chunk, |part| part.into_iter().try_for_each(&mut sink))
}

/// Entries that a thread takes at once: enough to make the counter cheap, few enough that all threads end at about the
/// same time.
const CHUNK: usize = 16;
