//! `review`: what the admission webhook would answer about an object.

use roster_engine::model::defaults::DEFAULT_NAMESPACE;
use roster_lint::{InputFile, LintOptions, Manifests, Report, ReviewedObject};
use roster_manifests::decode::{self, Document};

use crate::cli::mcp::{
    answer::{Answer, Fold},
    arguments::ToolArguments,
    known_objects::{as_json, lint_options, source, unreadable},
    tool::{Tool, ToolError},
};

pub(super) static TOOL: Tool = Tool {
    name: "review",
    title: "Review an object as the admission webhook would",
    description: "What Roster's admission webhook would answer about a Service, an Endpoints object or an EndpointSlice: allowed or \
                  denied, why, with which patch and warnings, and whether an API server would store it at all. As `roster review`.",
    arguments: &[("object", true), ("context", false), ("namespace", false), ("user", false)],
    call,
};

/// Most lines of each list.
const LISTED: usize = 20;

fn call(arguments: &ToolArguments<'_>) -> Result<Answer, ToolError> {
    let object = arguments.objects("object")?.ok_or_else(|| ToolError::at("object", "is missing"))?;
    let context = arguments.objects("context")?;
    let namespace = arguments.text("namespace")?.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    let user = arguments.text("user")?.unwrap_or_default();
    let json = as_json(&object, "object")?;
    let context = context.map(|context| as_json(&context, "context").map(std::borrow::Cow::into_owned)).transpose()?;
    let documents = documents(&json, "object")?;
    if documents.len() != 1 {
        let why = format!("has {} objects: pass one, and the others in `context`", documents.len());
        return Err(ToolError::at("object", why));
    }
    let file = InputFile { name: "object", documents, is_apart: true, ..InputFile::default() };
    let stored: Vec<InputFile<'_>> = match &context {
        Some(json) => {
            vec![InputFile { name: "context", documents: self::documents(json, "context")?, ..InputFile::default() }]
        }
        None => Vec::new(),
    };
    let options = LintOptions { user: &user, ..lint_options(&namespace, &stored) };
    let report = roster_lint::review(Manifests::of(vec![file]), &options);
    let report = report.map_err(|error| unreadable("object", &error))?;
    Ok(answer(&report))
}

fn documents<'j>(json: &'j str, argument: &'static str) -> Result<Vec<Document<'j>>, ToolError> {
    let documents = decode::documents(json, &source(DEFAULT_NAMESPACE, false));
    let documents = documents.map_err(|error| unreadable(argument, &error))?;
    Ok(documents.into_iter().map(Document::with_single_keys).collect())
}

fn answer(report: &Report<'_>) -> Answer {
    let mut answer = Answer::default();
    for object in &report.objects {
        write_object(&mut answer, object);
    }
    answer.list("notes:", &report.notes, Fold::after(LISTED, "note"), |note| note.text.clone());
    answer
}

fn write_object(answer: &mut Answer, object: &ReviewedObject<'_>) {
    let Some(review) = &object.answer else {
        answer.line(format!("not reviewed: no rule concerns {}", object.key));
        answer.list("findings:", &object.input_findings, Fold::after(LISTED, "finding"), |finding| finding.described());
        return;
    };
    let word = if review.allowed { "allowed" } else { "denied" };
    let operation = review.operation.map(|operation| format!("{operation:?}").to_lowercase() + " of ");
    answer.line(format!("{word}: {}{}", operation.unwrap_or_default(), object.key));
    if let Some(denied) = &review.decision.denied {
        answer.line(format!("why: {} {}: {}", denied.code, denied.reason, denied.message));
    }
    answer.list(
        "an API server would not store it:",
        &review.refused_by_api_server,
        Fold::after(LISTED, "finding"),
        |finding| format!("{}: {}: {}", finding.code, finding.pointer.as_deref().unwrap_or("/"), finding.message),
    );
    answer.list("findings:", object.answer_findings(), Fold::after(LISTED, "finding"), |finding| {
        format!("{} ({}, {}): {}", finding.code.as_str(), finding.effect.word(), finding.severity, finding.text())
    });
    answer.list("patch:", &review.decision.patch, Fold::after(LISTED, "operation"), |operation| {
        serde_json::to_string(operation).unwrap_or_default()
    });
    answer.list("warnings to the writer:", &review.decision.warnings, Fold::after(LISTED, "warning"), |text| {
        (*text).clone()
    });
    let unchecked = review.decision.unchecked.iter();
    answer.list(
        "not checked:",
        unchecked,
        Fold::after(LISTED, "rule").others("pass the objects in `context`"),
        |(rule, why)| format!("{}: {why}", rule.code()),
    );
}
