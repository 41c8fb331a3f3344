//! The arguments of a tool call.

use std::borrow::Cow;

use roster_engine::{
    model::spelling::{did_you_mean, nearest},
    phrase::clip_name,
    profile::Minor,
};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::tool::ToolError;

/// The arguments of a call by name, each as it is written.
#[derive(Debug)]
pub(super) struct ToolArguments<'a> {
    fields: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

impl<'a> ToolArguments<'a> {
    /// Reads the arguments of a tool that knows these. Others are an error: a call must not look as if they were heeded.
    pub(super) fn read(arguments: Option<&'a RawValue>, known: &[&str]) -> Result<Self, ToolError> {
        let text = arguments.map_or("{}", RawValue::get);
        if !text.starts_with('{') {
            return Err(ToolError::at("arguments", "must be an object"));
        }
        let fields: BTreeMap<Cow<'a, str>, &'a RawValue> =
            serde_json::from_str(text).map_err(|error| ToolError::at("arguments", error.to_string()))?;
        if let Some(unknown) = fields.keys().find(|name| !known.contains(&&***name)) {
            let meant: Vec<&str> = nearest(unknown, known, |name| name).copied().into_iter().collect();
            let why = format!("unknown argument{}", did_you_mean(&meant));
            return Err(ToolError::at(clip_name(unknown), why));
        }
        Ok(Self { fields })
    }

    /// A value that is given and not null.
    fn given(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.get(name).copied().filter(|value| value.get() != "null")
    }

    /// A text.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<String>, ToolError> {
        let Some(value) = self.given(name) else { return Ok(None) };
        serde_json::from_str(value.get()).map(Some).map_err(|_| ToolError::at(name, "must be a string"))
    }

    /// A text that must be given.
    pub(super) fn required_text(&self, name: &'static str) -> Result<String, ToolError> {
        self.text(name)?.ok_or_else(|| ToolError::at(name, "is missing"))
    }

    /// Yes or no; no if it is not given.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, ToolError> {
        let Some(value) = self.given(name) else { return Ok(false) };
        serde_json::from_str(value.get()).map_err(|_| ToolError::at(name, "must be true or false"))
    }

    /// A number; 0 if it is not given.
    pub(super) fn number(&self, name: &'static str) -> Result<usize, ToolError> {
        let Some(value) = self.given(name) else { return Ok(0) };
        serde_json::from_str(value.get()).map_err(|_| ToolError::at(name, "must be a number from 0"))
    }

    /// A release; the newest if it is not given.
    pub(super) fn release(&self) -> Result<Minor, ToolError> {
        let Some(text) = self.text("release")? else { return Ok(Minor::default()) };
        text.parse().map_err(|error| ToolError::at("release", format!("{error}")))
    }

    /// Objects: the text of manifests, or JSON as it is.
    pub(super) fn objects(&self, name: &'static str) -> Result<Option<Cow<'a, str>>, ToolError> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let text = match value.get().as_bytes().first() {
            Some(b'"') => {
                let text: String =
                    serde_json::from_str(value.get()).map_err(|error| ToolError::at(name, error.to_string()))?;
                Cow::Owned(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
            }
            Some(b'[') => Cow::Owned(format!(r#"{{"apiVersion":"v1","kind":"List","items":{}}}"#, value.get())),
            Some(b'{') => Cow::Borrowed(value.get()),
            _ => return Err(ToolError::at(name, "must be a text of YAML or JSON, an object, or a list of objects")),
        };
        if text.trim_start().is_empty() {
            return Err(ToolError::at(name, "is empty"));
        }
        Ok(Some(text))
    }

    /// Objects that must be given.
    pub(super) fn required_objects(&self, name: &'static str) -> Result<Cow<'a, str>, ToolError> {
        self.objects(name)?
            .ok_or_else(|| ToolError::at(name, "is missing: pass manifests, or what `kubectl get … -o yaml` prints"))
    }
}
