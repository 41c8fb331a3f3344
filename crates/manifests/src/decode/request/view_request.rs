//! The body of a view: a node, the program whose view is taken, and the objects that it sees.

use roster_engine::model::{Family, NodePool, Text};

use super::{
    field_reader,
    request_fields::{FieldError, FieldErrors, RequestBody, RequestError, RequestFields, VIEW_FIELDS, names},
    view_options::{ViewOptions, ViewScheme, ViewSettings},
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
