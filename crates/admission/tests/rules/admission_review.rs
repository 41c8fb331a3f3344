use super::*;

/// A review with other values at these pointers; `null` removes a field.
fn body(changes: &[(&str, Value)]) -> Vec<u8> {
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": { "group": "", "version": "v1", "kind": "Service" },
            "resource": { "group": "", "version": "v1", "resource": "services" },
            "name": "web", "namespace": "shop", "operation": "CREATE",
            "userInfo": { "username": "jane", "groups": ["a"] },
            "object": { "spec": {} }, "oldObject": null, "dryRun": false, "options": null,
        },
    });
    for (pointer, value) in changes {
        apply(&[PatchOp::add(*pointer, value.clone())], &mut review).unwrap();
    }
    serde_json::to_vec(&review).unwrap()
}

#[test]
fn a_review_is_read() {
    let given = body(&[("/request/name", "we\"b".into()), ("/request/oldObject", json!({ "a": 1 }))]);
    let (version, request) = read_review(&given).unwrap();
    assert_eq!(version, ReviewVersion::V1);
    assert_eq!((&*request.uid, &*request.kind, &*request.version), ("u-1", "Service", "v1"));
    assert_eq!((&*request.name, &*request.namespace, &*request.user), ("we\"b", "shop", "jane"));
    assert_eq!(request.operation, Some(Operation::Create));
    assert_eq!(request.object.unwrap().get(), "{\"spec\":{}}");
    assert_eq!(request.old_object.unwrap().get(), "{\"a\":1}");
    assert!(!request.dry_run);
}

#[test]
fn fields_may_be_null_missing_or_unknown() {
    for pointer in [
        "/request/kind",
        "/request/name",
        "/request/namespace",
        "/request/operation",
        "/request/userInfo",
        "/request/userInfo/username",
        "/request/object",
        "/request/oldObject",
        "/request/dryRun",
        "/request/subResource",
    ] {
        let given = body(&[(pointer, Value::Null)]);
        let (_, request) = read_review(&given).unwrap_or_else(|e| panic!("{pointer}: {e}"));
        assert!(decide(&request, Stage::Validate, &strict(), &Nothing).unwrap().allowed(), "{pointer}");
        assert!(request.object.is_none() || pointer != "/request/object");
    }
    let least =
        br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","new":[{}]},"x":1}"#;
    let (_, request) = read_review(least).unwrap();
    assert_eq!(decide(&request, Stage::Mutate, &strict(), &Nothing), Ok(Decision::default()));
    let deleted = body(&[("/request/operation", "DELETE".into()), ("/request/object", Value::Null)]);
    assert_eq!(read_review(&deleted).unwrap().1.operation, None);
    let connected = body(&[("/request/operation", "CONNECT".into())]);
    assert_eq!(read_review(&connected).unwrap().1.operation, None);
    let tried = body(&[("/request/dryRun", true.into())]);
    assert!(read_review(&tried).unwrap().1.dry_run);
}

#[test]
fn the_uid_of_a_broken_review_is_found() {
    use ReviewVersion::{V1, V1beta1};
    let text = |t: &str| t.as_bytes().to_vec();
    let whole = body(&[]);
    let cut = whole[..=whole.iter().rposition(|b| *b == b'u').unwrap()].to_vec();
    let cases: Vec<(&str, Vec<u8>, Option<&str>, ReviewVersion)> = vec![
        ("nothing", vec![], None, V1),
        ("not JSON", text("hello"), None, V1),
        ("a list", text("[1]"), None, V1),
        ("not UTF-8", vec![0xff, 0xfe], None, V1),
        ("no request", text(r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#), None, V1),
        ("a null request", body(&[("/request", Value::Null)]), None, V1),
        ("a request that is a number", body(&[("/request", 7.into())]), None, V1),
        ("no uid", body(&[("/request/uid", Value::Null)]), None, V1),
        ("an empty uid", body(&[("/request/uid", "".into())]), None, V1),
        ("a uid that is a number", body(&[("/request/uid", 7.into())]), None, V1),
        ("an unknown version", body(&[("/apiVersion", "admission.k8s.io/v3".into())]), Some("u-1"), V1),
        ("a version that is a number", body(&[("/apiVersion", 3.into())]), Some("u-1"), V1),
        ("another kind", body(&[("/kind", "ConversionReview".into())]), Some("u-1"), V1),
        ("a wrong type before the uid", body(&[("/request/dryRun", "no".into())]), Some("u-1"), V1),
        (
            "an old version, and a wrong type",
            body(&[("/apiVersion", "admission.k8s.io/v1beta1".into()), ("/request/operation", json!([]))]),
            Some("u-1"),
            V1beta1,
        ),
        ("truncated after the uid", [&cut[..], b"id\":\"u-1\",\"userInfo\":{\"user"].concat(), Some("u-1"), V1),
        (
            "the uid of the object",
            text(r#"{"kind":"AdmissionReview","request":{"object":{"metadata":{"uid":"other"}}}}"#),
            None,
            V1,
        ),
        (
            "the version after the request",
            text(r#"{"request":{"uid":"u-1","name":1},"apiVersion":"admission.k8s.io/v1beta1"}"#),
            Some("u-1"),
            V1beta1,
        ),
    ];
    for (name, given, uid, version) in cases {
        let error = read_review(&given).expect_err(name);
        assert_eq!((error.uid.as_deref(), error.version), (uid, version), "{name}: {error}");
        assert!(!error.message.is_empty() && error.message.chars().count() <= 300);
    }
}

fn answered(version: ReviewVersion, decision: &Decision) -> Value {
    serde_json::from_slice(&answer_review(version, "u-1", decision)).unwrap()
}

#[test]
fn an_answer_has_the_fields_that_an_api_server_requires_and_no_empty_ones() {
    assert_eq!(
        answered(ReviewVersion::V1, &Decision::default()),
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": { "uid": "u-1", "allowed": true },
        })
    );
    let patched = Decision { patch: vec![PatchOp::remove("/a")], ..Decision::default() };
    assert_eq!(
        answered(ReviewVersion::V1beta1, &patched),
        json!({
            "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
            // [{"op":"remove","path":"/a"}]
            "response": {
                "uid": "u-1", "allowed": true, "patchType": "JSONPatch", "patch": "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=",
            },
        })
    );
    let refused = Decision {
        denied: Some(Denial { code: 403, reason: "Forbidden", message: "no".to_owned() }),
        warnings: vec!["mind".to_owned()],
        audit: [("external-ip".to_owned(), "x".to_owned())].into(),
        ..Decision::default()
    };
    assert_eq!(
        answered(ReviewVersion::V1, &refused)["response"],
        json!({
            "uid": "u-1", "allowed": false,
            "status": { "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no" },
            "warnings": ["mind"], "auditAnnotations": { "external-ip": "x" },
        })
    );
    // A refused object is not patched.
    assert!(
        answered(ReviewVersion::V1, &Decision { patch: patched.patch, ..refused })["response"].get("patch").is_none()
    );
}
