//! `POST /v1/cluster`: every Service of a cluster, read while it arrives and answered while it is computed.
//!
//! ```text
//! connection ─ pieces ─► feed() ─ channel ─► [thread: decode::read → whole::plan_all] ─ channel ─► response
//! ```
//! Both channels are short: a slow client slows the computation down, and nothing piles up.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::{Buf, Bytes};
use roster_calls::{Format, MAX_ASSUMED_PODS, Params, Problem, ProblemKind, decode_error, errors};
use roster_engine::{
    model::Interrupt,
    state::{Controller, Options},
};
use roster_manifests::{
    decode::{self, Source},
    inventory::{
        Index, Inventory,
        whole::{all_cores, plan_all},
    },
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};

use super::{
    RestApp,
    body::{self, Encoding},
    compute::query,
    limits::{ANSWER_PER_BYTE, CANDIDATES_PER_OBJECT, MAX_CANDIDATES, MAX_CLUSTER_ANSWER},
    object_memory::ObjectMemory,
    problem::ApiError,
    problem_responses,
    schema::{
        object::KubernetesList,
        query::{ControllersParam, OptionParams, WriteParams},
        request::{lines_example, list_example},
    },
};
use crate::runtime::{
    net::{BodyPieces, Exchange},
    workers::Unwanted,
};

