//! `roster controller`: the controllers of Endpoints and EndpointSlices.

use std::{ffi::OsStr, net::SocketAddr, time::Duration};

use anyhow::{Context, ensure};
use clap::{
    ArgAction, Args, ValueEnum,
    builder::{NonEmptyStringValueParser, PossibleValue, TypedValueParser},
};
use roster_engine::{
    model::{
        LabelQuery, dns,
        installed::{CONTROLLER, SHADOW},
    },
    profile::Minor,
    state::{Controller, Limit, Options},
};

use super::{
    cluster_args::KubeconfigArgs,
    help_end::help_end,
    outcome::Outcome,
    server_args::{LogArgs, address, replica_identity},
    trace_args::TraceArgs,
};
use crate::{
    kube_api::LeaseTimes,
    runtime::{
        async_runtime,
        clock::Clock,
        net::{Health, Readiness, Server, ServerOptions, Socket, signals},
        telemetry::logs,
    },
    servers::controller::{self, ControllerLease, ControllerOptions, ServiceScope, ShadowOptions, WriteRate},
};

/// Keep the Endpoints and EndpointSlices of a cluster, in place of kube-controller-manager's controllers.
///
/// Switch those off first, or both write the same objects: kube-controller-manager
/// --controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 stopped by a signal, 2 usage error, unusable kubeconfig, port in use, or a failure of the \
controller itself. If the API server does not answer, or refuses, the controller tries again and is not ready.",
    "roster controller --context test",
    "roster controller --shadow                # compare only, and write nothing",
)
)]
pub(crate) struct ControllerArgs {
    /// The controllers to run, by these names or by those of kube-controller-manager
    #[arg(long, value_parser = ControllerParser, value_name = "NAMES", value_delimiter = ',', default_values_t = Controller::ALL.map(ControllerArg))]
    controllers: Vec<ControllerArg>,
    /// The Kubernetes release to act like [default: that of the cluster]. Another one rewrites objects that are right
    #[arg(long, value_name = "RELEASE")]
    compat: Option<Minor>,
    /// The most endpoints of a slice, from 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(i64).range(1..=1000))]
    max_endpoints_per_slice: i64,
    /// The most addresses that are mirrored of a subset of Endpoints, from 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(i64).range(1..=1000))]
    mirroring_max_endpoints_per_subset: i64,
    /// How long to collect changes before a sync, such as 500ms
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    batch_period: Duration,
    /// How many Services are synced at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = ControllerOptions::WORKERS, value_parser = workers)]
    concurrent_syncs: usize,
    /// Address of health and metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:10270", env = "ROSTER_ADMIN_LISTEN", value_parser = address)]
    admin_listen: SocketAddr,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    shadow: ShadowArgs,
    #[command(flatten)]
    rate: RateArgs,
    #[command(flatten)]
    lease: LeaseArgs,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    traces: TraceArgs,
}

/// The flags of a controller that serves a part of the Services.
#[derive(Debug, Args)]
#[command(next_help_heading = "A part of the Services")]
struct ScopeArgs {
    /// Serve only Services of this namespace
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Serve only Services with such labels, such as `team=a`
    #[arg(long, value_name = "SELECTOR", value_parser = selector)]
    service_selector: Option<LabelQuery>,
    /// Run beside the built-in controllers: serve only Services without a selector. Their annotation
    /// roster.dev/selector names the pods, such as `app=web,tier in (front)`
    #[arg(long, conflicts_with = "shadow")]
    beside: bool,
}

impl ScopeArgs {
    fn scope(&self) -> ServiceScope {
        ServiceScope {
            namespace: self.namespace.clone(),
            labels: self.service_selector.clone(),
            is_beside: self.beside,
        }
    }
}

/// The flags of the shadow.
#[derive(Debug, Args)]
#[command(next_help_heading = "Beside the controllers of the cluster")]
struct ShadowArgs {
    /// Write nothing: compare the stored endpoints with the right ones, and report differences (`roster drift`,
    /// metrics)
    #[arg(long)]
    shadow: bool,
    /// Correct a difference once it is this old
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "shadow")]
    heal_after: Option<Duration>,
    /// Send Events about differences, on the Services
    #[arg(long, requires = "shadow")]
    shadow_events: bool,
}

