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
use tokio::time::Instant;

use super::{streak::Streak, watched::Watched};
use crate::{
    inventory::cache::{Event, Kind, Object, Store},
    kube_api::WatchMetrics,
    model::{EndpointSlice, Labels, Node, Pod, Service, Text, wire::nullable},
};

/// Objects in a page of the first list.
const PAGE: u32 = 500;

/// Why the copy is not kept any longer.
#[derive(Debug, thiserror::Error)]
#[error("the watch of {0} ended")]
pub(super) struct WatchError(&'static str);

/// Keeps `store` until it is dropped. Errors of the API server are logged and tried again, for ever; meanwhile the
/// copy is as it was, and after a minute it is known to be old.
pub(super) async fn run(client: Client, store: Arc<Store>, metrics: WatchMetrics) -> Result<(), WatchError> {
    let copy = (&*store, &metrics);
    tokio::try_join!(
        keep::<core::Pod, Pod>(&client, copy, Kind::Pod, |p| Object::Pod(Box::new(p))),
        keep::<core::Service, Service>(&client, copy, Kind::Service, |s| Object::Service(Box::new(s))),
        keep::<core::Node, Node>(&client, copy, Kind::Node, |n| Object::Node(Box::new(n))),
        keep::<discovery::EndpointSlice, EndpointSlice>(&client, copy, Kind::Slice, |s| Object::Slice(Box::new(s))),
        keep::<core::Namespace, Named>(&client, copy, Kind::Namespace, |n| {
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

async fn keep<K, T>(
    client: &Client,
    (store, metrics): (&Store, &WatchMetrics),
    kind: Kind,
    wrap: fn(T) -> Object,
) -> Result<(), WatchError>
where
    K: Resource<DynamicType = ()> + Debug + 'static,
    T: Clone + Debug + DeserializeOwned + Send + 'static,
    Watched<K, T>: Resource<DynamicType = ()>,
{
    let name = plural(kind);
    let api: Api<Watched<K, T>> = Api::all(client.clone());
    let watch = || watcher(api.clone(), watcher::Config::default().page_size(PAGE)).default_backoff().boxed();
    let mut events = watch();
    let mut listed: Vec<Object> = Vec::new();
    let mut streak = Streak::default();
    metrics.stale(name, false);
    loop {
        let event = events.try_next().await;
        // A list that has begun, or came in part, says nothing yet: `Init` comes before its first answer.
        if let Ok(Some(watcher::Event::InitDone | watcher::Event::Apply(_) | watcher::Event::Delete(_))) = event {
            streak.end();
        }
        match event {
            Ok(None) => return Err(WatchError(name)),
            Ok(Some(watcher::Event::Init)) => listed.clear(),
            Ok(Some(watcher::Event::InitApply(object))) => listed.push(wrap(object.view).slim()),
            Ok(Some(watcher::Event::InitDone)) => {
                tracing::debug!(kind = name, objects = listed.len(), "listed");
                store.take(Event::Replace(kind, std::mem::take(&mut listed)));
                metrics.stale(name, false);
            }
            Ok(Some(watcher::Event::Apply(object))) => {
                tracing::trace!(kind = name, object = object.metadata.name, "applied");
                store.take(Event::Apply(wrap(object.view)));
            }
            Ok(Some(watcher::Event::Delete(object))) => store.take(Event::Delete(wrap(object.view))),
            Err(error) => {
                tracing::warn!(kind = name, %error, "watch");
                if streak.error(Instant::now()) {
                    tracing::warn!(kind = name, "the copy is old: rules that ask it are not checked");
                    store.take(Event::Lost(kind));
                    metrics.stale(name, true);
                    // A watch that resumes tells nothing until something changes. One that begins anew lists first.
                    events = watch();
                }
            }
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
