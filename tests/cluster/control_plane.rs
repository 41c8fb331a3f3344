//! etcd, kube-apiserver and kube-controller-manager on loopback, for tests and recordings.
//!
//! Every process is ended by its own id, and waited for: an API server that is stopping takes some
//! seconds to free its port.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::free_port::free_port;

/// The controllers that are run: those that Roster re-implements.
const CONTROLLERS: &str = "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller";
/// Who the administrator's token belongs to.
const GROUP: &str = "system:masters";
/// Longest time until the API server is ready; three seconds on an idle machine.
const READY: Duration = Duration::from_mins(2);

/// How to start it.
pub(crate) struct Setup<'a> {
    /// The folder of the programs; `KUBEBUILDER_ASSETS`, as envtest calls it.
    pub(crate) assets: &'a Path,
    /// A folder of its own: data, keys and logs go there.
    pub(crate) dir: &'a Path,
    /// Further flags of the API server.
    pub(crate) api_server: &'a [String],
    /// Whether the controllers run, too.
    pub(crate) controllers: bool,
}

/// A running control plane. It ends when this is dropped, unless it was detached.
pub(crate) struct ControlPlane {
    dir: PathBuf,
    assets: PathBuf,
    port: u16,
    /// In the order of their start; the controllers, if they run, are the last.
    processes: Vec<(&'static str, Child)>,
    /// With which the API server was started.
    api_server_flags: Vec<String>,
}

impl ControlPlane {
    /// Starts it, and waits until it is ready.
    pub(crate) fn start(setup: &Setup<'_>) -> Result<Self> {
        fs::create_dir_all(setup.dir).with_context(|| format!("creating {}", setup.dir.display()))?;
        let dir = setup.dir.canonicalize()?;
        let mut plane = Self {
            dir,
            assets: setup.assets.to_owned(),
            port: free_port()?,
            processes: Vec::new(),
            api_server_flags: Vec::new(),
        };
        let etcd = plane.start_etcd()?;
        plane.start_api_server(etcd, setup.api_server)?;
        plane.write_kubeconfig("admin")?;
        plane.wait_until_ready()?;
        if setup.controllers {
            plane.start_controllers()?;
        }
        Ok(plane)
    }

    /// A file for `--kubeconfig`, of the administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("admin.kubeconfig")
    }

