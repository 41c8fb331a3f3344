//! The command line as a user sees it: arguments, input and environment in; output, messages and exit code out.

mod collector;
mod compat;
mod convert;
mod defaults;
mod edge;
mod explain;
mod glance;
mod hand_written;
mod input;
mod lint;
mod lint_faults;
mod lint_input;
mod lint_repositories;
mod lint_together;
mod lint_unread;
mod lint_yaml;
mod live;
mod mcp;
mod mcp_tools;
mod part;
mod picture;
mod plan;
mod render;
mod review;
mod review_sarif;
mod serve;
mod stale;
mod test;
mod view;
mod width;
mod workloads;

use std::path::{Path, PathBuf};

use crate::program;

/// Exit code and output of a run of the program.
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs the program with these arguments and nothing on standard input.
pub(super) fn roster(args: &[&str]) -> Ran {
    roster_with(args, &[], "")
}

/// Runs the program with arguments, variables and standard input.
pub(super) fn roster_with(args: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
    // Paths in arguments are those of the repository.
    run(Path::new(env!("CARGO_MANIFEST_DIR")), args, variables, input)
}

fn run(directory: &Path, args: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
    let mut command = assert_cmd::Command::new(program());
    command.current_dir(directory);
    command.args(args).write_stdin(input).timeout(std::time::Duration::from_mins(1));
    // The settings of the machine must not affect the test.
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "KUBECONFIG"] {
        command.env_remove(variable);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// A file of `tests/data/cli`.
fn data(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "data", "cli", name].iter().collect();
    path.display().to_string()
}

/// A case of a table: exit code, and what standard output and standard error must contain.
struct Case<'a> {
    name: &'a str,
    args: &'a [&'a str],
    code: i32,
    out: &'a str,
    err: &'a str,
}

fn check(cases: &[Case<'_>]) {
    for case in cases {
        let ran = roster(case.args);
        let shown = format!("{}\nexit code {}\n--- stdout\n{}\n--- stderr\n{}", case.name, ran.code, ran.out, ran.err);
        assert_eq!(ran.code, case.code, "{shown}");
        assert!(ran.out.contains(case.out), "not in stdout: {:?}\n{shown}", case.out);
        assert!(ran.err.contains(case.err), "not in stderr: {:?}\n{shown}", case.err);
        assert!(case.err.is_empty() == ran.err.is_empty(), "{shown}");
    }
}

#[test]
fn wrong_use_is_reported_and_exits_with_2() {
    let shop = data("shop.json");
    check(&[
        Case { name: "no command", args: &[], code: 2, out: "", err: "Usage: roster" },
        Case { name: "unknown command", args: &["paln"], code: 2, out: "", err: "'plan'" },
        Case { name: "nothing to read", args: &["plan"], code: 2, out: "", err: "nothing to read: name files with -f" },
        Case {
            name: "a release without a profile",
            args: &["plan", "-f", &shop, "--compat", "1.99"],
            code: 2,
            out: "",
            err: "\"1.99\" is not a Kubernetes release from 1.22 to 1.37",
        },
        Case {
            name: "a limit out of range",
            args: &["plan", "-f", &shop, "--max-endpoints-per-slice", "0"],
            code: 2,
            out: "",
            err: "\"0\" is not a number from 1 to 1000",
        },
        Case {
            name: "an unknown controller",
            args: &["plan", "-f", &shop, "--controller", "nodes"],
            code: 2,
            out: "",
            err: "possible values: endpoints, endpointslices, mirroring",
        },
    ]);
}

#[test]
fn help_version_and_completions_are_fine() {
    let version = concat!("roster ", env!("CARGO_PKG_VERSION"), " (");
    check(&[
        Case { name: "version", args: &["--version"], code: 0, out: version, err: "" },
        Case { name: "version of Kubernetes", args: &["version"], code: 0, out: "\nKubernetes 1.22 to 1.", err: "" },
        Case { name: "platform", args: &["version", "-o", "json"], code: 0, out: "\"platform\": \"", err: "" },
        Case {
            name: "help",
            args: &["help", "plan"],
            code: 0,
            out: "Usage: roster plan [OPTIONS] [SERVICE|FILE]...",
            err: "",
        },
        Case { name: "bash", args: &["completions", "bash"], code: 0, out: "complete -F _roster", err: "" },
        Case { name: "zsh", args: &["completions", "zsh"], code: 0, out: "#compdef roster", err: "" },
        Case { name: "fish", args: &["completions", "fish"], code: 0, out: "complete -c roster", err: "" },
        Case { name: "man", args: &["man"], code: 0, out: ".TH ROSTER 1", err: "" },
    ]);
}

#[test]
#[cfg(unix)]
fn kubectl_finds_it_as_a_plugin() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-roster");
    std::os::unix::fs::symlink(program(), &plugin).unwrap();
    let output = std::process::Command::new(&plugin).args(["plan", "--help"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("Usage: kubectl roster plan"), "{out}");
}

#[test]
fn colours_are_for_terminals_unless_requested() {
    let shop = data("shop.json");
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let args: Vec<&str> = ["plan", "-f", &shop].iter().chain(args).copied().collect();
        roster_with(&args, variables, "").out.contains('\u{1b}')
    };
    assert!(!coloured(&[], &[]), "a pipe is not a terminal");
    assert!(coloured(&["--color", "always"], &[]));
    assert!(coloured(&["--color", "always"], &[("NO_COLOR", "1")]), "an argument is stronger than a variable");
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["-o", "json", "--color", "always"], &[]), "documents have no colours");
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_is_not_an_error() {
    let shop = data("shop.json");
    let script = format!("'{}' plan -f '{shop}' -o json; echo \"code $?\" >&2", program().display());
    // `true` never reads: the pipe is closed before or while it is written.
    let line = format!("{{ {script}; }} | true");
    let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err == "code 0\n" || err == "code 1\n", "{err}");
}

#[test]
fn certificates_are_for_names_that_clients_look_up() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("certs").display().to_string();
    for name in ["", "a b", "-a", "https://a", "a..b", "*", "*.*.b", "1.2.3.4:80"] {
        let ran = roster(&["certs", "dev", "--dir", &dir, &format!("--name={name}")]);
        let why = "not a DNS name or an IP address";
        assert!(ran.code == 2 && ran.err.contains(why), "{name:?}: {}{}", ran.out, ran.err);
    }
    assert!(!std::path::Path::new(&dir).exists());
    let ran = roster(&["certs", "dev", "--dir", &dir, "--name", "*.a.svc", "--name", "Roster", "--name", "fd00::1"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}
