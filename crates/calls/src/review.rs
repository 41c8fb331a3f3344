//! What the admission webhook would answer about an object.

use roster_admission::{
    offline_review::{self, MAX_TEXT, Namespaces, OfflineReview, ReviewError, Reviewer},
    policy::{self, Policies},
};
use roster_engine::{
    model::{ObjectKey, json::raw::object_key},
    reason::{Finding, Reason},
    state::Options,
};
use roster_manifests::{
    decode::{
        self, Document, Source,
        request::{RequestBody, ReviewRequest, read_review},
    },
    inventory::{Answers, Findings, Inventory, Snapshot, whole},
};
use roster_validation as validation;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Answer, InputError, Params, PostedBody, PreparedCall, Problem, ProblemKind, input};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    Params::read(query, &[])?;
    Ok(PreparedCall::new(of_body))
}

/// A review, and the findings about the input.
#[derive(Serialize)]
struct ReviewResponse {
    #[serde(flatten)]
    answer: OfflineReview,
    problems: Vec<Finding>,
}

fn of_body(posted: &PostedBody<'_>) -> Result<Answer, Problem> {
    let (text, source) = input::text(posted)?;
    let json = input::json(posted, text)?;
    match read_review(&json, &source) {
        Ok(RequestBody::Request(request)) => {
            let object = Document::within(&json, request.object);
            of_request(request, &object, "/object", &source)
        }
        Ok(RequestBody::Objects) => {
            let documents = decode::documents(&json, &source).map_err(|e| input::decode_error(&e))?;
            let [one] = documents.as_slice() else {
                let detail = format!(
                    "the body has {} objects: post one as `object`, and the others in the fields of their kinds",
                    documents.len()
                );
                return Err(Problem::new(ProblemKind::InvalidObject, detail));
            };
            of_request(bare(&one.raw), one, "", &source)
        }
        Err(error) => Err(input::request_error(posted, error)),
    }
}

/// A review of an object alone.
fn bare(object: &RawValue) -> ReviewRequest<'_> {
    ReviewRequest {
        object,
        old_object: None,
        user: String::new(),
        groups: Vec::new(),
        namespace: String::new(),
        policies: Vec::new(),
        namespaces: Vec::new(),
        known: Inventory::default(),
    }
}

/// `at` is the JSON pointer to the object.
fn of_request(
    request: ReviewRequest<'_>,
    object: &Document<'_>,
    at: &str,
    source: &Source<'_>,
) -> Result<Answer, Problem> {
    let ReviewRequest { object: raw, old_object, user, groups, namespace, policies, namespaces, known } = request;
    bounded(at, raw)?;
    let mut problems = known.problems.clone();
    source.interrupt.check()?;
    let policies = read_policies(&policies, &mut problems)?;
    let mut labels = Namespaces::new();
    if policies.need_namespace_labels() {
        for raw in namespaces {
            bounded("namespaces", raw)?;
            offline_review::note_namespace(raw, &object_key(raw), &mut labels);
        }
    }
    let one = std::slice::from_ref(object);
    let key = object_key(raw);
    let tell = |_, one: &Inventory| {
        let found = one.problems.iter().filter(|p| !offline_review::is_filled_in(p, &key));
        problems.extend(found.cloned().map(|p| within(at, p)));
    };
    // The object itself is not part of the cluster.
    let mut own = Inventory::default();
    let own_source = Source { finds_refused: false, ..*source };
    decode::objects(one, &own_source, &mut own, tell).map_err(|e| input::decode_error(&e))?;

    source.interrupt.check()?;
    let snapshot = Snapshot::of(&known);
    let cluster = Answers(&snapshot);
    source.interrupt.check()?;
    let (user, groups, namespace) = (user.as_str(), groups.as_slice(), namespace.as_str());
    let reviewer = Reviewer { policies: &policies, cluster: &cluster, namespaces: &labels, user, groups, namespace };
    let answer = if key.kind == "AdmissionReview" {
        // It contains the stored object. One beside it is not used, but must be valid.
        let old = old_object.map_or(Ok(()), offline_review::check_old_object);
        old.and_then(|()| reviewer.recorded(raw)).map(|(_, answer)| answer)
    } else {
        reviewer.object(raw, old_object)
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(ReviewError::Envelope(error)) => {
            let why = error.to_string();
            problems.push(within(at, Finding::new(Reason::InvalidObject, key.clone(), why.as_str())));
            OfflineReview::undecided(&why)
        }
        Err(error) => return Err(unreadable(at, &error)),
    };
    source.interrupt.check()?;
    let answer =
        if answer.answers.is_none() && answer.reviewed { refused(raw, old_object, &key, at, answer) } else { answer };
    source.interrupt.check()?;
    problems.extend(stale_findings(known, own).into_iter().map(|finding| within(at, finding)));
    Answer::json(&ReviewResponse { answer, problems: input::listed(&problems) })
}

