//! Query parameters: options for bodies that cannot contain them, such as a `kind: List`.

use std::collections::BTreeSet;

use roster_engine::{
    model::{
        Text,
        defaults::{ClusterFamilies, ClusterFamiliesError, Defaults, DefaultsMode, UnknownDefaultsMode},
        spelling::{did_you_mean, nearest},
    },
    profile::Minor,
    state::{Controller, Limit, Options},
};

use crate::Problem;

/// The parameters of a query. Each option wins over the one in the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Namespace and name.
    pub(crate) service: Option<(Text, Text)>,
    pub(crate) compat: Option<Minor>,
    pub(crate) against: Option<Minor>,
    /// The controllers to plan.
    pub controllers: Option<Vec<Controller>>,
    pub(crate) max_endpoints_per_slice: Option<Limit>,
    pub(crate) max_endpoints_per_subset: Option<Limit>,
    pub(crate) defaults: Option<DefaultsMode>,
    pub(crate) ip_families: Option<ClusterFamilies>,
    pub(crate) from: Option<Minor>,
    pub(crate) to: Option<Minor>,
    pub(crate) format: Option<PictureFormat>,
}

/// How a picture is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PictureFormat {
    #[default]
    Json,
    Svg,
}

/// The options of a plan.
pub(crate) const OPTION_PARAMS: &[&str] = &["compat", "maxEndpointsPerSlice", "maxEndpointsPerSubset"];

/// The options of a plan, and the controllers to plan.
pub(crate) const PLAN_PARAMS: &[&str] = &["controllers", "compat", "maxEndpointsPerSlice", "maxEndpointsPerSubset"];

/// What an API server fills in when objects are written.
pub(crate) const WRITE_PARAMS: &[&str] = &["defaults", "ipFamilies"];

impl Params {
    /// Reads a query. Names that are not in `known` are errors: a typing error must not become a plan with default options.
    pub(crate) fn read(query: &str, known: &[&[&str]]) -> Result<Self, Problem> {
        let mut params = Self::default();
        read_pairs(query, known, |name, value| params.set(name, value))?;
        Ok(params)
    }

    /// Reads the query of a plan of many Services.
    ///
    /// # Errors
    ///
    /// A parameter is unknown or repeated, or has an invalid value.
    pub fn of_cluster(query: &str) -> Result<Self, Problem> {
        Self::read(query, &[PLAN_PARAMS, WRITE_PARAMS])
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "service" => {
                let parts = value.split_once('/').filter(|(namespace, name)| {
                    !namespace.is_empty() && !name.is_empty() && !name.contains('/') && value.chars().count() <= 500
                });
                let (namespace, name) = parts.ok_or("expected namespace/name")?;
                self.service = Some((namespace.into(), name.into()));
            }
            "compat" => self.compat = Some(minor(value)?),
            "against" => self.against = Some(minor(value)?),
            "from" => self.from = Some(minor(value)?),
            "to" => self.to = Some(minor(value)?),
            "format" => self.format = Some(picture_format(value)?),
            "controllers" => self.controllers = Some(value.split(',').map(controller).collect::<Result<_, _>>()?),
            "maxEndpointsPerSlice" => self.max_endpoints_per_slice = Some(limit(value)?),
            "maxEndpointsPerSubset" => self.max_endpoints_per_subset = Some(limit(value)?),
            "defaults" => self.defaults = Some(value.parse().map_err(|e: UnknownDefaultsMode| e.to_string())?),
            "ipFamilies" => self.ip_families = Some(value.parse().map_err(|e: ClusterFamiliesError| e.to_string())?),
            _ => return Err(unknown(name, &[])),
        }
        Ok(())
    }

    /// What is filled in, where the query says so.
    pub fn defaults(&self) -> Defaults<'static> {
        Defaults { mode: self.defaults, families: self.ip_families, namespace: "" }
    }

    /// `options`, overridden by the query.
    pub fn over(&self, options: Options) -> Options {
        Options {
            compat: self.compat.unwrap_or(options.compat),
            max_endpoints_per_slice: self.max_endpoints_per_slice.or(options.max_endpoints_per_slice),
            max_endpoints_per_subset: self.max_endpoints_per_subset.or(options.max_endpoints_per_subset),
            ..options
        }
    }
}

