"""A call of each kind, with the client that openapi-python-client generates."""

import json
import os

from roster_client import Client
from roster_client.api.about import compat, readyz
from roster_client.api.compute import cluster, convert, endpoint_slices, endpoints, explain, lint, plan, review
from roster_client.models import (
    ClusterLine,
    ConvertTo,
    IoK8SApiCoreV1Node as Node,
    IoK8SApiCoreV1Pod as Pod,
    IoK8SApiCoreV1Service as Service,
    KubernetesList,
    KubernetesObject,
    PlanRequest,
    Problem,
    ReviewRequest,
)

POD = {
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "uid-web-1", "labels": {"app": "web"}},
    "spec": {"nodeName": "node-1", "containers": [{"name": "web", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}]},
    "status": {
        "phase": "Running",
        "podIP": "10.0.1.5",
        "podIPs": [{"ip": "10.0.1.5"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
NODE = {"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "zone-a"}}}
SERVICE = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "uid-web"},
    "spec": {
        "selector": {"app": "web"},
        "clusterIP": "10.96.0.10",
        "ipFamilies": ["IPv4"],
        "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": "http"}],
    },
}
# What a release before 1.33 wrote by hand.
ENDPOINTS = {
    "apiVersion": "v1",
    "kind": "Endpoints",
    "metadata": {"name": "web", "namespace": "shop"},
    "subsets": [{"addresses": [{"ip": "192.0.2.7"}], "ports": [{"name": "http", "port": 8080}]}],
}


def main() -> None:
    client = Client(base_url=os.environ["ROSTER_URL"])
    state = PlanRequest(service=Service.from_dict(SERVICE), pods=[Pod.from_dict(POD)], nodes=[Node.from_dict(NODE)])

    planned = plan.sync(client=client, body=state, compat="1.37")
    assert planned.endpoints.action == "create", planned
    assert planned.endpoint_slices.create[0].endpoints[0].addresses == ["10.0.1.5"], planned

    explained = explain.sync(client=client, body=state)
    assert (explained.summary.pods, explained.summary.served) == (1, 1), explained
    assert explained.rows[0].pod == "web-1", explained

    risky = {"apiVersion": "v1", "kind": "Service", **SERVICE}
    risky["spec"] = {**SERVICE["spec"], "externalIPs": ["203.0.113.9"]}
    policy = {
        "apiVersion": "roster.dev/v1",
        "kind": "EndpointPolicy",
        "metadata": {"name": "strict"},
        "spec": {"rules": [{"name": "external-ip", "mode": "enforce"}]},
    }
    request = ReviewRequest(object_=KubernetesObject.from_dict(risky), policies=[KubernetesObject.from_dict(policy)])
    reviewed = review.sync(client=client, body=request)
    assert not reviewed.allowed and reviewed.decision.denied.code == 403, reviewed
    assert reviewed.decision.findings[0].rule == "external-ip", reviewed

    misspelt = {"apiVersion": "v1", "kind": "Service", **SERVICE}
    misspelt["spec"] = {**SERVICE["spec"], "sessionAfinity": "None"}
    listed = KubernetesList(api_version="v1", kind="List", items=[KubernetesObject.from_dict(misspelt)])
    linted = lint.sync(client=client, body=listed)
    assert linted.items[0].code == "unknown-field" and linted.summary.errors == 1, linted

    listed = KubernetesList(api_version="v1", kind="List", items=[KubernetesObject.from_dict(ENDPOINTS)])
    converted = convert.sync(client=client, body=listed, to=ConvertTo.ENDPOINTSLICE)
    assert converted.items[0].kind == "EndpointSlice" and converted.failed == [], converted

    desired = endpoints.sync(client=client, body=state)
    assert desired.subsets[0].addresses[0].ip == "10.0.1.5", desired

    slices = endpoint_slices.sync(client=client, body=state)
    assert slices.items[0].ports[0].port == 8080, slices

    objects = [{"apiVersion": "v1", "kind": "Service", **SERVICE}, {"apiVersion": "v1", "kind": "Pod", **POD}]
    listed = KubernetesList(api_version="v1", kind="List", items=[KubernetesObject.from_dict(o) for o in objects])
    answer = cluster.sync_detailed(client=client, body=listed)
    *services, last = [ClusterLine.from_dict(json.loads(line)) for line in answer.content.splitlines()]
    assert services[0].service.name == "web" and last.summary.services == 1, (services, last)

    releases = compat.sync(client=client)
    assert releases.default == releases.items[-1].minor, releases

    assert readyz.sync(client=client) == "ok"

    problem = plan.sync(client=client, body=state, max_endpoints_per_slice=1001)
    assert isinstance(problem, Problem), problem
    assert problem.type_ == "urn:roster:problem:invalid-query", problem
    assert (problem.status, problem.errors[0].parameter) == (400, "maxEndpointsPerSlice"), problem

    print("11 calls passed")


main()
