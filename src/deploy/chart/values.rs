//! The values of the chart: one table, of which `values.yaml`, `values.schema.json` and the table of the documents are made.

use serde_json::{Map, Value, json};

use super::{image, pods::push, template};
use crate::deploy::{
    controller::{self, HEAL_AFTER},
    edge, network, rest, runbooks_url, workload,
};

/// A value that a user may set.
struct Setting {
    /// Its keys, with dots between them.
    path: String,
    default: Value,
    /// The values that are allowed; empty: all of the type of the default.
    choices: &'static [&'static str],
    /// The form of a text.
    pattern: Option<&'static str>,
    meaning: String,
}

/// The headings of `values.yaml`, by the first key.
const HEADINGS: [(&str, &str); 9] = [
    ("image", "The image of all servers."),
    ("crds", "The CRD of policies."),
    ("webhook", "The admission webhook."),
    ("rest", "The REST API."),
    ("controller", "The controller of Endpoints and EndpointSlices, or its shadow."),
    ("edge", "The node proxy."),
    (
        "networkPolicy",
        "Who may connect to the pods. A wrong range keeps API servers out: see docs/tasks/high-availability.md.",
    ),
    ("traces", "Traces of all servers: see docs/reference/traces.md."),
    ("monitoring", "Objects of the Prometheus operator, which must be installed before, and a dashboard of Grafana."),
];

/// All values, in the order of `values.yaml`.
fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    let mut set = |path: &str, default: Value, meaning: &str| {
        all.push(Setting { path: path.to_owned(), default, choices: &[], pattern: None, meaning: meaning.to_owned() });
    };
    set("image.repository", json!(image()), "The image, without a tag. Default: the published one.");
    set("image.tag", json!(""), "Its tag. Empty: the version of the chart's program.");
    set("image.digest", json!(""), "Its digest, such as `sha256:…`. It takes precedence over the tag.");
    set("image.pullPolicy", json!("IfNotPresent"), "When nodes pull it.");
    set("imagePullSecrets", json!([]), "Secrets for pulling it, as `[{name: …}]`.");
    set(
        "crds.enabled",
        json!(true),
        "Whether the chart installs the CRD of policies, if the webhook is on. Helm keeps it when it uninstalls.",
    );
    webhook(&mut all);
    rest_api(&mut all);
    controller_or_shadow(&mut all);
    node_proxy(&mut all);
    around(&mut all);
    all
}

fn webhook(all: &mut Vec<Setting>) {
    let mut list = List { part: "webhook", all };
    list.set("enabled", json!(true), "Whether it runs.");
    list.choose(
        "defaultMode",
        "audit",
        &["audit", "warn", "enforce", "off", "per-rule"],
        "The mode of rules that no policy sets. `audit` only records findings. `per-rule` gives each rule the mode in \
         docs/reference/rules.md.",
    );
    list.choose(
        "failurePolicy",
        "Ignore",
        &["Ignore", "Fail"],
        "What API servers do without an answer of `/validate`: allow the write, or refuse it.",
    );
    list.choose(
        "certificates.source",
        "roster",
        &["roster", "cert-manager", "secret"],
        "Who issues the certificate: Roster, cert-manager, or you.",
    );
    list.set(
        "certificates.secretName",
        json!(""),
        "The Secret of your certificate (`tls.crt`, `tls.key`), with the source `secret`.",
    );
    list.set("certificates.caBundle", json!(""), "The CA of your certificate in PEM, with the source `secret`.");
    list.set("certificates.issuerRef", json!({}), "An issuer of cert-manager. Empty: a self-signed one of the chart.");
    list.replicas(&workload::deployment());
    list.autoscaling();
    list.set("podDisruptionBudget.enabled", json!(true), "Whether at most one pod is evicted at a time.");
    list.pods(&workload::deployment());
}

fn rest_api(all: &mut Vec<Setting>) {
    let mut list = List { part: "rest", all };
    list.set("enabled", json!(false), "Whether it runs.");
    list.set(
        "tokenSecret",
        json!(""),
        "A Secret whose key `token` has one token on each line. Empty: every client that reaches the Service may call it.",
    );
    list.set("tlsSecret", json!(""), "A Secret with `tls.crt` and `tls.key` for HTTPS. Empty: HTTP.");
    list.replicas(&rest::deployment());
    list.autoscaling();
    list.set("podDisruptionBudget.enabled", json!(true), "Whether at most one pod is evicted at a time.");
    list.pods(&rest::deployment());
}