impl ShadowArgs {
    fn options(&self) -> Option<ShadowOptions> {
        self.shadow.then_some(ShadowOptions { heal_after: self.heal_after, sends_events: self.shadow_events })
    }
}

/// The limit of requests, with the names of kube-controller-manager.
#[derive(Debug, Args)]
struct RateArgs {
    /// The most requests a second, over time; default: as many as the API server accepts
    #[arg(long, value_name = "NUMBER", value_parser = requests_a_second)]
    kube_api_qps: Option<f64>,
    /// The most requests at once, after a pause
    #[arg(long, value_name = "NUMBER", default_value_t = 30, requires = "kube_api_qps", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    kube_api_burst: u32,
}

impl RateArgs {
    fn rate(&self) -> Option<WriteRate> {
        self.kube_api_qps.map(|per_second| WriteRate { per_second, burst: self.kube_api_burst })
    }
}

fn requests_a_second(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|n| (0.1..=100_000.0).contains(n))
        .ok_or_else(|| format!("{text} is not from 0.1 to 100000"))
}

/// The flags of the Lease, with the names of kube-controller-manager.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several replicas")]
struct LeaseArgs {
    /// Write only while this replica holds the Lease. Without it, run one replica
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    leader_elect: bool,
    /// How long the Lease lasts without being renewed
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew it before it stops writing
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    leader_elect_renew_deadline: Duration,
    /// The pause between two renewals
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    leader_elect_retry_period: Duration,
    /// Name of the Lease [default: roster-controller, or roster-shadow with --shadow]. A Role of the installation names it
    #[arg(long, value_name = "NAME", default_value = CONTROLLER, default_value_if("shadow", "true", SHADOW), hide_default_value = true, value_parser = lease_name)]
    leader_elect_resource_name: String,
    /// Namespace of the Lease
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = "kube-system",
        env = "POD_NAMESPACE",
        hide_env_values = true,
        value_parser = namespace
    )]
    leader_elect_resource_namespace: String,
    /// Identity of this replica as a holder of the Lease; it must be unique
    #[arg(long, value_name = "NAME", env = "POD_NAME", hide_env_values = true, value_parser = NonEmptyStringValueParser::new())]
    identity: Option<String>,
}

impl LeaseArgs {
    /// The rules of client-go, and whole seconds, as a Lease has them.
    fn check(&self) -> anyhow::Result<()> {
        let [duration, deadline, retry] =
            [self.leader_elect_lease_duration, self.leader_elect_renew_deadline, self.leader_elect_retry_period];
        ensure!(duration.subsec_nanos() == 0, "--leader-elect-lease-duration: a Lease has whole seconds");
        ensure!(duration > deadline, "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline");
        ensure!(!retry.is_zero(), "--leader-elect-retry-period must not be zero");
        ensure!(
            deadline > retry.mul_f64(1.2),
            "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period"
        );
        Ok(())
    }

    fn lease(&self) -> Option<ControllerLease> {
        let retry = self.leader_elect_retry_period;
        self.leader_elect.then(|| ControllerLease {
            namespace: self.leader_elect_resource_namespace.clone(),
            name: self.leader_elect_resource_name.clone(),
            identity: self.identity.clone().unwrap_or_else(replica_identity),
            times: LeaseTimes {
                duration: self.leader_elect_lease_duration,
                renew_deadline: self.leader_elect_renew_deadline,
                retry,
                // A successor writes within a second of a release.
                poll: retry.min(POLL),
            },
        })
    }
}

/// How often a replica looks whether the Lease was released.
const POLL: Duration = Duration::from_millis(500);

/// A controller as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ControllerArg(Controller);

impl ControllerArg {
    /// Its name; that in kube-controller-manager since 1.28; and that before.
    fn names(self) -> [&'static str; 3] {
        match self.0 {
            Controller::Endpoints => ["endpoints", "endpoints-controller", "endpoint"],
            Controller::EndpointSlices => ["endpointslices", "endpointslice-controller", "endpointslice"],
            Controller::Mirroring => ["mirroring", "endpointslice-mirroring-controller", "endpointslicemirroring"],
        }
    }
}

impl std::fmt::Display for ControllerArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.names()[0])
    }
}

