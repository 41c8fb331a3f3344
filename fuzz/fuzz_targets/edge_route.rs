//! Requests of a node proxy: what any server would take for a read of something cached must not get around the cache.
#![no_main]

use http::{Method, Uri};
use libfuzzer_sys::fuzz_target;
use percent_encoding::percent_decode_str;
use roster::servers::edge::fuzzing::{Route, route};

const NODE: &str = "edge-1";

fuzz_target!(|target: &str| {
    let Ok(uri) = target.parse::<Uri>() else { return };
    for method in [Method::POST, Method::TRACE] {
        let _ = route(&method, &uri, NODE);
    }
    if route(&Method::GET, &uri, NODE) != Route::ApiServer || is_of_a_pod(uri.path()) {
        return;
    }
    let plain = normalize(uri.path());
    let Ok(uri) = plain.parse::<Uri>() else { return };
    assert!(route(&Method::GET, &uri, NODE) != Route::Proxy || has_query_of_other_nodes(target), "{target} is {plain}");
});

/// The path as the most generous server reads it: decoded again and again, without empty segments and dots.
fn normalize(path: &str) -> String {
    let mut path = path.to_owned();
    loop {
        let decoded = percent_decode_str(&path).decode_utf8_lossy().replace('\\', "/");
        if decoded == path {
            break;
        }
        path = decoded;
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    // What was decoded is part of the path, not a query.
    format!("/{}", segments.join("/")).replace('?', "%3F").replace('#', "%23")
}

/// A path of a pod, a Service or a node: what follows is not read by the API server.
fn is_of_a_pod(path: &str) -> bool {
    normalize(path).contains("/proxy")
}

/// Of other nodes, only the labels are known: a list of nodes is of the API server unless it names the own one.
fn has_query_of_other_nodes(target: &str) -> bool {
    normalize(target.split('?').next().unwrap_or_default()).contains("/nodes")
}
