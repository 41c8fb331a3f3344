//! The documentation as a book: mdBook, with search.
//!
//! The book is built from a copy of `docs/`, in which links to the rest of the repository are links to its page on the web.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::command::has;
use crate::dead_links::{links, prose};
use crate::paths;
use crate::release::repository;
use crate::steps::Outcome;
use crate::tidy::plain;

const NO_MDBOOK: &str =
    "mdbook is not installed: cargo install --locked mdbook --no-default-features --features search";

/// Builds the book into Cargo's target folder, and checks every link in it. A warning of mdBook is an error.
pub(crate) fn build() -> Result<Outcome> {
    if !has("mdbook") {
        return Outcome::missing(NO_MDBOOK);
    }
    let folder = paths::target().join("book");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut pages = Vec::new();
    copy(Path::new("docs"), &folder, &repository()?, &mut pages)?;
    let summary = fs::read_to_string("docs/SUMMARY.md")?;
    let left_out: Vec<&String> = pages.iter().filter(|page| !summary.contains(&format!("]({page})"))).collect();
    ensure!(left_out.is_empty(), "docs/SUMMARY.md lacks {left_out:?}");
    fs::copy("book.toml", folder.join("book.toml"))?;
    let built = Command::new("mdbook").arg("build").arg(&folder).output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&built.stdout), String::from_utf8_lossy(&built.stderr));
    ensure!(built.status.success() && !said.contains("WARN"), "mdbook:\n{said}");
    let html = folder.join("book");
    let (pages, checked) = check(&html)?;
    println!("    {pages} pages, {checked} links: {}", html.join("index.html").display());
    Ok(Outcome::Passed)
}

/// Copies a folder of documents, and collects its pages. Links out of `docs/` become links to the repository.
fn copy(from: &Path, to: &Path, repository: &str, pages: &mut Vec<String>) -> Result<()> {
    fs::create_dir_all(to.join(from))?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if path.is_dir() {
            copy(&path, to, repository, pages)?;
        } else if path.extension().is_some_and(|e| e == "md") {
            let text = fs::read_to_string(&path)?;
            fs::write(to.join(&path), with_web_links(&text, from, repository))?;
            let page = path.strip_prefix("docs")?.display().to_string();
            pages.extend(Some(page).filter(|page| page != "SUMMARY.md"));
        } else {
            fs::copy(&path, to.join(&path))?;
        }
    }
    Ok(())
}

/// A page of the folder with links that work outside of the repository.
fn with_web_links(text: &str, folder: &Path, repository: &str) -> String {
    let linked: BTreeSet<(&str, &str)> = prose(text).flat_map(|(_, line)| links(line)).collect();
    let mut out = text.to_owned();
    for (target, anchor) in linked.into_iter().filter(|(target, _)| !target.is_empty()) {
        let path = plain(&folder.join(target));
        if path.starts_with("docs") {
            continue;
        }
        let hash = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
        let kind = if path.is_dir() { "tree" } else { "blob" };
        let web = format!("]({repository}/{kind}/main/{}{hash})", path.display());
        out = out.replace(&format!("]({target}{hash})"), &web);
    }
    out
}

/// Follows every link between the pages of a built book. Returns how many pages and links there are.
fn check(html: &Path) -> Result<(usize, usize)> {
    let mut pages = BTreeMap::new();
    read(html, &mut pages)?;
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path, values(text, " id=\"").collect())).collect();
    let (mut checked, mut dead) = (0, Vec::new());
    for (page, text) in &pages {
        let folder = page.parent().unwrap_or(Path::new(""));
        for target in values(text, " href=\"").filter(|t| !t.contains(':')) {
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.clone() } else { plain(&folder.join(file)) };
            let is_there = match ids.get(&file) {
                Some(ids) => anchor.is_empty() || ids.contains(anchor),
                None => file.exists(),
            };
            if !is_there {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    if !dead.is_empty() {
        bail!("dead links:\n{}", dead.join("\n"));
    }
    Ok((pages.len(), checked))
}

/// The pages below a folder. The page that prints the whole book repeats the others, and a page for missing ones has no place.
fn read(folder: &Path, into: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "html")
            && !path.ends_with("print.html")
            && !path.ends_with("404.html")
        {
            into.insert(path.clone(), fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// The values of an attribute in a page.
fn values<'t>(text: &'t str, attribute: &str) -> impl Iterator<Item = &'t str> {
    text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_web() {
        let text = "[a](../start.md#x) [b](../../README.md) [c](../../src/lib.rs#L1)\n```\n[d](../../e)\n```\n";
        let want =
            "[a](../start.md#x) [b](W/blob/main/README.md) [c](W/blob/main/src/lib.rs#L1)\n```\n[d](../../e)\n```\n";
        assert_eq!(with_web_links(text, Path::new("docs/tasks"), "W"), want);
    }
}
