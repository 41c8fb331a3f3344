//! Feeds the copy from an API server: one watch for each kind, by kube's own watcher, which lists again and backs
//! off as client-go does.

use std::{fmt::Debug, sync::Arc};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::{core::v1 as core, discovery::v1 as discovery};
use kube::{
    Api, Client, Resource,
    runtime::{WatchStreamExt, watcher},
};
use serde::{Deserialize, de::DeserializeOwned};

use super::watched::Watched;
use crate::{
    cache::{Event, Kind, Object, Store},
    model::{EndpointSlice, Labels, Node, Pod, Service, Text, wire::nullable},
};

/// Objects in a page of the first list.
const PAGE: u32 = 500;

/// Why the copy is not kept any longer.
#[derive(Debug, thiserror::Error)]
#[error("the watch of {0} ended")]
pub(super) struct WatchError(&'static str);

/// Keeps `store` until it is dropped. Errors of the API server are logged and tried again, for ever; meanwhile the
/// copy is as it was.
pub(super) async fn run(client: Client, store: Arc<Store>) -> Result<(), WatchError> {
    tokio::try_join!(
        keep::<core::Pod, Pod>(&client, &store, Kind::Pod, |p| Object::Pod(Box::new(p))),
        keep::<core::Service, Service>(&client, &store, Kind::Service, |s| Object::Service(Box::new(s))),
        keep::<core::Node, Node>(&client, &store, Kind::Node, |n| Object::Node(Box::new(n))),
        keep::<discovery::EndpointSlice, EndpointSlice>(&client, &store, Kind::Slice, |s| Object::Slice(Box::new(s))),
        keep::<core::Namespace, Named>(&client, &store, Kind::Namespace, |n| {
            Object::Namespace(n.metadata.name, n.metadata.labels)
        }),
    )?;
    Ok(())
}

/// A namespace.
#[derive(Clone, Debug, Deserialize)]
struct Named {
    #[serde(deserialize_with = "nullable")]
    metadata: NamedMeta,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NamedMeta {
    name: Text,
    labels: Labels,
}

async fn keep<K, T>(client: &Client, store: &Store, kind: Kind, wrap: fn(T) -> Object) -> Result<(), WatchError>
where
    K: Resource<DynamicType = ()> + Debug + 'static,
    T: Clone + Debug + DeserializeOwned + Send + 'static,
    Watched<K, T>: Resource<DynamicType = ()>,
{
    let name = plural(kind);
    let api: Api<Watched<K, T>> = Api::all(client.clone());
    let config = watcher::Config::default().page_size(PAGE);
    let mut events = watcher(api, config).default_backoff().boxed();
    let mut listed: Vec<Object> = Vec::new();
    loop {
        match events.try_next().await {
            Ok(None) => return Err(WatchError(name)),
            Ok(Some(watcher::Event::Init)) => listed.clear(),
            Ok(Some(watcher::Event::InitApply(object))) => listed.push(wrap(object.view)),
            Ok(Some(watcher::Event::InitDone)) => {
                tracing::debug!(kind = name, objects = listed.len(), "listed");
                store.take(Event::Replace(kind, std::mem::take(&mut listed)));
            }
            Ok(Some(watcher::Event::Apply(object))) => {
                tracing::trace!(kind = name, object = object.metadata.name, "applied");
                store.take(Event::Apply(wrap(object.view)));
            }
            Ok(Some(watcher::Event::Delete(object))) => store.take(Event::Delete(wrap(object.view))),
            Err(error) => tracing::warn!(kind = name, %error, "watch"),
        }
    }
}

fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod => "pods",
        Kind::Service => "services",
        Kind::Node => "nodes",
        Kind::Slice => "endpointslices",
        Kind::Namespace => "namespaces",
    }
}
