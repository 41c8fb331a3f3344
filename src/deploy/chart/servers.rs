//! The templates of the REST API, the controller and the node proxy.

use roster_engine::model::installed::{CONTROLLER, SHADOW};
use serde_json::{Value, json};

use super::{
    expression::{items_if, line, value},
    pods::{autoscaler, configured, limited, push, replicated},
    template::Template,
    webhook::from,
};
use crate::deploy::{
    ServerPermissions, controller, edge,
    names::{ADMIN_PORT, NAMESPACE},
    rest,
    workload::disruption_budget,
};

/// The condition of the REST API.
pub(super) const REST_ENABLED: &str = ".Values.rest.enabled";
/// The condition of the node proxy.
const EDGE_ENABLED: &str = ".Values.edge.enabled";
/// The mode of the controller.
const MODE: &str = ".Values.controller.mode";

/// The condition of a controller in one of these modes.
pub(super) fn in_modes(modes: &[&str]) -> String {
    let modes: Vec<String> = modes.iter().map(|mode| format!("{mode:?}")).collect();
    format!("and .Values.controller.enabled (has {MODE} (list {}))", modes.join(" "))
}

/// The condition of a controller that writes.
pub(super) fn writes() -> String {
    in_modes(&["replace", "beside"])
}

/// The condition of a controller in shadow.
pub(super) fn compares() -> String {
    in_modes(&["shadow", "shadow-events", "shadow-healing"])
}

/// The templates of the REST API.
pub(super) fn rest_api() -> Vec<(&'static str, Vec<Template>)> {
    let on = |document: Value| Template::new(REST_ENABLED, document);
    let when = |also: &str, document: Value| Template::new(format!("and {REST_ENABLED} {also}"), document);
    let limits = limited(&rest::meta(), &[(rest::PORT, from("restClients")), (ADMIN_PORT, from("metricsReaders"))]);
    let budget = disruption_budget(rest::REST, &rest::meta());
    vec![
        (
            "rest-deployment",
            vec![
                on(rest::account()),
                on(rest_deployment()),
                when(".Values.rest.podDisruptionBudget.enabled", budget),
                when(".Values.rest.autoscaling.enabled", autoscaler(&rest::meta(), "rest")),
            ],
        ),
        ("rest-service", vec![on(rest::service()), when(".Values.networkPolicy.enabled", limits)]),
    ]
}

fn rest_deployment() -> Value {
    let mut deployment = replicated(rest::deployment(), "rest", true);
    let pod = &mut deployment["spec"]["template"]["spec"];
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    for (name, flags) in [
        ("token", &["--token-file=/token/token"][..]),
        ("tls", &["--rest-tls-cert-file=/tls/tls.crt", "--rest-tls-private-key-file=/tls/tls.key"]),
    ] {
        let secret = format!(".Values.rest.{name}Secret");
        let source = json!({ "secretName": value(&format!("{secret} | quote")), "defaultMode": 0o440 });
        volumes.extend(items_if(&secret, [json!({ "name": name, "secret": source })]));
        let mount = json!({ "name": name, "mountPath": format!("/{name}"), "readOnly": true });
        mounts.extend(items_if(&secret, [mount]));
        push(&mut pod["containers"][0]["args"], items_if(&secret, flags.iter().map(|flag| json!(flag))));
    }
    let any = line("if or .Values.rest.tokenSecret .Values.rest.tlsSecret");
    pod[any.clone() + "volumes"] = volumes.into();
    pod["containers"][0][any + "volumeMounts"] = mounts.into();
    configured(deployment, "rest")
}

/// The templates of the controller and of its shadow.
pub(super) fn controllers(permissions: &ServerPermissions) -> Vec<(&'static str, Vec<Template>)> {
    let all_when = |condition: &str, all: Vec<Value>| {
        all.into_iter().map(|document| Template::new(condition, document)).collect::<Vec<_>>()
    };
    let also = |more: &str, condition: &str| format!("and {more} ({condition})");
    let (writes, compares) = (writes(), compares());
    let mut roles = all_when(&writes, controller::account().all(&permissions.controller));
    let shadow = controller::shadow_account();
    roles.extend(all_when(&compares, shadow.cluster_wide(&permissions.shadow.watching)));
    for (name, modes, permissions) in [
        ("roster-shadow-events", &["shadow-events", "shadow-healing"][..], &permissions.shadow.events),
        ("roster-shadow-healing", &["shadow-healing"], &permissions.shadow.healing),
    ] {
        roles.extend(all_when(&in_modes(modes), shadow.another_role(name, permissions)));
    }
    let limits = |name| limited(&controller::meta(name), &[(ADMIN_PORT, from("metricsReaders"))]);
    let budget = disruption_budget(CONTROLLER, &controller::meta(CONTROLLER));
    let with_policies = |condition: &str| also(".Values.networkPolicy.enabled", condition);
    let workloads = vec![
        Template::new(&writes, writing_deployment()),
        Template::new(also(".Values.controller.podDisruptionBudget.enabled", &writes), budget),
        Template::new(with_policies(&writes), limits(CONTROLLER)),
        Template::new(&compares, shadow_deployment()),
        Template::new(with_policies(&compares), limits(SHADOW)),
    ];
    vec![("controller-rbac", roles), ("controller-deployment", workloads)]
}

