//! Random policies, converted to the other version and back: nothing may be lost.

use std::fmt::Write;

use roster_engine::model::json::raw::{JsonMembers, JsonNode, text_of};
use serde_json::value::RawValue;

use super::{
    conversion::convert,
    version::{FIELD_MOVES, PolicyVersion},
};

/// Objects, half of them in each direction. `ROSTER_ROUND_TRIPS` asks for another number, such as 100000.
const OBJECTS: u64 = 10_000;

#[test]
fn policies_survive_conversion_and_back() {
    let asked = std::env::var("ROSTER_ROUND_TRIPS").ok().and_then(|n| n.parse().ok());
    let mut changed = 0;
    for seed in 0..asked.unwrap_or(OBJECTS) {
        let from = PolicyVersion::ALL[usize::from(seed % 2 == 0)];
        let object = RawValue::from_string(Random(seed).policy(from)).unwrap();
        let there = convert(&object, from.other()).unwrap_or_else(|e| panic!("{e}\n{object}"));
        let back = convert(&there, from).unwrap_or_else(|e| panic!("{e}\n{there}"));
        assert_eq!(canonical(&back), canonical(&object), "seed {seed}, by way of\n{there}");
        only_annotations_differ(&object, &there);
        changed += u32::from(there.get().contains("-only"));
    }
    assert!(changed > 0, "no policy needed an annotation");
}