fn controller_or_shadow(all: &mut Vec<Setting>) {
    let deployment = controller::deployment("", 2, &[]);
    let mut list = List { part: "controller", all };
    list.set("enabled", json!(false), "Whether it runs.");
    list.choose(
        "mode",
        "shadow",
        &["shadow", "shadow-events", "shadow-healing", "beside", "replace"],
        "`shadow` only compares, `shadow-events` also sends Events, `shadow-healing` also heals. `beside` serves Services \
         without a selector. `replace` takes the place of the built-in controllers: switch them off before.",
    );
    list.set("healAfter", json!(HEAL_AFTER), "How old a difference is before `shadow-healing` heals it.");
    list.of_form("^[0-9]+[a-z]+$");
    list.replicas(&deployment);
    list.set("podDisruptionBudget.enabled", json!(true), "Whether at most one pod is evicted at a time.");
    list.pods(&deployment);
}

fn node_proxy(all: &mut Vec<Setting>) {
    let mut list = List { part: "edge", all };
    list.set(
        "enabled",
        json!(false),
        "Whether it runs on each node. Its namespace must allow the network of the host.",
    );
    list.choose("scheme", "superedge", &["superedge", "openyurt", "kube-proxy"], "The program that it stands for.");
    list.set(
        "apiServer.host",
        json!(""),
        "An address of the API server that each node reaches without kube-proxy. Required.",
    );
    list.set("apiServer.port", json!(6443), "Its port.");
    list.set("tlsSecret", json!(edge::TLS), "The Secret of its certificate for 127.0.0.1.");
    list.set(
        "clientCAConfigMap",
        json!(""),
        "A ConfigMap whose key `ca.crt` has the CA of clients with certificates. Empty: clients need tokens.",
    );
    list.pods(&edge::daemon_set());
}

fn around(all: &mut Vec<Setting>) {
    let mut list = List { part: "networkPolicy", all };
    list.set("enabled", json!(false), "Whether the pods of webhook, REST API and controller get network policies.");
    list.set("apiServers", network::api_servers(), "Where API servers connect from: anything but pods, in this range.");
    list.set("metricsReaders", network::metrics_readers(), "Who may read health and metrics.");
    list.set("restClients", json!([{ "namespaceSelector": {} }]), "Who may call the REST API.");
    list.set("egress", json!([]), "Further rules of egress, such as for the pods behind the Service of a collector.");
    let mut list = List { part: "traces", all: list.all };
    list.set(
        "endpoint",
        json!(""),
        "A collector of OpenTelemetry, such as `http://collector.observability:4318`. Empty: no traces.",
    );
    list.of_form("^(https?://[^\\s\"\\\\]+)?$");
    list.set("sampling", json!(1.0), "The share of the traces that the servers begin and record, from 0 to 1.");
    list.of_form("^(0([.][0-9]+)?|1([.]0+)?)$");
    let mut list = List { part: "monitoring", all: list.all };
    for (kind, what) in
        [("podMonitor", "A PodMonitor"), ("serviceMonitor", "A Service for metrics and a ServiceMonitor")]
    {
        list.set(&format!("{kind}.enabled"), json!(false), &format!("{what} for webhook, REST API and controller."));
        list.set(&format!("{kind}.labels"), json!({}), "Labels by which Prometheus finds it.");
    }
    list.set("rules.enabled", json!(false), "A PrometheusRule with the alerts of docs/reference/runbooks.md.");
    list.set("rules.labels", json!({}), "Labels by which Prometheus finds it.");
    list.set("rules.runbookUrl", json!(runbooks_url()), "The page of runbooks.");
    list.set("dashboard.enabled", json!(false), "A ConfigMap with a dashboard.");
    list.set("dashboard.labels", json!({ "grafana_dashboard": "1" }), "Labels by which Grafana's sidecar finds it.");
}

/// The settings of one part.
struct List<'a> {
    part: &'static str,
    all: &'a mut Vec<Setting>,
}

