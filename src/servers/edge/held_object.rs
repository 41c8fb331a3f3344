//! What is held of an object of the API server.

use std::sync::Arc;

use super::{
    raw_object::{ObjectName, RawObject},
    scheme::EdgeScheme,
};
use crate::model::{ObjectMeta, Resource, Service, Text, names};

/// The text of an object; of a Service, what a scheme reads of it as well.
#[derive(Debug)]
pub(super) struct HeldObject {
    pub(super) raw: Arc<RawObject>,
    pub(super) service: Option<Box<HeldService>>,
}

/// What a scheme reads of a Service.
#[derive(Debug)]
pub(super) struct HeldService {
    pub(super) service: Service,
    /// The labels of nodes that it depends on.
    pub(super) node_labels: Vec<Text>,
}

impl HeldObject {
    pub(super) fn new(resource: Resource, raw: Arc<RawObject>, scheme: EdgeScheme) -> Self {
        let service = (resource == Resource::Service).then(|| {
            let service = read_service(&raw);
            Box::new(HeldService { node_labels: scheme.node_labels(&service), service })
        });
        Self { raw, service }
    }
}

/// What a scheme reads of a Service. One that cannot be read has its annotations only.
fn read_service(raw: &RawObject) -> Service {
    let Service { kind, selector, .. } = serde_json::from_str(&raw.text).unwrap_or_default();
    let ObjectName { namespace, name } = raw.name.clone();
    let meta = ObjectMeta { name, namespace, annotations: raw.annotations.clone(), ..ObjectMeta::default() };
    Service { meta, kind, selector, ..Service::default() }
}

/// The Service of a slice, by its label.
pub(super) fn service_of_slice(resource: Resource, raw: &RawObject) -> Option<ObjectName> {
    let label = raw.labels.get(names::SERVICE_NAME).filter(|name| !name.is_empty());
    let service = label.filter(|_| resource == Resource::EndpointSlice)?;
    Some(ObjectName::new(raw.name.namespace.clone(), service.clone()))
}
