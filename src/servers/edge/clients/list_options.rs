//! The query of a read: `metav1.ListOptions`, as an API server reads it.

use std::time::Duration;

use axum::{
    extract::Query,
    http::{StatusCode, Uri},
};

use crate::runtime::status_error::StatusError;
use crate::servers::edge::cache::selection::{FieldTest, Selection};

/// The longest time of a watch.
const LONGEST_WATCH: Duration = Duration::from_hours(24);

/// The query of a list, a watch or a get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListOptions {
    pub(super) is_watch: bool,
    /// Conditions on fields and labels; not on the namespace, which is in the path.
    pub(crate) selection: Selection,
    pub(crate) version: RequestedVersion,
    pub(super) version_match: Option<VersionMatch>,
    pub(super) sends_initial_events: Option<bool>,
    pub(super) allows_bookmarks: bool,
    /// How long the watch may last. `None`: the server decides.
    pub(crate) timeout: Option<Duration>,
}

/// `resourceVersion` of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestedVersion {
    /// The current one.
    #[default]
    Unset,
    /// `0`: any.
    Any,
    At(u64),
}

/// `resourceVersionMatch` of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// What a watch sends before the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchStart {
    /// Nothing; the events after this version.
    After(u64),
    /// Nothing; the events from now on.
    Now,
    /// The objects as they are. `None`: of any version; otherwise none older than this one.
    Objects { not_older_than: Option<u64>, ends_with_bookmark: bool },
}

impl ListOptions {
    /// Reads the query of a request.
    pub(crate) fn read(uri: &Uri) -> Result<Self, StatusError> {
        let Query(pairs) =
            Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| bad("the query cannot be read"))?;
        let mut options = Self::default();
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]).and_then(<[_]>::first) {
            return Err(bad(format!("the query has {twice:.80} more than once")));
        }
        for (name, value) in &pairs {
            options.set(name, value)?;
        }
        options.check()?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), StatusError> {
        match name {
            "watch" => self.is_watch = is_true(value),
            "allowWatchBookmarks" => self.allows_bookmarks = is_true(value),
            "sendInitialEvents" => self.sends_initial_events = Some(is_true(value)),
            "labelSelector" => self.selection.labels = value.parse().map_err(|e| bad(format!("labelSelector: {e}")))?,
            "fieldSelector" => self.selection.fields = FieldTest::read_all(value).map_err(bad)?,
            "resourceVersion" => self.version = RequestedVersion::read(value)?,
            "resourceVersionMatch" => {
                self.version_match = match value {
                    "" => None,
                    "Exact" => Some(VersionMatch::Exact),
                    "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                    _ => return Err(invalid("resourceVersionMatch: supported values: Exact, NotOlderThan")),
                }
            }
            "timeoutSeconds" => {
                let seconds: i64 = value.parse().map_err(|_| bad("timeoutSeconds is not a whole number"))?;
                let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
                self.timeout = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WATCH));
            }
            // Lists are never cut, so that no token is given out; one of the API server means a list that began there.
            "continue" if !value.is_empty() => return Err(expired("the continue token is not of this server")),
            // `limit`, `pretty`, `timeout`: a whole list is what a watch cache returns.
            _ => {}
        }
        Ok(())
    }

    /// Checks what fits together, as an API server does.
    fn check(&self) -> Result<(), StatusError> {
        match (self.version_match, self.is_watch, self.sends_initial_events) {
            (_, false, Some(_)) => Err(invalid("sendInitialEvents: forbidden for list")),
            (None, true, Some(_)) => Err(invalid(
                "resourceVersionMatch: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (Some(VersionMatch::Exact), true, _) => {
                Err(invalid("resourceVersionMatch: only NotOlderThan is supported for watch"))
            }
            (Some(_), true, None) => {
                Err(invalid("resourceVersionMatch: forbidden for watch unless sendInitialEvents is provided"))
            }
            (Some(_), false, None) if self.version == RequestedVersion::Unset => {
                Err(invalid("resourceVersionMatch: forbidden unless resourceVersion is provided"))
            }
            (Some(VersionMatch::Exact), false, None) if self.version == RequestedVersion::Any => {
                Err(invalid("resourceVersionMatch: Exact is forbidden for resourceVersion 0"))
            }
            _ => Ok(()),
        }
    }

    /// How a watch begins.
    pub(super) fn watch_start(&self) -> WatchStart {
        let not_older_than = match self.version {
            RequestedVersion::At(version) => Some(version),
            RequestedVersion::Unset | RequestedVersion::Any => None,
        };
        match (self.sends_initial_events, not_older_than) {
            (Some(true), _) => WatchStart::Objects { not_older_than, ends_with_bookmark: self.allows_bookmarks },
            (_, Some(version)) => WatchStart::After(version),
            (Some(false), None) => WatchStart::Now,
            (None, None) => WatchStart::Objects { not_older_than: None, ends_with_bookmark: false },
        }
    }

    /// Checks the version of a list against the current one.
    pub(super) fn check_list_version(&self, now: u64) -> Result<(), StatusError> {
        match (self.version, self.version_match) {
            (RequestedVersion::At(version), Some(VersionMatch::Exact)) if version != now => {
                Err(expired(format!("the list of resourceVersion {version} is not remembered")))
            }
            (RequestedVersion::At(version), _) if version > now => Err(too_large(version, now)),
            _ => Ok(()),
        }
    }
}

