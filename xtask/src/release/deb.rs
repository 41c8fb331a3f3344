//! The Debian packages: an archive of `ar` with a control file and the files to install.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::archive::folders;
use super::contents::{self, Content};
use super::pack::{Tar, gzip};
use super::{Architecture, Release, files, licenses};
use crate::steps::Outcome;

/// The program in a package.
const PROGRAM: &str = "usr/bin/roster";
/// The file that Debian wants to have the licences.
const COPYRIGHT: &str = "usr/share/doc/roster/copyright";

impl Release {
    /// The Debian package of an architecture.
    pub(super) fn debian_package(&self, architecture: Architecture) -> String {
        format!("roster_{}_{}.deb", self.version, architecture.short())
    }
}

/// Writes the packages.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let contents = installed(contents::all(release)?)?;
    for (architecture, program) in release.read_programs()? {
        let package = package(release, architecture, &program, &contents)?;
        let name = release.debian_package(architecture);
        println!("    {name}: {} bytes", package.len());
        release.write(&name, package)?;
    }
    Ok(Outcome::Passed)
}

/// The files as Debian wants them: compressed manual pages, and all licences in one file.
fn installed(contents: Vec<Content>) -> Result<Vec<(String, Vec<u8>)>> {
    let mut result = Vec::new();
    let mut copyright = Vec::new();
    for content in contents {
        if content.archived == "LICENSE" || content.archived == licenses::FILE {
            copyright.extend(content.bytes);
            copyright.push(b'\n');
        } else if content.archived.starts_with("man/") {
            result.push((format!("{}.gz", content.installed), gzip(&content.bytes)?));
        } else {
            result.push((content.installed, content.bytes));
        }
    }
    result.push((COPYRIGHT.to_owned(), copyright));
    result.sort();
    Ok(result)
}

fn package(
    release: &Release,
    architecture: Architecture,
    program: &[u8],
    contents: &[(String, Vec<u8>)],
) -> Result<Vec<u8>> {
    let mut data = Tar::new(release.epoch);
    let paths = contents.iter().map(|(path, _)| path.clone()).chain([PROGRAM.to_owned()]);
    for folder in folders(paths) {
        data.folder(&format!("./{folder}"))?;
    }
    data.file(&format!("./{PROGRAM}"), 0o755, program)?;
    for (path, bytes) in contents {
        data.file(&format!("./{path}"), 0o644, bytes)?;
    }
    let size = program.len() + contents.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let mut control = Tar::new(release.epoch);
    control.file("./control", 0o644, control_file(release, architecture, size)?.as_bytes())?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control.finish()?)?),
        ("data.tar.gz", gzip(&data.finish()?)?),
    ];
    Ok(ar(release.epoch, &members))
}

/// The control file. `size` is the number of bytes that are installed.
fn control_file(release: &Release, architecture: Architecture, size: usize) -> Result<String> {
    let about = files::package()?;
    let description = about["description"].as_str().context("Cargo.toml has no `description`")?;
    // For Debian, `0.1.0-rc.1` would be newer than `0.1.0`.
    let version = release.version.replace('-', "~");
    let (architecture, kilobytes, homepage) = (architecture.short(), size.div_ceil(1024), files::repository()?);
    let mut text = String::new();
    writeln!(text, "Package: roster\nVersion: {version}\nArchitecture: {architecture}")?;
    writeln!(text, "Maintainer: the developers of Roster\nHomepage: {homepage}")?;
    writeln!(text, "Section: admin\nPriority: optional\nInstalled-Size: {kilobytes}")?;
    writeln!(text, "Description: Kubernetes' endpoints controllers as a program\n {description}.")?;
    Ok(text)
}

/// An archive of `ar`.
fn ar(epoch: u64, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        // Name, time, user, group, mode and size have fixed widths.
        let header = format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len());
        archive.extend(header.into_bytes());
        archive.extend(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_begin_at_even_places() {
        let archive = ar(7, &[("a", b"x".to_vec()), ("b", b"yz".to_vec())]);
        let header = |name: &str, size: usize| {
            format!("{name}               7           0     0     100644  {size}         `\n")
        };
        let want = format!("!<arch>\n{}x\n{}yz", header("a", 1), header("b", 2));
        assert_eq!(String::from_utf8(archive).unwrap(), want);
    }

    #[test]
    fn licences_are_in_one_file_and_pages_are_compressed() {
        let content = |archived: &str, installed: &str| Content {
            archived: archived.to_owned(),
            installed: installed.to_owned(),
            bytes: archived.as_bytes().to_vec(),
        };
        let contents =
            vec![content("LICENSE", "l"), content(licenses::FILE, "t"), content("man/a.1", "m/a.1"), content("x", "x")];
        let installed = installed(contents).unwrap();
        let names: Vec<&str> = installed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["m/a.1.gz", COPYRIGHT, "x"]);
        assert_eq!(installed[1].1, format!("LICENSE\n{}\n", licenses::FILE).into_bytes());
    }
}
