//! The build: its version, its commit, its platform.
//!
//! A release sets the variables `ROSTER_COMMIT` and `SOURCE_DATE_EPOCH` for the compiler. Without them, the program does not depend
//! on where and when it was built.

use std::env::consts;
use std::sync::LazyLock;

use jiff::Timestamp;

/// The version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit of a release, in full.
pub(crate) const COMMIT: Option<&str> = option_env!("ROSTER_COMMIT");

/// The time of the commit of a release, in seconds since 1970.
const EPOCH: Option<&str> = option_env!("SOURCE_DATE_EPOCH");

/// The operating system and the architecture, by the names that Kubernetes' programs use: `linux/amd64`.
pub(crate) fn platform() -> String {
    let architecture = match consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let system = if consts::OS == "macos" { "darwin" } else { consts::OS };
    format!("{system}/{architecture}")
}

/// The day of the commit of a release, such as `2026-01-31`.
pub(crate) fn date() -> Option<String> {
    let time = Timestamp::from_second(EPOCH?.parse().ok()?).ok()?;
    Some(time.strftime("%Y-%m-%d").to_string())
}

/// The version, the commit and the platform in one line: `0.1.0 (commit 1234567890ab, linux/amd64)`.
pub(crate) fn long_version() -> &'static str {
    static LINE: LazyLock<String> = LazyLock::new(|| described(COMMIT));
    &LINE
}

fn described(commit: Option<&str>) -> String {
    let origin =
        commit.map_or_else(|| "built from source".to_owned(), |c| format!("commit {}", c.get(..12).unwrap_or(c)));
    format!("{VERSION} ({origin}, {})", platform())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_tells_its_commit() {
        for (commit, want) in [
            (Some("0123456789abcdef0123456789abcdef01234567"), "(commit 0123456789ab, "),
            (Some("01234567"), "(commit 01234567, "),
            (None, "(built from source, "),
        ] {
            let line = described(commit);
            assert_eq!(line, format!("{VERSION} {want}{})", platform()), "{commit:?}");
        }
    }
}
