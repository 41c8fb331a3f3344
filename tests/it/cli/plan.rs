//! `roster plan`.

use serde_json::{Value, json};

use super::{Case, check, data, roster, roster_with};

const SHOP: &str = "\
NAMESPACE  SERVICE  OBJECT               ACTION  DETAIL
shop       web      Endpoints web        create  2 addresses (1 not ready, 1 ready), ports http 8080/TCP
shop       web      EndpointSlice web-*  create  IPv4, 2 addresses (1 not ready, 1 ready), ports http 8080/TCP

1 of 1 Service: 2 to create, 0 to update, 0 to delete
";

/// The objects of `shop.json`.
fn shop() -> Vec<Value> {
    let text = std::fs::read_to_string(data("shop.json")).unwrap();
    let Value::Array(items) = serde_json::from_str::<Value>(&text).unwrap()["items"].take() else { panic!("no list") };
    items
}

/// `objects`, and with them what the controllers write for them, as an API server would have stored it.
fn at_rest(mut objects: Vec<Value>) -> Vec<Value> {
    let plan: Value = serde_json::from_str(&plan_of(&objects, &["-o", "json"]).out).unwrap();
    for item in plan["items"].as_array().unwrap() {
        let created = item["endpointSlices"]["create"].as_array().unwrap().iter().enumerate().map(|(i, slice)| {
            let mut slice = slice.clone();
            slice["metadata"]["name"] = json!(format!("{}{i}", slice["metadata"]["generateName"].as_str().unwrap()));
            slice
        });
        let stored = created.chain([item["endpoints"]["object"].clone()]).filter(|o| !o.is_null());
        objects.extend(stored.map(|mut object| {
            object["metadata"]["resourceVersion"] = json!("7");
            object["metadata"]["uid"] = json!("u");
            object
        }));
    }
    objects
}

fn plan_of(objects: &[Value], args: &[&str]) -> super::Ran {
    let args: Vec<&str> = ["plan", "-f", "-"].iter().chain(args).copied().collect();
    roster_with(&args, &[], &json!({"kind": "List", "items": objects}).to_string())
}

#[test]
fn changes_are_a_table_and_exit_code_1() {
    let ran = roster(&["plan", "-f", &data("shop.json")]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (SHOP, "", 1));
}

#[test]
fn a_state_at_rest_has_nothing_to_do() {
    let ran = plan_of(&at_rest(shop()), &[]);
    assert_eq!((ran.out.as_str(), ran.code), ("nothing to do for 1 Service\n", 0));
    let ran = plan_of(&at_rest(shop()), &["-o", "wide"]);
    let want = "\
NAMESPACE  SERVICE  OBJECT               ACTION  DETAIL
shop       web      Endpoints web        none    2 addresses (1 not ready, 1 ready), ports http 8080/TCP
shop       web      EndpointSlice web-0  none    IPv4, 2 addresses (1 not ready, 1 ready), ports http 8080/TCP

nothing to do for 1 Service
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 0));
}

#[test]
fn changes_are_listed_by_address() {
    let mut objects = at_rest(shop());
    // web-1 gets ready, old-0 gets the right label, web-0 goes.
    objects[3]["status"]["conditions"][0]["status"] = json!("True");
    objects[4]["metadata"]["labels"]["app"] = json!("web");
    objects.remove(2);
    let ran = plan_of(&objects, &[]);
    let want = "\
NAMESPACE  SERVICE  OBJECT               ACTION  DETAIL
shop       web      Endpoints web        update  + 10.0.0.3 (old-0); - 10.0.0.1 (web-0); not ready -> ready: 10.0.0.2 (web-1)
shop       web      EndpointSlice web-0  update  + 10.0.0.3 (old-0); - 10.0.0.1 (web-0); not ready -> ready: 10.0.0.2 (web-1)

1 of 1 Service: 0 to create, 2 to update, 0 to delete
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 1));
}

#[test]
fn an_endless_update_of_upstream_is_named_and_does_not_count() {
    let mut objects = shop();
    objects[0]["metadata"]["labels"] = json!({"endpoints.kubernetes.io/managed-by": "me"});
    let objects = at_rest(objects);
    let ran = plan_of(&objects, &[]);
    let want = "\
NAMESPACE  SERVICE  OBJECT         ACTION   DETAIL
shop       web      Endpoints web  rewrite  endless update by upstream: service-carries-managed-by-label

Findings
SEVERITY  OBJECT            CODE                              MESSAGE
warning   Service shop/web  service-carries-managed-by-label  the Service carries the label \
endpoints.kubernetes.io/managed-by: its Endpoints are updated at every sync

What to do
CODE                              FIX
service-carries-managed-by-label  Remove the label endpoints.kubernetes.io/managed-by from the Service.

nothing to do for 1 Service, apart from 1 endless update by upstream, which writes the same object again at every sync \
(service-carries-managed-by-label: 1)
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 0));
    // Something else is to be done as well: that counts.
    let mut changed = objects;
    changed.remove(2);
    let ran = plan_of(&changed, &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("update  - 10.0.0.1 (web-0)"), "{}", ran.out);
}

