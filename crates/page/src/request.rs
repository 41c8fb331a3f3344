//! A request of the page: its objects, and what the user looks at.

use std::borrow::Cow;

use roster_engine::{model::Text, profile::Minor};
use serde::{Deserialize, Serialize};

use crate::{examples::Example, what_if::Change};

/// A request of the page. It is also the state that a link holds.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct PageRequest<'r> {
    /// The objects: YAML or JSON, as kubectl prints them; `None` while there are none.
    #[serde(borrow)]
    pub(crate) text: Option<Cow<'r, str>>,
    /// The example to take if there is no text.
    pub(crate) example: String,
    /// Namespace and name of the Service to look at; the first of the list if it is empty.
    pub(crate) service: String,
    /// A part of the names of the Services that are listed.
    pub(crate) filter: String,
    /// What to show of it: the picture, or what the example is about.
    pub(crate) tab: Option<Tab>,
    /// The release to act like: the newest, or that of the example.
    pub(crate) release: Option<Minor>,
    /// What is different in a what-if.
    pub(crate) changes: Vec<Change>,
    /// The release to which a what-if upgrades.
    pub(crate) against: Option<Minor>,
    /// The node whose view is shown; the first one if it is empty.
    pub(crate) node: Text,
    /// The program between kube-proxy and the API server of that node.
    pub(crate) scheme: Option<SchemeChoice>,
    /// An object that is about to be written, for the review; the objects of the text if it is empty.
    #[serde(borrow)]
    pub(crate) object: Cow<'r, str>,
}

/// A tab of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tab {
    #[default]
    Picture,
    WhatIf,
    Review,
    Node,
}

/// What stands between kube-proxy and the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchemeChoice {
    /// Nothing.
    #[default]
    KubeProxy,
    /// SuperEdge's application-grid-wrapper.
    Superedge,
    /// OpenYurt's yurthub.
    Openyurt,
}

/// What the user looks at: the request, with what its example says.
#[derive(Debug)]
pub(crate) struct Look<'r> {
    pub(crate) service: &'r str,
    pub(crate) filter: &'r str,
    pub(crate) tab: Tab,
    pub(crate) release: Minor,
    pub(crate) changes: &'r [Change],
    pub(crate) against: Option<Minor>,
    pub(crate) node: Text,
    pub(crate) scheme: SchemeChoice,
    pub(crate) object: &'r str,
}

impl<'r> Look<'r> {
    pub(crate) fn of(request: &'r PageRequest<'_>, example: Option<&Example>) -> Self {
        let node = example.and_then(|example| example.node);
        let scheme = match example.and_then(|example| example.scheme) {
            Some("superedge") => SchemeChoice::Superedge,
            Some("openyurt") => SchemeChoice::Openyurt,
            _ => SchemeChoice::KubeProxy,
        };
        Self {
            service: &request.service,
            filter: &request.filter,
            tab: request.tab.unwrap_or(if node.is_some() { Tab::Node } else { Tab::Picture }),
            release: request.release.or(example.map(Example::minor)).unwrap_or_default(),
            changes: &request.changes,
            against: request.against,
            node: if request.node.is_empty() { Text::new(node.unwrap_or_default()) } else { request.node.clone() },
            scheme: request.scheme.unwrap_or(scheme),
            object: &request.object,
        }
    }
}
