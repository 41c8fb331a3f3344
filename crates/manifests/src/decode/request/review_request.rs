//! The body of a review: an object, its writer, and the cluster around it.

use serde_json::value::RawValue;

use super::{
    field_reader,
    request_fields::{FieldError, FieldErrors, REVIEW_FIELDS, RequestBody, RequestError, RequestFields},
};
use crate::{decode::Source, inventory::Inventory};

/// A request to review an object.
#[derive(Clone, Debug)]
pub struct ReviewRequest<'a> {
    /// The object to review.
    pub object: &'a RawValue,
    /// The stored object; `None` for a new one.
    pub old_object: Option<&'a RawValue>,
    /// The user who writes.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// Namespace of an object that does not name one.
    pub namespace: String,
    /// Policies, not parsed.
    pub policies: Vec<&'a RawValue>,
    /// Namespaces, not parsed.
    pub namespaces: Vec<&'a RawValue>,
    /// The cluster: Services, pods, nodes, slices, and the findings about them.
    pub known: Inventory,
}

/// Reads a JSON body, within the limits of `source`. The format and the byte limit of `source` are not used.
pub fn read_review<'a>(text: &'a str, source: &Source<'_>) -> Result<RequestBody<ReviewRequest<'a>>, RequestError> {
    let RequestBody::Request(fields) = field_reader::read(text, source, &REVIEW_FIELDS)? else {
        return Ok(RequestBody::Objects);
    };
    let RequestFields { object, old_object, user, groups, namespace, policies, namespaces, objects: known, .. } =
        fields;
    let Some(object) = object else {
        let missing = FieldError { pointer: "/object".to_owned(), message: "is missing".to_owned() };
        return Err(FieldErrors { first: vec![missing], more: 0 }.into());
    };
    let request = ReviewRequest { object, old_object, user, groups, namespace, policies, namespaces, known };
    Ok(RequestBody::Request(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_or_reported() {
        let source = Source { name: "in", max_objects: 4, ..Source::body() };
        for (text, want) in [
            (
                r#"{"object":{"kind":"Service"},"user":"jane","groups":["a"],"pods":[{"metadata":{"name":"p"}}]}"#,
                Ok((1, 0)),
            ),
            (r#"{"object":{},"user":null,"pods":[5],"policies":null}"#, Ok((0, 1))),
            (r#"{"object":{},"polices":[]}"#, Err("/polices: is not a field of the request; did you mean policies?")),
            (r#"{"object":5,"namespaces":[{}]}"#, Ok((0, 0))),
            (r#"{"object":{},"policies":[{},{},{},{}]}"#, Err("in:1:35: more than 4 objects")),
            (r#"{"object":{},"user":5}"#, Err("/user: invalid type: integer `5`, expected a string")),
            (r#"{"object":{},"policies":{}}"#, Err("/policies: invalid type: object, expected a list")),
            ("{}", Err("/object: is missing")),
            (r#"{"object":null}"#, Err("/object: is missing")),
            (r#"{"kind":"Service"}"#, Err("objects")),
            (
                "5",
                Err(
                    "a number, expected an object with object, oldObject, user, groups, namespace, policies, namespaces, \
                       services, pods, nodes, endpointSlices",
                ),
            ),
        ] {
            let got = read_review(text, &source);
            let got = match got {
                Ok(RequestBody::Request(r)) => Ok((r.known.len(), r.known.problems.as_slice().len())),
                Ok(RequestBody::Objects) => Err("objects".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            assert_eq!(got.as_ref().map_err(String::as_str), want.as_ref().map_err(|e| *e), "{text}");
        }
    }
}
