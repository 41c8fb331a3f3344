//! The examples of `docs/reference/rules.md`: an object per rule in `tests/data/rules`, decided for real.

pub(crate) mod examples;

use std::{fs, path::Path};

use examples::{MODES, cluster, data, object};
use roster_admission::{
    Decision, Mode, Rule, RuleExample, Settings,
    offline_review::{Writer, review_object},
    rules_markdown,
};
use roster_manifests::inventory::{Answers, Inventory, Snapshot};

fn decided(rule: Rule, mode: Mode, inventory: &Inventory) -> Decision {
    let mut settings = Settings::default();
    for other in Rule::ALL {
        settings.set(*other, Mode::Off);
    }
    settings.set(rule, mode);
    let context = Writer { user: "jane", namespace: "" };
    let review =
        review_object(&object(rule).to_string(), None, context, &settings, &Answers(Snapshot::of(inventory))).unwrap();
    assert!(review.reviewed, "{rule}");
    review.decision
}

/// The text of `docs/reference/rules.md`.
pub(crate) fn markdown() -> String {
    let inventory = cluster();
    rules_markdown(|rule| {
        let [enforced, warned] = [Mode::Enforce, Mode::Warn].map(|mode| decided(rule, mode, &inventory));
        RuleExample { object: data(rule.code()), enforced, warned }
    })
}

#[test]
fn every_rule_finds_its_example_and_no_other_file_is_there() {
    let inventory = cluster();
    for rule in Rule::ALL {
        for (mode, heard) in MODES.into_iter().zip([false, true, true, true]) {
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
