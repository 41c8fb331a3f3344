//! An API server for one bench: it lists the objects of a file page by page, and its watches have no events.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
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

const RESOURCES: [Resource; 5] = [
    resource("v1", "Pod", "pods", r#"{"apiVersion":"v1","kind":"Pod","#),
    resource("v1", "Service", "services", r#"{"apiVersion":"v1","kind":"Service","#),
    resource("v1", "Node", "nodes", r#"{"apiVersion":"v1","kind":"Node","#),
    resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", r#"{"addressType":"#),
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
}

/// The objects of a file, one on each line.
struct ObjectFile {
    text: String,
    /// By plural, where the objects are.
    objects: BTreeMap<&'static str, Vec<Range<usize>>>,
}

impl ApiServer {
    /// Serves the objects of `file`, and the namespaces they are in.
    pub(super) fn start(file: &Path) -> Result<Self> {
        let file = Arc::new(ObjectFile::read(file)?);
        let count = |plural: &str| file.objects.get(plural).map_or(0, Vec::len);
        let objects = RESOURCES.iter().map(|r| format!("{} {}", count(r.plural), r.plural)).collect::<Vec<_>>();
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let file = file.clone();
                // A connection that the client closes ends with an error, which nothing depends on.
                thread::spawn(move || drop(serve(stream, &file)));
            }
        });
        Ok(Self { address, objects: objects.join(", ") })
    }

    /// How many objects there are of each resource.
    pub(super) fn objects(&self) -> &str {
        &self.objects
    }

    /// A kubeconfig of this server.
    pub(super) fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: bench\n\
             clusters: [{{name: bench, cluster: {{server: 'http://{}'}}}}]\n\
             users: [{{name: bench, user: {{}}}}]\n\
             contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]\n",
            self.address,
        )
    }
}

impl ObjectFile {
    fn read(path: &Path) -> Result<Self> {
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
fn serve(mut stream: TcpStream, file: &ObjectFile) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    loop {
        let mut request = String::new();
        if input.read_line(&mut request)? == 0 {
            return Ok(());
        }
        // No request has a body.
        let mut header = String::new();
        while input.read_line(&mut header)? > 2 {
            header.clear();
        }
        let target = request.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameter = |name: &str| query.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='));
        if parameter("watch").is_some() {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            )?;
            // The connection stays open until the client closes it.
            let mut end = String::new();
            input.read_line(&mut end)?;
            return Ok(());
        }
        let number = |name: &str| parameter(name).and_then(|n| n.parse().ok());
        let plural = path.rsplit('/').next().unwrap_or_default();
        let page = file.page(plural, number("limit").unwrap_or(usize::MAX), number("continue").unwrap_or(0));
        let (status, body) = match page {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", NOT_FOUND.to_vec()),
        };
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)?;
    }
}

const NOT_FOUND: &[u8] = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"not found","reason":"NotFound","code":404}"#;
