//! An object of a watch: its metadata for kube's watcher, and its text.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicResourceScope;
use roster_engine::model::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object of any resource as a watch reads it. What is used of it, its sink reads from the text, so that kube's watcher
/// is compiled once.
#[derive(Clone, Debug)]
pub(crate) struct WatchedObject {
    metadata: ObjectMeta,
    pub(super) text: Box<str>,
}

/// What kube's watcher needs of the metadata. Annotations and managed fields are most of an object, and are skipped.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    annotations: Option<Bookmark>,
}

/// The only annotation that is read: it ends the first part of a streamed list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Bookmark {
    #[serde(rename = "k8s.io/initial-events-end")]
    end: Option<String>,
}

impl<'de> Deserialize<'de> for WatchedObject {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(d)?.get();
        let Head { metadata } = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        let annotations = metadata
            .annotations
            .and_then(|all| all.end)
            .map(|end| [("k8s.io/initial-events-end".to_owned(), end)].into());
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            annotations,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, text: text.into() })
    }
}

impl kube::Resource for WatchedObject {
    type DynamicType = Resource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &Resource) -> Cow<'_, str> {
        resource.kind().into()
    }

    fn group(resource: &Resource) -> Cow<'_, str> {
        resource.group().into()
    }

    fn version(resource: &Resource) -> Cow<'_, str> {
        resource.version().into()
    }

    fn plural(resource: &Resource) -> Cow<'_, str> {
        resource.plural().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
