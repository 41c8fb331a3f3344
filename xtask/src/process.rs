//! A process that ends with the value.

use std::process::{Child, ExitStatus};
use std::{fs, io};

use anyhow::{Context, Result};

/// A running program. It is killed when the value is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn new(child: Child) -> Self {
        Self(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it has ended; `None` while it runs.
    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// A file of the process in `/proc`.
    pub(crate) fn proc_file(&self, name: &str) -> Result<String> {
        fs::read_to_string(format!("/proc/{}/{name}", self.id())).context("reading /proc")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
