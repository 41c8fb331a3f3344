//! The envelope of the reviews that an API server posts to its webhooks: `AdmissionReview`, `ConversionReview`.
//!
//! An API server treats an answer without the uid of its request as no answer. The reader therefore finds the uid
//! whatever else is broken, even in a body that ends early.

use std::{borrow::Cow, cell::RefCell, fmt};

use roster_engine::model::json::BorrowedText;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

/// The request inside a review, and what its envelope says about it.
pub(crate) trait EnvelopeRequest<'de>: Deserialize<'de> {
    /// The kind of the review.
    const KIND: &'static str;
    /// The `apiVersion`s that are answered, the newest first.
    const API_VERSIONS: [&'static str; 2];

    /// The uid that the answer repeats.
    fn uid(&self) -> &str;
}

/// A review that cannot be read. It can still be answered if its uid is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrokenReview {
    /// The uid; `None` if it is missing or empty.
    pub(crate) uid: Option<String>,
    /// The version of the review, or the newest one if it is not known.
    pub(crate) api_version: &'static str,
    /// What is wrong.
    pub(crate) message: String,
}

/// The answer to a review.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewAnswer<R> {
    /// The version of the review.
    pub(crate) api_version: &'static str,
    /// The kind of the review.
    pub(crate) kind: &'static str,
    /// The answer to its request.
    pub(crate) response: R,
}

impl<R: Serialize> ReviewAnswer<R> {
    /// The answer as JSON. The response holds text, numbers and JSON only, so that this does not fail.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a, R> {
    #[serde(borrow, default)]
    api_version: BorrowedText<'a>,
    #[serde(borrow, default)]
    kind: BorrowedText<'a>,
    request: Option<R>,
}

/// Reads a review: the request and the version of its envelope.
pub(crate) fn read<'a, R: EnvelopeRequest<'a>>(body: &'a [u8]) -> Result<(&'static str, R), BrokenReview> {
    let review: Envelope<'_, R> =
        serde_json::from_slice(body).map_err(|error| broken::<R>(body, &error.to_string()))?;
    let Some(api_version) = known_version::<R>(&review.api_version.0) else {
        let [newest, oldest] = R::API_VERSIONS;
        let given = shortened(&review.api_version.0);
        return Err(broken::<R>(body, &format!("apiVersion {given:?} is neither {newest} nor {oldest}")));
    };
    if review.kind.0 != R::KIND {
        return Err(broken::<R>(body, &format!("kind {:?} is not {}", shortened(&review.kind.0), R::KIND)));
    }
    match review.request {
        None => Err(broken::<R>(body, "the field `request` is missing")),
        Some(request) if request.uid().is_empty() => Err(broken::<R>(body, "request.uid is empty")),
        Some(request) => Ok((api_version, request)),
    }
}

fn known_version<'a, R: EnvelopeRequest<'a>>(api_version: &str) -> Option<&'static str> {
    R::API_VERSIONS.into_iter().find(|v| *v == api_version)
}

fn broken<'a, R: EnvelopeRequest<'a>>(body: &[u8], message: &str) -> BrokenReview {
    let Salvage { uid, api_version } = salvage(body);
    let api_version = known_version::<R>(&api_version).unwrap_or(R::API_VERSIONS[0]);
    BrokenReview { uid: Some(uid).filter(|u| !u.is_empty()), api_version, message: message.chars().take(300).collect() }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The fields that can be found in a broken review; empty where they are missing.
#[derive(Debug, Default)]
struct Salvage {
    uid: String,
    api_version: String,
}

fn salvage(body: &[u8]) -> Salvage {
    let found = RefCell::new(Salvage::default());
    let salvager = Salvager { found: &found, level: Level::Review };
    // The result does not matter: everything found before an error counts.
    let _ = salvager.deserialize(&mut serde_json::Deserializer::from_slice(body));
    found.into_inner()
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Review,
    Request,
}

/// Reads the version and the uid only, and stores them where an error does not lose them.
#[derive(Clone, Copy)]
struct Salvager<'a> {
    found: &'a RefCell<Salvage>,
    level: Level,
}

impl<'de> DeserializeSeed<'de> for Salvager<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Salvager<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let text = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match (self.level, key.as_ref()) {
                (Level::Review, "apiVersion") => {
                    let api_version = text(map.next_value()?);
                    self.found.borrow_mut().api_version = api_version;
                }
                (Level::Review, "request") => map.next_value_seed(Salvager { level: Level::Request, ..self })?,
                (Level::Request, "uid") => {
                    let uid = text(map.next_value()?);
                    self.found.borrow_mut().uid = uid;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
