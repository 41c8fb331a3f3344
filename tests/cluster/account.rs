//! Roster's own service account at a real API server: what it needs is enough, and nothing else passes, even for a thief of its
//! token.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use roster_engine::model::installed::{CRD, LEASE, NAME, NAMESPACE, SECRET};
use serde_json::{Value, json};

use super::{
    api::ApiServer, assets, control_plane::ControlPlane, get, kubectl, roster, start_without_controllers, wait, webhook,
};

const MUTATING: &str = "mutatingwebhookconfiguration";
const VALIDATING: &str = "validatingwebhookconfiguration";

/// A try with the token.
struct Try {
    name: &'static str,
    /// The words of `kubectl`.
    line: String,
    /// The input of `kubectl`, or the patch.
    input: Value,
}

/// Why a try fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    /// RBAC does not allow it.
    Rbac,
    /// The admission policy refuses it.
    Policy,
}

fn of(name: &'static str, line: &str, input: Value) -> Try {
    Try { name, line: line.to_owned(), input }
}

/// A JSON patch of an object.
fn patch(name: &'static str, object: &str, operations: Value) -> Try {
    of(name, &format!("patch {object} --type=json --patch-file=/dev/stdin"), operations)
}

fn replace(name: &'static str, object: &str, path: &str, value: Value) -> Try {
    let mut operation = json!({ "op": "add", "path": path });
    operation["value"] = value;
    patch(name, object, json!([operation]))
}

/// A kubeconfig of the account of the webhook, with a token as its pods have one.
pub(super) fn account(plane: &ControlPlane, dir: &Path) -> PathBuf {
    account_of(plane, dir, NAME)
}

/// The same for another account of Roster.
pub(super) fn account_of(plane: &ControlPlane, dir: &Path, name: &str) -> PathBuf {
    let (well, token) = kubectl(plane, &format!("create token {name} -n {NAMESPACE}"), "");
    assert!(well, "{token}");
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(plane.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({ "token": token.trim() });
    let path = dir.join(format!("{name}.kubeconfig"));
    fs::write(&path, config.to_string()).unwrap();
    path
}

/// Runs a try; whether it passed, and the output.
fn attempt(kubeconfig: &Path, what: &Try) -> (bool, String) {
    let input = if what.input.is_null() { String::new() } else { what.input.to_string() };
    let mut command = Command::new("kubectl");
    command.arg("--kubeconfig").arg(kubeconfig).args(what.line.split_whitespace());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may end before it reads.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned()).concat();
    (output.status.success(), text)
}

/// Roster as its manifests run it, except that it is not in a pod.
struct SelfSigned(Child);

impl SelfSigned {
    fn start(kubeconfig: &Path, log: &Path) -> (Self, String) {
        let mut command = roster();
        command.args(["serve", "--cluster", "--self-signed", "--kubeconfig"]).arg(kubeconfig);
        command.env("POD_NAME", "roster-0").env("POD_NAMESPACE", NAMESPACE);
        let (child, [_, admin]) = webhook::listen(command, log);
        (Self(child), admin)
    }
}

impl Drop for SelfSigned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn the_service_account_can_do_its_work_and_nothing_else() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let (well, output) = kubectl(&plane, "apply -f -", &webhook::base().to_string());
    assert!(well, "{output}");
    for object in [
        json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "mine" }, "spec": {} }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "other", "namespace": NAMESPACE } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": SECRET, "namespace": "default" } }),
    ] {
        let (well, output) = kubectl(&plane, "create -f -", &object.to_string());
        assert!(well, "{output}");
    }
    the_admission_policy_has_no_warnings(&plane);
    let account = account(&plane, dir.path());

    its_work_is_done(&plane, &account, dir.path());
    for what in allowed() {
        let (passed, output) = attempt(&account, &what);
        assert!(passed, "{}: {output}", what.name);
    }
    only_the_status_of_a_policy_is_written(&account);
    let before = state(&plane);
    for (refusal, what) in refused() {
        let (passed, output) = attempt(&account, &what);
        assert!(!passed, "{}: {output}", what.name);
        let words = match refusal {
            Refusal::Rbac => "cannot ",
            Refusal::Policy => {
                "ValidatingAdmissionPolicy 'roster-service-account' with binding 'roster-service-account' denied"
            }
        };
        assert!(output.contains(words), "{}: {refusal:?}: {output}", what.name);
    }
    assert_eq!(state(&plane), before, "a refused try changed something");
    a_secret_of_its_name_is_only_a_certificate(&plane, &account);
}

