//! Services, viewed from one node.

use anyhow::bail;
use roster_engine::{
    model::{Node, Text},
    phrase::counted,
    view::{ViewedCluster, Viewpoint},
};

use super::view_input::ViewInput;
use crate::cli::scheme_arg::SchemeArg;

/// Services, viewed from one node.
pub(crate) struct NodeView<'a> {
    pub(crate) cluster: &'a ViewedCluster<'a>,
    pub(crate) at: Viewpoint<'a>,
    pub(super) scheme: SchemeArg,
}

impl<'a> NodeView<'a> {
    /// The view from the node that is named.
    pub(crate) fn of(
        name: &'a Text,
        input: &'a ViewInput<'_>,
        cluster: &'a ViewedCluster<'a>,
        scheme: SchemeArg,
    ) -> anyhow::Result<Self> {
        Ok(Self { cluster, at: Viewpoint { name, node: find(name, input)? }, scheme })
    }

    /// `node n1 (zone a)`, and the scheme if it is not kube-proxy alone.
    pub(crate) fn title(&self) -> String {
        let zone = match self.at.zone() {
            _ if self.at.node.is_none() => "zone not known".to_owned(),
            "" => "no zone".to_owned(),
            zone => format!("zone {zone}"),
        };
        let scheme = match self.scheme {
            SchemeArg::KubeProxy => String::new(),
            other => format!(", {}", other.as_str()),
        };
        format!("node {} ({zone}{scheme})", self.at.name)
    }
}

/// The Node that is named. A name that the input does not have is an error; a node without a Node has no labels, and so does
/// any if there are no Nodes.
fn find<'a>(name: &Text, input: &'a ViewInput<'_>) -> anyhow::Result<Option<&'a Node>> {
    let found = input.nodes.get(name);
    if found.is_some() || !input.knows_nodes || input.has_on_node(name) {
        return Ok(found);
    }
    let meant = input.node_like(name);
    let hint = match (meant, input.nodes.iter().next()) {
        (Some(meant), _) => format!("; did you mean {meant}?"),
        (None, first) => {
            let such_as = first.map(|node| format!(", such as {}", node.name)).unwrap_or_default();
            format!("; the input has {}{such_as}", counted(input.nodes.iter().count(), "Node"))
        }
    };
    bail!("node {name} not found{hint}")
}

/// One run for one node, as each output prints it.
pub(super) struct NodeRun<'a> {
    pub(super) input: &'a ViewInput<'a>,
    pub(super) from: NodeView<'a>,
    /// Whether Services without warnings and errors are left out.
    pub(super) problems_only: bool,
}
