//! Roster's side: a case goes in, an answer of the reference's shape comes out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use roster_engine::compare::{Tally, Verb, changes};
use roster_engine::{
    plan::PlanRequest,
    state::{Plan, State},
};
use roster_manifests::decode::{
    Source,
    request::{self, DecodedRequest, RequestBody},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What a case has in common with the body of a request.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Body<'a> {
    #[serde(borrow)]
    service: Option<&'a RawValue>,
    #[serde(borrow)]
    pods: Option<&'a RawValue>,
    #[serde(borrow)]
    nodes: Option<&'a RawValue>,
    #[serde(borrow)]
    endpoints: Option<&'a RawValue>,
    #[serde(borrow)]
    endpoint_slices: Option<&'a RawValue>,
    #[serde(skip_deserializing)]
    controllers: [&'a str; 1],
    #[serde(skip_deserializing)]
    options: Value,
}

/// A case that is parsed once and planned for many releases.
pub(crate) struct Engine {
    pub(crate) request: PlanRequest,
    /// What a deleted Endpoints object was called.
    name: Value,
    /// The last plan, and the answer that it is: most releases plan the same.
    last: Option<(Plan, Value)>,
}

impl Engine {
    /// `text` is the JSON of `case`. A case is a plan request but for its controller and its limit; it is read as one
    /// that is posted.
    pub(crate) fn new(case: &Value, text: &str) -> Result<Self, String> {
        let mut body: Body<'_> = serde_json::from_str(text).map_err(|e| format!("not a case: {e}"))?;
        body.controllers = [match case["controller"].as_str() {
            Some(name @ ("endpoints" | "endpointslices")) => name,
            _ => "mirroring",
        }];
        let limit = case["maxEndpointsPerSlice"].as_i64().unwrap_or(100);
        // The reference read the objects as they are written.
        body.options = json!({ "maxEndpointsPerSlice": limit, "defaults": "never" });
        let text = serde_json::to_string(&body).map_err(|e| format!("not a body: {e}"))?;
        let body = request::read(&text, &Source::body()).map_err(|e| format!("not a plan request: {e}"))?;
        let RequestBody::Request(DecodedRequest { request, .. }) = body else {
            return Err("not a plan request but objects".to_owned());
        };
        let stored = &case["endpoints"]["metadata"]["name"];
        let name = if stored.is_null() { &case["service"]["metadata"]["name"] } else { stored };
        Ok(Self { request, name: name.clone(), last: None })
    }

    /// What Roster would do as release `version`.
    pub(crate) fn answer(&mut self, version: &str) -> Result<Value, String> {
        self.request.options.compat = version.parse().map_err(|e| format!("{e}"))?;
        let plan = catch_unwind(AssertUnwindSafe(|| self.request.plan())).map_err(|_| "a panic".to_owned())?;
        let last = match self.last.take() {
            Some(last) if last.0 == plan => last,
            _ => {
                self.request.with_state(|state, _| listed_as_counted(state, &plan))?;
                let json = serde_json::to_value(&plan).map_err(|e| format!("a plan that is not JSON: {e}"))?;
                (plan, self.in_reference_form(json))
            }
        };
        Ok(self.last.insert(last).1.clone())
    }

    fn in_reference_form(&self, mut plan: Value) -> Value {
        let mut actions = Vec::new();
        let endpoints = plan["endpoints"].take();
        if endpoints["action"] != "none" {
            let object = if endpoints["action"] == "delete" { Value::Null } else { endpoints["object"].clone() };
            let name = if object.is_object() { object["metadata"]["name"].clone() } else { self.name.clone() };
            actions.push(json!({ "verb": endpoints["action"], "name": name, "object": object }));
        }
        let mut slices = plan["endpointSlices"].take();
        for (list, verb) in [("create", "create"), ("update", "update")] {
            for object in slices[list].as_array_mut().into_iter().flatten() {
                let name = object["metadata"]["name"].clone();
                actions.push(json!({ "verb": verb, "name": name, "object": object.take() }));
            }
        }
        for name in slices["delete"].as_array_mut().into_iter().flatten() {
            actions.push(json!({ "verb": "delete", "name": name.take() }));
        }
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
        let events: Vec<String> = list(&plan["events"])
            .iter()
            .map(|e| format!("{} {} {}", text(&e["type"]), text(&e["reason"]), text(&e["message"])))
            .collect();
        let errors: Vec<String> = list(&plan["errors"]).iter().map(text).collect();
        json!({ "actions": actions, "events": events, "error": errors.join("; ") })
    }
}

/// One function counts the changes of a plan, another lists them object by object: they must agree.
fn listed_as_counted(state: &State<'_>, plan: &Plan) -> Result<(), String> {
    let listed = changes(state, plan, false);
    let number = |verb| listed.iter().filter(|c| c.action == verb).count() as u64;
    let listed = [Verb::Create, Verb::Update, Verb::Delete, Verb::Rewrite].map(number);
    let Tally { endpoints: e, endpoint_slices: s, endless } = Tally::of(state, plan);
    let counted = [e.create + s.create, e.update + s.update, e.delete + s.delete, endless];
    if listed == counted { Ok(()) } else { Err(format!("{listed:?} are listed, and {counted:?} counted")) }
}
