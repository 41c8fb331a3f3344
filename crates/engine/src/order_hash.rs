//! The dump text and the hash by which Kubernetes orders ports and subsets.
//!
//! Users never see either, but they see the order: that of `ports` in a slice and of `subsets` in Endpoints. Up to 1.34 it
//! decides whether Endpoints are written again, and with several subsets which addresses truncation keeps. The text is that of go-spew's `%#v`
//! (`hashutil.DeepHashObject`).

use std::fmt::{self, Write};

use md5::{Digest, Md5};

use crate::{
    model::{EndpointAddress, EndpointPort, EndpointSubset, ObjectRef, SlicePort, Text},
    profile::HashKind,
};

/// A digest. The order of its bytes is that of the text that upstream prints and compares.
pub(crate) type Hash128 = [u8; 16];

/// The hash of a value with a dump text.
pub(crate) fn hash(kind: HashKind, dump: &impl Dump) -> Hash128 {
    match kind {
        HashKind::Md5 => {
            let mut out = Md5Writer(Md5::new());
            // Neither writer can fail.
            let _ = dump.top(&mut out);
            out.0.finalize().into()
        }
        HashKind::Fnv128 => {
            let mut out = Fnv(FNV_OFFSET);
            let _ = dump.top(&mut out);
            out.0.to_be_bytes()
        }
    }
}

const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
/// 2^88 + 0x13b
const FNV_PRIME: u128 = (1 << 88) + 0x13b;

struct Fnv(u128);

impl Write for Fnv {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for b in s.bytes() {
            self.0 = (self.0 ^ u128::from(b)).wrapping_mul(FNV_PRIME);
        }
        Ok(())
    }
}

struct Md5Writer(Md5);

impl Write for Md5Writer {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.update(s.as_bytes());
        Ok(())
    }
}

/// A value with a dump text.
pub(crate) trait Dump {
    /// Writes the value with its type, as at the top and in fields.
    fn top(&self, out: &mut impl Write) -> fmt::Result;
}

/// A list dumps its elements without their types.
fn list<T>(
    out: &mut impl Write,
    kind: &str,
    nil: bool,
    items: &[T],
    mut one: impl FnMut(&T, &mut dyn Write) -> fmt::Result,
) -> fmt::Result {
    write!(out, "([]{kind})")?;
    if nil && items.is_empty() {
        return out.write_str("<nil>");
    }
    out.write_char('[')?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.write_char(' ')?;
        }
        one(item, out)?;
    }
    out.write_char(']')
}

/// A pointer to a text.
struct Ptr<'a>(Option<&'a Text>);

impl fmt::Display for Ptr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("<nil>", Text::as_str))
    }
}

fn slice_port(p: &SlicePort, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    write!(
        out,
        "{{Name:(*string){} Protocol:(*v1.Protocol){} Port:(*int32)",
        Ptr(p.name.as_ref()),
        Ptr(p.protocol.as_ref())
    )?;
    match p.port {
        Some(n) => write!(out, "{n}")?,
        None => out.write_str("<nil>")?,
    }
    write!(out, " AppProtocol:(*string){}}}", Ptr(p.app_protocol.as_ref()))
}

impl Dump for SlicePort {
    fn top(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("(v1.EndpointPort)")?;
        slice_port(self, out)
    }
}

fn core_port(p: &EndpointPort, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    write!(
        out,
        "{{Name:(string){} Port:(int32){} Protocol:(v1.Protocol){} AppProtocol:(*string){}}}",
        p.name,
        p.port,
        p.protocol,
        Ptr(p.app_protocol.as_ref())
    )
}

impl Dump for EndpointPort {
    fn top(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("(v1.EndpointPort)")?;
        core_port(self, out)
    }
}

fn reference(r: &ObjectRef, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    // One write! per field would be shorter, but slower with thousands of addresses.
    for part in [
        "{Kind:(string)",
        &r.kind,
        " Namespace:(string)",
        &r.namespace,
        " Name:(string)",
        &r.name,
        " UID:(types.UID)",
        &r.uid,
        " APIVersion:(string)",
        &r.api_version,
        " ResourceVersion:(string)",
        &r.resource_version,
        " FieldPath:(string)",
        &r.field_path,
        "}",
    ] {
        out.write_str(part)?;
    }
    Ok(())
}

fn address(a: &EndpointAddress, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    for part in ["{IP:(string)", &a.ip, " Hostname:(string)", &a.hostname, " NodeName:(*string)"] {
        out.write_str(part)?;
    }
    out.write_str(a.node_name.as_deref().unwrap_or("<nil>"))?;
    out.write_str(" TargetRef:(*v1.ObjectReference)")?;
    match &a.target_ref {
        Some(r) => reference(r, out)?,
        None => out.write_str("<nil>")?,
    }
    out.write_str("}")
}

impl Dump for EndpointSubset {
    fn top(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("(v1.EndpointSubset){Addresses:")?;
        list(out, "v1.EndpointAddress", true, &self.addresses, |a, o| address(a, o))?;
        out.write_str(" NotReadyAddresses:")?;
        list(out, "v1.EndpointAddress", true, &self.not_ready_addresses, |a, o| address(a, o))?;
        out.write_str(" Ports:")?;
        list(out, "v1.EndpointPort", true, &self.ports, |p, o| core_port(p, o))?;
        out.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(h: Hash128) -> String {
        h.iter().fold(String::new(), |mut s, b| {
            let _ = write!(s, "{b:02x}");
            s
        })
    }

    fn port(name: &str, protocol: &str, port: Option<i32>, app: Option<&str>) -> SlicePort {
        SlicePort { name: Some(name.into()), protocol: Some(protocol.into()), port, app_protocol: app.map(Into::into) }
    }

    #[test]
    fn hashes_are_those_of_kubernetes() {
        for (p, fnv, md5) in [
            (
                port("http", "TCP", Some(80), None),
                "b6c4d325122a5ba6f795b0bbffcebb6f",
                "57c8eae9440659a9feb9a3a0979e7279",
            ),
            (
                port("https", "TCP", Some(443), Some("https")),
                "3ffe87b48b5fbbf513b18dc61160cb13",
                "1171df99cbb1eebddc6ad71c6c652ea4",
            ),
            (port("", "UDP", Some(53), None), "755b2d9c189eac11bdf31eabb97f10f3", "4b4799f0fcf8aa1105b2bba9f4186be0"),
            (port("x", "SCTP", None, None), "331b906055a7e03f0a2d5ae7420c499f", "9e5a9ea34ef83a77060c8b632a5884af"),
        ] {
            assert_eq!(hex(hash(HashKind::Fnv128, &p)), fnv);
            assert_eq!(hex(hash(HashKind::Md5, &p)), md5);
        }
    }
}
