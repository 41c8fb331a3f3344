//! The playground: the page as a folder of static files, with the module in place of a server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::module::Module;
use crate::paths;
use crate::steps::Outcome;

/// The files, and what they are in the repository. The first one is the page.
const FILES: [(&str, &str); 5] = [
    ("index.html", "crates/page/static/index.html"),
    ("page.css", "crates/page/static/page.css"),
    ("picture.css", "crates/engine/src/picture/svg/sheet.css"),
    ("page.js", "crates/page/static/page.js"),
    ("engine.js", "crates/wasm/static/engine.js"),
];

/// What differs in the page: the engine is a worker, and there is no server that documents its API or sends headers. The policy
/// is that of the server's page, with what a module needs, and without what only a header can say.
const CHANGES: [(&str, &str); 3] = [
    ("data-engine=\"v1/page\"", "data-engine=\"engine.js\""),
    ("<nav aria-label=\"More\"><a href=\"docs/\">API</a></nav>\n", ""),
    (
        "<meta charset=\"utf-8\">\n",
        "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; \
         form-action 'none'; base-uri 'none'\">\n",
    ),
];

#[derive(clap::Args)]
pub(crate) struct PlaygroundArguments {
    /// The folder that is written [default: playground in Cargo's target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the folder that was asked for.
pub(crate) fn write(arguments: &PlaygroundArguments) -> Result<Outcome> {
    let folder = arguments.out.clone().unwrap_or_else(|| paths::target().join("playground"));
    if let Some(why) = write_folder(&folder)? {
        return Ok(Outcome::Skipped(why));
    }
    println!("    {}: put it on any web server", folder.display());
    Ok(Outcome::Passed)
}

/// Writes the folder. Returns why it cannot be written here, if so.
pub(crate) fn write_folder(folder: &Path) -> Result<Option<String>> {
    let module = match Module::build()? {
        Ok(module) => module,
        Err(why) => return Ok(Some(why)),
    };
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(folder.join("roster.wasm"), &module.bytes).context("writing roster.wasm")?;
    for (place, (name, source)) in FILES.iter().enumerate() {
        let text = fs::read_to_string(source).with_context(|| format!("reading {source}"))?;
        let text = if place == 0 { of_the_playground(&text)? } else { text };
        fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))?;
    }
    Ok(None)
}

/// The page with the changes.
fn of_the_playground(page: &str) -> Result<String> {
    let mut page = page.to_owned();
    for (from, to) in CHANGES {
        ensure!(page.matches(from).count() == 1, "the page does not have {from:?} once");
        page = page.replace(from, to);
    }
    Ok(page)
}
