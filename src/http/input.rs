//! From a body to the state of one Service.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::{
    body::Format,
    compute::Posted,
    lenient,
    params::Params,
    problem::{ApiError, FieldError, Kind},
};
use crate::{
    decode::{self, DecodeError, DecodeReason, Source, strict::Strict},
    inventory::{self, Inventory, Object, Problems},
    model::{Nodes, ObjectKey, Pod},
    plan::{self, Controller, Options, PlanRequest, State},
    reason::{Problem, Reason},
};

/// The fields of a body that is no Kubernetes object.
pub(super) const FIELDS: [&str; 7] =
    ["service", "pods", "nodes", "endpoints", "endpointSlices", "controllers", "options"];

/// What stands for the body in messages.
const NAME: &str = "request body";

/// A body as `/v1/plan` takes it.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub request: PlanRequest,
    pub problems: Problems,
    /// Whether it has `kind` or `items`: a Kubernetes object, or a list of them.
    pub objects: bool,
    unknown: u64,
}

impl Body {
    /// A field that is none of [`FIELDS`].
    pub(super) fn note_other(&mut self, name: &str) {
        match name {
            "kind" | "items" => self.objects = true,
            "apiVersion" | "metadata" | "spec" | "status" => {}
            _ => {
                self.unknown += 1;
                if self.unknown <= 5 {
                    let name: String = name.chars().take(80).collect();
                    let message = format!("{name:?} is not read; the fields are {}", FIELDS.join(", "));
                    let key = ObjectKey { kind: "Request".into(), ..ObjectKey::default() };
                    self.problems.push(Problem {
                        pointer: Some(format!("/{}", name.replace('~', "~0").replace('/', "~1"))),
                        ..Problem::new(Reason::InvalidSetting, key, message)
                    });
                }
            }
        }
    }

    /// Names and numbers that an API server would refuse.
    fn check(&mut self) {
        let Self { request, problems, .. } = self;
        if let Some(service) = request.service.take() {
            let object = Object::Service(service);
            inventory::check(&object, &"/service", problems);
            if let Object::Service(service) = object {
                request.service = Some(service);
            }
        }
    }
}

/// As [`PlanRequest`], but that the last of equal keys wins, and that other fields are noticed.
impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Body;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object with {}", FIELDS.join(", "))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
                let mut body = Body::default();
                let request = &mut body.request;
                let mut others = Vec::new();
                let mut more = 0;
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    match &*key {
                        "service" => request.service = map.next_value()?,
                        "pods" => request.pods = map.next_value::<Option<_>>()?.unwrap_or_default(),
                        "nodes" => request.nodes = map.next_value::<Nodes>()?,
                        "endpoints" => request.endpoints = map.next_value()?,
                        "endpointSlices" => {
                            request.endpoint_slices = map.next_value::<Option<_>>()?.unwrap_or_default();
                        }
                        "controllers" => request.controllers = map.next_value()?,
                        "options" => request.options = map.next_value::<Option<Options>>()?.unwrap_or_default(),
                        other => {
                            if others.len() < 100 || matches!(other, "kind" | "items") {
                                others.push(other.to_owned());
                            } else {
                                more += 1;
                            }
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                for name in &others {
                    body.note_other(name);
                }
                body.unknown += more;
                Ok(body)
            }
        }
        d.deserialize_map(Fields)
    }
}

/// What was asked: a state, whose work to plan, and how.
#[derive(Debug)]
pub(super) struct Asked {
    what: What,
    /// Whose work, if that is said.
    pub controllers: Option<Vec<Controller>>,
    pub options: Options,
    /// What is wrong with the input.
    pub problems: Problems,
}

#[derive(Debug)]
enum What {
    Request(Box<PlanRequest>),
    /// One Service of a list.
    Objects {
        inventory: Box<Inventory>,
        service: ObjectKey,
    },
}

impl Asked {
    /// Reads a body.
    pub(super) fn read(posted: &Posted, params: &Params) -> Result<Self, ApiError> {
        let text = std::str::from_utf8(&posted.bytes).map_err(|e| {
            let at = e.valid_up_to();
            ApiError::new(Kind::MalformedBody, format!("the body is not UTF-8: byte {at} begins no character"))
        })?;
        if text.trim_start().is_empty() {
            return Err(ApiError::new(Kind::MalformedBody, "the body is empty"));
        }
        match posted.format {
            Format::Ndjson => Self::from_objects(text, decode::Format::Json, params),
            Format::Json => Self::from_json(text, params, || Self::from_objects(text, decode::Format::Json, params)),
            Format::Yaml => {
                let json = decode::yaml_as_json(text, NAME).map_err(|e| decode_error(&e))?;
                Self::from_json(&json, params, || Self::from_objects(text, decode::Format::Yaml, params))
            }
        }
    }

