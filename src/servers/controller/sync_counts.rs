//! What a sync wants and changes, in the numbers of kube-controller-manager's metrics.

use roster_engine::{
    model::{AddressType, Endpoint, EndpointSlice, SlicePort, Text, names},
    state::{Controller, Options, Plan, SliceChanges},
};

use super::service_input::ServiceInput;

/// The slices that a controller wants of one Service, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedSlices {
    pub(super) endpoints: usize,
    pub(super) slices: usize,
    /// How many slices would do for them.
    pub(super) fewest: usize,
}

/// What a controller changes of one Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SliceCounts {
    pub(super) wanted: WantedSlices,
    /// How many slices are written or deleted.
    pub(super) changed: usize,
    pub(super) added: usize,
    pub(super) updated: usize,
    pub(super) removed: usize,
}

/// The counts of one sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SyncCounts {
    /// Of the controller of EndpointSlices; `None`: it has nothing to do with the Service.
    pub(super) slices: Option<SliceCounts>,
    /// Of the mirroring controller.
    pub(super) mirrored: Option<SliceCounts>,
    /// Addresses of Endpoints that are not mirrored.
    pub(super) skipped: usize,
}

impl SyncCounts {
    /// The counts of a plan of these controllers, which mark the slices of selected pods with a name.
    pub(super) fn of(
        input: &ServiceInput,
        plan: &Plan,
        controllers: &[Controller],
        slice_manager: &str,
        options: &Options,
    ) -> Self {
        let Some(service) = &input.service else { return Self::default() };
        let runs = |controller| controllers.contains(&controller);
        let counts = |by, most| SliceCounts::of(by, input, &plan.endpoint_slices, most);
        match (&service.selector, &input.endpoints) {
            (Some(_), _) if runs(Controller::EndpointSlices) => {
                let mut slices = counts(slice_manager, options.per_slice());
                // A placeholder, if nothing else.
                slices.wanted.fewest = slices.wanted.fewest.max(1);
                Self { slices: Some(slices), ..Self::default() }
            }
            (None, Some(endpoints)) if runs(Controller::Mirroring) => {
                let mirrored = counts(names::MIRROR_CONTROLLER, options.per_subset());
                let skips = |reason| ["InvalidIPAddress", "TooManyAddressesToMirror"].contains(&reason);
                let all =
                    endpoints.subsets.iter().map(|s| s.addresses.len() + s.not_ready_addresses.len()).sum::<usize>();
                // An address that is listed twice is one endpoint.
                let skipped = plan.events.iter().any(|event| skips(event.reason));
                let skipped = if skipped { all.saturating_sub(mirrored.wanted.endpoints) } else { 0 };
                Self { mirrored: Some(mirrored), skipped, ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

impl SliceCounts {
    /// Of the slices that are managed by a controller. It costs as much as what changes, and the number of slices.
    fn of(managed_by: &str, input: &ServiceInput, changes: &SliceChanges, most: usize) -> Self {
        let is_own = |slice: &&EndpointSlice| slice.managed_by().is_some_and(|by| by == managed_by);
        let mut replaced: Vec<&Text> =
            changes.update.iter().map(|slice| &slice.meta.name).chain(&changes.delete).collect();
        replaced.sort_unstable();
        let stored = input.slices.iter().map(|slice| &**slice).filter(is_own);
        let (before, same): (Vec<&EndpointSlice>, Vec<_>) =
            stored.partition(|slice| replaced.binary_search(&&slice.meta.name).is_ok());
        let after: Vec<&EndpointSlice> = changes.create.iter().chain(&changes.update).filter(is_own).collect();
        let wanted = WantedSlices::of(same.into_iter().chain(after.iter().copied()), most);
        let created = changes.create.iter().filter(is_own).count();
        let counts = Self { wanted, changed: created + before.len(), ..Self::default() };
        counts.compared(&endpoints(&before), &endpoints(&after))
    }

    /// With the endpoints that differ; both lists are sorted.
    fn compared(mut self, before: &[SliceEndpoint<'_>], after: &[SliceEndpoint<'_>]) -> Self {
        let mut before = before.iter().peekable();
        for new in after {
            while before.next_if(|old| old.key() < new.key()).is_some() {
                self.removed += 1;
            }
            match before.next_if(|old| old.key() == new.key()) {
                Some(old) => self.updated += usize::from(old.endpoint != new.endpoint),
                None => self.added += 1,
            }
        }
        self.removed += before.count();
        self
    }
}

impl WantedSlices {
    fn of<'a>(slices: impl Iterator<Item = &'a EndpointSlice>, most: usize) -> Self {
        let mut slices: Vec<&EndpointSlice> = slices.collect();
        let group = |slice: &&'a EndpointSlice| (&slice.address_type, ports(slice));
        slices.sort_unstable_by_key(group);
        let counts = |group: &[&EndpointSlice]| -> usize { group.iter().map(|slice| slice.endpoints.len()).sum() };
        let groups = slices.chunk_by(|a, b| group(a) == group(b));
        let fewest = groups.map(|group| counts(group).div_ceil(most)).sum();
        Self { endpoints: counts(&slices), slices: slices.len(), fewest }
    }
}

fn ports(slice: &EndpointSlice) -> &[SlicePort] {
    slice.ports.as_deref().unwrap_or_default()
}

/// An endpoint of a slice. At other ports it is another one.
struct SliceEndpoint<'a> {
    endpoint: &'a Endpoint,
    address_type: &'a AddressType,
    ports: &'a [SlicePort],
}

impl SliceEndpoint<'_> {
    /// By what it is recognised (upstream: `hashEndpoint` in `k8s.io/endpointslice/util`).
    fn key(&self) -> impl Ord {
        let target = self.endpoint.target_ref.as_ref().map(|target| (&target.namespace, &target.name));
        (&self.endpoint.addresses, target, &self.endpoint.hostname, self.address_type, self.ports)
    }
}

fn endpoints<'a>(slices: &[&'a EndpointSlice]) -> Vec<SliceEndpoint<'a>> {
    let of_slice = |slice: &&'a EndpointSlice| {
        let (address_type, ports) = (&slice.address_type, ports(slice));
        slice.endpoints.iter().map(move |endpoint| SliceEndpoint { endpoint, address_type, ports })
    };
    let mut all: Vec<SliceEndpoint<'a>> = slices.iter().flat_map(of_slice).collect();
    all.sort_unstable_by(|a, b| a.key().cmp(&b.key()));
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roster_engine::{
        model::{Service, installed::SELECTOR},
        state::Limit,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::servers::controller::{beside, queue::Cause, service_scope::ServiceScope};

    /// Two endpoints fit into a slice.
    fn options() -> Options {
        Options {
            max_endpoints_per_slice: Limit::new(2),
            max_endpoints_per_subset: Limit::new(2),
            ..Options::default()
        }
    }

    fn input(service: &Value, pods: &[(u8, bool)], endpoints: Value) -> ServiceInput {
        let pod = |(n, ready): &(u8, bool)| {
            let ip = format!("10.0.0.{n}");
            Arc::new(
                serde_json::from_value(json!({
                    "metadata": { "name": format!("p{n}"), "namespace": "shop", "labels": { "app": "web" } },
                    "spec": { "nodeName": "n" },
                    "status": { "podIP": ip, "podIPs": [{ "ip": ip }],
                        "conditions": [{ "type": "Ready", "status": if *ready { "True" } else { "False" } }] },
                }))
                .unwrap(),
            )
        };
        let meta = json!({ "name": "web", "namespace": "shop", "uid": "u" });
        let service: Service = serde_json::from_value(json!({ "metadata": meta, "spec": service })).unwrap();
        ServiceInput {
            service: Some(Arc::new(service)),
            pods: pods.iter().map(pod).collect(),
            nodes: Arc::new(serde_json::from_value(json!([{ "metadata": { "name": "n" } }])).unwrap()),
            endpoints: serde_json::from_value(endpoints).unwrap(),
            slices: Vec::new(),
            seen: None,
        }
    }

    /// The counts of a sync, and what is stored after it.
    fn sync(input: &mut ServiceInput) -> SyncCounts {
        let (plan, _) = input.plan(&Controller::ALL, options(), &ServiceScope::default(), Cause::Change);
        let counts = SyncCounts::of(input, &plan, &Controller::ALL, names::SLICE_CONTROLLER, &options());
        let SliceChanges { create, update, delete, .. } = plan.endpoint_slices;
        input.slices.retain(|slice| {
            !delete.contains(&slice.meta.name) && update.iter().all(|u| u.meta.name != slice.meta.name)
        });
        let stored = input.slices.len();
        let named = create.into_iter().enumerate().map(|(n, mut slice)| {
            slice.meta.name = format!("s{}", stored + n).into();
            slice
        });
        let written: Vec<_> = named.chain(update).map(Arc::new).collect();
        input.slices.extend(written);
        counts
    }

    #[test]
    fn slices_beside_the_built_in_controllers_are_counted() {
        let spec = json!({ "ports": [{ "port": 80 }], "ipFamilies": ["IPv4"] });
        let mut world = input(&spec, &[(1, true), (2, true), (3, true)], Value::Null);
        let mut service = world.service.take().map(Arc::unwrap_or_clone).unwrap();
        service.meta.annotations.insert(SELECTOR, "app=web");
        world.service = Some(Arc::new(beside::held(service)));
        let scope = ServiceScope { is_beside: true, ..ServiceScope::default() };
        let (plan, _) = world.plan(&Controller::ALL, options(), &scope, Cause::Change);
        let counts = SyncCounts::of(&world, &plan, &Controller::ALL, scope.slice_manager(), &options());
        assert_eq!(shown(&counts.slices.unwrap()), "3 in 2 (2), 2 changed, +3 ~0 -0");
    }

    fn shown(counts: &SliceCounts) -> String {
        let SliceCounts { wanted: WantedSlices { endpoints, slices, fewest }, changed, added, updated, removed } =
            counts;
        format!("{endpoints} in {slices} ({fewest}), {changed} changed, +{added} ~{updated} -{removed}")
    }

    #[test]
    fn slices_are_counted_as_they_will_be() {
        let spec = json!({ "selector": { "app": "web" }, "ports": [{ "port": 80 }], "ipFamilies": ["IPv4"] });
        let mut world = input(&spec, &[(1, true), (2, true), (3, true)], Value::Null);
        let pods = |pods: &[(u8, bool)]| input(&spec, pods, Value::Null).pods;
        for (now, want) in [
            (pods(&[(1, true), (2, true), (3, true)]), "3 in 2 (2), 2 changed, +3 ~0 -0"),
            (pods(&[(1, true), (2, true), (3, true)]), "3 in 2 (2), 0 changed, +0 ~0 -0"),
            (pods(&[(1, true), (2, false), (3, true)]), "3 in 2 (2), 1 changed, +0 ~1 -0"),
            (pods(&[(1, true), (4, true), (3, true)]), "3 in 2 (2), 1 changed, +1 ~0 -1"),
            (pods(&[(3, true)]), "1 in 1 (1), 1 changed, +0 ~0 -2"),
            (pods(&[]), "0 in 1 (1), 1 changed, +0 ~0 -1"),
        ] {
            world.pods = now;
            let counts = sync(&mut world);
            assert_eq!(shown(&counts.slices.unwrap()), want);
            assert_eq!((counts.mirrored, counts.skipped), (None, 0));
        }
        world.service = None;
        assert_eq!(sync(&mut world), SyncCounts::default(), "what is left of a Service is not wanted");
    }

    #[test]
    fn mirrored_slices_are_counted_with_what_is_skipped() {
        let endpoints = |ips: &[&str]| {
            let addresses: Vec<_> = ips.iter().map(|ip| json!({ "ip": ip })).collect();
            json!({ "metadata": { "name": "web", "namespace": "shop" }, "subsets": [{ "addresses": addresses, "ports": [{ "port": 80 }] }] })
        };
        let mut world = input(&json!({ "ports": [{ "port": 80 }] }), &[], endpoints(&["10.0.0.1", "10.0.0.2"]));
        for (now, want) in [
            (endpoints(&["10.0.0.1", "10.0.0.2"]), ("2 in 1 (1), 1 changed, +2 ~0 -0", 0)),
            (endpoints(&["10.0.0.1", "10.0.0.2", "10.0.0.3"]), ("2 in 1 (1), 0 changed, +0 ~0 -0", 1)),
            (endpoints(&["10.0.0.1", "x", "::1"]), ("2 in 2 (2), 2 changed, +1 ~0 -1", 1)),
            (endpoints(&[]), ("0 in 0 (0), 2 changed, +0 ~0 -2", 0)),
        ] {
            world.endpoints = serde_json::from_value(now).unwrap();
            let counts = sync(&mut world);
            assert_eq!((shown(&counts.mirrored.unwrap()).as_str(), counts.skipped), want);
            assert_eq!(counts.slices, None);
        }
    }
}
