//! A free port of loopback.

use std::{
    fs::File,
    io::Read,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use anyhow::{Result, bail};

/// A free loopback address, for a server that binds it a moment later.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok((Ipv4Addr::LOCALHOST, free_port()?).into())
}

/// A port that is free now, and that the system gives to nobody who does not ask for it.
///
/// It is for programs that take their port as a flag. One that the system chose may be taken again before they bind it, by
/// any client that connects; so it is chosen below the ports of clients (32768 on Linux), at random, because several
/// programs start at once.
pub(crate) fn free_port() -> Result<u16> {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    let mut bytes = [0; 2];
    for _ in 0..100 {
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let port = FIRST + u16::from_ne_bytes(bytes) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {FIRST} to {} is free", FIRST + COUNT - 1)
}
