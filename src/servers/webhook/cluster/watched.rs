//! An object of a watch: its metadata for kube's watcher, and the slim view that is kept.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// `K` says which resource it is, `T` what is kept of it.
#[derive(Debug)]
pub(super) struct Watched<K, T> {
    pub(super) metadata: ObjectMeta,
    pub(super) view: T,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K, T: Clone> Clone for Watched<K, T> {
    fn clone(&self) -> Self {
        Self { metadata: self.metadata.clone(), view: self.view.clone(), kind: self.kind }
    }
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
    annotations: Bookmark,
}

/// The one annotation that counts: it ends the first part of a streamed list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Bookmark {
    #[serde(rename = "k8s.io/initial-events-end")]
    end: Option<String>,
}

impl<'de, K, T: DeserializeOwned> Deserialize<'de> for Watched<K, T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(d)?.get();
        let Head { metadata } = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        let view = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        let annotations = metadata.annotations.end.map(|end| [("k8s.io/initial-events-end".to_owned(), end)].into());
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            annotations,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, view, kind: std::marker::PhantomData })
    }
}

impl<K: Resource<DynamicType = ()>, T> Resource for Watched<K, T> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(d: &()) -> Cow<'_, str> {
        K::kind(d)
    }

    fn group(d: &()) -> Cow<'_, str> {
        K::group(d)
    }

    fn version(d: &()) -> Cow<'_, str> {
        K::version(d)
    }

    fn plural(d: &()) -> Cow<'_, str> {
        K::plural(d)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
