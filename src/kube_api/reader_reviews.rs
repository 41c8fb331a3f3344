//! Asks the API server who may read what a server tells about a cluster: whose token it is, and what that user may do.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{
    Client,
    api::{Api, PostParams},
};
use ring::digest::{SHA256, digest};
use roster_engine::model::permission::Permission;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::request_failure::failure_text;

/// How long an answer counts. A user who loses a permission keeps it this long.
const FRESH: Duration = Duration::from_secs(10);
/// How many answers are known at once.
const MOST: usize = 1000;
/// How many reviews are on their way at once: strangers must not burden the API server.
const AT_ONCE: usize = 4;
/// The longest time for both reviews.
const LIMIT: Duration = Duration::from_secs(5);

/// Why somebody may not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadRefusal {
    #[error("the API server does not accept the token")]
    Unauthenticated,
    #[error("the user of the token may not get the path {0}")]
    Forbidden(String),
    #[error("the API server could not be asked who may read: {0}")]
    Unanswered(String),
}

/// The reviews, and what they said a moment ago. Of a token, only a digest is remembered.
#[derive(Debug)]
pub(crate) struct ReaderReviews {
    client: ReviewClient,
    known: Mutex<KnownReaders>,
    places: Semaphore,
}

/// A client, which has nothing to show.
struct ReviewClient(Client);

impl std::fmt::Debug for ReviewClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReviewClient")
    }
}

/// What is known, and until when: a value that knows no clock.
#[derive(Debug, Default)]
struct KnownReaders(BTreeMap<[u8; 32], (Instant, Result<(), ReadRefusal>)>);

impl KnownReaders {
    fn get(&self, reader: &[u8; 32], now: Instant) -> Option<Result<(), ReadRefusal>> {
        self.0.get(reader).filter(|(until, _)| *until > now).map(|(_, answer)| answer.clone())
    }

    fn insert(&mut self, reader: [u8; 32], answer: Result<(), ReadRefusal>, now: Instant) {
        if self.0.len() >= MOST {
            self.0.retain(|_, (until, _)| *until > now);
        }
        if self.0.len() < MOST {
            self.0.insert(reader, (now + FRESH, answer));
        }
    }
}

impl ReaderReviews {
    /// The permissions that the reviews need.
    pub(crate) fn permissions() -> [Permission; 2] {
        let create = |group, resource: &str| Permission {
            group,
            resources: vec![resource.to_owned()],
            names: Vec::new(),
            verbs: &["create"],
            in_namespace: false,
        };
        [create("authentication.k8s.io", "tokenreviews"), create("authorization.k8s.io", "subjectaccessreviews")]
    }

    /// Reviews through a client, which should repeat no request.
    pub(crate) fn new(client: Client) -> Self {
        Self { client: ReviewClient(client), known: Mutex::default(), places: Semaphore::new(AT_ONCE) }
    }

    /// Whether the user of a token may get a path outside all resources.
    pub(crate) async fn may_get(&self, token: &str, path: &str) -> Result<(), ReadRefusal> {
        let mut reader = [0; 32];
        // A token has no spaces.
        reader.copy_from_slice(digest(&SHA256, format!("{token} {path}").as_bytes()).as_ref());
        if let Some(known) = self.known().get(&reader, Instant::now()) {
            return known;
        }
        let unanswered = |why: &str| ReadRefusal::Unanswered(why.to_owned());
        let _place = self.places.try_acquire().map_err(|_| unanswered("too many reviews at once"))?;
        let answer = timeout(LIMIT, self.review(token, path)).await;
        let answer = answer.unwrap_or_else(|_| Err(unanswered("no response within 5 s")));
        if !matches!(answer, Err(ReadRefusal::Unanswered(_))) {
            self.known().insert(reader, answer.clone(), Instant::now());
        }
        answer
    }

    async fn review(&self, token: &str, path: &str) -> Result<(), ReadRefusal> {
        let failed = |error: kube::Error| ReadRefusal::Unanswered(failure_text(&error));
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviewed = Api::all(self.client.0.clone()).create(&PostParams::default(), &review).await.map_err(failed)?;
        let status = reviewed.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true)).ok_or(ReadRefusal::Unauthenticated)?;
        let review = SubjectAccessReview { spec: access_of(user, path), ..SubjectAccessReview::default() };
        let reviewed = Api::all(self.client.0.clone()).create(&PostParams::default(), &review).await.map_err(failed)?;
        let allowed = reviewed.status.is_some_and(|status| status.allowed && status.denied != Some(true));
        if allowed { Ok(()) } else { Err(ReadRefusal::Forbidden(path.to_owned())) }
    }

    fn known(&self) -> MutexGuard<'_, KnownReaders> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The access that a user needs to get a path.
