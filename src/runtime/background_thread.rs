//! Threads of low priority.

use std::{io, thread};

use tokio::runtime::Handle;

/// By how much the scheduler prefers other threads: those of the default priority get nine times the time of these, where
/// both want the same core.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Starts a thread that leaves the cores to others where there are not enough for all. `work` runs within the runtime of the
/// caller, and threads that it starts have the same priority.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let runtime = Handle::current();
    let started = thread::Builder::new().name(name.to_owned()).spawn(move || {
        lower_priority();
        let _entered = runtime.enter();
        work();
    });
    // Nobody joins it: what it does ends with the process at the latest.
    started.map(drop)
}

/// Lowers the priority of this thread. Linux knows one for each thread, and allows everybody to lower it.
#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the priority of a thread stays as it is");
    }
}

/// Elsewhere the priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
