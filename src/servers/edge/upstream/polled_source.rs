//! A text that is read again and again, from a file or a URL: the pods of the node, the health of nodes.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

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
use tokio::time::{sleep, timeout};

use crate::runtime::files::FileSet;

/// How often it is read.
const POLL: Duration = Duration::from_millis(500);
/// Longest time until a server has answered.
const ANSWER: Duration = Duration::from_secs(5);
/// Largest text: a kubelet runs 110 pods, of some kilobytes each, unless it is configured for more.
const MAX_BYTES: usize = 32 << 20;

/// Where a text is.
#[derive(Clone, Debug)]
pub enum PolledSource {
    /// A file.
    File(PathBuf),
    /// A server.
    Url(PolledUrl),
}

/// A server, and how it is reached.
#[derive(Clone, Debug)]
pub struct PolledUrl {
    /// The URL, such as `https://127.0.0.1:10250/pods`.
    pub url: Uri,
    /// Whom the proxy trusts there, and who it is.
    pub trust: PolledTrust,
}

/// How a server and its client know each other. By default the server is verified, and the client is nobody.
#[derive(Clone, Debug, Default)]
pub struct PolledTrust {
    /// The CA of its certificate in PEM.
    pub ca: Option<PathBuf>,
    /// Whether its certificate is not verified: by default a kubelet signs its own.
    pub skips_verification: bool,
    /// Certificate and key of the client in PEM.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// The token of the client.
    pub token_file: Option<PathBuf>,
}

/// A text that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolledText {
    pub(crate) text: Bytes,
    /// When the file was written. An answer of a server is always new.
    pub(crate) written: Option<SystemTime>,
}

/// Reads a text again and again, forever, and calls `take` with it, or with why it cannot be read. Of failures in a row, only the
/// first is logged, as `failure`.
pub(crate) async fn follow(
    source: PolledSource,
    failure: &'static str,
    mut take: impl FnMut(anyhow::Result<PolledText>) -> anyhow::Result<()>,
) {
    let (mut reader, mut failures) = (PolledReader::new(source), RepeatedFailure::default());
    loop {
        let taken = take(reader.read().await);
        if failures.begins(taken.is_err())
            && let Err(error) = taken
        {
            tracing::warn!(error = format!("{error:#}"), "{failure}");
        }
        sleep(POLL).await;
    }
}

/// Whether the last attempt failed.
#[derive(Debug, Default)]
struct RepeatedFailure(bool);

impl RepeatedFailure {
    /// Whether this failure is the first one since a success.
    fn begins(&mut self, is_failure: bool) -> bool {
        !std::mem::replace(&mut self.0, is_failure) && is_failure
    }
}

/// Reads a text.
struct PolledReader {
    source: PolledSource,
    client: Option<Client>,
}

impl PolledReader {
    fn new(source: PolledSource) -> Self {
        Self { source, client: None }
    }

    /// Reads it. After an error, certificates and tokens are read again.
    async fn read(&mut self) -> anyhow::Result<PolledText> {
        let read = self.try_read().await;
        if read.is_err() {
            self.client = None;
        }
        read
    }

    async fn try_read(&mut self) -> anyhow::Result<PolledText> {
        match &self.source {
            PolledSource::File(path) => {
                let written = tokio::fs::metadata(path).await.and_then(|metadata| metadata.modified()).ok();
                let read = FileSet::new([path.clone()], MAX_BYTES as u64).read().await?;
                Ok(PolledText { text: read.0.into_iter().next().unwrap_or_default().into(), written })
            }
            PolledSource::Url(options) => {
                let client = match &self.client {
                    Some(client) => client.clone(),
                    None => self.client.insert(options.client().await?).clone(),
                };
                let path = options.url.path_and_query().map_or("/", |path| path.as_str());
                let text = timeout(ANSWER, get(&client, path)).await.context("the server does not answer")?;
                Ok(PolledText { text: text?, written: None })
            }
        }
    }
}

async fn get(client: &Client, path: &str) -> anyhow::Result<Bytes> {
    let request = Request::get(path).body(Body::empty()).context("the path of the URL")?;
    let (head, body) = client.send(request).await.context("asking the server")?.into_parts();
    ensure!(head.status.is_success(), "the server answers {}", head.status);
    to_bytes(axum::body::Body::new(body), MAX_BYTES).await.context("reading the answer")
}

impl PolledUrl {
    /// A client with the credentials of the options, read anew.
    async fn client(&self) -> anyhow::Result<Client> {
        const NAME: &str = "polled";
        let path = |path: &PathBuf| path.display().to_string();
        let authority = self.url.authority().context("the URL has no host")?;
        let cluster = Cluster {
            server: Some(format!("{}://{authority}", self.url.scheme_str().unwrap_or("https"))),
            insecure_skip_tls_verify: Some(self.trust.skips_verification),
            certificate_authority: self.trust.ca.as_ref().map(path),
            ..Cluster::default()
        };
        let user = AuthInfo {
            client_certificate: self.trust.client_certificate.as_ref().map(|(certificate, _)| path(certificate)),
            client_key: self.trust.client_certificate.as_ref().map(|(_, key)| path(key)),
            token_file: self.trust.token_file.as_ref().map(path),
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

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc};

    use tokio::time::advance;

    use super::*;

    #[test]
    fn the_first_of_several_failures_is_reported() {
        let mut failures = RepeatedFailure::default();
        let reported = [true, true, false, true, true, false, false].map(|is_failure| failures.begins(is_failure));
        assert_eq!(reported, [true, false, false, true, false, false, false]);
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "it is about a file")]
    async fn a_source_is_read_again_also_after_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pods.json");
        let (seen, reads) = mpsc::channel();
        let take = move |read: anyhow::Result<PolledText>| {
            seen.send(read.as_ref().map(|read| read.text.clone()).ok())?;
            read.map(|_| ())
        };
        tokio::spawn(follow(PolledSource::File(path.clone()), "a test", take));
        let next = async || loop {
            tokio::task::yield_now().await;
            if let Ok(read) = reads.try_recv() {
                return read;
            }
        };
        assert_eq!(next().await, None);
        tokio::time::pause();
        for text in ["a", "b"] {
            fs::write(&path, text).unwrap();
            advance(POLL * 2).await;
            assert_eq!(next().await.as_deref(), Some(text.as_bytes()));
        }
    }
}
