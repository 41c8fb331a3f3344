//! The examples of `docs/rules.md`: an object per rule in `tests/data/rules`, decided for real.

use std::{fs, num::NonZeroUsize, path::Path};

use roster::{
    admission::{Context, Decision, Example, Mode, Rule, Settings, Snapshot, review, rules_markdown},
    decode::{self, Format, Source},
    inventory::Inventory,
};
use serde_json::{Value, json};

/// A file of `tests/data/rules`.
fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rules");
    fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn cluster() -> Inventory {
    let mut inventory = Inventory::default();
    let source = Source { format: Format::Yaml, threads: NonZeroUsize::MIN, ..Source::body() };
    decode::read(data("cluster").as_bytes(), &source, &mut inventory).unwrap();
    assert_eq!(inventory.len(), 7);
    inventory
}

/// The object of a rule. Nobody wants to read one that is too long: that is made here.
fn object(rule: Rule) -> Value {
    let mut object: Value = serde_saphyr::from_str(&data(rule.code())).unwrap();
    let ip = |i: usize| format!("10.244.{}.{}", i / 250, i % 250 + 1);
    if rule == Rule::OverCapacity {
        object["subsets"][0]["addresses"] = (0..1200).map(|i| json!({ "ip": ip(i) })).collect();
    }
    if rule == Rule::SliceOverCapacity {
        object["endpoints"] = (0..1200).map(|i| json!({ "addresses": [ip(i)] })).collect();
    }
    object
}

fn decided(rule: Rule, mode: Mode, inventory: &Inventory) -> Decision {
    let mut settings = Settings::default();
    for other in Rule::ALL {
        settings.set(*other, Mode::Off);
    }
    settings.set(rule, mode);
    let context = Context { user: "jane", namespace: "" };
    let review = review(&object(rule).to_string(), None, context, &settings, &Snapshot::of(inventory)).unwrap();
    assert!(review.reviewed, "{rule}");
    review.decision
}

/// The text of `docs/rules.md`.
pub(crate) fn markdown() -> String {
    let inventory = cluster();
    rules_markdown(|rule| {
        let [enforced, warned] = [Mode::Enforce, Mode::Warn].map(|mode| decided(rule, mode, &inventory));
        Example { object: data(rule.code()), enforced, warned }
    })
}

#[test]
fn every_rule_finds_its_example_and_no_other_file_is_there() {
    let inventory = cluster();
    for rule in Rule::ALL {
        for (mode, heard) in [(Mode::Off, false), (Mode::Audit, true), (Mode::Warn, true), (Mode::Enforce, true)] {
            let decision = decided(*rule, mode, &inventory);
            assert_eq!(decision.audit.keys().eq([rule.code()]), heard, "{rule} {mode:?}: {decision:?}");
            let acted = decision.denied.is_some() || !decision.patch.is_empty();
            assert_eq!(acted, mode == Mode::Enforce, "{rule} {mode:?}: {decision:?}");
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rules");
    let files = fs::read_dir(folder).unwrap().count();
    assert_eq!(files, Rule::COUNT + 1);
}
