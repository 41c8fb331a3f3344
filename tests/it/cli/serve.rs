//! `serve` as a process: how it ends.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    process::{Command, Stdio},
};

#[test]
fn a_signal_right_after_the_announcement_ends_it_in_order() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_roster"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{said:?}"));
    let _idle = TcpStream::connect(address).unwrap();
    assert!(Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap().success());
    let mut log = String::new();
    process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    let status = process.wait().unwrap();
    assert!(status.success(), "{status}\n{log}");
    assert!(log.contains("stopping") && !log.contains("unanswered"), "{log}");
}
