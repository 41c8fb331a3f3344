//! Pods that are shutting down.

use super::*;

#[test]
fn terminating_pods_serve_where_the_service_says_so() {
    let v4 = Scope::Slices(Family::V4);
    let records = || vec![record(v4, 0, None, Reason::Terminating)];
    let mut service = service(&[]);
    assert_eq!(verdicts_of(&service, 1, records()).0, ["a - EndpointSlice IPv4: Terminating: terminating"]);
    service.publish_not_ready = true;
    assert_eq!(verdicts_of(&service, 1, records()).0, ["a - EndpointSlice IPv4: served Terminating: terminating"]);
}

#[test]
fn a_pod_that_shuts_down_serves_only_while_no_pod_is_ready() {
    use Reason::{NotReady, Ready, Terminating};
    let v4 = Scope::Slices(Family::V4);
    let no_new = "it is shutting down, and gets no new connections";
    for (cluster_ip, other, want, is_last_resort) in [
        ("", Ready, no_new, false),
        ("", NotReady, "it is shutting down, and still serves: kube-proxy uses it while no pod is ready", true),
        // DNS leads to ready pods only.
        ("None", NotReady, no_new, false),
    ] {
        let mut pods = [pod("a"), pod("b")];
        for pod in &mut pods {
            pod.readiness = PodReadiness::Ready;
        }
        let records = vec![record(v4, 0, None, Terminating), record(v4, 1, None, other)];
        let service = Service { cluster_ip: cluster_ip.into(), ..service(&[]) };
        let table = verdicts::table(Some(&service), &pods.iter().collect::<Vec<_>>(), 2, records);
        let ending = &table.verdicts[0];
        assert_eq!((ending.reasons[0].detail.as_str(), ending.served), (want, false));
        assert_eq!((ending.is_last_resort, table.verdicts[1].is_last_resort), (is_last_resort, false));
    }
}
