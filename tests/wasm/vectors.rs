//! The requests of `cargo xtask test wasm`, and the program's answers to them, each after its length: the input of the hosts of
//! the module, and what their answers are compared with.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a test program reads and writes files")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use roster_calls::{Call, CallLimits, CallRequest, Problem, ProblemDocument, unknown_call};
use roster_engine::model::Interrupt;
use serde_json::{Map, Value, json};

// As in the program that is compared with.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// A request as the module gets it.
struct Vector {
    call: String,
    query: String,
    content_type: &'static str,
    body: Vec<u8>,
}

fn vector(call: &str, query: &str, content_type: &'static str, body: impl Into<Vec<u8>>) -> Vector {
    Vector { call: call.to_owned(), query: query.to_owned(), content_type, body: body.into() }
}

impl Vector {
    fn request(&self) -> Vec<u8> {
        let head = json!({ "call": self.call, "query": self.query, "contentType": self.content_type });
        [head.to_string().as_bytes(), b"\n", &self.body].concat()
    }

    /// What the program answers.
    fn answer(&self) -> Vec<u8> {
        let request = CallRequest { query: &self.query, content_type: Some(self.content_type), body: &self.body };
        let call = Call::named(&self.call).ok_or_else(|| unknown_call(&self.call));
        match call.and_then(|call| call.answer(&request, CallLimits::default(), Interrupt::NEVER)) {
            Ok(answer) => {
                let problems = answer.problems.map(|count| format!(",\"problems\":{count}")).unwrap_or_default();
                let head = format!("{{\"status\":200,\"contentType\":\"{}\"{problems}}}\n", answer.content_type);
                [head.as_bytes(), &answer.bytes].concat()
            }
            Err(problem) => refused(&problem),
        }
    }
}

fn refused(problem: &Problem) -> Vec<u8> {
    let (status, media_type) = (problem.kind.status(), ProblemDocument::CONTENT_TYPE);
    let head = format!("{{\"status\":{status},\"contentType\":\"{media_type}\"}}\n");
    [head.as_bytes(), &problem.document(None).to_json()].concat()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("usage: wasm_vectors FOLDER [EVERY]")?);
    let every: usize = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let mut vectors = recorded(every)?;
    vectors.extend(manifests()?);
    vectors.extend(hostile());
    let began = busy()?;
    let answered: Vec<Vec<u8>> = vectors.iter().map(Vector::answer).collect();
    let took = busy()? - began;
    let (mut requests, mut answers) = (Vec::new(), Vec::new());
    for (vector, answer) in vectors.iter().zip(answered) {
        append(&mut requests, &vector.request())?;
        append(&mut answers, &answer)?;
    }
    fs::write(folder.join("requests"), requests)?;
    fs::write(folder.join("program"), answers)?;
    println!("seconds {took}");
    Ok(())
}

/// The seconds that this thread has computed: other work on the machine does not count.
fn busy() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

fn append(to: &mut Vec<u8>, message: &[u8]) -> Result<()> {
    to.extend(u32::try_from(message.len())?.to_le_bytes());
    to.extend(message);
    Ok(())
}

/// Each `every`th of the recorded states: planned as one of the releases that answered, explained, and viewed.
fn recorded(every: usize) -> Result<Vec<Vector>> {
    let mut vectors = Vec::new();
    for path in files("tests/parity/cases", "gz")? {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*fs::read(&path)?).read_to_string(&mut text)?;
        for (i, line) in text.lines().enumerate().step_by(every) {
            let mut row: Value = serde_json::from_str(line).with_context(|| path.display().to_string())?;
            if path.parent().is_some_and(|folder| folder.ends_with("views")) {
                vectors.push(vector("view", "", JSON, viewed(&mut row["case"]).to_string()));
                continue;
            }
            let answers = row["answers"].as_array().map_or(&[][..], Vec::as_slice);
            let versions = answers.get(i % answers.len().max(1)).and_then(|answer| answer["versions"].as_array());
            let compat = versions.and_then(|list| list.get(i % list.len().max(1))).and_then(Value::as_str);
            let query = format!("compat={}", compat.unwrap_or("1.37"));
            let body = planned(&mut row["case"]).to_string();
            let call = ["plan", "explain", "endpointslices", "endpoints", "picture"][i % 5];
            vectors.push(vector(call, &query, JSON, body.clone()));
            vectors.push(vector("plan", &format!("{query}&defaults=never"), JSON, body));
        }
    }
    Ok(vectors)
}

