//! The objects of a Service as the API server stores them now.

use std::sync::Arc;

use kube::Client;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use roster_engine::model::{EndpointSlice, Labels, Pod, Resource, Service, installed::CONTROLLER};

use crate::{
    kube_api::{WriteError, Writer},
    servers::controller::{
        applier::Applier,
        apply_error::{ApplyError, Attempt, Failure},
        cluster_copy::ClusterCopy,
        permissions::watched,
        queue::ServiceKey,
        service_input::ServiceInput,
    },
};

/// Reads the Service, its pods, Endpoints and slices. Nodes are taken from the copy.
pub(super) async fn fresh_input(
    client: &Client,
    copy: &ClusterCopy,
    applier: &Applier,
    key: &ServiceKey,
) -> Result<ServiceInput, ApplyError> {
    // Not for the copy: the watch tells what has happened, in order.
    let (endpoints, slices) = applier.stored(key).await?;
    let read = async {
        let query = format!("fieldSelector=metadata.name%3D{}", key.name);
        let (services, _) = lists::<Service>(client, Resource::Service, key).list(&query).await?;
        let service = services.into_iter().next().map(|service| Arc::new(copy.held(service)));
        let selector = service.as_ref().and_then(|service| service.selector.as_ref());
        let reads_pods = watched(copy.controllers()).any(|resource| resource == Resource::Pod);
        let mut pods = Vec::new();
        if let Some(selector) = selector.filter(|_| reads_pods) {
            let (found, _) = lists::<Pod>(client, Resource::Pod, key).list(&label_query(selector)).await?;
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

fn lists<K: serde::de::DeserializeOwned>(client: &Client, resource: Resource, key: &ServiceKey) -> Writer<K> {
    Writer::new(client.clone(), resource, Some(&key.namespace), CONTROLLER)
}

/// `labelSelector=app%3Dweb%2Ctier%3Dfront`.
fn label_query(selector: &Labels) -> String {
    let pairs: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("labelSelector={}", utf8_percent_encode(&pairs.join(","), NON_ALPHANUMERIC))
}

#[cfg(test)]
mod tests {
    use roster_engine::model::Text;

    use super::*;

    #[test]
    fn selectors_are_encoded() {
        for (selector, want) in [
            (&[][..], "labelSelector="),
            (&[("app", "web")][..], "labelSelector=app%3Dweb"),
            (&[("a.io/b", "x"), ("c", "")][..], "labelSelector=a%2Eio%2Fb%3Dx%2Cc%3D"),
        ] {
            let text = |text: &str| Text::from(text);
            let selector: Labels = selector.iter().map(|(k, v)| (text(k), text(v))).collect();
            assert_eq!(label_query(&selector), want);
        }
    }
}
