//! The pods of the own node, read from its kubelet or from a file.

use std::sync::Arc;

use anyhow::Context;
use axum::body::Bytes;
use roster_engine::model::Pod;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::polled_source::{self, PolledSource, PolledText};
use crate::servers::edge::cache::edge_cache::EdgeCache;

/// Reads the pods again and again, forever. If they cannot be read, the last ones count: pods go on without their kubelet.
pub(crate) async fn follow(source: PolledSource, cache: Arc<EdgeCache>) {
    let mut last = Bytes::new();
    polled_source::follow(source, "the pods of the node cannot be read: the last ones count", move |read| {
        let PolledText { text, .. } = read?;
        if text != last {
            tracing::debug!(bytes = text.len(), "read the pods of the node");
            cache.set_local_pods(pods(&text)?);
            last = text;
        }
        Ok(())
    })
    .await;
}

/// The pods of a list. One that cannot be read is left out: it would hide all others.
fn pods(text: &[u8]) -> anyhow::Result<Vec<Pod>> {
    #[derive(Deserialize)]
    struct PodList<'a> {
        #[serde(borrow)]
        items: Option<Vec<&'a RawValue>>,
    }
    let list: PodList<'_> = serde_json::from_slice(text).context("they are not a list of pods")?;
    let pod = |raw: &RawValue| {
        serde_json::from_str(raw.get())
            .inspect_err(|error| tracing::warn!(%error, "a pod of the node cannot be read"))
            .ok()
    };
    Ok(list.items.unwrap_or_default().into_iter().filter_map(pod).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_cannot_be_read_does_not_hide_the_others() {
        let names = |text: &str| {
            pods(text.as_bytes()).map(|pods| pods.iter().map(|pod| pod.name().to_string()).collect::<Vec<_>>()).ok()
        };
        let pod = |name: &str| format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}}}}"#);
        for (text, want) in [
            (format!(r#"{{"kind":"PodList","items":[{},7,{}]}}"#, pod("a"), pod("b")), Some(vec!["a", "b"])),
            (r#"{"items":null}"#.to_owned(), Some(vec![])),
            (r#"{"items":[{"metadata":"#.to_owned(), None),
            ("no JSON".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(names(&text), want.map(|all| all.into_iter().map(str::to_owned).collect()), "{text}");
        }
    }
}
