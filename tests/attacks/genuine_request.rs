//! What the genuine client sends to each site, and which answers are right.

use crate::{
    bodies,
    http1::Answer,
    request::Request,
    site::Site,
    upstream::{FAR, GENUINE, NEAR, NOBODY, REVOKED, SHOP},
};

/// One in so many requests must be refused.
const BAD: u64 = 10;
/// One in so many is of a client whose token the node proxy has not seen, one is for the API server, and one for an object
/// about which the node proxy has to ask the API server.
const FRESH: u64 = 25;

/// What came of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Right,
    /// An error, another status, or a wrong answer.
    Lost(String),
    /// What must be refused was allowed, or shown.
    LetIn,
}

/// A request, and how its answer is judged.
#[derive(Clone, Debug)]
pub(crate) struct GenuineRequest {
    pub(crate) request: Request,
    pub(crate) judge: fn(&Answer) -> Outcome,
}

/// The genuine requests of a site.
pub(crate) struct GenuineRequests {
    site: Site,
    good: GenuineRequest,
    bad: Vec<GenuineRequest>,
}

impl GenuineRequests {
    pub(crate) fn new(site: Site) -> Self {
        let genuine = |judge: fn(&Answer) -> Outcome| move |request| GenuineRequest { request, judge };
        let bad = if site.is_edge() {
            strangers().into_iter().map(genuine(refused_read)).collect()
        } else {
            vec![genuine(refused_review)(Request::post(REVIEW, bodies::bad_review().as_bytes()))]
        };
        let good = genuine(if site.is_edge() { pruned_list } else { allowed_review })(site.request());
        Self { site, good, bad }
    }

    /// The request with this number.
    pub(crate) fn get(&self, number: u64) -> GenuineRequest {
        if number.is_multiple_of(BAD) {
            let at = usize::try_from(number / BAD).unwrap_or(0) % self.bad.len();
            return self.bad[at].clone();
        }
        if self.site.is_edge() && number % FRESH == 1 {
            let request = Request::get(SHOP).with_token(&format!("{GENUINE}-{number}"));
            return GenuineRequest { request, ..self.good.clone() };
        }
        if self.site.is_edge() && number % FRESH == 2 {
            let request = Request::get("/api/v1/namespaces/shop/pods").with_token(GENUINE);
            return GenuineRequest { request, judge: proxied_list };
        }
        if self.site.is_edge() && number % FRESH == 3 {
            let request = Request::get(format!("/api/v1/namespaces/shop/services/new-{number}")).with_token(GENUINE);
            return GenuineRequest { request, judge: missing_object };
        }
        self.good.clone()
    }
}

const REVIEW: &str = "/validate?timeout=10s";

impl Site {
    /// What the genuine client sends.
    pub(crate) fn request(self) -> Request {
        match self {
            _ if self.is_edge() => Request::get(SHOP).with_token(GENUINE),
            _ => Request::post(REVIEW, bodies::good_review().as_bytes()),
        }
    }

    /// A request with a body that may take its time. The node proxy passes it on to the API server, which finds out that the
    /// token is unknown.
    pub(crate) fn post(self) -> Request {
        match self {
            _ if self.is_edge() => Request::post("/api/v1/namespaces/shop/pods", b"").with_token(NOBODY),
            _ => Request::post("/validate?timeout=30s", b""),
        }
    }
}

/// Reads of callers that the API server does not know, and reads that might lead around the node proxy.
pub(crate) fn strangers() -> Vec<Request> {
    let (list, known) = (|| Request::get(SHOP), |path| Request::get(path).with_token(GENUINE));
    vec![
        list(),
        list().with_token(NOBODY),
        list().with("x-remote-user", "system:admin").with("x-remote-group", "system:masters"),
        list().with("forwarded", "for=127.0.0.1").with("x-forwarded-for", "127.0.0.1"),
        list().with("authorization", "Basic Z2VudWluZQ=="),
        known(SHOP).with("authorization", format!("Bearer {NOBODY}")),
        known(SHOP).with("impersonate-user", "system:admin"),
        known(SHOP).with_host("roster.example"),
        known("//api/v1/endpoints"),
        known("/api/v1/%2e%2e/v1/services"),
        known("/apis/discovery.k8s.io/v1%2fendpointslices"),
        known("/apis/discovery.k8s.io/v1/watch/endpointslices"),
        known("/apis/discovery.k8s.io/v1beta1/endpointslices"),
        known("/apis/discovery.k8s.io/v1/endpointslices/"),
        Request::get("/api/v1/servicesfoo"),
        Request::get("/metrics"),
    ]
}

/// Reads with tokens that were good until they were revoked.
pub(crate) fn revoked_reads() -> Vec<Request> {
    let paths = [SHOP.to_owned(), format!("{SHOP}?watch=true")];
    paths.iter().flat_map(|path| REVOKED.map(|token| Request::get(path.as_str()).with_token(token))).collect()
}

/// Whether an answer shows a stranger anything of the API server.
pub(crate) fn shows_objects(answer: &Answer) -> bool {
    answer.status == 200 || answer.has(NEAR) || answer.has(FAR)
}

fn refused_read(answer: &Answer) -> Outcome {
    if shows_objects(answer) { Outcome::LetIn } else { Outcome::Right }
}

fn pruned_list(answer: &Answer) -> Outcome {
    match answer {
        _ if answer.has(FAR) => Outcome::LetIn,
        _ if answer.status != 200 || !answer.has(NEAR) => Outcome::Lost(answer.to_string()),
        _ => Outcome::Right,
    }
}

fn proxied_list(answer: &Answer) -> Outcome {
    if answer.status == 200 { Outcome::Right } else { Outcome::Lost(answer.to_string()) }
}

/// The caller may read the object, and there is none.
fn missing_object(answer: &Answer) -> Outcome {
    if answer.status == 404 { Outcome::Right } else { Outcome::Lost(answer.to_string()) }
}

fn allowed_review(answer: &Answer) -> Outcome {
    match answer {
        _ if answer.status != 200 || !answer.has(r#""allowed":true"#) => Outcome::Lost(answer.to_string()),
        _ => Outcome::Right,
    }
}

fn refused_review(answer: &Answer) -> Outcome {
    match answer {
        _ if answer.status != 200 => Outcome::Lost(answer.to_string()),
        _ if !answer.has(r#""allowed":false"#) => Outcome::LetIn,
        _ => Outcome::Right,
    }
}
