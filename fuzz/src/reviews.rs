//! Shared code of the targets for the webhook.

use roster_admission::patch::apply;
use roster_admission::{AdmissionRequest, Decision, Knowledge, Mode, Rule, Settings, Stage, decide};
use serde_json::{Value, value::to_raw_value};

/// Every rule, enforced.
pub fn strict() -> Settings {
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    settings
}

/// Checks that the patch for the object of `request` fits, that `json-patch` reads it, and that a second patch is empty.
pub fn settle(request: &AdmissionRequest<'_>, settings: &Settings, cluster: &dyn Knowledge) {
    let Some(raw) = request.object else { return };
    let Ok(Decision { patch, .. }) = decide(request, Stage::Mutate, settings, cluster) else { return };
    let object: Value = serde_json::from_str(raw.get()).expect("an object is JSON");
    let mut changed = object.clone();
    apply(&patch, &mut changed).expect("a patch fits");
    // An API server receives the patch as text.
    let text = serde_json::to_value(&patch).expect("a patch is JSON");
    let read: json_patch::Patch = serde_json::from_value(text).expect("a patch can be read");
    let mut stored = object;
    json_patch::patch(&mut stored, &read).expect("a patch fits as text");
    assert_eq!(changed, stored, "{patch:?}");
    let patched = to_raw_value(&changed).expect("it was JSON before");
    let again =
        decide(&AdmissionRequest { object: Some(&patched), ..request.clone() }, Stage::Mutate, settings, cluster)
            .expect("a patched object can be read");
    assert!(again.patch.is_empty(), "{patch:?} then {:?}", again.patch);
}
