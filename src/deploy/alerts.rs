//! The alerts: one table, of which the rules of the chart and the page of runbooks are made.

/// An alert.
#[derive(Debug)]
pub struct Alert {
    /// Its name in Prometheus.
    pub name: &'static str,
    pub(super) part: AlertedServer,
    pub(super) severity: &'static str,
    /// When it holds, in `PromQL`.
    pub expression: &'static str,
    /// How long it must hold.
    pub(super) lasts: &'static str,
    pub(super) summary: &'static str,
    /// What it means for users.
    pub(super) meaning: &'static str,
    /// What to do, in this order.
    pub(super) steps: &'static [&'static str],
}

/// The server that an alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlertedServer {
    /// Several of them.
    Any,
    Webhook,
    Controller,
    Shadow,
}

impl AlertedServer {
    /// The name of its group of rules.
    pub(super) fn group(self) -> &'static str {
        match self {
            Self::Any => "roster",
            Self::Webhook => "roster-webhook",
            Self::Controller => "roster-controller",
            Self::Shadow => "roster-shadow",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Any => "All servers",
            Self::Webhook => "Webhook",
            Self::Controller => "Controller",
            Self::Shadow => "Shadow",
        }
    }
}

impl Alert {
    /// Its section in the page of runbooks.
    pub(super) fn anchor(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

/// The address of the page of runbooks.
pub(super) fn runbooks_url() -> &'static str {
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/reference/runbooks.md")
}

/// All alerts.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "RosterCacheStale",
        part: AlertedServer::Any,
        severity: "warning",
        expression: "max by (kind) (roster_cache_stale) == 1",
        lasts: "5m",
        summary: "A watch of the API server fails",
        meaning: "The webhook skips rules that need these objects, and a controller goes on with what it knew.",
        steps: &[
            "Read the label `kind`: it names the resource. The log has the API server's answer.",
            "On 401 and 403, compare the permissions with this release's manifests.",
            "If `kind` is `endpointpolicies`, look at `/readyz?verbose`: perhaps no replica is ready to convert them.",
        ],
    },
    Alert {
        name: "RosterRefusesClients",
        part: AlertedServer::Any,
        severity: "warning",
        expression: "sum by (listener, resource) (rate(roster_refusals_total[5m])) > 1",
        lasts: "10m",
        summary: "Connections or requests are refused for lack of a resource",
        meaning: "A client asks for far more than a server has. Other clients keep their share.",
        steps: &[
            "Read the labels: they name the listener and the resource. [The webhook](webhook.md#limits) and [the REST \
             API](rest.md#limits) list the limits.",
            "Restrict the clients: set `networkPolicy.enabled`, or `--client-ca-file` for the webhook.",
        ],
    },
    Alert {
        name: "RosterWebhookAbsent",
        part: AlertedServer::Webhook,
        severity: "critical",
        expression: "absent(roster_admission_in_flight)",
        lasts: "5m",
        summary: "No replica of the webhook is scraped",
        meaning: "Writes are not reviewed: API servers admit them (failurePolicy Ignore) or refuse them (Fail).",
        steps: &[
            "If users cannot write Services, run `roster disable`. It sets the failure policies to `Ignore`; `roster enable` \
             restores them.",
            "See if replicas run: `kubectl -n roster-system get deployment,pods -l app.kubernetes.io/name=roster`. If not, \
             `kubectl -n roster-system describe deployment,replicaset,pods -l app.kubernetes.io/name=roster` gives the reason.",
            "If they run, Prometheus does not reach them. Label its namespace `metrics=enabled`, for the network policy.",
        ],
    },
    Alert {
        name: "RosterCaBundleMismatch",
        part: AlertedServer::Webhook,
        severity: "critical",
        expression: "max(roster_ca_bundle_mismatch) == 1",
        lasts: "5m",
        summary: "API servers do not trust the webhook",
        meaning: "A caBundle does not verify the certificate. API servers cannot call the webhook through it.",
        steps: &[
            "If users cannot write Services, run `roster disable`.",
            "Read a replica's log: it names the webhook configuration or the CRD, and the cause.",
            "If Roster issues the certificate, compare its permissions with `manifests/base/rbac.yaml`. Look for a tool with \
             another `caBundle`.",
            "If cert-manager issues it, read the log of the CA injector. If you issue it, set \
             `webhook.certificates.caBundle` to the Secret's CA.",
        ],
    },
    Alert {
        name: "RosterCertificateExpires",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "min(roster_certificate_expiration_seconds) < 7 * 86400",
        lasts: "10m",
        summary: "The certificate of the webhook expires within a week",
        meaning: "After that, API servers cannot call the webhook. Roster renews its own certificates 30 days earlier.",
        steps: &[
            "If Roster issues it, find the holder of the Lease `roster-certificates`. Its log has the cause.",
            "If cert-manager issues it, see `kubectl -n roster-system describe certificate roster-webhook`.",
            "If you issue it, put a new certificate into the Secret. Roster loads it within two minutes.",
        ],
    },
    Alert {
        name: "RosterTlsUntrusted",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "sum(increase(roster_tls_handshake_errors_total{reason=\"untrusted\"}[10m])) > 0",
        lasts: "10m",
        summary: "A client refuses the certificate of the webhook",
        meaning: "An API server has another CA than the certificate, so it gets no answer.",
        steps: &[
            "If users cannot write Services, run `roster disable`.",
            "Read the log. On `reading caBundles: 403`, compare the role with `manifests/base/rbac.yaml`. Until the role is \
             right, the check `ca-bundle` and its metric keep their last answer.",
            "Look at the check `ca-bundle` in [`/readyz?verbose`](#look-inside). If it fails, go to \
             [RosterCaBundleMismatch](#rostercabundlemismatch).",
            "If all are right, look for an API server with configurations in files (`/etc/kubernetes/admission`). They \
             have their own `caBundle`.",
        ],
    },
    Alert {
        name: "RosterReviewsUnchecked",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "sum(rate(roster_admission_shed_total[5m])) > 0",
        lasts: "10m",
        summary: "Reviews are answered without being checked",
        meaning: "The failure policy has decided some writes, and not a rule.",
        steps: &[
            "Read the label `reason`. On `late` and `busy`, raise `webhook.replicas` or the CPU request.",
            "On `budget`, look for the object in the log. It is too large for a review's budget.",
            "On `unreadable` and `bug`, report it with the line from the log.",
        ],
    },
    Alert {
        name: "RosterReviewsSlow",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "histogram_quantile(0.99, sum by (le) (rate(roster_admission_duration_seconds_bucket[5m]))) > 1",
        lasts: "10m",
        summary: "One in a hundred reviews takes longer than a second",
        meaning: "Writes of users wait. API servers give up after 2 s for a Service, and after 5 s for Endpoints and slices.",
        steps: &[
            "See if the replicas lack CPU: `kubectl top pods -n roster-system`. Raise `webhook.replicas` or the request.",
            "See if one client sends far more than others: `roster_admission_in_flight` and `roster_evictions_total`. \
             [The webhook](webhook.md#limits) lists the limits.",
        ],
    },
    Alert {
        name: "RosterControllerNoLeader",
        part: AlertedServer::Controller,
        severity: "critical",
        // A pod may be scraped twice, and a Prometheus may see several clusters.
        expression: "max by (cluster) (leader_election_master_status{name=\"roster-controller\"}) == 0 \
                     or absent(leader_election_master_status{name=\"roster-controller\"})",
        lasts: "1m",
        summary: "No replica of the controller writes",
        meaning: "Endpoints do not change any more. Traffic goes to ended pods.",
        steps: &[
            "Find the holder and its last renewal: `kubectl -n roster-system get lease roster-controller -o yaml`.",
            "See if the API server refuses the Lease: `/readyz` of each replica.",
            "If you cannot repair it soon, [switch \
             back](../tasks/built-in-controllers.md#switch-back-in-an-emergency).",
        ],
    },
    Alert {
        name: "RosterControllerSlow",
        part: AlertedServer::Controller,
        severity: "warning",
        expression: "histogram_quantile(0.99, sum by (le) \
                     (rate(roster_controller_programming_duration_seconds_bucket{origin=\"pods\"}[5m]))) > 5",
        lasts: "10m",
        summary: "Changes of pods reach endpoints late",
        meaning: "Pods become ready, and traffic reaches them more than five seconds later.",
        steps: &[
            "See if the API server answers 429 or 5xx: `rest_client_requests_total` by `code`.",
            "If it does not, `--kube-api-qps` may be too low, or the replica lacks CPU.",
        ],
    },
    Alert {
        name: "RosterControllerBacklog",
        part: AlertedServer::Controller,
        severity: "warning",
        expression: "sum(roster_controller_queue_depth) > 100",
        lasts: "5m",
        summary: "Many Services wait for a sync",
        meaning: "There are more changes than writes. Endpoints follow their pods late.",
        steps: &[
            "Go through the steps for [RosterControllerSlow](#rostercontrollerslow).",
            "If one Service changes all the time, `/debug/services/NAMESPACE/NAME` names the change.",
        ],
    },
    Alert {
        name: "RosterControllerFailing",
        part: AlertedServer::Controller,
        severity: "warning",
        expression: "sum(roster_controller_failing_services) > 0",
        lasts: "5m",
        summary: "The sync of a Service fails again and again",
        meaning: "A webhook, a quota or RBAC refuses a write. The endpoints of this Service do not change.",
        steps: &[
            "Find the Service in the log of the leading pod. It has the API server's answer.",
            "Compare with `lastSync` in `/debug/services/NAMESPACE/NAME`. On 403 from RBAC, compare the role with \
             `manifests/controller/rbac.yaml`. Otherwise the answer names the webhook or the quota.",
        ],
    },
    Alert {
        name: "RosterControllerStuck",
        part: AlertedServer::Controller,
        severity: "warning",
        // kube-controller-manager has the metric, too.
        expression: "max(workqueue_longest_running_processor_seconds and on (instance) roster_controller_failing_services) > 60",
        lasts: "1m",
        summary: "A sync does not end",
        meaning: "A Service is not synced any more, and one worker is missing. Each request of a sync ends after 10 s.",
        steps: &[
            "Keep the log and the answer of `/debug/services/NAMESPACE/NAME` (`runningFor`), and report both.",
            "Delete the leading pod. The other replica writes within a second.",
        ],
    },
    Alert {
        name: "RosterControllerContested",
        part: AlertedServer::Controller,
        severity: "warning",
        expression: "sum(roster_controller_contested_services) > 0",
        lasts: "5m",
        summary: "Another program changes the controller's objects",
        meaning: "The controller leaves these Services alone for some minutes at a time.",
        steps: &[
            "See if kube-controller-manager's controllers still run. Never run both at once.",
            "Find the other program in the slices' `managedFields`.",
        ],
    },
    Alert {
        name: "RosterEndpointsDrift",
        part: AlertedServer::Shadow,
        severity: "warning",
        expression: "max by (class) (roster_endpoints_drift_seconds{class!~\"slow|unsettled\"}) > 60",
        lasts: "1m",
        summary: "Endpoints are not as they should be",
        meaning: "Clients get wrong addresses, or miss right ones.",
        steps: &[
            "Run `kubectl -n roster-system port-forward deployment/roster-shadow 10270:8081`. List the Services in another \
             terminal: `roster drift`.",
            "Look up each class: [what the classes mean](../tasks/built-in-controllers.md#what-the-classes-mean).",
            "Restart kube-controller-manager, which syncs every Service. Or let `shadow-healing` correct them.",
        ],
    },
    Alert {
        name: "RosterHealingContested",
        part: AlertedServer::Shadow,
        severity: "warning",
        expression: "sum(roster_endpoints_drift_contested_services) > 0",
        lasts: "5m",
        summary: "Someone undoes what the shadow heals",
        meaning: "A Service was healed three times within ten minutes. It is left alone for ten minutes.",
        steps: &["Find the Service with `roster drift`, and the other program in its slices' `managedFields`."],
    },
    Alert {
        name: "RosterHealingFails",
        part: AlertedServer::Shadow,
        severity: "warning",
        expression: "sum(increase(roster_endpoints_drift_heal_failures_total[10m])) > 0",
        lasts: "10m",
        summary: "The API server refuses the shadow's writes",
        meaning: "Endpoints stay wrong although the shadow may heal them.",
        steps: &["Read the answer in the log. On 403, compare the role with `manifests/overlays/shadow-healing`."],
    },
];

