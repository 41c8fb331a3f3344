//! The shell in which somebody types the commands of a page.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    net::Ipv4Addr,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpSocket},
    runtime::Runtime,
    task::JoinHandle,
};

use super::kubelet::Kubelet;
use crate::{control_plane::ControlPlane, pages::root, roster, wait};

/// The folders of the repository that pages name.
const LINKED: [&str; 4] = ["charts", "examples", "manifests", "openapi"];
/// The contexts that pages name, besides the one of the test.
const CONTEXTS: [&str; 2] = ["prod", "edge"];
/// Folders of a machine that pages name. In the test they are below the folder of the page.
const MOVED: [&str; 4] = ["/etc/roster", "/etc/kubernetes", "/run/roster", "/var/lib/roster"];
/// Programs that run until the page ends.
const SERVERS: [&str; 3] = ["roster serve ", "roster controller ", "roster edge "];
/// The width of the terminal on the pages.
const COLUMNS: &str = "100";

/// What a command came to.
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) text: String,
}

pub(super) struct Terminal<'a> {
    folder: TempDir,
    path: OsString,
    plane: &'a RefCell<ControlPlane>,
    kubelet: &'a Kubelet,
    /// The variables that were set.
    variables: Vec<String>,
    /// A server takes the place of the one before.
    server: Option<Child>,
    runtime: Runtime,
    /// The ports that are forwarded. A new one ends the one before.
    forwarded: BTreeMap<u16, JoinHandle<()>>,
}