/// The review with what an API server refuses of the object. A recorded review has passed one.
fn refused(
    object: &RawValue,
    old: Option<&RawValue>,
    key: &ObjectKey,
    at: &str,
    answer: OfflineReview,
) -> OfflineReview {
    let refused = validation::refusals_of_write(object, answer.object.as_ref(), old, key);
    answer.refused_for(refused.into_iter().map(|finding| within(at, finding)).collect())
}

/// What of the object does not hold any more, compared with the rest of its cluster.
fn stale_findings(mut known: Inventory, own: Inventory) -> Vec<Finding> {
    let endpoints = own.endpoints.iter().map(|e| (e.key(), e.meta.name.clone()));
    let slices = own.slices.iter().filter_map(|s| Some((s.key(), s.service_name()?.clone())));
    let Some((key, service)) = endpoints.chain(slices).next() else { return Vec::new() };
    known.merge(own);
    let index = known.index_of_part();
    let Some(entry) = index.get(&key.namespace, &service) else { return Vec::new() };
    let pods = index.pod_names();
    let mut findings = whole::stale_of(&index, entry, &Options::default(), &pods).findings;
    findings.retain(|finding| finding.object == key);
    findings
}

/// The policies of a request. One that an API server would refuse is reported and left out.
fn read_policies(list: &[&RawValue], problems: &mut Findings) -> Result<Policies, Problem> {
    /// A body of 64 MiB could have 280 000, which take five seconds. A cluster has some dozens.
    const MOST: usize = 10_000;
    if list.len() > MOST {
        return Err(Problem::new(ProblemKind::TooLarge, format!("policies has more than {MOST} objects")));
    }
    let mut policies = Vec::new();
    for (i, raw) in list.iter().enumerate() {
        bounded("policies", raw)?;
        let (policy, found) = policy::read(raw);
        policies.extend(policy);
        problems.extend(found.into_iter().map(|p| within(&format!("/policies/{i}"), p)));
    }
    let (policies, found) = Policies::new(policies);
    problems.extend(found);
    Ok(policies)
}

/// Limits the size of an object that is read as a whole: it takes many times the memory of its text.
fn bounded(field: &str, raw: &RawValue) -> Result<(), Problem> {
    if raw.get().len() <= MAX_TEXT {
        return Ok(());
    }
    let field = field.trim_start_matches('/');
    Err(Problem::new(ProblemKind::TooLarge, format!("an object in {field} has more than {MAX_TEXT} bytes")))
}

fn within(at: &str, problem: Finding) -> Finding {
    let pointer = problem.pointer.unwrap_or_default();
    Finding { pointer: Some(format!("{at}{pointer}")).filter(|p| !p.is_empty()), ..problem }
}

fn unreadable(at: &str, error: &ReviewError) -> Problem {
    if let ReviewError::TooLarge = error {
        return Problem::new(ProblemKind::TooLarge, error.to_string());
    }
    let pointer = match error {
        ReviewError::Unreadable("old object", _) => "/oldObject",
        _ => at,
    };
    let detail = error.to_string();
    Problem {
        errors: vec![InputError::at(pointer, detail.clone())],
        ..Problem::new(ProblemKind::InvalidObject, detail)
    }
}
