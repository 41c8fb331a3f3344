//! A whole cluster: the plan of every Service, on all cores, in order, while memory stays bounded.
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

pub use line::{Changes, Summary};

use crate::{
    inventory::{Entry, Index},
    plan::{Controller, Options, Plan, plan},
};

/// All cores.
pub fn all_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Plans every entry of `index` on `threads` threads and hands NDJSON to `sink`, in order of namespace
/// and name: one line for each Service (`{"service":{"namespace":…,"name":…},` and the fields of a
/// [`Plan`]), and a last line `{"summary":{…}}`. Each call of `sink` gets whole lines.
///
/// Only a few dozen plans are in memory at once: a slow `sink` slows the computation down. An error of
/// `sink` ends it, and is returned.
pub fn plan_all<E: Send>(
    index: &Index<'_>,
    controllers: &[Controller],
    options: &Options,
    threads: NonZeroUsize,
    mut sink: impl FnMut(&[u8]) -> Result<(), E> + Send,
) -> Result<Summary, E> {
    let mut summary = Summary::new(index);
    let chunk = |entries: &[Entry<'_>]| {
        let mut part = (Vec::new(), Summary::default());
        for entry in entries {
            let plan = plan(&index.state(entry), controllers, options);
            part.1.count(entry, &plan);
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

/// Plans every entry of `index` on `threads` threads, turns each plan into something smaller with
/// `extract` there, and hands the results to `sink` in order of namespace and name.
pub fn plan_each<T: Send>(
    index: &Index<'_>,
    controllers: &[Controller],
    options: &Options,
    threads: NonZeroUsize,
    extract: impl Fn(&Entry<'_>, Plan) -> T + Sync,
    mut sink: impl FnMut(T) + Send,
) {
    let chunk = |entries: &[Entry<'_>]| -> Vec<T> {
        entries.iter().map(|e| extract(e, plan(&index.state(e), controllers, options))).collect()
    };
    let done: Result<(), Infallible> = ordered::map(index.entries(), CHUNK, threads, chunk, |part| {
        part.into_iter().for_each(&mut sink);
        Ok(())
    });
    let Ok(()) = done;
}

/// Entries that a thread takes at once: enough to make the counter cheap, few enough that the last
/// thread is not left alone for long.
const CHUNK: usize = 16;
