//! The node whose view is taken.

use crate::model::{Labels, Node, names};

/// A node, as its kube-proxy knows it.
#[derive(Clone, Copy, Debug)]
pub struct Viewpoint<'a> {
    /// The name of the node: kube-proxy has it from its flags, whether the Node exists or not.
    pub name: &'a str,
    /// The Node; `None` if none of this name is known.
    pub node: Option<&'a Node>,
}

impl<'a> Viewpoint<'a> {
    /// The labels of the Node.
    pub fn labels(self) -> Option<&'a Labels> {
        self.node.map(|node| &node.labels)
    }

    /// The zone, or the empty text: what kube-proxy compares hints with.
    pub fn zone(self) -> &'a str {
        self.labels().and_then(|labels| labels.get(names::ZONE)).map_or("", |zone| zone)
    }
}
