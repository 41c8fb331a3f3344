//! The JSON and YAML of `roster explain`.

use super::{
    explainer::Explainer,
    served_totals::{ServedTotals, needs_attention},
};
use crate::{
    cli::output::{ItemWriter, Output, OutputFormat},
    inventory::whole,
};

/// Writes every explanation as soon as it is known. Returns whether there is a warning or an error.
pub(super) fn print(explainer: &Explainer<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let mut items = ItemWriter::start(out, format)?;
    let (mut totals, mut attention) = (ServedTotals::default(), false);
    explainer.each(
        |_, explanation| {
            let text = ItemWriter::item(format, &explanation);
            text.map(|text| (text, ServedTotals::of(&explanation), needs_attention(&explanation)))
        },
        |item| {
            let (text, part, finding) = item?;
            totals.add(part);
            attention |= finding;
            items.write(&text)
        },
    )?;
    items.end(&whole::last_line(&totals, explainer.index.problems()))?;
    Ok(attention)
}
