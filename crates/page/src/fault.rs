//! Why a request of the page has no answer.

use roster_engine::model::Interrupted;
use roster_manifests::decode::{DecodeError, DecodeReason};

use crate::limits::MAX_OBJECT;

/// What is said of an input without a Service.
pub(crate) const NO_SERVICE: &str = "The input has no Service. Roster needs Services and Pods.";

/// Why a request of the page has no answer.
#[derive(Debug, thiserror::Error)]
pub enum PageFault {
    /// It is not a request.
    #[error("the request cannot be read: {0}")]
    Request(#[from] serde_json::Error),
    /// There is no example of this name.
    #[error("there is no example named {0:?}")]
    NoExample(String),
    /// There is no text.
    #[error("Nothing to show yet: paste YAML or JSON, or choose an example")]
    Empty,
    /// It is a text without objects.
    #[error("The text is neither YAML nor JSON of Kubernetes objects: those begin with apiVersion and kind")]
    NotObjects,
    /// The objects have no Service, and nothing is wrong with them.
    #[error("{NO_SERVICE}")]
    NoService,
    /// An object that is reviewed is too long.
    #[error("an object to review has more than {MAX_OBJECT} bytes")]
    ObjectTooLong,
    /// A what-if has too many changes.
    #[error("there are more than {0} changes")]
    TooManyChanges(usize),
    /// The objects cannot be read.
    #[error("{}", decode_text(.0))]
    Objects(#[from] DecodeError),
    /// Nobody waits for the answer any more.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// What is wrong with a text, and where.
fn decode_text(error: &DecodeError) -> String {
    match &error.reason {
        reason @ (DecodeReason::Json(_) | DecodeReason::Yaml(_)) => {
            format!("line {}, column {}: {reason}", error.line, error.column)
        }
        reason => reason.to_string(),
    }
}
