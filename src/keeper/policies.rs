//! Keeps the policies of a cluster in force, and has it said of each whether it is.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::TryStreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    core::Status,
    runtime::{WatchStreamExt, watcher},
};

use super::statuses::Statuses;
use crate::{
    installed::CRD,
    policy::{self, EndpointPolicy},
    webhook::{InForce, told},
};

/// The policies of a cluster.
pub(super) fn api(client: Client) -> Api<DynamicObject> {
    let (plural, group) = CRD.split_once('.').unwrap_or((CRD, ""));
    let resource = ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{group}/v1"),
        kind: policy::version::KIND.to_owned(),
        plural: plural.to_owned(),
    };
    Api::all_with(client, &resource)
}

/// Keeps the policies of the cluster, for ever. Where the CRD is not installed there are none; it is asked for again.
/// `known` says whether those that were there at the start are in force.
pub(super) async fn of_cluster(
    api: Api<DynamicObject>,
    in_force: Arc<InForce>,
    statuses: Statuses,
    known: Arc<AtomicBool>,
) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut listed = BTreeMap::new();
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Init)) => listed.clear(),
            Ok(Some(watcher::Event::InitApply(object))) => {
                listed.insert(object.name_any(), read(&object, &statuses));
            }
            Ok(Some(watcher::Event::InitDone)) => {
                tracing::info!(policies = listed.len(), "policies of the cluster");
                in_force.set_cluster(std::mem::take(&mut listed));
                known.store(true, Ordering::Relaxed);
            }
            Ok(Some(watcher::Event::Apply(object))) => {
                // One that cannot be read any more keeps its place: half a policy protects nobody.
                if let Some(policy) = read(&object, &statuses) {
                    in_force.set_one(&object.name_any(), Some(policy));
                }
            }
            Ok(Some(watcher::Event::Delete(object))) => {
                statuses.forget(&object.name_any());
                in_force.set_one(&object.name_any(), None);
            }
            // kube's watcher does not end by itself.
            Ok(None) => return,
            Err(error) => {
                if nobody_can_tell(&error) {
                    known.store(true, Ordering::Relaxed);
                }
                if is_missing(&error) {
                    tracing::debug!(%error, "the watch of policies");
                } else {
                    tracing::warn!(%error, "the watch of policies");
                }
            }
        }
    }
}

/// Whether there is no CRD, as in a cluster without policies.
fn is_missing(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

/// Whether waiting helps nobody: there is no CRD; or a policy is stored in a version that a webhook must convert first,
/// and that webhook is this one.
fn nobody_can_tell(error: &watcher::Error) -> bool {
    // Any other failure passes, and until then nobody may be told that no policy holds.
    let unconverted = |status: &Status| status.code == 500 && status.message.contains("conversion webhook");
    is_missing(error)
        || matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if unconverted(status))
}

fn read(object: &DynamicObject, statuses: &Statuses) -> Option<EndpointPolicy> {
    let raw = serde_json::value::to_raw_value(object).ok()?;
    let (policy, problems) = policy::read(&raw);
    if !problems.is_empty() {
        tracing::warn!(policy = object.name_any(), problems = %told(&problems), "a policy is not as it should be");
    }
    statuses.see(object, &problems);
    policy
}
