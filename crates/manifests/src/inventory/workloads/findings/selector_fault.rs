//! What is wrong with a selector that selects nothing.

use roster_engine::reason::{Reason, Severity};

/// What is wrong with a selector.
#[derive(Clone, Debug)]
pub(super) struct SelectorFault {
    pub(super) code: Reason,
    pub(super) severity: Severity,
    pub(super) message: String,
}

impl SelectorFault {
    pub(super) fn new(code: Reason, message: String) -> Self {
        Self { code, severity: code.severity(), message }
    }
}

/// The finding that what cannot be read may have the pods: even what looks like a typo may be right.
pub(super) fn not_checked(message: &str, unread: &str) -> SelectorFault {
    let message = format!("{message}; not checked: whether it matches pods of {unread}, which cannot be read");
    SelectorFault::new(Reason::SelectorNotChecked, message)
}
