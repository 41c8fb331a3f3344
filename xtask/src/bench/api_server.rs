//! An API server for benches and attacks: it lists objects page by page or as a stream, and its watches have the events that it is
//! given.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

/// A resource that is listed.
struct Resource {
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    /// How the line of an object starts in the file, which has the fields in alphabetical order.
    start: &'static str,
}

const RESOURCES: [Resource; 6] = [
    resource("v1", "Pod", "pods", r#"{"apiVersion":"v1","kind":"Pod","#),
    resource("v1", "Service", "services", r#"{"apiVersion":"v1","kind":"Service","#),
    resource("v1", "Node", "nodes", r#"{"apiVersion":"v1","kind":"Node","#),
    resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", r#"{"addressType":"#),
    resource("v1", "Endpoints", "endpoints", r#"{"apiVersion":"v1","kind":"Endpoints","#),
    resource("v1", "Namespace", "namespaces", r#"{"apiVersion":"v1","kind":"Namespace","#),
];

const fn resource(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    start: &'static str,
) -> Resource {
    Resource { api_version, kind, plural, start }
}

/// A server on a loopback port. It runs until the program ends.
pub(super) struct ApiServer {
    address: SocketAddr,
    objects: String,
    watches: Watches,
    load: Arc<ApiServerLoad>,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// Everything.
    All,
    /// Nothing but asking what it may do.
    Nothing,
    /// The caller is unknown.
    Unknown,
    /// Whatever the caller sends, the answer is this error.
    Fails(&'static str),
}

/// What the server had to do.
#[derive(Debug, Default)]
pub(super) struct ApiServerLoad {
    connections: AtomicUsize,
    most_connections: AtomicUsize,
    access_reviews: AtomicUsize,
}

impl ApiServerLoad {
    fn opened(&self) {
        let open = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_connections.fetch_max(open, Ordering::Relaxed);
    }

    fn closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// The most connections that were open at once.
    pub(super) fn most_connections(&self) -> usize {
        self.most_connections.load(Ordering::Relaxed)
    }

    /// How many access reviews there were.
    pub(super) fn access_reviews(&self) -> usize {
        self.access_reviews.load(Ordering::Relaxed)
    }
}

/// What every connection needs.
struct Served {
    listed: ListedObjects,
    watches: Watches,
    load: Arc<ApiServerLoad>,
    /// What the caller with this bearer token may do. It is empty where there is none.
    permission: Box<dyn Fn(&str) -> Permission + Send + Sync>,
}

/// The open watches, each with the plural of its resource.
type Watches = Arc<Mutex<Vec<(String, Sender<String>)>>>;

/// The objects that are listed.
#[derive(Default)]
pub(super) struct ListedObjects {
    text: String,
    /// By plural, where the objects are.
    objects: BTreeMap<&'static str, Vec<Range<usize>>>,
}

impl ApiServer {
    /// Serves these objects to everybody.
    pub(super) fn start(objects: ListedObjects) -> Result<Self> {
        Self::start_with(objects, |_| Permission::All)
    }

    /// Serves these objects to callers who have the permission.
    pub(super) fn start_with(
        listed: ListedObjects,
        permission: impl Fn(&str) -> Permission + Send + Sync + 'static,
    ) -> Result<Self> {
        let count = |plural: &str| listed.objects.get(plural).map_or(0, Vec::len);
        let objects = RESOURCES.iter().map(|r| format!("{} {}", count(r.plural), r.plural)).collect::<Vec<_>>();
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let address = listener.local_addr()?;
        let (watches, load) = (Watches::default(), Arc::<ApiServerLoad>::default());
        let permission = Box::new(permission);
        let served = Arc::new(Served { listed, watches: watches.clone(), load: load.clone(), permission });
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = served.clone();
                thread::spawn(move || {
                    served.load.opened();
                    // A connection that the client closes ends with an error, which nothing depends on.
                    drop(serve(stream, &served));
                    served.load.closed();
                });
            }
        });
        Ok(Self { address, objects: objects.join(", "), watches, load })
    }

    /// What the server had to do.
    pub(super) fn load(&self) -> &ApiServerLoad {
        &self.load
    }

    /// Sends an event to the watches of a resource: a line of JSON.
    pub(super) fn send(&self, plural: &str, event: &str) {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, watch) in watches.iter().filter(|(of, _)| of == plural) {
            // A watch that has ended gets no events.
            let _ = watch.send(format!("{event}\n"));
        }
    }

    /// Ends every watch with an error after which its client lists the objects again.
    pub(super) fn expire_watches(&self) {
        const EXPIRED: &str = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old resource version","code":410}}"#;
        for resource in &RESOURCES {
            self.send(resource.plural, EXPIRED);
        }
    }

    /// How many objects there are of each resource.
    pub(super) fn objects(&self) -> &str {
        &self.objects
    }

    /// A kubeconfig of this server.
    pub(super) fn kubeconfig(&self) -> String {
        self.kubeconfig_of("{}")
    }

    /// A kubeconfig with these credentials of a user.
    pub(super) fn kubeconfig_of(&self, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: bench\n\
             clusters: [{{name: bench, cluster: {{server: 'http://{}'}}}}]\n\
             users: [{{name: bench, user: {user}}}]\n\
             contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]\n",
            self.address,
        )
    }
}

impl ListedObjects {
    /// Adds an object of a resource: a line of JSON.
    pub(super) fn push(&mut self, plural: &'static str, object: &str) {
        let start = self.text.len();
        self.text.push_str(object);
        self.objects.entry(plural).or_default().push(start..self.text.len());
    }

    /// The objects of a file with one on each line, and the namespaces they are in.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let mut text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let mut objects: BTreeMap<&'static str, Vec<Range<usize>>> = BTreeMap::new();
        let mut namespaces = std::collections::BTreeSet::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let object = start..start + line.trim_end().trim_end_matches(',').len();
            start += line.len();
            if let Some(resource) = RESOURCES.iter().find(|r| line.starts_with(r.start)) {
                objects.entry(resource.plural).or_default().push(object);
                let namespace = line.split("\"namespace\":\"").nth(1).and_then(|rest| rest.split('"').next());
                namespaces.extend(namespace.map(str::to_owned));
            }
        }
        for name in namespaces {
            let start = text.len();
            write!(text, "{{\"metadata\":{{\"name\":\"{name}\",\"resourceVersion\":\"1\"}}}}")?;
            objects.entry("namespaces").or_default().push(start..text.len());
        }
        Ok(Self { text, objects })
    }

    /// Sends the objects of a resource as the events of a streamed list.
    fn stream(&self, plural: &str, stream: &mut TcpStream) -> std::io::Result<()> {
        let Some(Resource { api_version, kind, .. }) = RESOURCES.iter().find(|r| r.plural == plural) else {
            return Ok(());
        };
        let mut out = BufWriter::new(stream);
        for object in self.objects.get(plural).into_iter().flatten() {
            send_event(&mut out, &format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", &self.text[object.clone()]))?;
        }
        let end = r#"{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}"#;
        let bookmark = format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{end}}}"#);
        send_event(&mut out, &format!("{{\"type\":\"BOOKMARK\",\"object\":{bookmark}}}\n"))?;
        out.flush()
    }

    /// A page of a list, as the body of an answer.
    fn page(&self, plural: &str, limit: usize, first: usize) -> Option<Vec<u8>> {
        let Resource { api_version, kind, .. } = RESOURCES.iter().find(|r| r.plural == plural)?;
        let all = self.objects.get(plural).map(Vec::as_slice).unwrap_or_default();
        let page = all.get(first..all.len().min(first.saturating_add(limit)))?;
        let next = first + page.len();
        let next = if next < all.len() { format!(",\"continue\":\"{next}\"") } else { String::new() };
        let mut body = format!(
            "{{\"kind\":\"{kind}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{{\"resourceVersion\":\"1\"{next}}},\"items\":["
        )
        .into_bytes();
        for (i, object) in page.iter().enumerate() {
            if i > 0 {
                body.push(b',');
            }
            body.extend(self.text[object.clone()].as_bytes());
        }
        body.extend(b"]}");
        Some(body)
    }
}