impl clap::ValueEnum for ControllerArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ControllerArg; 3] = [
            ControllerArg(Controller::Endpoints),
            ControllerArg(Controller::EndpointSlices),
            ControllerArg(Controller::Mirroring),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let [name, since, before] = self.names();
        Some(PossibleValue::new(name).aliases([since, before]))
    }
}

/// Reads a controller. clap would name only the first of the names of each.
#[derive(Clone)]
struct ControllerParser;

impl TypedValueParser for ControllerParser {
    type Value = ControllerArg;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<ControllerArg, clap::Error> {
        controller.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ControllerArg::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

fn controller(text: &str) -> Result<ControllerArg, String> {
    let all = ControllerArg::value_variants();
    all.iter().copied().find(|arg| arg.names().contains(&text)).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|arg| format!("{} ({})", arg.names()[0], arg.names()[1])).collect();
        format!("the controllers are {}", names.join(", "))
    })
}

fn namespace(text: &str) -> Result<String, String> {
    let is_name = dns::is_label(text.as_bytes());
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        format!(
            "{text:?} is not the name of a namespace: up to {} lower case letters, digits and dashes",
            dns::MAX_LABEL
        )
    })
}

fn lease_name(text: &str) -> Result<String, String> {
    let is_name = dns::is_subdomain(text.as_bytes());
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| format!("{text:?} is not the name of a Lease: lower case letters, digits, dashes and dots"))
}

/// A selector that selects a part.
fn selector(text: &str) -> Result<LabelQuery, String> {
    if text.trim().is_empty() {
        return Err("it is empty, which would select every Service: leave the flag out for that".to_owned());
    }
    text.parse()
}

/// A number with a unit, as Go writes durations.
fn duration(text: &str) -> Result<Duration, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().map_err(|_| format!("{text} is not a duration such as 500ms or 2s"))?;
    match &text[end..] {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_mins(number)),
        "" if number == 0 => Ok(Duration::ZERO),
        _ => Err(format!("{text} is not a duration such as 500ms or 2s")),
    }
}

fn workers(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=1000).contains(n)).ok_or_else(|| format!("{text} is not from 1 to 1000"))
}

