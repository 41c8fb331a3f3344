//! The two text formats of metrics, and which of them a scraper asks for.
//!
//! Prometheus prefers `OpenMetrics`. Everything else (curl, promtool, agents) gets the format that Kubernetes' own programs write.

use std::fmt::Write;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
}

impl MetricsFormat {
    /// The format that a scraper asks for: `OpenMetrics` if it names it, and likes it as much as plain text.
    pub fn accepted(request: &HeaderMap) -> Self {
        let (mut open, mut plain) = (0.0, 0.0);
        let values = request.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let (media_type, mut quality, mut is_known) = (parts.next().unwrap_or_default(), 1.0_f32, true);
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                match key {
                    "q" => quality = value.parse().unwrap_or(0.0),
                    "version" => is_known = matches!(value, "0.0.1" | "1.0.0" | "0.0.4"),
                    _ => {}
                }
            }
            let best = match media_type {
                "application/openmetrics-text" => &mut open,
                "text/plain" => &mut plain,
                _ => continue,
            };
            if is_known {
                *best = quality.max(*best);
            }
        }
        if open > 0.0 && open >= plain { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The media type of a text in this format.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The headers of a response.
    pub(super) fn headers(self) -> [(HeaderName, HeaderValue); 2] {
        let content_type = HeaderValue::from_static(self.content_type());
        [(header::CONTENT_TYPE, content_type), (header::VARY, HeaderValue::from_static("accept"))]
    }
}

/// The same metrics in the format of Prometheus. There, the type of a counter belongs to the name that its value has, with
/// `_total`; it knows no info, and has another word for an unknown type.
pub(super) fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + open_metrics.len() / 32);
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(of_metric) = line.strip_prefix("# HELP ") {
            help = of_metric;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            let help = help.strip_prefix(name).unwrap_or_default();
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name}{suffix}{help}\n# TYPE {name}{suffix} {kind}");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrapers_get_the_format_that_they_ask_for() {
        let prometheus_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                            text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                            application/openmetrics-text;version=0.0.1;q=0.5,\
                            text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let of_old = "text/plain;version=0.0.4;q=1,*/*;q=0.1";
        let firefox = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (accept, want) in [
            (&[prometheus_2][..], MetricsFormat::OpenMetrics),
            (&[prometheus_3], MetricsFormat::OpenMetrics),
            (&["application/openmetrics-text"], MetricsFormat::OpenMetrics),
            (&["text/plain; q=0.5", "application/openmetrics-text; version=1.0.0; q=0.5"], MetricsFormat::OpenMetrics),
            (
                &["application/openmetrics-text;version=1.0.0;q=0.1, text/plain;version=0.0.4"],
                MetricsFormat::Prometheus,
            ),
            (&["application/openmetrics-text;q=0"], MetricsFormat::Prometheus),
            (&["application/openmetrics-text;version=2.0.0"], MetricsFormat::Prometheus),
            (&[of_old], MetricsFormat::Prometheus),
            (&[firefox], MetricsFormat::Prometheus),
            (&["*/*"], MetricsFormat::Prometheus),
            (&[], MetricsFormat::Prometheus),
        ] {
            let headers = accept.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value))).collect();
            assert_eq!(MetricsFormat::accepted(&headers), want, "{accept:?}");
        }
    }

    #[test]
    fn types_belong_to_the_names_of_values() {
        for (open_metrics, want) in [
            (
                "# HELP a Of a.\n# TYPE a counter\na_total{b=\"# HELP c\"} 1\n# EOF\n",
                "# HELP a_total Of a.\n# TYPE a_total counter\na_total{b=\"# HELP c\"} 1\n",
            ),
            (
                "# HELP a_bytes B.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\na_bytes_total 1\n# EOF\n",
                "# HELP a_bytes_total B.\n# TYPE a_bytes_total counter\na_bytes_total 1\n",
            ),
            (
                "# HELP a A.\n# TYPE a info\na_info{v=\"1\"} 1\n# EOF\n",
                "# HELP a_info A.\n# TYPE a_info gauge\na_info{v=\"1\"} 1\n",
            ),
            ("# HELP a A.\n# TYPE a unknown\na 1\n", "# HELP a A.\n# TYPE a untyped\na 1\n"),
            (
                "# HELP a A.\n# TYPE a histogram\na_sum 1.0\na_count 1\na_bucket{le=\"+Inf\"} 1\n",
                "# HELP a A.\n# TYPE a histogram\na_sum 1.0\na_count 1\na_bucket{le=\"+Inf\"} 1\n",
            ),
            ("# EOF\n", ""),
        ] {
            assert_eq!(prometheus_text(open_metrics), want);
        }
    }
}
