//! `serve` as a process: how it begins, and how it ends.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    process::{Command, Stdio},
};

use super::roster;

#[test]
fn a_signal_right_after_the_announcement_ends_it_in_order() {
    let mut process = Command::new(crate::program())
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

#[test]
fn files_that_cannot_be_served_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    assert_eq!(roster(&["certs", "dev", "--dir", folder]).code, 0);
    std::fs::write(dir.path().join("bad"), "nothing").unwrap();
    for (certificate, key, ca, want) in [
        ("none", "tls.key", "ca.crt", "none: No such file"),
        ("bad", "tls.key", "ca.crt", "bad: the certificate cannot be read: it contains no certificate"),
        ("tls.crt", "bad", "ca.crt", "bad: the key cannot be read: it contains no private key"),
        ("tls.crt", "ca.key", "ca.crt", "ca.key: the certificate and the key cannot be used together: "),
        ("tls.crt", "tls.key", "bad", "bad: the client CA cannot be read: it contains no certificate"),
    ] {
        let [certificate, key, ca] = [certificate, key, ca].map(|name| format!("{folder}/{name}"));
        let files = ["--tls-cert-file", &certificate, "--tls-private-key-file", &key, "--client-ca-file", &ca];
        let ran = roster(&[&["serve", "--webhook-listen", "127.0.0.1:0"], &files[..]].concat());
        assert!(ran.code == 2 && ran.err.contains(&format!("{folder}/{want}")), "{want}: {}", ran.err);
    }
}
