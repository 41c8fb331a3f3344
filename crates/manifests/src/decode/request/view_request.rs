//! The body of a view: a node, the program whose view is taken, its settings, and the objects that it sees.

use std::collections::BTreeMap;

use roster_engine::{
    model::{
        Family, NodePool, Text,
        defaults::{ClusterFamilies, Defaults, DefaultsMode},
        wire::nullable,
    },
    view::KeyOrder,
};
use serde::Deserialize;

use super::{
    field_reader,
    request_fields::{FieldError, FieldErrors, RequestBody, RequestError, RequestFields, VIEW_FIELDS, names},
    request_options::families_if_any,
};
use crate::{decode::Source, inventory::Inventory};

/// A request for the view of a node.
#[derive(Clone, Debug)]
pub struct ViewRequest {
    /// The node.
    pub node: Text,
    /// The program whose view it is.
    pub scheme: ViewScheme,
    /// The address family of kube-proxy; default: IPv4.
    pub family: Family,
    /// Node pools.
    pub pools: Vec<NodePool>,
    /// Settings of the program.
    pub options: ViewOptions,
    /// Services, Endpoints, slices and nodes, and the findings about them.
    pub known: Inventory,
}

/// Reads a JSON body, within the limits of `source`. The format and the byte limit of `source` are not used.
pub fn read_view(text: &str, source: &Source<'_>) -> Result<ViewRequest, RequestError> {
    let RequestBody::Request(fields) = field_reader::read(text, source, &VIEW_FIELDS)? else {
        return Err(RequestError::NotAnObject("a Kubernetes object, or a list of them", names(&VIEW_FIELDS)));
    };
    let RequestFields { objects: known, view, .. } = fields;
    let ViewSettings { node, scheme, family, pools, options } = view;
    let Some(node) = node.filter(|name| !name.is_empty()) else {
        let missing = FieldError { pointer: "/node".to_owned(), message: "is missing".to_owned() };
        return Err(FieldErrors { first: vec![missing], more: 0 }.into());
    };
    Ok(ViewRequest {
        node,
        scheme: scheme.unwrap_or_default(),
        family: family.unwrap_or(Family::V4),
        pools,
        options,
        known,
    })
}

/// The program that decides what a node uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViewScheme {
    /// kube-proxy.
    #[default]
    KubeProxy,
    /// SuperEdge's application-grid-wrapper.
    #[serde(rename = "superedge")]
    SuperEdge,
    /// OpenYurt's yurthub.
    #[serde(rename = "openyurt")]
    OpenYurt,
}

/// Settings of the programs, and what is filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ViewOptions {
    /// SuperEdge: whether the endpoints of the API server are replaced by the address in their annotations.
    #[serde(deserialize_with = "nullable")]
    pub substitute_local_apiserver: bool,
    /// SuperEdge: whether endpoints on unhealthy nodes are removed.
    #[serde(deserialize_with = "nullable")]
    pub health_filter: bool,
    /// SuperEdge: the health of nodes by their names; others are healthy.
    #[serde(deserialize_with = "nullable")]
    pub health: BTreeMap<Text, bool>,
    /// SuperEdge: how several topology keys are read.
    #[serde(deserialize_with = "nullable")]
    pub topology_mode: KeyOrder,
    /// OpenYurt: whether traffic may be confined to node pools.
    #[serde(deserialize_with = "nullable")]
    pub pool_topology: bool,
    defaults: Option<DefaultsMode>,
    #[serde(deserialize_with = "families_if_any")]
    ip_families: Option<ClusterFamilies>,
}

impl ViewOptions {
    /// The names of all options.
    pub(super) const FIELDS: &[&str] = &[
        "substituteLocalApiserver",
        "healthFilter",
        "health",
        "topologyMode",
        "poolTopology",
        "defaults",
        "ipFamilies",
    ];

    pub(super) fn defaults(&self) -> Defaults<'static> {
        Defaults { mode: self.defaults, families: self.ip_families, namespace: "" }
    }
}

/// The fields of a view beside its objects.
#[derive(Clone, Debug, Default)]
pub(super) struct ViewSettings {
    pub(super) node: Option<Text>,
    pub(super) scheme: Option<ViewScheme>,
    pub(super) family: Option<Family>,
    pub(super) pools: Vec<NodePool>,
    pub(super) options: ViewOptions,
}
