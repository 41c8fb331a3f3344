//! Labels of Endpoints: those of the Service, with a few that belong to the controller.

use crate::{
    model::{Labels, Service, names},
    profile::Profile,
};

/// The labels that are written.
pub(super) fn desired(service: &Service, profile: &Profile) -> Labels {
    let mut labels = service.meta.labels.clone();
    if service.headless() {
        labels.insert(names::HEADLESS, "");
    } else {
        labels.remove(names::HEADLESS);
    }
    if profile.managed_by_label {
        labels.insert(names::ENDPOINTS_MANAGED_BY, names::ENDPOINTS_CONTROLLER);
    }
    labels
}

/// Whether stored labels need no write (`labelsCorrectForEndpoints`; versions.md#e6).
///
/// The headless label is ignored in the stored object, but compared if the Service carries it: such labels are never
/// correct. From 1.33 the same holds for the managed-by label.
pub(super) fn correct(stored: &Labels, service: &Labels, profile: &Profile) -> bool {
    let ignored =
        |key: &str| key == names::HEADLESS || (profile.managed_by_label && key == names::ENDPOINTS_MANAGED_BY);
    if profile.managed_by_label
        && stored.get(names::ENDPOINTS_MANAGED_BY).is_none_or(|v| v != names::ENDPOINTS_CONTROLLER)
    {
        return false;
    }
    stored.iter().filter(|(k, _)| !ignored(k)).eq(service.iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Minor;

    #[test]
    fn labels_are_compared_as_upstream_compares_them() {
        const MANAGED: (&str, &str) = (names::ENDPOINTS_MANAGED_BY, names::ENDPOINTS_CONTROLLER);
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: &[(&str, Pairs, Pairs, bool)] = &[
            ("1.32", &[("a", "1")], &[("a", "1")], true),
            ("1.32", &[("a", "1"), (names::HEADLESS, "")], &[("a", "1")], true),
            ("1.32", &[("a", "1"), MANAGED], &[("a", "1")], false),
            ("1.32", &[(names::HEADLESS, "")], &[(names::HEADLESS, "")], false),
            ("1.33", &[("a", "1")], &[("a", "1")], false),
            ("1.33", &[("a", "1"), MANAGED], &[("a", "1")], true),
            ("1.33", &[("a", "1"), MANAGED], &[("a", "2")], false),
            ("1.33", &[MANAGED], &[("a", "2")], false),
            ("1.33", &[MANAGED], &[MANAGED], false),
        ];
        for (minor, stored, service, want) in cases {
            let labels = |pairs: Pairs| pairs.iter().copied().collect::<Labels>();
            let profile = minor.parse::<Minor>().unwrap().profile();
            assert_eq!(correct(&labels(stored), &labels(service), profile), *want, "{minor} {stored:?} {service:?}");
        }
    }
}