#[test]
fn endpoints_without_a_service_wait_for_the_next_start() {
    let mut objects = at_rest(shop());
    objects.remove(0);
    let ran = plan_of(&objects, &["--complete"]);
    let want = "nothing to do for 0 Services\n1 Endpoints without a Service: \
                deleted when kube-controller-manager restarts\n";
    assert_eq!((ran.out.as_str(), ran.code), (want, 0));
}

#[test]
fn another_release_is_compared() {
    let objects = at_rest(shop());
    let ran = plan_of(&objects, &["--compat", "1.37", "--against", "1.30"]);
    let want = "\
NAMESPACE  SERVICE  OBJECT         1.37  1.30    DETAIL
shop       web      Endpoints web  none  update  label endpoints.kubernetes.io/managed-by removed

Downgrading from 1.37 to 1.30 changes 1 of 1 Service
`roster compat 1.37 --against 1.30` lists what differs between the two releases
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 1));
    let ran = plan_of(&objects, &["--against", "1.36"]);
    assert_eq!((ran.out.as_str(), ran.code), ("Downgrading from 1.37 to 1.36 changes none of 1 Service\n", 0));
    let ran = plan_of(&objects, &["--against", "1.30", "-o", "json"]);
    let want = json!({
        "items": [{"namespace": "shop", "name": "web", "differences": [{
            "kind": "Endpoints", "name": "web", "compat": "none", "against": "update",
            "detail": "label endpoints.kubernetes.io/managed-by removed",
        }]}],
        "compat": "1.37",
        "against": "1.30",
        "inputProblems": [],
    });
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap(), want);
}

#[test]
fn one_controller_or_one_service_is_enough() {
    let shop = data("shop.json");
    let nothing = "nothing to do for 0 Services\n";
    check(&[
        Case {
            name: "one",
            args: &["plan", "-f", &shop, "--controller", "endpoints"],
            code: 1,
            out: "1 to create",
            err: "",
        },
        Case {
            name: "two",
            args: &["plan", "-f", &shop, "--controller", "endpoints,slices"],
            code: 1,
            out: "2 to create",
            err: "",
        },
        Case {
            name: "none",
            args: &["plan", "-f", &shop, "--controller", "mirroring"],
            code: 0,
            out: "nothing to do",
            err: "",
        },
        Case { name: "by name", args: &["plan", "-f", &shop, "web"], code: 1, out: SHOP, err: "" },
        Case { name: "by namespace and name", args: &["plan", "-f", &shop, "shop/web"], code: 1, out: SHOP, err: "" },
        Case { name: "its namespace", args: &["plan", "-f", &shop, "-n", "shop", "web"], code: 1, out: SHOP, err: "" },
        Case {
            name: "another namespace",
            args: &["plan", "-f", &shop, "-n", "default"],
            code: 0,
            out: nothing,
            err: "warning: no Service, Endpoints or EndpointSlice found in namespace default\n",
        },
        Case {
            name: "a Service that is not there",
            args: &["plan", "-f", &shop, "we"],
            code: 2,
            out: "",
            err: "error: Service we not found; did you mean shop/web?\n",
        },
        Case {
            name: "nor there",
            args: &["plan", "-f", &shop, "-n", "prod", "web"],
            code: 2,
            out: "",
            err: "error: Service web not found in namespace prod\n",
        },
    ]);
}

#[test]
fn programs_get_the_same_in_three_forms() {
    let shop = data("shop.json");
    let json: Value = serde_json::from_str(&roster(&["plan", "-f", &shop, "-o", "json"]).out).unwrap();
    let lines: Vec<Value> = roster(&["plan", "-f", &shop, "-o", "ndjson"])
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let yaml: Value = serde_saphyr::from_str(&roster(&["plan", "-f", &shop, "-o", "yaml"]).out).unwrap();
    assert_eq!(json["items"].as_array().unwrap(), &lines[..1]);
    assert_eq!(json["summary"], lines[1]["summary"]);
    assert_eq!(json, yaml);
    assert_eq!(json["items"][0]["endpoints"]["action"], "create");
    assert_eq!(json["summary"]["changed"], 1);
}

#[test]
fn an_empty_list_is_a_document_too() {
    for (format, want) in [("json", json!([])), ("yaml", json!([]))] {
        let ran = roster(&["plan", "-f", &data("shop.json"), "-n", "nowhere", "-o", format]);
        let value: Value = serde_saphyr::from_str(&ran.out).unwrap();
        assert_eq!((value["items"].clone(), ran.code), (want, 0), "{format}");
    }
}

#[test]
fn the_exit_code_does_not_depend_on_the_reader() {
    for format in ["table", "json", "ndjson", "yaml"] {
        let mut command = std::process::Command::new(crate::program());
        command.args(["plan", "-f", &data("shop.json"), "-o", format]);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{format}");
    }
}
