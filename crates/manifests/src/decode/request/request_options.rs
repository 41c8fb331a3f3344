//! The options in the body of a plan request: those of the plan, and what is filled in.

use roster_engine::{
    model::{
        Text,
        defaults::{ClusterFamilies, Defaults, DefaultsMode},
    },
    profile::Minor,
    state::{Limit, Options, Trigger},
};
use serde::{Deserialize, Deserializer, de::Error};

/// The options of a request; see [`Options`] and [`Defaults`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct RequestOptions {
    compat: Minor,
    max_endpoints_per_slice: Option<Limit>,
    max_endpoints_per_subset: Option<Limit>,
    defaults: Option<DefaultsMode>,
    #[serde(deserialize_with = "families_if_any")]
    ip_families: Option<ClusterFamilies>,
}

/// An empty list is as none: some generated clients send one for a field that is not set.
pub(super) fn families_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ClusterFamilies>, D::Error> {
    let names = Option::<Vec<Text>>::deserialize(from)?.filter(|names| !names.is_empty());
    let families = names.map(|names| ClusterFamilies::of(names.iter().map(Text::as_str)));
    families.transpose().map_err(|_| D::Error::custom("expected IPv4, IPv6, or both"))
}

impl RequestOptions {
    /// The names of all options.
    pub(super) const FIELDS: &[&str] =
        &["compat", "maxEndpointsPerSlice", "maxEndpointsPerSubset", "defaults", "ipFamilies"];

    /// The options of the plan.
    pub(super) fn of_plan(&self) -> Options {
        Options {
            compat: self.compat,
            max_endpoints_per_slice: self.max_endpoints_per_slice,
            max_endpoints_per_subset: self.max_endpoints_per_subset,
            trigger: Trigger::Creation,
        }
    }

    /// What is filled in.
    pub(super) fn defaults(&self) -> Defaults<'static> {
        Defaults { mode: self.defaults, families: self.ip_families, namespace: "" }
    }
}
