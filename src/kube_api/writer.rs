//! The one way in which the program writes an object to an API server.
//!
//! Other replicas, controllers and people write the same objects at the same time. A write that comes too late is therefore
//! an outcome, and not an error.

use std::{fmt::Debug, marker::PhantomData, time::Duration};

use kube::{
    Client,
    api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, Request},
    core::{request, response::Status},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use roster_engine::model::Resource;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use super::{answers::is_of_gateway, request_failure::failure_text};

/// The longest wait for an answer, unless the writer has a reason for another one. An API server answers within
/// milliseconds, or has trouble; its own limit is a minute, which a request on a dead connection should not take.
const ANSWER: Duration = Duration::from_secs(10);

/// The outcome of a write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome<K> {
    /// The object as it is stored now.
    Done(K),
    /// Someone else was quicker: the object is not the version that was read, or exists already.
    Conflict,
    /// Someone has deleted the object.
    Gone,
}

/// An object could not be written, nor read to be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The API server refused, or cannot be reached.
    #[error("{}", failure_text(.0))]
    Failed(kube::Error),
    /// The API server took too long. It may still write the object.
    #[error("no response from the API server within {} s", .0.as_secs())]
    Slow(Duration),
}

impl WriteError {
    /// Whether the API server refuses the object itself, and will again.
    pub(crate) fn is_invalid(&self) -> bool {
        matches!(self.code(), Some(400 | 422))
    }

    /// Whether the API server may have written the object all the same: it has not said that it did not.
    pub(crate) fn may_be_written(&self) -> bool {
        self.code().is_none_or(|code| code >= 500)
    }

    /// Whether no API server has answered: the connection failed, or a balancer has none.
    pub(crate) fn is_unanswered(&self) -> bool {
        match self {
            Self::Failed(kube::Error::Api(status)) => is_of_gateway(status.code),
            Self::Failed(error) => matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_)),
            // It may have been busy with this one request.
            Self::Slow(_) => false,
        }
    }

    /// Whether the API server has answered.
    pub(crate) fn is_answer(&self) -> bool {
        self.status().is_some() && !self.is_unanswered()
    }

    /// Whether the API server has refused, and will again until someone changes a right or a name.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code().is_some_and(|code| (400..500).contains(&code) && code != 408 && code != 429)
    }

    /// What the API server says, if it has refused.
    pub(crate) fn status(&self) -> Option<&Status> {
        match self {
            Self::Failed(kube::Error::Api(status)) => Some(status),
            _ => None,
        }
    }

    fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<request::Error> for WriteError {
    fn from(error: request::Error) -> Self {
        Self::Failed(kube::Error::BuildRequest(error))
    }
}

