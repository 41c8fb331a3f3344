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

/// Makes a constant of each message.
macro_rules! messages {
    ($($name:ident { $($number:literal $json:literal $presence:ident $of:ident;)* })*) => {
        $(pub(super) static $name: $crate::servers::edge::protobuf::message::Message =
            $crate::servers::edge::protobuf::message::Message {
                fields: &[$($crate::servers::edge::protobuf::message::MessageField {
                    number: $number,
                    json: $json,
                    presence: $crate::servers::edge::protobuf::message::presence!($presence),
                    of: $crate::servers::edge::protobuf::message::field_type!($of),
                }),*],
            };)*
    };
}

macro_rules! presence {
    (optional) => {
        $crate::servers::edge::protobuf::message::FieldPresence::Optional
    };
    (always) => {
        $crate::servers::edge::protobuf::message::FieldPresence::Always
    };
    (many) => {
        $crate::servers::edge::protobuf::message::FieldPresence::Many
    };
    (map) => {
        $crate::servers::edge::protobuf::message::FieldPresence::Map
    };
}

macro_rules! field_type {
    (text) => {
        $crate::servers::edge::protobuf::message::FieldType::Text
    };
    (boolean) => {
        $crate::servers::edge::protobuf::message::FieldType::Boolean
    };
    (int32) => {
        $crate::servers::edge::protobuf::message::FieldType::Int32
    };
    (int64) => {
        $crate::servers::edge::protobuf::message::FieldType::Int64
    };
    (time) => {
        $crate::servers::edge::protobuf::message::FieldType::Time
    };
    (quantity) => {
        $crate::servers::edge::protobuf::message::FieldType::Quantity
    };
    (int_or_string) => {
        $crate::servers::edge::protobuf::message::FieldType::IntOrString
    };
    ($message:ident) => {
        $crate::servers::edge::protobuf::message::FieldType::Message(&$message)
    };
}

pub(super) use {field_type, messages, presence};
