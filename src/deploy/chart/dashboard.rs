//! The dashboard of Grafana.

use serde_json::{Value, json};

/// A panel: its title, the unit of its axis, and each curve with its legend.
struct Panel {
    title: &'static str,
    unit: &'static str,
    curves: &'static [(&'static str, &'static str)],
}

/// A row of panels.
const ROWS: &[(&str, &[Panel])] = &[
    (
        "Webhook",
        &[
            Panel {
                title: "Reviews",
                unit: "reqps",
                curves: &[(
                    "{{kind}} {{operation}} allowed={{allowed}}",
                    "sum by (kind, operation, allowed) (rate(roster_admission_decisions_total[$__rate_interval]))",
                )],
            },
            Panel {
                title: "Time to a decision",
                unit: "s",
                curves: &[
                    (
                        "p50",
                        "histogram_quantile(0.5, sum by (le) (rate(roster_admission_duration_seconds_bucket[$__rate_interval])))",
                    ),
                    (
                        "p99",
                        "histogram_quantile(0.99, sum by (le) (rate(roster_admission_duration_seconds_bucket[$__rate_interval])))",
                    ),
                ],
            },
            Panel {
                title: "Findings",
                unit: "short",
                curves: &[(
                    "{{rule}} ({{mode}})",
                    "sum by (rule, mode) (increase(roster_admission_findings_total[$__rate_interval]))",
                )],
            },
            Panel {
                title: "Reviews answered unchecked",
                unit: "reqps",
                curves: &[("{{reason}}", "sum by (reason) (rate(roster_admission_shed_total[$__rate_interval]))")],
            },
            Panel {
                title: "Certificate expires in",
                unit: "s",
                curves: &[("{{pod}}", "roster_certificate_expiration_seconds")],
            },
            Panel {
                title: "Evicted and refused",
                unit: "reqps",
                curves: &[
                    (
                        "evicted: {{listener}} {{resource}}",
                        "sum by (listener, resource) (rate(roster_evictions_total[$__rate_interval]))",
                    ),
                    (
                        "refused: {{listener}} {{resource}}",
                        "sum by (listener, resource) (rate(roster_refusals_total[$__rate_interval]))",
                    ),
                ],
            },
        ],
    ),
    (
        "Controller",
        &[
            Panel {
                title: "From a change to its last write",
                unit: "s",
                curves: &[
                    (
                        "p50 {{origin}}",
                        "histogram_quantile(0.5, sum by (le, origin) (rate(roster_controller_programming_duration_seconds_bucket[$__rate_interval])))",
                    ),
                    (
                        "p99 {{origin}}",
                        "histogram_quantile(0.99, sum by (le, origin) (rate(roster_controller_programming_duration_seconds_bucket[$__rate_interval])))",
                    ),
                ],
            },
            Panel {
                title: "Services that wait",
                unit: "short",
                curves: &[("{{origin}}", "sum by (origin) (roster_controller_queue_depth)")],
            },
            Panel {
                title: "Services in trouble",
                unit: "short",
                curves: &[
                    ("failing", "sum(roster_controller_failing_services)"),
                    ("contested", "sum(roster_controller_contested_services)"),
                ],
            },
            Panel {
                title: "Requests to the API server",
                unit: "reqps",
                curves: &[(
                    "{{method}} {{code}}",
                    "sum by (method, code) (rate(rest_client_requests_total[$__rate_interval]) and on (instance) roster_build_info)",
                )],
            },
        ],
    ),
    (
        "Shadow",
        &[
            Panel {
                title: "Services that differ",
                unit: "short",
                curves: &[("{{class}}", "max by (class) (roster_endpoints_drift_services)")],
            },
            Panel {
                title: "Oldest difference",
                unit: "s",
                curves: &[("{{class}}", "max by (class) (roster_endpoints_drift_seconds)")],
            },
        ],
    ),
    (
        "All servers",
        &[
            Panel { title: "Stale watches", unit: "short", curves: &[("{{pod}} {{kind}}", "roster_cache_stale")] },
            Panel {
                title: "Versions",
                unit: "short",
                curves: &[("{{version}}", "count by (version) (roster_build_info)")],
            },
        ],
    ),
];

/// Columns of the grid, and the size of a panel.
const COLUMNS: usize = 24;
const WIDTH: usize = 12;
const HEIGHT: usize = 8;

/// The dashboard as a file.
pub(super) fn json() -> String {
    let dashboard = json!({
        "title": "Roster",
        "uid": "roster",
        "tags": ["kubernetes", "roster"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [
            { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus" },
        ] },
        "panels": panels(),
    });
    format!("{dashboard:#}\n")
}

fn panels() -> Vec<Value> {
    let (mut all, mut top) = (Vec::new(), 0);
    for (title, panels) in ROWS {
        all.push(json!({
            "id": all.len() + 1, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": { "x": 0, "y": top, "w": COLUMNS, "h": 1 },
        }));
        top += 1;
        for (i, panel) in panels.iter().enumerate() {
            let place =
                json!({ "x": i * WIDTH % COLUMNS, "y": top + i * WIDTH / COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT });
            all.push(panel.json(all.len() + 1, &place));
        }
        top += (panels.len() * WIDTH).div_ceil(COLUMNS) * HEIGHT;
    }
    all
}

impl Panel {
    fn json(&self, id: usize, place: &Value) -> Value {
        let source = json!({ "type": "prometheus", "uid": "${datasource}" });
        let targets: Vec<Value> = self
            .curves
            .iter()
            .zip('A'..)
            .map(|((legend, expression), letter)| {
                json!({ "refId": letter.to_string(), "datasource": source, "expr": expression, "legendFormat": legend })
            })
            .collect();
        json!({
            "id": id,
            "type": "timeseries",
            "title": self.title,
            "gridPos": place,
            "datasource": source,
            "fieldConfig": { "defaults": { "unit": self.unit, "min": 0 }, "overrides": [] },
            "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
            "targets": targets,
        })
    }
}
