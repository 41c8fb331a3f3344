//! Kubernetes' protobuf, for clients that accept no JSON: written from the JSON of the cache when it is sent.
//!
//! The bytes are those of an API server: fields in the order of their numbers, values that are not pointers in Go also where
//! they are zero, maps in the order of their keys. `managedFields` and fields that kube-apiserver 1.37 does not know are left out.

mod encoder;
#[cfg(test)]
mod encoder_tests;
mod envelope;
mod message;
// One field after the other, as the generator writes them.
#[rustfmt::skip]
mod messages;
mod wire;

pub(in crate::servers::edge) use encoder::UnencodableObject;
pub(in crate::servers::edge) use envelope::ProtobufKind;