/// The API server checks the types of the expressions, and reports what it finds in the status.
fn the_admission_policy_has_no_warnings(plane: &ControlPlane) {
    let line = "get validatingadmissionpolicy roster-service-account -o json";
    let policy: Value = serde_json::from_str(&kubectl(plane, line, "").1).unwrap();
    assert_eq!(policy["status"]["typeChecking"]["expressionWarnings"], Value::Null, "{policy}");
}

/// Roster becomes ready with this account alone: it issues a certificate, and writes it to the Secret and its CA to every
/// `caBundle`, and it writes the status of a policy.
fn its_work_is_done(plane: &ControlPlane, account: &Path, dir: &Path) {
    let log = dir.join("roster.log");
    let (server, admin) = SelfSigned::start(account, &log);
    let log = || fs::read_to_string(&log).unwrap();
    wait("Roster is ready", || get(&admin, "/readyz").filter(|a| a.starts_with("HTTP/1.1 200")));
    for (object, path) in
        [(MUTATING, "{.webhooks[*].clientConfig.caBundle}"), (VALIDATING, "{.webhooks[*].clientConfig.caBundle}")]
    {
        let (_, bundles) = kubectl(plane, &format!("get {object} {NAME} -o jsonpath={path}"), "");
        assert!(
            bundles.split(' ').all(|b| b.starts_with("LS0t")) && !bundles.is_empty(),
            "{object}: {bundles}\n{}",
            log()
        );
    }
    let bundle = format!("get crd {CRD} -o jsonpath={{.spec.conversion.webhook.clientConfig.caBundle}}");
    assert!(kubectl(plane, &bundle, "").1.starts_with("LS0t"), "{}", log());
    let ready = "get endpointpolicies.v1.roster.dev mine -o jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
    wait("the status of the policy is written", || (kubectl(plane, ready, "").1 == "True").then_some(()));
    assert!(!log().contains("orbidden"), "{}", log());
    drop(server);
}

fn only_the_status_of_a_policy_is_written(account: &Path) {
    let api = ApiServer::with(account);
    let policy = json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "mine" } });
    let change = json!({
        "metadata": { "labels": { "a": "b" }, "finalizers": ["a.b/c"] },
        "spec": { "defaultMode": "off" },
        "status": { "conditions": [] },
    });
    let answer = api.patch_status(&policy, &change);
    assert_eq!(answer.status, 200, "{answer:?}");
    let meta = &answer.body["metadata"];
    assert_eq!((&answer.body["spec"], &meta["labels"], &meta["finalizers"]), (&json!({}), &Value::Null, &Value::Null));
    assert_eq!(answer.body["status"]["conditions"], json!([]));
}

/// The objects that the tries are about, without what every write changes.
fn state(plane: &ControlPlane) -> Vec<Value> {
    let lines = [
        format!("get {MUTATING},{VALIDATING} {NAME} -o json"),
        format!("get crd {CRD} -o json"),
        format!("get secrets,leases,roles,rolebindings -n {NAMESPACE} -o json"),
        "get endpointpolicies.v1.roster.dev,services,endpoints,pods -A -o json".to_owned(),
    ];
    lines.iter().map(|line| serde_json::from_str(&plane.kubectl_with(line, "").unwrap()).unwrap()).collect()
}

