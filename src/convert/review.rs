//! `ConversionReview`, as an API server sends it to a conversion webhook: v1 and v1beta1.
//!
//! All or nothing: an API server takes no part of a list. What fails is told with a status of 200 and a result of
//! `Failure`, which names the object; anything else would look like a webhook that is down.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    policy,
    raw::{Members, Node},
};
use crate::{
    admission::{self, Salvaged, policy::version::Version},
    model::wire::nullable,
};

/// Most characters of a message.
const MAX_MESSAGE: usize = 1024;

/// Why a review cannot even be answered: it has no uid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the review cannot be read: {0}")]
pub struct Unanswerable(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    api_version: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    uid: Cow<'a, str>,
    #[serde(borrow, default, rename = "desiredAPIVersion", deserialize_with = "nullable")]
    desired: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    objects: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    api_version: &'a str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    converted_objects: Vec<Cow<'a, RawValue>>,
    result: Outcome,
}

#[derive(Serialize)]
struct Outcome {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The answer to a review, in its version. A body without an uid has none: that is for the caller to refuse.
pub fn review(body: &[u8]) -> Result<Vec<u8>, Unanswerable> {
    review_until(body, &|| false)
}

/// The same; once it is `late`, which is asked before each object, the review fails: nobody waits for the rest.
pub fn review_until(body: &[u8], late: &dyn Fn() -> bool) -> Result<Vec<u8>, Unanswerable> {
    let failed = |message: String| {
        let Salvaged { uid, api_version } = admission::salvage(body);
        let uid = uid.ok_or_else(|| Unanswerable(message.clone()))?;
        let version = known_version(&api_version).unwrap_or(V1);
        Ok(answer(version, &uid, Err(message)))
    };
    let review: Review<'_> = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) => return failed(error.to_string()),
    };
    let Some(version) = known_version(&review.api_version) else {
        let given = short(&review.api_version, 80);
        return failed(format!("apiVersion {given:?} is neither {V1} nor {V1BETA1}"));
    };
    if review.kind != "ConversionReview" {
        return failed(format!("kind {:?} is not ConversionReview", short(&review.kind, 80)));
    }
    match review.request {
        None => failed("there is no request in it".to_owned()),
        Some(request) if request.uid.is_empty() => failed("request.uid is empty".to_owned()),
        Some(request) => Ok(answer(version, &request.uid, convert_all(&request, late))),
    }
}

const V1: &str = "apiextensions.k8s.io/v1";
const V1BETA1: &str = "apiextensions.k8s.io/v1beta1";

fn known_version(text: &str) -> Option<&'static str> {
    [V1, V1BETA1].into_iter().find(|v| *v == text)
}

fn convert_all<'a>(request: &Request<'a>, late: &dyn Fn() -> bool) -> Result<Vec<Cow<'a, RawValue>>, String> {
    let to: Version = request.desired.parse().map_err(|e| format!("desiredAPIVersion: {e}"))?;
    let one = |(i, object): (usize, &&'a RawValue)| {
        if late() {
            return Err(format!("the time was over after {i} of {} objects", request.objects.len()));
        }
        policy::convert(object, to).map_err(|e| format!("objects[{i}], {}: {e}", name_of(object)))
    };
    request.objects.iter().enumerate().map(one).collect()
}

/// Kind, namespace and name of an object, as far as they can be read.
pub(super) fn name_of(raw: &RawValue) -> String {
    let Ok(object) = Members::read(raw) else { return "which is no object".to_owned() };
    let metadata = object.get("metadata").and_then(Node::open).unwrap_or_default();
    let kind = match object.text("kind") {
        kind if kind.is_empty() => "an object without kind".into(),
        kind => kind,
    };
    let namespace = match metadata.text("namespace") {
        namespace if namespace.is_empty() => namespace,
        namespace => (namespace.into_owned() + "/").into(),
    };
    short(format!("{kind} {namespace}{}", metadata.text("name")).trim_end(), 400)
}

fn answer(version: &str, uid: &str, converted: Result<Vec<Cow<'_, RawValue>>, String>) -> Vec<u8> {
    let (converted_objects, result) = match converted {
        Ok(objects) => (objects, Outcome { status: "Success", message: None }),
        Err(m) => {
            (Vec::new(), Outcome { status: "Failure", message: Some(short(&format!("roster: {m}"), MAX_MESSAGE)) })
        }
    };
    let response = Response { uid, converted_objects, result };
    // Text and JSON only: this does not fail.
    serde_json::to_vec(&Answer { api_version: version, kind: "ConversionReview", response }).unwrap_or_default()
}

