//! The requests of one resource, by its row in the table.

use kube::{Api, Client, api::ApiResource, core::DynamicObject};
use roster_engine::model::Resource;

/// The requests of a resource, of objects as JSON: lists in the whole cluster, and objects that are in no namespace.
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
