//! `ConversionReview`, v1 and v1beta1: the body that an API server posts to a conversion webhook, and the answer.
//!
//! A review succeeds or fails as a whole: an API server does not accept part of a list. A failure has HTTP status 200
//! and a result of `Failure` with the name of the object. Any other HTTP status would look like a broken webhook.

use std::borrow::Cow;

use roster_engine::model::{
    json::{
        BorrowedText,
        raw::{JsonMembers, JsonNode},
    },
    wire::nullable,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    policy::{self, PolicyVersion},
    review_envelope::{self, BrokenReview, EnvelopeRequest, ReviewAnswer},
};

/// Most characters of a message.
const MAX_MESSAGE: usize = 1024;

/// Why a review cannot be answered: it does not have a uid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the review cannot be read: {0}")]
pub struct UnanswerableReview(String);

/// The field `request` of a review.
#[derive(Deserialize)]
struct ConversionRequest<'a> {
    #[serde(borrow, default)]
    uid: BorrowedText<'a>,
    #[serde(borrow, default, rename = "desiredAPIVersion")]
    desired: BorrowedText<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    objects: Vec<&'a RawValue>,
}

impl<'de> EnvelopeRequest<'de> for ConversionRequest<'de> {
    const KIND: &'static str = "ConversionReview";
    const API_VERSIONS: [&'static str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

    fn uid(&self) -> &str {
        &self.uid.0
    }
}

/// The field `response` of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConversionResponse<'a> {
    uid: &'a str,
    converted_objects: Vec<Cow<'a, RawValue>>,
    result: ConversionResult,
}

/// `metav1.Status` of a conversion.
#[derive(Serialize)]
struct ConversionResult {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Converts the objects of a review and returns the answer in the version of the review. A body without a uid cannot
/// be answered.
pub fn answer_conversion_review(body: &[u8]) -> Result<Vec<u8>, UnanswerableReview> {
    answer_conversion_review_until(body, &|| false)
}

/// The same with a deadline: before each object `is_late` is called, and once it returns true the review fails. The
/// API server no longer waits for the other objects.
pub fn answer_conversion_review_until(body: &[u8], is_late: &dyn Fn() -> bool) -> Result<Vec<u8>, UnanswerableReview> {
    match review_envelope::read::<ConversionRequest<'_>>(body) {
        Ok((api_version, request)) => Ok(answer(api_version, &request.uid.0, convert_all(&request, is_late))),
        Err(BrokenReview { uid: Some(uid), api_version, message }) => Ok(answer(api_version, &uid, Err(message))),
        Err(BrokenReview { uid: None, message, .. }) => Err(UnanswerableReview(message)),
    }
}

fn convert_all<'a>(
    request: &ConversionRequest<'a>,
    is_late: &dyn Fn() -> bool,
) -> Result<Vec<Cow<'a, RawValue>>, String> {
    let to: PolicyVersion = request.desired.0.parse().map_err(|e| format!("desiredAPIVersion: {e}"))?;
    let convert = |(i, object): (usize, &&'a RawValue)| {
        if is_late() {
            return Err(format!("timed out after {i} of {} objects", request.objects.len()));
        }
        policy::convert(object, to).map_err(|e| match name_of(object) {
            Some(name) => format!("objects[{i}], {name}: {e}"),
            None => format!("objects[{i}]: {e}"),
        })
    };
    request.objects.iter().enumerate().map(convert).collect()
}

/// Kind, namespace and name of an object, as far as they can be read.
fn name_of(raw: &RawValue) -> Option<String> {
    let object = JsonMembers::read(raw).ok()?;
    let metadata = object.get("metadata").and_then(JsonNode::open).unwrap_or_default();
    let kind = match object.text("kind") {
        kind if kind.is_empty() => "an object without kind".into(),
        kind => kind,
    };
    let namespace = match metadata.text("namespace") {
        namespace if namespace.is_empty() => namespace,
        namespace => (namespace.into_owned() + "/").into(),
    };
    Some(short(format!("{kind} {namespace}{}", metadata.text("name")).trim_end(), 400))
}

fn answer(api_version: &'static str, uid: &str, converted: Result<Vec<Cow<'_, RawValue>>, String>) -> Vec<u8> {
    let (converted_objects, result) = match converted {
        Ok(objects) => (objects, ConversionResult { status: "Success", message: None }),
        Err(why) => {
            let message = short(&format!("roster: {why}"), MAX_MESSAGE);
            (Vec::new(), ConversionResult { status: "Failure", message: Some(message) })
        }
    };
    let response = ConversionResponse { uid, converted_objects, result };
    ReviewAnswer { api_version, kind: ConversionRequest::KIND, response }.to_json()
}

fn short(text: &str, max: usize) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(max).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const V1: &str = ConversionRequest::API_VERSIONS[0];
    const V1BETA1: &str = ConversionRequest::API_VERSIONS[1];

    fn ask(body: &Value) -> Value {
        serde_json::from_slice(&answer_conversion_review(body.to_string().as_bytes()).unwrap()).unwrap()
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
            (to, with("metadata", json!([])), "objects[1], EndpointPolicy: metadata is not an object"),
            (
                to,
                with("metadata", json!({"name": "b", "namespace": "n", "annotations": 5})),
                "objects[1], EndpointPolicy n/b: metadata.annotations is not an object",
            ),
            (to, json!(7), "objects[1]: the value is not an object"),
        ] {
            let got = ask(&body(V1, desired, &json!([good, bad])));
            let result = json!({"status": "Failure", "message": format!("roster: {why}")});
            assert_eq!(got, answered(V1, &json!([]), &result));
        }
    }

    #[test]
    fn a_late_review_fails_as_a_whole() {
        let good = json!({"apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": {"name": "a"}});
        let body = body(V1, "roster.dev/v1alpha1", &json!([good, good, good])).to_string();
        for (converted, why) in [
            (0, Some("roster: timed out after 0 of 3 objects")),
            (2, Some("roster: timed out after 2 of 3 objects")),
            (3, None),
        ] {
            let asked = std::cell::Cell::new(0);
            let is_late = || asked.replace(asked.get() + 1) == converted;
            let got: Value =
                serde_json::from_slice(&answer_conversion_review_until(body.as_bytes(), &is_late).unwrap()).unwrap();
            assert_eq!(got["response"]["result"]["message"].as_str(), why);
            let objects = got["response"]["convertedObjects"].as_array().unwrap();
            assert_eq!(objects.len(), if why.is_none() { 3 } else { 0 });
            assert_eq!(asked.get(), if why.is_none() { 3 } else { converted + 1 });
        }
    }

    #[test]
    fn a_broken_review_with_a_uid_is_answered() {
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
            let got: Value = serde_json::from_slice(&answer_conversion_review(body.as_bytes()).unwrap()).unwrap();
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
            assert!(answer_conversion_review(body.as_bytes()).is_err(), "{body}");
        }
    }
}
