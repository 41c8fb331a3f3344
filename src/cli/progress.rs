//! A line on standard error that tells a waiting person how far long work is. Silent everywhere else.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work is not worth a line.
const LONG: Duration = Duration::from_millis(500);

/// Work that may take long. It is shown only where standard error is a terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Starts with what is being done, and the unit that is counted.
    pub(super) fn start(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}: {human_pos} ({elapsed})") {
            bar.set_style(style.tick_chars("|/-\\ "));
        }
        bar.set_message(what);
        Self(bar)
    }

    /// `n` more are done.
    pub(super) fn add(&self, n: u64) {
        self.0.inc(n);
        if self.0.is_hidden() && self.0.elapsed() > LONG {
            // Draws nothing where standard error is no terminal.
            self.0.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
