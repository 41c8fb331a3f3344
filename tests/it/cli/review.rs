//! `roster review` and `roster validate`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{Case, Ran, check, roster, roster_with};

/// A Service that a rule changes, one with warnings, one that is denied, and a Deployment, which no rule reviews.
pub(super) const SHOP: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
    service.alpha.kubernetes.io/tolerate-unready-endpoints: 'true'
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec:
  ports:
  - port: 80
  externalIPs:
  - 203.0.113.8
  - 203.0.113.9
---
apiVersion: v1
kind: Service
metadata:
  name: db
  labels:
    service.kubernetes.io/headless: ''
spec: {ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web}]}}}
";

const FINE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";

const EXTERNAL: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}], externalIPs: [203.0.113.9]}
";

pub(super) const STRICT: &str = "\
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata: {name: strict}
spec:
  defaultMode: enforce
  exempt: {users: [robot], groups: [robots]}
";

fn review(args: &[&str], input: &str) -> Ran {
    roster_with(&[&["review", "-f", "-"], args].concat(), &[], input)
}

fn validate(args: &[&str], input: &str) -> Ran {
    roster_with(&[&["validate", "-f", "-"], args].concat(), &[], input)
}

pub(super) fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err))
}

pub(super) fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_table_shows_the_answer_for_each_object() {
    let ran = review(&[], SHOP);
    let want = "\
OBJECT            ANSWER   RULE                         MESSAGE
Service shop/web  changed  tolerate-unready-annotation  spec.publishNotReadyAddresses: is false, but the annotation says true; set to true
Service shop/api  warned   external-ip                  spec.externalIPs[0]: 203.0.113.8 is allowed by no policy, and may be another's
Service shop/api  warned   external-ip                  spec.externalIPs[1]: 203.0.113.9 is allowed by no policy, and may be another's
Service db        denied   reserved-label               metadata.labels[service.kubernetes.io/headless]: kube-proxy ignores a Service with this label

What to do
CODE                         FIX
tolerate-unready-annotation  Set spec.publishNotReadyAddresses, and remove the annotation.
reserved-label               Remove the label.
external-ip                  Use a load balancer, or allow the range in an EndpointPolicy.

3 objects: 1 denied, 1 changed, 2 with warnings
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want, "", 1));
    let wide = review(&["-o", "wide"], SHOP);
    assert!(wide.out.contains("<stdin>:17  Service shop/api  create     warned   external-ip"), "{}", wide.out);
    let fine = review(&[], FINE);
    let want = "OBJECT       ANSWER\nService web  allowed\n\n1 object: 0 denied, 0 changed, 0 with warnings\n";
    assert_eq!((fine.out.as_str(), fine.code), (want.replace("ANSWER\n", "ANSWER   RULE  MESSAGE\n").as_str(), 0));
}

