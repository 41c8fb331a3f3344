//! The pods of the own node, read from its kubelet or from a file.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use axum::{
    body::{Bytes, to_bytes},
    http::{Request, Uri},
};
use kube::{
    Client, Config,
    client::Body,
    config::{
        AuthInfo, Cluster, Context as ConfigContext, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
        NamedContext,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::edge_cache::EdgeCache;
use crate::{model::Pod, runtime::files::FileSet};

/// How often the pods are read.
const POLL: Duration = Duration::from_millis(500);
/// Longest time until a kubelet has answered.
const ANSWER: Duration = Duration::from_secs(5);
/// Largest list of pods: a kubelet runs 110 pods, of some kilobytes each, unless it is configured for more.
const MAX_BYTES: usize = 32 << 20;

/// Where the pods of the own node are.
#[derive(Clone, Debug)]
pub enum LocalPodsSource {
    /// A file with a list of pods, as the kubelet serves it.
    File(PathBuf),
    /// The kubelet.
    Kubelet(KubeletOptions),
}

/// How the kubelet is reached.
#[derive(Clone, Debug)]
pub struct KubeletOptions {
    /// The URL of the list, such as `https://127.0.0.1:10250/pods`.
    pub url: Uri,
    /// The CA of its certificate in PEM.
    pub ca: Option<PathBuf>,
    /// Whether its certificate is not verified: by default a kubelet signs its own.
    pub skips_verification: bool,
    /// Certificate and key of the client in PEM.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// The token of the client.
    pub token_file: Option<PathBuf>,
}

/// Reads the pods again and again, forever. If they cannot be read, the last ones count: pods go on without their kubelet.
pub(super) async fn follow(source: LocalPodsSource, cache: Arc<EdgeCache>) {
    let (mut reader, mut last, mut is_failing) = (PodReader { source, client: None }, Bytes::new(), false);
    loop {
        match reader.read().await {
            Ok(text) => {
                if is_failing || text != last {
                    tracing::debug!(bytes = text.len(), "read the pods of the node");
                }
                is_failing = false;
                if text != last {
                    match pods(&text) {
                        Ok(pods) => {
                            cache.set_local_pods(pods);
                            last = text;
                        }
                        Err(error) => tracing::warn!(error = format!("{error:#}"), "the pods of the node"),
                    }
                }
            }
            Err(error) => {
                // Certificates and tokens may have been replaced.
                reader.client = None;
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "the pods of the node cannot be read: the last ones count"
                    );
                }
            }
        }
        sleep(POLL).await;
    }
}

/// Reads the list of pods.
struct PodReader {
    source: LocalPodsSource,
    client: Option<Client>,
}

impl PodReader {
    async fn read(&mut self) -> anyhow::Result<Bytes> {
        match &self.source {
            LocalPodsSource::File(path) => {
                let read = FileSet::new([path.clone()], MAX_BYTES as u64).read().await?;
                Ok(read.0.into_iter().next().unwrap_or_default().into())
            }
            LocalPodsSource::Kubelet(options) => {
                let client = match &self.client {
                    Some(client) => client.clone(),
                    None => self.client.insert(options.client().await?).clone(),
                };
                let path = options.url.path_and_query().map_or("/pods", |path| path.as_str());
                timeout(ANSWER, get(&client, path)).await.context("the kubelet does not answer")?
            }
        }
    }
}

async fn get(client: &Client, path: &str) -> anyhow::Result<Bytes> {
    let request = Request::get(path).body(Body::empty()).context("the path of the kubelet")?;
    let (head, body) = client.send(request).await.context("asking the kubelet")?.into_parts();
    ensure!(head.status.is_success(), "the kubelet answers {}", head.status);
    to_bytes(axum::body::Body::new(body), MAX_BYTES).await.context("reading the list of the kubelet")
}

impl KubeletOptions {
    /// A client with the credentials of the options, read anew.
    async fn client(&self) -> anyhow::Result<Client> {
        const NAME: &str = "kubelet";
        let path = |path: &PathBuf| path.display().to_string();
        let authority = self.url.authority().context("the URL of the kubelet has no host")?;
        let cluster = Cluster {
            server: Some(format!("{}://{authority}", self.url.scheme_str().unwrap_or("https"))),
            insecure_skip_tls_verify: Some(self.skips_verification),
            certificate_authority: self.ca.as_ref().map(path),
            ..Cluster::default()
        };
        let user = AuthInfo {
            client_certificate: self.client_certificate.as_ref().map(|(certificate, _)| path(certificate)),
            client_key: self.client_certificate.as_ref().map(|(_, key)| path(key)),
            token_file: self.token_file.as_ref().map(path),
            ..AuthInfo::default()
        };
        let context =
            ConfigContext { cluster: NAME.to_owned(), user: Some(NAME.to_owned()), ..ConfigContext::default() };
        let file = Kubeconfig {
            clusters: vec![NamedCluster { name: NAME.to_owned(), cluster: Some(cluster), ..NamedCluster::default() }],
            auth_infos: vec![NamedAuthInfo {
                name: NAME.to_owned(),
                auth_info: Some(user),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext { name: NAME.to_owned(), context: Some(context), ..NamedContext::default() }],
            current_context: Some(NAME.to_owned()),
            ..Kubeconfig::default()
        };
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }
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
