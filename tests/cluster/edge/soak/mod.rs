//! `roster edge` for a long time: the API server restarts, the proxy is killed, connections are cut, and no client ever sees
//! an object go back in time.

mod changes;
mod reflector;
mod relay;

use std::{
    fs,
    time::{Duration, Instant},
};

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::watcher,
};
use tokio::runtime::Runtime;

use self::{
    changes::Changes,
    reflector::{Objects, Reflector, plain},
    relay::Relay,
};
use super::{Edge, client, kubeconfig_of};
use crate::{
    assets,
    network::{Folder, row},
    parity::rng::Rng,
    resident, start_without_controllers, wait,
};

/// How long it lasts; `ROSTER_SOAK_SECONDS` says otherwise. `cargo xtask soak` takes longer.
const SECONDS: u64 = 30;
/// From so many seconds on, the memory of the proxy must be flat.
const LONG: u64 = 600;
const CHANGES_PER_SECOND: usize = 50;
/// Clients of each resource and each way to list.
const CLIENTS: usize = 5;
/// The pause between two cut connections of clients, and of the proxy with the API server.
const CUTS: [Duration; 2] = [Duration::from_millis(1700), Duration::from_secs(7)];

/// How long the API server stays away after the proxy started without it: clients list again meanwhile.
const OFFLINE: Duration = Duration::from_secs(8);

/// What happens to the programs.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The proxy is killed.
    Kill,
    /// The API server ends, and starts again.
    Restart,
    /// The proxy is killed, the API server ends, and the proxy starts without it.
    KillOffline,
}

/// As many of each as belong to this time, in random order.
fn events(seconds: u64, random: &mut Rng) -> Vec<Event> {
    let times = |all: u64| usize::try_from((all * seconds).div_ceil(1200)).unwrap();
    let mut events =
        [vec![Event::Kill; times(8)], vec![Event::Restart; times(3)], vec![Event::KillOffline; times(2)]].concat();
    for last in (1..events.len()).rev() {
        events.swap(last, random.below(last + 1));
    }
    events
}

/// What the proxy leaves of all objects, as one lists them that has seen none of the events.
fn list(runtime: &Runtime, client: &Client, resource: &ApiResource) -> Objects {
    let api = Api::<DynamicObject>::all_with(client.clone(), resource);
    let all = runtime.block_on(api.list(&kube::api::ListParams::default())).unwrap();
    all.items.into_iter().map(plain).collect()
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn clients_see_what_is_there_and_never_what_was() {
    let seconds = std::env::var("ROSTER_SOAK_SECONDS").map_or(SECONDS, |n| n.parse().unwrap());
    let dir = Folder::new();
    let runtime = Runtime::new().unwrap();
    let mut plane = start_without_controllers(&assets(), dir.path());
    let direct = client(&runtime, &plane.kubeconfig());
    let mut random = Rng::new(15, 0);
    let changes = Changes::begin(&runtime, &direct, 15, CHANGES_PER_SECOND);

    let server = direct_address(&plane.kubeconfig());
    let upstream = Relay::start(&runtime, server);
    let ca = dir.path().join("certs/apiserver.crt");
    let config = kubeconfig_of(&plane, &upstream.address.to_string(), &ca, &dir.path().join("relay.kubeconfig"));
    fs::create_dir(dir.path().join("edge")).unwrap();
    let mut edge = Edge::start_from(&config, &dir.path().join("edge"), &[]);
    let relay = Relay::start(&runtime, edge.address.clone());
    let of_edge = kubeconfig_of(
        &plane,
        &relay.address.to_string(),
        &edge.dir.join("certs/ca.crt"),
        &dir.path().join("clients.kubeconfig"),
    );
    let clients = Runtime::new().unwrap();
    let reflectors: Vec<Reflector> = [ApiResource::erase::<Service>(&()), ApiResource::erase::<EndpointSlice>(&())]
        .iter()
        .flat_map(|resource| {
            [watcher::Config::default(), watcher::Config::default().streaming_lists()].map(|c| (resource.clone(), c))
        })
        .flat_map(|each| std::iter::repeat_n(each, CLIENTS))
        .map(|(resource, config)| Reflector::start(&clients, client(&runtime, &of_edge), resource, config))
        .collect();
    relay.cut_every(&runtime, CUTS[0]);
    upstream.cut_every(&runtime, CUTS[1]);

    let events = events(seconds, &mut random);
    let pause = Duration::from_secs(seconds) / u32::try_from(events.len() + 1).unwrap();
    let mut memory = Vec::new();
    for event in &events {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(500).min(until - Instant::now()));
            memory.push(resident(edge.child.id()).unwrap_or_default());
        }
        match event {
            Event::Kill => edge.restart(),
            Event::Restart => {
                plane.stop_api_server();
                std::thread::sleep(Duration::from_secs(1));
                plane.start_api_server_again().unwrap();
            }
            Event::KillOffline => {
                edge.kill();
                plane.stop_api_server();
                edge.start_again();
                std::thread::sleep(OFFLINE);
                plane.start_api_server_again().unwrap();
            }
        }
    }
    std::thread::sleep(pause);
    let made = changes.end(&runtime);

    // A proxy that starts now has seen none of it.
    fs::create_dir(dir.path().join("new")).unwrap();
    let new = Edge::start(&plane, &dir.path().join("new"));
    let of_new = client(&runtime, &new.kubeconfig(&plane));
    for (number, reflector) in reflectors.iter().enumerate() {
        let want = list(&runtime, &of_new, &reflector.resource);
        let stored = list(&runtime, &direct, &reflector.resource);
        assert!(want.keys().eq(stored.keys()), "the proxy lists what the API server has");
        let what = format!("client {number} of {} has what a new proxy lists", reflector.resource.plural);
        wait(&what, || (reflector.objects() == want).then_some(()));
    }
    let reports: Vec<_> = reflectors.iter().map(Reflector::report).collect();
    let faults: Vec<&String> = reports.iter().flat_map(|(_, _, faults)| faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");

    let sum = |of: fn(&(usize, usize, Vec<String>)) -> usize| reports.iter().map(of).sum::<usize>();
    let quarter = |n: usize| {
        let part = &memory[memory.len() * n / 4..memory.len() * (n + 1) / 4];
        part.iter().sum::<u64>() / part.len().max(1) as u64
    };
    let count = |wanted: fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
    let kills = count(|event| !matches!(event, Event::Restart));
    let restarts = count(|event| !matches!(event, Event::Kill));
    row("changes", &made.to_string());
    row("restarts of the API server", &restarts.to_string());
    row("SIGKILLs of the proxy", &kills.to_string());
    row("events of all clients", &sum(|report| report.0).to_string());
    row("lists of all clients", &sum(|report| report.1).to_string());
    row("resident memory, second and last quarter", &format!("{} and {} KiB", quarter(1), quarter(3)));
    if seconds >= LONG {
        assert!(quarter(3) * 100 <= quarter(1) * 105, "memory grows: {memory:?}");
    }
    drop(reflectors);
    drop(clients);
    wait("the watches end with their clients", || (edge.metric("roster_edge_watches") == 0).then_some(()));
}

/// Host and port of the server in a kubeconfig.
fn direct_address(kubeconfig: &std::path::Path) -> String {
    let config: serde_json::Value = serde_saphyr::from_str(&fs::read_to_string(kubeconfig).unwrap()).unwrap();
    let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
    server.strip_prefix("https://").unwrap().to_owned()
}
