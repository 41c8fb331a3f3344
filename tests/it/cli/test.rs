//! `roster test`: users' own cases.

use std::fs;

use serde_json::Value;

use super::{Case, check, roster};

const MANIFESTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{name: http, containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: typo}
spec: {selector: {app: wbe}, ports: [{port: 80}], externalIPs: [203.0.113.9]}
---
apiVersion: v1
kind: Service
metadata: {name: bad}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}], sessionAffinity: Sometimes}
";

/// Runs a test file with these cases; returns the exit code and the results.
fn run(tests: &str) -> (i32, Vec<Value>, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("web.yaml"), MANIFESTS).unwrap();
    let file = format!(
        "apiVersion: roster.dev/v1alpha1\nkind: Test\ninputs: [web.yaml]\noptions: {{zones: [a, b], namespace: shop}}\ntests:\n{tests}"
    );
    fs::write(folder.path().join("roster-test.yaml"), file).unwrap();
    let ran = roster(&["test", folder.path().to_str().unwrap(), "-o", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    let tests = document["items"][0]["tests"].as_array().cloned().unwrap_or_default();
    (ran.code, tests, ran.err)
}

#[test]
fn expectations_hold_or_show_their_differences() {
    for (test, want) in [
        ("serves: {service: shop/web, port: http, pods: 3}", ""),
        ("serves: {service: web, port: 80, zone: a, pods: 2}", ""),
        ("serves: {service: web, zone: a, atLeast: 2}", ""),
        ("serves: {service: web, names: [web-assumed-1, web-assumed-2, web-assumed-3]}", ""),
        ("serves: {service: web, pods: 4}", "pods [\"4\"] [\"3\"]"),
        ("serves: {service: web, zone: b, atLeast: 2}", "atLeast [\"2\"] [\"1\"]"),
        ("serves: {service: web, zone: c, pods: 0}", "no node is in zone c; the zones are: a, b"),
        ("serves: {service: web, clientsInZone: c, pods: 3}", "no node is in zone c; the zones are: a, b"),
        ("serves: {service: typo, names: none}", ""),
        ("serves: {service: web, names: none}", "names [] [\"web-assumed-1\",\"web-assumed-2\",\"web-assumed-3\"]"),
        ("review: {object: Service typo, user: jane, groups: none, allowed: true}", ""),
        ("review: {object: Service bad, allowed: true}", "allowed [\"true\"] [\"false\"]"),
        ("review: {object: Service bad, allowed: false}", ""),
        ("serves: {service: typo, pods: 0}", ""),
        ("serves: {service: web, port: https, pods: 3}", "the Service has no such port; it has: http 80"),
        ("serves: {service: back/web, pods: 3}", "the inputs have no Service back/web; did you mean shop/web?"),
        ("pod: {service: web, name: web-assumed-1, served: true, reason: ready}", ""),
        ("pod: {service: web, name: web-assumed-1, served: false}", "served [\"false\"] [\"true\"]"),
        ("pod: {service: web, name: nobody, served: false}", "the Service does not select a pod nobody"),
        ("plan: {service: web, changes: [create Endpoints web, create EndpointSlice web-*]}", ""),
        ("plan: {service: web, changes: none}", "changes [] [\"create EndpointSlice web-*\",\"create Endpoints web\"]"),
        ("upgrade: {from: '1.35', to: '1.37', changes: none}", ""),
        ("upgrade: {from: '1.30', to: '1.37', service: web, changes: none}", "changes [] [\"shop/web\"]"),
        ("upgrade: {from: '1.30', to: '1.37', service: web, changes: shop/web}", ""),
        ("review: {object: Service typo, allowed: true, warned: [external-ip, selector-matches-nothing]}", ""),
        ("review: {object: Service shop/typo, denied: external-ip}", "denied [\"external-ip\"] []"),
        ("review: {object: Service gone, allowed: true}", "the inputs have no Service shop/gone"),
        ("findings: {object: Service typo, codes: selector-matches-no-template}", ""),
        ("findings: {codes: none}", "codes [] [\"selector-matches-no-template\"]"),
        ("findings: {object: Service nope, codes: none}", "the inputs have no Service shop/nope"),
        ("review: {object: Deployment web, allowed: true}", "the webhook has no rules for objects of this kind"),
        ("upgrade: {from: '1.37', to: '1.37', changes: none}", "from and to are the same release, 1.37"),
    ] {
        let (code, tests, err) = run(&format!("- {{name: t, {test}}}\n"));
        let result = tests.first().unwrap_or_else(|| panic!("{test}: {err}"));
        let differences = result["differences"].as_array().cloned().unwrap_or_default();
        let line = |d: &Value| format!("{} {} {}", d["field"].as_str().unwrap(), d["expected"], d["found"]);
        let found: Vec<String> = differences.iter().map(line).collect();
        let found = result["error"].as_str().map_or_else(|| found.join("; "), str::to_owned);
        assert!(found.starts_with(want) && found.is_empty() == want.is_empty(), "{test}: {found}");
        assert_eq!((result["passed"].as_bool(), code), (Some(want.is_empty()), i32::from(!want.is_empty())), "{test}");
    }
}

/// Runs one case on these manifests, with further fields of the file; its error or its differences.
fn run_on(manifests: &str, fields: &str, test: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.yaml"), manifests).unwrap();
    let file = format!(
        "apiVersion: roster.dev/v1alpha1\nkind: Test\ninputs: [in.yaml]\n{fields}tests:\n- {{name: t, {test}}}\n"
    );
    fs::write(folder.path().join("roster-test.yaml"), file).unwrap();
    let ran = roster(&["test", folder.path().to_str().unwrap(), "-o", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    let result = &document["items"][0]["tests"][0];
    let codes = result["differences"].as_array().into_iter().flatten().map(|d| d["found"].to_string());
    result["error"].as_str().map_or_else(|| codes.collect::<Vec<_>>().join("; "), str::to_owned)
}

/// What `plan` calls unreadable input is an error of every case, except of one about the findings.
#[test]
fn a_missing_separator_is_an_error_of_the_cases() {
    let mixed = MANIFESTS.replacen("---\n", "", 1);
    for (test, is_error) in [
        ("serves: {service: web, pods: 0}", true),
        ("pod: {service: web, name: web-assumed-1, served: false}", true),
        ("plan: {changes: none}", true),
        ("upgrade: {from: '1.35', to: '1.37', changes: none}", true),
        ("review: {object: Service typo, allowed: true}", true),
        ("findings: {object: Service web, codes: missing-separator}", false),
    ] {
        let found = run_on(&mixed, "", test);
        assert_eq!(found.starts_with("Service default/web: missing-separator: "), is_error, "{test}: {found}");
        assert_eq!(found.is_empty(), !is_error, "{test}: {found}");
    }
}

const NO_PODS: &str = "shop/web: no Pods in the input: not checked which endpoints Services with a selector have; add them or \
                       their workloads, or set options.complete if the inputs are the whole cluster";

#[test]
fn nothing_is_concluded_from_what_the_inputs_do_not_have() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n\
                   spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}\n";
    let pod = "---\napiVersion: v1\nkind: Pod\n\
               metadata: {name: web-1, namespace: shop, uid: u, resourceVersion: '1', labels: {app: web}}\n\
               spec: {nodeName: n1, containers: [{name: c, image: c}]}\n\
               status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], conditions: [{type: Ready, status: 'True'}]}\n";
    let running = format!("{service}{pod}");
    let complete = "options: {complete: true}\n";
    for (manifests, fields, test, want) in [
        // The node of the pod is not among the inputs.
        (running.as_str(), "", "serves: {service: shop/web, pods: 1}", ""),
        (&running, "", "pod: {service: shop/web, name: web-1, served: true}", ""),
        (&running, "", "findings: {codes: none}", ""),
        (&running, complete, "findings: {codes: none}", "[\"missing-node-retries\"]"),
        // Nothing is known of the pods: the expectation would hold whatever they are.
        (service, "", "serves: {service: shop/web, pods: 0}", NO_PODS),
        (service, "", "serves: {service: shop/web, names: []}", NO_PODS),
        (service, "", "plan: {changes: none}", NO_PODS),
        (service, "", "upgrade: {from: '1.30', to: '1.37', changes: none}", NO_PODS),
        (service, complete, "serves: {service: shop/web, pods: 0}", ""),
        (
            &running,
            "",
            "serves: {service: shop/web, zone: a, pods: 0}",
            "nothing is known of zone a: the inputs have no Nodes with zones; add them, or options.zones",
        ),
        // A stored object that an input replaces is not there twice.
        (&running, "stored: [in.yaml]\n", "findings: {codes: none}", ""),
        // There is nothing that could be wrong.
        (
            "kind: Sevice\napiVersion: v1\nmetadata: {name: a}\n",
            "",
            "plan: {changes: none}",
            "the inputs have no Service",
        ),
        ("a: 1\n", "", "upgrade: {from: '1.30', to: '1.37', changes: none}", "the inputs have no Service"),
        ("a: 1\n", "", "findings: {codes: none}", "the inputs have no Service"),
    ] {
        assert_eq!(run_on(manifests, fields, test), want, "{fields}{test}: {manifests}");
    }
}

#[test]
fn a_filter_without_a_match_is_an_error() {
    let example = format!("{}/examples/test", env!("CARGO_MANIFEST_DIR"));
    let ran = roster(&["test", &example, "--filter", "zzz"]);
    assert!(ran.code == 2 && ran.err.contains("no test to run"), "{} {}", ran.code, ran.err);
}

#[test]
fn a_file_that_means_nothing_is_an_error() {
    for (tests, want) in [
        ("- {name: a}\n", "tests[0] (a): has not exactly one of serves"),
        ("- {name: a, serves: {service: web}, plan: {changes: none}}\n", "has not exactly one of"),
        ("- {name: a, servs: {service: web}}\n", "unknown field `servs`"),
        ("- {name: a, upgrade: {from: '1.9', to: '1.37', changes: none}}\n", "1.9"),
    ] {
        let (code, tests, err) = run(tests);
        assert!(code == 2 && tests.is_empty() && err.contains(want), "{want}: {err}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "kind: Service\n").unwrap();
    let (path, file) = (folder.path().display().to_string(), folder.path().join("a.yaml").display().to_string());
    check(&[
        Case { name: "no test file", args: &["test", &path], code: 2, out: "", err: "contains no roster-test.yaml" },
        Case {
            name: "another kind",
            args: &["test", &file],
            code: 2,
            out: "0 tests",
            err: "a.yaml:2: missing field `apiVersion`",
        },
    ]);
}

#[test]
fn the_example_passes_and_a_failure_is_shown() {
    let example = format!("{}/examples/test", env!("CARGO_MANIFEST_DIR"));
    let ran = roster(&["test", &example]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "8 tests: 8 passed, 0 failed\n", ""), "{}", ran.out);
    let ran = roster(&["test", &example, "--filter", "zone", "-o", "junit"]);
    assert!(ran.out.contains("<testsuites name=\"roster test\" tests=\"2\" failures=\"0\">"), "{}", ran.out);
    let folder = tempfile::tempdir().unwrap();
    for name in ["web.yaml", "policy.yaml", "roster-test.yaml"] {
        let text = fs::read_to_string(format!("{example}/{name}")).unwrap();
        fs::write(
            folder.path().join(name),
            text.replace("  selector: { app: web }\n  ports", "  selector: { app: wbe }\n  ports"),
        )
        .unwrap();
    }
    let ran = roster(&["test", folder.path().to_str().unwrap()]);
    for want in [
        "  FAIL  three pods serve http, one of them in zone a\n        pods:\n        - 3\n        + 0\n          selector-matches-no-template: ",
        "  FAIL  the manifests fit each other\n        codes:\n        + selector-matches-no-template\n",
    ] {
        assert!(ran.out.contains(want), "{want}: {}", ran.out);
    }
    let ran = roster(&["test", folder.path().to_str().unwrap(), "-o", "junit"]);
    assert!(ran.code == 1 && ran.out.contains("<failure message=\"pods: expected 3; found 0\">"), "{}", ran.out);
}
