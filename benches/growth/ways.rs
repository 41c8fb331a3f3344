//! The ways in: what an input is given to, and whether it took the way that was meant.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header::CONTENT_TYPE},
};
use roster::{
    runtime::net::Health,
    servers::{
        controller::WatchedCopy,
        edge::{EdgeScheme, WatchedNode},
        rest::{self, RestApp, RestLimits},
        webhook::{self, AdmissionMetrics, FailureMode, SettingsSource, Webhook, WebhookLimits},
    },
};
use roster_admission::{AdmissionRequest, Mode, Rule, Settings, policy::Policies};
use roster_engine::model::{EndpointSlice, Node, Pod, Service};
use roster_manifests::{
    decode,
    inventory::{Answers, NamespaceRow, Sink, Store, Stored},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::sizes::Input;

/// Longer than anything takes, however slowly valgrind runs it.
const FOREVER: Duration = Duration::from_hours(24);
/// The node whose proxy it is.
const NODE: &str = "node-0";

/// An input that is ready to be given to its way in.
pub(crate) enum Work {
    /// A request for a router, and the statuses that mean that it took its way.
    Post {
        router: Router,
        path: String,
        content_type: &'static str,
        body: String,
    },
    Copy {
        store: Arc<Store>,
        events: Vec<(String, Box<RawValue>)>,
    },
    Edge {
        node: WatchedNode,
        events: Vec<(String, Box<RawValue>)>,
    },
    Controller {
        copy: WatchedCopy,
        events: Vec<(String, Box<RawValue>)>,
    },
}

impl Work {
    /// Reads what is known already. Nothing of this is measured.
    pub(crate) fn prepare(ways: &Ways, input: Input) -> Result<Self> {
        let (name, rest) = input.way.split_once(' ').unwrap_or((&input.way, ""));
        Ok(match name {
            "post" | "post/json" => Self::post(ways.rest.clone(), rest, "application/json", input.body),
            "post/yaml" => Self::post(ways.rest.clone(), rest, "application/yaml", input.body),
            "post/ndjson" => Self::post(ways.rest.clone(), rest, "application/x-ndjson", input.body),
            "validate" | "mutate" | "convert" => {
                let path = format!("/{name}?timeout=24h");
                let router = webhook_router(&input).context("what the webhook knows")?;
                Self::post(router, &path, "application/json", input.body)
            }
            "copy" => Self::Copy { store: filled_store(&input.stored)?, events: kinds(&input.body)? },
            "edge" => {
                let scheme = match rest {
                    "superedge" => EdgeScheme::SuperEdge,
                    "openyurt" => EdgeScheme::OpenYurt,
                    _ => EdgeScheme::KubeProxy,
                };
                let mut node = WatchedNode::new(NODE, scheme);
                node.list(&texts(&kinds(&input.stored)?))?;
                Self::Edge { node, events: kinds(&input.body)? }
            }
            "controller" => {
                let copy = WatchedCopy::default();
                copy.list(&texts(&kinds(&input.stored)?))?;
                copy.settle();
                Self::Controller { copy, events: kinds(&input.body)? }
            }
            other => bail!("there is no way in {other}"),
        })
    }

    fn post(router: Router, path: &str, content_type: &'static str, body: String) -> Self {
        Self::Post { router, path: path.to_owned(), content_type, body }
    }

    /// Gives the input to its way in. Returns the length of the answer.
    pub(crate) fn run(self, ways: &Ways) -> Result<usize> {
        match self {
            Self::Post { router, path, content_type, body } => {
                let request = Request::post(&path).header(CONTENT_TYPE, content_type).body(Body::from(body))?;
                let (status, answer) = ways.runtime.block_on(async {
                    let response = router.oneshot(request).await?;
                    let status = response.status();
                    Ok::<_, anyhow::Error>((status, to_bytes(response.into_body(), usize::MAX).await?))
                })?;
                let shown = || String::from_utf8_lossy(&answer[..answer.len().min(600)]).into_owned();
                ensure!(status == StatusCode::OK, "{path} answered {status}: {}", shown());
                // An API server takes this for a failure of the webhook.
                ensure!(!answer.starts_with(br#"{"kind":"Status""#), "{path} answered {}", shown());
                // The page lists so many rows and not more: what it does with its input is not for the answer.
                Ok(if path == "/v1/page" { 0 } else { answer.len() })
            }
            Self::Copy { store, events } => {
                for (kind, text) in &events {
                    let text = text.get();
                    match kind.as_str() {
                        "Pod" => change::<Pod>(&store, decode::object, text)?,
                        "Service" => change::<Service>(&store, decode::object, text)?,
                        "Node" => change::<Node>(&store, decode::object, text)?,
                        "EndpointSlice" => change::<EndpointSlice>(&store, decode::object, text)?,
                        "Namespace" => change::<NamespaceRow>(&store, decode::object, text)?,
                        other => bail!("the webhook does not watch {other}"),
                    }
                }
                Ok(events.len())
            }
            Self::Edge { mut node, events } => {
                for (kind, text) in &events {
                    node.take(kind, text.get(), false)?;
                }
                node.settle();
                let listed = node.listed("EndpointSlice");
                for (kind, text) in &events {
                    node.take(kind, text.get(), true)?;
                }
                node.settle();
                Ok(listed)
            }
            Self::Controller { copy, events } => {
                let mut differences = 0;
                for _ in 0..2 {
                    for (kind, text) in &events {
                        copy.take(kind, text.get())?;
                    }
                    differences += copy.settle();
                }
                Ok(differences)
            }
        }
    }
}

/// The object appears, and appears again as it was.
fn change<T: Stored>(store: &Arc<Store>, read: fn(&str) -> serde_json::Result<T>, text: &str) -> Result<()> {
    let mut sink = store.sink(read);
    let row = sink.row(text)?;
    sink.apply(row);
    let row = sink.row(text)?;
    sink.apply(row);
    Ok(())
}

/// What is made once: a router, and threads.
pub(crate) struct Ways {
    runtime: Runtime,
    rest: Router,
}

impl Ways {
    pub(crate) fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { runtime, rest: rest_router() })
    }
}

fn rest_router() -> Router {
    let limits = RestLimits { request: FOREVER, cluster_request: FOREVER, body_rate: 1, ..RestLimits::default() };
    rest::router(RestApp::new(RestLimits { threads: 1, ..limits }, Health::default()))
}

/// The webhook, with a copy of the cluster and policies.
fn webhook_router(input: &Input) -> Result<Router> {
    let policies: Vec<Box<RawValue>> =
        if input.policies.is_empty() { Vec::new() } else { serde_json::from_str(&input.policies)? };
    let (policies, problems) = Policies::read(policies.iter().map(AsRef::as_ref));
    ensure!(problems.is_empty(), "a policy is refused: {problems:?}");
    let mut enforced = Settings::default();
    for rule in Rule::ALL {
        enforced.set(*rule, Mode::Enforce);
    }
    let (enforced, is_bare) = (Arc::new(enforced), policies.is_empty());
    let settings = move |request: &AdmissionRequest<'_>| {
        if is_bare { enforced.clone() } else { policies.settings_of(request, None.into()) }
    };
    let settings: Arc<dyn SettingsSource> = Arc::new(settings);
    let store = filled_store(&input.stored)?;
    let limits = WebhookLimits { request: FOREVER, body_pace: 1, large: 1, ..WebhookLimits::default() };
    let health = Health::default();
    let webhook = Webhook::new(
        Arc::new(Answers(store)),
        settings,
        AdmissionMetrics::default(),
        limits,
        FailureMode::Policy,
        &health,
    );
    Ok(webhook::router(webhook))
}

