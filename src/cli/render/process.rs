//! A program that renders manifests: it gets no environment, no input, little time, and its output is bounded.

use std::{
    env,
    ffi::OsString,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{RecvTimeoutError, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// Most bytes of output: as much as the decoder reads of a file.
const MAX_OUTPUT: usize = 256 << 20;
/// Most bytes of a program's errors that are shown. The beginning says what is wrong.
const MAX_ERRORS: usize = 8 << 10;
/// How often to look whether a program has ended that prints nothing more.
const POLL: Duration = Duration::from_millis(5);

/// A program that is installed.
#[derive(Clone, Debug)]
pub(super) struct RendererProgram {
    pub(super) name: &'static str,
    path: PathBuf,
}

/// What a run of a program may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// Most bytes of output.
    pub(super) output: usize,
    /// Whether it may fetch anything over the network.
    pub(super) network: bool,
}

/// Why a program has no output.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunFailure {
    #[error("cannot be run: {0}")]
    NotRun(#[from] io::Error),
    #[error("did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("printed more than {} MiB", .0 >> 20)]
    TooLong(usize),
    #[error("printed bytes that are not UTF-8")]
    NotText,
    /// With what it printed to standard error.
    #[error("{status}{}{errors}", if errors.is_empty() { "" } else { "\n" })]
    Failed { status: ExitStatus, errors: String },
}

impl Limits {
    /// Those of a program that works on local files.
    pub(super) const LOCAL: Self = Self { time: Duration::from_mins(1), output: MAX_OUTPUT, network: false };
    /// Those of a program that fetches files, too.
    pub(super) const REMOTE: Self = Self { time: Duration::from_mins(5), output: MAX_OUTPUT, network: true };
}

impl RendererProgram {
    /// Finds a program in the PATH. Relative folders of the PATH do not count: what they have depends on where Roster is run.
    pub(super) fn find(name: &'static str) -> Option<Self> {
        let folders = env::var_os("PATH").unwrap_or_default();
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        let path = env::split_paths(&folders)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&file))
            .find(|path| is_executable(path))?;
        Some(Self { name, path })
    }

    /// Runs it, and returns what it prints. `home` is an empty directory, in which it may write.
    pub(super) fn run(&self, arguments: &[OsString], home: &Path, limits: Limits) -> Result<String, RunFailure> {
        let deadline = Instant::now() + limits.time;
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(home).env_clear().envs(environment(home, limits.network));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running::start(&mut command)?;
        let (sender, outputs) = sync_channel(1);
        let out = running.child.stdout.take();
        let most = limits.output;
        thread::spawn(move || {
            // If nobody waits for it any more, nobody wants it.
            let _ = sender.send(read_bounded(out, most.saturating_add(1)));
        });
        let errors = running.child.stderr.take();
        let errors = thread::spawn(move || read_errors(errors));
        let is_late = || Instant::now() >= deadline;
        let output = loop {
            // What it has started, and left behind, may hold its pipes open.
            running.try_end()?;
            match outputs.recv_timeout(POLL) {
                Ok(output) => break output?,
                Err(RecvTimeoutError::Timeout) if !is_late() => {}
                Err(RecvTimeoutError::Timeout) => return Err(RunFailure::TimedOut(limits.time)),
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
            }
        };
        if output.len() > most {
            return Err(RunFailure::TooLong(most));
        }
        let status = loop {
            match running.try_end()? {
                Some(status) if errors.is_finished() => break status,
                _ if is_late() => return Err(RunFailure::TimedOut(limits.time)),
                _ => thread::sleep(POLL),
            }
        };
        if !status.success() {
            return Err(RunFailure::Failed { status, errors: errors.join().unwrap_or_default() });
        }
        String::from_utf8(output).map_err(|_| RunFailure::NotText)
    }
}

/// A running program, with the programs that it has started in its process group. All of them end with it, and with this value.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        command.spawn().map(|child| Self { child, has_ended: false })
    }

    /// Its status when it has ended, and what it has started is ended, too.
    fn try_end(&mut self) -> io::Result<Option<ExitStatus>> {
        if !self.has_ended && self.is_running()? {
            return Ok(None);
        }
        self.end().map(Some)
    }

    /// Whether it runs. It is not waited for.
    #[cfg(target_os = "linux")]
    fn is_running(&self) -> io::Result<bool> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let id = WaitId::Pid(Pid::from_child(&self.child));
        Ok(waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?.is_none())
    }

    #[cfg(not(target_os = "linux"))]
    fn is_running(&mut self) -> io::Result<bool> {
        self.child.try_wait().map(|status| status.is_none())
    }

    /// Ends all, and waits for it. While it has not been waited for, no other group has its number.
    fn end(&mut self) -> io::Result<ExitStatus> {
        #[cfg(target_os = "linux")]
        if !self.has_ended {
            let leader = rustix::process::Pid::from_child(&self.child);
            // There is none if it has ended, and nothing that it has started is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        self.has_ended = true;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.end();
    }
}