#[test]
fn exit_codes_are_for_pipelines() {
    let broken = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: 5}\n";
    let changed = SHOP.split("---").next().unwrap();
    let repeated = &format!("{FINE}spec: {{ports: [{{port: 81}}]}}\n");
    let selects =
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: a}, ports: [{port: 80}]}\n";
    for (name, args, input, code, err) in [
        ("nothing against it", &[][..], FINE, 0, ""),
        ("a warning", &[], EXTERNAL, 0, ""),
        (
            "a rule that cannot ask",
            &[],
            selects,
            0,
            "warning: not checked: selector-matches-nothing: no pods were given\n",
        ),
        ("a document says so itself", &["-o", "json"], selects, 0, ""),
        ("a warning that counts", &["--warnings-as-errors"], EXTERNAL, 1, ""),
        ("a changed object counts as a warning", &["--warnings-as-errors"], changed, 1, ""),
        ("a repeated key", &[], repeated, 0, "warning: <stdin>:5: Service web: spec: "),
        ("a repeated key counts as a warning", &["--warnings-as-errors"], repeated, 1, "(duplicate-key)"),
        ("denied", &[], SHOP, 1, ""),
        (
            "an object that cannot be read",
            &[],
            broken,
            2,
            "error: <stdin>:4: Service a: spec.ports: invalid type: integer `5`, expected a list",
        ),
        ("no YAML", &[], "a: [\n", 2, "<stdin>:"),
        ("nothing", &[], "", 2, "<stdin>: is empty"),
        ("no manifest", &[], "a: 1\n", 0, "note: not reviewed: 1 without apiVersion and kind"),
        ("no kind", &[], "apiVersion: v1\nmetadata: {name: a}\n", 2, "the field `kind` is missing"),
        (
            "another version",
            &[],
            "apiVersion: V1\nkind: Service\nmetadata: {name: a}\n",
            2,
            "has no kind \"Service\" in \"V1\"; did you mean v1 Service?",
        ),
        ("a number for a version", &[], "apiVersion: 1\nkind: Service\n", 2, "apiVersion is not a string"),
        (
            "no version",
            &[],
            "kind: Service\nmetadata: {name: a}\n",
            2,
            "the object has no apiVersion; did you mean v1?",
        ),
        ("a misspelt kind", &[], "apiVersion: v1\nkind: Servce\nmetadata: {name: a}\n", 2, "did you mean v1 Service?"),
        (
            "a kind of others",
            &[],
            "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n",
            0,
            "warning: no Service, Endpoints or EndpointSlice to review",
        ),
        ("nothing to review", &[], "kind: Secret\n", 0, "warning: no Service, Endpoints or EndpointSlice to review"),
    ] {
        let ran = review(args, input);
        assert_eq!(ran.code, code, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(err) && err.is_empty() == ran.err.is_empty(), "{name}: {}", ran.err);
    }
    check(&[
        Case { name: "no files", args: &["review"], code: 2, out: "", err: "<FILE|DIR|->" },
        Case {
            name: "no such file",
            args: &["review", "-f", "/no/such"],
            code: 2,
            out: "",
            err: "cannot open /no/such",
        },
        Case {
            name: "standard input twice",
            args: &["review", "-f", "-", "--policy", "-"],
            code: 2,
            out: "",
            err: "standard input (-) can be read only once",
        },
    ]);
}

