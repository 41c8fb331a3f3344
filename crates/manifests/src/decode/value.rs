//! Reads one value, or reports the field that cannot be read.
//!
//! The first pass is fast and does not track positions. The second pass knows the position of everything it reads, and
//! takes the last of equal keys, as Kubernetes does. It allocates only what the model keeps: a tree of JSON values can be
//! a hundred times as large as its text.

use roster_engine::model::json::pointer::Pointer;
use serde::de::DeserializeSeed;
use serde_json::{error::Category, value::RawValue};

use super::{
    budget::Budget,
    second_pass::{FieldFault, PassFaults, PassPart},
    strict::{self, ReadMode},
};

/// The result of reading a value.
#[derive(Debug)]
pub(super) struct Reading<T> {
    /// `None` if the value cannot be read; the last fault is the reason.
    pub(super) value: Option<T>,
    pub(super) faults: Vec<FieldFault>,
}

/// Reads the text at a pointer. Only text that is not JSON is an error.
pub(super) fn read<'de, S>(
    seed: S,
    text: &'de str,
    at: Pointer<'_>,
    budget: &Budget<'_>,
) -> Result<Reading<S::Value>, FieldFault>
where
    S: DeserializeSeed<'de> + Copy,
{
    let error = match strict::from_str(seed, text, budget) {
        Ok(value) => return Ok(Reading { value: Some(value), faults: Vec::new() }),
        Err(error) => error,
    };
    let faults_found = PassFaults::new(text);
    let part = PassPart { text: text.trim(), at, faults_found: &faults_found };
    // A number out of range and half a surrogate are JSON, though serde_json cannot represent them: the value is at
    // fault, and not the text.
    let well_formed = || serde_json::from_str::<&RawValue>(text).is_ok();
    if error.classify() != Category::Data && !well_formed() {
        faults_found.blame(&error, &part);
        return Err(faults_found.broken(&error));
    }
    let value = ReadMode::second_pass(part, budget).read(seed).ok();
    let mut faults = faults_found.repeated.take();
    match faults_found.blamed.take() {
        Some((category, broken)) if category != Category::Data && !well_formed() => return Err(broken),
        Some((_, fault)) => faults.push(fault),
        None if value.is_none() => faults.push(faults_found.broken(&error)),
        None => {}
    }
    Ok(Reading { value, faults })
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use roster_engine::model::Service;

    use super::*;
    use crate::decode::budget::MemoryPool;

    /// The name that was read, and each fault as `pointer offset why`.
    fn look(text: &str) -> (Option<String>, Vec<String>) {
        let pool = MemoryPool::new(1 << 20);
        let shown = |f: &FieldFault| format!("{} {} {}", f.pointer, f.offset, f.why);
        match read(PhantomData::<Service>, text, Pointer::At("/x"), &Budget::new(&pool)) {
            Ok(reading) => (reading.value.map(|s| s.meta.name.to_string()), reading.faults.iter().map(shown).collect()),
            Err(broken) => (None, vec![format!("not JSON: {}", shown(&broken))]),
        }
    }

    #[test]
    fn the_invalid_field_is_reported() {
        for (text, name, faults) in [
            (r#"{"metadata":{"name":"a"}}"#, Some("a"), vec![]),
            (
                r#" {"metadata":{"name":"a","x":1,"name":"b"},"metadata":null,"metadata":{"name":"c"}}"#,
                Some("c"),
                vec![
                    "/x/metadata 43 the key metadata is repeated; the last one counts",
                    "/x/metadata 59 the key metadata is repeated; the last one counts",
                ],
            ),
            (
                r#"{"metadata":{"name":"a","name":"b"}}"#,
                Some("b"),
                vec!["/x/metadata/name 24 the key name is repeated; the last one counts"],
            ),
            (
                r#"{"metadata":{"name":"a","name":"b"},"spec":{"ports":[{"port":1},{"port":"1"}]}}"#,
                None,
                vec![
                    "/x/metadata/name 24 the key name is repeated; the last one counts",
                    "/x/spec/ports/1/port 72 invalid type: string \"1\", expected a 32-bit integer",
                ],
            ),
            (
                r#"{"spec":{"selector":{"a/b":1}}}"#,
                None,
                vec!["/x/spec/selector/a~1b 27 invalid type: integer `1`, expected a string"],
            ),
            (
                r#"{"metadata":{"ownerReferences":[{"controller":true},{"controller":1}]}}"#,
                None,
                vec!["/x/metadata/ownerReferences/1/controller 66 invalid type: integer `1`, expected a boolean"],
            ),
            (
                r#"{"metadata":{"creationTimestamp":"now"}}"#,
                None,
                vec!["/x/metadata/creationTimestamp 33 \"now\" is not an RFC 3339 time"],
            ),
            (
                r#"{"spec":{"ports":[{"targetPort":{}}]}}"#,
                None,
                vec!["/x/spec/ports/0/targetPort 32 targetPort must be a number or a string"],
            ),
            ("[]", None, vec!["/x 0 invalid type: list, expected an object"]),
            (r#"{"metadata":}"#, None, vec!["not JSON: /x 12 expected value"]),
            ("{\"metadata\":5,\n\"x\":tru}", None, vec!["not JSON: /x 22 expected ident"]),
        ] {
            let (got, shown) = look(text);
            let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
            assert_eq!((got.as_deref(), shown), (name, faults), "{text}");
        }
    }
}
