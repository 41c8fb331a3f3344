//! The templates of the webhook, and of the CRD of policies.

use serde_json::{Value, json};

use super::{
    expression::{items_if, line, value},
    pods::{autoscaler, configured, limited, push, replicated},
    template::Template,
};
use crate::deploy::{
    ISSUING, ServerPermissions, account, account_policy,
    names::{ADMIN_PORT, NAME, WEBHOOK_PORT, meta},
    tls, webhooks, workload,
};

/// The condition of all of it.
pub(super) const ENABLED: &str = ".Values.webhook.enabled";
/// The source of the certificate.
const SOURCE: &str = ".Values.webhook.certificates.source";
/// The folder of the policies of the chart, in a container.
const POLICIES: &str = "/policies";

/// The templates, by the names of their files.
pub(super) fn templates(permissions: &ServerPermissions) -> Vec<(&'static str, Vec<Template>)> {
    let on = |document: Value| Template::new(ENABLED, document);
    let when = |also: &str, document: Value| Template::new(format!("and {ENABLED} {also}"), document);
    let budget = workload::disruption_budget(NAME, &meta(NAME));
    let limits = limited(&meta(NAME), &[(WEBHOOK_PORT, from("apiServers")), (ADMIN_PORT, from("metricsReaders"))]);
    vec![
        ("crd", vec![when(".Values.crds.enabled", crd())]),
        ("webhook-rbac", roles(permissions)),
        ("webhook-account-policy", account_policy::all().into_iter().map(on).collect()),
        ("webhook-policies", vec![on(policies())]),
        (
            "webhook-deployment",
            vec![
                on(deployment()),
                when(".Values.webhook.podDisruptionBudget.enabled", budget),
                when(".Values.webhook.autoscaling.enabled", autoscaler(&meta(NAME), "webhook")),
            ],
        ),
        ("webhook-service", vec![on(workload::service()), when(".Values.networkPolicy.enabled", limits)]),
        (
            "webhook-certificate",
            vec![
                when(
                    &format!("(eq {SOURCE} \"cert-manager\") (not .Values.webhook.certificates.issuerRef)"),
                    tls::issuer(),
                ),
                when(&format!("(eq {SOURCE} \"cert-manager\")"), certificate()),
            ],
        ),
        ("webhook-configurations", vec![on(called(webhooks::mutating())), on(called(validating()))]),
    ]
}

/// The permissions. Without certificates of its own, the webhook may write nothing but the status of policies.
fn roles(permissions: &ServerPermissions) -> Vec<Template> {
    let issues = format!("and {ENABLED} (eq {SOURCE} \"roster\")");
    let always =
        account().cluster_wide(&permissions.webhook).into_iter().map(|document| Template::new(ENABLED, document));
    let issuing = account().another_role(ISSUING, &permissions.webhook_that_issues);
    always.chain(issuing.into_iter().map(|document| Template::new(&issues, document))).collect()
}

/// Who may connect, as the values say.
pub(super) fn from(name: &str) -> Value {
    json!(super::expression::yaml(&format!(".Values.networkPolicy.{name}")))
}

/// The `caBundle` of a `clientConfig`, if it is the user's. Roster and cert-manager write it themselves.
fn bundle(client: &mut Value) {
    let key = line(&format!("if eq {SOURCE} \"secret\"")) + "caBundle";
    client[key] = json!(value("include \"roster.caBundle\" ."));
}

/// Lets cert-manager write every `caBundle`.
fn inject(metadata: &mut Value) {
    let key = line(&format!("if eq {SOURCE} \"cert-manager\"")) + "annotations";
    metadata[key] = tls::injected();
}

/// The CRD. Helm keeps it: with it, all policies would be deleted.
fn crd() -> Value {
    let mut crd = webhooks::crd();
    bundle(&mut crd["spec"]["conversion"]["webhook"]["clientConfig"]);
    let mut annotations = json!({ "helm.sh/resource-policy": "keep" });
    for (key, place) in tls::injected().as_object().into_iter().flatten() {
        annotations[line(&format!("if eq {SOURCE} \"cert-manager\"")) + key] = place.clone();
    }
    crd["metadata"]["annotations"] = annotations;
    crd
}

/// A webhook configuration, whose webhooks have a `caBundle` from somewhere.
fn called(mut configuration: Value) -> Value {
    inject(&mut configuration["metadata"]);
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        bundle(&mut webhook["clientConfig"]);
    }
    configuration
}

/// The validating configuration. If API servers refuse what was not validated, the cluster must not depend on it.
fn validating() -> Value {
    let mut configuration = webhooks::validating();
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        webhook["failurePolicy"] = json!(value(".Values.webhook.failurePolicy"));
        let condition = "eq .Values.webhook.failurePolicy \"Fail\"";
        push(&mut webhook["matchConditions"], items_if(condition, [webhooks::not_of_the_system()]));
    }
    configuration
}

/// The policies of the chart: the mode of rules that no policy sets.
fn policies() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta("roster-policies"),
        "data": { "policies.yaml": value("include \"roster.policies\" . | quote") },
    })
}

fn certificate() -> Value {
    let mut certificate = tls::certificate();
    certificate["spec"]["issuerRef"] = json!(line(&format!(
        "toYaml (default (dict \"name\" \"{NAME}\") .Values.webhook.certificates.issuerRef) | nindent @"
    )));
    certificate
}

fn deployment() -> Value {
    let mut deployment = replicated(workload::deployment(), "webhook", true);
    let pod = &mut deployment["spec"]["template"]["spec"];
    let in_files = format!("ne {SOURCE} \"roster\"");
    let mut volumes = vec![json!({ "name": "policies", "configMap": { "name": "roster-policies" } })];
    volumes.extend(items_if(&in_files, [tls::volume(&value("include \"roster.tlsSecret\" ."))]));
    pod["volumes"] = volumes.into();
    let container = &mut pod["containers"][0];
    let mut mounts = vec![json!({ "name": "policies", "mountPath": POLICIES, "readOnly": true })];
    mounts.extend(items_if(&in_files, [tls::mount()]));
    container["volumeMounts"] = mounts.into();
    if let Some(flags) = container["args"].as_array_mut() {
        flags.retain(|flag| flag != workload::SELF_SIGNED);
        flags.extend(items_if(&format!("eq {SOURCE} \"roster\""), [json!(workload::SELF_SIGNED)]));
        flags.extend(items_if(&in_files, tls::FLAGS.map(Value::from)));
        flags.push(json!(format!("--policy={POLICIES}/policies.yaml")));
    }
    configured(deployment, "webhook")
}