fn short(text: &str, max: usize) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(max).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ask(body: &Value) -> Value {
        serde_json::from_slice(&review(body.to_string().as_bytes()).unwrap()).unwrap()
    }

    fn body(version: &str, desired: &str, objects: &Value) -> Value {
        json!({
            "apiVersion": version, "kind": "ConversionReview", "response": {},
            "request": {"uid": "u1", "desiredAPIVersion": desired, "objects": objects, "future": 1},
        })
    }

    fn answered(version: &str, objects: &Value, result: &Value) -> Value {
        json!({
            "apiVersion": version, "kind": "ConversionReview",
            "response": {"uid": "u1", "convertedObjects": objects, "result": result},
        })
    }

    #[test]
    fn objects_of_both_versions_are_converted_in_order() {
        let flat = json!({
            "apiVersion": "roster.dev/v1alpha1", "kind": "EndpointPolicy", "metadata": {"name": "a", "uid": "x"},
            "spec": {"namespaces": ["shop"], "capacityAction": "Deny"}, "status": {"observedGeneration": 1},
        });
        let structured = json!({
            "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": {"name": "a", "uid": "x"},
            "spec": {"match": {"namespaces": {"names": ["shop"]}}, "capacity": {"action": "Deny"}},
            "status": {"observedGeneration": 1},
        });
        for version in [V1, V1BETA1] {
            for (desired, want) in [("roster.dev/v1", &structured), ("roster.dev/v1alpha1", &flat)] {
                let got = ask(&body(version, desired, &json!([flat, structured])));
                assert_eq!(got, answered(version, &json!([want, want]), &json!({"status": "Success"})));
            }
        }
        let none = ask(&body(V1, "roster.dev/v1", &Value::Null));
        assert_eq!(none, answered(V1, &json!([]), &json!({"status": "Success"})));
    }

    #[test]
    fn a_failure_names_the_object_and_nothing_is_converted() {
        let good = json!({"apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": {"name": "a"}});
        let with = |name: &str, value: Value| {
            let mut object = good.clone();
            object[name] = value;
            object
        };
        let to = "roster.dev/v1alpha1";
        for (desired, bad, why) in [
            (
                "roster.dev/v2",
                good.clone(),
                "desiredAPIVersion: \"roster.dev/v2\" is neither roster.dev/v1 nor roster.dev/v1alpha1",
            ),
            (to, with("kind", json!("Pod")), "objects[1], Pod a: kind is \"Pod\", not EndpointPolicy"),
            (
                to,
                with("apiVersion", json!("v1")),
                "objects[1], EndpointPolicy a: \"v1\" is neither roster.dev/v1 nor roster.dev/v1alpha1",
            ),
            (to, with("metadata", json!([])), "objects[1], EndpointPolicy: metadata is no object"),
            (
                to,
                with("metadata", json!({"name": "b", "namespace": "n", "annotations": 5})),
                "objects[1], EndpointPolicy n/b: metadata.annotations is no object",
            ),
            (to, json!(7), "objects[1], which is no object: it is no object"),
        ] {
            let got = ask(&body(V1, desired, &json!([good, bad])));
            let result = json!({"status": "Failure", "message": format!("roster: {why}")});
            assert_eq!(got, answered(V1, &json!([]), &result));
        }
    }

    #[test]
    fn what_is_late_fails_as_a_whole() {
        let good = json!({"apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": {"name": "a"}});
        let body = body(V1, "roster.dev/v1alpha1", &json!([good, good, good])).to_string();
        for (converted, why) in [
            (0, Some("roster: the time was over after 0 of 3 objects")),
            (2, Some("roster: the time was over after 2 of 3 objects")),
            (3, None),
        ] {
            let asked = std::cell::Cell::new(0);
            let late = || asked.replace(asked.get() + 1) == converted;
            let got: Value = serde_json::from_slice(&review_until(body.as_bytes(), &late).unwrap()).unwrap();
            assert_eq!(got["response"]["result"]["message"].as_str(), why);
            let objects = got["response"]["convertedObjects"].as_array().unwrap();
            assert_eq!(objects.len(), if why.is_none() { 3 } else { 0 });
            assert_eq!(asked.get(), if why.is_none() { 3 } else { converted + 1 });
        }
    }

    #[test]
    fn a_broken_review_is_answered_if_its_uid_can_be_found() {
        for (body, version, why) in [
            (r#"{"apiVersion":"apiextensions.k8s.io/v1beta1","request":{"uid":"u1","objects":[{"#, V1BETA1, "EOF"),
            (r#"{"kind":"ConversionReview","request":{"uid":"u1"}}"#, V1, "apiVersion \"\" is neither"),
            (
                r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"X","request":{"uid":"u1"}}"#,
                V1,
                "is not ConversionReview",
            ),
            (
                r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u1","objects":5}}"#,
                V1,
                "invalid type",
            ),
        ] {
            let got: Value = serde_json::from_slice(&review(body.as_bytes()).unwrap()).unwrap();
            let message = got["response"]["result"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(why), "{message}");
            let result = json!({"status": "Failure", "message": message});
            assert_eq!(got, answered(version, &json!([]), &result));
        }
        for body in [
            "",
            "{}",
            "[]",
            r#"{"request":{"uid":""}}"#,
            r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}"#,
        ] {
            assert!(review(body.as_bytes()).is_err(), "{body}");
        }
    }
}
