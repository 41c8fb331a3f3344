//! The kind of an object, without parsing it.

use std::borrow::Cow;

use roster_engine::model::{Resource, Text, slice_version::SliceVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

/// `apiVersion` and `kind` of an object; empty where they are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeMeta {
    pub(super) api_version: Text,
    pub(super) kind: Text,
}

/// The longest `apiVersion` and `kind` together, in bytes, that items take from their list: each takes a copy. API servers have none
/// of more than 253 and 63 characters.
const LONGEST: usize = 512;

/// The kinds that the decoder treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputKind {
    Service,
    Pod,
    Node,
    Endpoints,
    EndpointSlice,
    /// `discovery.k8s.io/v1beta1`, which has `topology`.
    EndpointSliceBeta,
    /// A kind of workload.
    Workload(Resource),
    /// `autoscaling`, of any version: the fields that are read are the same in all.
    Autoscaler,
    /// `NodePool` of OpenYurt, of any version.
    NodePool,
    /// Holds objects in `items`.
    List,
    /// Not read.
    Other,
}

impl TypeMeta {
    pub(super) fn kind(&self) -> InputKind {
        match Resource::of(&self.api_version, &self.kind) {
            Some(Resource::Service) => InputKind::Service,
            Some(Resource::Pod) => InputKind::Pod,
            Some(Resource::Node) => InputKind::Node,
            Some(Resource::Endpoints) => InputKind::Endpoints,
            Some(Resource::EndpointSlice) => InputKind::EndpointSlice,
            Some(
                workload @ (Resource::Deployment
                | Resource::ReplicaSet
                | Resource::ReplicationController
                | Resource::StatefulSet
                | Resource::DaemonSet
                | Resource::Job
                | Resource::CronJob),
            ) => InputKind::Workload(workload),
            Some(Resource::HorizontalPodAutoscaler) => InputKind::Autoscaler,
            None if self.is_old_autoscaler() => InputKind::Autoscaler,
            // Its fields that are read are the same in all versions.
            Some(Resource::NodePool) => InputKind::NodePool,
            None if self.is_node_pool() => InputKind::NodePool,
            None if self.kind.ends_with("List") => InputKind::List,
            None if self.is_beta_slice() => InputKind::EndpointSliceBeta,
            Some(
                Resource::Namespace
                | Resource::EndpointPolicy
                | Resource::MutatingWebhookConfiguration
                | Resource::ValidatingWebhookConfiguration
                | Resource::CustomResourceDefinition
                | Resource::Secret
                | Resource::Lease
                | Resource::Event
                | Resource::Ingress
                | Resource::HTTPRoute,
            )
            | None => InputKind::Other,
        }
    }

    /// Whether it is the old version of a slice. The table of resources has one version of each.
    fn is_beta_slice(&self) -> bool {
        self.kind == Resource::EndpointSlice.kind() && self.api_version == SliceVersion::V1beta1.api_version()
    }

    /// Whether it is an older version of an autoscaler.
    fn is_old_autoscaler(&self) -> bool {
        self.kind == Resource::HorizontalPodAutoscaler.kind() && self.api_version.starts_with("autoscaling/")
    }

    /// Whether it is a pool of nodes of OpenYurt.
    fn is_node_pool(&self) -> bool {
        self.kind == "NodePool" && self.group() == "apps.openyurt.io"
    }

    /// Whether it is a custom resource: its group is a domain, and not one of Kubernetes'.
    pub(super) fn is_custom(&self) -> bool {
        let group = self.group();
        group.contains('.') && !group.ends_with(".k8s.io")
    }

    /// The API group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether both fields are present.
    pub(super) fn is_complete(&self) -> bool {
        !self.kind.is_empty() && !self.api_version.is_empty()
    }

    /// The type of the items of this list, if they do not name it: `v1 PodList` → `v1 Pod`; empty for a plain `List`, and for a
    /// type that no API server has.
    pub(super) fn of_items(&self) -> Self {
        match self.kind.strip_suffix("List") {
            Some(kind) if !kind.is_empty() && self.api_version.len() + kind.len() <= LONGEST => {
                Self { api_version: self.api_version.clone(), kind: kind.into() }
            }
            _ => Self::default(),
        }
    }

    /// The type of the object in `text`, which may be invalid.
    ///
    /// Printers write the two fields first. Only the first fields are read unless `complete` is set, which needs a second
    /// pass over the object.
    pub(super) fn of(text: &str, complete: bool) -> Self {
        let found = Self::at_start(text);
        if !complete || found.is_complete() {
            return found;
        }
        let Ok(probe) = serde_json::from_str::<TypeProbe<'_>>(text) else { return found };
        Self { api_version: text_of(probe.api_version), kind: text_of(probe.kind) }
    }

    /// Why the object in `text` has no kind: a field that is not a string hides the other one.
    pub(super) fn why_without_kind(text: &str) -> &'static str {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Fields<'a> {
            #[serde(borrow)]
            api_version: Option<&'a RawValue>,
            #[serde(borrow)]
            kind: Option<&'a RawValue>,
        }
        let Fields { api_version, kind } = serde_json::from_str(text).unwrap_or_default();
        let is_other = |field: Option<&RawValue>| field.is_some_and(|value| !value.get().starts_with('"'));
        match (is_other(api_version), is_other(kind)) {
            (true, _) => "apiVersion is not a string",
            (false, true) => "kind is not a string",
            (false, false) => "the field `kind` is missing",
        }
    }

    /// Reads `{"apiVersion":"v1","kind":"Pod"`, in either order.
    fn at_start(text: &str) -> Self {
        let mut found = Self::default();
        let mut rest = text.trim_start().strip_prefix('{').unwrap_or_default();
        while let Some((key, value, after)) = string_member(rest) {
            match key {
                "apiVersion" => found.api_version = value.into(),
                "kind" => found.kind = value.into(),
                _ => break,
            }
            let Some(next) = after.trim_start().strip_prefix(',') else { break };
            rest = next;
        }
        found
    }
}