impl ControllerArgs {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        self.lease.check()?;
        logs::init(self.logs.format(), self.logs.filter()).context("the log filter")?;
        async_runtime::run(ControllerOptions::BLOCKING_THREADS, self.serve())?;
        Ok(Outcome::Success)
    }

    async fn serve(&self) -> anyhow::Result<()> {
        let signals = signals()?;
        let socket = Socket::bind(self.admin_listen)?;
        let (health, tasks) =
            Health::with_traces(self.traces.options("roster-controller")?.as_ref(), &Clock::system())?;
        let started = controller::start(&self.options(), &Clock::system(), &health).await?;
        // No load balancer sends requests to it.
        let options = ServerOptions { shutdown_delay: Some(Duration::ZERO), ..ServerOptions::default() };
        let mut server = Server::new(options, health);
        server.add_background(Readiness::default(), tasks);
        server.add_background(started.readiness, started.tasks);
        server.add_admin_with(socket, started.routes);
        server.run(signals).await
    }

    fn options(&self) -> ControllerOptions {
        ControllerOptions {
            cluster: self.kubeconfig.choice(),
            controllers: self.controllers.iter().map(|arg| arg.0).collect(),
            scope: self.scope.scope(),
            compat: self.compat,
            limits: Options {
                max_endpoints_per_slice: Limit::new(self.max_endpoints_per_slice),
                max_endpoints_per_subset: Limit::new(self.mirroring_max_endpoints_per_subset),
                ..Options::default()
            },
            batch: self.batch_period,
            rate: self.rate.rate(),
            workers: self.concurrent_syncs,
            lease: self.lease.lease(),
            shadow: self.shadow.options(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        controller: ControllerArgs,
    }

    #[test]
    fn controllers_have_the_names_of_kube_controller_manager_too() {
        for (names, want) in [
            ("endpoints", Some(vec![Controller::Endpoints])),
            ("endpoints-controller,mirroring", Some(vec![Controller::Endpoints, Controller::Mirroring])),
            ("endpointslice,endpointslicemirroring", Some(vec![Controller::EndpointSlices, Controller::Mirroring])),
            ("endpointslice-controller", Some(vec![Controller::EndpointSlices])),
            ("endpointslice-mirroring-controller", Some(vec![Controller::Mirroring])),
            ("", None),
            ("deployment", None),
        ] {
            let parsed = Program::try_parse_from(["controller", "--controllers", names]);
            let read = parsed.ok().map(|program| program.controller.options().controllers);
            assert_eq!(read, want, "{names}");
        }
        let all = Program::try_parse_from(["controller"]).unwrap().controller.options().controllers;
        assert_eq!(all, Controller::ALL);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_flag() {
        for (flags, want) in [
            (&["--service-selector", ""][..], "--service-selector <SELECTOR>': it is empty"),
            (&["--service-selector", " "], "--service-selector <SELECTOR>': it is empty"),
            (&["--service-selector", "a=b,"], "--service-selector <SELECTOR>': a condition is missing"),
            (&["-n", "Foo_Bar"], "--namespace <NAMESPACE>': \"Foo_Bar\" is not the name of a namespace"),
            (&["--namespace", ""], "--namespace <NAMESPACE>': \"\" is not the name of a namespace"),
            (&["--leader-elect-resource-name", "a/b"], "--leader-elect-resource-name <NAME>': \"a/b\" is not the name"),
            (
                &["--leader-elect-resource-namespace", "-"],
                "--leader-elect-resource-namespace <NAMESPACE>': \"-\" is not",
            ),
            (&["--identity", ""], "--identity <NAME>'"),
            (
                &["--controllers", "endpoints,deployment"],
                "'deployment' for '--controllers <NAMES>': the controllers are endpoints (endpoints-controller), \
                 endpointslices (endpointslice-controller), mirroring (endpointslice-mirroring-controller)",
            ),
        ] {
            let error =
                Program::try_parse_from(["controller"].iter().chain(flags)).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(want), "{flags:?}: {error}");
        }
        for flags in [&["--service-selector", "a=b,c"][..], &["-n", "shop"], &["--leader-elect-resource-name", "a.b"]] {
            assert!(Program::try_parse_from(["controller"].iter().chain(flags)).is_ok(), "{flags:?}");
        }
    }

    #[test]
    fn the_times_of_a_lease_fit_together() {
        for (flags, want) in [
            (&[][..], true),
            (&["--leader-elect-lease-duration=10s"], false),
            (&["--leader-elect-retry-period=9s"], false),
            (&["--leader-elect-retry-period=0s"], false),
            (&["--leader-elect-lease-duration=15500ms"], false),
            (
                &[
                    "--leader-elect-lease-duration=3s",
                    "--leader-elect-renew-deadline=2s",
                    "--leader-elect-retry-period=500ms",
                ],
                true,
            ),
        ] {
            let args = ["controller"].iter().chain(flags);
            let controller = Program::try_parse_from(args).unwrap().controller;
            assert_eq!(controller.lease.check().is_ok(), want, "{flags:?}");
        }
        let off = Program::try_parse_from(["controller", "--leader-elect=false"]).unwrap().controller;
        assert_eq!(off.options().lease, None);
    }

    #[test]
    fn requests_are_limited_only_if_asked_for() {
        let rate = |flags: &[&str]| {
            let parsed = Program::try_parse_from(["controller"].iter().chain(flags));
            parsed.map(|program| program.controller.options().rate).map_err(drop)
        };
        for (flags, want) in [
            (&[][..], Ok(None)),
            (&["--kube-api-qps=20"], Ok(Some(WriteRate { per_second: 20.0, burst: 30 }))),
            (&["--kube-api-qps=0.5", "--kube-api-burst=1"], Ok(Some(WriteRate { per_second: 0.5, burst: 1 }))),
            (&["--kube-api-burst=5"], Err(())),
            (&["--kube-api-qps=0"], Err(())),
            (&["--kube-api-qps=NaN"], Err(())),
            (&["--kube-api-qps=-1"], Err(())),
            (&["--kube-api-qps=20", "--kube-api-burst=0"], Err(())),
        ] {
            assert_eq!(rate(flags), want, "{flags:?}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (text, want) in [
            ("500ms", Some(500)),
            ("2s", Some(2000)),
            ("0s", Some(0)),
            ("0", Some(0)),
            ("1m", Some(60_000)),
            ("5", None),
            ("s", None),
            ("-1s", None),
            ("1h", None),
        ] {
            assert_eq!(duration(text).ok(), want.map(Duration::from_millis), "{text}");
        }
    }
}