/// Plan a whole cluster
///
/// Takes Services, pods, nodes, Endpoints and EndpointSlices of any number of namespaces: a `kind: List` as
/// kubectl prints it, or one object per line. Answers one line of JSON for each Service, in order of namespace
/// and name, while it computes; `ClusterLine` describes them: `{"service": {…}}` and the fields of a plan. The last
/// line is `{"summary": {…}}`, with the findings about the input; a response without it is incomplete. One that would be
/// too long ends with `{"truncated": "…"}` instead.
#[utoipa::path(
    post,
    path = "/v1/cluster",
    tag = "compute",
    params(OptionParams, WriteParams, ControllersParam),
    request_body(
        description = "All objects of a cluster, of mixed kinds.",
        content(
            (KubernetesList = "application/json", example = list_example),
            (KubernetesList = "application/yaml", example = list_example),
            (String = "application/x-ndjson", example = lines_example),
        ),
    ),
    responses(
        (status = 200, description = "Lines of JSON, each a `ClusterLine`: one per Service, and a summary.", body = String,
            content_type = "application/x-ndjson"),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn cluster(State(app): State<Arc<RestApp>>, request: Request) -> Result<Response, ApiError> {
    let exchange = Exchange::of(request.extensions());
    let hang_up = exchange.hang_up.clone();
    tokio::select! {
        biased;
        response = respond(app, request, exchange) => response,
        // Neither the wait for a turn nor the work goes on for a client that has gone.
        () = hang_up.heard() => {
            Err(ApiError::new(ProblemKind::BrokenBody, "the client closed the connection before it had a response"))
        }
    }
}

async fn respond(app: Arc<RestApp>, request: Request, exchange: Exchange) -> Result<Response, ApiError> {
    let params = Params::of_cluster(query(&request))?;
    let format = body::format(request.headers())?;
    let encoding = body::encoding(request.headers())?;
    let pieces = BodyPieces::new(request.into_body(), app.limits.of_body(app.limits.cluster_body))?;

    let (pieces_in, pieces_out) = mpsc::channel(8);
    let (lines_in, lines_out) = mpsc::channel(8);
    let (head_in, head_out) = oneshot::channel();
    let account = ObjectMemory::new(&app, &exchange);
    let unwanted = Unwanted::default();
    let interrupt = unwanted.0.clone();
    let job = ClusterJob { app: app.clone(), params, format, encoding, account, interrupt, lines: lines_in };
    let runtime = Handle::current();
    // Nothing of the body is read before a thread has time for it.
    let begun = app.cluster_turns.begin(&exchange, move || job.run(pieces_out, head_in, &runtime));
    if !matches!(timeout(app.limits.request, begun).await, Ok(Ok(()))) {
        return Err(app.busy("others are being answered, and more of them wait"));
    }

    let deadline = Instant::now() + app.limits.cluster_request;
    let answer = async {
        let ((), head) = tokio::join!(feed(pieces, pieces_in), head_out);
        // The thread ended without a result: it panicked.
        head.unwrap_or_else(|_| {
            Err(ApiError::new(ProblemKind::Internal, "this is a bug: report it with the value of `instance`"))
        })
    };
    let late = |_| {
        ApiError::new(ProblemKind::Timeout, format!("not read after {} s", app.limits.cluster_request.as_secs_f32()))
    };
    timeout_at(deadline, answer).await.map_err(late)??;
    // What is read is planned: sending ends that, when the client is gone.
    drop(unwanted);
    let mut response = Body::from_stream(lines(lines_out)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

/// A part of the body, or its end: a channel that closes without an end means that the body was cut off.
enum Piece {
    Data(Bytes),
    End,
    Failed(ApiError),
}

/// Passes the body on until it ends or fails, or the receiver is gone.
async fn feed(mut pieces: BodyPieces, to: mpsc::Sender<Piece>) {
    loop {
        let (piece, last) = match pieces.next().await {
            Ok(Some(bytes)) => (Piece::Data(bytes), false),
            Ok(None) => (Piece::End, true),
            Err(e) => (Piece::Failed(e.into()), true),
        };
        if to.send(piece).await.is_err() || last {
            return;
        }
    }
}

/// The body as a reader for a blocking thread.
struct BodyReader {
    from: mpsc::Receiver<Piece>,
    current: Bytes,
    ended: bool,
    encoding: Encoding,
    /// Why the body failed; the decoder sees only an I/O error.
    failed: Arc<Mutex<Option<ApiError>>>,
    bytes: u64,
}

impl BodyReader {
    fn fail(&self, e: ApiError) -> io::Error {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
        io::ErrorKind::UnexpectedEof.into()
    }
}

/// Checks the body against `Content-Encoding`, as the other calls do: the decoder detects gzip by itself. The first byte
/// is enough, because neither JSON nor YAML can begin with that of gzip.
fn is_encoded(first: u8, encoding: Encoding) -> Result<(), ApiError> {
    let detail = match (encoding, first == 0x1f) {
        (Encoding::Gzip, false) => "Content-Encoding is gzip, but the body is not",
        (Encoding::Identity, true) => "the body is gzip, but Content-Encoding is not",
        (Encoding::Gzip, true) | (Encoding::Identity, false) => return Ok(()),
    };
    Err(ApiError::new(ProblemKind::MalformedBody, detail))
}

impl Read for BodyReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.ended {
            match self.from.blocking_recv() {
                Some(Piece::Data(bytes)) => {
                    if let (0, Some(first)) = (self.bytes, bytes.first()) {
                        is_encoded(*first, self.encoding).map_err(|e| self.fail(e))?;
                    }
                    self.current = bytes;
                }
                Some(Piece::End) => self.ended = true,
                Some(Piece::Failed(e)) => return Err(self.fail(e)),
                None => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        let n = buf.len().min(self.current.len());
        self.current.copy_to_slice(&mut buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
}

/// The work of the blocking thread.
struct ClusterJob {
    app: Arc<RestApp>,
    params: Params,
    format: Format,
    encoding: Encoding,
    account: ObjectMemory,
    /// Whether nobody waits any more for what is read.
    interrupt: Arc<AtomicBool>,
    /// The lines of the response; `None` is the end of a complete one.
    lines: mpsc::Sender<Option<Bytes>>,
}

impl ClusterJob {
    fn run(self, from: mpsc::Receiver<Piece>, head: oneshot::Sender<Result<(), ApiError>>, runtime: &Handle) {
        let deadline = Instant::now() + self.app.limits.cluster_request;
        let (inventory, bytes) = match self.read(from) {
            Ok(read) => read,
            Err(e) => {
                // The receiver is gone if the request timed out.
                let _ = head.send(Err(e));
                return;
            }
        };
        let index = inventory.index();
        let checked = check_candidates(&index);
        let is_refused = checked.is_err();
        if head.send(checked).is_err() || is_refused {
            return;
        }
        let options = self.params.over(Options::default());
        let controllers = self.params.controllers.as_deref().unwrap_or(&Controller::ALL);
        let send = |lines: Option<Bytes>| {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match runtime.block_on(async { timeout(left, self.lines.send(lines)).await }) {
                Ok(Ok(())) => Ok(()),
                _ => Err(Unanswered::ClientClosed),
            }
        };
        let longest = MAX_CLUSTER_ANSWER.saturating_add(bytes.saturating_mul(ANSWER_PER_BYTE));
        let mut left = longest;
        let done = plan_all(&index, controllers, &options, all_cores(), |lines| {
            left = left.checked_sub(lines.len() as u64).ok_or(Unanswered::TooLong)?;
            send(Some(Bytes::copy_from_slice(lines)))
        });
        match done {
            Ok(summary) => {
                let planned = summary.services + summary.orphans;
                self.app.metrics.planned_many(planned - summary.changed.min(planned), summary.changed);
                let _ = send(None);
            }
            Err(Unanswered::TooLong) => {
                let _ = send(Some(truncated(longest))).and_then(|()| send(None));
            }
            Err(Unanswered::ClientClosed) => {
                tracing::warn!("the client read too slowly, or closed the connection, while a cluster was answered");
            }
        }
    }

    /// The objects of the body, and its length in bytes.
    fn read(&self, from: mpsc::Receiver<Piece>) -> Result<(Inventory, u64), ApiError> {
        let failed = Arc::new(Mutex::new(None));
        let (encoding, current) = (self.encoding, Bytes::new());
        let mut body = BodyReader { from, current, ended: false, encoding, failed: failed.clone(), bytes: 0 };
        let limits = &self.app.limits;
        let max_bytes = match self.format {
            Format::Yaml => limits.cluster_body.min(limits.call().body_in(Format::Yaml) as u64),
            _ => limits.cluster_body,
        };
        let source = Source {
            format: self.format.input(),
            max_bytes: Some(max_bytes),
            max_memory: self.app.limits.cluster_objects,
            account: Some(&self.account),
            interrupt: Interrupt::when(&self.interrupt),
            defaults: self.params.defaults(),
            ..Source::body()
        };
        let mut inventory = Inventory::default();
        let read = decode::read(&mut body, &source, &mut inventory);
        self.app.metrics.body_bytes.inc_by(body.bytes);
        let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (failed, read) {
            (Some(e), _) => Err(e),
            (None, Err(e)) => Err(decode_error(&e).into()),
            (None, Ok(())) if body.bytes == 0 => Err(ApiError::new(ProblemKind::MalformedBody, "the body is empty")),
            (None, Ok(())) if inventory.is_empty() && !inventory.problems.is_empty() => {
                let detail = "none of the objects can be read";
                let errors = errors(inventory.problems.iter());
                Err(Problem { errors, ..Problem::new(ProblemKind::InvalidObject, detail) }.into())
            }
            (None, Ok(())) => {
                inventory.report_wrong_fields(false);
                inventory.label_pods(&source.defaults);
                inventory.assume_pods(&source.defaults, &[], MAX_ASSUMED_PODS);
                Ok((inventory, body.bytes))
            }
        }
    }
}

/// Why a response ends before its summary.
enum Unanswered {
    /// The client does not read it any more.
    ClientClosed,
    /// It would be longer than it may be.
    TooLong,
}

/// Refuses Services that select the same pods again and again: the answer has them for each Service.
fn check_candidates(index: &Index<'_>) -> Result<(), ApiError> {
    let objects = index.entries().len() + index.pods();
    let most = MAX_CANDIDATES.saturating_add(CANDIDATES_PER_OBJECT.saturating_mul(objects));
    let candidates = index.candidates();
    if candidates <= most {
        return Ok(());
    }
    let detail = format!(
        "the Services select from {candidates} pods, counted for each Service; {most} are allowed for {objects} Services \
         and pods: post fewer Services at a time"
    );
    Err(ApiError::new(ProblemKind::TooLarge, detail))
}

/// The last line of a response that would be longer than it may be.
fn truncated(longest: u64) -> Bytes {
    let why = format!("the response would have more than {longest} bytes: post fewer Services at a time");
    format!("{}\n", serde_json::json!({ "truncated": why })).into()
}

/// The response as a stream. It ends with an error where the thread did not report the end, so that the client sees a
/// broken connection and not a short response.
fn lines(from: mpsc::Receiver<Option<Bytes>>) -> impl futures::Stream<Item = io::Result<Bytes>> {
    futures::stream::unfold(Some(from), |from| async {
        let mut from = from?;
        match from.recv().await {
            Some(Some(lines)) => Some((Ok(lines), Some(from))),
            Some(None) => None,
            None => Some((Err(io::ErrorKind::BrokenPipe.into()), None)),
        }
    })
}
