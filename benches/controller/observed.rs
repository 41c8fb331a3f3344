//! What the watches of slices and of Endpoints show: whether the Services are as their pods, and when a flip was published.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use anyhow::Result;
use serde::Deserialize;

/// The Service of a number, and its pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) services: usize,
    /// Pods of each Service.
    pub(crate) pods: usize,
}

impl Size {
    pub(crate) fn all_pods(self) -> usize {
        self.services * self.pods
    }
}

pub(crate) fn service_name(number: usize) -> String {
    format!("s-{number}")
}

pub(crate) fn pod_name(number: usize) -> String {
    format!("p-{number}")
}

fn number(name: &str) -> Option<usize> {
    name.split_once('-')?.1.parse().ok()
}

/// The readiness of a pod was changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flip {
    pub(crate) ready: bool,
    pub(crate) sent: Instant,
    pub(crate) answered: Option<Instant>,
    /// When a slice showed it.
    pub(crate) published: Option<Instant>,
}

/// What was seen until now.
pub(crate) struct Observed(Mutex<Seen>);

pub(crate) struct Seen {
    size: Size,
    /// The ready endpoints of each slice, by its Service and name.
    slices: Vec<HashMap<String, usize>>,
    /// The addresses of the Endpoints of each Service.
    endpoints: Vec<usize>,
    pub(crate) flips: Vec<Flip>,
    /// The flips that no slice has shown, by pod.
    pending: HashMap<usize, usize>,
    /// The last number of the slice that is written by the bare client.
    pub(crate) bare: Option<(usize, Instant)>,
    pub(crate) last_slice: Instant,
}

#[derive(Deserialize)]
struct Event<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    object: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    name: &'a str,
    resource_version: String,
    #[serde(default, borrow)]
    labels: HashMap<&'a str, &'a str>,
    #[serde(default)]
    annotations: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Slice<'a> {
    #[serde(borrow)]
    metadata: Meta<'a>,
    #[serde(default, borrow)]
    endpoints: Option<Vec<Endpoint<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint<'a> {
    conditions: Conditions,
    #[serde(borrow)]
    target_ref: Option<Target<'a>>,
}

#[derive(Deserialize)]
struct Conditions {
    ready: Option<bool>,
}

#[derive(Deserialize)]
struct Target<'a> {
    name: &'a str,
}

#[derive(Deserialize)]
struct Endpoints<'a> {
    #[serde(borrow)]
    metadata: Meta<'a>,
    #[serde(default)]
    subsets: Vec<Subset>,
}

#[derive(Deserialize)]
struct Subset {
    #[serde(default)]
    addresses: Vec<serde::de::IgnoredAny>,
}

impl Observed {
    pub(crate) fn new(size: Size) -> Self {
        Self(Mutex::new(Seen {
            size,
            slices: vec![HashMap::new(); size.services],
            endpoints: vec![0; size.services],
            flips: Vec::new(),
            pending: HashMap::new(),
            bare: None,
            last_slice: Instant::now(),
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event of slices.
    pub(crate) fn slice(&self, event: &[u8]) -> Result<String> {
        let now = Instant::now();
        let Event { kind, object } = serde_json::from_slice::<Event<'_, Slice<'_>>>(event)?;
        let Meta { name, resource_version, labels, annotations } = object.metadata;
        let mut seen = self.lock();
        if let Some(written) = annotations.get("bare").and_then(|written| written.parse().ok()) {
            seen.bare = Some((written, now));
            return Ok(resource_version);
        }
        let Some(service) = labels.get("kubernetes.io/service-name").and_then(|service| number(service)) else {
            return Ok(resource_version);
        };
        let endpoints = object.endpoints.unwrap_or_default();
        let is_ready = |endpoint: &Endpoint<'_>| endpoint.conditions.ready == Some(true);
        let ready = if kind == "DELETED" { 0 } else { endpoints.iter().filter(|e| is_ready(e)).count() };
        if let Some(slices) = seen.slices.get_mut(service) {
            slices.insert(name.to_owned(), ready);
        }
        seen.last_slice = now;
        for endpoint in &endpoints {
            let Some(pod) = endpoint.target_ref.as_ref().and_then(|target| number(target.name)) else { continue };
            let Some(at) = seen.pending.get(&pod).copied() else { continue };
            if seen.flips[at].ready == is_ready(endpoint) {
                seen.flips[at].published = Some(now);
                seen.pending.remove(&pod);
            }
        }
        Ok(resource_version)
    }

    /// An event of Endpoints.
    pub(crate) fn endpoints(&self, event: &[u8]) -> Result<String> {
        let Event { kind, object } = serde_json::from_slice::<Event<'_, Endpoints<'_>>>(event)?;
        let ready = if kind == "DELETED" { 0 } else { object.subsets.iter().map(|s| s.addresses.len()).sum() };
        let mut seen = self.lock();
        if let Some(held) = number(object.metadata.name).and_then(|service| seen.endpoints.get_mut(service)) {
            *held = ready;
        }
        Ok(object.metadata.resource_version)
    }
}

impl Seen {
    /// Of how many Services not all pods are in slices and in Endpoints.
    pub(crate) fn incomplete(&self) -> [usize; 2] {
        let wanted = self.size.pods;
        let slices = self.slices.iter().filter(|slices| slices.values().sum::<usize>() != wanted).count();
        [slices, self.endpoints.iter().filter(|ready| **ready != wanted).count()]
    }

    /// Whether a flip of this pod was not published yet.
    pub(crate) fn is_pending(&self, pod: usize) -> bool {
        self.pending.contains_key(&pod)
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Begins a flip. Returns its number.
    pub(crate) fn flip(&mut self, pod: usize, ready: bool) -> usize {
        let number = self.flips.len();
        self.flips.push(Flip { ready, sent: Instant::now(), answered: None, published: None });
        self.pending.insert(pod, number);
        number
    }
}
