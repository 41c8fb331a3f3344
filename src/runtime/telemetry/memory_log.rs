//! A log in memory, for tests of what is logged.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use tokio::runtime::Builder;
use tracing_subscriber::fmt::MakeWriter;

/// A log in memory. A clone writes to the same one.
#[derive(Clone, Default)]
pub(crate) struct MemoryLog(Arc<Mutex<Vec<u8>>>);

impl MemoryLog {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for MemoryLog {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| io::ErrorKind::Other)?.write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for MemoryLog {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// What is logged while `run` runs for the second time. At the first time, its call sites become known: one that the thread of another
/// test met first, while this log is the only one, would be switched off.
pub(crate) fn logged(run: impl AsyncFn()) -> String {
    let run = || Builder::new_current_thread().enable_all().build().unwrap().block_on(run());
    run();
    let log = MemoryLog::default();
    let lines =
        tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::INFO).with_writer(log.clone());
    tracing::subscriber::with_default(lines.finish(), run);
    log.text()
}
