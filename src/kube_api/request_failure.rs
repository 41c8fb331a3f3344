//! The failure of a request in one line: the cause, and nothing of a body.
//!
//! kube's own texts show every field of an answer, and leave out why a connection failed.

use std::{borrow::Cow, error::Error, io, iter::successors, sync::Arc};

use http::StatusCode;
use kube::{client::AuthError, core::response::Status, runtime::watcher};
use roster_engine::model::json::message::{message, shortened};
use rustls::CertificateError;
use tokio::time::error::Elapsed;
use tower::BoxError;

/// The reason that kube gives an answer whose body has another format. Its message is the body.
pub(super) const UNREADABLE: &str = "Failed to parse error data";

/// An API server could not be reached, or its answer broke off.
#[derive(Debug, thiserror::Error)]
#[error("the API server {server}: {}", cause(&**source))]
pub(super) struct Unanswered {
    server: Arc<str>,
    source: BoxError,
}

impl Unanswered {
    /// The error of a connection to the API server at this address.
    pub(super) fn error(server: &Arc<str>, source: BoxError) -> BoxError {
        // What kube has found wrong before it sent the request.
        if source.is::<kube::Error>() {
            return source;
        }
        Box::new(Self { server: server.clone(), source })
    }
}

/// What is said about a request that failed.
pub(crate) fn failure_text(error: &kube::Error) -> String {
    let text = match error {
        kube::Error::Api(status) => refusal(status),
        kube::Error::SerdeError(error) => format!("the answer cannot be read: {}", message(error)),
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            format!("the program that fetches credentials has failed: {}", out.status)
        }
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            "the program that fetches credentials has printed something else".to_owned()
        }
        error => {
            let unanswered = chain(error).find_map(|cause| cause.downcast_ref::<Unanswered>());
            unanswered.map_or_else(|| cause(error), Unanswered::to_string)
        }
    };
    one_line(&text)
}

/// What is said about a watch that failed.
pub(super) fn watch_failure_text(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => failure_text(error),
        watcher::Error::WatchError(status) => one_line(&refusal(status)),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

/// The code of an answer, and the message of the API server. An answer of something else may be a page.
fn refusal(status: &Status) -> String {
    let code = StatusCode::from_u16(status.code).ok();
    let code = code.map_or_else(|| "an error without a code".to_owned(), |code| code.to_string());
    match &*status.message {
        _ if status.reason == UNREADABLE => format!("{code}, and the answer is not one of Kubernetes"),
        message if message.is_empty() || code.ends_with(message) => code,
        message => format!("{code}: {message}"),
    }
}

/// An error and its causes, from the outermost to the innermost.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |error| {
        let error: &'a (dyn Error + 'static) = *error;
        // `source` of an I/O error skips the error in it.
        let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        within.map(|within| within as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

/// The innermost cause of an error.
fn cause(error: &(dyn Error + 'static)) -> String {
    let innermost = chain(error).last().unwrap_or(error);
    match innermost.downcast_ref::<rustls::Error>() {
        // The authority may have the expected name, and another key.
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            "its certificate is signed by an unknown authority".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(error))) => {
            format!("its certificate is not accepted: {error}")
        }
        None if innermost.is::<Elapsed>() => "no response in time".to_owned(),
        _ => innermost.to_string(),
    }
}

fn one_line(text: &str) -> String {
    let text = shortened(text);
    let breaks = |c: char| c.is_control();
    if text.contains(breaks) { text.replace(breaks, " ") } else { Cow::into_owned(text) }
}

#[cfg(test)]
mod tests {
    use std::process::{ExitStatus, Output};

    use super::*;

    fn api(code: u16, message: &str, reason: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, reason).with_code(code).boxed())
    }

    fn unanswered(source: BoxError) -> BoxError {
        Unanswered::error(&"https://10.0.0.1:6443".into(), source)
    }

    /// An error as a layer of the client wraps it.
    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Wrapped(#[source] io::Error);

    fn connection(error: impl Into<BoxError>) -> kube::Error {
        kube::Error::Service(unanswered(Box::new(Wrapped(io::Error::other(error)))))
    }

    #[test]
    fn a_failure_is_one_line_with_its_cause() {
        let certificate = |error| connection(rustls::Error::InvalidCertificate(error));
        let read_later = io::Error::other(unanswered(Box::new(io::Error::from_raw_os_error(104))));
        let json = serde_json::from_str::<u8>("\"secret\"").unwrap_err();
        for (error, want) in [
            (
                api(403, "pods is forbidden: User \"u\" cannot list resource \"pods\"", "Forbidden"),
                "403 Forbidden: pods is forbidden: User \"u\" cannot list resource \"pods\"",
            ),
            (api(401, "Unauthorized", "Unauthorized"), "401 Unauthorized"),
            (api(401, "", ""), "401 Unauthorized"),
            (api(0, "", ""), "an error without a code"),
            (api(500, "one\ntwo", "InternalError"), "500 Internal Server Error: one two"),
            (api(502, "<html>secret</html>", UNREADABLE), "502 Bad Gateway, and the answer is not one of Kubernetes"),
            (
                connection(io::Error::from_raw_os_error(111)),
                "the API server https://10.0.0.1:6443: Connection refused (os error 111)",
            ),
            (
                certificate(CertificateError::UnknownIssuer),
                "the API server https://10.0.0.1:6443: its certificate is signed by an unknown authority",
            ),
            (
                certificate(CertificateError::Expired),
                "the API server https://10.0.0.1:6443: invalid peer certificate: Expired",
            ),
            (
                certificate(CertificateError::Other(rustls::OtherError(Arc::new(io::Error::other(
                    "CaUsedAsEndEntity",
                ))))),
                "the API server https://10.0.0.1:6443: its certificate is not accepted: CaUsedAsEndEntity",
            ),
            (
                connection("failed to lookup address information"),
                "the API server https://10.0.0.1:6443: failed to lookup address information",
            ),
            (
                kube::Error::ReadEvents(read_later),
                "the API server https://10.0.0.1:6443: Connection reset by peer (os error 104)",
            ),
            (kube::Error::SerdeError(json), "the answer cannot be read: invalid type: string \"secret\", expected u8"),
        ] {
            assert_eq!(failure_text(&error), want);
        }
    }

    #[test]
    fn what_a_program_for_credentials_prints_is_not_said() {
        let out = Output { status: ExitStatus::default(), stdout: b"token".into(), stderr: b"token".into() };
        let error = kube::Error::Auth(AuthError::AuthExecRun { cmd: "token".to_owned(), out: Box::new(out) });
        let text = failure_text(&error);
        assert_eq!(text, "the program that fetches credentials has failed: exit status: 0");
    }

    #[test]
    fn what_kube_has_found_wrong_stays() {
        let error = Unanswered::error(&"".into(), Box::new(kube::Error::TlsRequired));
        assert!(error.is::<kube::Error>());
    }
}