/// An annotation that Roster did not write is kept, and does not change the spec.
#[test]
fn a_foreign_annotation_does_not_change_the_spec() {
    for (from, rest) in [
        (PolicyVersion::V1alpha1, r#"{"spec":{"exempt":{"users":["*"]}}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"match":{"later":1,"namespaces":{"names":["x"]}}}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"defaultMode":"off"}}"#),
        // A list might be read as a group, with its fields in order.
        (PolicyVersion::V1alpha1, r#"{"spec":{"exempt":[["eve"]],"addresses":[["10.0.0.0/8"]]}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"match":{"namespaces":[["shop"]]}}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"match":[[["shop"]]]}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"match":{"later":1},"capacity":["Deny"]}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"exempt":"eve"}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"exempt":5}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"exempt":null}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{"match":{"services":null}}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":[{"exempt":{"users":["*"]}}]}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":{"exempt":{"users":["*"]}}}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":{"match":{"services":5,"namespaces":{"names":["x"]}}}}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":{"match":{"services":5,"later":1}}}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":{"match":{"services":{}}}}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":{"rules":5}}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":[["eve"]]}"#),
        (PolicyVersion::V1alpha1, r#"{"noGroups":{}}"#),
        (PolicyVersion::V1alpha1, r#"{"spec":{}}"#),
        (PolicyVersion::V1alpha1, r#"{"annotation":"a"}"#),
        (PolicyVersion::V1alpha1, r#"{"annotations":{}}"#),
        (PolicyVersion::V1alpha1, r#"[{"exempt":{"users":["*"]}}]"#),
        (PolicyVersion::V1, r#"{"noGroups":{"match":5}}"#),
        (PolicyVersion::V1, r#"{"spec":{"exemptUsers":["*"]}}"#),
        (PolicyVersion::V1, r#"{"spec":{"rules":[]}}"#),
        (PolicyVersion::V1, r#"{"spec":"off"}"#),
    ] {
        let name = format!("roster.dev/{}-only", from.other().name());
        let object = serde_json::json!({
            "apiVersion": from.api_version(), "kind": "EndpointPolicy",
            "metadata": { "name": "p", "annotations": { name: rest } }, "spec": { "future": 1 },
        });
        let raw = serde_json::value::to_raw_value(&object).unwrap();
        let there = convert(&raw, from.other()).unwrap();
        let mut wanted = object;
        wanted["apiVersion"] = from.other().api_version().into();
        assert_eq!(serde_json::from_str::<serde_json::Value>(there.get()).unwrap(), wanted);
        assert_eq!(canonical(&convert(&there, from).unwrap()), canonical(&raw));
    }
}

/// What an API server holds a conversion to: of the metadata, labels and annotations may differ.
fn only_annotations_differ(object: &RawValue, there: &RawValue) {
    let rest = |raw| {
        let mut metadata =
            JsonMembers::read(raw).unwrap().take("metadata").map(JsonNode::into_object).unwrap_or_default();
        metadata.take("annotations");
        canonical(&metadata.to_raw())
    };
    assert_eq!(rest(object), rest(there));
}

/// The same text for equal JSON: members sorted, no spaces, numbers as they are written.
fn canonical(raw: &RawValue) -> String {
    let mut out = String::new();
    write_canonical(raw, &mut out);
    out
}

fn write_canonical(raw: &RawValue, out: &mut String) {
    match raw.get().as_bytes()[0] {
        b'{' => {
            let mut members: Vec<_> = JsonMembers::read(raw).unwrap().into_iter().collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            out.push('{');
            for (name, value) in members {
                out.extend([&name, ":"]);
                match value {
                    JsonNode::Raw(raw) => write_canonical(raw, out),
                    other => panic!("{other:?} was not read"),
                }
                out.push(',');
            }
            out.push('}');
        }
        b'[' => {
            out.push('[');
            for value in serde_json::from_str::<Vec<&RawValue>>(raw.get()).unwrap() {
                write_canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        // The text of our own annotation holds members in any order as well.
        b'"' if raw.get().starts_with("\"{") => {
            out.push('$');
            let text: String = serde_json::from_str(raw.get()).unwrap();
            write_canonical(&RawValue::from_string(text).unwrap(), out);
        }
        b'"' => out.extend(["\"", &text_of(raw).unwrap()]),
        _ => out.push_str(raw.get()),
    }
}

/// A sequence of numbers that depends on nothing but its seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap()).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len())]
    }

    fn policy(mut self, version: PolicyVersion) -> String {
        let mut out = format!(r#"{{"apiVersion":"{version}","kind":"EndpointPolicy""#);
        if !self.one_in(10) {
            let _ = write!(out, r#","metadata":{}"#, self.metadata());
        }
        match self.below(12) {
            0 => {}
            1 => drop(write!(out, r#","spec":{}"#, self.value(1))),
            _ => drop(write!(out, r#","spec":{}"#, self.spec(version))),
        }
        for name in ["status", "future", "items"] {
            if self.one_in(4) {
                let _ = write!(out, r#","{name}":{}"#, self.value(3));
            }
        }
        out + "}"
    }

    fn metadata(&mut self) -> String {
        let mut fields = vec![r#""name":"a""#.to_owned()];
        if self.one_in(3) {
            fields.push(format!(r#""future":{}"#, self.value(2)));
        }
        match self.below(6) {
            0 => fields.push(r#""annotations":null"#.into()),
            1 => fields.push(r#""annotations":{}"#.into()),
            2 => fields.push(format!(r#""annotations":{{{}}}"#, self.annotations())),
            _ => {}
        }
        if self.one_in(8) {
            fields.remove(0);
        }
        format!("{{{}}}", fields.join(","))
    }

    /// Among them such as conversions write, and such as only look so.
    fn annotations(&mut self) -> String {
        let mut fields = vec![r#""a":"b""#.to_owned()];
        for name in ["roster.dev/v1-only", "roster.dev/v1alpha1-only"] {
            if self.one_in(4) {
                let text = self.of(&[
                    "\"junk\"",
                    "5",
                    r#""{\"x\":1}""#,
                    r#""{}""#,
                    "\"\"",
                    r#""{\"spec\":{}}""#,
                    r#""{\"annotation\":\"x\"}""#,
                    r#""{\"spec\":{\"exempt\":[[\"eve\"]],\"rules\":[]}}""#,
                ]);
                fields.push(format!(r#""{name}":{text}"#));
            }
        }
        fields.join(",")
    }

    fn spec(&mut self, version: PolicyVersion) -> String {
        let mut fields = vec![format!(r#""rules":[{{"name":"external-ip","mode":"off","x":{}}}]"#, self.value(1))];
        for name in ["defaultMode", "future"] {
            if self.one_in(3) {
                fields.push(format!(r#""{name}":{}"#, self.value(2)));
            }
        }
        match version {
            PolicyVersion::V1alpha1 => {
                for moved in FIELD_MOVES {
                    if self.one_in(3) {
                        fields.push(format!(r#""{}":{}"#, moved.flat, self.value(2)));
                    }
                }
                for name in ["match", "exempt", "addresses", "capacity"] {
                    if self.one_in(12) {
                        fields.push(format!(r#""{name}":{}"#, self.value(2)));
                    }
                }
            }
            PolicyVersion::V1 => {
                for name in ["match", "exempt", "addresses", "capacity"] {
                    if !self.one_in(3) {
                        let value = self.group(&[name]);
                        fields.push(format!(r#""{name}":{value}"#));
                    }
                }
                if self.one_in(6) {
                    let at = self.below(FIELD_MOVES.len());
                    fields.push(format!(r#""{}":{}"#, FIELD_MOVES[at].flat, self.value(2)));
                }
            }
        }
        format!("{{{}}}", fields.join(","))
    }

    /// A group of v1 with fields that are known, and others.
    fn group(&mut self, path: &[&str]) -> String {
        if self.one_in(8) {
            return self.value(1);
        }
        let mut fields = Vec::new();
        for moved in FIELD_MOVES.iter().filter(|m| m.path.starts_with(path)) {
            let name = moved.path[path.len()];
            if self.one_in(2) || fields.iter().any(|f: &String| f.starts_with(&format!("\"{name}\""))) {
                continue;
            }
            let inner = [path, &[name]].concat();
            let value = if moved.path.len() == inner.len() { self.value(2) } else { self.group(&inner) };
            fields.push(format!(r#""{name}":{value}"#));
        }
        if self.one_in(4) {
            fields.push(format!(r#""future":{}"#, self.value(2)));
        }
        format!("{{{}}}", fields.join(","))
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 8 } else { 12 }) {
            0 => "null".into(),
            1 => "9007199254740993".into(),
            2 => self.of(&["12345678901234567890123", "1.10", "-0", "1e400", "-5E-7"]).into(),
            3 => self.of(&["true", "false"]).into(),
            4 => self.of(&[r#""a""#, r#""""#, r#""\u00e9\n\"x\"""#, r#""{\"spec\":1}""#]).into(),
            5 => r#"["10.0.0.0/8"]"#.into(),
            6 => "{}".into(),
            7 => "[]".into(),
            8 | 9 => format!("[{}, {}]", self.value(depth - 1), self.value(depth - 1)),
            _ => format!(
                r#"{{"{}":{} , "names":{}}}"#,
                self.of(&["a", "match", "selector", "a b"]),
                self.value(depth - 1),
                self.value(depth - 1)
            ),
        }
    }
}