impl List<'_> {
    fn set(&mut self, name: &str, default: Value, meaning: &str) {
        let path = format!("{}.{name}", self.part);
        self.all.push(Setting { path, default, choices: &[], pattern: None, meaning: meaning.to_owned() });
    }

    fn choose(&mut self, name: &str, default: &str, choices: &'static [&'static str], meaning: &str) {
        let path = format!("{}.{name}", self.part);
        self.all.push(Setting { path, default: default.into(), choices, pattern: None, meaning: meaning.to_owned() });
    }

    /// The form of the text that was set last.
    fn of_form(&mut self, pattern: &'static str) {
        if let Some(last) = self.all.last_mut() {
            last.pattern = Some(pattern);
        }
    }

    fn replicas(&mut self, deployment: &Value) {
        let meaning = if self.part == "controller" {
            "Replicas, one of which writes. A shadow has one."
        } else {
            "Replicas, without autoscaling."
        };
        self.set("replicas", deployment["spec"]["replicas"].clone(), meaning);
    }

    fn autoscaling(&mut self) {
        self.set("autoscaling.enabled", json!(false), "Whether a HorizontalPodAutoscaler decides about replicas.");
        self.set("autoscaling.minReplicas", json!(2), "The least replicas.");
        self.set("autoscaling.maxReplicas", json!(5), "The most replicas.");
        self.set(
            "autoscaling.targetCPUUtilizationPercentage",
            json!(200),
            "CPU time to aim at, in percent of the request.",
        );
    }

    /// What users expect of the pods of any chart; the defaults are those of the manifests.
    fn pods(&mut self, workload: &Value) {
        let spec = &workload["spec"]["template"]["spec"];
        let or = |value: &Value, default: Value| if value.is_null() { default } else { value.clone() };
        self.set("resources", spec["containers"][0]["resources"].clone(), "Resources of the container.");
        self.set("priorityClassName", or(&spec["priorityClassName"], json!("")), "Priority of the pods.");
        self.set("nodeSelector", json!({}), "Labels of the nodes of the pods.");
        self.set("tolerations", or(&spec["tolerations"], json!([])), "Taints that the pods tolerate.");
        self.set("affinity", json!({}), "Affinity of the pods.");
        self.set("podAnnotations", json!({}), "Annotations of the pods.");
        self.set("podLabels", json!({}), "Further labels of the pods.");
        self.set("extraArgs", json!([]), "Further flags.");
        self.set("extraEnv", json!([]), "Further environment variables.");
    }
}

/// `values.yaml`.
pub(super) fn yaml() -> String {
    let mut out = "# Generated by `cargo xtask manifests`: do not edit.\n".to_owned();
    let mut before: Vec<String> = Vec::new();
    for Setting { path, default, choices, meaning, .. } in settings() {
        let keys: Vec<String> = path.split('.').map(str::to_owned).collect();
        let same = keys.iter().zip(&before).take_while(|(a, b)| a == b).count();
        for (depth, key) in keys.iter().enumerate().skip(same) {
            let indent = "  ".repeat(depth);
            if depth == 0 {
                let heading = HEADINGS.iter().find(|(first, _)| first == key).map_or("", |(_, heading)| heading);
                out.extend(if heading.is_empty() { ["\n", "", ""] } else { ["\n# ", heading, "\n"] });
            }
            if depth + 1 < keys.len() {
                out.extend([indent.as_str(), key, ":\n"]);
            } else {
                out.extend([indent.as_str(), "# ", &meaning, "\n"]);
                if !choices.is_empty() {
                    out.extend([indent.as_str(), "# One of ", &choices.join(", "), ".\n"]);
                }
                out += &template::entry_text(key, &default, 2 * depth);
            }
        }
        before = keys;
    }
    out
}

/// `values.schema.json`: a misspelt key is an error.
pub(super) fn schema() -> String {
    let mut root = object_schema();
    root["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    // Helm gives it to the chart if it is part of another one.
    root["properties"]["global"] = json!({ "type": "object" });
    for setting in settings() {
        let mut at = &mut root;
        for key in setting.path.split('.') {
            if setting.admits_someone() && setting.path.ends_with(key) {
                push(&mut at["required"], [key]);
            }
            let properties = &mut at["properties"];
            if properties[key].is_null() {
                properties[key] = object_schema();
            }
            at = &mut at["properties"][key];
        }
        *at = setting.schema();
    }
    format!("{root:#}\n")
}

fn object_schema() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": Map::new() })
}

impl Setting {
    /// Whether it says who may connect: a rule without sources would admit everybody.
    fn admits_someone(&self) -> bool {
        self.path.starts_with("networkPolicy.") && self.default.as_array().is_some_and(|list| !list.is_empty())
    }

    fn schema(&self) -> Value {
        let kind = match &self.default {
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            _ => "string",
        };
        let mut schema = json!({ "type": kind, "description": self.meaning });
        if let Some(pattern) = self.pattern {
            schema["pattern"] = pattern.into();
        }
        if self.admits_someone() {
            schema["minItems"] = 1.into();
            schema["items"] = json!({ "type": "object" });
        }
        if !self.choices.is_empty() {
            schema["enum"] = json!(self.choices);
        }
        if self.default.is_number() {
            schema["minimum"] = 0.into();
        }
        if kind == "number" {
            schema["maximum"] = 1.into();
            // `--set` gives Helm a fraction as text.
            schema["type"] = json!(["number", "string"]);
        }
        schema
    }
}

/// The table of the documents.
pub fn markdown() -> String {
    let mut out = "| value | default | |\n|---|---|---|\n".to_owned();
    for Setting { path, default, choices, meaning, .. } in settings() {
        let default = match default.to_string() {
            long if long.len() > 40 => "see `values.yaml`".to_owned(),
            default => format!("`{default}`"),
        };
        let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
        let choices = if choices.is_empty() { String::new() } else { format!(" One of {}.", choices.join(", ")) };
        out.extend([format!("| `{path}` | {default} | {meaning}{choices} |\n")]);
    }
    out
}
