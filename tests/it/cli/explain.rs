//! `roster explain`.

use serde_json::{Value, json};

use super::{Case, check, data, roster, roster_with};

#[test]
fn every_pod_and_port_has_a_verdict_with_a_reason_and_a_fix() {
    let ran = roster(&["explain", "-f", &data("shop.json")]);
    let want = "\
shop/web: 1 of 2 pods served
  PODS   PORTS            LISTS                          STATE      REASON     DETAIL
  web-0  http 80 -> http  Endpoints, EndpointSlice IPv4  ready      ready
  web-1  http 80 -> http  Endpoints, EndpointSlice IPv4  not ready  not-ready  condition Ready is False \
(ContainersNotReady); container c is not ready (CrashLoopBackOff)

What to do
CODE       FIX
not-ready  Look at the condition, container or readiness gate named in the detail.

1 Service, 2 pod ports: 1 served, 1 not served
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want, "", 1));
}

/// The shop with a selector that is wrong by a letter, so that it matches nothing.
fn misspelt() -> String {
    let mut list: Value = serde_json::from_str(&std::fs::read_to_string(data("shop.json")).unwrap()).unwrap();
    list["items"][0]["spec"]["selector"] = json!({"app": "wbe"});
    list.to_string()
}

#[test]
fn a_selector_that_matches_nothing_has_a_nearest_miss() {
    let ran = roster_with(&["explain", "-f", "-"], &[], &misspelt());
    assert_eq!(ran.code, 1);
    for part in ["shop/web: no pods", "selector-matches-nothing", "label app is \"web\", not \"wbe\""] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn one_pod_can_be_looked_at() {
    let shop = data("shop.json");
    check(&[
        Case {
            name: "a pod that serves",
            args: &["explain", "-f", &shop, "--pod", "web-0"],
            code: 0,
            out: "shop/web: 1 of 1 pod served",
            err: "",
        },
        Case {
            name: "a pod that is not selected",
            args: &["explain", "-f", &shop, "--pod", "shop/old-0", "web"],
            code: 1,
            out: "pod old-0: label app is \"wed\", not \"web\"",
            err: "",
        },
        Case {
            name: "no pod",
            args: &["explain", "-f", &shop, "--pod", "nobody"],
            code: 2,
            out: "",
            err: "error: pod nobody not found\n",
        },
    ]);
}

#[test]
fn programs_get_every_verdict() {
    let ran = roster(&["explain", "-f", &data("shop.json"), "-o", "json"]);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        value["summary"],
        json!({"services": 1, "podPorts": 2, "served": 1, "staleAddresses": 0, "inputProblems": []})
    );
    let rows = value["items"][0]["rows"].as_array().unwrap();
    let seen: Vec<String> =
        rows.iter().map(|r| format!("{} {} {}", r["pod"], r["scope"], r["reasons"][0]["code"])).collect();
    let want = [
        "\"web-0\" \"Endpoints\" \"ready\"",
        "\"web-0\" \"EndpointSlice IPv4\" \"ready\"",
        "\"web-1\" \"Endpoints\" \"not-ready\"",
        "\"web-1\" \"EndpointSlice IPv4\" \"not-ready\"",
    ];
    assert_eq!((seen, ran.code), (want.map(str::to_owned).to_vec(), 1));
}