impl RequestedVersion {
    fn read(text: &str) -> Result<Self, StatusError> {
        match text {
            "" => Ok(Self::Unset),
            "0" => Ok(Self::Any),
            _ => {
                let is_number = text.bytes().all(|b| b.is_ascii_digit());
                let version = text.parse().ok().filter(|_| is_number);
                version.map(Self::At).ok_or_else(|| bad(format!("invalid resourceVersion: {text:.40}")))
            }
        }
    }
}

/// Any value but these is true, also none.
fn is_true(value: &str) -> bool {
    !(value == "0" || value.eq_ignore_ascii_case("false"))
}

pub(crate) fn bad(message: impl Into<String>) -> StatusError {
    StatusError::new(StatusCode::BAD_REQUEST, "BadRequest", message)
}

fn invalid(message: impl Into<String>) -> StatusError {
    StatusError::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
}

/// The client must list again.
pub(crate) fn expired(message: impl Into<String>) -> StatusError {
    StatusError::new(StatusCode::GONE, "Expired", message)
}

/// A version that was never served: of the API server, or of a state that was lost.
pub(super) fn too_large(version: u64, now: u64) -> StatusError {
    expired(format!("resourceVersion {version} is greater than the current one, {now}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ListOptions, (u16, String)> {
        let uri = format!("/api/v1/services?{query}").parse().map_err(|_| (0, query.to_owned()))?;
        ListOptions::read(&uri).map_err(|e| (e.code.as_u16(), e.message))
    }

    #[test]
    fn a15_p7_only_a_true_watch_is_one() {
        for (query, want) in [
            ("", false),
            ("watch=false", false),
            ("watch=False", false),
            ("watch=0", false),
            ("watch=true", true),
            ("watch=1", true),
            ("watch", true),
            ("watch=", true),
            ("%77atch=true", true),
            ("timeout=5s", false),
        ] {
            assert_eq!(read(query).map(|options| options.is_watch), Ok(want), "{query}");
        }
    }

    #[test]
    fn a15_p8_a_watch_lasts_as_long_as_it_says() {
        for (query, want) in [
            ("timeoutSeconds=7", Ok(Some(7))),
            ("timeoutSeconds=0", Ok(None)),
            ("timeoutSeconds=-1", Ok(None)),
            ("timeoutSeconds=99999999999", Ok(Some(86400))),
            ("timeoutSeconds=x", Err((400, "timeoutSeconds is not a whole number".to_owned()))),
        ] {
            assert_eq!(read(query).map(|options| options.timeout.map(|t| t.as_secs())), want, "{query}");
        }
    }

    #[test]
    fn a15_p4_a_watch_begins_as_its_query_says() {
        let objects = |not_older_than, ends_with_bookmark| WatchStart::Objects { not_older_than, ends_with_bookmark };
        for (query, want) in [
            ("watch=1", objects(None, false)),
            ("watch=1&resourceVersion=0", objects(None, false)),
            ("watch=1&resourceVersion=7", WatchStart::After(7)),
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", objects(None, false)),
            (
                "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                objects(None, true),
            ),
            (
                "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=7&allowWatchBookmarks=1",
                objects(Some(7), true),
            ),
            ("watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", WatchStart::Now),
        ] {
            assert_eq!(read(query).map(|options| options.watch_start()), Ok(want), "{query}");
        }
    }

    #[test]
    fn queries_that_do_not_fit_together_are_refused() {
        for (query, code) in [
            ("sendInitialEvents=true", 422),
            ("watch=1&sendInitialEvents=true", 422),
            ("watch=1&resourceVersionMatch=NotOlderThan", 422),
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", 422),
            ("resourceVersionMatch=Exact", 422),
            ("resourceVersionMatch=Exact&resourceVersion=0", 422),
            ("resourceVersionMatch=Newest&resourceVersion=1", 422),
            ("resourceVersion=abc", 400),
            ("resourceVersion=-1", 400),
            ("resourceVersion=+1", 400),
            ("resourceVersion=99999999999999999999", 400),
            ("labelSelector=a%3Eb", 400),
            ("fieldSelector=spec.externalName=a", 400),
            ("fieldSelector=metadata.name", 400),
            ("watch=true&watch=false", 400),
            ("continue=abc", 410),
        ] {
            assert_eq!(read(query).map(|_| ()).map_err(|(code, _)| code), Err(code), "{query}");
        }
    }

    #[test]
    fn a_list_is_of_the_version_that_is_asked_for() {
        for (query, want) in [
            ("", Ok(())),
            ("limit=500&resourceVersion=0", Ok(())),
            ("resourceVersion=9", Ok(())),
            ("resourceVersion=10&resourceVersionMatch=Exact", Ok(())),
            ("resourceVersion=9&resourceVersionMatch=NotOlderThan", Ok(())),
            ("resourceVersion=9&resourceVersionMatch=Exact", Err(410)),
            ("resourceVersion=11", Err(410)),
        ] {
            let checked = read(query).unwrap().check_list_version(10);
            assert_eq!(checked.map_err(|e| e.code.as_u16()), want, "{query}");
        }
    }
}
