//! `EndpointSlice` in `discovery.k8s.io` v1beta1 ↔ v1, on raw JSON.
//!
//! Upstream: `pkg/apis/discovery/v1beta1/conversion.go`. In v1beta1, the map `topology` says where an endpoint is. In
//! v1, `zone` does, and the rest of the map is kept as `deprecatedTopology`. All other fields are the same.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    json::raw::{JsonMembers, JsonNode},
    names,
};

/// A version of `discovery.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceVersion {
    /// `discovery.k8s.io/v1`, since 1.21.
    V1,
    /// `discovery.k8s.io/v1beta1`, up to 1.24.
    V1beta1,
}

impl SliceVersion {
    /// The `apiVersion`, such as `discovery.k8s.io/v1`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "discovery.k8s.io/v1",
            Self::V1beta1 => "discovery.k8s.io/v1beta1",
        }
    }

    fn of(api_version: &str) -> Option<Self> {
        [Self::V1, Self::V1beta1].into_iter().find(|v| v.api_version() == api_version)
    }
}

/// Receives each field that a conversion loses, and why.
pub(crate) type ReportLoss<'l> = dyn FnMut(String, &str) + 'l;

/// Converts a slice to version `to`. A slice that has this version already is returned unchanged.
pub fn convert<'a>(
    raw: &'a RawValue,
    to: SliceVersion,
    report_loss: &mut ReportLoss<'_>,
) -> Result<Cow<'a, RawValue>, String> {
    let mut slice = JsonMembers::read(raw).map_err(|e| e.to_string())?;
    let given = slice.text("apiVersion");
    let from = SliceVersion::of(&given).ok_or_else(|| {
        let given: String = given.chars().take(80).collect();
        format!("apiVersion {given:?} is neither discovery.k8s.io/v1 nor discovery.k8s.io/v1beta1")
    })?;
    if from == to {
        return Ok(Cow::Borrowed(raw));
    }
    if let Some(JsonNode::Raw(list)) = slice.get("endpoints").filter(|e| !e.is_null()).cloned() {
        let list: Vec<&RawValue> =
            serde_json::from_str(list.get()).map_err(|_| "endpoints is not a list".to_owned())?;
        let mut out = Vec::with_capacity(list.len());
        for (index, endpoint) in list.into_iter().enumerate() {
            let members = JsonMembers::read(endpoint).map_err(|_| format!("endpoints[{index}] is not an object"))?;
            let mut endpoint = ConvertedEndpoint { index, members, report_loss: &mut *report_loss };
            match to {
                SliceVersion::V1 => endpoint.upgrade()?,
                SliceVersion::V1beta1 => endpoint.downgrade()?,
            }
            out.push(JsonNode::Object(endpoint.members));
        }
        slice.set("endpoints", JsonNode::List(out));
    }
    slice.set("apiVersion", JsonNode::Text(to.api_version().into()));
    Ok(Cow::Owned(slice.to_raw()))
}

/// An endpoint on its way from one version to the other.
struct ConvertedEndpoint<'a, 'l, 'f> {
    index: usize,
    members: JsonMembers<'a>,
    report_loss: &'l mut ReportLoss<'f>,
}

impl<'a> ConvertedEndpoint<'a, '_, '_> {
    /// `Convert_v1beta1_Endpoint_To_discovery_Endpoint`.
    fn upgrade(&mut self) -> Result<(), String> {
        for name in ["zone", "deprecatedTopology"] {
            self.drop_foreign(name, "v1beta1");
        }
        let Some(mut topology) = self.take_map("topology")? else { return Ok(()) };
        if let Some(zone) = topology.take(names::ZONE) {
            self.members.set("zone", zone);
        }
        let node = self.text("nodeName")?;
        if node.is_some() && topology.get(names::HOSTNAME).and_then(JsonNode::text) == node {
            topology.take(names::HOSTNAME);
        }
        if !topology.is_empty() {
            self.members.set("deprecatedTopology", JsonNode::Object(topology));
            self.lose("topology", "it becomes deprecatedTopology, which API servers drop from objects written as v1");
        }
        Ok(())
    }

    /// `Convert_discovery_Endpoint_To_v1beta1_Endpoint`.
    fn downgrade(&mut self) -> Result<(), String> {
        self.drop_foreign("topology", "v1");
        let mut topology = self.take_map("deprecatedTopology")?.unwrap_or_default();
        let zone = self.text("zone")?;
        self.members.take("zone");
        if let Some(zone) = zone {
            let before = topology.get(names::ZONE).and_then(JsonNode::text);
            if before.is_some_and(|b| b != zone) {
                self.lose("deprecatedTopology", "the field zone replaces its zone");
            }
            topology.set(names::ZONE, JsonNode::Text(zone));
        }
        if let Some(node) = self.text("nodeName")?
            && topology.text(names::HOSTNAME).is_empty()
        {
            topology.set(names::HOSTNAME, JsonNode::Text(node));
        }
        if !topology.is_empty() {
            self.members.set("topology", JsonNode::Object(topology));
        }
        Ok(())
    }

    fn lose(&mut self, field: &str, why: &str) {
        (self.report_loss)(format!("endpoints[{}].{field}", self.index), why);
    }

    /// Removes a field that the version of the object does not have, as an API server does.
    fn drop_foreign(&mut self, name: &str, version: &str) {
        if self.members.take(name).is_some_and(|v| !v.is_null()) {
            self.lose(name, &format!("{version} does not have the field {name}"));
        }
    }

    /// Removes a map of strings and returns it.
    fn take_map(&mut self, name: &str) -> Result<Option<JsonMembers<'a>>, String> {
        let Some(node) = self.members.take(name).filter(|n| !n.is_null()) else { return Ok(None) };
        let map = node.open().ok_or_else(|| format!("endpoints[{}].{name} is not an object", self.index))?;
        let bad = map.iter().find(|(_, value)| value.text().is_none());
        match bad {
            Some((key, _)) => Err(format!("endpoints[{}].{name}[{key:?}] is not a string", self.index)),
            None => Ok(Some(map)),
        }
    }

    /// The value of a string field.
    fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, String> {
        let Some(node) = self.members.get(name).filter(|n| !n.is_null()) else { return Ok(None) };
        node.text().map(Some).ok_or_else(|| format!("endpoints[{}].{name} is not a string", self.index))
    }
}