#[test]
fn policies_users_and_what_is_stored_decide() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (strict, old) = (file(path, "strict.yaml", STRICT), file(path, "old.yaml", EXTERNAL));
    let elsewhere = file(path, "elsewhere.yaml", &EXTERNAL.replace("{name: web}", "{name: web, namespace: shop}"));
    let service =
        file(path, "service.json", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{}}"#);
    let other = file(path, "other.json", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"api"},"spec":{}}"#);
    let with_policy = format!("{STRICT}---\n{EXTERNAL}");
    let mild = STRICT.replace("enforce", "warn");
    let with_mild = format!("{mild}---\n{EXTERNAL}");
    let mild = file(path, "mild.yaml", &mild);
    let slice = "\
apiVersion: discovery.k8s.io/v1beta1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], topology: {topology.kubernetes.io/zone: a}}]
";
    for (name, args, input, want) in [
        ("by default", &[][..], EXTERNAL, json!([true, "CREATE", ["external-ip"]])),
        ("a policy", &["--policy", &strict], EXTERNAL, json!([false, "CREATE", ["external-ip"]])),
        ("a policy beside it", &[], &with_policy, json!([false, "CREATE", ["external-ip"]])),
        ("an exempt user", &["--policy", &strict, "--user", "robot"], EXTERNAL, json!([true, "CREATE", []])),
        (
            "an exempt group",
            &["--policy", &strict, "--group", "a", "--group", "robots"],
            EXTERNAL,
            json!([true, "CREATE", []]),
        ),
        (
            "a controller",
            &["--policy", &strict, "--user", "system:kube-controller-manager"],
            EXTERNAL,
            json!([true, "CREATE", []]),
        ),
        ("an update", &["--policy", &strict, "--old", &old], EXTERNAL, json!([true, "UPDATE", ["external-ip"]])),
        ("a stored policy", &["--old", &strict], EXTERNAL, json!([false, "CREATE", ["external-ip"]])),
        (
            "a policy in place of the stored one",
            &["--old", &strict, "--policy", &mild],
            EXTERNAL,
            json!([true, "CREATE", ["external-ip"]]),
        ),
        (
            "one beside it in place of the stored one",
            &["--old", &strict],
            &with_mild,
            json!([true, "CREATE", ["external-ip"]]),
        ),
        (
            "one of another namespace",
            &["--policy", &strict, "--old", &elsewhere],
            EXTERNAL,
            json!([false, "CREATE", ["external-ip"]]),
        ),
        (
            "the namespace of the argument",
            &["--policy", &strict, "--old", &elsewhere, "-n", "shop"],
            EXTERNAL,
            json!([true, "UPDATE", ["external-ip"]]),
        ),
        ("a slice without a known cluster", &[], slice, json!([true, "CREATE", []])),
        ("its Service is among the stored objects", &["--old", &service], slice, json!([true, "CREATE", []])),
        (
            "another Service is among the stored objects",
            &["--old", &other],
            slice,
            json!([true, "CREATE", ["slice-service-missing"]]),
        ),
        ("the stored objects are of another namespace", &["--old", &elsewhere], slice, json!([true, "CREATE", []])),
    ] {
        let ran = review(&[args, &["-o", "json"]].concat(), input);
        let items = json(&ran)["items"].clone();
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{name}: {items}");
        let findings = items[0]["decision"]["findings"].as_array().cloned().unwrap_or_default();
        let rules: Value = findings.into_iter().map(|f| f["rule"].clone()).collect();
        assert_eq!(json!([items[0]["allowed"], items[0]["operation"], rules]), want, "{name}: {}{}", ran.out, ran.err);
    }
    // A Service of the input does not hide the stored ones.
    let with_other = format!("{slice}---\n{}", std::fs::read_to_string(&other).unwrap());
    for (stored, want) in [(&service, json!([])), (&other, json!(["endpoints-orphaned"]))] {
        let items = json(&review(&["--old", stored, "-o", "json"], &with_other))["items"].clone();
        let stale = items[0]["stale"].as_array().cloned().unwrap_or_default();
        assert_eq!(stale.into_iter().map(|f| f["code"].clone()).collect::<Value>(), want, "{items}");
    }
    let bad = file(path, "bad.yaml", &STRICT.replace("enforce", "enfroce"));
    for source in ["--policy", "--old"] {
        let ran = review(&[source, &bad], FINE);
        assert_eq!(ran.code, 2, "{source}");
        assert!(ran.err.contains("bad.yaml:5: EndpointPolicy strict: spec.defaultMode is \"enfroce\""), "{}", ran.err);
    }
    let ran = review(&["--policy", &service], FINE);
    assert!(ran.code == 2 && ran.err.contains("service.json:1: \"Service\" is not an EndpointPolicy"), "{}", ran.err);
}

#[test]
fn changed_objects_are_printed_with_all_others() {
    let ran = review(&["-o", "objects"], SHOP);
    assert_eq!(ran.code, 1);
    let documents: Vec<Value> = ran.out.split("---\n").map(|d| serde_saphyr::from_str(d).unwrap()).collect();
    let names: Vec<_> =
        documents.iter().map(|d| (d["kind"].as_str().unwrap(), d["metadata"]["name"].as_str().unwrap())).collect();
    // Denied objects are not printed: the next command might apply them.
    assert_eq!(names, [("Service", "web"), ("Service", "api"), ("Deployment", "web")]);
    assert_eq!(documents[0]["spec"]["publishNotReadyAddresses"], true);
    assert!(
        ran.err.contains("error: <stdin>:25: Service db: metadata.labels[service.kubernetes.io/headless]: "),
        "{}",
        ran.err
    );
    // A second review has nothing to change.
    let again = review(&["-o", "json"], &ran.out);
    assert_eq!(json(&again)["summary"], json!({ "objects": 2, "denied": 0, "changed": 0, "warned": 1 }));
}

#[test]
fn a_recorded_review_is_answered() {
    let review_ = json!({
        "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "kind": { "group": "", "version": "v1", "kind": "Service" }, "operation": "CREATE",
            "name": "web", "namespace": "shop", "userInfo": { "username": "jane" },
            "object": { "metadata": { "name": "web" }, "spec": { "externalIPs": ["203.0.113.9"] } },
        },
    });
    let ran = review(&["-o", "json"], &serde_json::to_string_pretty(&review_).unwrap());
    let item = &json(&ran)["items"][0];
    assert_eq!((&item["kind"], &item["namespace"], &item["name"]), (&json!("Service"), &json!("shop"), &json!("web")));
    let answer = &item["answers"]["validate"];
    assert_eq!(
        (&answer["apiVersion"], &answer["response"]["uid"]),
        (&json!("admission.k8s.io/v1beta1"), &json!("u-1"))
    );
    assert_eq!(answer["response"]["warnings"].as_array().map(Vec::len), Some(1));
    let broken = review(&[], r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#);
    assert_eq!(broken.code, 2);
    assert!(
        broken.err.contains("<stdin>:1:1: AdmissionReview : the review cannot be read: the field `request` is missing"),
        "{}",
        broken.err
    );
}

