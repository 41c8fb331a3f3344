//! What is wrong with a file of waivers or a baseline.

use roster_engine::model::{
    installed::POLICY_GROUP,
    json::message::{message, shortened},
};
use serde::de::DeserializeOwned;

/// The version of both kinds of files.
const VERSION: &str = "v1alpha1";

/// Why a file of waivers or a baseline cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintFileFault {
    /// JSON pointer to the place; empty for the whole file.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

impl LintFileFault {
    pub(crate) fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// The `apiVersion` of both kinds of files.
pub(crate) fn api_version() -> String {
    format!("{POLICY_GROUP}/{VERSION}")
}

/// Reads a file of this kind, as JSON. `type_of` gives its `apiVersion` and `kind`.
pub(crate) fn read<T: DeserializeOwned>(
    json: &str,
    kind: &str,
    type_of: impl Fn(&T) -> (&str, &str),
) -> Result<T, LintFileFault> {
    let file: T = serde_json::from_str(json).map_err(|e| LintFileFault::at("", message(&e)))?;
    let (found_version, found_kind) = type_of(&file);
    if found_kind != kind {
        let why = format!("the kind is {:?}, not {kind} ({})", shortened(found_kind), api_version());
        return Err(LintFileFault::at("/kind", why));
    }
    if found_version != api_version() {
        let why = format!("the apiVersion is {:?}, not {}", shortened(found_version), api_version());
        return Err(LintFileFault::at("/apiVersion", why));
    }
    Ok(file)
}
