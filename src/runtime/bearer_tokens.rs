//! Bearer tokens (RFC 6750) of a file, which is read again when it changes.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, header};
use subtle::{Choice, ConstantTimeEq};

use super::files::{FileContents, FileError, FileSet};

/// The limit of the file in bytes.
const MAX_FILE: u64 = 64 << 10;

/// The tokens that a client may present: one for each line of a file. Two lines are for the time in which clients change
/// from one token to the next.
pub struct BearerTokens(ArcSwap<Vec<Token>>);

/// One token.
#[derive(PartialEq, Eq)]
struct Token(String);

impl fmt::Debug for BearerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerTokens").field("tokens", &self.0.load().len()).finish()
    }
}

/// Why the tokens of a file cannot be used. It never contains a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// A line is not a token.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The file has no tokens.
    #[error("{}: the file has no token: it must have one on each line, of at least {} characters", .0.display(), BearerTokens::LEAST)]
    Empty(PathBuf),
}

impl BearerTokens {
    /// The least length of a token.
    pub const LEAST: usize = 16;

    /// Loads the tokens of a file, and returns them with the task that loads them again at every change. It never ends.
    /// Later, a file that cannot be used leaves the tokens as they are.
    pub async fn serve(path: &Path) -> Result<(Arc<Self>, impl Future<Output = ()> + Send + use<>), TokenFileError> {
        let file = FileSet::new([path.to_owned()], MAX_FILE);
        let contents = file.read().await?;
        let tokens = Arc::new(Self(ArcSwap::from_pointee(parse(path, &contents)?)));
        let (path, served) = (path.to_owned(), tokens.clone());
        let watch = file.watch(contents, move |read| {
            let parsed = match read {
                Ok(contents) => parse(&path, contents).map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match parsed {
                Ok(all) => {
                    tracing::info!(tokens = all.len(), "token file loaded");
                    served.0.store(Arc::new(all));
                }
                Err(error) => tracing::error!(error, "the token file cannot be used; the previous tokens stay valid"),
            }
        });
        Ok((tokens, watch))
    }

    /// Whether `Authorization` is `Bearer` with one of the tokens.
    pub fn authorize(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, token)) = value.as_bytes().split_at_checked("Bearer".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer") && token.first() == Some(&b' ') && self.contains(token.trim_ascii())
    }

    /// Compares with every token, in a time that depends on lengths only.
    fn contains(&self, token: &[u8]) -> bool {
        let found = self.0.load().iter().fold(Choice::from(0), |found, known| found | known.0.as_bytes().ct_eq(token));
        found.into()
    }
}

/// The tokens of a file, without spaces around them and empty lines.
fn parse(path: &Path, contents: &FileContents) -> Result<Vec<Token>, TokenFileError> {
    let mut tokens = Vec::new();
    for (i, line) in contents.0.concat().split(|b| *b == b'\n').enumerate() {
        let wrong = |why: String| TokenFileError::Line { path: path.to_owned(), line: i + 1, why };
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        // The characters that RFC 6750 allows in a header.
        let token = str::from_utf8(line)
            .ok()
            .filter(|t| t.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b)));
        let token = token.ok_or_else(|| wrong("a token may have letters, digits and -._~+/= only".to_owned()))?;
        if token.len() < BearerTokens::LEAST {
            return Err(wrong(format!("a token must have at least {} characters", BearerTokens::LEAST)));
        }
        tokens.push(Token(token.to_owned()));
    }
    if tokens.is_empty() { Err(TokenFileError::Empty(path.to_owned())) } else { Ok(tokens) }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use tokio::time::sleep;

    use super::*;
    use crate::runtime::files::POLL;

    const FIRST: &str = "0123456789abcdef";
    const SECOND: &str = "A-much.longer_token~of+32/chars=";

    fn authorize(tokens: &BearerTokens, values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        tokens.authorize(&headers)
    }

    fn read(text: &[u8]) -> Result<Vec<Token>, String> {
        parse(Path::new("t"), &FileContents(vec![text.to_vec()])).map_err(|e| e.to_string())
    }

    #[test]
    fn a_token_is_compared_as_a_whole() {
        let all = read(format!("{FIRST}\n\n  {SECOND} \r\n").as_bytes()).unwrap_or_default();
        let tokens = BearerTokens(ArcSwap::from_pointee(all));
        for (values, want) in [
            (&[&*format!("Bearer {FIRST}")][..], true),
            (&[&*format!("bearer  {SECOND} ")], true),
            (&[&*format!("Bearer {FIRST}0")], false),
            (&[&*format!("Bearer {}", &FIRST[..15])], false),
            (&[&*format!("Bearer {FIRST}\t{SECOND}")], false),
            (&[&*format!("Bearer{FIRST}")], false),
            (&[&*format!("Basic {FIRST}")], false),
            (&["Bearer "], false),
            (&["Bearer"], false),
            (&["Bear"], false),
            (&[FIRST], false),
            (&[""], false),
            (&[], false),
            (&[&*format!("Bearer {FIRST}"), &*format!("Bearer {FIRST}")], false),
        ] {
            assert_eq!(authorize(&tokens, values), want, "{values:?}");
        }
        assert!(!format!("{tokens:?}").contains(FIRST), "{tokens:?}");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_without_its_tokens() {
        for (text, want) in [
            (&b""[..], "t: the file has no token: it must have one on each line, of at least 16 characters"),
            (b"\n \n", "t: the file has no token: it must have one on each line, of at least 16 characters"),
            (b"0123456789abcdef\nshort", "t:2: a token must have at least 16 characters"),
            (b"0123456789 abcdef", "t:1: a token may have letters, digits and -._~+/= only"),
            (b"0123456789abcdef\xff", "t:1: a token may have letters, digits and -._~+/= only"),
            ("0123456789abcdeä".as_bytes(), "t:1: a token may have letters, digits and -._~+/= only"),
        ] {
            assert_eq!(read(text).err().as_deref(), Some(want));
        }
    }

    /// Paused time goes on as soon as every task waits.
    #[tokio::test(start_paused = true)]
    async fn a_changed_file_changes_the_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        tokio::fs::write(&path, FIRST).await.unwrap();
        let (tokens, watch) = BearerTokens::serve(&path).await.unwrap();
        tokio::spawn(watch);
        let valid = || [FIRST, SECOND].map(|t| authorize(&tokens, &[&format!("Bearer {t}")]));
        for (name, text, want) in [
            ("both, while clients change", format!("{FIRST}\n{SECOND}\n"), [true, true]),
            ("the second", SECOND.to_owned(), [false, true]),
            ("a short one", "short".to_owned(), [false, true]),
            ("nothing", String::new(), [false, true]),
            ("the first again", FIRST.to_owned(), [true, false]),
        ] {
            tokio::fs::write(&path, &text).await.unwrap();
            sleep(3 * POLL).await;
            assert_eq!(valid(), want, "{name}");
        }
        tokio::fs::remove_file(&path).await.unwrap();
        sleep(3 * POLL).await;
        assert_eq!(valid(), [true, false], "a file that is gone");
    }
}
