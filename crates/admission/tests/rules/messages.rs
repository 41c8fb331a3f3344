//! The texts of a decision: warnings, audit annotations and refusals, in each mode.

use super::*;

/// Endpoints with `n` loopback addresses.
fn loopbacks(n: usize) -> Value {
    let list: Value = (0..n).map(|i| json!({ "ip": format!("127.0.{}.{}", i / 250, i % 250) })).collect();
    object("Endpoints", "byhand", &[("/subsets/0/addresses", list)])
}

#[test]
fn a_mode_selects_refusal_warning_or_annotation() {
    let text = "subsets[0].addresses[0].ip: 127.0.0.0 is a loopback address";
    for (mode, denied, warned, noted) in [
        (Mode::Off, false, false, false),
        (Mode::Audit, false, false, true),
        (Mode::Warn, false, true, true),
        (Mode::Enforce, true, false, true),
    ] {
        let decision = ask(&loopbacks(1), None, Stage::Validate, &only(&[(Rule::SpecialAddress, mode)]), &Nothing);
        let sentence = format!("{text} (special-address)");
        assert_eq!(
            decision.denied.as_ref().map(|d| (d.code, d.message.as_str())),
            denied.then_some((422, sentence.as_str()))
        );
        assert_eq!(decision.warnings, if warned { vec![sentence] } else { vec![] });
        assert_eq!(decision.audit.get("special-address").map(String::as_str), noted.then_some(text));
        let mutated = ask(&loopbacks(1), None, Stage::Mutate, &only(&[(Rule::SpecialAddress, mode)]), &Nothing);
        assert_eq!(mutated, Decision::default(), "the mutating webhook ignores rules that only refuse");
    }
}

#[test]
fn a_change_is_reported_by_the_webhook_that_makes_it() {
    let key = "/metadata/annotations/service.alpha.kubernetes.io~1tolerate-unready-endpoints";
    let service = object("Service", "s", &[(key, "true".into())]);
    let sentence = "spec.publishNotReadyAddresses: is false, but the annotation says true";
    for (mode, changed, left) in
        [(Mode::Off, false, false), (Mode::Audit, false, false), (Mode::Warn, false, true), (Mode::Enforce, true, true)]
    {
        let settings = only(&[(Rule::TolerateUnready, mode)]);
        let decision = ask(&service, None, Stage::Mutate, &settings, &Nothing);
        assert_eq!(decision.patch.is_empty(), !changed);
        assert_eq!(
            decision.audit.get("tolerate-unready-annotation").cloned(),
            changed.then(|| format!("{sentence}; set to true"))
        );
        assert_eq!(decision.warnings.len(), usize::from(changed));
        // The validating webhook warns about a fault that was not corrected.
        let decision = ask(&service, None, Stage::Validate, &settings, &Nothing);
        assert!(decision.allowed());
        assert_eq!(decision.warnings.len(), usize::from(left), "{mode:?}");
        assert_eq!(decision.audit.len(), usize::from(mode != Mode::Off));
    }
}

#[test]
fn forbidden_takes_precedence_over_invalid() {
    let inventory = cluster();
    let settings = only(&[(Rule::SpecialAddress, Mode::Enforce), (Rule::Provenance, Mode::Enforce)]);
    let denied =
        ask(&loopbacks(1), None, Stage::Validate, &settings, &Answers(Snapshot::of(&inventory))).denied.unwrap();
    assert_eq!((denied.code, denied.reason), (403, "Forbidden"));
    assert_eq!(
        denied.message,
        "subsets[0].addresses[0].ip: 127.0.0.0 is a loopback address (special-address); subsets[0].addresses[0].ip: \
         127.0.0.0 is not the address of a pod in namespace shop (address-provenance)"
    );
}

#[test]
fn a_refusal_names_the_policy_behind_each_rule() {
    let inventory = cluster();
    let mut settings = only(&[(Rule::SpecialAddress, Mode::Enforce)]);
    settings.set_by(Rule::Provenance, Mode::Enforce, &"strict".into());
    let decision = ask(&loopbacks(2), None, Stage::Validate, &settings, &Answers(Snapshot::of(&inventory)));
    assert_eq!(
        decision.denied.unwrap().message,
        "subsets[0].addresses[0].ip: 127.0.0.0 is a loopback address (special-address); \
         subsets[0].addresses[1].ip: 127.0.0.1 is a loopback address (special-address); \
         subsets[0].addresses[0].ip: 127.0.0.0 is not the address of a pod in namespace shop \
         (address-provenance, EndpointPolicy strict); \
         subsets[0].addresses[1].ip: 127.0.0.1 is not the address of a pod in namespace shop (address-provenance)"
    );
    let policies: Vec<_> = decision.findings.iter().map(|f| f.policy.as_deref()).collect();
    assert_eq!(policies, [None, None, Some("strict"), Some("strict")]);
}

