// A call of each kind, with the client that @hey-api/openapi-ts generates.

import assert from "node:assert/strict";

import {
  type ClusterLine,
  cluster,
  compat,
  convert,
  endpoints,
  endpointSlices,
  explain,
  type KubernetesObject,
  lint,
  plan,
  type PlanRequest,
  readyz,
  review,
} from "./roster/index.js";
import { client } from "./roster/client.gen.js";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-1", namespace: "shop", uid: "uid-web-1", labels: { app: "web" } },
  spec: { nodeName: "node-1", containers: [{ name: "web", ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }] }] },
  status: {
    phase: "Running",
    podIP: "10.0.1.5",
    podIPs: [{ ip: "10.0.1.5" }],
    conditions: [{ type: "Ready", status: "True" }],
  },
};
const node = { metadata: { name: "node-1", labels: { "topology.kubernetes.io/zone": "zone-a" } } };
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop", uid: "uid-web" },
  spec: {
    selector: { app: "web" },
    clusterIP: "10.96.0.10",
    ipFamilies: ["IPv4"],
    ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: "http" }],
  },
};
const byHand: KubernetesObject = {
  apiVersion: "v1",
  kind: "Endpoints",
  metadata: { name: "web", namespace: "shop" },
  subsets: [{ addresses: [{ ip: "192.0.2.7" }], ports: [{ name: "http", port: 8080 }] }],
};

client.setConfig({ baseUrl: process.env.ROSTER_URL });
const body: PlanRequest = { service, pods: [pod], nodes: [node] };

const planned = await plan({ body, query: { compat: "1.37" } });
assert.equal(planned.data?.endpoints.action, "create");
assert.deepEqual(planned.data?.endpointSlices.create[0]?.endpoints?.[0]?.addresses, ["10.0.1.5"]);

const explained = await explain({ body });
assert.equal(explained.data?.summary.served, 1);
assert.equal(explained.data?.rows[0]?.pod, "web-1");

const reviewed = await review({
  body: {
    object: { ...service, spec: { ...service.spec, externalIPs: ["203.0.113.9"] } },
    policies: [
      {
        apiVersion: "roster.dev/v1",
        kind: "EndpointPolicy",
        metadata: { name: "strict" },
        spec: { rules: [{ name: "external-ip", mode: "enforce" }] },
      },
    ],
  },
});
assert.equal(reviewed.data?.allowed, false);
assert.equal(reviewed.data?.decision.denied?.code, 403);

const misspelt = { ...service, spec: { ...service.spec, sessionAfinity: "None" } };
const linted = await lint({ body: { apiVersion: "v1", kind: "List", items: [misspelt] } });
assert.equal(linted.data?.items[0]?.code, "unknown-field");
assert.equal(linted.data?.summary.errors, 1);

const converted = await convert({ body: { apiVersion: "v1", kind: "List", items: [byHand] }, query: { to: "EndpointSlice" } });
assert.equal(converted.data?.items[0]?.kind, "EndpointSlice");

const desired = await endpoints({ body });
assert.equal(desired.data?.subsets?.[0]?.addresses?.[0]?.ip, "10.0.1.5");

const slices = await endpointSlices({ body });
assert.equal(slices.data?.items[0]?.ports?.[0]?.port, 8080);

const stream = await cluster({ body: { apiVersion: "v1", kind: "List", items: [service, pod] }, parseAs: "text" });
const lines = stream.data?.trim().split("\n").map((line): ClusterLine => JSON.parse(line)) ?? [];
assert.equal(lines[0]?.service?.name, "web");
assert.equal(lines.at(-1)?.summary?.services, 1);

const releases = await compat();
assert.equal(releases.data?.items.at(-1)?.minor, releases.data?.default);

const ready = await readyz();
assert.equal(ready.data, "ok");

const { error } = await plan({ body, query: { maxEndpointsPerSlice: 1001 } });
assert.equal(error?.type, "urn:roster:problem:invalid-query");
assert.equal(error?.errors?.[0]?.parameter, "maxEndpointsPerSlice");

console.log("11 calls passed");
