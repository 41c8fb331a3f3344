//! The answer to a request of the page.

use roster_engine::profile::Minor;
use serde::Serialize;

use crate::{
    html::Html,
    request::{SchemeChoice, Tab},
    what_if::Change,
};

/// The answer to a request of the page: fragments of HTML for the script to put into place, and what it must know.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageAnswer {
    /// What the input has, in a line.
    pub(crate) summary: Html,
    /// The list of Services, problems first.
    pub(crate) services: Html,
    /// What the tab shows.
    pub(crate) panel: Html,
    /// How much of the Service is served, why not the rest, and what to do.
    pub(crate) lead: Html,
    /// All reasons, and the pods.
    pub(crate) reasons: Html,
    /// The examples to choose from.
    pub(crate) examples: Html,
    /// What a screen reader says when the answer is shown.
    pub(crate) announcement: String,
    /// The Service that is shown.
    pub(crate) service: String,
    pub(crate) tab: Tab,
    pub(crate) release: Minor,
    pub(crate) scheme: SchemeChoice,
    /// The text of the example that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<&'static str>,
    /// The objects in a form that is quicker to read: a request may have it as its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) objects: Option<String>,
    /// The changes that were made, if some of those of the request are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<Change>>,
    /// Whether there are objects to show.
    pub(crate) has_objects: bool,
}
