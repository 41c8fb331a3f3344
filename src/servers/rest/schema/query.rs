//! Query parameters: options for bodies that cannot contain them, such as a `kind: List`.

use std::{borrow::Cow, collections::BTreeSet};

use roster_engine::profile::PATTERN;
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

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

/// How a picture is written.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its documentation is used")]
pub(crate) struct PictureParam {
    /// How the picture is written; wins over the header `Accept`. Default: `json`.
    #[param(inline, required = false, nullable = false)]
    format: Option<PictureFormatName>,
}

/// How a picture is written.
#[derive(ToSchema)]
#[schema(as = PictureFormat, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PictureFormatName {
    Json,
    Svg,
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

/// The schema of a release, [`roster_engine::profile::Minor`]. It is inlined.
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
