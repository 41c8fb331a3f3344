//! The screens of README.md and of the pages in docs/ are those of the program.
//!
//! [`crate::pages`] says what a screen is. The commands of a page run one after another in a folder of their own, which has the
//! folders of [`LINKED`]. A command in a block `server` runs until the page ends, at another port than the page says. Blocks
//! with another word are not run here.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    pages::{matches, pages, root, screens},
    programs::has_program,
};

/// The width of the terminal on the pages.
const COLUMNS: &str = "100";

/// The folders of the repository that pages name.
const LINKED: [&str; 4] = ["charts", "examples", "manifests", "openapi"];

/// The address of a server on the pages.
const ADDRESS: &str = "127.0.0.1:8080";

/// Words of commands, and the programs that run because of them. A machine may lack these.
const OPTIONAL: [(&str, &str); 7] = [
    ("curl", "curl"),
    ("helm", "helm"),
    ("--chart", "helm"),
    ("kubectl", "kubectl"),
    ("-k", "kubectl"),
    ("kustomize", "kustomize"),
    ("python3", "python3"),
];

/// A page whose commands run.
struct Session {
    folder: tempfile::TempDir,
    path: std::ffi::OsString,
    server: Option<(Child, String)>,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in LINKED {
            std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).unwrap();
        }
        // The program has its name, whatever its build is called.
        let programs = folder.path().join(".programs");
        fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(crate::program(), programs.join("roster")).unwrap();
        let path = env::join_paths([programs].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())));
        Self { folder, path: path.unwrap(), server: None }
    }

    fn shell(&self, words: &[&str]) -> Command {
        let mut shell = Command::new(words[0]);
        shell.args(&words[1..]).current_dir(self.folder.path()).stdin(Stdio::null());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "KUBECONFIG", "ROSTER_WRITE"] {
            shell.env_remove(variable);
        }
        shell.env("PATH", &self.path).env("HOME", self.folder.path()).env("COLUMNS", COLUMNS);
        shell
    }

    /// What a command prints, as a terminal shows it.
    fn run(&self, command: &str) -> String {
        let command = self.at_port(command);
        let script = format!("{{ {command}\n}} 2>&1");
        // A command that does not end, such as a server, is a mistake of the page.
        let output = self.shell(&["timeout", "120", "bash", "-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let text = self.server.as_ref().map_or(text.clone(), |(_, address)| text.replace(address, ADDRESS));
        text.trim_end().to_owned()
    }

    fn at_port(&self, command: &str) -> String {
        self.server.as_ref().map_or(command.to_owned(), |(_, address)| command.replace(ADDRESS, address))
    }

    fn serve(&mut self, command: &str) {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (address, webhook) = (free(), free());
        let script = format!("exec env {}", command.replace(ADDRESS, &address));
        let mut shell = self.shell(&["bash", "-c", &script]);
        shell.env("ROSTER_LISTEN", &address);
        if command.contains("--dev") {
            shell.env("ROSTER_WEBHOOK_LISTEN", webhook);
        }
        let child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_up = (0..200).any(|_| {
            thread::sleep(Duration::from_millis(50));
            TcpStream::connect(&address).is_ok()
        });
        // One server at a time: the next one takes its place.
        self.stop();
        self.server = Some((child, address));
        assert!(is_up, "{command} does not listen");
    }

    fn stop(&mut self) {
        if let Some((mut child, _)) = self.server.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether the machine does not have a program that a command runs.
fn lacks(command: &str) -> bool {
    let mut words = command.split(|c: char| c.is_whitespace() || "|;&()".contains(c));
    words.any(|word| OPTIONAL.iter().any(|(named, program)| *named == word && !has_program(program)))
}

/// A page with the outputs of its commands as they are, and the commands that were not run.
fn fresh(page: &str) -> (String, Vec<String>) {
    let (mut session, mut fresh, mut left_out) = (Session::new(), String::new(), Vec::new());
    let mut rest = page;
    for screen in screens(page) {
        let command = screen.command();
        let at = rest.find(screen.written).unwrap_or_default() + screen.written.len();
        fresh.push_str(&rest[..at]);
        rest = &rest[at..];
        match screen.needs {
            "server" => session.serve(&command),
            "" if !lacks(&command) => {
                let ran = session.run(&command);
                if !matches(&screen.output(), &ran) {
                    // The newline before the output is in neither if there was none.
                    let next = ["```", "$ "].map(|next| rest.find(&format!("\n{}{next}", screen.indent)));
                    fresh.extend(ran.lines().map(|line| format!("\n{}{line}", screen.indent)));
                    rest = &rest[next.into_iter().flatten().min().unwrap_or_default()..];
                }
            }
            _ => left_out.push(command),
        }
    }
    fresh.push_str(rest);
    (fresh, left_out)
}

#[test]
fn the_screens_of_pages_are_those_of_the_program() {
    let write = env::var("ROSTER_WRITE").is_ok_and(|group| group == "docs");
    let only = env::var("ROSTER_PAGE").unwrap_or_default();
    let (mut stale, mut ran) = (Vec::new(), 0);
    for path in pages().into_iter().filter(|path| path.ends_with(&only) || only.is_empty()) {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let page = fs::read_to_string(&path).unwrap();
        let (fresh, left_out) = fresh(&page);
        for command in &left_out {
            println!("{name}: not run: {}", command.lines().next().unwrap_or_default());
        }
        ran += screens(&page).len() - left_out.len();
        // As the test of generated files does.
        if fresh != page && write {
            fs::write(&path, &fresh).unwrap();
        } else if fresh != page {
            stale.push(format!("{name} is stale: cargo xtask docs\n{fresh}"));
        }
    }
    println!("{ran} commands run");
    assert!(stale.is_empty(), "{}", stale.join("\n"));
    assert!(ran > 1, "{ran}");
}

#[test]
fn readme_begins_with_a_screen_that_fits() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(page.find("```console\n$ roster ").is_some_and(|at| at < 100), "README.md begins with a command");
    for screen in screens(&page) {
        assert!(screen.shown.lines().count() < 30 && screen.shown.lines().all(|l| l.chars().count() <= 100));
    }
    assert!(page.lines().count() < 150, "README.md has {} lines", page.lines().count());
}

#[test]
fn screens_are_read_and_compared() {
    let page = "a\n```console\n$ one\nout\n$ two <<'END'\n> x\n> END\n```\n\n```console cluster\n$ three\n```\n\
                1. b\n\n   ```console cluster\n   $ four \\\n   >   --five\n   out\n     more\n   ```\n";
    let found: Vec<_> = screens(page).iter().map(|s| (s.needs.to_owned(), s.command(), s.output())).collect();
    let row = |needs: &str, command: &str, output: &str| (needs.to_owned(), command.to_owned(), output.to_owned());
    let want = [
        row("", "one", "out"),
        row("", "two <<'END'\nx\nEND", ""),
        row("cluster", "three", ""),
        row("cluster", "four \\\n  --five", "out\n  more"),
    ];
    assert_eq!(found, want);
    for (shown, text, want) in
        [("a\n…\nb", "a\n1\n2\nb", true), ("a…", "ab", true), ("a", "ab", false), ("a…c", "ab", false), ("", "", true)]
    {
        assert_eq!(matches(shown, text), want, "{shown:?} {text:?}");
    }
}