fn access_of(user: UserInfo, path: &str) -> SubjectAccessReviewSpec {
    let UserInfo { extra, groups, uid, username } = user;
    let path = NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) };
    SubjectAccessReviewSpec {
        extra,
        groups,
        non_resource_attributes: Some(path),
        resource_attributes: None,
        uid,
        user: username,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use axum::body::{Body, to_bytes};
    use http::{Request, Response};
    use serde_json::{Value, json};
    use tokio::time::advance;
    use tower::service_fn;

    use super::*;

    /// An API server that knows two users and lets one of them read what is in `shop`.
    async fn answer(request: Request<kube::client::Body>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let body = to_bytes(Body::new(request.into_body()), 1 << 20).await.unwrap();
        let review: Value = serde_json::from_slice(&body).unwrap();
        let spec = &review["spec"];
        let status = if path.ends_with("/tokenreviews") {
            let user = match spec["token"].as_str().unwrap() {
                "of-ann" => Some("ann"),
                "of-bob" => Some("bob"),
                "broken" => return Response::builder().status(500).body(Body::from("broken")).unwrap(),
                _ => None,
            };
            let user = user.map(|name| json!({ "username": name, "groups": ["g"], "extra": { "k": ["v"] } }));
            json!({ "authenticated": user.is_some(), "user": user })
        } else {
            assert_eq!((&spec["groups"], &spec["extra"]), (&json!(["g"]), &json!({ "k": ["v"] })));
            let asked = &spec["nonResourceAttributes"];
            let in_shop = asked["path"].as_str().unwrap().starts_with("/debug/services/shop/");
            json!({ "allowed": spec["user"] == "ann" && in_shop && asked["verb"] == "get" })
        };
        let answer = json!({ "metadata": {}, "spec": spec, "status": status });
        Response::builder().status(201).body(Body::from(answer.to_string())).unwrap()
    }

    /// Reviews, and how many requests they have sent.
    fn reviews() -> (ReaderReviews, Arc<AtomicUsize>) {
        let sent = Arc::<AtomicUsize>::default();
        let count = sent.clone();
        let server = service_fn(move |request| {
            count.fetch_add(1, Ordering::Relaxed);
            async move { Ok::<_, Infallible>(answer(request).await) }
        });
        (ReaderReviews::new(Client::new(server, "default")), sent)
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_decides_who_may_read() {
        let (reviews, sent) = reviews();
        let forbidden = |path: &str| Err(ReadRefusal::Forbidden(path.to_owned()));
        for (token, path, want, requests) in [
            ("of-ann", "/debug/services/shop/web", Ok(()), 2),
            ("of-ann", "/debug/services/shop/web", Ok(()), 0),
            ("of-ann", "/debug/services/bank/web", forbidden("/debug/services/bank/web"), 2),
            ("of-bob", "/debug/services/shop/web", forbidden("/debug/services/shop/web"), 2),
            ("of-bob", "/debug/services/shop/web", forbidden("/debug/services/shop/web"), 0),
            ("of-eve", "/debug/services/shop/web", Err(ReadRefusal::Unauthenticated), 1),
            ("of-eve", "/debug/services/shop/web", Err(ReadRefusal::Unauthenticated), 0),
        ] {
            let before = sent.load(Ordering::Relaxed);
            assert_eq!(reviews.may_get(token, path).await, want, "{token} {path}");
            assert_eq!(sent.load(Ordering::Relaxed) - before, requests, "{token} {path}");
        }
        advance(FRESH).await;
        let before = sent.load(Ordering::Relaxed);
        assert_eq!(reviews.may_get("of-ann", "/debug/services/shop/web").await, Ok(()));
        assert_eq!(sent.load(Ordering::Relaxed) - before, 2, "an answer is asked for again");
        for _ in 0..2 {
            let failed = reviews.may_get("broken", "/debug/services/shop/web").await;
            assert!(matches!(failed, Err(ReadRefusal::Unanswered(_))), "{failed:?}");
        }
        assert_eq!(sent.load(Ordering::Relaxed) - before, 4, "what was not answered is asked again");
    }

    #[test]
    fn not_more_answers_are_known_than_there_is_room_for() {
        let (mut known, now) = (KnownReaders::default(), Instant::now());
        let reader = |n: usize| {
            let mut reader = [0; 32];
            reader[..8].copy_from_slice(&n.to_le_bytes());
            reader
        };
        (0..MOST + 5).for_each(|n| known.insert(reader(n), Ok(()), now));
        assert_eq!((known.0.len(), known.get(&reader(MOST), now)), (MOST, None));
        known.insert(reader(MOST), Ok(()), now + FRESH);
        assert_eq!((known.0.len(), known.get(&reader(MOST), now + FRESH)), (1, Some(Ok(()))));
    }
}
