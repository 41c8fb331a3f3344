//! The watches of the webhook beside an API server that streams lists, and beside one that does not.

use super::{
    assets,
    control_plane::{ControlPlane, Setup},
    kubectl,
    webhook::Webhook,
};

/// How many lists of the slices of all namespaces the API server has streamed, and how many of their pages it has sent.
fn streams_and_pages(plane: &ControlPlane) -> [u64; 2] {
    let (well, metrics) = kubectl(plane, "get --raw /metrics", "");
    assert!(well, "{metrics}");
    ["apiserver_watch_list_duration_seconds_count{", "apiserver_request_total{code=\"200\","].map(|metric| {
        let is_meant = |line: &&str| {
            let is_list = line.contains("verb=\"LIST\"") || !line.contains("verb=");
            line.starts_with(metric)
                && is_list
                && line.contains("resource=\"endpointslices\"")
                && line.contains("scope=\"cluster\"")
        };
        let count = |line: &str| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok());
        metrics.lines().filter(is_meant).filter_map(count).sum()
    })
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn lists_are_streamed_where_the_api_server_can() {
    for (gate, want) in [("true", [1, 0]), ("false", [0, 1])] {
        let dir = tempfile::tempdir().unwrap();
        let api_server = [format!("--feature-gates=WatchList={gate}")];
        let setup = Setup { assets: &assets(), dir: dir.path(), api_server: &api_server, controllers: false };
        let plane = ControlPlane::start(&setup).unwrap();
        // The API server lists slices too.
        let before = streams_and_pages(&plane);
        Webhook::start_in(&plane, dir.path()).wait_until_ready();
        let after = streams_and_pages(&plane);
        assert_eq!([after[0] - before[0], after[1] - before[1]], want, "WatchList={gate}");
    }
}
