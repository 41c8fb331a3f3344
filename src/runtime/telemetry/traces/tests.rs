use axum::http::{HeaderMap, HeaderValue};
use tokio::sync::mpsc::{self, Receiver};

use super::{
    CallerSampling::{Decides, IsLimited},
    Span, Tracer,
    otlp_json::{self, TraceResource},
    span::{FinishedSpan, SpanValue},
    trace_metrics::TraceMetrics,
    trace_parent::{TRACEPARENT, TRACESTATE, TraceParent},
    tracer::Queued,
};
use crate::runtime::{clock::Clock, telemetry::registry::MetricsRegistry};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn tracer(room: usize, share: f64) -> (Tracer, Receiver<Queued>, MetricsRegistry) {
    let (metrics, registry) = (TraceMetrics::default(), MetricsRegistry::default());
    registry.register(|registry| metrics.register(registry));
    let (sender, queue) = mpsc::channel(room);
    (Tracer::new(sender, metrics, share, Clock::system()), queue, registry)
}

fn called(flags: &str) -> HeaderMap {
    let value = format!("00-{TRACE}-00f067aa0ba902b7-{flags}");
    [(TRACEPARENT, HeaderValue::try_from(value).unwrap())].into_iter().collect()
}

fn spans(queue: &mut Receiver<Queued>) -> Vec<FinishedSpan> {
    let mut spans = Vec::new();
    while let Ok(Queued::Span(span)) = queue.try_recv() {
        spans.push(*span);
    }
    spans
}

#[test]
fn the_caller_decides_what_is_recorded_or_the_share_does() {
    for (name, headers, sampling, share, want) in [
        ("an API server records", called("01"), Decides, 0.0, true),
        ("an API server does not", called("00"), Decides, 1.0, false),
        ("a client records", called("01"), IsLimited, 1.0, true),
        ("a client records more than the share", called("01"), IsLimited, 0.0, false),
        ("a client does not", called("00"), IsLimited, 1.0, false),
        ("nobody calls", HeaderMap::new(), Decides, 1.0, true),
        ("nobody calls, and nothing is recorded", HeaderMap::new(), Decides, 0.0, false),
    ] {
        let (tracer, mut queue, _) = tracer(8, share);
        let span = tracer.request(&headers, sampling, || "POST /validate".to_owned());
        assert_eq!(span.is_recorded(), want, "{name}");
        // A log line tells the trace in either case.
        let trace = span.trace_id().unwrap();
        assert_eq!(format!("{trace}") == TRACE, !headers.is_empty(), "{name}");
        drop((span.child("decide"), span));
        assert_eq!(spans(&mut queue).len(), if want { 2 } else { 0 }, "{name}");
    }
    // A client gets no more of the share by sending one trace again and again.
    let of_client = |tracer: &Tracer| tracer.request(&called("01"), IsLimited, || "POST /v1/plan".to_owned());
    for begin in [of_client, |tracer: &Tracer| tracer.work("sync")] {
        let (tracer, mut queue, _) = tracer(1000, 0.25);
        for _ in 0..1000 {
            drop(begin(&tracer));
        }
        assert!((150..350).contains(&spans(&mut queue).len()));
    }
}

#[test]
fn a_part_belongs_to_the_work_and_the_work_to_its_caller() {
    let (tracer, mut queue, _) = tracer(8, 0.0);
    let span = tracer.request(&called("01"), Decides, || "GET".to_owned());
    span.rename(|| "list services".to_owned());
    let part = span.child("decide");
    part.set("roster.findings", 2_usize);
    drop(part);
    span.set("long", "é".repeat(200).as_str());
    let mut sent = called("00");
    span.propagate(&mut sent);
    span.end();
    // What comes late changes nothing.
    span.set("late", true);
    drop((span.child("late"), span));
    let [part, work]: [FinishedSpan; 2] = spans(&mut queue).try_into().unwrap();
    assert_eq!((part.parent, work.name.as_str(), part.name.as_str()), (Some(work.id), "list services", "decide"));
    assert_eq!(work.parent.unwrap().to_string(), "00f067aa0ba902b7");
    assert_eq!(sent[TRACEPARENT], format!("00-{TRACE}-{}-01", work.id).as_str());
    assert_eq!(part.attributes, [("roster.findings", SpanValue::Number(2))]);
    assert_eq!(work.attributes, [("long", SpanValue::Text("é".repeat(128)))]);
    assert!(work.began <= part.began && part.ended <= work.ended);
    let resource = TraceResource { service: "roster", instance: None };
    let body = String::from_utf8(otlp_json::body(&resource, [&part].into_iter()).unwrap()).unwrap();
    for piece in [
        format!(r#""traceId":"{TRACE}","spanId":"{}","parentSpanId":"{}""#, part.id, work.id),
        format!(r#""startTimeUnixNano":"{}""#, part.began),
        r#""attributes":[{"key":"roster.findings","value":{"intValue":"2"}}],"status":{}"#.to_owned(),
    ] {
        assert!(body.contains(&piece), "{piece} is not in {body}");
    }
}

#[test]
fn a_state_goes_on_with_its_parent_only() {
    let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
    for (parents, share, names_parent, has_state) in [
        (&[good.as_str()] as &[&str], 1.0, true, true),
        (&[good.as_str()], 0.0, true, true),
        (&["00-what-is-this"], 1.0, true, false),
        (&["00-what-is-this"], 0.0, false, false),
        (&[good.as_str(), good.as_str()], 1.0, true, false),
        (&[good.as_str(), good.as_str()], 0.0, false, false),
        (&[], 1.0, true, false),
        (&[], 0.0, false, false),
    ] {
        let mut headers: HeaderMap =
            parents.iter().map(|parent| (TRACEPARENT, HeaderValue::from_str(parent).unwrap())).collect();
        headers.append(TRACESTATE, HeaderValue::from_static("vendor=1"));
        headers.append(TRACESTATE, HeaderValue::from_static("other=2"));
        let (tracer, _queue, _) = tracer(8, share);
        tracer.request(&headers, IsLimited, || "GET".to_owned()).propagate(&mut headers);
        assert_eq!(TraceParent::of(&headers).is_some(), names_parent, "{parents:?} {share}");
        assert_eq!(headers.contains_key(TRACEPARENT), names_parent, "{parents:?} {share}");
        assert_eq!(headers.contains_key(TRACESTATE), has_state, "{parents:?} {share}");
    }
}

#[test]
fn a_full_queue_costs_spans_and_nobody_waits() {
    let (tracer, mut queue, registry) = tracer(2, 1.0);
    for _ in 0..5 {
        drop(tracer.work("sync"));
    }
    assert_eq!(spans(&mut queue).len(), 2);
    let text = registry.encode().unwrap();
    assert!(text.contains("roster_trace_spans_total{result=\"queue_full\"} 3"), "{text}");
}

#[test]
fn without_a_collector_there_is_nothing() {
    let tracer = Tracer::default();
    let span = tracer.request(&called("01"), Decides, || panic!("the name is not needed"));
    span.rename(|| panic!("the name is not needed"));
    let mut headers = HeaderMap::new();
    span.child("decide").propagate(&mut headers);
    assert!(!tracer.is_on() && !span.is_recorded() && span.trace_id().is_none() && headers.is_empty());
    assert!(Span::of(&axum::http::Extensions::new()).trace_id().is_none());
}
