//! `roster compat`.

use serde_json::Value;

use super::{Case, check, roster};

#[test]
fn releases_and_differences_are_listed() {
    let two = "\
SWITCH           1.34  1.35    MEANING
hash             md5   fnv128  the hash that orders ports and subsets
compareRepacked  no    yes     stored Endpoints in another order are left alone
";
    check(&[
        Case { name: "all", args: &["compat"], code: 0, out: "1.22 to 1.37, default 1.37.", err: "" },
        Case { name: "one", args: &["compat", "v1.35.2"], code: 0, out: "hash                       fnv128", err: "" },
        Case { name: "two", args: &["compat", "1.34", "--against", "1.35"], code: 0, out: two, err: "" },
        Case {
            name: "same",
            args: &["compat", "1.24", "--against", "1.25"],
            code: 0,
            out: "1.24 and 1.25 have the same switches\n",
            err: "",
        },
    ]);
}

#[test]
fn programs_get_all_switches() {
    let all: Value = serde_json::from_str(&roster(&["compat", "-o", "json"]).out).unwrap();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["items"][0]["minor"]), (16, &"1.22".into()));
    let lines = roster(&["compat", "-o", "ndjson"]).out;
    assert_eq!(lines.lines().count(), 16);
    let two: Value = serde_json::from_str(&roster(&["compat", "1.34", "--against", "1.35", "-o", "json"]).out).unwrap();
    assert_eq!(two["differences"][0]["switch"], "hash");
}
