//! `AdmissionReview`, v1 and v1beta1: the body that an API server posts, and the answer.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine, prelude::BASE64_STANDARD};
use roster_engine::model::json::{BorrowedText, path::PathEnd};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    decision::Decision,
    request::{AdmissionRequest, Operation},
    review_envelope::{self, BrokenReview, EnvelopeRequest, ReviewAnswer},
};

/// The version of a review; the answer has the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `admission.k8s.io/v1`.
    #[default]
    V1,
    /// `admission.k8s.io/v1beta1`, which old webhook configurations still list.
    V1beta1,
}

impl ReviewVersion {
    /// The `apiVersion`, such as `admission.k8s.io/v1`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }

    fn of(api_version: &str) -> Self {
        if api_version == Self::V1beta1.as_str() { Self::V1beta1 } else { Self::V1 }
    }
}

/// Why a review cannot be read. A review with a uid can still be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the review cannot be read: {message}")]
pub struct EnvelopeError {
    /// The uid, if it can be found.
    pub uid: Option<String>,
    /// The version, or v1 if it cannot be found.
    pub version: ReviewVersion,
    /// What is wrong.
    pub message: String,
}

/// The field `request` of a review.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest<'a> {
    #[serde(borrow, default)]
    uid: BorrowedText<'a>,
    #[serde(borrow, default)]
    kind: Option<WireKind<'a>>,
    #[serde(borrow, default)]
    sub_resource: BorrowedText<'a>,
    #[serde(borrow, default)]
    name: BorrowedText<'a>,
    #[serde(borrow, default)]
    namespace: BorrowedText<'a>,
    #[serde(borrow, default)]
    operation: BorrowedText<'a>,
    #[serde(borrow, default)]
    user_info: Option<WireUser<'a>>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    old_object: Option<&'a RawValue>,
    #[serde(default)]
    dry_run: Option<bool>,
}

impl<'de> EnvelopeRequest<'de> for WireRequest<'de> {
    const KIND: &'static str = "AdmissionReview";
    const API_VERSIONS: [&'static str; 2] = [ReviewVersion::V1.as_str(), ReviewVersion::V1beta1.as_str()];

    fn uid(&self) -> &str {
        &self.uid.0
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireKind<'a> {
    #[serde(borrow)]
    group: BorrowedText<'a>,
    #[serde(borrow)]
    version: BorrowedText<'a>,
    #[serde(borrow)]
    kind: BorrowedText<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUser<'a> {
    #[serde(borrow)]
    username: BorrowedText<'a>,
    #[serde(borrow)]
    groups: Option<Vec<BorrowedText<'a>>>,
}

/// The user of a review; empty if it cannot be found. API servers write it before the objects, which are not read.
pub fn review_user(body: &[u8]) -> String {
    PathEnd::of(body, &["request", "userInfo", "username"]).text.unwrap_or_default()
}

/// Reads a review without its objects and groups, of which `head` may be the first part. API servers write the objects last.
pub fn read_review_head(head: &[u8]) -> Option<(ReviewVersion, AdmissionRequest<'static>)> {
    let text = |path: &[&str]| Cow::<'static, str>::Owned(PathEnd::of(head, path).text.unwrap_or_default());
    let of_request = |field| text(&["request", field]);
    let of_kind = |field| text(&["request", "kind", field]);
    let uid = of_request("uid");
    if uid.is_empty() {
        return None;
    }
    let request = AdmissionRequest {
        uid,
        group: of_kind("group"),
        version: of_kind("version"),
        kind: of_kind("kind"),
        sub_resource: of_request("subResource"),
        namespace: of_request("namespace"),
        name: of_request("name"),
        operation: Operation::read(&of_request("operation")),
        user: Cow::Owned(review_user(head)),
        groups: Vec::new(),
        object: None,
        old_object: None,
        dry_run: false,
    };
    Some((ReviewVersion::of(&text(&["apiVersion"])), request))
}

/// Reads a review.
pub fn read_review(body: &[u8]) -> Result<(ReviewVersion, AdmissionRequest<'_>), EnvelopeError> {
    let (api_version, wire) = review_envelope::read::<WireRequest<'_>>(body).map_err(|broken| {
        let BrokenReview { uid, api_version, message } = broken;
        EnvelopeError { uid, version: ReviewVersion::of(api_version), message }
    })?;
    let (kind, user) = (wire.kind.unwrap_or_default(), wire.user_info.unwrap_or_default());
    let request = AdmissionRequest {
        uid: wire.uid.0,
        group: kind.group.0,
        version: kind.version.0,
        kind: kind.kind.0,
        sub_resource: wire.sub_resource.0,
        namespace: wire.namespace.0,
        name: wire.name.0,
        operation: Operation::read(&wire.operation.0),
        user: user.username.0,
        groups: user.groups.into_iter().flatten().map(|g| g.0).collect(),
        // An `Option` of a `RawValue` is `None` for `null`.
        object: wire.object,
        old_object: wire.old_object,
        dry_run: wire.dry_run.unwrap_or(false),
    };
    Ok((ReviewVersion::of(api_version), request))
}

/// The field `response` of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireResponse<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<WireStatus<'a>>,
    /// An API server refuses an empty one.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: &'a BTreeMap<String, String>,
}

/// `metav1.Status` of a refusal.
#[derive(Serialize)]
struct WireStatus<'a> {
    #[serde(rename = "status")]
    outcome: &'static str,
    code: u16,
    reason: &'a str,
    message: &'a str,
}

/// The answer to a review, in the version of the review.
pub fn answer_review(version: ReviewVersion, uid: &str, decision: &Decision) -> Vec<u8> {
    let patch =
        if decision.patch.is_empty() || !decision.allowed() { None } else { serde_json::to_vec(&decision.patch).ok() };
    let status = decision.denied.as_ref().map(|denial| WireStatus {
        outcome: "Failure",
        code: denial.code,
        reason: denial.reason,
        message: &denial.message,
    });
    let response = WireResponse {
        uid,
        allowed: decision.allowed(),
        status,
        patch_type: patch.is_some().then_some("JSONPatch"),
        patch: patch.map(|p| BASE64_STANDARD.encode(p)),
        warnings: &decision.warnings,
        audit_annotations: &decision.audit,
    };
    ReviewAnswer { api_version: version.as_str(), kind: WireRequest::KIND, response }.to_json()
}
