//! The texts that are held: a table for each resource, and the slices of each Service.

use std::{collections::BTreeMap, sync::Arc};

use roster_engine::model::{Resource, names};
use roster_manifests::inventory::{Lookup, Row, Table};

use super::raw_object::{ObjectName, RawObject};

/// The objects of the API server.
#[derive(Debug, Default)]
pub(super) struct HeldTexts {
    slices: Table<Arc<RawObject>, SlicesByService>,
    /// Those of other resources.
    others: BTreeMap<Resource, Table<Arc<RawObject>>>,
}

/// The slices of each Service, by the label that names it.
#[derive(Debug, Default)]
struct SlicesByService(BTreeMap<ObjectName, SlicesOfService>);

/// The slices of a Service.
#[derive(Debug, Default)]
struct SlicesOfService {
    /// Sorted by name.
    slices: Vec<Arc<RawObject>>,
    /// How many endpoints all of them have.
    endpoints: usize,
}

impl HeldTexts {
    /// The object of this name.
    pub(super) fn get(&self, resource: Resource, name: &ObjectName) -> Option<&Arc<RawObject>> {
        match resource {
            Resource::EndpointSlice => self.slices.get(&name.namespace, &name.name),
            _ => self.others.get(&resource)?.get(&name.namespace, &name.name),
        }
    }

    /// All objects of a resource, sorted by namespace and name.
    pub(super) fn of(&self, resource: Resource) -> &[Arc<RawObject>] {
        match resource {
            Resource::EndpointSlice => self.slices.rows(),
            _ => self.others.get(&resource).map_or(&[], Table::rows),
        }
    }

    /// All objects.
    pub(super) fn all(&self) -> impl Iterator<Item = (Resource, &Arc<RawObject>)> {
        let others = self.others.iter().flat_map(|(resource, table)| table.rows().iter().map(|raw| (*resource, raw)));
        others.chain(self.slices.rows().iter().map(|raw| (Resource::EndpointSlice, raw)))
    }

    /// Holds an object, and returns what was held of it before.
    pub(super) fn insert(&mut self, resource: Resource, raw: Arc<RawObject>) -> Option<Arc<RawObject>> {
        match resource {
            Resource::EndpointSlice => self.slices.insert(raw),
            _ => self.others.entry(resource).or_default().insert(raw),
        }
    }

    /// Removes an object, and returns it.
    pub(super) fn remove(&mut self, resource: Resource, name: &ObjectName) -> Option<Arc<RawObject>> {
        match resource {
            Resource::EndpointSlice => self.slices.remove(&name.namespace, &name.name),
            _ => self.others.get_mut(&resource)?.remove(&name.namespace, &name.name),
        }
    }

    /// The Endpoints or the slices of a Service.
    pub(super) fn of_service(&self, resource: Resource, service: &ObjectName) -> &[Arc<RawObject>] {
        match resource {
            // They have the name of their Service.
            Resource::Endpoints => self.get(resource, service).map_or(&[], std::slice::from_ref),
            Resource::EndpointSlice => self.slices.lookup().0.get(service).map_or(&[], |of_service| &of_service.slices),
            _ => &[],
        }
    }

    /// The Services that have slices.
    pub(super) fn services_with_slices(&self) -> impl Iterator<Item = &ObjectName> {
        self.slices.lookup().0.keys()
    }

    /// How many slices a Service has, and endpoints in them.
    pub(super) fn weight_of_slices(&self, service: &ObjectName) -> usize {
        self.slices.lookup().0.get(service).map_or(0, |of_service| of_service.slices.len() + of_service.endpoints)
    }
}

/// The Service of a slice, by its label.
pub(super) fn service_of_slice(resource: Resource, raw: &RawObject) -> Option<ObjectName> {
    let label = raw.labels.get(names::SERVICE_NAME).filter(|name| !name.is_empty());
    let service = label.filter(|_| resource == Resource::EndpointSlice)?;
    Some(ObjectName::new(raw.name.namespace.clone(), service.clone()))
}

impl Row for RawObject {
    fn namespace(&self) -> &str {
        &self.name.namespace
    }

    fn name(&self) -> &str {
        &self.name.name
    }
}

impl Lookup<Arc<RawObject>> for SlicesByService {
    fn add(&mut self, slice: &Arc<RawObject>) {
        let Some(service) = service_of_slice(Resource::EndpointSlice, slice) else { return };
        let of_service = self.0.entry(service).or_default();
        of_service.endpoints += slice.endpoint_count();
        let at = of_service.slices.partition_point(|other| other.name < slice.name);
        of_service.slices.insert(at, slice.clone());
    }

    fn remove(&mut self, slice: &Arc<RawObject>) {
        let Some(service) = service_of_slice(Resource::EndpointSlice, slice) else { return };
        let Some(of_service) = self.0.get_mut(&service) else { return };
        if let Ok(at) = of_service.slices.binary_search_by(|other| other.name.cmp(&slice.name)) {
            of_service.slices.remove(at);
            of_service.endpoints -= slice.endpoint_count();
        }
        if of_service.slices.is_empty() {
            self.0.remove(&service);
        }
    }
}
