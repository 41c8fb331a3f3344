//! The table of calls, and the one way through all checks from a request to its answer.

use roster_engine::{code_table, model::Interrupt};

use crate::{
    Answer, CallLimits, Format, PostedBody, Problem, ProblemKind, compare, compat, convert, desired, explain, lint,
    page, picture, plan, review, view,
};

code_table! {
    /// The calls. Each is a function of its request alone.
    pub enum Call {
        /// The name: the path without `/v1/`.
        name: &'static str,
        /// The path of the REST API.
        path: &'static str,
        /// Whether it reads a body.
        reads_body: bool,
        /// Reads the query.
        prepare_with: Prepare,
    }

    /// What the controllers would do to one Service.
    Plan("plan", "/v1/plan", true, plan::prepare);
    /// What the controllers of two releases would do to one Service, and how they differ.
    Compare("compare", "/v1/compare", true, compare::prepare);
    /// The Endpoints of one Service as they are after the controllers' work.
    Endpoints("endpoints", "/v1/endpoints", true, desired::prepare_endpoints);
    /// The slices of one Service as they are after the controllers' work.
    EndpointSlices("endpointslices", "/v1/endpointslices", true, desired::prepare_slices);
    /// Which pods serve which ports of a Service, and why the others do not.
    Explain("explain", "/v1/explain", true, explain::prepare);
    /// The way from routes to the pods of a Service, with what does not serve it in place.
    Picture("picture", "/v1/picture", true, picture::prepare);
    /// Which endpoints the proxy of a node uses, and why not the others.
    View("view", "/v1/view", true, view::prepare);
    /// Objects in another version, or as another kind.
    Convert("convert", "/v1/convert", true, convert::prepare);
    /// What the admission webhook would answer about an object.
    Review("review", "/v1/review", true, review::prepare);
    /// What is wrong with manifests, and where.
    Lint("lint", "/v1/lint", true, lint::prepare);
    /// What the page shows of a state, for its script.
    Page("page", "/v1/page", true, page::prepare);
    /// The releases that Roster can follow.
    Compat("compat", "/v1/compat", false, compat::prepare);
    /// The differences between two releases.
    CompatDifferences("compat/differences", "/v1/compat/differences", false, compat::prepare_differences);
}

/// Reads the query of a call.
type Prepare = fn(&str) -> Result<PreparedCall, Problem>;

/// A call whose query has been read. A server refuses a wrong query before it receives the body.
pub struct PreparedCall(Box<Work>);

type Work = dyn FnOnce(&PostedBody<'_>) -> Result<Answer, Problem> + Send;

impl PreparedCall {
    pub(crate) fn new(work: impl FnOnce(&PostedBody<'_>) -> Result<Answer, Problem> + Send + 'static) -> Self {
        Self(Box::new(work))
    }

    /// The answer for a body. A call that reads none takes an empty one.
    ///
    /// # Errors
    ///
    /// The body cannot be read, does not contain what the call needs, or takes more than it may; or `body` was interrupted.
    pub fn answer(self, body: &PostedBody<'_>) -> Result<Answer, Problem> {
        (self.0)(body)
    }
}

impl std::fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedCall").finish_non_exhaustive()
    }
}

/// A request as a client wrote it, with a body that is not compressed.
#[derive(Clone, Copy, Debug)]
pub struct CallRequest<'r> {
    /// The query without its question mark.
    pub query: &'r str,
    /// The media type of the body.
    pub content_type: Option<&'r str>,
    /// The body.
    pub body: &'r [u8],
}

impl Call {
    /// The call of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|call| call.name() == name)
    }

    /// Reads the query.
    ///
    /// # Errors
    ///
    /// A parameter is missing, unknown or repeated, or has an invalid value.
    pub fn prepare(self, query: &str) -> Result<PreparedCall, Problem> {
        (self.prepare_with())(query)
    }

    /// The answer to a whole request. It passes the same checks as one that arrives at a server.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], [`Format::of`], [`PostedBody::new`] and [`PreparedCall::answer`].
    pub fn answer(
        self,
        request: &CallRequest<'_>,
        limits: CallLimits,
        interrupt: Interrupt<'_>,
    ) -> Result<Answer, Problem> {
        let prepared = self.prepare(request.query)?;
        let (format, bytes) =
            if self.reads_body() { (Format::of(request.content_type)?, request.body) } else { (Format::Json, &[][..]) };
        prepared.answer(&PostedBody::new(bytes, format, limits)?.until(interrupt))
    }
}