/// Splits off `"key": "value"`, without escapes.
fn string_member(text: &str) -> Option<(&str, &str, &str)> {
    let (key, rest) = plain_string(text)?;
    let (value, rest) = plain_string(rest.trim_start().strip_prefix(':')?)?;
    Some((key, value, rest))
}

fn plain_string(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let end = memchr::memchr2(b'"', b'\\', text.as_bytes())?;
    (text.as_bytes()[end] == b'"').then(|| (&text[..end], &text[end + 1..]))
}

/// Reads the two fields and skips all others. The last of equal keys counts, which a derived struct would refuse.
#[derive(Default)]
struct TypeProbe<'a> {
    api_version: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
}

fn text_of(text: Option<Cow<'_, str>>) -> Text {
    text.map(Text::from).unwrap_or_default()
}

impl<'de> Deserialize<'de> for TypeProbe<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> serde::de::Visitor<'de> for Fields {
            type Value = TypeProbe<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<TypeProbe<'de>, A::Error> {
                #[derive(Deserialize)]
                struct Str<'a>(#[serde(borrow)] Cow<'a, str>);
                let mut probe = TypeProbe::default();
                while let Some(Str(key)) = map.next_key()? {
                    match &*key {
                        "apiVersion" => probe.api_version = map.next_value::<Option<Str<'de>>>()?.map(|s| s.0),
                        "kind" => probe.kind = map.next_value::<Option<Str<'de>>>()?.map(|s| s.0),
                        _ => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(probe)
            }
        }
        d.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_is_found_wherever_it_stands() {
        for (text, at_start, complete) in [
            (r#"{"apiVersion":"v1","kind":"Pod","x":{"kind":"y"}}"#, ("v1", "Pod"), ("v1", "Pod")),
            ("\n{ \"kind\" : \"Pod\" ,\n \"apiVersion\":\"v1\"", ("v1", "Pod"), ("v1", "Pod")),
            (r#"{"metadata":{"kind":"x"},"kind":"Pod"}"#, ("", ""), ("", "Pod")),
            (r#"{"kind":"P\u006fd","apiVersion":"v1"}"#, ("", ""), ("v1", "Pod")),
            (r#"{"x":1,"kind":"Pod","kind":"Node"}"#, ("", ""), ("", "Node")),
            (r#"{"kind":5}"#, ("", ""), ("", "")),
            ("[]", ("", ""), ("", "")),
            ("", ("", ""), ("", "")),
        ] {
            let pair = |m: &TypeMeta| (m.api_version.to_string(), m.kind.to_string());
            let owned = |p: (&str, &str)| (p.0.to_owned(), p.1.to_owned());
            assert_eq!(pair(&TypeMeta::of(text, false)), owned(at_start), "{text}");
            assert_eq!(pair(&TypeMeta::of(text, true)), owned(complete), "{text}");
        }
    }

    #[test]
    fn a_field_of_the_type_that_is_not_a_string_is_named() {
        for (text, want) in [
            (r#"{"apiVersion":1,"kind":"Pod"}"#, "apiVersion is not a string"),
            (r#"{"apiVersion":"v1","kind":["Pod"]}"#, "kind is not a string"),
            (r#"{"apiVersion":"v1","kind":null}"#, "the field `kind` is missing"),
            (r#"{"kind":1,"kind":2}"#, "the field `kind` is missing"),
            ("{}", "the field `kind` is missing"),
        ] {
            assert_eq!(TypeMeta::why_without_kind(text), want, "{text}");
        }
    }

    #[test]
    fn items_take_no_type_from_their_list_that_is_too_long() {
        for (length, want) in [(LONGEST - 3, "Pod"), (LONGEST - 2, "")] {
            let list = TypeMeta { api_version: "v".repeat(length).into(), kind: "PodList".into() };
            assert_eq!(list.of_items().kind, want, "{length}");
        }
    }

    #[test]
    fn groups_matter() {
        for (api_version, kind, want) in [
            ("v1", "Service", InputKind::Service),
            ("", "Service", InputKind::Service),
            ("serving.knative.dev/v1", "Service", InputKind::Other),
            ("metrics.k8s.io/v1beta1", "NodeMetrics", InputKind::Other),
            ("discovery.k8s.io/v1beta1", "EndpointSlice", InputKind::EndpointSliceBeta),
            ("discovery.k8s.io/v1beta1", "EndpointSliceList", InputKind::List),
            ("apps/v1", "Deployment", InputKind::Workload(Resource::Deployment)),
            ("apps/v1", "DeploymentList", InputKind::List),
            ("batch/v1", "CronJob", InputKind::Workload(Resource::CronJob)),
            ("batch.volcano.sh/v1alpha1", "Job", InputKind::Other),
            ("autoscaling/v1", "HorizontalPodAutoscaler", InputKind::Autoscaler),
            ("autoscaling/v2", "HorizontalPodAutoscaler", InputKind::Autoscaler),
            ("apps.openyurt.io/v1beta1", "NodePool", InputKind::NodePool),
            ("karpenter.sh/v1", "NodePool", InputKind::Other),
            ("v1", "List", InputKind::List),
            ("v1", "", InputKind::Other),
        ] {
            let meta = TypeMeta { api_version: api_version.into(), kind: kind.into() };
            assert_eq!(meta.kind(), want, "{api_version} {kind}");
        }
    }
}
