//! Which objects of a resource a request is about.

use super::{raw_object::ObjectName, served_object::ServedObject};
use crate::model::{LabelSelector, Text};

/// Which objects of a resource a list or a watch is about: all conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Only this namespace.
    pub(super) namespace: Option<Text>,
    /// What the fields `metadata.name` and `metadata.namespace` must be like.
    pub(super) fields: Vec<FieldTest>,
    pub(super) labels: LabelSelector,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldTest {
    pub(super) field: SelectedField,
    pub(super) value: Text,
    /// Whether the field must have the value, or must not.
    pub(super) is_equal: bool,
}

/// A field that every resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelectedField {
    /// `metadata.name`
    Name,
    /// `metadata.namespace`
    Namespace,
}

impl Selection {
    /// Whether an object is among them.
    pub(super) fn matches(&self, name: &ObjectName, object: &ServedObject) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == name.namespace)
            && self.fields.iter().all(|test| test.holds(name))
            && self.labels.matches(object.labels())
    }

    /// The only name that an object among them can have.
    pub(super) fn only_name(&self) -> Option<&Text> {
        let is_name = |test: &&FieldTest| test.field == SelectedField::Name && test.is_equal;
        self.fields.iter().find(is_name).map(|test| &test.value)
    }
}

impl FieldTest {
    fn holds(&self, name: &ObjectName) -> bool {
        let field = match self.field {
            SelectedField::Name => &name.name,
            SelectedField::Namespace => &name.namespace,
        };
        (*field == self.value) == self.is_equal
    }

    /// Reads the text of a field selector: conditions that commas separate.
    pub(super) fn read_all(text: &str) -> Result<Vec<Self>, String> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Self::read).collect()
    }

    fn read(text: &str) -> Result<Self, String> {
        let (field, value, is_equal) = if let Some((field, value)) = text.split_once("!=") {
            (field, value, false)
        } else if let Some((field, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            (field, value, true)
        } else {
            return Err(format!("invalid field selector: {text:?} is neither FIELD=VALUE nor FIELD!=VALUE"));
        };
        let field = match field {
            "metadata.name" => SelectedField::Name,
            "metadata.namespace" => SelectedField::Namespace,
            _ => return Err(format!("field label not supported: {field}")),
        };
        Ok(Self { field, value: value.into(), is_equal })
    }
}
