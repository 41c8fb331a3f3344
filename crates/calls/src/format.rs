//! The formats of a body, by their media types.

use roster_manifests::decode::InputFormat;

use crate::{Problem, ProblemKind};

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`.
    Json,
    /// `application/yaml`, `application/x-yaml`, `text/yaml`, `text/x-yaml`.
    Yaml,
    /// `application/x-ndjson`, `application/ndjson`, `application/jsonl`.
    Ndjson,
}

impl Format {
    /// The format that `Content-Type` names.
    ///
    /// # Errors
    ///
    /// The header is missing, or names a type or a charset that no call reads.
    pub fn of(content_type: Option<&str>) -> Result<Self, Problem> {
        const HINT: &str = "send application/json or application/yaml";
        let refuse = |detail: String| Err(Problem::new(ProblemKind::MediaType, detail));
        let Some(value) = content_type else {
            return refuse(format!("the header Content-Type is missing; {HINT}"));
        };
        let text = value.to_ascii_lowercase();
        let mut parts = text.split(';').map(str::trim);
        let format = match parts.next().unwrap_or_default() {
            "application/json" | "text/json" => Self::Json,
            "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Self::Yaml,
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Self::Ndjson,
            other => return refuse(format!("Content-Type is {other:.80}; {HINT}")),
        };
        let utf8 = |p: &str| p.strip_prefix("charset=").is_none_or(|c| matches!(c.trim_matches('"'), "utf-8" | "utf8"));
        if !parts.all(utf8) {
            return refuse("the only supported charset is utf-8".to_owned());
        }
        Ok(format)
    }

    /// How the decoder reads it.
    pub fn input(self) -> InputFormat {
        match self {
            Self::Json | Self::Ndjson => InputFormat::Json,
            Self::Yaml => InputFormat::Yaml,
        }
    }
}
