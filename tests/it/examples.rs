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
    insta::assert_snapshot!(plan::planned_changes(SHOP).unwrap(), @"");
}

#[test]
fn explain_lists_the_pods_that_are_not_served() {
    insta::assert_snapshot!(explain::unserved_pods(SHOP).unwrap(), @"");
}

#[test]
fn admission_prints_the_answer_of_the_webhook() {
    let answer: serde_json::Value = serde_json::from_str(&admission::answer(SHOP).unwrap()).unwrap();
    assert_eq!(answer["response"]["allowed"], false, "{answer}");
    assert_eq!(answer["response"]["status"]["message"], "", "{answer}");
}
