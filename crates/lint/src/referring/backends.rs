//! The Services that the objects of an input send requests to.

use roster_engine::model::Text;
use roster_manifests::inventory::{BackendPort, BackendReference, Referrer, backends_of, workloads::ServiceReference};

use super::ReferringObject;

/// A reference to a Service and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    /// The Service.
    pub(crate) service: ServiceReference,
    /// JSON pointer to what has the name and the port.
    pub(crate) pointer: String,
    /// The port; `None` if it has none.
    pub(crate) port: Option<BackendPort>,
    /// The kind of the object.
    pub(crate) kind: Text,
    /// The namespace of the object, if it needs a grant to refer to another one.
    pub(crate) granted_to: Option<Text>,
}

/// The backends of an object.
pub(super) fn of(object: ReferringObject<'_>) -> Vec<Backend> {
    let ReferringObject { document, kind, group, namespace, text } = object;
    let backends = backends_of(Referrer { kind, group, namespace, text });
    let of_document = |BackendReference { namespace, name, pointer, port, granted_to }| Backend {
        service: ServiceReference { document, namespace, name },
        pointer,
        port,
        kind: kind.into(),
        granted_to,
    };
    backends.into_iter().map(of_document).collect()
}