impl<'a> Terminal<'a> {
    pub(super) fn new(plane: &'a RefCell<ControlPlane>, kubelet: &'a Kubelet) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in LINKED {
            symlink(root().join(name), folder.path().join(name)).unwrap();
        }
        for name in MOVED {
            fs::create_dir_all(folder.path().join(&name[1..])).unwrap();
        }
        let programs = folder.path().join(".programs");
        fs::create_dir(&programs).unwrap();
        symlink(roster().get_program(), programs.join("roster")).unwrap();
        let found = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&found))).unwrap();
        let mut config: Value =
            serde_saphyr::from_str(&fs::read_to_string(plane.borrow().kubeconfig()).unwrap()).unwrap();
        for name in CONTEXTS {
            let mut context = config["contexts"][0].clone();
            context["name"] = name.into();
            config["contexts"].as_array_mut().unwrap().push(context);
        }
        fs::write(folder.path().join("kubeconfig"), config.to_string()).unwrap();
        let (variables, runtime, forwarded) = (Vec::new(), Runtime::new().unwrap(), BTreeMap::new());
        Self { folder, path, plane, kubelet, variables, server: None, runtime, forwarded }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command to its end, or until it serves.
    pub(super) fn run(&mut self, command: &str) -> Ran {
        let words: Vec<&str> = command.split_whitespace().collect();
        match command.split_once(" port-forward ") {
            Some((kubectl, rest)) => return self.forward(kubectl, rest),
            None if words.contains(&"exec") && words[0] == "kubectl" => return self.exec(command),
            None if words[0] == "kill" => {
                self.stop();
                return Ran { code: 0, text: String::new() };
            }
            None => {}
        }
        if SERVERS.iter().any(|server| command.starts_with(server)) {
            return self.serve(command);
        }
        let log = self.log();
        // A command that does not end is a mistake of the page.
        let mut shell = self.shell(&["timeout", "60", "bash", "-c"], command);
        let status = shell.stdout(log.try_clone().unwrap()).stderr(log).status().unwrap();
        if words[0].contains('=') {
            self.variables.push(self.here(command));
        }
        self.ran(status.code().unwrap_or(-1))
    }

    fn shell(&self, words: &[&str], command: &str) -> Command {
        let mut shell = Command::new(words[0]);
        let script = format!("{}\n{}", self.variables.join("\n"), self.here(command));
        shell.args(&words[1..]).arg(script).current_dir(self.folder.path()).stdin(Stdio::null());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            shell.env_remove(variable);
        }
        shell.env("PATH", &self.path).env("HOME", self.folder.path()).env("COLUMNS", COLUMNS);
        shell.env("KUBECONFIG", self.folder.path().join("kubeconfig"));
        shell
    }

    /// A command with the folders of the test.
    fn here(&self, command: &str) -> String {
        let inside = |path: &str| self.folder.path().join(&path[1..]).display().to_string();
        MOVED.iter().fold(command.to_owned(), |command, path| command.replace(path, &inside(path)))
    }

    /// The same as [`Self::here`], backwards.
    fn there(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "/")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join(".log")
    }

    fn log(&self) -> File {
        let _ = fs::remove_file(self.log_path());
        File::create(self.log_path()).unwrap()
    }

    fn ran(&self, code: i32) -> Ran {
        let text = fs::read(self.log_path()).unwrap();
        Ran { code, text: self.there(String::from_utf8_lossy(&text).trim_end()) }
    }

    /// Starts a server, and waits until it listens.
    fn serve(&mut self, command: &str) -> Ran {
        self.stop();
        let log = self.log();
        let command = format!("exec {}", command.trim_end_matches('&'));
        let mut shell = self.shell(&["bash", "-c"], &command);
        let mut child = shell.process_group(0).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let code = wait("the server listens", || match child.try_wait().unwrap() {
            Some(status) => Some(status.code().unwrap_or(-1)),
            None => self.ran(0).text.contains("listening").then_some(0),
        });
        self.server = Some(child);
        self.ran(code)
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.server.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// What a kubelet does for `kubectl port-forward`: connections to the port of a pod come from its own machine.
    fn forward(&mut self, kubectl: &str, rest: &str) -> Ran {
        let mut words = rest.trim_end_matches('&').split_whitespace();
        let (target, ports) = (words.next().unwrap(), words.next().unwrap());
        let (local, remote) = ports.split_once(':').unwrap_or((ports, ports));
        let (local, remote): (u16, u16) = (local.parse().unwrap(), remote.parse().unwrap());
        let address = self.pod_of(kubectl, target);
        if let Some(before) = self.forwarded.remove(&local) {
            before.abort();
            let _ = self.runtime.block_on(before);
        }
        let listener = self.runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, local))).unwrap();
        let forwards = self.runtime.spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
                if let Ok(mut pod) = socket.connect((address, remote).into()).await {
                    tokio::spawn(async move { copy_bidirectional(&mut client, &mut pod).await });
                }
            }
        });
        self.forwarded.insert(local, forwards);
        Ran { code: 0, text: format!("Forwarding from 127.0.0.1:{local} -> {remote}") }
    }

    /// What a kubelet does for `kubectl exec`.
    fn exec(&self, command: &str) -> Ran {
        let (kubectl, rest) = command.split_once(" exec ").unwrap();
        let (target, inside) = rest.split_once(" -- ").unwrap();
        self.pod_of(kubectl, target);
        let mut program = roster();
        let arguments = inside.strip_prefix("/usr/bin/roster ").unwrap();
        let output = program.args(arguments.split_whitespace()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Ran { code: output.status.code().unwrap(), text: text.trim_end().to_owned() }
    }

    /// The address of the first ready pod of a target such as `deployment/roster`.
    fn pod_of(&self, kubectl: &str, target: &str) -> Ipv4Addr {
        let namespace = kubectl.split_once("-n ").unwrap().1.split_whitespace().next().unwrap();
        let get = |what: &str| -> Value {
            let line = format!("-n {namespace} get {what} -o json");
            serde_json::from_str(&self.plane.borrow().kubectl_with(&line, "").unwrap()).unwrap()
        };
        wait(&format!("a pod of {target} is ready"), || {
            let selector = get(target)["spec"]["selector"]["matchLabels"].take();
            let labels =
                selector.as_object().unwrap().iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap()));
            let labels = labels.collect::<Vec<_>>().join(",");
            let pods = get(&format!("pods -l {labels}"))["items"].take();
            let ready = pods.as_array().unwrap().iter().find(|pod| {
                let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
                let is_ready = conditions.clone().any(|c| c["type"] == "Ready" && c["status"] == "True");
                is_ready && pod["metadata"]["deletionTimestamp"].is_null()
            })?;
            self.kubelet.address(namespace, ready["metadata"]["name"].as_str().unwrap())
        })
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}
