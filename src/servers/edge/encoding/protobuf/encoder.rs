//! JSON as the fields of a message.
//!
//! The parser calls what writes: nothing is built in between, and what the table does not have is skipped.

use std::{borrow::Cow, fmt, ops::Range};

use roster_engine::model::Time;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

use super::{
    message::{FieldPresence, FieldType, Message, MessageField},
    wire::{wrap, write_bytes, write_length, write_number},
};

/// The seconds of Go's zero time, which is written as an empty message: `0001-01-01T00:00:00Z`.
const ZERO_TIME: i64 = -62_135_596_800;

/// Why an object cannot be written as protobuf: a value in it has not the type that its field has in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub(in crate::servers::edge) struct UnencodableObject {
    /// The path of the field, without indexes; `JSON` where the text is not JSON.
    field: String,
    why: String,
}

impl UnencodableObject {
    /// There is no message for this kind.
    pub(in crate::servers::edge) fn without_message(kind: &str) -> Self {
        Self { field: "kind".to_owned(), why: format!("{kind} is not written as protobuf") }
    }

    pub(in crate::servers::edge) fn field(&self) -> &str {
        &self.field
    }
}

/// Appends the fields of the message in a JSON text.
pub(super) fn write_message(
    message: &'static Message,
    json: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), UnencodableObject> {
    let mut encoder = Encoder { out, path: Vec::new() };
    let mut parser = serde_json::Deserializer::from_slice(json);
    let value =
        ValueSeed { encoder: &mut encoder, of: FieldType::Message(message), frame: Frame::None, null: Null::Zero };
    let end = value.deserialize(&mut parser).and_then(|()| parser.end());
    end.map_err(|error| {
        let path = encoder.path.join(".");
        UnencodableObject { field: if path.is_empty() { "JSON".to_owned() } else { path }, why: error.to_string() }
    })
}

/// Where the parser is, and what was written.
struct Encoder<'o> {
    out: &'o mut Vec<u8>,
    /// The fields in which the parser is. After an error, those of the value that is wrong.
    path: Vec<&'static str>,
}

impl Encoder<'_> {
    /// Appends a field of a message that JSON does not have.
    fn write_zero(&mut self, number: u32, of: FieldType) {
        match of {
            FieldType::Text | FieldType::Time => write_length(number, 0, self.out),
            FieldType::Boolean | FieldType::Int32 | FieldType::Int64 => write_number(number, 0, self.out),
            FieldType::Quantity => self.write_framed(number, |out| write_bytes(1, b"0", out)),
            FieldType::IntOrString => self.write_framed(number, |out| write_int_or_string(Some(0), "", out)),
            FieldType::Message(message) => {
                let begin = self.out.len();
                self.write_zeros(message);
                wrap(number, begin, self.out);
            }
        }
    }

    /// Appends what is always written of a message.
    fn write_zeros(&mut self, message: &Message) {
        for field in message.fields.iter().filter(|field| field.presence == FieldPresence::Always) {
            self.write_zero(field.number, field.of);
        }
    }

    fn write_framed(&mut self, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.out.len();
        write(self.out);
        wrap(number, begin, self.out);
    }

    /// Puts the fields of a message, which begins at `begin`, in their order, and adds those that are always written. Of
    /// several members with the same name, the last one counts.
    fn arrange(&mut self, message: &'static Message, begin: usize, written: &[(usize, Range<usize>)]) {
        let fields = self.out.split_off(begin);
        for (index, field) in message.fields.iter().enumerate() {
            let of_field = written.iter().rev().find(|(place, range)| *place == index && !range.is_empty());
            match of_field {
                Some((_, range)) => self.out.extend_from_slice(&fields[range.start - begin..range.end - begin]),
                None if field.presence == FieldPresence::Always => self.write_zero(field.number, field.of),
                None => {}
            }
        }
    }
}

/// The type is 0 for a number, 1 for a text.
fn write_int_or_string(number: Option<i32>, text: &str, out: &mut Vec<u8>) {
    write_number(1, number.is_none().into(), out);
    write_number(2, number.unwrap_or_default().into(), out);
    write_bytes(3, text.as_bytes(), out);
}

/// Reads the value of a field, and writes it as often as it is there.
struct FieldSeed<'e, 'o> {
    encoder: &'e mut Encoder<'o>,
    field: &'static MessageField,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        let Self { encoder, field } = self;
        match field.presence {
            FieldPresence::Many => parser.deserialize_any(ListVisitor { encoder, field }),
            FieldPresence::Map => parser.deserialize_any(MapVisitor { encoder, field }),
            FieldPresence::Optional | FieldPresence::Always => {
                let frame = Frame::Field(field.number);
                ValueSeed { encoder, of: field.of, frame, null: Null::Nothing }.deserialize(parser)
            }
        }
    }
}

/// Writes a field for each element.
struct ListVisitor<'e, 'o> {
    encoder: &'e mut Encoder<'o>,
    field: &'static MessageField,
}

impl<'de> Visitor<'de> for ListVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let MessageField { number, of, .. } = *self.field;
        loop {
            let encoder = &mut *self.encoder;
            let element = ValueSeed { encoder, of, frame: Frame::Field(number), null: Null::Zero };
            if list.next_element_seed(element)?.is_none() {
                return Ok(());
            }
        }
    }
}

/// Writes a field with key and value for each member, in the order of the keys.
struct MapVisitor<'e, 'o> {
    encoder: &'e mut Encoder<'o>,
    field: &'static MessageField,
}