/// Calls `set` with each parameter of a query. Names that are not in `known`, or that are given twice, are errors.
pub(crate) fn read_pairs(
    query: &str,
    known: &[&[&str]],
    mut set: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let done = if !known.iter().any(|names| names.contains(&name.as_ref())) {
            Err(unknown(&name, known))
        } else if !seen.insert(name.clone()) {
            Err("the parameter is given twice".to_owned())
        } else {
            set(&name, &value)
        };
        done.map_err(|detail| Problem::of_parameter(&name, detail))?;
    }
    Ok(())
}

/// The message about a parameter that the call does not have.
fn unknown(name: &str, known: &[&[&str]]) -> String {
    // As flags and metrics spell it.
    let name = name.replace(['-', '_'], "");
    let meant = nearest(&name, known.iter().flat_map(|names| names.iter()), |known| known);
    format!("unknown parameter{}", did_you_mean(meant.as_slice()))
}

fn picture_format(value: &str) -> Result<PictureFormat, String> {
    match value {
        "json" => Ok(PictureFormat::Json),
        "svg" => Ok(PictureFormat::Svg),
        _ => Err("expected json or svg".into()),
    }
}

fn minor(value: &str) -> Result<Minor, String> {
    value.parse().map_err(|e: roster_engine::profile::UnknownMinor| e.to_string())
}

fn controller(value: &str) -> Result<Controller, String> {
    use serde::{
        Deserialize,
        de::value::{Error, StrDeserializer},
    };
    Controller::deserialize(StrDeserializer::<Error>::new(value))
        .map_err(|_| "expected endpoints, endpointslices or mirroring, separated by commas".into())
}

fn limit(value: &str) -> Result<Limit, String> {
    value.parse().ok().and_then(Limit::new).ok_or_else(|| "expected a number from 1 to 1000".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_whole_or_refused() {
        let known: &[&[&str]] = &[&["service"], PLAN_PARAMS, WRITE_PARAMS];
        for (query, want) in [
            ("", Ok(Params::default())),
            (
                "service=a%2Fb&compat=v1.30.1&controllers=endpoints,mirroring&maxEndpointsPerSlice=7",
                Ok(Params {
                    service: Some(("a".into(), "b".into())),
                    compat: "1.30".parse().ok(),
                    controllers: Some(vec![Controller::Endpoints, Controller::Mirroring]),
                    max_endpoints_per_slice: Limit::new(7),
                    ..Params::default()
                }),
            ),
            ("service=b", Err("service")),
            ("service=a/b/c", Err("service")),
            (
                "defaults=never&ipFamilies=IPv6%2CIPv4",
                Ok(Params {
                    defaults: Some(DefaultsMode::Never),
                    ip_families: "IPv6,IPv4".parse().ok(),
                    ..Params::default()
                }),
            ),
            ("defaults=no", Err("defaults")),
            ("ipFamilies=IPv4,IPv4", Err("ipFamilies")),
            ("compat=2", Err("compat")),
            ("controllers=", Err("controllers")),
            ("maxEndpointsPerSlice=1001", Err("maxEndpointsPerSlice")),
            ("from=1.30", Err("from")),
            ("format=svg", Err("format")),
            ("compt=1.30", Err("compt")),
            ("compat=1.30&compat=1.31", Err("compat")),
        ] {
            let got = Params::read(query, known).map_err(|e| e.errors[0].parameter.clone().unwrap());
            assert_eq!(got, want.map_err(str::to_owned), "{query}");
        }
    }

    #[test]
    fn an_unknown_parameter_may_be_a_mistyped_one() {
        let known: &[&[&str]] = &[&["service"], PLAN_PARAMS, WRITE_PARAMS];
        for (query, want) in [
            ("compt=1.30", "unknown parameter; did you mean compat?"),
            ("Service=a/b", "unknown parameter; did you mean service?"),
            ("controler=endpoints", "unknown parameter; did you mean controllers?"),
            ("max-endpoints-per-slice=7", "unknown parameter; did you mean maxEndpointsPerSlice?"),
            ("ipfamilies=IPv4", "unknown parameter; did you mean ipFamilies?"),
            // Parameters of other calls are not meant.
            ("agianst=1.30", "unknown parameter"),
            ("x=1", "unknown parameter"),
        ] {
            assert_eq!(Params::read(query, known).unwrap_err().errors[0].detail, want, "{query}");
        }
    }
}
