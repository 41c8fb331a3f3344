//! The attacks, as a table.

mod answers;
mod connections;
mod floods;
mod requests;
mod work;

use crate::attacker::Attacker;

/// An attack.
#[derive(Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether the server has the REST API as well.
    pub(crate) rest: bool,
    /// Starts the clients, on the runtime of the caller.
    pub(crate) start: fn(&Attacker),
}

/// All attacks.
pub(crate) const ALL: &[Attack] = &[
    Attack {
        name: "heads-over-http2",
        about: "140 HTTP/2 connections with 128 streams, each with the head of POST /validate only",
        rest: false,
        start: requests::heads_over_http2,
    },
    Attack {
        name: "idle-and-silent",
        about: "1015 connections that had one 404, and 2800 silent connections per second",
        rest: false,
        start: connections::idle_and_silent,
    },
    Attack {
        name: "large-slices",
        about: "60 clients with slices of 1.2 MB that must be refused within ?timeout=1s",
        rest: false,
        start: work::large_slices,
    },
    Attack {
        name: "untaken-conversions-h2",
        about: "conversions of 4 MiB on HTTP/2 streams whose windows stay closed, or open by a byte per second",
        rest: false,
        start: answers::conversions_over_http2,
    },
    Attack {
        name: "untaken-conversions-h1",
        about: "conversions of 4 MiB over HTTP/1.1, whose answers are read slowly or not at all",
        rest: false,
        start: answers::conversions_over_http1,
    },
    Attack {
        name: "untaken-plans-h2",
        about: "plans on HTTP/2 streams whose windows stay closed, or open by a byte per second",
        rest: true,
        start: answers::plans_over_http2,
    },
    Attack {
        name: "untaken-plans-h1",
        about: "plans over HTTP/1.1, whose answers are read slowly or not at all",
        rest: true,
        start: answers::plans_over_http1,
    },
    Attack {
        name: "admin-connections",
        about: "1030 connections to the admin listener that had one answer",
        rest: false,
        start: connections::admin,
    },
    Attack { name: "slow-heads", about: "1100 heads of one byte per second", rest: false, start: requests::slow_heads },
    Attack {
        name: "dripped-bodies",
        about: "1100 bodies of one byte per second",
        rest: false,
        start: requests::dripped_bodies,
    },
    Attack {
        name: "dripped-large-bodies",
        about: "250 bodies of one byte per second after 1.5 MiB",
        rest: false,
        start: requests::dripped_large_bodies,
    },
    Attack {
        name: "dripped-streams",
        about: "60 HTTP/2 connections with 128 bodies of one byte per second",
        rest: false,
        start: requests::dripped_streams,
    },
    Attack {
        name: "rapid-reset",
        about: "requests over HTTP/2 that are reset at once",
        rest: false,
        start: floods::resets,
    },
    Attack {
        name: "continuations",
        about: "heads over HTTP/2 that never end, in empty pieces",
        rest: false,
        start: floods::continuations,
    },
    Attack {
        name: "large-continuations",
        about: "heads over HTTP/2 that never end, in large pieces",
        rest: false,
        start: floods::large_continuations,
    },
    Attack {
        name: "settings",
        about: "settings over HTTP/2, as fast as possible",
        rest: false,
        start: floods::settings,
    },
    Attack { name: "pings", about: "pings over HTTP/2, as fast as possible", rest: false, start: floods::pings },
    Attack {
        name: "conversions",
        about: "75 clients with conversions of 2 MiB",
        rest: false,
        start: work::conversions,
    },
    Attack {
        name: "handshakes",
        about: "full TLS handshakes, as fast as possible",
        rest: false,
        start: work::handshakes,
    },
    Attack {
        name: "readyz",
        about: "32 clients with GET /readyz, as fast as possible",
        rest: false,
        start: work::probes,
    },
    Attack {
        name: "unfinished-handshakes",
        about: "2000 TLS handshakes that stop after half of the first message",
        rest: false,
        start: connections::unfinished_handshakes,
    },
    Attack {
        name: "large-heads-over-http2",
        about: "140 HTTP/2 connections with 128 streams, each with a head of 48 KB and no body",
        rest: false,
        start: requests::large_heads_over_http2,
    },
    Attack {
        name: "empty-data",
        about: "bodies over HTTP/2 of empty pieces, as fast as possible",
        rest: false,
        start: floods::empty_data,
    },
    Attack {
        name: "priorities",
        about: "priorities over HTTP/2, as fast as possible",
        rest: false,
        start: floods::priorities,
    },
    Attack {
        name: "pipelined",
        about: "small requests over HTTP/1.1, sent without reading the answers",
        rest: false,
        start: work::pipelined,
    },
    Attack {
        name: "expanding-plans",
        about: "8 clients with compressed plans whose objects take hundreds of megabytes",
        rest: true,
        start: work::expanding_plans,
    },
    Attack {
        name: "expanding-clusters",
        about: "8 clients with compressed clusters whose objects take hundreds of megabytes",
        rest: true,
        start: work::expanding_clusters,
    },
];