/// kubectl sends the last one.
#[test]
fn of_repeated_keys_the_last_one_is_reviewed() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports: [{port: 80}]\n  externalIPs: [8.8.8.8]\n";
    let warning = |line: usize, key: &str| {
        let field = format!("spec.{key}").trim_end_matches('.').to_owned();
        let key = if key.is_empty() { "spec" } else { key };
        format!(
            "warning: <stdin>:{line}: Service a: {field}: the key {key} is repeated; the last one counts (duplicate-key)\n"
        )
    };
    for (name, more, rules, err) in [
        ("once", "", vec!["external-ip"], String::new()),
        ("a field", "  externalIPs: []\n", vec![], warning(7, "externalIPs")),
        (
            "the last one",
            "  externalIPs: []\n  externalIPs: [8.8.4.4]\n",
            vec!["external-ip"],
            warning(7, "externalIPs") + &warning(8, "externalIPs"),
        ),
        ("all of the object", "spec: {ports: [{port: 80}]}\n", vec![], warning(7, "")),
    ] {
        let input = format!("{service}{more}");
        let ran = review(&["-o", "json"], &input);
        let found = json(&ran)["items"][0]["decision"]["findings"].clone();
        let found: Vec<&str> = found.as_array().into_iter().flatten().map(|f| f["rule"].as_str().unwrap()).collect();
        assert_eq!((found, ran.err, ran.code), (rules, err, 0), "{name}: {}", ran.out);
        let linted = validate(&["-o", "json"], &input);
        let codes = json(&linted)["items"].clone();
        let codes = codes.as_array().unwrap().iter().filter(|f| f["code"] == "duplicate-key").count();
        assert_eq!(codes, more.lines().count(), "{name}: {}", linted.out);
    }
}