/// Everything that passes. Item by item this is what SECURITY.md says.
fn allowed() -> Vec<Try> {
    let mut all: Vec<Try> = Vec::new();
    for (name, object) in
        [("caBundle of a mutating webhook", MUTATING), ("caBundle of a validating webhook", VALIDATING)]
    {
        all.push(replace(name, &format!("{object} {NAME}"), "/webhooks/0/clientConfig/caBundle", json!("Q0E=")));
    }
    all.push(replace(
        "caBundle of the CRD",
        &format!("crd {CRD}"),
        "/spec/conversion/webhook/clientConfig/caBundle",
        json!(""),
    ));
    for resource in ["pods", "services", "nodes", "namespaces", "endpointslices", "endpointpolicies.v1.roster.dev"] {
        all.push(of("list what the rules need", &format!("get {resource} -A"), Value::Null));
    }
    all.push(of("read a namespace", "get namespace default", Value::Null));
    all.push(of("read its Secret", &format!("get secret {SECRET} -n {NAMESPACE}"), Value::Null));
    all.push(of("read its Lease", &format!("get lease {LEASE} -n {NAMESPACE}"), Value::Null));
    all.push(of("replace its Secret", "replace -f -", secret(SECRET, "kubernetes.io/tls")));
    all.push(of("replace its Lease", "replace -f -", lease(LEASE)));
    all
}

fn secret(name: &str, kind: &str) -> Value {
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": kind,
        "metadata": { "name": name, "namespace": NAMESPACE },
    });
    if kind == "kubernetes.io/tls" {
        secret["stringData"] = json!({ "tls.crt": "", "tls.key": "" });
    }
    secret
}

fn lease(name: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name, "namespace": NAMESPACE } })
}

/// The tries that fail.
fn refused() -> Vec<(Refusal, Try)> {
    let mut policy = of_configurations();
    policy.extend(of_the_crd());
    policy.extend([
        of("another Secret", "create -f -", secret("another", "kubernetes.io/tls")),
        of("a Secret with a generated name", "create -f -", {
            let mut secret = secret("", "kubernetes.io/tls");
            secret["metadata"] = json!({ "generateName": SECRET, "namespace": NAMESPACE });
            secret
        }),
        of("another Lease", "create -f -", lease("another")),
    ]);
    let all = policy.into_iter().map(|what| (Refusal::Policy, what));
    all.chain(beyond_its_roles().into_iter().map(|what| (Refusal::Rbac, what))).collect()
}