/// Answers the requests of one connection.
fn serve(mut stream: TcpStream, served: &Served) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    loop {
        let mut request = String::new();
        if input.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let (mut header, mut length, mut token, mut upgrades) = (String::new(), 0, String::new(), false);
        while input.read_line(&mut header)? > 2 {
            let value = header.to_ascii_lowercase();
            if let Some(value) = value.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or_default();
            }
            upgrades |= value.starts_with("upgrade:");
            // Tokens are lower-case here.
            if let Some(value) = value.strip_prefix("authorization: bearer ") {
                value.trim().clone_into(&mut token);
            }
            header.clear();
        }
        std::io::copy(&mut (&mut input).take(length), &mut std::io::sink())?;
        let target = request.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameter = |name: &str| query.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='));
        let plural = path.rsplit('/').next().unwrap_or_default();
        let is_review = plural == "selfsubjectaccessreviews";
        served.load.access_reviews.fetch_add(usize::from(is_review), Ordering::Relaxed);
        let permission = (served.permission)(&token);
        if permission == Permission::All && upgrades {
            stream
                .write_all(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: SPDY/3.1\r\n\r\n")?;
            return std::io::copy(&mut input, &mut std::io::sink()).map(drop);
        }
        if permission == Permission::All && parameter("watch").is_some() {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            )?;
            let (sender, events) = channel();
            served.watches.lock().unwrap_or_else(PoisonError::into_inner).push((plural.to_owned(), sender));
            if parameter("sendInitialEvents") == Some("true") {
                served.listed.stream(plural, &mut stream)?;
            }
            return send_all(&mut stream, &events);
        }
        let number = |name: &str| parameter(name).and_then(|n| n.parse().ok());
        let first = number("continue").unwrap_or(0);
        let (status, body) = match permission {
            Permission::Unknown => ("401 Unauthorized", UNAUTHORIZED.to_vec()),
            Permission::Fails(status) => (status, b"{}".to_vec()),
            Permission::All if is_review => ("201 Created", ALLOWED.to_vec()),
            Permission::Nothing if is_review => ("201 Created", DENIED.to_vec()),
            Permission::Nothing => ("403 Forbidden", FORBIDDEN.to_vec()),
            Permission::All => match served.listed.page(plural, number("limit").unwrap_or(usize::MAX), first) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", NOT_FOUND.to_vec()),
            },
        };
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)?;
    }
}

/// Sends events until the client closes the connection.
fn send_all(stream: &mut TcpStream, events: &Receiver<String>) -> std::io::Result<()> {
    for event in events {
        send_event(stream, &event)?;
    }
    Ok(())
}

/// Sends an event as a chunk.
fn send_event(stream: &mut impl Write, event: &str) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

const ALLOWED: &[u8] =
    br#"{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}"#;
const DENIED: &[u8] =
    br#"{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false}}"#;
const UNAUTHORIZED: &[u8] = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#;
const FORBIDDEN: &[u8] = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden","reason":"Forbidden","code":403}"#;
const NOT_FOUND: &[u8] = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"not found","reason":"NotFound","code":404}"#;
