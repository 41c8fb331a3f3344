//! The resources that clients read from the cache.

use roster_engine::model::Resource;

/// The resources that are cached.
pub(super) const CACHED: [Resource; 5] =
    [Resource::Service, Resource::Endpoints, Resource::EndpointSlice, Resource::Node, Resource::Namespace];

/// The resources with endpoints.
pub(super) const WITH_ENDPOINTS: [Resource; 2] = [Resource::Endpoints, Resource::EndpointSlice];
