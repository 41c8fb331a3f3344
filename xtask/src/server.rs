//! A running `roster serve`, for tests from outside. It ends with the value.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::command::{Process, run};
use crate::free_port::free_address;
use crate::paths;

/// A server on a loopback port of its own.
pub(crate) struct Server {
    process: Process,
    address: SocketAddr,
}

impl Server {
    /// Builds the program as `cargo test` builds it, starts it and waits until it is ready.
    pub(crate) fn start() -> Result<Self> {
        // The same build as for the tests: `cargo build` would compile the program again with other features.
        run("cargo", "test --quiet --workspace --no-run")?;
        let address = free_address()?;
        let program = paths::target().join("debug/roster");
        let mut child = Command::new(&program)
            .args(["serve", "--listen", &address.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let log = child.stderr.take().context("the server has no standard error")?;
        let log = thread::spawn(move || tail(log));
        let mut server = Self { process: Process::new(child), address };
        let began = Instant::now();
        while !is_ready(&server.address) {
            if let Some(status) = server.process.exit_status()? {
                let log = log.join().unwrap_or_default();
                bail!("roster serve ended with {status}:\n{log}");
            }
            ensure!(began.elapsed() < Duration::from_secs(30), "roster serve is not ready after 30 s");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// The URL, such as `http://127.0.0.1:4711`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Whether the server at this address answers `/readyz` with 200.
pub(crate) fn is_ready(address: &SocketAddr) -> bool {
    let get = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(1024).read_to_string(&mut answer)?;
        Ok(answer)
    };
    get().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// Reads to the end, so that the writer never blocks, and returns the last lines.
fn tail(log: impl Read) -> String {
    let mut last = std::collections::VecDeque::new();
    for line in BufReader::new(log).split(b'\n').map_while(Result::ok) {
        if last.len() == 20 {
            last.pop_front();
        }
        last.push_back(String::from_utf8_lossy(&line).into_owned());
    }
    last.into_iter().collect::<Vec<_>>().join("\n")
}
