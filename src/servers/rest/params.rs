//! Query parameters: options for bodies that cannot contain them, such as a `kind: List`.

use std::{borrow::Cow, collections::BTreeSet};

use axum::{extract::Query, http::Uri};
use roster_engine::{
    model::{
        Text,
        defaults::{ClusterFamilies, ClusterFamiliesError, Defaults, DefaultsMode, UnknownDefaultsMode},
        spelling::{did_you_mean, nearest},
    },
    profile::{Minor, PATTERN},
    state::{Controller, Limit, Options},
};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

use super::problem::{ApiError, InputError, ProblemKind};

/// The parameters of a query. Each option wins over the one in the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params {
    /// Namespace and name.
    pub service: Option<(Text, Text)>,
    pub compat: Option<Minor>,
    pub against: Option<Minor>,
    pub controllers: Option<Vec<Controller>>,
    pub max_endpoints_per_slice: Option<Limit>,
    pub max_endpoints_per_subset: Option<Limit>,
    pub defaults: Option<DefaultsMode>,
    pub ip_families: Option<ClusterFamilies>,
    pub from: Option<Minor>,
    pub to: Option<Minor>,
}

/// The options of a plan.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct OptionParams {
    /// Kubernetes release to emulate; wins over `options.compat`. Default: the newest.
    #[param(value_type = Option<MinorSchema>, inline, required = false, nullable = false, example = "1.37")]
    compat: Option<String>,
    /// `--max-endpoints-per-slice` of kube-controller-manager. Default: 100.
    #[param(rename = "maxEndpointsPerSlice", required = false, nullable = false, minimum = 1, maximum = 1000)]
    max_endpoints_per_slice: Option<i32>,
    /// `--mirroring-max-endpoints-per-subset` of kube-controller-manager.
    #[param(rename = "maxEndpointsPerSubset", required = false, nullable = false, minimum = 1, maximum = 1000)]
    max_endpoints_per_subset: Option<i32>,
}

/// What an API server fills in when objects are written.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct WriteParams {
    /// Which objects get the defaults that an API server fills in: those with neither `uid` nor `resourceVersion`
    /// (`auto`), all, or none. Default: `auto`.
    #[param(required = false, nullable = false)]
    defaults: Option<DefaultsName>,
    /// The address families of the cluster, separated by commas. Default: IPv4, or IPv4 and IPv6 if a
    /// Service needs IPv6 or both.
    #[param(rename = "ipFamilies", required = false, nullable = false, style = Form, explode = false, min_items = 1,
        max_items = 2)]
    ip_families: Option<BTreeSet<FamilyName>>,
}

impl WriteParams {
    /// Their names.
    pub(crate) const NAMES: &[&str] = &["defaults", "ipFamilies"];
}

/// The release of a second plan.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct AgainstParam {
    /// The second release.
    #[param(value_type = MinorSchema, inline, example = "1.30")]
    against: String,
}

/// The two releases of a comparison.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct ReleaseParams {
    /// A release.
    #[param(value_type = Option<MinorSchema>, inline, required = false, nullable = false, example = "1.30")]
    from: Option<String>,
    /// Another release.
    #[param(value_type = Option<MinorSchema>, inline, required = false, nullable = false, example = "1.37")]
    to: Option<String>,
}

/// The schema of a [`Minor`]. It is inlined.
pub(crate) struct MinorSchema;

impl MinorSchema {
    /// The field of the options in a body. A description beside an inlined schema would become a second one.
    pub(crate) fn of_options() -> Schema {
        let object = ObjectBuilder::new().schema_type(Type::String).pattern(Some(PATTERN));
        let description = "The Kubernetes release to follow; default: the newest.";
        object.description(Some(description)).examples(["1.37"]).into()
    }
}

impl PartialSchema for MinorSchema {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some(PATTERN)).into()
    }
}

impl ToSchema for MinorSchema {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Minor")
    }
}

/// The controllers to plan.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct ControllersParam {
    /// Controllers to plan, separated by commas; wins over `controllers` in the body.
    #[param(required = false, nullable = false, style = Form, explode = false, min_items = 1)]
    controllers: Option<Vec<ControllerName>>,
}