impl<'de> Visitor<'de> for MapVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let MessageField { number, of, .. } = *self.field;
        let begin = self.encoder.out.len();
        let mut written: Vec<(Cow<'de, str>, Range<usize>)> = Vec::new();
        while let Some(MemberName(key)) = members.next_key()? {
            let at = self.encoder.out.len();
            write_bytes(1, key.as_bytes(), self.encoder.out);
            let encoder = &mut *self.encoder;
            members.next_value_seed(ValueSeed { encoder, of, frame: Frame::Field(2), null: Null::Zero })?;
            wrap(number, at, self.encoder.out);
            written.push((key, at..self.encoder.out.len()));
        }
        if written.is_sorted_by(|a, b| a.0 < b.0) {
            return Ok(());
        }
        let entries = self.encoder.out.split_off(begin);
        // Stable: of equal keys, the last one stays last, and counts.
        written.sort_by(|a, b| a.0.cmp(&b.0));
        for (i, (key, range)) in written.iter().enumerate() {
            if written.get(i + 1).is_none_or(|(next, _)| next != key) {
                self.encoder.out.extend_from_slice(&entries[range.start - begin..range.end - begin]);
            }
        }
        Ok(())
    }
}

/// The name of a member.
#[derive(Deserialize)]
struct MemberName<'s>(#[serde(borrow)] Cow<'s, str>);

/// What a value is written into.
#[derive(Clone, Copy)]
enum Frame {
    /// A field with this number.
    Field(u32),
    /// Nothing: the fields of the message that is the whole text.
    None,
}

/// What `null` stands for.
#[derive(Clone, Copy)]
enum Null {
    /// The field is absent.
    Nothing,
    /// The zero value: as an element, `null` has its place.
    Zero,
}

/// Reads a value, and writes it.
struct ValueSeed<'e, 'o> {
    encoder: &'e mut Encoder<'o>,
    of: FieldType,
    frame: Frame,
    null: Null,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.of {
            FieldType::Text => "a text",
            FieldType::Boolean => "true or false",
            FieldType::Int32 => "a whole number of 32 bits",
            FieldType::Int64 => "a whole number of 64 bits",
            FieldType::Time => "a time as in RFC 3339",
            FieldType::Quantity => "a quantity as a text",
            FieldType::IntOrString => "a whole number of 32 bits, or a text",
            FieldType::Message(_) => "an object",
        })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match (self.null, self.frame, self.of) {
            (Null::Zero, Frame::Field(number), of) => self.encoder.write_zero(number, of),
            (Null::Zero, Frame::None, FieldType::Message(message)) => self.encoder.write_zeros(message),
            (Null::Nothing, ..) | (Null::Zero, Frame::None, _) => {}
        }
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        match (self.of, self.frame) {
            (FieldType::Boolean, Frame::Field(number)) => write_number(number, value.into(), self.encoder.out),
            _ => return Err(E::invalid_type(Unexpected::Bool(value), &self)),
        }
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        let small = i32::try_from(value);
        match (self.of, self.frame, small) {
            (FieldType::Int64, Frame::Field(number), _) | (FieldType::Int32, Frame::Field(number), Ok(_)) => {
                write_number(number, value, self.encoder.out);
            }
            (FieldType::IntOrString, Frame::Field(number), Ok(value)) => {
                self.encoder.write_framed(number, |out| write_int_or_string(Some(value), "", out));
            }
            (FieldType::Int32 | FieldType::IntOrString, _, Err(_)) => {
                return Err(E::invalid_value(Unexpected::Signed(value), &self));
            }
            _ => return Err(E::invalid_type(Unexpected::Signed(value), &self)),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let Frame::Field(number) = self.frame else { return Err(E::invalid_type(Unexpected::Str(text), &self)) };
        match self.of {
            FieldType::Text => write_bytes(number, text.as_bytes(), self.encoder.out),
            FieldType::Quantity => self.encoder.write_framed(number, |out| write_bytes(1, text.as_bytes(), out)),
            FieldType::IntOrString => self.encoder.write_framed(number, |out| write_int_or_string(None, text, out)),
            FieldType::Time => {
                let time: Time = text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?;
                // Go counts down to whole seconds, and drops the rest.
                let seconds = time.0.as_nanosecond().div_euclid(1_000_000_000);
                match i64::try_from(seconds) {
                    Ok(ZERO_TIME) | Err(_) => self.encoder.write_zero(number, FieldType::Time),
                    Ok(seconds) => self.encoder.write_framed(number, |out| {
                        write_number(1, seconds, out);
                        write_number(2, 0, out);
                    }),
                }
            }
            _ => return Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let FieldType::Message(message) = self.of else { return Err(A::Error::invalid_type(Unexpected::Map, &self)) };
        let begin = self.encoder.out.len();
        let encoder = self.encoder;
        let mut written = Vec::with_capacity(message.fields.len());
        while let Some(MemberName(name)) = members.next_key()? {
            let Some((index, field)) = message.field(&name) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let at = encoder.out.len();
            encoder.path.push(field.json);
            members.next_value_seed(FieldSeed { encoder: &mut *encoder, field })?;
            encoder.path.pop();
            written.push((index, at..encoder.out.len()));
        }
        encoder.arrange(message, begin, &written);
        if let Frame::Field(number) = self.frame {
            wrap(number, begin, encoder.out);
        }
        Ok(())
    }
}
