//! What two versions of an object differ in, without the values: thousands of objects often differ in the same way.

use std::{collections::BTreeSet, fmt};

use crate::model::Text;

/// A part of an object that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// The addresses.
    Addresses,
    /// Whether addresses are ready, not ready or terminating.
    Readiness,
    /// The ports.
    Ports,
    /// A field of endpoints, such as `hints`.
    Field(&'static str),
    /// The label of this key.
    Label(Text),
    /// The annotation of this key.
    Annotation(Text),
    /// The owner.
    Owner,
    /// The order of the contents, or how they are divided.
    Order,
}

/// How two versions of an object differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectDifference {
    pub(super) aspects: BTreeSet<Aspect>,
    /// In words, with values.
    parts: Vec<String>,
    /// Whether nobody reads the words.
    is_silent: bool,
}

impl ObjectDifference {
    /// A difference without words.
    pub(super) fn silent() -> Self {
        Self { is_silent: true, ..Self::default() }
    }

    pub(super) fn add(&mut self, aspect: Aspect, part: impl FnOnce() -> String) {
        self.add_all([aspect], part);
    }

    /// Adds a part that concerns several keys.
    pub(super) fn add_all(&mut self, aspects: impl IntoIterator<Item = Aspect>, part: impl FnOnce() -> String) {
        self.aspects.extend(aspects);
        if !self.is_silent {
            self.parts.push(part());
        }
    }

    /// Whether nobody reads the words.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    pub(super) fn is_empty(&self) -> bool {
        self.aspects.is_empty()
    }

    /// The difference, if there is one.
    pub(super) fn some(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// All parts in one line.
    pub(super) fn text(&self) -> String {
        self.parts.join("; ")
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses => f.write_str("addresses"),
            Self::Readiness => f.write_str("readiness"),
            Self::Ports => f.write_str("ports"),
            Self::Field(field) => f.write_str(field),
            Self::Label(key) => write!(f, "label {key}"),
            Self::Annotation(key) => write!(f, "annotation {key}"),
            Self::Owner => f.write_str("owner"),
            Self::Order => f.write_str("order"),
        }
    }
}