fn writing_deployment() -> Value {
    let mut deployment = replicated(controller::deployment(CONTROLLER, 2, &[]), "controller", false);
    let args = &mut deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    push(args, items_if(&format!("eq {MODE} \"beside\""), [json!("--beside")]));
    configured(deployment, "controller")
}

fn shadow_deployment() -> Value {
    let mut deployment = controller::deployment(SHADOW, 1, &[controller::ONLY_COMPARES]);
    let args = &mut deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    push(args, items_if(&format!("ne {MODE} \"shadow\""), [json!(controller::SENDS_EVENTS)]));
    let heals = json!(format!("--heal-after={}", value(".Values.controller.healAfter")));
    push(args, items_if(&format!("eq {MODE} \"shadow-healing\""), [heals]));
    configured(deployment, "controller")
}

/// The templates of the node proxy. It is in the namespace of the release.
pub(super) fn node_proxy(permissions: &ServerPermissions) -> Vec<(&'static str, Vec<Template>)> {
    let when = |also: &str, document: Value| Template::new(format!("and {EDGE_ENABLED} {also}"), document);
    let account = edge::account(NAMESPACE);
    let mut roles = Vec::new();
    // Only the scheme of OpenYurt reads pools of nodes.
    for (comparison, permissions) in [("ne", &permissions.edge), ("eq", &permissions.edge_of_openyurt)] {
        let condition = format!("({comparison} .Values.edge.scheme \"openyurt\")");
        roles.extend(account.cluster_wide(permissions).into_iter().map(|document| when(&condition, document)));
    }
    let more = account.another_role(edge::CLIENT_CERTIFICATES, &permissions.edge_with_client_certificates);
    roles.extend(more.into_iter().map(|document| when(".Values.edge.clientCAConfigMap", document)));
    vec![("edge-rbac", roles), ("edge-daemonset", vec![Template::new(EDGE_ENABLED, daemon_set())])]
}

fn daemon_set() -> Value {
    let mut set = edge::daemon_set();
    set["metadata"]["namespace"] = NAMESPACE.into();
    let pod = &mut set["spec"]["template"]["spec"];
    let client_ca = ".Values.edge.clientCAConfigMap";
    pod["volumes"][0]["secret"]["secretName"] = json!(value(".Values.edge.tlsSecret | quote"));
    let volume = json!({ "name": "client-ca", "configMap": { "name": value(&format!("{client_ca} | quote")) } });
    push(&mut pod["volumes"], items_if(client_ca, [volume]));
    let container = &mut pod["containers"][0];
    let mount = json!({ "name": "client-ca", "mountPath": edge::CLIENT_CA_FOLDER, "readOnly": true });
    push(&mut container["volumeMounts"], items_if(client_ca, [mount]));
    for flag in container["args"].as_array_mut().into_iter().flatten() {
        if flag.as_str().is_some_and(|flag| flag.starts_with("--scheme=")) {
            *flag = json!(format!("--scheme={}", value(".Values.edge.scheme")));
        }
    }
    push(&mut container["args"], items_if(client_ca, [json!(edge::client_ca_flag())]));
    for variable in container["env"].as_array_mut().into_iter().flatten() {
        let given = match variable["name"].as_str() {
            Some("KUBERNETES_SERVICE_HOST") => "include \"roster.apiServerHost\" . | quote",
            Some("KUBERNETES_SERVICE_PORT") => ".Values.edge.apiServer.port | quote",
            _ => continue,
        };
        *variable = json!({ "name": variable["name"], "value": value(given) });
    }
    configured(set, "edge")
}
