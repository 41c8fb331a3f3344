//! Services, viewed from one node.

use roster_engine::{
    model::Text,
    view::{ViewedCluster, Viewpoint},
};
use roster_manifests::inventory::ViewInput;

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
        Ok(Self { cluster, at: Viewpoint { name, node: input.named_node(name)? }, scheme })
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

/// One run for one node, as each output prints it.
pub(super) struct NodeRun<'a> {
    pub(super) input: &'a ViewInput<'a>,
    pub(super) from: NodeView<'a>,
    /// Whether Services without warnings and errors are left out.
    pub(super) problems_only: bool,
}
