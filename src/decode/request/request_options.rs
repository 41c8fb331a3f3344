//! The options in the body of a plan request: those of the plan, and what is filled in.

use serde::Deserialize;

use crate::{
    engine::{
        profile::Minor,
        state::{Limit, Options},
    },
    model::defaults::{ClusterFamilies, Defaults, DefaultsMode},
};

/// The options of a request; see [`Options`] and [`Defaults`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RequestOptions {
    compat: Minor,
    max_endpoints_per_slice: Option<Limit>,
    max_endpoints_per_subset: Option<Limit>,
    defaults: Option<DefaultsMode>,
    ip_families: Option<ClusterFamilies>,
}

impl RequestOptions {
    /// The options of the plan.
    pub(super) fn of_plan(&self) -> Options {
        Options {
            compat: self.compat,
            max_endpoints_per_slice: self.max_endpoints_per_slice,
            max_endpoints_per_subset: self.max_endpoints_per_subset,
        }
    }

    /// What is filled in.
    pub(super) fn defaults(&self) -> Defaults<'static> {
        Defaults { mode: self.defaults, families: self.ip_families, namespace: "" }
    }
}
