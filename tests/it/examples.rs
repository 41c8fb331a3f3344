//! The programs in `examples/` do what their first lines say.

#[expect(dead_code, reason = "main is for cargo run")]
#[path = "../../examples/admission.rs"]
mod admission;
#[expect(dead_code, reason = "main is for cargo run")]
#[path = "../../examples/explain.rs"]
mod explain;
#[expect(dead_code, reason = "main is for cargo run")]
#[path = "../../examples/plan.rs"]
mod plan;

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shop.yaml");

#[test]
fn plan_lists_what_the_controllers_would_write() {
    let want = "\
create Endpoints search: 2 addresses, ports http 8080/TCP
create EndpointSlice search-*: IPv4, 2 addresses, ports http 8080/TCP
";
    assert_eq!(plan::planned_changes(SHOP).unwrap(), want);
}

#[test]
fn explain_lists_the_pods_that_are_not_served() {
    let want = "\
cart: selector-matches-nothing none of 16 pods in namespace shop
cart: label-differs pod cart-ccjkzb7sns-bdx7f and 1 other pod: label tier is \"back\", not \"backend\"
catalog: pod catalog-qrjbl8xmbj-hqz2x in Endpoints: named-port-missing
catalog: pod catalog-qrjbl8xmbj-hqz2x in EndpointSlice IPv4: named-port-missing
payment: pod payment-6dgktw2zzd-5vxgx in Endpoints: not-ready
payment: pod payment-6dgktw2zzd-5vxgx in EndpointSlice IPv4: not-ready
warehouse: no-selector there are hand-made Endpoints with 2 addresses
warehouse: mirrored 2 endpoints in 1 slice
";
    assert_eq!(explain::unserved_pods(SHOP).unwrap(), want);
}

#[test]
fn admission_prints_the_answer_of_the_webhook() {
    let answer: serde_json::Value = serde_json::from_str(&admission::answer(SHOP).unwrap()).unwrap();
    assert_eq!(answer["response"]["allowed"], false, "{answer}");
    let findings: Vec<&str> =
        answer["response"]["auditAnnotations"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(findings, ["address-provenance", "endpoints-deprecated", "special-address"]);
}
