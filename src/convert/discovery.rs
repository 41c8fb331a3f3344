//! `discovery.k8s.io` v1beta1 ↔ v1: where an endpoint is.
//!
//! Upstream: `pkg/apis/discovery/v1beta1/conversion.go`. v1beta1 has a map `topology`; v1 has `zone`, and keeps what
//! else was in the map as `deprecatedTopology`. All other fields are the same.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    lost::Losses,
    raw::{Members, Node},
};
use crate::model::names;

/// A version of `EndpointSlice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// `discovery.k8s.io/v1`, since 1.21.
    V1,
    /// `discovery.k8s.io/v1beta1`, up to 1.24.
    V1beta1,
}

impl Discovery {
    /// `discovery.k8s.io/v1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "discovery.k8s.io/v1",
            Self::V1beta1 => "discovery.k8s.io/v1beta1",
        }
    }

    fn of(api_version: &str) -> Option<Self> {
        [Self::V1, Self::V1beta1].into_iter().find(|v| v.api_version() == api_version)
    }
}

/// The key of `topology` that names the node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The slice in `to`. One that is in that version already comes back as it is.
pub(super) fn convert<'a>(raw: &'a RawValue, to: Discovery, losses: &mut Losses) -> Result<Cow<'a, RawValue>, String> {
    let mut slice = Members::read(raw).map_err(|e| e.to_string())?;
    let given = slice.text("apiVersion");
    let from = Discovery::of(&given).ok_or_else(|| {
        let given: String = given.chars().take(80).collect();
        format!("apiVersion {given:?} is neither discovery.k8s.io/v1 nor discovery.k8s.io/v1beta1")
    })?;
    if from == to {
        return Ok(Cow::Borrowed(raw));
    }
    if let Some(Node::Raw(list)) = slice.get("endpoints").filter(|e| !e.is_null()).cloned() {
        let list: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| "endpoints is no list".to_owned())?;
        let mut out = Vec::with_capacity(list.len());
        for (i, endpoint) in list.into_iter().enumerate() {
            let mut endpoint = Members::read(endpoint).map_err(|_| format!("endpoints[{i}] is no object"))?;
            let place = Place { index: i, losses: &mut *losses };
            match to {
                Discovery::V1 => to_v1(&mut endpoint, place)?,
                Discovery::V1beta1 => to_v1beta1(&mut endpoint, place)?,
            }
            out.push(Node::Object(endpoint));
        }
        slice.set("endpoints", Node::List(out));
    }
    slice.set("apiVersion", Node::Text(to.api_version().into()));
    Ok(Cow::Owned(slice.to_raw()))
}

/// An endpoint, for messages.
struct Place<'l> {
    index: usize,
    losses: &'l mut Losses,
}

impl Place<'_> {
    fn lose(&mut self, field: &str, why: &str) {
        self.losses.note(format!("endpoints[{}].{field}", self.index), why);
    }

    /// Removes a field that the version of the object does not have, as an API server would have done.
    fn drop_foreign(&mut self, endpoint: &mut Members<'_>, name: &str, version: &str) {
        if endpoint.take(name).is_some_and(|v| !v.is_null()) {
            self.lose(name, &format!("{version} has no field {name}"));
        }
    }

    /// A map of text, if it is there.
    fn map<'a>(&self, endpoint: &mut Members<'a>, name: &str) -> Result<Option<Members<'a>>, String> {
        let Some(node) = endpoint.take(name).filter(|n| !n.is_null()) else { return Ok(None) };
        let map = node.open().ok_or_else(|| format!("endpoints[{}].{name} is no object", self.index))?;
        let bad = map.iter().find(|(_, value)| value.text().is_none());
        match bad {
            Some((key, _)) => Err(format!("endpoints[{}].{name}[{key:?}] is no text", self.index)),
            None => Ok(Some(map)),
        }
    }

    /// A text, if it is there.
    fn text<'a>(&self, endpoint: &Members<'a>, name: &str) -> Result<Option<Cow<'a, str>>, String> {
        let Some(node) = endpoint.get(name).filter(|n| !n.is_null()) else { return Ok(None) };
        node.text().map(Some).ok_or_else(|| format!("endpoints[{}].{name} is no text", self.index))
    }
}

/// `Convert_v1beta1_Endpoint_To_discovery_Endpoint`.
fn to_v1(endpoint: &mut Members<'_>, mut place: Place<'_>) -> Result<(), String> {
    for name in ["zone", "deprecatedTopology"] {
        place.drop_foreign(endpoint, name, "v1beta1");
    }
    let Some(mut topology) = place.map(endpoint, "topology")? else { return Ok(()) };
    if let Some(zone) = topology.take(names::ZONE) {
        endpoint.set("zone", zone);
    }
    let node = place.text(endpoint, "nodeName")?;
    if node.is_some() && topology.get(HOSTNAME).and_then(Node::text) == node {
        topology.take(HOSTNAME);
    }
    if !topology.is_empty() {
        endpoint.set("deprecatedTopology", Node::Object(topology));
        place.lose("topology", "it is kept as deprecatedTopology, which API servers drop from what is written as v1");
    }
    Ok(())
}

/// `Convert_discovery_Endpoint_To_v1beta1_Endpoint`.
fn to_v1beta1(endpoint: &mut Members<'_>, mut place: Place<'_>) -> Result<(), String> {
    place.drop_foreign(endpoint, "topology", "v1");
    let mut topology = place.map(endpoint, "deprecatedTopology")?.unwrap_or_default();
    let zone = place.text(endpoint, "zone")?;
    endpoint.take("zone");
    if let Some(zone) = zone {
        let before = topology.get(names::ZONE).and_then(Node::text);
        if before.is_some_and(|b| b != zone) {
            place.lose("deprecatedTopology", "its zone gives way to the field zone");
        }
        topology.set(names::ZONE, Node::Text(zone));
    }
    if let Some(node) = place.text(endpoint, "nodeName")?
        && topology.text(HOSTNAME).is_empty()
    {
        topology.set(HOSTNAME, Node::Text(node));
    }
    if !topology.is_empty() {
        endpoint.set("topology", Node::Object(topology));
    }
    Ok(())
}
