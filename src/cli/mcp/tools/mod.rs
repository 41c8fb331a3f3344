//! The tools, each in a file of its own.

mod explain_code_tool;
mod explain_tool;
mod lint_tool;
mod plan_after_tool;
mod review_tool;

use super::tool::Tool;

/// All tools, in the order in which an agent should try them.
pub(super) static TOOLS: [&Tool; 5] =
    [&explain_tool::TOOL, &plan_after_tool::TOOL, &review_tool::TOOL, &lint_tool::TOOL, &explain_code_tool::TOOL];
