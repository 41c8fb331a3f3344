//! The address types of a Service.

use smallvec::{SmallVec, smallvec};

use crate::model::{Family, Service};

/// Address types, each once, in the order of the Service.
pub(super) type Families = SmallVec<[Family; 2]>;

/// The address types in the spec; without any, that of the cluster IP; without one, both (`getAddressTypesForService`).
///
/// Upstream iterates over them in random order; the first of the spec comes first in seven of eight runs. This shows in
/// the events about hints, which only the first address type emits.
pub(super) fn of(service: &Service) -> Families {
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
            assert_eq!(of(&service).as_slice(), want, "{families:?} {cluster_ip:?}");
        }
    }
}
