//! The way from routes to the pods of a Service, with what does not serve it in place.

use roster_engine::{picture::SvgOptions, state::Controller};

use crate::{
    Answer, Params, PreparedCall, Problem, input,
    params::{OPTION_PARAMS, PictureFormat, WRITE_PARAMS},
};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[&["service"], OPTION_PARAMS, WRITE_PARAMS, &["format"]])?;
    Ok(PreparedCall::new(move |posted| {
        input::answer(posted, &params, |input| {
            let (explanation, others) = input.explain()?;
            let plan = input.plan(&Controller::ALL, &input.options)?;
            let picture = input.picture(&plan, &explanation);
            let answer = match params.format.unwrap_or_default() {
                PictureFormat::Json => Answer::json(&picture)?,
                PictureFormat::Svg => Answer::svg(picture.svg(&SvgOptions::default())),
            };
            Ok(answer.with_problems(others.len()))
        })
    }))
}
