//! Keeps the policies of a cluster in force.

use std::{collections::BTreeMap, sync::Arc};

use futures::TryStreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};

use crate::{
    installed::CRD,
    policy::{self, EndpointPolicy},
    webhook::{InForce, told},
};

/// Keeps the policies of the cluster, for ever. Where the CRD is not installed there are none; it is asked for again.
pub(super) async fn of_cluster(client: Client, in_force: Arc<InForce>) {
    let (plural, group) = CRD.split_once('.').unwrap_or((CRD, ""));
    let resource = ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{group}/v1"),
        kind: policy::version::KIND.to_owned(),
        plural: plural.to_owned(),
    };
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut listed = BTreeMap::new();
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Init)) => listed.clear(),
            Ok(Some(watcher::Event::InitApply(object))) => listed.extend(named(&object)),
            Ok(Some(watcher::Event::InitDone)) => {
                tracing::info!(policies = listed.len(), "policies of the cluster");
                in_force.set_cluster(std::mem::take(&mut listed));
            }
            Ok(Some(watcher::Event::Apply(object))) => {
                // One that cannot be read any more keeps its place: half a policy protects nobody.
                if let Some((name, policy)) = named(&object) {
                    in_force.set_one(&name, Some(policy));
                }
            }
            Ok(Some(watcher::Event::Delete(object))) => drop(in_force.set_one(&object.name_any(), None)),
            // kube's watcher does not end by itself.
            Ok(None) => return,
            Err(error) => tracing::debug!(%error, "the watch of policies"),
        }
    }
}

fn named(object: &DynamicObject) -> Option<(String, EndpointPolicy)> {
    let raw = serde_json::value::to_raw_value(object).ok()?;
    let (policy, problems) = policy::read(&raw);
    if !problems.is_empty() {
        tracing::warn!(policy = object.name_any(), problems = %told(&problems), "a policy is not as it should be");
    }
    Some((object.name_any(), policy?))
}
