//! Labels of slices: those of the Service, and three that the controller reserves.

use crate::model::{EndpointSlice, Labels, Service, names};

/// Whether a label is reserved: neither copied from the Service nor compared (`isReservedLabelKey`).
fn reserved(key: &str) -> bool {
    [names::SERVICE_NAME, names::SLICE_MANAGED_BY, names::HEADLESS].contains(&key)
}

/// The labels that every slice of `service` is written with (`setEndpointSliceLabels`).
pub(super) fn desired(service: &Service) -> Labels {
    let mut labels = service.meta.labels.clone();
    labels.remove(names::HEADLESS);
    if service.headless() {
        labels.insert(names::HEADLESS, "");
    }
    labels.insert(names::SERVICE_NAME, service.meta.name.clone());
    labels.insert(names::SLICE_MANAGED_BY, names::SLICE_CONTROLLER);
    labels
}

/// Whether the labels of a stored slice require a write. Wrong reserved labels do not, but the next write corrects them.
pub(super) fn changed(slice: &EndpointSlice, service: &Service) -> bool {
    !slice.meta.labels.equal_without(&service.meta.labels, reserved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectMeta;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    fn meta(pairs: &[(&str, &str)]) -> ObjectMeta {
        ObjectMeta { name: "s".into(), labels: labels(pairs), ..ObjectMeta::default() }
    }

    const OURS: [(&str, &str); 2] = [(names::SERVICE_NAME, "s"), (names::SLICE_MANAGED_BY, names::SLICE_CONTROLLER)];

    #[test]
    fn slices_carry_the_labels_of_the_service_but_for_reserved_ones() {
        for (cluster_ip, of_service, want) in [
            ("10.0.0.1", &[("a", "1")][..], &[("a", "1")][..]),
            ("10.0.0.1", &[(names::HEADLESS, "yes"), (names::SERVICE_NAME, "other")], &[]),
            ("None", &[], &[(names::HEADLESS, "")]),
            ("", &[(names::HEADLESS, "yes")], &[(names::HEADLESS, "")]),
        ] {
            let service = Service { meta: meta(of_service), cluster_ip: cluster_ip.into(), ..Service::default() };
            let want: Vec<_> = want.iter().chain(&OURS).copied().collect();
            assert_eq!(desired(&service), labels(&want), "{of_service:?}");
        }
    }

    #[test]
    fn reserved_labels_are_no_reason_to_write() {
        for (of_slice, of_service, want) in [
            (&[("a", "1")][..], &[("a", "1")][..], false),
            (&[("a", "1")], &[("a", "2")], true),
            (&[("a", "1"), ("b", "1")], &[("a", "1")], true),
            (&[], &[("a", "1")], true),
            (&[(names::HEADLESS, "x")], &[(names::SERVICE_NAME, "x")], false),
            (&[("a", "")], &[], true),
        ] {
            let slice = EndpointSlice { meta: meta(of_slice), ..EndpointSlice::default() };
            let service = Service { meta: meta(of_service), ..Service::default() };
            assert_eq!(changed(&slice, &service), want, "{of_slice:?} {of_service:?}");
        }
    }
}
