//! A call of each kind, with the client that progenitor generates.

use futures::TryStreamExt;
use progenitor_client::{ByteStream, Error};
use roster::{Client, types};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

mod roster {
    progenitor::generate_api!(spec = "v1-3.0.json", interface = Builder);
}

type Any<T> = Result<T, Box<dyn std::error::Error>>;

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web-1", "namespace": "shop", "uid": "uid-web-1", "labels": { "app": "web" } },
        "spec": {
            "nodeName": "node-1",
            "containers": [{ "name": "web", "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }] }],
        },
        "status": {
            "phase": "Running", "podIP": "10.0.1.5", "podIPs": [{ "ip": "10.0.1.5" }],
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "web", "namespace": "shop", "uid": "uid-web" },
        "spec": {
            "selector": { "app": "web" }, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": "http" }],
        },
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Any<()> {
    let client = Client::new(&std::env::var("ROSTER_URL")?);
    let node = json!({ "metadata": { "name": "node-1", "labels": { "topology.kubernetes.io/zone": "zone-a" } } });
    let state: types::PlanRequest = of(json!({ "service": service(), "pods": [pod()], "nodes": [node] }))?;

    let plan = client.plan().compat("1.37").body(state.clone()).send().await?;
    assert_eq!(plan.endpoints.action, types::Action::Create);
    assert_eq!(plan.endpoint_slices.create[0].endpoints[0].addresses, ["10.0.1.5"]);

    let explanation = client.explain().body(state.clone()).send().await?;
    assert_eq!((explanation.summary.served, explanation.rows[0].pod.as_str()), (1, "web-1"));

    let mut risky = service();
    risky["spec"]["externalIPs"] = json!(["203.0.113.9"]);
    let policy = json!({
        "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "strict" },
        "spec": { "rules": [{ "name": "external-ip", "mode": "enforce" }] },
    });
    let request: types::ReviewRequest = of(json!({ "object": risky, "policies": [policy] }))?;
    let review = client.review().body(request).send().await?;
    assert!(!review.allowed);
    assert_eq!(review.decision.denied.as_ref().map(|denial| denial.code), Some(403));

    let mut misspelt = service();
    misspelt["spec"]["sessionAfinity"] = json!("None");
    let list: types::KubernetesList = of(list_of(&[misspelt]))?;
    let linted = client.lint().body(list).send().await?;
    assert_eq!((linted.items[0].code.as_str(), linted.summary.errors), ("unknown-field", 1));

    let by_hand = json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "web", "namespace": "shop" },
        "subsets": [{ "addresses": [{ "ip": "192.0.2.7" }], "ports": [{ "name": "http", "port": 8080 }] }],
    });
    let list: types::KubernetesList = of(list_of(&[by_hand]))?;
    let converted = client.convert().to(types::ConvertTo::EndpointSlice).body(list).send().await?;
    assert_eq!(converted.items[0].kind, "EndpointSlice");

    let desired = client.endpoints().body(state.clone()).send().await?;
    let desired = serde_json::to_value(desired.into_inner())?;
    assert_eq!(desired["subsets"][0]["addresses"][0]["ip"], "10.0.1.5");

    let slices = client.endpoint_slices().body(state.clone()).send().await?;
    assert_eq!(slices.items[0].ports[0].port, Some(8080));

    let list: types::KubernetesList = of(list_of(&[service(), pod()]))?;
    let stream = client.cluster().body(list).send().await?.into_inner();
    let text = bytes(stream).await?;
    let lines: Vec<types::ClusterLine> =
        serde_json::Deserializer::from_slice(&text).into_iter().collect::<Result<_, _>>()?;
    assert_eq!(lines[0].service.as_ref().map(|service| service.name.as_str()), Some("web"));
    assert_eq!(lines.last().and_then(|line| line.summary.as_ref()).map(|summary| summary.services), Some(1));

    let releases = client.compat().send().await?;
    assert_eq!(releases.items.last().map(|release| &release.minor), Some(&releases.default));

    client.readyz().send().await?;

    // progenitor leaves the body of an error that is not application/json to its caller.
    let Err(Error::ErrorResponse(refused)) = client.plan().max_endpoints_per_slice(1001).body(state).send().await
    else {
        return Err("the plan is not refused".into());
    };
    let problem: types::Problem = serde_json::from_slice(&bytes(refused.into_inner()).await?)?;
    assert_eq!(problem.type_, "urn:roster:problem:invalid-query");
    assert_eq!((problem.status, problem.errors[0].parameter.as_deref()), (400, Some("maxEndpointsPerSlice")));

    println!("11 calls passed");
    Ok(())
}

fn list_of(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

fn of<T: DeserializeOwned>(value: Value) -> Any<T> {
    Ok(serde_json::from_value(value)?)
}

async fn bytes(stream: ByteStream) -> Any<Vec<u8>> {
    let parts: Vec<_> = stream.into_inner().try_collect().await?;
    Ok(parts.concat())
}
