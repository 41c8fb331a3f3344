//! `POST /v1/convert`: objects in another version, or as another kind.

use std::sync::Arc;

use axum::{
    extract::{Query, Request, State},
    http::Uri,
};
use roster_admission::convert::{self, ConversionTarget};
use roster_manifests::decode::{self, Document};

use super::{
    RestApp,
    compute::{JsonAnswer, PostedBody, compute},
    input,
    problem::{ApiError, InputError, ProblemKind},
    problem_responses,
    schema::{
        conversion::{self, ConvertedAnswer, TargetName},
        object::KubernetesList,
    },
};

/// Convert objects
///
/// Converts the posted objects to another version or kind, and lists the fields that were lost. `Endpoints` become
/// `EndpointSlice`s as the mirroring controller makes them; slices become one `Endpoints` object for each Service;
/// versions of `EndpointSlice` and of `EndpointPolicy` are converted as API servers do, with every unknown field.
/// Objects to which `to` does not apply stay as they are. An object that cannot be converted is an
/// entry of `failed`; the others are converted.
#[utoipa::path(
    post,
    path = "/v1/convert",
    tag = "compute",
    params(
        ("to" = inline(TargetName), Query, description = "The target: a kind, or a group and a version.",
            example = "EndpointSlice"),
    ),
    request_body(
        description = "The objects. An object alone and several YAML documents are accepted, too.",
        content(
            (KubernetesList = "application/json", example = conversion::example),
            (KubernetesList = "application/yaml", example = conversion::example),
        ),
    ),
    responses(
        (status = 200, description = "The objects, the fields that they lost, and the objects that could not be converted.",
            body = ConvertedAnswer),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn convert(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    let to = target(request.uri())?;
    compute(&app, request, move |_, posted| of_body(&posted, to)).await
}

fn of_body(posted: &PostedBody<'_>, to: ConversionTarget) -> Result<JsonAnswer, ApiError> {
    let (text, source) = input::text(posted)?;
    let json = input::json(posted, text)?;
    // A document that is `null` is not an object, and not an error.
    let documents: Vec<Document<'_>> = decode::documents(&json, &source).map_err(|e| input::decode_error(&e))?;
    posted.charge(memory_of(&documents, to))?;
    let objects: Vec<_> = documents.iter().map(|d| d.raw.as_ref()).collect();
    JsonAnswer::json(&convert::convert_objects_until(&objects, to, posted.interrupt)?)
}

/// About what a conversion takes besides the text: the references to the objects, its output, and the parts of the objects
/// that are open at once. For Endpoints these are all slices.
fn memory_of(documents: &[Document<'_>], to: ConversionTarget) -> usize {
    let mut sum = size_of_val(documents);
    let mut most = 0;
    for document in documents {
        let text = document.raw.get();
        sum += text.len();
        // A longer one is not opened.
        if text.len() <= convert::MAX_TEXT {
            let opened = memory_of_parts(text);
            most = opened.max(most);
            sum += if to == ConversionTarget::Endpoints { opened } else { 0 };
        }
    }
    sum + most
}

/// About what the members and elements of an opened object take.
fn memory_of_parts(text: &str) -> usize {
    const OBJECT: usize = 640;
    const LIST: usize = 128;
    let count = |byte: u8| memchr::memchr_iter(byte, text.as_bytes()).count();
    OBJECT * count(b'{') + LIST * count(b'[')
}

/// The value of the only parameter.
fn target(uri: &Uri) -> Result<ConversionTarget, ApiError> {
    let refuse = |name: &str, detail: String| {
        let parameter = Some(name.chars().take(80).collect());
        let error = InputError { pointer: None, parameter, detail: detail.clone() };
        ApiError { errors: vec![error], ..ApiError::new(ProblemKind::InvalidQuery, detail) }
    };
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|e| ApiError::new(ProblemKind::InvalidQuery, e.to_string()))?;
    let mut to = None;
    for (name, value) in pairs {
        if name != "to" {
            return Err(refuse(&name, "unknown parameter".to_owned()));
        }
        to = Some(value.parse().map_err(|why| refuse("to", why))?);
    }
    to.ok_or_else(|| refuse("to", "the parameter is missing".to_owned()))
}
