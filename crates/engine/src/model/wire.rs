//! Helpers for serde: JSON as Kubernetes writes it.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};

use super::{Resource, Text, json::message::shortened};

/// Decodes `null` as the zero value, like Go's decoder.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

/// Reads a value, or the default if it is null or has another type, which is reported elsewhere.
pub fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(d: D) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(d)?;
    Ok(T::deserialize(&value).unwrap_or_default())
}

/// Reads the `kind` of an object and refuses another one: a Pod must not pass for a Service without a selector.
pub(super) fn kind_of<'de, D: Deserializer<'de>>(d: D, wanted: Resource) -> Result<(), D::Error> {
    let found: Text = nullable(d)?;
    if found.is_empty() || found == wanted.kind() {
        return Ok(());
    }
    Err(D::Error::custom(format_args!("the kind is {}, not {}", shortened(&found), wanted.kind())))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
pub(super) fn is_zero(n: &i64) -> bool {
    *n == 0
}

/// Whether a field is present: any value but `null` counts, and the value is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present(pub bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<serde::de::IgnoredAny>::deserialize(d)?.is_some()))
    }
}
