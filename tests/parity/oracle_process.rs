//! A running reference program.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

pub(crate) struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    pub(crate) fn start(program: &Path) -> Self {
        // One thread runs Go code and the collector is lazy: the machine's cores are shared among several
        // of these programs, and none of them grows.
        let mut command = Command::new(program);
        command.env("GOMAXPROCS", "1").env("GOGC", "400").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().expect("a pipe"));
        Self { child, input, output }
    }

    /// The answers to cases, one a line, in their order. Answers are read while cases are still being
    /// written, as both pipes are small.
    pub(crate) fn ask(&mut self, lines: &[&str]) -> Vec<Value> {
        let input = self.input.as_mut().expect("open until dropped");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for line in lines {
                    input.write_all(line.as_bytes()).expect("the reference program reads");
                    input.write_all(b"\n").expect("the reference program reads");
                }
                input.flush().expect("the reference program reads");
            });
            let mut text = String::new();
            lines
                .iter()
                .map(|_| {
                    text.clear();
                    self.output.read_line(&mut text).expect("the reference program answers");
                    let answer: Value = serde_json::from_str(&text).expect("the reference program ended early");
                    let error = answer["error"].as_str().unwrap_or_default();
                    assert!(!error.starts_with("decode:"), "the reference program cannot read a case: {error}");
                    answer
                })
                .collect()
        })
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
