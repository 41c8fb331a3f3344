//! Helpers for serde: JSON as Kubernetes writes it.

use serde::{Deserialize, Deserializer};

/// Decodes `null` as the zero value, like Go's decoder.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
pub(super) fn is_zero(n: &i64) -> bool {
    *n == 0
}

/// Whether a field is present: any value but `null` counts, and the value is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Present(pub bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<serde::de::IgnoredAny>::deserialize(d)?.is_some()))
    }
}
