//! The input of a plan, from the body and the query of a request.

use std::borrow::Cow;

use roster_engine::{
    explain::{Explanation, Focus, explain_only},
    model::{
        Interrupt, ObjectKey, Pod,
        spelling::{did_you_mean, nearest},
    },
    phrase::clip_name,
    picture::Picture,
    plan,
    reason::{Finding, Reason},
    stale::{KnownTargets, PodNames},
    state::{Controller, Options, Plan, State},
    unknown_kinds::{UnknownKinds, plan_known_until},
};
use roster_lint::RoutesByService;
use roster_manifests::{
    decode::{
        self, DecodeError, DecodeReason, Source,
        request::{self, DecodedRequest, RequestBody, RequestError},
    },
    inventory::{Entry, Findings, Index, Inventory, ServiceFindings},
};

use crate::{Format, InputError, Params, PostedBody, Problem, ProblemKind};

/// Most pods that are assumed for the workloads of a body. A few bytes can ask for any number.
pub const MAX_ASSUMED_PODS: usize = 10_000;

/// The input of a plan: a state, the controllers, and options.
#[derive(Debug)]
pub(crate) struct PlanInput<'a> {
    pub state: State<'a>,
    /// All objects of a list, because a pod that the Service does not select may be a near miss; and the Service among them.
    all: Option<ListedObjects<'a>>,
    /// The controllers to plan, if they are named.
    pub controllers: Option<Vec<Controller>>,
    pub options: Options,
    /// The findings about the input.
    problems: &'a Findings,
    /// The kinds of which something cannot be read that may concern the Service.
    unknown: UnknownKinds,
    /// Whether nobody waits for the answer any more.
    interrupt: Interrupt<'a>,
}

/// The objects of a list, and the Service of the request.
#[derive(Clone, Copy, Debug)]
struct ListedObjects<'a> {
    inventory: &'a Inventory,
    index: &'a Index<'a>,
    entry: &'a Entry<'a>,
}

/// Reads a body and calls `answer` with its input. The state borrows from the body, so the answer is made in here.
pub(crate) fn answer<T>(
    posted: &PostedBody<'_>,
    params: &Params,
    answer: impl FnOnce(&PlanInput<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let (text, source) = text(posted)?;
    let source = Source { defaults: params.defaults(), ..source };
    if posted.format != Format::Ndjson {
        match request::read(&json(posted, text)?, &source) {
            Ok(RequestBody::Request(requested)) => return of_request(&requested, params, posted.interrupt, answer),
            Ok(RequestBody::Objects) => {}
            Err(error) => return Err(request_error(posted, error)),
        }
    }
    of_objects(text, &source, params, answer)
}

/// The text of a body, and how to read it.
pub(crate) fn text<'b>(posted: &PostedBody<'b>) -> Result<(&'b str, Source<'b>), Problem> {
    let text = std::str::from_utf8(posted.bytes).map_err(|e| {
        let at = e.valid_up_to();
        Problem::new(ProblemKind::MalformedBody, format!("the body is not UTF-8: invalid byte at {at}"))
    })?;
    // Some editors write a byte order mark; it is harmless.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().is_empty() {
        return Err(Problem::new(ProblemKind::MalformedBody, "the body is empty"));
    }
    Ok((text, posted.source()))
}

/// The text as JSON.
pub(crate) fn json<'t>(posted: &PostedBody<'_>, text: &'t str) -> Result<Cow<'t, str>, Problem> {
    if posted.format != Format::Yaml {
        return Ok(Cow::Borrowed(text));
    }
    // In the worst case, quotes around each letter.
    posted.charge(2 * text.len())?;
    posted.interrupt.check()?;
    decode::yaml_as_json(text, &posted.source()).map(Cow::Owned).map_err(|e| decode_error(&e))
}

