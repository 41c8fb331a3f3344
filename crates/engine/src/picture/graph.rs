//! A picture as data: nodes and edges, each with its state and the reasons for it.

use serde::Serialize;

use crate::{
    explain::{Cause, DiagnosedCause},
    model::{ObjectKey, Text},
    phrase::clip_to,
    reason::Severity,
};

/// The way from routes to the pods of a Service, with what does not serve it in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The Service; also if only its Endpoints or slices are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ObjectKey>,
    /// How much of the Service is served, in a few words.
    pub title: String,
    /// The node from which the Service is seen, if it is one node's picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How bad it is: the worst of `reasons`.
    pub severity: Severity,
    /// What to look at first, the worst in front.
    pub reasons: Vec<PictureReason>,
    /// The nodes, column by column, and in each from top to bottom.
    pub nodes: Vec<PictureNode>,
    /// The edges, in the order of their ends.
    pub edges: Vec<PictureEdge>,
}

/// Something in a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureNode {
    /// A name that is unique in the picture, and stays the same in another picture of the Service.
    pub id: String,
    /// What it is.
    pub kind: NodeKind,
    /// How it serves.
    pub state: PictureState,
    /// Its name.
    pub label: String,
    /// More about it, in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// How many objects it stands for; more than 1 if they are folded.
    pub count: usize,
    /// The zone in which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Text>,
    /// Why it is in this state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<PictureReason>,
}

/// A connection of two nodes of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureEdge {
    /// The `id` of the node where it begins.
    pub from: String,
    /// The `id` of the node where it ends.
    pub to: String,
    /// What it means.
    pub kind: EdgeKind,
    /// Whether traffic takes it.
    pub state: PictureState,
    /// What breaks it, or what it carries; empty if there is nothing to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The code of the reason for its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
}

/// What a node of a picture is. The order is that of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// An Ingress or a route of the Gateway API.
    Route,
    /// The Service.
    Service,
    /// A port of the Service.
    Port,
    /// An Endpoints object that somebody wrote.
    Endpoints,
    /// A slice.
    Slice,
    /// A pod, or several that are folded.
    Pod,
    /// An endpoint other than a pod, or several that are folded.
    Address,
    /// Pods that the selector misses.
    NearMiss,
    /// A node on which pods run, or several of one zone that are folded.
    Node,
    /// A zone with nodes, or with clients that hints are for.
    Zone,
}

/// What an edge of a picture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// Requests take it.
    Traffic,
    /// Requests would take it, but for the reason on it.
    LeftOut,
    /// The mirroring controller copies the one into the other.
    Mirrors,
    /// The pod runs on the node.
    RunsOn,
    /// Hints send clients in the zone, or on the node, to the endpoint.
    Hint,
}

/// How a node or an edge of a picture serves. Later states are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PictureState {
    /// It has no state.
    Plain,
    /// Traffic reaches it.
    Served,
    /// Nothing is known about it.
    Unknown,
    /// Traffic reaches a part of it.
    PartlyServed,
    /// It belongs to the Service, and no traffic reaches it.
    NotServed,
    /// Something does not fit: a label, a port, or an object that is not there.
    Broken,
}

impl PictureState {
    /// The state in words; empty for [`PictureState::Plain`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Served => "served",
            Self::Unknown => "not known",
            Self::PartlyServed => "partly served",
            Self::NotServed => "not served",
            Self::Broken => "broken",
        }
    }

    /// The state of a whole of which `served` of `all` parts are served.
    pub(super) fn of_parts(served: usize, all: usize) -> Self {
        match served {
            0 => Self::NotServed,
            _ if served >= all => Self::Served,
            _ => Self::PartlyServed,
        }
    }
}

/// A reason in a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PictureReason {
    /// The code.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What it means here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What to do about it; empty if there is nothing to do.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fix: &'static str,
}

/// The longest text of a reason or of details, in characters: it is drawn in a few lines, and shown whole in a title.
pub(super) const LONGEST: usize = 600;

impl PictureReason {
    /// A reason with the beginning of its text.
    pub(super) fn new(code: &'static str, severity: Severity, detail: &str, fix: &'static str) -> Self {
        let begin = clip_to(detail, LONGEST);
        let more = if begin.len() < detail.len() { "…" } else { "" };
        Self { code, severity, detail: format!("{begin}{more}"), fix }
    }

    /// The code and what it means, in a sentence.
    pub fn text(&self) -> String {
        if self.detail.is_empty() { self.code.to_owned() } else { format!("{}: {}", self.code, self.detail) }
    }
}

impl From<&Cause> for PictureReason {
    fn from(cause: &Cause) -> Self {
        Self::new(cause.code.code(), cause.severity, &cause.detail, cause.fix)
    }
}

impl From<&DiagnosedCause> for PictureReason {
    fn from(cause: &DiagnosedCause) -> Self {
        Self::new(cause.code.code(), cause.severity, &cause.detail, cause.code.fix())
    }
}
