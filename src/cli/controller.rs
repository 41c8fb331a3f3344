//! `roster controller`: the controllers of Endpoints and EndpointSlices.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use clap::{Args, builder::PossibleValue};
use roster_engine::{
    profile::Minor,
    state::{Controller, Limit, Options},
};

use super::{
    cluster_args::KubeconfigArgs,
    outcome::Outcome,
    server_args::{LogArgs, address},
};
use crate::{
    runtime::{
        async_runtime,
        net::{Health, Server, ServerOptions, Socket, signals},
        telemetry::logs,
    },
    servers::controller::{self, ControllerOptions},
};

/// Keep the Endpoints and EndpointSlices of a cluster, in place of kube-controller-manager's controllers.
///
/// Switch those off before: kube-controller-manager
/// --controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 stopped by a signal, 2 usage error, or the controller cannot start or fails.")]
pub(crate) struct ControllerArgs {
    /// The controllers to run, by these names or by those of kube-controller-manager
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_values_t = Controller::ALL.map(ControllerArg))]
    controllers: Vec<ControllerArg>,
    /// The Kubernetes release to act like
    #[arg(long, value_name = "RELEASE", default_value_t)]
    compat: Minor,
    /// The most endpoints of a slice, from 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(i64).range(1..=1000))]
    max_endpoints_per_slice: i64,
    /// The most addresses that are mirrored of a subset of Endpoints, from 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(i64).range(1..=1000))]
    mirroring_max_endpoints_per_subset: i64,
    /// How long changes of pods and of what the controllers write are collected, such as 500ms
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    batch_period: Duration,
    /// How many Services are synced at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = ControllerOptions::WORKERS, value_parser = workers)]
    concurrent_syncs: usize,
    /// Address of health and metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:10270", env = "ROSTER_ADMIN_LISTEN", value_parser = address)]
    admin_listen: SocketAddr,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    #[command(flatten)]
    logs: LogArgs,
}

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
        logs::init(self.logs.format(), self.logs.filter()).context("the log filter")?;
        async_runtime::run(ControllerOptions::BLOCKING_THREADS, self.serve())?;
        Ok(Outcome::Success)
    }

    async fn serve(&self) -> anyhow::Result<()> {
        let signals = signals()?;
        let socket = Socket::bind(self.admin_listen)?;
        let health = Health::default();
        let (readiness, tasks) = controller::start(&self.options(), &health).await?;
        let mut server = Server::new(ServerOptions::default(), health);
        server.add_background(readiness, tasks);
        server.add_admin(socket);
        server.run(signals).await
    }

    fn options(&self) -> ControllerOptions {
        ControllerOptions {
            cluster: self.kubeconfig.choice(),
            controllers: self.controllers.iter().map(|arg| arg.0).collect(),
            plan: Options {
                compat: self.compat,
                max_endpoints_per_slice: Limit::new(self.max_endpoints_per_slice),
                max_endpoints_per_subset: Limit::new(self.mirroring_max_endpoints_per_subset),
                ..Options::default()
            },
            batch: self.batch_period,
            workers: self.concurrent_syncs,
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