fn of_request<T>(
    requested: &DecodedRequest,
    params: &Params,
    interrupt: Interrupt<'_>,
    answer: impl FnOnce(&PlanInput<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let DecodedRequest { request, problems } = requested;
    request.with_state(|state, _| {
        answer(&PlanInput {
            state: *state,
            all: None,
            controllers: params.controllers.clone().or_else(|| request.controllers.clone()),
            options: params.over(request.options),
            problems,
            unknown: UnknownKinds::default(),
            interrupt,
        })
    })
}

fn of_objects<T>(
    text: &str,
    source: &Source<'_>,
    params: &Params,
    answer: impl FnOnce(&PlanInput<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut inventory = Inventory::default();
    decode::read_text(text, source, &mut inventory).map_err(|e| decode_error(&e))?;
    source.interrupt.check()?;
    inventory.label_pods(&source.defaults);
    inventory.assume_pods(&source.defaults, &[], MAX_ASSUMED_PODS);
    inventory.report_wrong_fields(false);
    let service = which(&inventory, params)?;
    let index = inventory.index();
    if index.unreadable().any(|key| key == (&service.namespace, &service.name)) {
        return Err(unreadable(&service, &index));
    }
    let entry = index.get(&service.namespace, &service.name).ok_or_else(|| not_found(&service, &index))?;
    let (state, unknown) = (index.state(entry), index.unknown_of(entry));
    answer(&PlanInput {
        state,
        all: Some(ListedObjects { inventory: &inventory, index: &index, entry }),
        controllers: params.controllers.clone(),
        options: params.over(Options::default()),
        problems: index.problems(),
        unknown,
        interrupt: source.interrupt,
    })
}

impl PlanInput<'_> {
    /// The findings about the input, for the answer.
    pub(crate) fn input_problems(&self) -> Vec<Finding> {
        listed(self.problems)
    }

    /// Plans the state.
    pub(crate) fn plan(&self, controllers: &[Controller], options: &Options) -> Result<Plan, Problem> {
        Ok(plan_known_until(&self.state, controllers, options, self.unknown, self.interrupt)?)
    }

    /// The picture of the state, with the routes of a list.
    pub(crate) fn picture(&self, plan: &Plan, explanation: &Explanation) -> Picture {
        let routes = self.all.map(|ListedObjects { inventory, entry, .. }| {
            RoutesByService::of(inventory).to(entry.namespace, entry.name, entry.service)
        });
        Picture::of_plan(&self.state, plan, explanation, &self.options, &routes.unwrap_or_default(), None)
    }

    /// Explains the state. Returns the findings about the input that the explanation does not have.
    pub(crate) fn explain(&self) -> Result<(Explanation, Vec<Finding>), Problem> {
        let mut explanation = self.explain_all();
        let mut others = self.input_problems();
        if let Some(ListedObjects { index, entry, .. }) = self.all {
            ServiceFindings::new(index).add_to(entry, &mut explanation);
            others.retain(|finding| !ServiceFindings::is_of(entry, finding));
        }
        self.interrupt.check()?;
        Ok((explanation, others))
    }

    fn explain_all(&self) -> Explanation {
        let names: PodNames<'_> = match self.all {
            Some(all) => all.inventory.pods_of_input().iter().collect(),
            None => self.state.pods.iter().copied().collect(),
        };
        let targets = KnownTargets::of_state(&names, self.state.nodes);
        let selected = plan::selected_pods(&self.state);
        let interrupt = self.interrupt;
        let unknown = self.unknown;
        let focus = Focus { selected: Some(&selected), targets: Some(targets), unknown, interrupt, ..Focus::default() };
        let Some(ListedObjects { inventory: all, .. }) = self.all else {
            return explain_only(&self.state, &self.options, focus);
        };
        let knows_nodes = !all.nodes_of_input().is_empty();
        let focus = Focus { targets: Some(KnownTargets { knows_nodes, ..targets }), ..focus };
        if selected.is_empty() {
            // Each of them may be a near miss.
            let pods: Vec<&Pod> = all.pods.iter().collect();
            return explain_only(&State { pods: &pods, ..self.state }, &self.options, focus);
        }
        explain_only(&self.state, &self.options, focus)
    }
}

/// Findings for an answer, with the number of those left out.
pub(crate) fn listed(problems: &Findings) -> Vec<Finding> {
    let mut list = problems.as_slice().to_vec();
    if problems.more() > 0 {
        let key = ObjectKey { kind: "Request".into(), ..ObjectKey::default() };
        let s = if problems.more() == 1 { "" } else { "s" };
        let message = format!("{} more finding{s} like these", problems.more());
        list.push(Finding::new(Reason::InvalidObject, key, message));
    }
    list
}

