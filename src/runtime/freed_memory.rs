//! Freed memory, and how it returns to the operating system.

use std::{hint::black_box, time::Duration};

use tokio::time::sleep;

/// How often memory is returned.
const EVERY: Duration = Duration::from_secs(1);
/// More than a segment of mimalloc, which is 32 MiB.
const LARGE: usize = 40 << 20;

/// Returns freed memory every second.
///
/// mimalloc returns memory a moment after it was freed, but only while some thread takes or frees a segment. After a large
/// plan, the thread that made it ends, and an idle server would keep all of its memory. Reserving and freeing a segment makes
/// mimalloc look; the segment itself is never written, and takes no memory.
pub(crate) async fn return_freed_memory() {
    loop {
        sleep(EVERY).await;
        drop(black_box(Vec::<u8>::with_capacity(LARGE)));
    }
}
