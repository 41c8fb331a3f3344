//! `roster mcp`: Roster's questions as tools of agents, over the Model Context Protocol.
//!
//! ```text
//! standard input ─ LineReader ─► Message ─► McpSession ─► ToolArguments ─► tools/* ─► Answer ─► standard output
//! ```
//!
//! Messages are answered one after the other, in their order. A tool only reads what its arguments contain.

mod answer;
mod arguments;
mod cluster_status;
mod explained_service;
mod known_objects;
mod line_reader;
mod local_traffic;
mod message;
mod object_changes;
mod protocol_version;
mod session;
mod suspects;
mod token_estimate;
mod tool;
mod tools;
mod undecided;

use std::io;

use clap::Args;

use super::{help_end::help_end, outcome::Outcome};
use session::McpSession;

/// Answer an agent's questions about manifests, over the Model Context Protocol.
///
/// An agent (Claude Code, an editor) starts the command and speaks with it over standard input and output: JSON-RPC 2.0,
/// one message a line. The tools explain, `plan_after`, review, lint and `explain_code` answer what the commands of these
/// names print, in at most 1500 tokens, the cause first. They read the objects that the agent passes, and nothing else: no
/// file, no cluster, no network. They propose, and never write. `docs/tasks/agents.md` says how to add the command to an agent.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 the input ended, 2 usage error, or the input cannot be read.",
    "roster mcp                                # an agent starts it so",
    "cat requests.jsonl | roster mcp           # answer recorded requests",
))]
pub(super) struct McpArgs {}

impl McpArgs {
    #[expect(clippy::unused_self, reason = "each command has its arguments")]
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        McpSession::default().serve(io::stdin().lock(), io::stdout().lock())?;
        Ok(Outcome::Success)
    }
}
