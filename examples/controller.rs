//! A controller of endpoints other than pods: `cargo run --example controller`, with a kubeconfig.
//!
//! A virtual machine is a `ConfigMap` with the label `example.com/service: NAME`, and the data `ip`, `zone` and `ready`. It serves that
//! Service, which has no selector. The built-in controllers leave such Services alone, and slices that another name manages.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::{Controller, controller::Action, reflector::ObjectRef, watcher::Config};
use kube::{Api, Client, Error, ResourceExt};
use roster_engine::model::{self, Node, Nodes, Pod, names};
use roster_engine::plan::plan;
use roster_engine::state::{self, Options, State};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

const SERVICE: &str = "example.com/service";
const MANAGED_BY: &str = "machines.example.com";

#[tokio::main]
async fn main() -> kube::Result<()> {
    run(Client::try_default().await?).await;
    Ok(())
}

/// Syncs each Service when it, one of its machines or one of its slices changes.
pub(crate) async fn run(client: Client) {
    Controller::new(Api::<Service>::all(client.clone()), Config::default())
        .owns(Api::<EndpointSlice>::all(client.clone()), Config::default())
        .watches(Api::<ConfigMap>::all(client.clone()), Config::default().labels(SERVICE), |machine| {
            Some(ObjectRef::new(machine.labels().get(SERVICE)?).within(&machine.namespace()?))
        })
        .run(sync, |_, _: &Error, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(async |_| {})
        .await;
}

async fn sync(service: Arc<Service>, client: Arc<Client>) -> kube::Result<Action> {
    let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
    let slices: Api<EndpointSlice> = Api::namespaced((*client).clone(), &namespace);
    let own = format!("{}={name},{}={MANAGED_BY}", names::SERVICE_NAME, names::SLICE_MANAGED_BY);
    let stored = slices.list(&ListParams::default().labels(&own)).await?.items;
    let own = ListParams::default().labels(&format!("{SERVICE}={name}"));
    let machines = Api::<ConfigMap>::namespaced((*client).clone(), &namespace).list(&own).await?.items;
    let has_selector = service.spec.as_ref().is_some_and(|spec| spec.selector.is_some());
    if has_selector || (machines.is_empty() && stored.is_empty()) {
        return Ok(Action::await_change());
    }

    // The engine reads pods that the Service selects, their nodes, and slices of its own.
    let mut service = json!(*service);
    service["spec"]["selector"] = json!({ SERVICE: name });
    let service: model::Service = read(service)?;
    let machines: Vec<(Pod, Node)> = machines.iter().map(pod_on_node).collect::<kube::Result<_>>()?;
    let nodes: Nodes = machines.iter().map(|(_, node)| node.clone()).collect();
    let own = |slice| managed(slice, names::SLICE_CONTROLLER);
    let stored: Vec<model::EndpointSlice> = stored.iter().map(own).collect::<kube::Result<_>>()?;
    let (pods, own): (Vec<_>, Vec<_>) = (machines.iter().map(|(pod, _)| pod).collect(), stored.iter().collect());
    let state = State { service: Some(&service), pods: &pods, nodes: &nodes, endpoints: None, slices: &own };
    let changes = plan(&state, &[state::Controller::EndpointSlices], &Options::default()).endpoint_slices;

    for slice in &changes.create {
        slices.create(&PostParams::default(), &managed(slice, MANAGED_BY)?).await?;
    }
    for slice in &changes.update {
        slices.replace(&slice.meta.name, &PostParams::default(), &managed(slice, MANAGED_BY)?).await?;
    }
    for name in &changes.delete {
        slices.delete(name, &DeleteParams::default()).await?;
    }
    // A machine may have left the Service for another one, which is all that its event says.
    Ok(Action::requeue(Duration::from_mins(1)))
}

/// A machine as a pod on a node of its own. The slices name it as what it is.
fn pod_on_node(machine: &ConfigMap) -> kube::Result<(Pod, Node)> {
    let data = |key: &str| machine.data.iter().find_map(|data| data.get(key)).map_or("", String::as_str);
    let ready = json!({ "type": "Ready", "status": if data("ready") == "true" { "True" } else { "False" } });
    let status = json!({ "podIPs": [{ "ip": data("ip") }], "conditions": [ready] });
    let spec = json!({ "nodeName": machine.name_any() });
    let mut pod: Pod = read(json!({ "metadata": machine.metadata, "spec": spec, "status": status }))?;
    pod.reference = Arc::new(model::ObjectRef { kind: "ConfigMap".into(), ..(*pod.reference).clone() });
    let labels = json!({ "topology.kubernetes.io/zone": data("zone") });
    Ok((pod, read(json!({ "metadata": { "name": machine.name_any(), "labels": labels } }))?))
}

fn managed<T: DeserializeOwned>(slice: &impl Serialize, by: &str) -> kube::Result<T> {
    let mut slice = json!(slice);
    slice["metadata"]["labels"][names::SLICE_MANAGED_BY] = json!(by);
    read(slice)
}

fn read<T: DeserializeOwned>(value: Value) -> kube::Result<T> {
    serde_json::from_value(value).map_err(Error::SerdeError)
}