/// What `roster lint` calls an error of a kind with rules; an object of a cluster is stored as it is.
#[test]
fn what_an_api_server_does_not_store_is_denied() {
    let service =
        |ports: &str| format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  ports: [{ports}]\n");
    let recorded =
        |meta: &str| service("{port: 80}, {port: 80}").replace("{name: web}", &format!("{{name: web, {meta}}}"));
    let endpoints = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: web}\nsubsets: [{ports: [{port: 80}]}]\n";
    let slice = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: web, labels: {kubernetes.io/service-name: \
                 web}}\naddressType: IPv4\nendpoints: [{addresses: [fd00::1]}]\nports: []\n";
    let folder = tempfile::tempdir().unwrap();
    let old = file(folder.path(), "old.yaml", &service("{name: A, port: 80}"));
    for (name, args, input, want) in [
        ("one port", &[][..], service("{port: 80}"), &[][..]),
        (
            "ports without names, twice the same",
            &[],
            service("{port: 80}, {port: 80}"),
            &[
                "missing-field spec.ports[0].name",
                "missing-field spec.ports[1].name",
                "invalid-value spec.ports[1].port",
            ],
        ),
        ("a number that no port has", &[], service("{port: 99999}"), &["invalid-port spec.ports[0].port"]),
        (
            "a name of a Service",
            &[],
            service("{port: 80}").replace("name: web", "name: We"),
            &["invalid-name metadata.name"],
        ),
        ("an unknown field", &[], service("{port: 80, prot: TCP}"), &["unknown-field spec.ports[0].prot"]),
        ("Endpoints without addresses", &[], endpoints.to_owned(), &["missing-field subsets[0]"]),
        (
            "a slice with addresses of another family",
            &[],
            slice.to_owned(),
            &["invalid-value endpoints[0].addresses[0]"],
        ),
        (
            "Endpoints with a number that no port has",
            &[],
            endpoints.replace("[{ports: [{port: 80", "[{addresses: [{ip: 10.0.0.1}], ports: [{port: 0"),
            &["invalid-port subsets[0].ports[0].port"],
        ),
        ("of a cluster", &[], recorded("uid: u"), &[]),
        ("of a cluster, without its uid", &[], recorded("resourceVersion: '7'"), &[]),
        ("stored in the same way", &["--old", &old], service("{name: A, port: 80}"), &[]),
        (
            "stored otherwise",
            &["--old", &old],
            service("{name: A, port: 80}, {name: b, port: 80}"),
            &["invalid-value spec.ports[1].port"],
        ),
    ] {
        let ran = review(&[args, &["-o", "json"]].concat(), &input);
        let item = &json(&ran)["items"][0];
        let invalid = item["invalid"].as_array().cloned().unwrap_or_default();
        let text = |f: &Value| format!("{} {}", f["code"].as_str().unwrap(), f["field"].as_str().unwrap());
        let found: Vec<String> = invalid.iter().map(text).collect();
        assert_eq!(found, want, "{name}: {}", ran.out);
        let is_denied = !want.is_empty();
        assert_eq!((&item["allowed"], ran.code), (&json!(!is_denied), i32::from(is_denied)), "{name}: {}", ran.out);
        let refused = item["refusedByApiServer"].as_array().map_or(0, Vec::len);
        assert_eq!(refused, want.len(), "{name}: {}", ran.out);
        let objects = review(&[args, &["-o", "objects"]].concat(), &input);
        assert_eq!(objects.out.is_empty() || objects.out == "\n", is_denied, "{name}: {:?}", objects.out);
    }
    let table = review(&[], &service("{port: 80}, {port: 80, name: b}"));
    let row =
        "Service web  denied  missing-field  spec.ports[0].name: a Service with several ports needs a name for each\n";
    assert!(table.out.contains(row) && table.out.contains("\n1 object: 1 denied, "), "{}", table.out);
}

/// An object that cannot be read is denied in every format, with the reason.
#[test]
fn what_is_not_decided_is_not_allowed() {
    let twice =
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{},"spec":{"externalIPs":["8.8.8.8"]}}"#;
    let recorded = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE",
            "kind":{{"group":"","version":"v1","kind":"Service"}},"name":"a","namespace":"shop","object":{twice}}}}}"#
    );
    let other = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":5}"#;
    let nothing = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a","uid":"b"}}"#;
    for (name, input, code, why) in [
        ("an object of another form", other, 2, "invalid type: integer `5`, expected an object"),
        ("a review of it", &recorded, 1, "duplicate field `spec`"),
        ("a review with a field twice", nothing, 2, "duplicate field `uid`"),
    ] {
        let table = review(&[], input);
        assert_eq!(table.code, code, "{name}: {}{}", table.out, table.err);
        let row = table.out.lines().nth(1).unwrap_or_default();
        assert!(row.contains("  denied  ") && row.contains(why), "{name}: {}", table.out);
        assert!(table.out.ends_with("1 object: 1 denied, 0 changed, 0 with warnings\n"), "{name}: {}", table.out);
        let document = review(&["-o", "json"], input);
        let item = &json(&document)["items"][0];
        let message = item["decision"]["denied"]["message"].as_str().unwrap_or_default();
        assert!(item["allowed"] == false && message.contains(why) && document.code == code, "{name}: {item}");
        let log = review(&["-o", "sarif"], input);
        let result = json(&log)["runs"][0]["results"][0].clone();
        let text = result["message"]["text"].as_str().unwrap_or_default();
        assert!(result["level"] == "error" && text.contains(why) && log.code == code, "{name}: {result}");
        assert_eq!(review(&["-o", "objects"], input).out.trim(), "", "{name}");
    }
}

