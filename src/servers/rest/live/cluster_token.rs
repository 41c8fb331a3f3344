//! The token of a caller for the API server, from its header.

use axum::http::{HeaderMap, HeaderName};
use roster_calls::ProblemKind;

use crate::{kube_api::CallerToken, servers::rest::problem::ApiError};

/// The header. It is not `Authorization`, which has the token of this server.
pub(super) const HEADER: HeaderName = HeaderName::from_static("roster-cluster-token");

/// The token of a request. Nothing of it is in an error.
pub(super) fn read(headers: &HeaderMap) -> Result<CallerToken, ApiError> {
    let mut values = headers.get_all(&HEADER).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let detail = "send the header `Roster-Cluster-Token: TOKEN` once, with a token for the API server";
        return Err(ApiError::new(ProblemKind::ClusterToken, detail));
    };
    let token = value.to_str().ok().and_then(CallerToken::of);
    token.ok_or_else(|| {
        let detail =
            "the header Roster-Cluster-Token has no bearer token: letters, digits and -._~+/=, without `Bearer`";
        ApiError::new(ProblemKind::ClusterToken, detail)
    })
}
