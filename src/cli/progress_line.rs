//! A progress line on standard error, shown only on a terminal and only for long work.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work shows no line.
const LONG: Duration = Duration::from_millis(500);

/// The progress of one piece of work.
pub(super) struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Starts the line. `what` names the work.
    pub(super) fn start(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}: {human_pos} ({elapsed})") {
            bar.set_style(style.tick_chars("|/-\\ "));
        }
        bar.set_message(what);
        Self(bar)
    }

    /// Counts `n` more items or bytes.
    pub(super) fn add(&self, n: u64) {
        self.0.inc(n);
        if self.0.is_hidden() && self.0.elapsed() > LONG {
            // Draws nothing unless standard error is a terminal.
            self.0.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
    }

    /// Removes the line.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.finish();
    }
}
