//! The attacks, as a table.

mod answers;
mod connections;
mod edge;
mod floods;
mod products;
mod requests;
mod work;

use crate::{attacker::Attacker, site::Site};

/// An attack.
#[derive(Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What it attacks, each in a run of its own.
    pub(crate) sites: &'static [Site],
    /// Starts the clients, on the runtime of the caller.
    pub(crate) start: fn(&Attacker),
}

const WEBHOOK: &[Site] = &[Site::Webhook];
const REST: &[Site] = &[Site::Rest];
const CLUSTER: &[Site] = &[Site::Cluster];
const POLICIES: &[Site] = &[Site::Policies];
const KEYS: &[Site] = &[Site::Keys];
const EDGE: &[Site] = &[Site::Edge];
const RESTARTED: &[Site] = &[Site::Restarted];
const BOTH: &[Site] = &[Site::Webhook, Site::Edge];

/// All attacks.
pub(crate) const ALL: &[Attack] = &[
    Attack {
        name: "heads-over-http2",
        about: "140 HTTP/2 connections with 128 streams, each with the head of a POST only",
        sites: BOTH,
        start: requests::heads_over_http2,
    },
    Attack {
        name: "idle-and-silent",
        about: "1015 connections that had one 404, and 2800 silent connections per second",
        sites: BOTH,
        start: connections::idle_and_silent,
    },
    Attack {
        name: "large-slices",
        about: "60 clients with slices of 1.2 MB that must be refused within ?timeout=1s",
        sites: WEBHOOK,
        start: work::large_slices,
    },
    Attack {
        name: "untaken-conversions-h2",
        about: "conversions of 4 MiB on HTTP/2 streams whose windows stay closed, or open by a byte per second",
        sites: WEBHOOK,
        start: answers::conversions_over_http2,
    },
    Attack {
        name: "untaken-conversions-h1",
        about: "conversions of 4 MiB over HTTP/1.1, whose answers are read slowly or not at all",
        sites: WEBHOOK,
        start: answers::conversions_over_http1,
    },
    Attack {
        name: "untaken-plans-h2",
        about: "plans on HTTP/2 streams whose windows stay closed, or open by a byte per second",
        sites: REST,
        start: answers::plans_over_http2,
    },
    Attack {
        name: "untaken-plans-h1",
        about: "plans over HTTP/1.1, whose answers are read slowly or not at all",
        sites: REST,
        start: answers::plans_over_http1,
    },
    Attack {
        name: "slowly-read-conversions",
        about: "120 clients of /v1/convert over HTTP/2 that read answers of 1 MiB at 33 KB per second",
        sites: REST,
        start: answers::slowly_read_conversions,
    },
    Attack {
        name: "admin-connections",
        about: "1030 connections to the admin listener that had one answer",
        sites: BOTH,
        start: connections::admin,
    },
    Attack { name: "slow-heads", about: "1100 heads of one byte per second", sites: BOTH, start: requests::slow_heads },
    Attack {
        name: "dripped-bodies",
        about: "1100 bodies of one byte per second",
        sites: BOTH,
        start: requests::dripped_bodies,
    },
    Attack {
        name: "dripped-large-bodies",
        about: "250 bodies of one byte per second after 1.5 MiB",
        sites: BOTH,
        start: requests::dripped_large_bodies,
    },
    Attack {
        name: "dripped-streams",
        about: "60 HTTP/2 connections with 128 bodies of one byte per second",
        sites: BOTH,
        start: requests::dripped_streams,
    },
    Attack {
        name: "rapid-reset",
        about: "requests over HTTP/2 that are reset at once",
        sites: BOTH,
        start: floods::resets,
    },
    Attack {
        name: "continuations",
        about: "heads over HTTP/2 that never end, in empty pieces",
        sites: BOTH,
        start: floods::continuations,
    },
    Attack {
        name: "large-continuations",
        about: "heads over HTTP/2 that never end, in large pieces",
        sites: BOTH,
        start: floods::large_continuations,
    },
    Attack {
        name: "settings",
        about: "settings over HTTP/2, as fast as possible",
        sites: BOTH,
        start: floods::settings,
    },
    Attack { name: "pings", about: "pings over HTTP/2, as fast as possible", sites: BOTH, start: floods::pings },
    Attack {
        name: "conversions",
        about: "75 clients with conversions of 2 MiB",
        sites: WEBHOOK,
        start: work::conversions,
    },
    Attack {
        name: "handshakes",
        about: "full TLS handshakes, as fast as possible",
        sites: BOTH,
        start: work::handshakes,
    },
    Attack {
        name: "readyz",
        about: "32 clients with GET /readyz, as fast as possible",
        sites: BOTH,
        start: work::probes,
    },
    Attack {
        name: "unfinished-handshakes",
        about: "2000 TLS handshakes that stop after half of the first message",
        sites: BOTH,
        start: connections::unfinished_handshakes,
    },
    Attack {
        name: "large-heads-over-http2",
        about: "140 HTTP/2 connections with 128 streams, each with a head of 48 KB and no body",
        sites: BOTH,
        start: requests::large_heads_over_http2,
    },
    Attack {
        name: "empty-data",
        about: "bodies over HTTP/2 of empty pieces, as fast as possible",
        sites: BOTH,
        start: floods::empty_data,
    },
    Attack {
        name: "priorities",
        about: "priorities over HTTP/2, as fast as possible",
        sites: BOTH,
        start: floods::priorities,
    },
    Attack {
        name: "pipelined",
        about: "genuine requests over HTTP/1.1, sent without reading the answers",
        sites: BOTH,
        start: work::pipelined,
    },
    Attack {
        name: "expanding-plans",
        about: "8 clients with compressed plans whose objects take hundreds of megabytes",
        sites: REST,
        start: work::expanding_plans,
    },
    Attack {
        name: "expanding-clusters",
        about: "8 clients with compressed clusters whose objects take hundreds of megabytes",
        sites: REST,
        start: work::expanding_clusters,
    },
    Attack {
        name: "unread-lists-h2",
        about: "lists of 3 MB on HTTP/2 streams whose windows stay closed, or open by a byte per second",
        sites: EDGE,
        start: edge::unread_lists_over_http2,
    },
    Attack {
        name: "unread-lists-h1",
        about: "lists of 3 MB over HTTP/1.1, which are read slowly or not at all",
        sites: EDGE,
        start: edge::unread_lists_over_http1,
    },
    Attack {
        name: "unread-protobuf-lists-h2",
        about: "lists as protobuf on HTTP/2 streams whose windows stay closed, or open by a byte per second",
        sites: EDGE,
        start: edge::unread_protobuf_lists_over_http2,
    },
    Attack {
        name: "unread-protobuf-lists-h1",
        about: "lists as protobuf over HTTP/1.1, which are read slowly or not at all",
        sites: EDGE,
        start: edge::unread_protobuf_lists_over_http1,
    },
    Attack {
        name: "short-protobuf-lists",
        about: "lists as protobuf over HTTP/2 that are reset after the first bytes, as fast as possible",
        sites: EDGE,
        start: edge::short_protobuf_lists,
    },
    Attack {
        name: "unread-watches-h2",
        about: "1600 watches over HTTP/2 with eight known tokens, which are never read",
        sites: EDGE,
        start: edge::unread_watches_over_http2,
    },
    Attack {
        name: "unread-watches-h1",
        about: "1600 watches over HTTP/1.1 with eight known tokens, which are never read",
        sites: EDGE,
        start: edge::unread_watches_over_http1,
    },
    Attack {
        name: "idle-watches",
        about: "1600 watches over HTTP/1.1 of a namespace without objects, with eight known tokens",
        sites: EDGE,
        start: edge::idle_watches,
    },
    Attack {
        name: "short-watches",
        about: "watches over HTTP/2 that are reset after the first bytes, as fast as possible",
        sites: EDGE,
        start: edge::short_watches,
    },
    Attack {
        name: "random-tokens",
        about: "lists over HTTP/2, each with another unknown token, as fast as possible",
        sites: EDGE,
        start: edge::random_tokens,
    },
    Attack {
        name: "slow-tokens",
        about: "the same on 1600 connections with HTTP/1.1; the API server takes a second to answer for a token",
        sites: EDGE,
        start: edge::slow_tokens,
    },
    Attack {
        name: "many-names",
        about: "known tokens, one of which may read nothing, ask for another Service each time, as fast as possible",
        sites: EDGE,
        start: edge::many_names,
    },
    Attack {
        name: "slow-own-review",
        about: "lists and watches over HTTP/2 with revoked tokens whose reviews take 5 s or fail, as fast as possible",
        sites: RESTARTED,
        start: edge::slow_own_review,
    },
    Attack {
        name: "proxied",
        about: "pods over HTTP/2, for which the API server takes a second to refuse the token",
        sites: EDGE,
        start: edge::proxied,
    },
    Attack {
        name: "tricks",
        about: "reads without credentials, with tricks in the path, with headers of a proxy, and too large",
        sites: EDGE,
        start: edge::tricks,
    },
    Attack {
        name: "upgrades",
        about: "600 upgraded connections with a known token, which stay open",
        sites: EDGE,
        start: edge::upgrades,
    },
    Attack {
        name: "duplicate-ports",
        about: "8 clients with slices of 1000 addresses and 5000 ports, beside a stored one of 1000 addresses and 20 000 ports",
        sites: CLUSTER,
        start: products::duplicate_ports,
    },
    Attack {
        name: "duplicate-slices",
        about: "8 clients with slices of one address and 5000 ports, beside 30 stored ones with that address and 20 000 ports",
        sites: CLUSTER,
        start: products::duplicate_slices,
    },
    Attack {
        name: "named-ports",
        about: "8 clients with Services of 3000 named ports and 4000 labels of their pods",
        sites: CLUSTER,
        start: products::named_ports,
    },
    Attack {
        name: "leaving-reviews",
        about: "8 clients that leave soon after a review of duplicate-ports, and come again",
        sites: CLUSTER,
        start: products::leaving_reviews,
    },
    Attack {
        name: "wide-slices",
        about: "32 clients with slices of 4000 labels, and 60 endpoints with 120 hints each",
        sites: WEBHOOK,
        start: products::wide_slices,
    },
    Attack {
        name: "tiny-conversions",
        about: "8 clients with conversions of 16 MiB of the smallest objects",
        sites: WEBHOOK,
        start: products::tiny_conversions,
    },
    Attack {
        name: "denied-ranges",
        about: "8 clients with Endpoints of 90 001 addresses, the last one in one of 4096 denied ranges",
        sites: POLICIES,
        start: products::denied_ranges,
    },
    Attack {
        name: "small-denied-ranges",
        about: "32 clients with Endpoints of 13 001 addresses, in less than 256 KiB",
        sites: POLICIES,
        start: products::small_denied_ranges,
    },
    Attack {
        name: "ranges",
        about: "2 clients with reviews of 200 000 external IPs and 200 000 denied ranges",
        sites: REST,
        start: products::ranges,
    },
    Attack {
        name: "leaving-calls",
        about: "8 clients that leave soon after such a review, and come again",
        sites: REST,
        start: products::leaving_calls,
    },
    Attack {
        name: "keys-views",
        about: "8 clients with views of 20 000 topology keys and 20 000 endpoints",
        sites: REST,
        start: products::keys_views,
    },
    Attack {
        name: "ports-views",
        about: "8 clients with views of 20 000 ports and 20 000 slices, each of another port",
        sites: REST,
        start: products::ports_views,
    },
    Attack {
        name: "container-ports",
        about: "8 clients that ask to explain 3000 named ports of 30 pods with as many container ports",
        sites: REST,
        start: products::container_ports,
    },
    Attack {
        name: "near-misses",
        about: "8 clients that ask why 1000 pods lack one of 400 labels",
        sites: REST,
        start: products::near_misses,
    },
    Attack {
        name: "wrong-objects",
        about: "8 clients with plans of 490 000 objects that are none",
        sites: REST,
        start: products::wrong_objects,
    },
    Attack {
        name: "dripped-clusters",
        about: "24 clusters of one byte per second after 12 MiB",
        sites: REST,
        start: requests::dripped_clusters,
    },
    Attack {
        name: "yaml",
        about: "16 clients with 64 MiB of YAML that is comments, or empty documents",
        sites: REST,
        start: products::yaml,
    },
    Attack {
        name: "yaml-aliases",
        about: "8 clients with YAML that merges a mapping of 10 000 keys again and again",
        sites: REST,
        start: products::aliases,
    },
    Attack {
        name: "topology-keys",
        about: "8 watches of 20 000 endpoints of a Service with 40 000 topology keys, of which something changes all the time",
        sites: KEYS,
        start: products::topology_keys,
    },
    Attack {
        name: "label-selectors",
        about: "8 clients with selectors of 3000 values",
        sites: EDGE,
        start: products::label_selectors,
    },
];