/// `docs/reference/runbooks.md`.
pub fn runbooks() -> String {
    let mut out =
        "# Runbooks\n\n<!-- Generated by `cargo xtask docs` from src/deploy/alerts.rs: do not edit. -->\n\nFind your alert here: \
         its meaning, and the steps for you to take. The commands assume the namespace `roster-system`. \
         [Alerts](../tasks/alerts.md) switches them on.\n\n## Look inside\n\n\
         The steps send you to logs and checks. You read them with these commands:\n\n\
         | you want | command |\n|---|---|\n\
         | the logs of all replicas | `kubectl -n roster-system logs -l app.kubernetes.io/part-of=roster --prefix --tail=100` |\n\
         | a port of a pod | `kubectl -n roster-system port-forward pod/NAME 8081`; it runs until you end it |\n\
         | the checks of this pod | `curl 'http://127.0.0.1:8081/readyz?verbose'`, in another terminal |\n\
         | a Service in the controller | `curl http://127.0.0.1:8081/debug/services/NAMESPACE/NAME`, at the pod that leads |\n"
            .to_owned();
    for part in [AlertedServer::Any, AlertedServer::Webhook, AlertedServer::Controller, AlertedServer::Shadow] {
        out.extend([format!("\n## {}\n", part.title())]);
        for alert in ALERTS.iter().filter(|alert| alert.part == part) {
            let Alert { name, severity, expression, lasts, summary, meaning, steps, .. } = alert;
            out.extend([format!(
                "\n### {name}\n\n{summary}. Severity: {severity}.\n\n```\n{expression}   # for {lasts}\n```\n\n{meaning}\n\n"
            )]);
            out.extend(steps.iter().enumerate().map(|(i, step)| format!("{}. {step}\n", i + 1)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_alert_has_a_section_of_its_own() {
        let anchors: BTreeSet<String> = ALERTS.iter().map(Alert::anchor).collect();
        assert_eq!(anchors.len(), ALERTS.len());
        let page = runbooks();
        for alert in ALERTS {
            assert!(page.contains(&format!("\n### {}\n", alert.name)) && !alert.steps.is_empty(), "{}", alert.name);
        }
    }
}