/// Changes of a webhook configuration, each of which would widen or weaken the rules.
fn of_configurations() -> Vec<Try> {
    let mut all = Vec::new();
    let everything = json!([{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"] }]);
    let other = json!({ "name": "roster-webhook", "namespace": "default", "path": "/validate", "port": 443 });
    for kind in [MUTATING, VALIDATING] {
        let object = format!("{kind} {NAME}");
        let at = |name, path: &str, value: Value| replace(name, &object, &format!("/webhooks/0/{path}"), value);
        let ours: [(&'static str, Value); 2] = [("a", json!({ "a": "b" })), ("b", json!(["a.b/c"]))];
        all.extend([
            at("rules", "rules", everything.clone()),
            at("a further rule", "rules/-", everything[0].clone()),
            at("operations", "rules/0/operations", json!(["*"])),
            at("the scope of a rule", "rules/0/scope", json!("*")),
            at("namespaceSelector", "namespaceSelector", json!({})),
            at("objectSelector", "objectSelector", json!({ "matchLabels": ours[0].1 })),
            at("failurePolicy", "failurePolicy", json!("Fail")),
            at("matchPolicy", "matchPolicy", json!("Exact")),
            at("matchConditions", "matchConditions", json!([])),
            at("a further match condition", "matchConditions/-", json!({ "name": "never", "expression": "false" })),
            at("timeoutSeconds", "timeoutSeconds", json!(30)),
            at("sideEffects", "sideEffects", json!("NoneOnDryRun")),
            at("admissionReviewVersions", "admissionReviewVersions", json!(["v1beta1"])),
            at("the Service", "clientConfig/service", other.clone()),
            at("the path", "clientConfig/service/path", json!("/")),
            at("the port", "clientConfig/service/port", json!(444)),
            at("another address", "clientConfig", json!({ "url": "https://192.0.2.1/validate" })),
            at("the name of a webhook", "name", json!("other.roster.dev")),
            replace("a label", &object, "/metadata/labels", ours[0].1.clone()),
            replace("annotations", &object, "/metadata/annotations", ours[0].1.clone()),
            replace(
                "the annotation of roster disable",
                &object,
                "/metadata/annotations",
                json!({ "roster.dev/failure-policies-before-disable": "{}" }),
            ),
            replace("finalizers", &object, "/metadata/finalizers", ours[1].1.clone()),
            // The garbage collector would delete the configuration.
            replace(
                "an owner that does not exist",
                &object,
                "/metadata/ownerReferences",
                json!([{ "apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "x" }]),
            ),
            patch("a webhook less", &object, json!([{ "op": "remove", "path": "/webhooks/1" }])),
            patch("no webhooks", &object, json!([{ "op": "remove", "path": "/webhooks" }])),
            patch(
                "a webhook more",
                &object,
                json!([
                    { "op": "copy", "from": "/webhooks/0", "path": "/webhooks/-" },
                    { "op": "replace", "path": "/webhooks/0/name", "value": "other.roster.dev" },
                ]),
            ),
            patch(
                "a webhook in place of another",
                &object,
                json!([
                    { "op": "remove", "path": "/webhooks/1" },
                    { "op": "copy", "from": "/webhooks/0", "path": "/webhooks/-" },
                    { "op": "replace", "path": "/webhooks/0/name", "value": "other.roster.dev" },
                ]),
            ),
            patch(
                "a caBundle and a rule",
                &object,
                json!([
                    { "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "Q0E=" },
                    { "op": "replace", "path": "/webhooks/1/rules/0/resources", "value": ["*"] },
                ]),
            ),
        ]);
    }
    all.push(replace(
        "reinvocationPolicy",
        &format!("{MUTATING} {NAME}"),
        "/webhooks/0/reinvocationPolicy",
        json!("Never"),
    ));
    all.push(of(
        "rules by server-side apply",
        "apply --server-side --force-conflicts --field-manager=roster-certs -f -",
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": NAME },
            "webhooks": [{ "name": "services.validate.roster.dev", "rules": everything }],
        }),
    ));
    all
}

fn of_the_crd() -> Vec<Try> {
    let object = format!("crd {CRD}");
    let at = |name, path: &str, value: Value| replace(name, &object, path, value);
    vec![
        at("the schema", "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-preserve-unknown-fields", json!(true)),
        at("a version that is not served", "/spec/versions/0/served", json!(false)),
        at("a short name", "/spec/names/shortNames", json!(["pods"])),
        at("no conversion", "/spec/conversion", json!({ "strategy": "None" })),
        at("versions of reviews", "/spec/conversion/webhook/conversionReviewVersions", json!(["v1beta1"])),
        at(
            "the Service of the conversion",
            "/spec/conversion/webhook/clientConfig/service/namespace",
            json!("default"),
        ),
        at(
            "another address of the conversion",
            "/spec/conversion/webhook/clientConfig",
            json!({ "url": "https://192.0.2.1/" }),
        ),
        at("a finalizer of the CRD", "/metadata/finalizers", json!(["a.b/c"])),
        at("a label of the CRD", "/metadata/labels", json!({ "a": "b" })),
    ]
}

/// What RBAC refuses.
fn beyond_its_roles() -> Vec<Try> {
    let named = |api: &str, kind: &str, namespace: &str| {
        let mut object = json!({ "apiVersion": api, "kind": kind, "metadata": { "name": "mine" } });
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    };
    let create = |name, object: Value| of(name, "create -f -", object);
    let line = |name, line: &str| of(name, line, Value::Null);
    let in_ours = |line: &str| format!("{line} -n {NAMESPACE}");
    let mut binding = named("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "");
    binding["roleRef"] =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" });
    let mut pod = named("v1", "Pod", NAMESPACE);
    pod["spec"] = json!({ "containers": [{ "name": "c", "image": "i" }] });
    let mut service = named("v1", "Service", "default");
    service["spec"] = json!({ "ports": [{ "port": 80 }] });
    let mut slice = named("discovery.k8s.io/v1", "EndpointSlice", "default");
    (slice["addressType"], slice["endpoints"]) = (json!("IPv4"), json!([]));
    let registration = "admissionregistration.k8s.io/v1";
    vec![
        create("a webhook configuration", named(registration, "ValidatingWebhookConfiguration", "")),
        create("an admission policy", named(registration, "ValidatingAdmissionPolicy", "")),
        create("a pod", pod),
        create("a Service", service),
        create("Endpoints", named("v1", "Endpoints", "default")),
        create("a slice", slice),
        create("a namespace", named("v1", "Namespace", "")),
        create("a Secret elsewhere", named("v1", "Secret", "default")),
        create("a Lease elsewhere", named("coordination.k8s.io/v1", "Lease", "default")),
        create("a ConfigMap", named("v1", "ConfigMap", NAMESPACE)),
        create("a service account", named("v1", "ServiceAccount", NAMESPACE)),
        create("a role binding", binding),
        create("a policy", named("roster.dev/v1", "EndpointPolicy", "")),
        line("a token", &in_ours(&format!("create token {NAME}"))),
        line("read another Secret", &in_ours("get secret other")),
        line("list Secrets", &in_ours("get secrets")),
        line("read a Secret elsewhere", &format!("get secret {SECRET} -n default")),
        line("list Secrets everywhere", "get secrets -A"),
        line("list Leases", &in_ours("get leases")),
        line("list webhook configurations", &format!("get {VALIDATING}s")),
        line("read Endpoints", "get endpoints -A"),
        line("read ConfigMaps", &in_ours("get configmaps")),
        line("read a pod", "get pod some -n default"),
        line("read an admission policy", "get validatingadmissionpolicy roster-service-account"),
        line("delete its configuration", &format!("delete {VALIDATING} {NAME}")),
        line("delete the CRD", &format!("delete crd {CRD}")),
        line("delete its Secret", &in_ours(&format!("delete secret {SECRET}"))),
        line("delete its Lease", &in_ours(&format!("delete lease {LEASE}"))),
        line("delete a policy", "delete endpointpolicies.v1.roster.dev mine"),
        line("delete the admission policy", "delete validatingadmissionpolicy roster-service-account"),
        line("delete its binding", "delete validatingadmissionpolicybinding roster-service-account"),
        line("be another user", "get nodes --as=admin"),
        line("the logs of the API server", "get --raw /logs/"),
        of(
            "the spec of a policy",
            "patch endpointpolicies.v1.roster.dev mine --type=merge --patch-file=/dev/stdin",
            json!({ "spec": { "defaultMode": "off" } }),
        ),
        of(
            "its role",
            &in_ours(&format!("patch role {NAME} --type=merge --patch-file=/dev/stdin")),
            json!({ "rules": [] }),
        ),
        of(
            "its Deployment",
            &in_ours(&format!("patch deployment {NAME} --type=merge --patch-file=/dev/stdin")),
            json!({ "spec": { "replicas": 0 } }),
        ),
        of(
            "the labels of a namespace",
            "patch namespace default --type=merge --patch-file=/dev/stdin",
            json!({ "metadata": { "labels": { "a": "b" } } }),
        ),
        of(
            "the status of the CRD",
            &format!("patch crd {CRD} --subresource=status --type=merge --patch-file=/dev/stdin"),
            json!({ "status": { "storedVersions": ["v1alpha1"] } }),
        ),
    ]
}

/// An API server fills a Secret of another type with the token of a service account.
fn a_secret_of_its_name_is_only_a_certificate(plane: &ControlPlane, account: &Path) {
    assert!(kubectl(plane, &format!("delete secret {SECRET} -n {NAMESPACE}"), "").0);
    let mut token = secret(SECRET, "kubernetes.io/service-account-token");
    token["metadata"]["annotations"] = json!({ "kubernetes.io/service-account.name": "default" });
    let (passed, output) = attempt(account, &of("a token as its Secret", "create -f -", token));
    assert!(!passed && output.contains("may create only a Secret of the type kubernetes.io/tls"), "{output}");
    let (passed, output) = attempt(account, &of("its Secret", "create -f -", secret(SECRET, "kubernetes.io/tls")));
    assert!(passed, "{output}");
}