/// A writer of objects of one resource, of one namespace or of the whole cluster.
#[derive(Clone)]
pub(crate) struct Writer<K> {
    client: Client,
    path: String,
    requests: Request,
    manager: &'static str,
    limit: Duration,
    dry_run: bool,
    objects: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned> Writer<K> {
    /// A writer, as this field manager, of objects of a namespace, or of those that are in none.
    pub(crate) fn new(client: Client, resource: Resource, namespace: Option<&str>, manager: &'static str) -> Self {
        let path = resource.path(namespace);
        Self {
            client,
            requests: Request::new(path.clone()),
            path,
            manager,
            limit: ANSWER,
            dry_run: false,
            objects: PhantomData,
        }
    }

    /// The objects that a query of the API selects, as they are stored now, and the version of the list.
    pub(crate) async fn list(&self, query: &str) -> Result<(Vec<K>, String), WriteError> {
        let request = http::Request::get(format!("{}?{query}", self.path)).body(Vec::new());
        let list = self.client.request::<List<K>>(request.map_err(kube::Error::HttpError)?);
        let List { items, metadata } = self.in_time(list).await?;
        Ok((items, metadata.resource_version))
    }

    async fn in_time<T>(&self, answer: impl Future<Output = kube::Result<T>>) -> Result<T, WriteError> {
        Ok(timeout(self.limit, answer).await.map_err(|_| WriteError::Slow(self.limit))??)
    }
}

impl<K> Writer<K>
where
    K: DeserializeOwned + Serialize,
{
    /// Waits this long for each answer.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Lets the API server check what it would write, without writing it.
    pub(crate) fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// An object that is to be written, as it is stored now.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<K>, WriteError> {
        match self.answered(self.requests.get(name, &GetParams::default())?).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates an object. It is not gone if it cannot be found: its namespace is, which is an error.
    pub(crate) async fn create(&self, object: &K) -> Result<WriteOutcome<K>, WriteError> {
        match self.answered(self.requests.create(&self.post(), json(object)?)?).await {
            Err(error) if error.code() == Some(404) => Err(error),
            answer => outcome(answer),
        }
    }

    /// Replaces the version of an object that was read.
    pub(crate) async fn replace(&self, name: &str, object: &K) -> Result<WriteOutcome<K>, WriteError> {
        outcome(self.answered(self.requests.replace(name, &self.post(), json(object)?)?).await)
    }

    /// Deletes an object, if it is still the one of this uid, and this version of it.
    pub(crate) async fn delete(&self, name: &str, uid: &str, version: &str) -> Result<WriteOutcome<()>, WriteError> {
        let is = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let preconditions = Some(Preconditions { resource_version: is(version), uid: is(uid) });
        let params = DeleteParams { dry_run: self.dry_run, preconditions, ..DeleteParams::default() };
        let request = self.requests.delete(name, &params)?;
        // The answer is the object, or a status.
        outcome(self.in_time(self.client.request_text(request)).await.map(|_| ()))
    }

    /// Changes fields of an object by a strategic merge patch.
    pub(crate) async fn merge(&self, name: &str, patch: &Value) -> Result<WriteOutcome<K>, WriteError> {
        let request = self.requests.patch(name, &self.patch(), &Patch::Strategic(patch))?;
        outcome(self.answered(request).await)
    }

    /// Writes fields of an object by server-side apply, also those of other field managers.
    pub(crate) async fn apply(&self, name: &str, fields: &Value) -> Result<WriteOutcome<K>, WriteError> {
        let request = self.requests.patch(name, &self.patch().force(), &Patch::Apply(fields))?;
        outcome(self.answered(request).await)
    }

    /// The same for the status of an object.
    pub(crate) async fn apply_status(&self, name: &str, fields: &Value) -> Result<WriteOutcome<K>, WriteError> {
        let patch = Patch::Apply(fields);
        let request = self.requests.patch_subresource("status", name, &self.patch().force(), &patch)?;
        outcome(self.answered(request).await)
    }

    fn post(&self) -> PostParams {
        PostParams { dry_run: self.dry_run, field_manager: Some(self.manager.to_owned()) }
    }

    fn patch(&self) -> PatchParams {
        PatchParams { dry_run: self.dry_run, ..PatchParams::apply(self.manager) }
    }

    async fn answered(&self, request: http::Request<Vec<u8>>) -> Result<K, WriteError> {
        self.in_time(self.client.request(request)).await
    }
}

/// A query for the object of a name.
pub(crate) fn by_name(name: &str) -> String {
    format!("fieldSelector=metadata.name%3D{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

/// A query for the objects with all of these labels, such as `labelSelector=app%3Dweb%2Ctier%3Dfront`.
pub(crate) fn by_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<String> = labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("labelSelector={}", utf8_percent_encode(&pairs.join(","), NON_ALPHANUMERIC))
}

#[derive(Deserialize)]
struct List<K> {
    items: Vec<K>,
    metadata: ListMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
}

fn json(object: &impl Serialize) -> Result<Vec<u8>, WriteError> {
    serde_json::to_vec(object).map_err(|error| WriteError::Failed(kube::Error::SerdeError(error)))
}

fn outcome<K>(answer: Result<K, WriteError>) -> Result<WriteOutcome<K>, WriteError> {
    match answer {
        Ok(object) => Ok(WriteOutcome::Done(object)),
        Err(error) => match error.code() {
            Some(409) => Ok(WriteOutcome::Conflict),
            Some(404) => Ok(WriteOutcome::Gone),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        Json, Router,
        extract::{Request, State},
        http::{StatusCode, header::CONTENT_TYPE},
        response::{IntoResponse, Response},
    };
    use k8s_openapi::api::core::v1::Secret;
    use serde_json::json;

    use super::*;

    #[derive(Clone, Copy)]
    enum Answer {
        Object,
        Status(u16, &'static str),
        Silence,
    }

    async fn answer(State(answer): State<Answer>) -> Response {
        match answer {
            Answer::Object => Json(stored()).into_response(),
            Answer::Status(code, reason) => {
                let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                    "reason": reason, "message": reason });
                (StatusCode::from_u16(code).unwrap(), Json(status)).into_response()
            }
            Answer::Silence => std::future::pending().await,
        }
    }

    fn stored() -> Secret {
        serde_json::from_value(json!({ "metadata": { "name": "c", "resourceVersion": "2" } })).unwrap()
    }

    fn writer(router: Router) -> Writer<Secret> {
        Writer::new(Client::new(router, "default"), Resource::Secret, Some("n"), "m")
    }

    #[test]
    fn selectors_are_encoded() {
        for (selector, want) in [
            (&[][..], "labelSelector="),
            (&[("app", "web")][..], "labelSelector=app%3Dweb"),
            (&[("a.io/b", "x"), ("c", "")][..], "labelSelector=a%2Eio%2Fb%3Dx%2Cc%3D"),
        ] {
            assert_eq!(by_labels(selector.iter().copied()), want);
        }
        assert_eq!(by_name("web"), "fieldSelector=metadata.name%3Dweb");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_comes_too_late_is_an_outcome() {
        for (given, created, changed) in [
            (Answer::Object, "done 2", "done 2"),
            (Answer::Status(409, "AlreadyExists"), "conflict", "conflict"),
            (Answer::Status(409, "Conflict"), "conflict", "conflict"),
            (Answer::Status(404, "NotFound"), "NotFound", "gone"),
            (Answer::Status(403, "Forbidden"), "Forbidden", "Forbidden"),
            (Answer::Status(400, "BadRequest"), "invalid", "invalid"),
            (Answer::Status(422, "Invalid"), "invalid", "invalid"),
            (Answer::Status(500, "InternalError"), "InternalError", "InternalError"),
            (
                Answer::Silence,
                "no response from the API server within 3 s",
                "no response from the API server within 3 s",
            ),
        ] {
            let writer = writer(Router::new().fallback(answer).with_state(given)).within(Duration::from_secs(3));
            let said = |outcome: Result<WriteOutcome<Secret>, WriteError>| match outcome {
                Ok(WriteOutcome::Done(object)) => format!("done {}", object.metadata.resource_version.unwrap()),
                Ok(WriteOutcome::Conflict) => "conflict".to_owned(),
                Ok(WriteOutcome::Gone) => "gone".to_owned(),
                Err(error) if error.is_invalid() => "invalid".to_owned(),
                Err(WriteError::Failed(kube::Error::Api(status))) => status.message,
                Err(error) => error.to_string(),
            };
            let object = Secret::default();
            assert_eq!(said(writer.create(&object).await), created);
            assert_eq!(said(writer.replace("c", &object).await), changed);
            assert_eq!(said(writer.merge("c", &json!({})).await), changed);
            assert_eq!(said(writer.apply("c", &json!({})).await), changed);
            assert_eq!(said(writer.apply_status("c", &json!({})).await), changed);
            let deleted = writer.delete("c", "u", "1").await;
            let deleted = deleted.map(|outcome| match outcome {
                WriteOutcome::Done(()) => WriteOutcome::Done(stored()),
                WriteOutcome::Conflict => WriteOutcome::Conflict,
                WriteOutcome::Gone => WriteOutcome::Gone,
            });
            assert_eq!(said(deleted), changed);
        }
    }

    async fn echo(request: Request) -> Json<Value> {
        let kind = request.headers()[CONTENT_TYPE].to_str().unwrap();
        let sent = format!("{} {} {kind}", request.method(), request.uri());
        Json(json!({ "metadata": { "name": sent } }))
    }

    #[tokio::test]
    async fn every_write_names_its_field_manager() {
        let sent = |outcome: Result<WriteOutcome<Secret>, WriteError>| match outcome {
            Ok(WriteOutcome::Done(object)) => object.metadata.name.unwrap(),
            other => panic!("{other:?}"),
        };
        let path = "/api/v1/namespaces/n/secrets";
        let object = Secret::default();
        for (dry_run, query) in [(false, ""), (true, "dryRun=All&")] {
            let writer = writer(Router::new().fallback(echo)).dry_run(dry_run);
            for (got, want) in [
                (writer.create(&object).await, format!("POST {path}?{query}fieldManager=m application/json")),
                (writer.replace("c", &object).await, format!("PUT {path}/c?{query}fieldManager=m application/json")),
                (
                    writer.merge("c", &json!({})).await,
                    format!("PATCH {path}/c?{query}fieldManager=m application/strategic-merge-patch+json"),
                ),
                (
                    writer.apply("c", &json!({})).await,
                    format!("PATCH {path}/c?{query}force=true&fieldManager=m application/apply-patch+yaml"),
                ),
                (
                    writer.apply_status("c", &json!({})).await,
                    format!("PATCH {path}/c/status?{query}force=true&fieldManager=m application/apply-patch+yaml"),
                ),
            ] {
                assert_eq!(sent(got).replace("?&", "?"), want);
            }
        }
    }
}
