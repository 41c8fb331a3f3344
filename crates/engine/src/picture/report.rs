//! Many Services in one HTML file.

use std::fmt::Write as _;

use super::{
    graph::{NodeKind, Picture, PictureState},
    svg::{SHEET, SvgOptions},
};
use crate::{model::ObjectKey, reason::Severity, shown_text::xml_escaped};

/// A Service in the overview of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverviewRow {
    /// The Service.
    pub service: ObjectKey,
    /// How much of it is served, such as `1 of 2`.
    pub served: String,
    /// How bad it is.
    pub severity: Severity,
    /// The codes of what is wrong.
    pub codes: Vec<&'static str>,
    /// What is wrong, in a sentence.
    pub detail: String,
    /// Whether all of it is served.
    is_served: bool,
}

impl OverviewRow {
    /// The row of the Service of a picture; `None` if it is of none.
    pub fn of(picture: &Picture) -> Option<Self> {
        let of_service = picture.nodes.iter().find(|node| node.kind == NodeKind::Service);
        Some(Self {
            service: picture.service.clone()?,
            served: picture.title.clone(),
            severity: picture.severity,
            codes: picture.reasons.iter().map(|reason| reason.code).collect(),
            detail: picture.reasons.first().map(|reason| reason.detail.clone()).unwrap_or_default(),
            is_served: of_service.is_some_and(|node| node.state == PictureState::Served),
        })
    }

    /// Sorts rows: the worst first, then Services of which a part is not served. Others stay in order.
    pub fn sort(rows: &mut [Self]) {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.severity), row.is_served));
    }
}

/// The looks of a report, besides those of its pictures.
const PAGE: &str = include_str!("report.css");

/// A report as one HTML file without scripts: an overview of all Services, and a picture of some.
pub fn report_html(title: &str, summary: &str, overview: &[OverviewRow], pictures: &[Picture]) -> String {
    let (title, summary) = (xml_escaped(title), xml_escaped(summary));
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{PAGE}{SHEET}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p>{summary}</p>\n"
    );
    write_overview(&mut out, overview, pictures);
    for (place, picture) in pictures.iter().enumerate() {
        write_picture(&mut out, place, picture);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn write_overview(out: &mut String, overview: &[OverviewRow], pictures: &[Picture]) {
    out.push_str(
        "<div class=\"wide\" role=\"region\" aria-label=\"Overview\" tabindex=\"0\">\n<table>\n<thead><tr>\
         <th scope=\"col\">Service</th><th scope=\"col\">Served</th><th scope=\"col\">Status</th>\
         <th scope=\"col\">Code</th><th scope=\"col\">Detail</th></tr></thead>\n<tbody>\n",
    );
    let mut places: Vec<(&ObjectKey, usize)> =
        pictures.iter().enumerate().filter_map(|(place, picture)| Some((picture.service.as_ref()?, place))).collect();
    places.sort_unstable();
    for row in overview {
        let name = xml_escaped(&format!("{}/{}", row.service.namespace, row.service.name));
        let place = places.binary_search_by_key(&&row.service, |(key, _)| *key).ok().map(|found| places[found].1);
        let name = place.map_or(name.clone(), |place| format!("<a href=\"#picture-{place}\">{name}</a>"));
        let (class, sign, status) = match row.severity {
            Severity::Info if row.codes.is_empty() => ("served", PictureState::Served.sign(), "ok"),
            Severity::Info => ("", "", "info"),
            Severity::Warning => ("not-served", PictureState::NotServed.sign(), "warning"),
            Severity::Error => ("broken", PictureState::Broken.sign(), "error"),
        };
        let codes: Vec<String> = row.codes.iter().map(|code| xml_escaped(code)).collect();
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td class=\"{class}\">{sign} {status}</td><td>{}</td><td>{}</td></tr>",
            xml_escaped(&row.served),
            codes.join(", "),
            xml_escaped(&row.detail)
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn write_picture(out: &mut String, place: usize, picture: &Picture) {
    let name = picture.service.as_ref().map(|key| format!("{}/{}", key.namespace, key.name)).unwrap_or_default();
    let name = xml_escaped(&name);
    let _ = writeln!(
        out,
        "<section id=\"picture-{place}\" aria-labelledby=\"name-{place}\">\n<h2 id=\"name-{place}\">{name}</h2>\n\
         <div class=\"wide\" role=\"region\" aria-label=\"Picture of {name}\" tabindex=\"0\">"
    );
    out.push_str(&picture.svg(&SvgOptions { embedded: true }));
    out.push_str("</div>\n<ul>\n");
    for reason in &picture.reasons {
        let fix = if reason.fix.is_empty() { String::new() } else { format!(" <em>{}</em>", xml_escaped(reason.fix)) };
        let colon = if reason.detail.is_empty() { "" } else { ": " };
        let (code, detail) = (xml_escaped(reason.code), xml_escaped(&reason.detail));
        let _ = writeln!(out, "<li><code>{code}</code>{colon}{detail}.{fix}</li>");
    }
    out.push_str("</ul>\n</section>\n");
}
