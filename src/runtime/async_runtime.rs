//! The async runtime of a server, and how the memory that it frees returns to the operating system.

use std::{hint::black_box, time::Duration};

use anyhow::Context;
use tokio::{runtime::Builder, time::sleep};

/// How long a thread waits for blocking work: meanwhile it keeps memory of its own.
const IDLE_THREAD: Duration = Duration::from_secs(2);

/// Runs `server` on a runtime of its own, in which at most this many threads do blocking work. Work that takes a thread of
/// the runtime aside needs one as well: the tasks that wait for that thread go on there. So the bound counts everything
/// that may block at once; with fewer threads, a server would stand still until some of it ends.
pub(crate) fn run<T>(blocking_threads: usize, server: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(IDLE_THREAD)
        .max_blocking_threads(blocking_threads)
        .build()
        .context("the async runtime")?;
    let done = runtime.block_on(async {
        tokio::spawn(return_freed_memory());
        server.await
    });
    // Do not wait for computations that outlived the drain limit.
    runtime.shutdown_background();
    done
}

/// How often memory is returned.
const EVERY: Duration = Duration::from_secs(1);
/// More than a segment of mimalloc, which is 32 MiB.
const LARGE: usize = 40 << 20;

/// Returns freed memory every second.
///
/// mimalloc returns memory a moment after it was freed, but only while some thread takes or frees a segment. After a large
/// plan, the thread that made it ends, and an idle server would keep all of its memory. Reserving and freeing a segment makes
/// mimalloc look; the segment itself is never written, and takes no memory.
async fn return_freed_memory() {
    loop {
        sleep(EVERY).await;
        drop(black_box(Vec::<u8>::with_capacity(LARGE)));
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use futures::future::join_all;
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::runtime::aside::aside;

    #[test]
    fn more_work_than_threads_waits_and_is_done() {
        let work = || sleep(Duration::from_millis(5));
        let done = run(1, async {
            let all = (0..20).map(|n| {
                tokio::spawn(async move { if n % 2 == 0 { aside(work) } else { spawn_blocking(work).await.unwrap() } })
            });
            Ok(join_all(all).await.into_iter().flatten().count())
        });
        assert_eq!(done.unwrap(), 20);
    }
}
