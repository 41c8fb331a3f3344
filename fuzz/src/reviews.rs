//! What the targets of the webhook share.

use roster::admission::{AdmissionRequest, Knowledge, Mode, Rule, Settings, Stage, decide};
use serde_json::{Value, value::to_raw_value};

/// Every rule, enforced.
pub fn strict() -> Settings {
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    settings
}

/// Lets rules change the object of `request`: the patch applies, has the same effect with another implementation, and
/// leaves nothing to change.
pub fn settle(request: &AdmissionRequest<'_>, settings: &Settings, cluster: &dyn Knowledge) {
    let Some(raw) = request.object else { return };
    let patch = decide(request, Stage::Mutate, settings, cluster).patch;
    let mut ours: Value = serde_json::from_str(raw.get()).expect("an object is JSON");
    let mut theirs = ours.clone();
    for op in &patch {
        op.apply(&mut ours).expect("a patch fits");
    }
    let text = serde_json::to_value(&patch).expect("a patch is JSON");
    let same: json_patch::Patch = serde_json::from_value(text).expect("a patch is one for others as well");
    json_patch::patch(&mut theirs, &same).expect("a patch fits for others as well");
    assert_eq!(ours, theirs, "{patch:?}");
    let patched = to_raw_value(&ours).expect("it was JSON before");
    let again = decide(&AdmissionRequest { object: Some(&patched), ..request.clone() }, Stage::Mutate, settings, cluster);
    assert!(again.patch.is_empty(), "{patch:?} then {:?}", again.patch);
}
