//! The findings about one object, while they are collected.

use std::fmt::Display;

use crate::{
    engine::reason::{Finding, Reason, Severity},
    model::{ObjectKey, json::message::shortened},
};

/// The findings about one object, one for each field. Those over a limit are left out: a text of megabytes can have a
/// fault in every byte.
pub(super) struct Faults<'k> {
    key: &'k ObjectKey,
    most: usize,
    list: Vec<Finding>,
}

impl<'k> Faults<'k> {
    pub(super) fn new(key: &'k ObjectKey, most: usize) -> Self {
        Self { key, most, list: Vec::new() }
    }

    /// Adds a finding about the field at the pointer `at`.
    pub(super) fn add(&mut self, code: Reason, at: impl Display, message: impl Into<String>) {
        self.push(code, code.severity(), at, message.into());
    }

    /// Adds a finding that depends on the settings of the cluster.
    pub(super) fn warn(&mut self, code: Reason, at: impl Display, message: impl Into<String>) {
        self.push(code, Severity::Warning, at, message.into());
    }

    fn push(&mut self, code: Reason, severity: Severity, at: impl Display, message: String) {
        if self.list.len() < self.most {
            let pointer = Some(at.to_string()).filter(|p| !p.is_empty());
            // One finding for one field.
            if self.list.iter().any(|f| f.pointer == pointer && f.severity >= severity) {
                return;
            }
            self.list.push(Finding { severity, pointer, ..Finding::new(code, self.key.clone(), message) });
        }
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.list
    }
}

/// A text of the input, in quotes, for a message.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}
