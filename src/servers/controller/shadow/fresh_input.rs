//! The objects of a Service as the API server stores them now.

use std::sync::Arc;

use roster_engine::model::{EndpointSlice, Pod, Resource, Service};

use crate::{
    kube_api::{WriteError, by_labels, by_name},
    servers::controller::{
        applier::Applier,
        apply_error::{ApplyError, Attempt, Failure},
        cluster_copy::ClusterCopy,
        permissions::watches,
        queue::ServiceKey,
        service_input::ServiceInput,
    },
};

/// Reads the Service, its pods, Endpoints and slices. Nodes are taken from the copy.
pub(super) async fn fresh_input(
    copy: &ClusterCopy,
    applier: &Applier,
    key: &ServiceKey,
) -> Result<ServiceInput, ApplyError> {
    // Not for the copy: the watch tells what has happened, in order.
    let (endpoints, slices) = applier.stored(key).await?;
    let read = async {
        let named = by_name(&key.name);
        let (services, _) = applier.writer::<Service>(Resource::Service, key).list(&named).await?;
        let service = services.into_iter().next().map(|service| Arc::new(copy.held(service)));
        let selector = service.as_ref().and_then(|service| service.selector.as_ref());
        let mut pods = Vec::new();
        if let Some(selector) = selector.filter(|_| watches(copy.controllers(), Resource::Pod)) {
            let query = by_labels(selector.iter().map(|(key, value)| (key.as_str(), value.as_str())));
            let (found, _) = applier.writer::<Pod>(Resource::Pod, key).list(&query).await?;
            pods = found.into_iter().map(|pod| Arc::new(copy.held(pod))).collect();
            pods.sort_unstable_by(|a: &Arc<Pod>, b| a.name().cmp(b.name()));
        }
        Ok((service, pods))
    };
    let (service, pods) = read.await.map_err(|error: WriteError| ApplyError {
        key: key.clone(),
        attempt: Attempt::Read,
        failure: Failure::Failed(Box::new(error)),
    })?;
    let endpoints = endpoints.and_then(|(list, _)| list.into_iter().next()).map(Arc::new);
    let mut slices: Vec<Arc<EndpointSlice>> = slices.into_iter().flat_map(|(list, _)| list).map(Arc::new).collect();
    slices.sort_unstable_by(|a, b| a.meta.name.cmp(&b.meta.name));
    Ok(ServiceInput { service, pods, endpoints, slices, ..copy.input(key) })
}
