//! What the page shows of a state.

use roster_manifests::decode::{InputFormat, Source};
use roster_page::{MAX_OBJECT, MAX_YAML, PageFault};

use crate::{Answer, Format, Params, PostedBody, PreparedCall, Problem, ProblemKind, input};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    Params::read(query, &[])?;
    Ok(PreparedCall::new(of_body))
}

fn of_body(posted: &PostedBody<'_>) -> Result<Answer, Problem> {
    if posted.format != Format::Json {
        return Err(Problem::new(ProblemKind::MediaType, "send application/json"));
    }
    let (text, source) = input::text(posted)?;
    // The objects once more without the escapes of JSON; and those of YAML as JSON, with quotes around each letter. The object that
    // is reviewed may be YAML as well.
    posted.charge(text.len() + 2 * text.len().min(MAX_YAML + MAX_OBJECT))?;
    let source = Source { format: InputFormat::Auto, max_yaml_bytes: MAX_YAML, ..source };
    Answer::json(&roster_page::answer(text, &source).map_err(problem)?)
}

fn problem(fault: PageFault) -> Problem {
    let kind = match fault {
        PageFault::Objects(error) => return input::decode_error(&error),
        PageFault::Interrupted(why) => return why.into(),
        PageFault::Request(_) | PageFault::Empty | PageFault::NotObjects => ProblemKind::MalformedBody,
        PageFault::NoExample(_) | PageFault::NoService => ProblemKind::InvalidObject,
        PageFault::ObjectTooLong | PageFault::TooManyChanges(_) => ProblemKind::TooLarge,
    };
    Problem::new(kind, fault.to_string())
}
