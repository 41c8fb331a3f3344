//! The API server behind a node proxy: which tokens it knows, what it lists, and an object that changes all the time.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{
    api_server::{ApiServer, ListedObjects, Permission},
    stored,
};

/// The token of the genuine client; what follows a dash after it makes another one that the API server accepts as well.
pub(crate) const GENUINE: &str = "genuine";
/// How other tokens begin that it accepts.
pub(crate) const CLIENT: &str = "client";
/// How tokens begin that it accepts after a while.
pub(crate) const BUSY: &str = "busy";
/// How tokens begin whose owners may read nothing.
pub(crate) const DENIED: &str = "denied";
/// How tokens begin that it does not know, and takes its time to find out.
pub(crate) const SLOW: &str = "slow";
/// How other tokens begin that it does not know.
pub(crate) const NOBODY: &str = "nobody";
/// Tokens that it accepts until they are revoked. After that, their reviews take longer than the node proxy waits, or fail.
pub(crate) const REVOKED: [&str; 3] = [LATE, FAILED, SHED];
const LATE: &str = "late";
const FAILED: &str = "failed";
const SHED: &str = "shed";
/// The token of the node proxy itself.
const OWN: &str = "proxy";
/// How long it takes for a busy token, to look for a slow one, and for a late one.
const BUSY_REVIEW: Duration = Duration::from_millis(20);
const SLOW_REVIEW: Duration = Duration::from_secs(1);
const LATE_REVIEW: Duration = Duration::from_secs(5);

/// The namespace of the genuine client.
pub(crate) const SHOP: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
/// A namespace with many slices, about three megabytes.
pub(crate) const LARGE: &str = "/apis/discovery.k8s.io/v1/namespaces/large/endpointslices";
const LARGE_SLICES: usize = 1000;
const ENDPOINTS: usize = 15;
/// An address that the node may use, and the beginning of those that it must not see.
pub(crate) const NEAR: &str = "10.1.0.1";
pub(crate) const FAR: &str = "10.66.";

/// The time between two changes.
const EVERY: Duration = Duration::from_millis(100);
/// After how many of them something of the Service with many keys changes.
const KEYS_EVERY: usize = 5;

/// The API server of a node proxy, and the folder of both.
pub(crate) struct Upstream {
    api: Arc<ApiServer>,
    folder: PathBuf,
    pub(crate) changes: Changes,
    stop: Arc<AtomicBool>,
    is_revoked: Arc<AtomicBool>,
}

/// When each change of the slice `moving` was made. A clone is the same list.
#[derive(Clone, Default)]
pub(crate) struct Changes(Arc<Mutex<Vec<Instant>>>);

impl Changes {
    /// The number of changes so far. The first is 1.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// When a change was made.
    pub(crate) fn made(&self, number: usize) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(number.checked_sub(1)?).copied()
    }

    /// The number of the next change, which is made now.
    fn next(&self) -> usize {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.push(Instant::now());
        made.len()
    }
}

impl Upstream {
    /// Starts it, with a folder of its own below this one.
    ///
    /// With `keys`, a Service has many topology keys and endpoints, and a part of it or the node changes all the time as well.
    pub(crate) fn start(below: &Path, keys: bool) -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let folder = below.join(format!("edge-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let is_revoked = Arc::<AtomicBool>::default();
        let revoked = is_revoked.clone();
        let permission = move |token: &str| permission(token, revoked.load(Ordering::Relaxed));
        let api = Arc::new(ApiServer::start_with(objects(keys), permission)?);
        let kubeconfig = api.kubeconfig_of(&format!("{{token: {OWN}}}"));
        fs::write(folder.join("kubeconfig"), kubeconfig).context("writing the kubeconfig")?;
        let (changes, stop) = (Changes::default(), Arc::<AtomicBool>::default());
        let (of_thread, made, stopped) = (api.clone(), changes.clone(), stop.clone());
        thread::Builder::new().name("changes".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                thread::sleep(EVERY);
                let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, moving(made.next()));
                of_thread.send("endpointslices", &event);
                if keys && made.count().is_multiple_of(KEYS_EVERY) {
                    let (plural, object) = stored::changed_keys(made.count() / KEYS_EVERY);
                    of_thread.send(plural, &format!(r#"{{"type":"MODIFIED","object":{object}}}"#));
                }
            }
        })?;
        Ok(Self { api, folder, changes, stop, is_revoked })
    }

