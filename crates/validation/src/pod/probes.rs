//! Probes and lifecycle handlers of a container.

use roster_engine::reason::Reason;

use super::PodPlace;
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, NOT_NEGATIVE, Presence, check_fields},
    values::{is_port, not_port_name},
};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const LIFECYCLE_HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];

const PROBE: &FieldRules = &[
    ("initialDelaySeconds", Presence::Optional, NOT_NEGATIVE),
    ("timeoutSeconds", Presence::Optional, NOT_NEGATIVE),
    ("periodSeconds", Presence::Optional, NOT_NEGATIVE),
    ("successThreshold", Presence::Optional, NOT_NEGATIVE),
    ("failureThreshold", Presence::Optional, NOT_NEGATIVE),
    ("terminationGracePeriodSeconds", Presence::Optional, FieldRule::Range(1, i64::MAX)),
];

/// How long a pod has to end, unless it says otherwise.
const GRACE_SECONDS: i64 = 30;

/// Checks the probes and the lifecycle of a container of a pod with this spec.
pub(super) fn check(container: &Field<'_, '_>, spec: &Field<'_, '_>, place: PodPlace, faults: &mut Faults<'_>) {
    for name in PROBES {
        let probe = container.key(name);
        if probe.is_set() {
            check_probe(&probe, name == "readinessProbe", faults);
        }
    }
    let lifecycle = container.key("lifecycle");
    let grace = spec.key("terminationGracePeriodSeconds").number().unwrap_or(GRACE_SECONDS);
    // An API server stores a negative one as 1, in a Pod only.
    let grace = if grace < 0 && place == PodPlace::Pod { 1 } else { grace };
    for name in ["postStart", "preStop"] {
        let handler = lifecycle.key(name);
        if handler.is_set() {
            check_handler(&handler, LIFECYCLE_HANDLERS, faults);
            let sleep = handler.key("sleep");
            FieldRule::Range(0, grace).check(&sleep.key("seconds"), Presence::Optional, faults);
        }
    }
}

/// Checks an init container that ends before the others start.
pub(super) fn check_absent(container: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for name in PROBES.into_iter().chain(["lifecycle"]) {
        let field = container.key(name);
        if field.is_set() {
            field.refuse("an init container needs restartPolicy: Always to have it", faults);
        }
    }
}

fn check_probe(probe: &Field<'_, '_>, is_readiness: bool, faults: &mut Faults<'_>) {
    check_handler(probe, HANDLERS, faults);
    check_fields(probe, PROBE, faults);
    let successes = probe.key("successThreshold");
    let grace = probe.key("terminationGracePeriodSeconds");
    if is_readiness && grace.is_set() {
        grace.refuse("a readinessProbe cannot have it", faults);
    } else if !is_readiness && successes.number().is_some_and(|n| n > 1) {
        successes.refuse("it must be 1: only a readinessProbe can need more successes", faults);
    }
}

fn check_handler(handler: &Field<'_, '_>, kinds: [&'static str; 4], faults: &mut Faults<'_>) {
    let mut given = kinds.into_iter().filter(|kind| handler.key(kind).is_set());
    if given.next().is_none() {
        handler.require(format!("it needs one of {}", kinds.join(", ")), faults);
    }
    for more in given {
        handler.key(more).refuse("there is another handler already", faults);
    }
    let (exec, http, socket) = (handler.key("exec"), handler.key("httpGet"), handler.key("tcpSocket"));
    let command = exec.key("command");
    if exec.is_set() && command.is_empty() {
        command.require("it needs a command", faults);
    }
    FieldRule::OneOf(&["HTTP", "HTTPS"]).check(&http.key("scheme"), Presence::Optional, faults);
    for header in http.key("httpHeaders").items() {
        let name = header.key("name");
        FieldRule::Text.check(&name, Presence::Required, faults);
        if !name.text().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            name.refuse(format!("{} is not the name of a header", quoted(name.text())), faults);
        }
    }
    for target in [http, socket, handler.key("grpc")] {
        check_port(&target.key("port"), faults);
    }
}

/// The container may have no port of that name.
fn check_port(port: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if let Some(number) = port.number().filter(|n| !is_port(*n)) {
        faults.add(Reason::InvalidPort, port.at, format!("port {number} is not from 1 to 65535"));
    } else if let Some(name) = port.as_text()
        && let Some(why) = not_port_name(name)
    {
        port.refuse(format!("{} is not the name of a container port: {why}", quoted(name)), faults);
    }
}
