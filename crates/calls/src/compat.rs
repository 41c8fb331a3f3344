//! The releases that Roster can follow, and their differences.

use roster_engine::profile::{self, Difference, Minor, Profile};
use serde::Serialize;

use crate::{Answer, Params, PreparedCall, Problem};

/// The releases. With a release in the query, their differences: it was meant for them.
pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[&["from", "to"]])?;
    if params.from.is_some() || params.to.is_some() {
        return Ok(between(&params));
    }
    Ok(PreparedCall::new(|_| {
        let items = Minor::all().map(|minor| Release { minor, profile: minor.profile() }).collect();
        Answer::json(&All { default: Minor::default(), items })
    }))
}

pub(crate) fn prepare_differences(query: &str) -> Result<PreparedCall, Problem> {
    Ok(between(&Params::read(query, &[&["from", "to"]])?))
}

fn between(params: &Params) -> PreparedCall {
    let (from, to) = (params.from.unwrap_or_default(), params.to.unwrap_or_default());
    PreparedCall::new(move |_| Answer::json(&Between { from, to, differences: profile::differences(from, to) }))
}

#[derive(Serialize)]
struct All {
    default: Minor,
    items: Vec<Release>,
}

#[derive(Serialize)]
struct Release {
    minor: Minor,
    profile: &'static Profile,
}

#[derive(Serialize)]
struct Between {
    from: Minor,
    to: Minor,
    differences: Vec<Difference>,
}