/// The body for a recorded state of a Service.
fn planned(case: &mut Value) -> Value {
    let limit = case["maxEndpointsPerSlice"].as_i64().unwrap_or(100);
    let mut body = taken(case, &["service", "pods", "nodes", "endpoints", "endpointSlices"]);
    body.insert("options".to_owned(), json!({ "maxEndpointsPerSlice": limit }));
    body.into()
}

/// The body for a recorded state of a node. The last fields are settings of the program that answered.
fn viewed(case: &mut Value) -> Value {
    let mut body = taken(case, &["node", "nodes", "services", "endpoints", "endpointSlices", "nodePools", "ipFamily"]);
    let scheme = match (&case["enablePoolTopology"], &case["substituteLocalApiserver"]) {
        (Value::Bool(pools), _) => {
            body.insert("options".to_owned(), json!({ "poolTopology": pools }));
            "openyurt"
        }
        (_, Value::Bool(_)) => {
            let options = taken(case, &["substituteLocalApiserver", "healthFilter", "health"]);
            body.insert("options".to_owned(), options.into());
            "superedge"
        }
        _ => "kube-proxy",
    };
    body.insert("scheme".to_owned(), scheme.into());
    body.into()
}

fn taken(case: &mut Value, fields: &[&str]) -> Map<String, Value> {
    let present = fields.iter().filter(|field| !case[**field].is_null()).copied().collect::<Vec<_>>();
    present.into_iter().map(|field| (field.to_owned(), case[field].take())).collect()
}

/// The README's example by every call, and the manifests of the tests.
fn manifests() -> Result<Vec<Vector>> {
    let shop = fs::read("examples/shop.yaml")?;
    let mut vectors = vec![vector("plan", "", YAML, shop.clone()), vector("compat", "", JSON, "")];
    for call in ["plan", "explain", "endpoints", "endpointslices", "picture", "compare"] {
        for name in ["catalog", "cart", "payment", "warehouse", "db", "gateway", "search", "web", "wbe"] {
            let against = if call == "compare" { "&against=1.22" } else { "" };
            vectors.push(vector(call, &format!("service=shop/{name}{against}"), YAML, shop.clone()));
        }
    }
    for service in ["shop/catalog", "shop/cart", "shop/payment"] {
        vectors.push(vector("picture", &format!("service={service}&format=svg"), YAML, shop.clone()));
        for tab in ["picture", "review", "node", "what-if"] {
            vectors.push(vector(
                "page",
                "",
                JSON,
                json!({ "example": "shop", "service": service, "tab": tab }).to_string(),
            ));
        }
    }
    for to in ["Endpoints", "EndpointSlice", "discovery.k8s.io/v1beta1"] {
        vectors.push(vector("convert", &format!("to={to}"), YAML, shop.clone()));
    }
    for from in ["1.22", "1.29", "1.36"] {
        vectors.push(vector("compat/differences", &format!("from={from}"), JSON, ""));
    }
    let mut paths = files("tests/data", "yaml")?;
    paths.push("examples/shop.yaml".into());
    paths.extend(files("examples/typo", "yaml")?);
    for path in paths {
        let text = fs::read(&path)?;
        vectors.push(vector("lint", "", YAML, text.clone()));
        vectors.push(vector("review", "", YAML, text));
    }
    Ok(vectors)
}

/// What is wrong, too deep, or nothing at all.
fn hostile() -> Vec<Vector> {
    let mut vectors = vec![
        vector("plans", "", JSON, ""),
        vector("plan", "compt=1.30", JSON, "{}"),
        vector("plan", "", "text/html", "{}"),
        vector("plan", "", JSON, b"\xff".as_slice()),
        vector("convert", "to=v1", JSON, "{}"),
    ];
    for depth in [100, 127, 128, 129, 255, 256, 257, 50_000] {
        for (content_type, open, close) in [
            (JSON, "[", "]"),
            (JSON, "{\"a\":", "}"),
            (JSON, "{\"service\":", "}"),
            (YAML, "[", "]"),
            (YAML, "{a: ", "}"),
            (YAML, "- ", ""),
        ] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let within = format!(
                "{{\"kind\": \"Service\", \"apiVersion\": \"v1\", \"metadata\": {{\"name\": \"a\", \"x\": {nested}}}}}"
            );
            for call in ["plan", "explain", "view", "review", "lint"] {
                vectors.push(vector(call, "", content_type, nested.clone()));
                vectors.push(vector(call, "", content_type, within.clone()));
            }
            vectors.push(vector("convert", "to=Endpoints", content_type, within));
        }
    }
    vectors
}

/// The files of a folder and of those in it, in the order of their names.
fn files(folder: &str, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(Path::new(folder), extension, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, extension, found)?;
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    Ok(())
}
