//! The answer of a call.

use serde::Serialize;

use crate::{Problem, ProblemKind};

/// An answer, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The media type of `bytes`.
    pub content_type: &'static str,
    /// The text.
    pub bytes: Vec<u8>,
    /// The number of findings, where the text cannot list them.
    pub problems: Option<usize>,
    /// The plans that were made for it.
    pub planned: Planned,
}

/// The number of plans, by what they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Nothing changes.
    pub unchanged: u64,
    /// The controllers would write.
    pub changed: u64,
}

impl Answer {
    /// An answer in JSON.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Problem> {
        match serde_json::to_vec(value) {
            Ok(bytes) => Ok(Self::of(bytes, "application/json")),
            Err(e) => Err(Problem::new(ProblemKind::Internal, e.to_string())),
        }
    }

    /// A drawing.
    pub(crate) fn svg(svg: String) -> Self {
        Self::of(svg.into_bytes(), "image/svg+xml")
    }

    fn of(bytes: Vec<u8>, content_type: &'static str) -> Self {
        Self { content_type, bytes, problems: None, planned: Planned::default() }
    }

    /// The answer with the number of findings, which it cannot list.
    pub(crate) fn with_problems(self, count: usize) -> Self {
        Self { problems: Some(count), ..self }
    }
}
