//! A message: which fields of JSON it has, and how they are written.

/// A kind of message.
#[derive(Debug)]
pub(super) struct Message {
    /// In the order of their numbers.
    pub(super) fields: &'static [MessageField],
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct MessageField {
    pub(super) number: u32,
    /// Its name in JSON.
    pub(super) json: &'static str,
    pub(super) presence: FieldPresence,
    pub(super) of: FieldType,
}

/// How often a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldPresence {
    /// Where JSON has it.
    Optional,
    /// Also where JSON does not have it, or is `null`: with its zero value.
    Always,
    /// Once for each element of a list.
    Many,
    /// Once for each member of an object, whose names are the keys.
    Map,
}

/// The type of a field, or of the elements of a list or a map.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldType {
    Text,
    Boolean,
    Int32,
    Int64,
    /// `metav1.Time`: in JSON a text as in RFC 3339, here a message with seconds.
    Time,
    /// `resource.Quantity`: in JSON a text, here a message with this text.
    Quantity,
    /// `intstr.IntOrString`: in JSON a number or a text.
    IntOrString,
    Message(&'static Message),
}

impl Message {
    /// The field with a name in JSON, and its place among the fields.
    pub(super) fn field(&self, json: &str) -> Option<(usize, &'static MessageField)> {
        self.fields.iter().enumerate().find(|(_, field)| field.json == json)
    }
}

/// A message of these fields.
pub(super) const fn fields(fields: &'static [MessageField]) -> Message {
    Message { fields }
}

/// The type of a field that is a message.
pub(super) const fn message(message: &'static Message) -> FieldType {
    FieldType::Message(message)
}

/// A field that is written where JSON has it.
pub(super) const fn optional(number: u32, json: &'static str, of: FieldType) -> MessageField {
    MessageField { number, json, presence: FieldPresence::Optional, of }
}

/// A field that is written with its zero value where JSON does not have it.
pub(super) const fn always(number: u32, json: &'static str, of: FieldType) -> MessageField {
    MessageField { number, json, presence: FieldPresence::Always, of }
}

/// A field for each element of a list.
pub(super) const fn many(number: u32, json: &'static str, of: FieldType) -> MessageField {
    MessageField { number, json, presence: FieldPresence::Many, of }
}

/// A field for each member of an object.
pub(super) const fn map(number: u32, json: &'static str, of: FieldType) -> MessageField {
    MessageField { number, json, presence: FieldPresence::Map, of }
}