/// A copy of the cluster that knows these objects.
fn filled_store(stored: &str) -> Result<Arc<Store>> {
    let objects = kinds(stored)?;
    let store = Store::new();
    store.fill::<Pod>(of_kind(&objects, "Pod")?);
    store.fill::<Service>(of_kind(&objects, "Service")?);
    store.fill::<Node>(of_kind(&objects, "Node")?);
    store.fill::<EndpointSlice>(of_kind(&objects, "EndpointSlice")?);
    store.fill::<NamespaceRow>(of_kind(&objects, "Namespace")?);
    Ok(Arc::new(store))
}

fn of_kind<T: serde::de::DeserializeOwned>(objects: &[(String, Box<RawValue>)], kind: &str) -> Result<Vec<T>> {
    let of_kind = objects.iter().filter(|(of, _)| of == kind);
    of_kind.map(|(_, text)| Ok(serde_json::from_str(text.get())?)).collect()
}

/// The objects of a list, each with its kind.
fn kinds(list: &str) -> Result<Vec<(String, Box<RawValue>)>> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let objects: Vec<Box<RawValue>> = serde_json::from_str(list)?;
    objects.into_iter().map(|raw| Ok((serde_json::from_str::<Kind>(raw.get())?.kind, raw))).collect()
}

fn texts(objects: &[(String, Box<RawValue>)]) -> Vec<(&str, &str)> {
    objects.iter().map(|(kind, text)| (kind.as_str(), text.get())).collect()
}
