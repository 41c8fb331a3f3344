use roster_admission::offline_review::{Namespaces, Reviewer};

use super::*;

const TOLERATE: &str = "/metadata/annotations/service.alpha.kubernetes.io~1tolerate-unready-endpoints";

fn reviewed(object: &Value, old: Option<&Value>, settings: &Settings) -> ReviewResult {
    let (inventory, writer) = (cluster(), Writer { user: "jane", namespace: "" });
    let old = old.map(Value::to_string);
    review_object(&object.to_string(), old.as_deref(), writer, settings, &Answers(Snapshot::of(&inventory))).unwrap()
}

#[test]
fn an_object_is_changed_and_then_validated() {
    let service = object(
        "Service",
        "s",
        &[(TOLERATE, "true".into()), ("/spec/externalIPs", json!(["8.8.8.8"])), ("/spec/later", json!({ "kept": 1 }))],
    );
    let ReviewResult { reviewed: found, decision, object: stored, .. } = reviewed(&service, None, &Settings::default());
    assert!(found && decision.allowed());
    let mut want = service.clone();
    want["spec"]["publishNotReadyAddresses"] = true.into();
    assert_eq!(stored, Some(want));
    let codes: Vec<_> = decision.findings.iter().map(|f| (f.rule, f.mode)).collect();
    assert_eq!(codes, [(Rule::TolerateUnready, Mode::Enforce), (Rule::ExternalIp, Mode::Warn)]);
    assert_eq!((decision.patch.len(), decision.warnings.len(), decision.audit.len()), (1, 2, 2));
    let again = reviewed(&stored.unwrap(), None, &Settings::default());
    assert_eq!((again.object, again.decision.patch), (None, vec![]));
}

#[test]
fn a_new_fault_is_refused_and_a_stored_one_is_not() {
    let service = object("Service", "s", &[("/metadata/labels/kubernetes.io~1service-name", "x".into())]);
    let denied = reviewed(&service, None, &Settings::default()).decision.denied.unwrap();
    assert_eq!(denied.code, 422);
    assert!(reviewed(&service, Some(&service), &Settings::default()).decision.allowed());
}