/// The requested Service: the one that the query names, or the only one.
fn which(inventory: &Inventory, params: &Params) -> Result<ObjectKey, Problem> {
    if let Some((namespace, name)) = &params.service {
        return Ok(ObjectKey::new("Service", namespace, name));
    }
    let mut keys: Vec<ObjectKey> = inventory.services.iter().map(roster_engine::model::Service::key).collect();
    keys.sort_unstable();
    keys.dedup();
    match keys.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let errors = errors(inventory.problems.iter().filter(|p| p.object.kind == "Service"));
            let detail = "none of the readable objects is a Service; name one with ?service=namespace/name to plan for \
                          a deleted one";
            Err(Problem { errors, ..Problem::new(ProblemKind::InvalidObject, detail) })
        }
        many => {
            let mut names: Vec<String> = many.iter().take(5).map(|k| format!("{}/{}", k.namespace, k.name)).collect();
            if many.len() > names.len() {
                names.push("…".to_owned());
            }
            Err(Problem::new(
                ProblemKind::InvalidObject,
                format!(
                    "the body has {} Services ({}): choose one with ?service=namespace/name, or use /v1/cluster",
                    many.len(),
                    names.join(", ")
                ),
            ))
        }
    }
}

/// Findings as errors of the request.
pub fn errors<'a>(found: impl Iterator<Item = &'a Finding>) -> Vec<InputError> {
    found.map(|p| InputError::at(p.pointer.clone().unwrap_or_default(), p.message.clone())).collect()
}

/// The error where nothing exists of the Service in the query: it was deleted with all that it had, or its name is mistyped.
fn not_found(ObjectKey { namespace, name, .. }: &ObjectKey, index: &Index<'_>) -> Problem {
    let meant = nearest(name, index.entries(), |entry| entry.name.as_str());
    let meant: Vec<String> = meant.map(|entry| format!("{}/{}", entry.namespace, entry.name)).into_iter().collect();
    let meant = did_you_mean(&meant);
    let detail = format!(
        "the body has no Service, Endpoints or slice of the name {}/{}{meant}",
        clip_name(namespace),
        clip_name(name)
    );
    let error = InputError { pointer: None, parameter: Some("service".to_owned()), detail: detail.clone() };
    Problem { errors: vec![error], ..Problem::new(ProblemKind::ServiceNotFound, detail) }
}

/// The error where an object of the requested Service cannot be read: a plan without it would delete what exists.
fn unreadable(service: &ObjectKey, index: &Index<'_>) -> Problem {
    let errors = errors(index.why_unreadable(&service.namespace, &service.name));
    let detail = format!("an object of {service} cannot be read");
    Problem { errors, ..Problem::new(ProblemKind::InvalidObject, detail) }
}

/// The error of a request that cannot be read.
pub(crate) fn request_error(posted: &PostedBody<'_>, error: RequestError) -> Problem {
    match error {
        // The JSON of one document ends before the next one.
        RequestError::Decode(DecodeError { reason: DecodeReason::Json(why), line, .. })
            if posted.format == Format::Yaml && why == "trailing characters" =>
        {
            let detail = format!(
                "line {line}: another YAML document begins, and this call needs one: post one with all objects in its fields, or \
                 the objects alone, each with its kind"
            );
            Problem::new(ProblemKind::MalformedBody, detail)
        }
        RequestError::Decode(error) => decode_error(&error),
        RequestError::Fields(fields) => {
            let detail = fields.to_string();
            let errors = fields.first.into_iter().map(|e| InputError::at(e.pointer, e.message)).collect();
            Problem { errors, ..Problem::new(ProblemKind::InvalidObject, detail) }
        }
        error @ RequestError::NotAnObject(..) => {
            Problem::new(ProblemKind::MalformedBody, format!("the body is {error}"))
        }
    }
}

/// The error of objects that cannot be read.
pub fn decode_error(error: &DecodeError) -> Problem {
    match &error.reason {
        DecodeReason::TooLarge(limit) => crate::too_large(limit),
        DecodeReason::TooMuchYaml(_)
        | DecodeReason::ObjectTooLarge(_)
        | DecodeReason::TooManyObjects(_)
        | DecodeReason::TooManyDocuments(_)
        | DecodeReason::TooManyPolicies(_)
        | DecodeReason::TooMuchMemory(_) => Problem::new(ProblemKind::TooLarge, error.reason.to_string()),
        DecodeReason::NoMemory => Problem::new(ProblemKind::Busy, error.reason.to_string()),
        DecodeReason::Interrupted(why) => (*why).into(),
        reason => {
            Problem::new(ProblemKind::MalformedBody, format!("line {}, column {}: {reason}", error.line, error.column))
        }
    }
}
