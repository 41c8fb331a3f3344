//! The input of one sync, with the address types of the Service.

use smallvec::{SmallVec, smallvec};

use crate::{
    model::{Family, Labels, Nodes, Pod, Service},
    profile::Profile,
    state::SyncContext,
};

/// What this controller writes, as part of a sentence.
pub(super) const OUTPUT: &str = "slices";

/// All that one sync reads, whatever the address type.
pub(super) struct SliceJob<'a> {
    pub(super) service: &'a Service,
    /// The selected pods; everything else refers to them by index.
    pub(super) pods: &'a [&'a Pod],
    pub(super) nodes: &'a Nodes,
    pub(super) context: &'a SyncContext,
    pub(super) profile: &'static Profile,
    /// The address types of the Service, in its order.
    pub(super) families: Families,
    /// The labels of every slice that is written.
    pub(super) labels: Labels,
}

/// Address types, each once, in the order of the Service.
pub(super) type Families = SmallVec<[Family; 2]>;

/// The address types in the spec; without any, that of the cluster IP; without one, both (`getAddressTypesForService`).
///
/// Upstream iterates over them in random order; the first of the spec comes first in seven of eight runs. This shows in
/// the events about hints, which only the first address type emits.
pub(super) fn families_of(service: &Service) -> Families {
    let mut families = service.families.clone();
    if families.is_empty() {
        families = if service.headless() {
            smallvec![Family::V4, Family::V6]
        } else {
            smallvec![Family::of(&service.cluster_ip)]
        };
    }
    if families.len() > 1 {
        let first = families[0];
        families.retain(|f| *f != first);
        families.dedup();
        families.insert(0, first);
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_come_from_the_spec_then_from_the_cluster_ip() {
        use Family::{V4, V6};
        for (families, cluster_ip, want) in [
            (&[V6, V4][..], "10.0.0.1", &[V6, V4][..]),
            (&[V4, V6, V4, V6], "None", &[V4, V6]),
            (&[V6, V6], "None", &[V6]),
            (&[], "10.0.0.1", &[V4]),
            (&[], "fd00::1", &[V6]),
            (&[], "nonsense", &[V4]),
            (&[], "None", &[V4, V6]),
            (&[], "", &[V4, V6]),
        ] {
            let service = Service { families: families.into(), cluster_ip: cluster_ip.into(), ..Service::default() };
            assert_eq!(families_of(&service).as_slice(), want, "{families:?} {cluster_ip:?}");
        }
    }
}
