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
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/runbooks.md")
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
            "The label `kind` names the resource, and the log the answer of the API server.",
            "401 and 403: compare the permissions with the manifests of this release.",
            "For `endpointpolicies`, no replica may be ready that converts them: see `/readyz?verbose`.",
        ],
    },
    Alert {
        name: "RosterRefusesClients",
        part: AlertedServer::Any,
        severity: "warning",
        expression: "sum by (listener, resource) (rate(roster_refusals_total[5m])) > 1",
        lasts: "10m",
        summary: "Connections or requests are refused for lack of a resource",
        meaning: "Some client asks for far more than a server has. Others keep their share.",
        steps: &[
            "The labels say which listener, and what it lacks. `docs/webhook.md` and `docs/rest.md` list the limits.",
            "Restrict who may connect: `networkPolicy.enabled`, or `--client-ca-file` for the webhook.",
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
            "`kubectl -n roster-system get pods -l app.kubernetes.io/name=roster` shows whether replicas run, and `kubectl \
             describe` why they do not.",
            "If they run, Prometheus does not reach them. A network policy admits only namespaces with the label \
             `metrics: enabled`.",
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
            "The log of a replica names the webhook configuration or the CRD, and why it could not be written.",
            "With certificates of Roster, compare its permissions with `manifests/base/rbac.yaml`, and look for a tool that \
             applies another `caBundle`.",
            "With certificates of cert-manager, look at the log of its CA injector. With your own, set \
             `webhook.certificates.caBundle` to the CA of the Secret.",
        ],
    },
    Alert {
        name: "RosterCertificateExpires",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "min(roster_certificate_expiration_seconds) < 7 * 86400",
        lasts: "10m",
        summary: "The certificate of the webhook expires within a week",
        meaning: "When it has expired, API servers cannot call the webhook. Roster renews its own 30 days before that.",
        steps: &[
            "With certificates of Roster, the log of the replica that holds the Lease `roster-certificates` says why it was \
             not renewed.",
            "With certificates of cert-manager, see `kubectl -n roster-system describe certificate roster-webhook`.",
            "With your own, put a new certificate into the Secret. It is loaded within two minutes.",
        ],
    },
    Alert {
        name: "RosterTlsUntrusted",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "sum(increase(roster_tls_handshake_errors_total{reason=\"untrusted\"}[10m])) > 0",
        lasts: "10m",
        summary: "A client refuses the certificate of the webhook",
        meaning: "An API server has another CA than that of the certificate: it does not get an answer.",
        steps: &[
            "`curl 'http://POD:8081/readyz?verbose'` says whether every `caBundle` verifies the certificate. If one does not, \
             see RosterCaBundleMismatch.",
            "If all do, look for an API server that reads its configurations from files \
             (`/etc/kubernetes/admission`): they have a `caBundle` of their own.",
        ],
    },
    Alert {
        name: "RosterReviewsUnchecked",
        part: AlertedServer::Webhook,
        severity: "warning",
        expression: "sum(rate(roster_admission_shed_total[5m])) > 0",
        lasts: "10m",
        summary: "Reviews are answered without being checked",
        meaning: "Some writes were admitted or refused by the failure policy, and not by a rule.",
        steps: &[
            "The label `reason` says why. `late` and `busy`: there are too few replicas, or too little CPU. Raise \
             `webhook.replicas`.",
            "`budget`: an object has more to compare than a review may. The log names it.",
            "`unreadable` and `bug`: report it with the line of the log.",
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
            "`kubectl top pods -n roster-system` says whether the replicas lack CPU. Raise `webhook.replicas` or the request.",
            "`roster_admission_in_flight` and `roster_evictions_total` say whether a client sends far more than others. \
             `docs/webhook.md` lists the limits.",
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
        meaning: "Endpoints do not change any more: traffic goes to pods that have ended.",
        steps: &[
            "`kubectl -n roster-system get lease roster-controller` names the holder and its last renewal.",
            "`/readyz` of each replica says whether the API server refuses the Lease.",
            "If it cannot be repaired soon, switch back: `docs/controller.md`, \"Switch back in an emergency\".",
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
            "`rest_client_requests_total` by `code` says whether the API server answers 429 or 5xx.",
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
            "Do as for RosterControllerSlow.",
            "If one Service changes all the time, `/debug/services/NAMESPACE/NAME` names what changes.",
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
        steps: &["The log and `/debug/services/NAMESPACE/NAME` name the Service and the answer of the API server."],
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
            "Keep the log and the answer of `/debug/services/NAMESPACE/NAME` (`runningFor`), and report them.",
            "Delete the pod that leads. The other replica writes within a second.",
        ],
    },
    Alert {
        name: "RosterControllerContested",
        part: AlertedServer::Controller,
        severity: "warning",
        expression: "sum(roster_controller_contested_services) > 0",
        lasts: "5m",
        summary: "Another program changes what the controller writes",
        meaning: "The controller leaves these Services alone for some minutes at a time.",
        steps: &[
            "See whether the controllers of kube-controller-manager still run. Never run both at once.",
            "The `managedFields` of the slices name the other program.",
        ],
    },
    Alert {
        name: "RosterEndpointsDrift",
        part: AlertedServer::Shadow,
        severity: "warning",
        expression: "max by (class) (roster_endpoints_drift_seconds{class!~\"slow|unsettled\"}) > 60",
        lasts: "1m",
        summary: "Endpoints are not as they should be",
        meaning: "Clients are served addresses that they should not have, or miss some that they should have.",
        steps: &[
            "`kubectl -n roster-system port-forward deployment/roster-shadow 10270:8081 & roster drift` names the Services.",
            "`docs/controller.md` says what each class means.",
            "A restart of kube-controller-manager syncs every Service. `shadow-healing` writes what it has left wrong.",
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
        steps: &["`roster drift` names the Service, and the `managedFields` of its slices the other program."],
    },
    Alert {
        name: "RosterHealingFails",
        part: AlertedServer::Shadow,
        severity: "warning",
        expression: "sum(increase(roster_endpoints_drift_heal_failures_total[10m])) > 0",
        lasts: "10m",
        summary: "The API server refuses what the shadow heals",
        meaning: "Endpoints stay wrong although the shadow may heal them.",
        steps: &["The log names the answer. For 403, compare the role with `manifests/overlays/shadow-healing`."],
    },
];

/// `docs/runbooks.md`.
pub fn runbooks() -> String {
    let mut out =
        "# Runbooks\n\nEach alert of the [chart](install.md#metrics-alerts-and-a-dashboard) has a section: what it \
                   means, and what to do.\nThe commands assume the namespace `roster-system`.\n"
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