    /// Reads a body that is JSON by now. `objects` reads it if it turns out to be Kubernetes objects.
    fn from_json(
        text: &str,
        params: &Params,
        objects: impl FnOnce() -> Result<Self, ApiError>,
    ) -> Result<Self, ApiError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let body = match Body::deserialize(Strict(&mut json)) {
            Ok(body) if body.objects => return objects(),
            Ok(body) => json.end().map(|()| body),
            Err(e) => Err(e),
        };
        match body {
            Ok(body) => Ok(Self::from_body(body, params)),
            Err(e) if e.is_data() => match lenient::read(text)? {
                body if body.objects => objects(),
                body => Ok(Self::from_body(body, params)),
            },
            Err(e) => Err(ApiError::new(Kind::MalformedBody, format!("the body cannot be read: {e}"))),
        }
    }

    fn from_body(mut body: Body, params: &Params) -> Self {
        body.check();
        let Body { request, problems, .. } = body;
        Self {
            controllers: params.controllers.clone().or_else(|| request.controllers.clone()),
            options: params.over(request.options),
            what: What::Request(Box::new(request)),
            problems,
        }
    }

    fn from_objects(text: &str, format: decode::Format, params: &Params) -> Result<Self, ApiError> {
        let mut inventory = Inventory::default();
        // The limit of the server held already.
        let source = Source { format, max_bytes: None, max_object_bytes: usize::MAX, ..Source::body() };
        decode::read(text.as_bytes(), &source, &mut inventory).map_err(|e| decode_error(&e))?;
        let service = which(&inventory, params)?;
        let problems = inventory.index().problems().clone();
        Ok(Self {
            controllers: params.controllers.clone(),
            options: params.over(Options::default()),
            what: What::Objects { inventory: Box::new(inventory), service },
            problems,
        })
    }

    /// What is wrong with the input, for the answer.
    pub(super) fn input_problems(&self) -> Vec<Problem> {
        let mut list = self.problems.as_slice().to_vec();
        if self.problems.more() > 0 {
            let key = ObjectKey { kind: "Request".into(), ..ObjectKey::default() };
            list.push(Problem::new(
                Reason::InvalidObject,
                key,
                format!("and {} more like these", self.problems.more()),
            ));
        }
        list
    }

    /// Runs `f` on the state with all pods, if the Service selects none: they may be near misses.
    pub(super) fn with_all_pods<T>(&self, f: impl FnOnce(&State<'_>) -> T) -> T {
        self.with_state(|state| match &self.what {
            What::Objects { inventory, .. } if plan::selected_pods(state).is_empty() => {
                let pods: Vec<&Pod> = inventory.pods.iter().collect();
                f(&State { pods: &pods, ..*state })
            }
            _ => f(state),
        })
    }

    /// Runs `f` on the state, borrowed.
    pub(super) fn with_state<T>(&self, f: impl FnOnce(&State<'_>) -> T) -> T {
        match &self.what {
            What::Request(request) => request.with_state(|state, _| f(state)),
            What::Objects { inventory, service } => {
                let index = inventory.index();
                match index.get(&service.namespace, &service.name) {
                    Some(entry) => f(&index.state(entry)),
                    // Named by the query, and nothing of that name is there.
                    None => f(&State { service: None, pods: &[], nodes: index.nodes(), endpoints: None, slices: &[] }),
                }
            }
        }
    }
}

/// The Service that is asked for: the one that the query names, or the only one.
fn which(inventory: &Inventory, params: &Params) -> Result<ObjectKey, ApiError> {
    if let Some((namespace, name)) = &params.service {
        return Ok(ObjectKey::new("Service", namespace, name));
    }
    let mut keys: Vec<ObjectKey> = inventory.services.iter().map(crate::model::Service::key).collect();
    keys.sort();
    keys.dedup();
    match keys.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let errors: Vec<FieldError> = inventory
                .problems
                .into_iter()
                .filter(|p| p.object.kind == "Service")
                .map(|p| FieldError::at(p.pointer.clone().unwrap_or_default(), p.message.clone()))
                .collect();
            let detail = "there is no Service among the objects that can be read; name one with ?service=namespace/name \
                          to plan for one that was deleted";
            Err(ApiError { errors, ..ApiError::new(Kind::InvalidObject, detail) })
        }
        many => {
            let names: Vec<String> = many.iter().take(5).map(|k| format!("{}/{}", k.namespace, k.name)).collect();
            Err(ApiError::new(
                Kind::InvalidObject,
                format!(
                    "there are {} Services ({}, …): choose one with ?service=namespace/name, or use /v1/cluster",
                    many.len(),
                    names.join(", ")
                ),
            ))
        }
    }
}

/// Why reading ended early, as a refusal.
pub(super) fn decode_error(error: &DecodeError) -> ApiError {
    match &error.reason {
        DecodeReason::TooLarge(limit) => super::body::too_large(limit),
        DecodeReason::ObjectTooLarge(limit) => {
            ApiError::new(Kind::TooLarge, format!("one object has more than {limit} bytes"))
        }
        reason => ApiError::new(
            Kind::MalformedBody,
            format!("line {}, column {}: {}", error.line, error.column, lenient::short(reason)),
        ),
    }
}