#[test]
fn other_kinds_are_not_reviewed_and_invalid_text_is_an_error() {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod" });
    assert_eq!(reviewed(&pod, None, &strict()), ReviewResult::default());
    for (object, old, want) in [
        ("", None, "the object cannot be read: "),
        ("[]", None, "the object cannot be read: "),
        ("{\"kind\": null}", None, "the object cannot be read: the field `kind` is missing"),
        ("{\"kind\":\"A\",\"metadata\": []}", None, "the object cannot be read: metadata is not a JSON object"),
        ("{\"kind\":\"A\",\"metadata\": {\"name\": 7}}", None, "the object cannot be read: "),
        ("{\"kind\": 7}", None, "the object cannot be read: "),
        ("{\"kind\":\"A\"}", Some("{"), "the old object cannot be read: "),
        ("{\"kind\":\"A\"}", Some("{}"), "the old object cannot be read: the field `kind` is missing"),
    ] {
        let error = review_object(object, old, Writer::default(), &strict(), &Nothing).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
}

#[test]
fn the_namespace_is_that_of_the_object_or_of_the_writer_or_default() {
    let inventory = cluster();
    let of = |namespace: Option<&str>, of_writer: &str| {
        let mut object = object("Endpoints", "x", &[]);
        object["metadata"]["namespace"] = namespace.into();
        let settings = only(&[(Rule::Provenance, Mode::Warn)]);
        let writer = Writer { user: "", namespace: of_writer };
        let review =
            review_object(&object.to_string(), None, writer, &settings, &Answers(Snapshot::of(&inventory))).unwrap();
        review
            .decision
            .warnings
            .first()
            .map(|w| w.split("namespace ").nth(1).unwrap().split(' ').next().unwrap().to_owned())
    };
    assert_eq!(of(Some("shop"), "other"), None);
    assert_eq!(of(None, "shop"), None);
    assert_eq!(of(None, "other").as_deref(), Some("other"));
    assert_eq!(of(None, "").as_deref(), Some("default"));
}

#[test]
fn rules_without_the_kinds_they_need_are_not_checked() {
    let inventory = Inventory::default();
    let snapshot = Answers(Snapshot::of(&inventory));
    let settings = strict();
    let slice = object("EndpointSlice", "s", &[("/endpoints/0/hints", json!({ "forZones": [{ "name": "z" }] }))]);
    let decision = ask(&slice, None, Stage::Validate, &settings, &snapshot);
    let notes: Vec<_> = decision.audit.iter().map(|(k, v)| format!("{k}: {v}")).collect();
    assert_eq!(
        notes,
        [
            "address-provenance: not checked: no pods were given",
            "duplicate-endpoint: not checked: no other slices were given",
            "hint-unknown-zone: not checked: no nodes were given",
            "slice-service-missing: not checked: no Services were given",
        ]
    );
    assert!(decision.allowed());
}

#[test]
fn objects_of_other_namespaces_are_not_all_that_there_are() {
    let mut inventory = Inventory::default();
    let meta = json!({ "name": "other", "namespace": "elsewhere" });
    let status = json!({ "podIPs": [{ "ip": "10.9.9.9" }] });
    inventory.services.push(serde_json::from_value(json!({ "metadata": meta })).unwrap());
    inventory.pods.push(serde_json::from_value(json!({ "metadata": meta, "status": status })).unwrap());
    inventory.slices.push(serde_json::from_value(json!({ "metadata": meta, "addressType": "IPv4" })).unwrap());
    let snapshot = Answers(Snapshot::of_part(&inventory));
    let slice = object("EndpointSlice", "s", &[]);
    let decision = ask(&slice, None, Stage::Validate, &strict(), &snapshot);
    let notes: Vec<_> = decision.audit.iter().map(|(k, v)| format!("{k}: {v}")).collect();
    assert_eq!(
        notes,
        [
            "address-provenance: not checked: no pods of the namespace were given",
            "duplicate-endpoint: not checked: no other slices of the namespace were given",
            "slice-service-missing: not checked: no Services of the namespace were given",
        ]
    );
    assert!(decision.allowed());
}

#[test]
fn what_is_not_decided_is_not_allowed() {
    let (settings, cluster) = (Settings::default(), Nothing);
    let review = |object: &str| review_object(object, None, Writer::default(), &settings, &cluster).unwrap();
    for (name, object, why) in [
        (
            "a field twice",
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"externalIPs":["8.8.8.8"]},"spec":{}}"#,
            "roster: the Service cannot be read: duplicate field `spec`",
        ),
        (
            "a field twice in a slice",
            r#"{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","endpoints":[],"endpoints":[]}"#,
            "roster: the EndpointSlice cannot be read: duplicate field `endpoints`",
        ),
        (
            "another type",
            r#"{"apiVersion":"v1","kind":"Endpoints","subsets":5}"#,
            "roster: the Endpoints cannot be read: invalid type: integer `5`, expected a list",
        ),
    ] {
        let ReviewResult { reviewed, decision, object, .. } = review(object);
        assert!(reviewed && object.is_none(), "{name}");
        let denied = decision.denied.as_ref().map(|d| (d.code, d.reason, d.message.as_str()));
        assert_eq!(denied, Some((400, "BadRequest", why)), "{name}");
        assert_eq!(decision.warnings, [why], "{name}");
    }
    for object in [r#"{"spec":{},"spec":{}}"#, "[]", "[{}]", "7", r#""{}""#] {
        recorded_is_refused(object);
    }
}

fn recorded_is_refused(object: &str) {
    let text = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE",
        "kind":{{"group":"","version":"v1","kind":"Service"}},"object":{object}}}}}"#
    );
    let raw = serde_json::value::RawValue::from_string(text).unwrap();
    let (policies, namespaces) = (policy::Policies::default(), Namespaces::new());
    let (user, groups, namespace) = ("", &[][..], "");
    let cluster = &Nothing;
    let reviewer = Reviewer { policies: &policies, cluster, namespaces: &namespaces, user, groups, namespace };
    let (_, review) = reviewer.recorded(&raw).unwrap();
    assert!(!review.allowed && review.decision.denied.is_some());
    let answers = review.answers.unwrap();
    let allowed = |answer: &serde_json::value::RawValue| {
        let answer: Value = serde_json::from_str(answer.get()).unwrap();
        answer["response"]["allowed"].clone()
    };
    assert_eq!((allowed(&answers.mutate), allowed(&answers.validate)), (json!(true), json!(false)));
}