    /// The command line of the proxy as far as it depends on the API server.
    pub(crate) fn arguments(&self, command: &mut Command) {
        command.args(["edge", "--scheme", "superedge", "--node", "near", "--kubeconfig"]);
        command.arg(self.folder.join("kubeconfig")).arg("--state-file").arg(self.folder.join("edge.state"));
    }

    /// Revokes the tokens of [`REVOKED`].
    pub(crate) fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Relaxed);
    }

    /// How many permissions the first run of the proxy has saved.
    pub(crate) fn saved_permissions(&self) -> usize {
        let journal = fs::read_to_string(self.folder.join("edge.state.journal.0")).unwrap_or_default();
        journal.lines().filter(|record| record.split(' ').nth(1) == Some("access")).count()
    }

    /// How many access reviews it had to answer.
    pub(crate) fn access_reviews(&self) -> usize {
        self.api.load().access_reviews()
    }

    /// The most connections at once.
    pub(crate) fn most_connections(&self) -> usize {
        self.api.load().most_connections()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn permission(token: &str, is_revoked: bool) -> Permission {
    match token.split('-').next().unwrap_or_default() {
        GENUINE | CLIENT | OWN => Permission::All,
        LATE | FAILED | SHED if !is_revoked => Permission::All,
        LATE => {
            thread::sleep(LATE_REVIEW);
            Permission::Unknown
        }
        FAILED => Permission::Fails("500 Internal Server Error"),
        SHED => Permission::Fails("429 Too Many Requests"),
        BUSY => {
            thread::sleep(BUSY_REVIEW);
            Permission::All
        }
        DENIED => Permission::Nothing,
        SLOW => {
            thread::sleep(SLOW_REVIEW);
            Permission::Unknown
        }
        _ => Permission::Unknown,
    }
}

fn objects(keys: bool) -> ListedObjects {
    let mut objects = ListedObjects::default();
    if keys {
        stored::push_keys(&mut objects);
    }
    for node in ["near", "far"] {
        objects.push(
            "nodes",
            &format!(
                r#"{{"metadata":{{"name":"{node}","resourceVersion":"1","labels":{{"kubernetes.io/hostname":"{node}"}}}}}}"#
            ),
        );
    }
    for namespace in ["shop", "large"] {
        objects.push("namespaces", &format!(r#"{{"metadata":{{"name":"{namespace}","resourceVersion":"1"}}}}"#));
        objects.push("services", &service(namespace));
    }
    objects.push("endpointslices", &slice("shop", "web-1", 1, "", 1));
    objects.push("endpointslices", &moving(0));
    for n in 0..LARGE_SLICES {
        objects.push("endpointslices", &slice("large", &format!("web-{n:04}"), ENDPOINTS, "", 1));
    }
    objects
}

/// A Service whose clients on a node use the endpoints of the node.
fn service(namespace: &str) -> String {
    format!(
        concat!(
            r#"{{"metadata":{{"name":"web","namespace":"{namespace}","uid":"{namespace}","resourceVersion":"1","#,
            r#""annotations":{{"topologyKeys":"[\"kubernetes.io/hostname\"]"}}}},"#,
            r#""spec":{{"clusterIP":"10.96.0.1","type":"ClusterIP","selector":{{"app":"web"}},"#,
            r#""ports":[{{"name":"http","port":80,"targetPort":8080,"protocol":"TCP"}}]}}}}"#
        ),
        namespace = namespace,
    )
}

/// The slice `moving` after this change.
fn moving(change: usize) -> String {
    slice("shop", "moving", 1, &format!(r#","annotations":{{"change":"{change}"}}"#), change + 1)
}

/// A slice with as many endpoints on the node as on another one.
fn slice(namespace: &str, name: &str, each: usize, more: &str, version: usize) -> String {
    let mut endpoints = String::new();
    for n in 1..=each {
        for (node, address) in [("near", format!("10.1.0.{n}")), ("far", format!("{FAR}0.{n}"))] {
            let comma = if endpoints.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(
                endpoints,
                r#"{comma}{{"addresses":["{address}"],"conditions":{{"ready":true}},"nodeName":"{node}"}}"#
            );
        }
    }
    format!(
        concat!(
            r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{namespace}-{name}","resourceVersion":"{version}","#,
            r#""labels":{{"kubernetes.io/service-name":"web"}}{more}}},"#,
            r#""addressType":"IPv4","endpoints":[{endpoints}],"ports":[{{"name":"http","port":8080,"protocol":"TCP"}}]}}"#
        ),
        name = name,
        namespace = namespace,
        version = version,
        more = more,
        endpoints = endpoints,
    )
}
