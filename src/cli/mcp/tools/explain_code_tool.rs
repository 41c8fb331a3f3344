//! `explain_code`: what a code means, and what to do.

use roster_engine::{model::spelling::did_you_mean, phrase::clip_name};

use crate::cli::{
    explain::{pages_of, suggestions},
    mcp::{
        answer::Answer,
        arguments::ToolArguments,
        tool::{Tool, ToolError},
    },
};

pub(super) static TOOL: Tool = Tool {
    name: "explain_code",
    title: "Explain a reason or rule code",
    description: "What a code of an answer means (such as not-ready, selector-matches-nothing, backend-service-missing), what to do \
                  about it, and for rules an example. As `roster explain CODE`.",
    arguments: &[("code", true)],
    call,
};

/// Columns of the page.
const WIDTH: usize = 100;

fn call(arguments: &ToolArguments<'_>) -> Result<Answer, ToolError> {
    let code = arguments.required_text("code")?;
    let Some(pages) = pages_of(&[code.trim().to_owned()]) else {
        let meant = did_you_mean(&suggestions(&code));
        return Err(ToolError::at("code", format!("there is no code {}{meant}", clip_name(&code))));
    };
    let mut answer = Answer::default();
    for page in pages {
        let mut text = Vec::new();
        if page.write(&mut text, Some(WIDTH)).is_ok() {
            let text = String::from_utf8_lossy(&text);
            anstream::adapter::strip_str(&text).to_string().lines().for_each(|line| {
                answer.line(line);
            });
        }
    }
    Ok(answer)
}
