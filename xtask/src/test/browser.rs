//! The tests in a headless browser: the page of the server, and the same page as a playground.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::{has, run, watch};
use crate::paths;
use crate::server::Server;
use crate::steps::{Outcome, Tally};
use crate::wasm;

/// The folder of the browser tests, with the lock file of its packages.
const BROWSER: &str = "tests/browser";
/// How many random states the playground answers. The server's page answers more of them, in less time.
const STATES_OF_PLAYGROUND: &str = "20";

/// The page and `/docs` of a server.
pub(super) fn served_page() -> Result<Outcome> {
    let Some(browser) = find_browser() else { return missing() };
    let screenshots = paths::target().join("screenshots");
    std::fs::create_dir_all(&screenshots).context("the folder of screenshots")?;
    install_packages()?;
    run_tests(&["docs", "page", "states", "recorded", "hostile"], |command| {
        command.env("CHROMIUM", browser).env("SCREENSHOTS", &screenshots);
    })
}

/// The same page as static files: the same tests, but for what only a server does, and the answers of a server beside it.
pub(super) fn playground() -> Result<Outcome> {
    let Some(browser) = find_browser() else { return missing() };
    let folder = paths::target().join("playground");
    if let Some(why) = wasm::write_playground(&folder)? {
        return Ok(Outcome::Skipped(why));
    }
    install_packages()?;
    run_tests(&["playground", "page", "states", "recorded", "hostile"], |command| {
        command.env("CHROMIUM", browser).env("PLAYGROUND", &folder).env("STATES", STATES_OF_PLAYGROUND);
    })
}

/// The name of an installed browser.
pub(super) fn find_browser() -> Option<&'static str> {
    let is_driven = has("node") && has("npm");
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| is_driven && has(name))
}

fn missing() -> Result<Outcome> {
    Outcome::missing("node, npm or chromium is not installed: apt-get install nodejs npm chromium")
}

/// Installs what drives the browser.
pub(super) fn install_packages() -> Result<()> {
    run("npm", &format!("ci --prefix {BROWSER} --silent"))
}

fn run_tests(files: &[&str], set_up: impl FnOnce(&mut Command)) -> Result<Outcome> {
    let server = Server::start()?;
    let mut tally = Tally::default();
    let mut command = Command::new("node");
    // One after the other: they measure how long a picture takes.
    command.args(["--test", "--test-reporter=tap", "--test-concurrency=1"]);
    command.args(files.iter().map(|name| Path::new(BROWSER).join(format!("{name}.test.mjs"))));
    command.env("ROSTER_URL", server.url()).env("ROSTER", paths::target().join("debug/roster"));
    set_up(&mut command);
    let well = watch(&mut command, |line| {
        let count = |what| line.strip_prefix(what).and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
        tally.passed += count("# pass ");
        tally.failed += count("# fail ");
        tally.ignored += count("# skipped ");
    })?;
    ensure!(well || tally.failed > 0, "the browser tests ended early");
    ensure!(tally.passed + tally.failed > 0, "the browser tests ran no tests");
    Ok(Outcome::Tests(tally))
}