#[test]
fn validate_names_every_mistake_with_its_place() {
    let files = "\
apiVersion: roster.dev/v1alpha1
kind: EndpointPolicy
metadata: {name: a}
spec:
  defaultMode: warn
  allowedCIDRs: [192.0.2.0/24]
  deniedCIDRs:
  - 192.0.2.0/24
---
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata: {name: b}
spec:
  rules:
  - name: external-ip
    mode: 5
  later: 1
---
apiVersion: v1
kind: Service
metadata: {name: S}
spec:
  ports:
  - port: http
---
{apiVersion: v1, kind: Pod,
  metadata: {generateName: web-},
  spec: {containers: [{name: web, image: web}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - port: 80
  externalIPs: [203.0.113.9]
";
    let ran = validate(&["-o", "json"], files);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let answer = json(&ran);
    let told = |r: &Value| json!([r["line"], r["severity"], r["code"], r["object"]["name"], r["field"], r["message"]]);
    let told: Vec<Value> = answer["items"].as_array().unwrap().iter().map(told).collect();
    let want = [
        json!([8, "error", "invalid-object", "a", null, "spec.deniedCIDRs[0] 192.0.2.0/24 is also allowed"]),
        json!([16, "error", "invalid-object", "b", null, "spec.rules[0].mode is a number, not a string"]),
        json!([17, "warning", "invalid-setting", "b", null, "spec.later is not a known field; it is ignored"]),
        json!([
            21,
            "error",
            "invalid-name",
            "S",
            "metadata.name",
            "a name consists of lower case letters, digits and '-', and begins and ends with a letter or digit"
        ]),
        json!([24, "error", "wrong-type", "S", "spec.ports[0].port", "is the string \"http\", not a 32-bit integer"]),
        json!([
            36,
            "warning",
            "external-ip",
            "web",
            "spec.externalIPs[0]",
            "203.0.113.9 is allowed by no policy, and may be another's"
        ]),
    ];
    assert_eq!(told, want);
    assert_eq!(answer["summary"], json!({ "documents": 5, "errors": 4, "warnings": 2 }));
    for (args, input, code, out, err) in [
        (&[][..], FINE, 0, "1 document: 0 errors, 0 warnings\n", ""),
        (&[], EXTERNAL, 0, "<stdin>:4  warning   Service web  external-ip  spec.externalIPs[0]: 203.0.113.9", ""),
        (&["--warnings-as-errors"], EXTERNAL, 1, "1 document: 0 errors, 1 warning\n", ""),
        (&[], SHOP, 1, "the annotation says true; would be set to true\n", ""),
        (&[], files, 1, "5 documents: 4 errors, 2 warnings\n", ""),
        (&[], "a: [\n", 2, "<stdin>:1:4  error             invalid-object  not YAML: ", ""),
    ] {
        let ran = validate(args, input);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains(out) && ran.err.contains(err), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn what_the_controllers_wrote_is_theirs() {
    let ran = roster(&["review", "-f", "examples/shop.yaml"]);
    let warned: Vec<&str> = ran.out.lines().filter(|line| line.contains(" warned ")).collect();
    // The Endpoints of the warehouse are written by hand; their copy is the controller's.
    assert_eq!(warned.len(), 3, "{}", ran.out);
    assert!(
        warned[0].starts_with("Service shop/cart") && warned[0].contains("selector-matches-nothing"),
        "{}",
        ran.out
    );
    assert!(warned[1..].iter().all(|l| l.starts_with("Endpoints shop/warehouse") && l.contains("address-provenance")));
    // Somebody else may not write with these labels.
    let spoofed = roster(&["review", "-f", "examples/shop.yaml", "--user", "mallory"]);
    assert!(spoofed.out.matches("managed-by-spoofed ").count() > 10, "{}", spoofed.out);
    let by_hand = r#"{"kind": "Endpoints", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "n",
        "labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}}}"#;
    let ran = review(&[], by_hand);
    assert!(ran.out.contains("managed-by-spoofed"), "{}", ran.out);
}

#[test]
fn a_place_in_one_line_has_a_column() {
    let line = r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"a","namespace":"n"},"spec":{"externalIPs":["203.0.113.8"],"ports":[{"port":80}]}}"#;
    let column = line.find(r#""203.0.113.8""#).unwrap() + 1;
    let ran = validate(&[], line);
    assert!(ran.out.contains(&format!("<stdin>:1:{column} ")), "{}", ran.out);
    let sarif: Value = serde_json::from_str(&validate(&["-o", "sarif"], line).out).unwrap();
    let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region, &serde_json::json!({"startLine": 1, "startColumn": column}));
}