    /// `kubectl`, as the administrator.
    pub(crate) fn kubectl(&self) -> Command {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    /// Runs `kubectl` with the words of `line`, `input` on its standard input; its output, if it ended well.
    pub(crate) fn kubectl_with(&self, line: &str, input: &str) -> Result<String> {
        let mut command = self.kubectl();
        command.args(line.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("kubectl could not be started")?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        let input = input.to_owned();
        // kubectl may print before it has read everything.
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
        let output = child.wait_with_output()?;
        let _ = writer.join();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {line}: {}", errors.trim());
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Ends the controllers; nothing is written by them any more.
    pub(crate) fn stop_controllers(&mut self) {
        if let Some(at) = self.processes.iter().position(|(name, _)| *name == "kube-controller-manager") {
            end(&mut self.processes.remove(at).1);
        }
    }

    /// Sends a signal to the controllers, such as `-STOP`.
    pub(crate) fn signal_controllers(&self, signal: &str) {
        for (_, child) in self.processes.iter().filter(|(name, _)| *name == "kube-controller-manager") {
            let _ = Command::new("kill").arg(signal).arg(child.id().to_string()).status();
        }
    }

    /// Ends the API server.
    pub(crate) fn stop_api_server(&mut self) {
        if let Some(at) = self.processes.iter().position(|(name, _)| *name == "kube-apiserver") {
            end(&mut self.processes.remove(at).1);
        }
    }

    /// Starts the API server that was ended.
    pub(crate) fn start_api_server_again(&mut self) -> Result<()> {
        self.spawn("kube-apiserver", &self.api_server_flags.clone())?;
        self.wait_until_ready()
    }

    /// Starts the controllers.
    pub(crate) fn start_controllers(&mut self) -> Result<()> {
        self.start_controllers_named(CONTROLLERS)
    }

    /// Starts these controllers, with commas between their names.
    pub(crate) fn start_controllers_named(&mut self, names: &str) -> Result<()> {
        self.start_controllers_with(names, &[])
    }

    /// Starts these controllers with further flags.
    pub(crate) fn start_controllers_with(&mut self, names: &str, more: &[&str]) -> Result<()> {
        // As in a real cluster: who a writer is decides what a webhook says.
        let config = self.write_kubeconfig("controllers")?;
        let mut flags = vec![
            format!("--kubeconfig={}", config.display()),
            format!("--controllers={names}"),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        flags.extend(more.iter().map(ToString::to_string));
        self.spawn("kube-controller-manager", &flags)
    }

    /// Leaves the processes running, and tells their ids, the first to end first.
    pub(crate) fn detach(mut self) -> Vec<u32> {
        self.processes.drain(..).rev().map(|(_, child)| child.id()).collect()
    }

    fn start_etcd(&mut self) -> Result<u16> {
        let (client, peer) = (free_port()?, free_port()?);
        let url = |port| format!("http://127.0.0.1:{port}");
        let flags = [
            format!("--data-dir={}", self.dir.join("etcd").display()),
            format!("--listen-client-urls={}", url(client)),
            format!("--advertise-client-urls={}", url(client)),
            format!("--listen-peer-urls={}", url(peer)),
            format!("--initial-advertise-peer-urls={}", url(peer)),
            format!("--initial-cluster=default={}", url(peer)),
            // The data is thrown away with the test.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=error".to_owned(),
        ];
        self.spawn("etcd", &flags)?;
        Ok(client)
    }

    fn start_api_server(&mut self, etcd: u16, more: &[String]) -> Result<()> {
        let file = |name: &str| self.dir.join(name).display().to_string();
        let key = rcgen::KeyPair::generate().context("making a key for service accounts")?;
        fs::write(file("service-account.key"), key.serialize_pem())?;
        fs::write(file("service-account.pub"), key.public_key_pem())?;
        let (admin, controllers) = (token()?, token()?);
        let user = "system:kube-controller-manager";
        let tokens = format!("{admin},admin,admin,\"{GROUP}\"\n{controllers},{user},{user},\"{GROUP}\"\n");
        fs::write(file("tokens.csv"), tokens)?;
        fs::write(file("admin.token"), admin)?;
        fs::write(file("controllers.token"), controllers)?;
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            format!("--cert-dir={}", file("certs")),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            // It refuses to publish a loopback address.
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--service-account-key-file={}", file("service-account.pub")),
            format!("--service-account-signing-key-file={}", file("service-account.key")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--token-auth-file={}", file("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ];
        flags.extend_from_slice(more);
        self.api_server_flags = flags;
        self.spawn("kube-apiserver", &self.api_server_flags.clone())
    }

    fn write_kubeconfig(&self, user: &str) -> Result<PathBuf> {
        let token = fs::read_to_string(self.dir.join(format!("{user}.token")))?;
        // The certificate that the API server makes for itself holds its CA as well.
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters:\n- name: test\n  cluster:\n    server: https://127.0.0.1:{port}\n    certificate-authority: {ca}\n\
             users:\n- name: admin\n  user:\n    token: {token}\n\
             contexts:\n- name: test\n  context: {{cluster: test, user: admin}}\n",
            port = self.port,
            ca = self.dir.join("certs/apiserver.crt").display(),
        );
        let path = self.dir.join(format!("{user}.kubeconfig"));
        fs::write(&path, text).context("writing the kubeconfig")?;
        Ok(path)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let until = Instant::now() + READY;
        loop {
            let Err(last) = self.kubectl_with("get --raw /readyz --request-timeout=2s", "") else { return Ok(()) };
            for (name, child) in &mut self.processes {
                if let Some(status) = child.try_wait()? {
                    bail!("{name} ended with {status}; see {}", self.dir.join(format!("{name}.log")).display());
                }
            }
            ensure!(Instant::now() < until, "the API server is not ready after {} s: {last}", READY.as_secs());
            sleep(Duration::from_millis(100));
        }
    }

    fn spawn(&mut self, name: &'static str, flags: &[String]) -> Result<()> {
        let log = File::create(self.dir.join(format!("{name}.log")))?;
        let program = self.assets.join(name);
        let child = Command::new(&program)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        self.processes.push((name, child));
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        while let Some((_, mut child)) = self.processes.pop() {
            end(&mut child);
        }
    }
}

/// Asks a process to end, waits a little, and then ends it.
fn end(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).stderr(Stdio::null()).status();
    for _ in 0..100 {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// A token that nobody can guess: everything on this machine can reach loopback.
fn token() -> Result<String> {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut bytes)?;
    Ok(format!("{:032x}", bytes.iter().fold(0, |sum: u128, b| sum << 8 | u128::from(*b))))
}
