//! The requests of one resource, by its row in the table.

use kube::{Api, Client, api::ApiResource, core::DynamicObject};
use roster_engine::model::Resource;

/// The requests of a resource in the whole cluster, of objects as JSON.
pub(crate) fn api(client: Client, resource: Resource) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: resource.group().to_owned(),
        version: resource.version().to_owned(),
        api_version: resource.api_version().to_owned(),
        kind: resource.kind().to_owned(),
        plural: resource.plural().to_owned(),
    };
    Api::all_with(client, &resource)
}
