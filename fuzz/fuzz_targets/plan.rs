//! Realistic states with some faults, planned by all controllers of any release.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_engine::reason::Reason;
use roster_fuzz::{inputs, state};

fuzz_target!(|state: state::Request| {
    let text = state.0.to_string();
    let once = inputs::read_request(&text);
    assert_eq!(once, inputs::read_request(&backwards(&state)), "the order of fields does not matter");
    // A repeated field makes the reader look at each field and object; what it reads is the same.
    let mut again = inputs::read_request(&text.replacen('{', r#"{"pods":null,"#, 1));
    if let Ok((_, findings)) = &mut again {
        let reported = findings.iter().position(|f| f.pointer.as_deref() == Some("/pods"));
        let repeated = findings.remove(reported.expect("the repeated field is reported"));
        assert_eq!(repeated.code, Reason::DuplicateKey);
    }
    assert_eq!(once, again, "both ways of reading give the same plan");
});

/// The text of the same state with its fields in the opposite order.
fn backwards(state: &state::Request) -> String {
    let fields = state.0.as_object().expect("a state is an object").iter().rev();
    let fields: Vec<String> = fields.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