#[test]
fn texts_are_bounded_for_any_object() {
    let nasty: String = "\u{7}\n\u{85}é\"\\".repeat(300);
    let service = object(
        "Service",
        "s",
        &[
            ("/spec/trafficDistribution", nasty.clone().into()),
            ("/spec/externalIPs", (0..500).map(|i| format!("{nasty}{i}")).collect()),
            ("/spec/loadBalancerIP", nasty.clone().into()),
            ("/metadata/annotations/topologyKeys", format!("[{}\"\"]", "\"*\",".repeat(50)).into()),
            ("/metadata/annotations/openyurt.io~1topologyKeys", nasty.clone().into()),
            ("/metadata/annotations/service.kubernetes.io~1topology-mode", nasty.clone().into()),
            ("/metadata/annotations/service.kubernetes.io~1topology-aware-hints", "x".into()),
            ("/spec/selector", json!({ "a": nasty })),
        ],
    );
    let inventory = cluster();
    // The longest valid name.
    let policy = "p".repeat(253).into();
    let all = |mode| {
        let mut settings = strict();
        for rule in Rule::ALL {
            settings.set_by(*rule, mode, &policy);
        }
        settings
    };
    for settings in [all(Mode::Enforce), all(Mode::Warn)] {
        for (object, name) in [(&service, "service"), (&loopbacks(900), "endpoints")] {
            let decision = ask(object, None, Stage::Validate, &settings, &Answers(Snapshot::of(&inventory)));
            for warning in &decision.warnings {
                assert!(warning.chars().count() <= 120, "{name}: {warning}");
                assert!(warning.ends_with(')') || warning.starts_with("and "), "{name}: {warning}");
            }
            assert!(decision.warnings.iter().map(|w| w.chars().count()).sum::<usize>() <= 4096);
            let unique: std::collections::BTreeSet<_> = decision.warnings.iter().collect();
            assert_eq!(unique.len(), decision.warnings.len());
            let texts = decision.warnings.iter().chain(decision.audit.values()).map(|text| (text, 1024));
            for (text, most) in texts.chain(decision.denied.iter().map(|d| (&d.message, 4096))) {
                assert!(text.chars().count() <= most && !text.chars().any(char::is_control), "{name}: {text:?}");
            }
            // However long the texts are, every rule is named with its policy.
            for refused in decision.findings.iter().filter(|f| f.refused) {
                let message = &decision.denied.as_ref().unwrap().message;
                let policy = refused.policy.as_ref().unwrap();
                assert!(message.contains(&format!("({}, EndpointPolicy {policy})", refused.rule)), "{name}: {message}");
            }
            assert!(decision.audit.keys().all(|k| Rule::ALL.iter().any(|r| r.code() == k)));
        }
    }
}

#[test]
fn a_long_field_is_truncated_before_the_message() {
    let key = "/metadata/annotations/service.alpha.kubernetes.io~1tolerate-unready-endpoints";
    let service = object("Service", "s", &[(key, "only on Sundays, and then not before noon".into())]);
    let settings = only(&[(Rule::TolerateUnreadyValue, Mode::Warn)]);
    let decision = ask(&service, None, Stage::Validate, &settings, &Nothing);
    assert_eq!(
        decision.warnings,
        [
            "metadata.annotations[service.…: \"only on Sundays, and then not before noon\" is not a Go boolean (tolerate-unready-value)"
        ]
    );
}

#[test]
fn a_request_without_rules_is_allowed_without_a_message() {
    let raw = serde_json::value::to_raw_value(&loopbacks(1)).unwrap();
    let asked = AdmissionRequest {
        version: "v1".into(),
        kind: "Endpoints".into(),
        namespace: "shop".into(),
        name: "byhand".into(),
        operation: Some(Operation::Create),
        object: Some(&raw),
        ..AdmissionRequest::default()
    };
    let denied = |request: &AdmissionRequest<'_>| decide(request, Stage::Validate, &strict(), &Nothing).unwrap();
    assert!(!denied(&asked).allowed());
    let change = |change: fn(&mut AdmissionRequest<'_>)| {
        let mut request = asked.clone();
        change(&mut request);
        request
    };
    for (name, request) in [
        ("a controller's write", change(|r| r.user = "system:serviceaccount:kube-system:endpoint-controller".into())),
        ("one user for all controllers", change(|r| r.user = "system:kube-controller-manager".into())),
        ("the API server's own Endpoints", change(|r| r.user = "system:apiserver".into())),
        ("a subresource", change(|r| r.sub_resource = "status".into())),
        ("a kind without rules", change(|r| r.kind = "Pod".into())),
        ("another group", change(|r| r.group = "example.com".into())),
        ("another version", change(|r| r.version = "v2".into())),
        ("a deletion", change(|r| r.operation = Operation::read("DELETE"))),
        ("no object", change(|r| r.object = None)),
    ] {
        assert_eq!(denied(&request), Decision::default(), "{name}");
        assert_eq!(decide(&request, Stage::Mutate, &strict(), &Nothing), Ok(Decision::default()), "{name}");
    }
}

#[test]
fn an_unreadable_object_is_an_error() {
    let raw = serde_json::value::to_raw_value(&json!({ "spec": { "ports": "none" } })).unwrap();
    let request = AdmissionRequest {
        version: "v1".into(),
        kind: "Service".into(),
        operation: Some(Operation::Create),
        object: Some(&raw),
        ..AdmissionRequest::default()
    };
    let want = "the Service cannot be read: invalid type: string \"none\", expected a list";
    for stage in [Stage::Mutate, Stage::Validate] {
        let error = decide(&request, stage, &strict(), &Nothing).unwrap_err();
        assert_eq!((error.resource, error.to_string().as_str()), (Resource::Service, want));
    }
    // A webhook that fails open allows the object with a warning.
    let decision = Decision::unreviewed(want);
    assert!(decision.allowed());
    assert_eq!(decision.warnings, [format!("roster: {want}")]);
    assert_eq!(decision.audit, [("unreviewed".to_owned(), want.to_owned())].into());
}