/// The whole environment of a program. Nothing of the user's is in it but the PATH, in which kustomize looks for git: no
/// plugins, no repositories, no kubeconfig.
fn environment(home: &Path, network: bool) -> Vec<(&'static str, OsString)> {
    let mut all = vec![("PATH", env::var_os("PATH").unwrap_or_default())];
    all.extend(
        ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"].map(|name| (name, home.into())),
    );
    // Nobody answers questions.
    all.push(("GIT_TERMINAL_PROMPT", "0".into()));
    if network {
        all.push(("GIT_SSH_COMMAND", "ssh -oBatchMode=yes".into()));
    } else {
        // Remote references are refused before anything is run. If one is overlooked, it is not followed either: git may use no
        // protocol, and HTTP goes to a port that does not exist.
        all.push(("GIT_ALLOW_PROTOCOL", "none".into()));
        all.extend(["HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name, "http://127.0.0.1:0".into())));
    }
    all
}

fn read_bounded(input: Option<impl Read>, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(input) = input {
        input.take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The beginning of what a program prints to standard error. The rest is read, so that it can end.
fn read_errors(mut input: Option<impl Read>) -> String {
    let text = String::from_utf8_lossy(&read_bounded(input.as_mut(), MAX_ERRORS).unwrap_or_default()).into_owned();
    let cut = input.map(|mut input| io::copy(&mut input, &mut io::sink()).unwrap_or_default()).unwrap_or_default();
    format!("{}{}", text.trim_end(), if cut > 0 { "\n…" } else { "" })
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str, limits: Limits) -> Result<String, RunFailure> {
        let home = tempfile::tempdir()?;
        let sh = RendererProgram::find("sh").ok_or(io::ErrorKind::NotFound).map_err(io::Error::from)?;
        sh.run(&["-c".into(), script.into()], home.path(), limits)
    }

    /// Each script with what it prints, or why it has no output.
    #[test]
    fn the_output_comes_or_the_reason() {
        let limits = Limits { time: Duration::from_secs(30), output: 1 << 20, network: false };
        let short = Limits { time: Duration::from_millis(200), ..limits };
        for (script, limits, want) in [
            ("echo a; echo b >&2", limits, "a\n"),
            ("cat", limits, ""),
            ("echo why >&2; exit 3", limits, "exit status: 3\nwhy"),
            ("exit 3", limits, "exit status: 3"),
            ("kill -9 $$", limits, "signal: 9 (SIGKILL)"),
            ("exec yes", limits, "printed more than 1 MiB"),
            ("printf '\\377'", limits, "printed bytes that are not UTF-8"),
            ("exec sleep 60", short, "did not end within 0 s"),
            // Its child has the pipe.
            ("sleep 60 & exec sleep 60", short, "did not end within 0 s"),
            ("exec >&- 2>&-; sleep 60", short, "did not end within 0 s"),
        ] {
            let began = Instant::now();
            let got = shell(script, limits).unwrap_or_else(|failure| failure.to_string());
            assert_eq!(got, want, "{script}");
            assert!(began.elapsed() < Duration::from_secs(20), "{script}: {:?}", began.elapsed());
        }
        let long = shell("yes wrong | head -c 100000 >&2; exit 1", limits).unwrap_err().to_string();
        assert!(long.len() < MAX_ERRORS + 100 && long.ends_with("\n…"), "{}", long.len());
    }

    #[test]
    fn programs_that_it_started_end_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alive");
        let writes = format!("(while :; do date +%N >{}; sleep 0.05; done) &", file.display());
        let short = Limits { time: Duration::from_millis(300), ..Limits::LOCAL };
        for (end, limits, want) in [
            ("exec sleep 60", short, Err("did not end within 0 s")),
            // It ends first, and its child has the pipes.
            ("sleep 0.2; echo a", Limits::LOCAL, Ok("a\n")),
        ] {
            let ended = shell(&format!("{writes} {end}"), limits).map_err(|failure| failure.to_string());
            assert_eq!(ended.as_deref().map_err(String::as_str), want);
            let last = || file.metadata().unwrap().modified().unwrap();
            // What is killed may still end a write.
            let is_still = || {
                let before = last();
                thread::sleep(Duration::from_millis(300));
                last() == before
            };
            assert!(is_still() || is_still(), "{end}");
        }
    }

    #[test]
    fn nothing_of_the_environment_is_passed_on_but_the_path() {
        let printed = shell("env", Limits::LOCAL).unwrap();
        // The shell sets some itself.
        let names = |text: &str| {
            let own = ["PWD", "OLDPWD", "SHLVL", "_"];
            let mut names: Vec<String> = text.lines().filter_map(|l| Some(l.split_once('=')?.0.to_owned())).collect();
            names.retain(|name| !own.contains(&name.as_str()));
            names.sort();
            names
        };
        let mut want: Vec<_> = environment(Path::new("/h"), false).into_iter().map(|(name, _)| name).collect();
        want.sort_unstable();
        assert_eq!(names(&printed), want);
        assert!(!want.contains(&"CARGO_MANIFEST_DIR") && !want.contains(&"KUBECONFIG"));
    }
}
