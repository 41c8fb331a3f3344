//! Colours of the command line.

use anstyle::{AnsiColor, Style};

/// Good.
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
/// Worth a look.
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Bad.
pub(super) const RED: Style = AnsiColor::Red.on_default();
/// Less important.
pub(super) const DIM: Style = Style::new().dimmed();
/// A heading.
pub(super) const BOLD: Style = Style::new().bold();