/// The Service of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct ServiceParam {
    /// `namespace/name` of the Service, where the body is a list with several Services.
    #[param(required = false, nullable = false, example = "shop/web", pattern = "^[^/]+/[^/]+$", max_length = 500)]
    service: Option<String>,
}

/// One of the three controllers.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase", as = Controller)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ControllerName {
    Endpoints,
    EndpointSlices,
    Mirroring,
}

/// Which objects get defaults.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase", as = DefaultsMode)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum DefaultsName {
    Auto,
    Always,
    Never,
}

/// An address family.
#[derive(utoipa::ToSchema)]
#[schema(as = IpFamily)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum FamilyName {
    IPv4,
    IPv6,
}

/// The names of [`OptionParams`].
pub(crate) const OPTION_PARAMS: &[&str] = &["compat", "maxEndpointsPerSlice", "maxEndpointsPerSubset"];

/// The names of [`OptionParams`] and [`ControllersParam`].
pub(crate) const PLAN_PARAMS: &[&str] = &["controllers", "compat", "maxEndpointsPerSlice", "maxEndpointsPerSubset"];

impl Params {
    /// Reads the query of `uri`. Names that are not in `known` are errors: a typing error must not
    /// become a plan with default options.
    pub(crate) fn read(uri: &Uri, known: &[&[&str]]) -> Result<Self, ApiError> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|e| ApiError::new(ProblemKind::InvalidQuery, e.to_string()))?;
        let (mut params, mut seen) = (Self::default(), Vec::new());
        for (name, value) in pairs {
            let known_here = known.iter().any(|k| k.contains(&name.as_str()));
            let set = if !known_here {
                Err(unknown(&name, known))
            } else if seen.contains(&name) {
                Err("the parameter is given twice".into())
            } else {
                seen.push(name.clone());
                params.set(&name, &value)
            };
            if let Err(detail) = set {
                let name: String = name.chars().take(80).collect();
                let error = InputError { pointer: None, parameter: Some(name), detail: detail.clone() };
                return Err(ApiError { errors: vec![error], ..ApiError::new(ProblemKind::InvalidQuery, detail) });
            }
        }
        Ok(params)
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
    pub(crate) fn defaults(&self) -> Defaults<'static> {
        Defaults { mode: self.defaults, families: self.ip_families, namespace: "" }
    }

    /// `options`, overridden by the query.
    pub(crate) fn over(&self, options: Options) -> Options {
        Options {
            compat: self.compat.unwrap_or(options.compat),
            max_endpoints_per_slice: self.max_endpoints_per_slice.or(options.max_endpoints_per_slice),
            max_endpoints_per_subset: self.max_endpoints_per_subset.or(options.max_endpoints_per_subset),
            ..options
        }
    }
}

/// The message about a parameter that the call does not have.
fn unknown(name: &str, known: &[&[&str]]) -> String {
    // As flags and metrics spell it.
    let name = name.replace(['-', '_'], "");
    let meant = nearest(&name, known.iter().flat_map(|names| names.iter()), |known| known);
    format!("unknown parameter{}", did_you_mean(meant.as_slice()))
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
        let known: &[&[&str]] = &[&["service"], PLAN_PARAMS, WriteParams::NAMES];
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
            ("compt=1.30", Err("compt")),
            ("compat=1.30&compat=1.31", Err("compat")),
        ] {
            let uri: Uri = format!("/?{query}").parse().unwrap();
            let got = Params::read(&uri, known).map_err(|e| e.errors[0].parameter.clone().unwrap());
            assert_eq!(got, want.map_err(str::to_owned), "{query}");
        }
    }

    #[test]
    fn an_unknown_parameter_may_be_a_mistyped_one() {
        let known: &[&[&str]] = &[&["service"], PLAN_PARAMS, WriteParams::NAMES];
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
            let uri: Uri = format!("/?{query}").parse().unwrap();
            assert_eq!(Params::read(&uri, known).unwrap_err().errors[0].detail, want, "{query}");
        }
    }
}
