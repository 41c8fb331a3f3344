//! The bytes are those of Go: of random objects with every field, and of each special shape by itself.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use roster_engine::model::Resource;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    encoder::write_message,
    envelope::ProtobufKind,
    message::{FieldType, Message, fields, many, map, message, optional},
    messages::{CORE_NAMESPACE, CORE_NODE, CORE_SERVICE, DISCOVERY_ENDPOINT_SLICE, META_STATUS},
};
use crate::servers::edge::permissions::CACHED;

/// Random objects, as JSON and as protobuf, which `cargo xtask protobuf` recorded from Go.
const RECORDED: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/protobuf/random.jsonl.gz"));

#[derive(Deserialize)]
struct Recorded<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
    protobuf: String,
}

fn recorded() -> String {
    let mut text = String::new();
    GzDecoder::new(RECORDED).read_to_string(&mut text).unwrap();
    text
}

fn kind_of(object: &Value) -> ProtobufKind {
    let resource = CACHED.iter().find(|resource| object["kind"] == resource.kind());
    resource.map_or(ProtobufKind::STATUS, |resource| ProtobufKind::of(*resource).unwrap())
}

#[test]
fn random_objects_are_written_as_go_writes_them() {
    let text = recorded();
    let mut kinds = std::collections::BTreeSet::new();
    for line in text.lines() {
        let Recorded { object, protobuf } = serde_json::from_str(line).unwrap();
        let value: Value = serde_json::from_str(object.get()).unwrap();
        kinds.insert(value["kind"].as_str().unwrap().to_owned());
        let mut out = Vec::new();
        kind_of(&value).write(object.get().as_bytes(), &mut out).unwrap();
        // The order of members does not matter: these are in that of the alphabet.
        let mut of_sorted = Vec::new();
        kind_of(&value).write(value.to_string().as_bytes(), &mut of_sorted).unwrap();
        let want = STANDARD.decode(protobuf).unwrap();
        assert!(out == want && of_sorted == want, "{object}\n{}\n{}", hex(&out), hex(&want));
    }
    assert_eq!(kinds.len(), CACHED.len() + 1, "{kinds:?}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The bytes of a field with bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    let mut field = vec![(number << 3) | 2, length];
    field.extend_from_slice(content);
    field
}

/// What is written of a member of a message, where nothing else is; the message writes only optional fields.
fn written(message: &'static Message, json: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    write_message(message, json.to_string().as_bytes(), &mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

static OPTIONAL: Message = fields(&[
    optional(1, "time", FieldType::Time),
    optional(2, "quantity", FieldType::Quantity),
    optional(3, "port", FieldType::IntOrString),
    optional(4, "small", FieldType::Int32),
    map(5, "map", FieldType::Text),
    many(6, "list", FieldType::Text),
    optional(7, "part", message(&OPTIONAL)),
    optional(8, "is", FieldType::Boolean),
]);

#[test]
fn special_shapes() {
    let entry = |key: &[u8], value: &[u8]| field(5, &[field(1, key), field(2, value)].concat());
    let minus_one = [&[0x20][..], &[0xff; 9], &[1]].concat();
    for (json, want) in [
        (json!({}), vec![]),
        (json!({ "time": "1970-01-01T00:00:01Z" }), field(1, &[8, 1, 16, 0])),
        (json!({ "time": "1970-01-01T01:00:01.9+01:00" }), field(1, &[8, 1, 16, 0])),
        (json!({ "time": "0001-01-01T00:00:00Z" }), field(1, &[])),
        (json!({ "time": "1969-12-31T23:59:58.5Z" }), field(1, &[&[8, 0xfe][..], &[0xff; 8], &[1, 16, 0]].concat())),
        (json!({ "quantity": "1500m" }), field(2, &field(1, b"1500m"))),
        (json!({ "port": 80 }), field(3, &[8, 0, 16, 80, 26, 0])),
        (json!({ "port": "http" }), field(3, b"\x08\x01\x10\x00\x1a\x04http")),
        (json!({ "small": -1 }), minus_one),
        (json!({ "is": false }), vec![0x40, 0]),
        // In the order of the fields and of the keys.
        (json!({ "small": 1, "port": 0 }), [field(3, &[8, 0, 16, 0, 26, 0]), vec![0x20, 1]].concat()),
        (json!({ "map": { "b": "1", "a": "" } }), [entry(b"a", b""), entry(b"b", b"1")].concat()),
        (json!({ "list": ["x", ""] }), [field(6, b"x"), field(6, b"")].concat()),
        // What is absent, and what is empty.
        (json!({ "list": [], "map": {}, "part": {} }), field(7, &[])),
        (json!({ "time": null, "list": null, "map": null, "part": null, "small": null }), vec![]),
        (json!({ "list": [null], "map": { "a": null } }), [entry(b"a", b""), field(6, b"")].concat()),
        (json!({ "part": { "part": { "small": 2 } } }), field(7, &field(7, &[0x20, 2]))),
        (json!({ "unknown": [{ "small": "x" }], "small": 3 }), vec![0x20, 3]),
    ] {
        assert_eq!(written(&OPTIONAL, &json).as_ref(), Ok(&want), "{json}");
    }
}

#[test]
fn the_last_of_repeated_members_counts_and_unknown_ones_are_not_read() {
    for (json, want) in [
        (r#"{"small":1,"small":2}"#, vec![0x20, 2]),
        (r#"{"map":{"b":"1","a":"x","b":"2"}}"#, {
            let entry = |key: &[u8], value: &[u8]| field(5, &[field(1, key), field(2, value)].concat());
            [entry(b"a", b"x"), entry(b"b", b"2")].concat()
        }),
        (r#"{"future":{"k":[1e400]},"\u0073mall":1}"#, vec![0x20, 1]),
    ] {
        let mut out = Vec::new();
        write_message(&OPTIONAL, json.as_bytes(), &mut out).unwrap();
        assert_eq!(out, want, "{json}");
    }
}

#[test]
fn a_value_of_another_type_is_an_error_that_names_the_field() {
    let at = " at line 1 column";
    for (json, want) in [
        (json!([]), "JSON: invalid type: sequence, expected an object"),
        (json!({ "small": "1" }), "small: invalid type: string \"1\", expected a whole number of 32 bits"),
        (json!({ "small": 1.5 }), "small: invalid type: floating point `1.5`, expected a whole number of 32 bits"),
        (
            json!({ "small": 2_147_483_648_u32 }),
            "small: invalid value: integer `2147483648`, expected a whole number of 32 bits",
        ),
        (
            json!({ "port": u64::MAX }),
            "port: invalid value: integer `18446744073709551615`, expected a whole number of 32 bits, or a text",
        ),
        (
            json!({ "part": { "time": "yesterday" } }),
            "part.time: invalid value: string \"yesterday\", expected a time as in RFC 3339",
        ),
        (json!({ "part": { "list": ["a", 1] } }), "part.list: invalid type: integer `1`, expected a text"),
        (json!({ "part": { "list": {} } }), "part.list: invalid type: map, expected a list"),
        (json!({ "map": { "a": [] } }), "map: invalid type: sequence, expected a text"),
        (json!({ "map": [] }), "map: invalid type: sequence, expected an object"),
        (json!({ "is": 1 }), "is: invalid type: integer `1`, expected true or false"),
        (json!({ "quantity": 1 }), "quantity: invalid type: integer `1`, expected a quantity as a text"),
    ] {
        let error = written(&OPTIONAL, &json).unwrap_err();
        assert_eq!(error.split(at).next(), Some(want), "{json}");
    }
    let mut out = Vec::new();
    let error = write_message(&OPTIONAL, b"{} x", &mut out).unwrap_err().to_string();
    assert!(error.starts_with("JSON: trailing characters"), "{error}");
}

#[test]
fn a_list_has_the_items_without_their_kind() {
    let kind = ProtobufKind::of(Resource::Namespace).unwrap();
    let mut items = Vec::new();
    kind.write_item(br#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a"}}"#, &mut items).unwrap();
    let mut out = Vec::new();
    kind.write_list_head(7, items.len(), &mut out).unwrap();
    out.extend_from_slice(&items);
    ProtobufKind::write_list_end(&mut out);
    let meta = b"\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00";
    let namespace = [field(1, meta), field(2, &[]), field(3, &field(1, b""))].concat();
    let list = [field(1, b"\x0a\x00\x12\x017\x1a\x00"), field(2, &namespace)].concat();
    let kind = [field(1, b"v1"), field(2, b"NamespaceList")].concat();
    let want = [b"k8s\0".to_vec(), field(1, &kind), field(2, &list), field(3, b""), field(4, b"")].concat();
    assert_eq!(hex(&out), hex(&want));
}

/// Any JSON, with names that the messages know.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop_oneof![
        Just("metadata"),
        Just("spec"),
        Just("status"),
        Just("ports"),
        Just("port"),
        Just("targetPort"),
        Just("labels"),
        Just("creationTimestamp"),
        Just("capacity"),
        Just("cpu"),
        Just("endpoints"),
        Just("conditions"),
        Just("taints"),
        Just("timeAdded"),
        Just("generation"),
        Just("name"),
        Just("code"),
        Just("details"),
        Just("x"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just("2026-01-02T03:04:05Z".into()),
        Just("-262143-01-01T00:00:00Z".into()),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_is_too_much(json in any_json(), cut in any::<prop::sample::Index>()) {
        let text = json.to_string();
        let at = cut.index(text.len() + 1);
        for message in [&CORE_SERVICE, &CORE_NODE, &CORE_NAMESPACE, &DISCOVERY_ENDPOINT_SLICE, &META_STATUS] {
            let (mut out, mut again) = (Vec::new(), Vec::new());
            let first = write_message(message, text.as_bytes(), &mut out);
            prop_assert_eq!(&first, &write_message(message, text.as_bytes(), &mut again));
            prop_assert_eq!(&out, &again);
            // Also what is not JSON.
            let _ = write_message(message, &text.as_bytes()[..at], &mut again);
        }
    }
}