/// The problem of a name that no call has.
pub fn unknown_call(name: &str) -> Problem {
    use roster_engine::model::spelling::{did_you_mean, nearest};
    let meant = nearest(name, Call::ALL, |call| call.name()).map(|call| call.name());
    let name: String = name.chars().take(80).collect();
    Problem::new(ProblemKind::NotFound, format!("there is no call {name}{}", did_you_mean(meant.as_slice())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Option<&str> = Some("application/json");

    fn refusal(call: Call, query: &str, content_type: Option<&str>, body: &[u8]) -> (ProblemKind, String) {
        let limits = CallLimits { body: 800, ..CallLimits::default() };
        let request = CallRequest { query, content_type, body };
        let problem = call.answer(&request, limits, Interrupt::NEVER).unwrap_err();
        (problem.kind, problem.detail)
    }

    #[test]
    fn a_call_is_named_by_its_path() {
        for call in Call::ALL {
            assert_eq!(call.path().strip_prefix("/v1/"), Some(call.name()));
            assert_eq!(Call::named(call.name()), Some(*call));
        }
        assert_eq!(Call::named("plans"), None);
        assert_eq!(unknown_call("plans").detail, "there is no call plans; did you mean plan?");
    }

    #[test]
    fn a_whole_request_passes_every_check() {
        let service = br#"{ "service": { "metadata": { "name": "web" } } }"#;
        let deep = [b"{\"service\":".as_slice(), &[b'['; 380], &[b']'; 380], b"}"].concat();
        for (call, query, content_type, body, want) in [
            (Call::Plan, "compt=1.30", JSON, service.as_slice(), "unknown parameter; did you mean compat?"),
            (Call::Convert, "to=Endpoints&to=Endpoints", JSON, service, "the parameter is given twice"),
            (Call::Convert, "", JSON, service, "the parameter is missing"),
            (Call::Compare, "", JSON, service, "the parameter is missing"),
            (Call::Compat, "compat=1.30", None, b"", "unknown parameter"),
            (
                Call::Plan,
                "",
                None,
                service,
                "the header Content-Type is missing; send application/json or application/yaml",
            ),
            (
                Call::Lint,
                "",
                Some("text/html"),
                service,
                "Content-Type is text/html; send application/json or application/yaml",
            ),
            (Call::Lint, "", Some("text/yaml; charset=latin1"), service, "the only supported charset is utf-8"),
            (Call::View, "", JSON, b" ", "the body is empty"),
            (Call::View, "", JSON, b"\xff", "the body is not UTF-8: invalid byte at 0"),
            (Call::Plan, "", JSON, &[b' '; 801], "the body has more than 800 bytes after decompression"),
            (
                Call::Plan,
                "",
                Some("application/yaml"),
                &[b' '; 101],
                "the body has more than 100 bytes of YAML after decompression; of JSON, it may have 800",
            ),
            (Call::Plan, "", JSON, &deep, "/service: invalid type: list, expected an object"),
        ] {
            assert_eq!(refusal(call, query, content_type, body).1, want, "{}?{query}", call.name());
        }
    }

    #[test]
    fn a_call_without_a_body_ignores_one() {
        let request = CallRequest { query: "from=1.30&to=1.31", content_type: None, body: b"{" };
        for call in [Call::Compat, Call::CompatDifferences] {
            let answer = call.answer(&request, CallLimits::default(), Interrupt::NEVER).unwrap();
            assert!(answer.bytes.starts_with(br#"{"from":"1.30","to":"1.31","differences":["#));
        }
    }

    #[test]
    fn an_answer_counts_its_plans() {
        let body = br#"{ "service": { "metadata": { "name": "web" }, "spec": { "selector": { "app": "web" } } } }"#;
        for (call, query, want) in [
            (Call::Plan, "", [0, 1]),
            (Call::Compare, "against=1.30", [0, 2]),
            (Call::EndpointSlices, "", [0, 1]),
            (Call::Plan, "controllers=mirroring", [1, 0]),
            (Call::Explain, "", [0, 0]),
        ] {
            let request = CallRequest { query, content_type: JSON, body };
            let answer = call.answer(&request, CallLimits::default(), Interrupt::NEVER).unwrap();
            assert_eq!([answer.planned.unchanged, answer.planned.changed], want, "{}?{query}", call.name());
        }
    }

    #[test]
    fn an_interrupted_call_ends() {
        let flag = std::sync::atomic::AtomicBool::new(true);
        let request = CallRequest { query: "", content_type: JSON, body: br#"{ "items": [], "kind": "List" }"# };
        let problem = Call::Explain.answer(&request, CallLimits::default(), Interrupt::when(&flag)).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Timeout);
    }
}
