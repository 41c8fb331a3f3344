// The changes of a what-if, made to the objects themselves: what the command line is asked about.
import { parseAllDocuments, stringify } from "yaml";

// The objects of a text, and those of its lists.
export function objectsOf(text) {
  const documents = parseAllDocuments(text).map((document) => document.toJS()).filter(Boolean);
  return documents.flatMap((object) => (object.kind?.endsWith("List") ? object.items : [object]));
}

export const textOf = (objects) => objects.map((object) => stringify(object)).join("---\n");

const titleOf = ({ metadata }) => `${metadata.namespace}/${metadata.name}`;
const ownerOf = ({ metadata }) => metadata.ownerReferences?.find((owner) => owner.controller);
const of = (objects, kind) => objects.filter((object) => object.kind === kind);

function setReady(object, status, reason) {
  const conditions = (object.status ??= {}).conditions ??= [];
  const ready = conditions.find((condition) => condition.type === "Ready") ?? conditions[conditions.push({ type: "Ready" }) - 1];
  Object.assign(ready, { status, reason });
}

function setLabel(labels, { key, value }) {
  if (value) labels[key] = value;
  else delete labels[key];
}

const APPLY = {
  "pod-readiness"(objects, { pod, to }) {
    for (const object of of(objects, "Pod").filter((one) => titleOf(one) === pod)) setReady(object, to === "ready" ? "True" : "False");
  },
  "drain-node"(objects, { node }) {
    for (const object of of(objects, "Node").filter((one) => one.metadata.name === node)) (object.spec ??= {}).unschedulable = true;
    for (const object of of(objects, "Pod").filter((one) => one.spec?.nodeName === node)) {
      if (["DaemonSet", "Node"].includes(ownerOf(object)?.kind)) continue;
      Object.assign(object.metadata, { deletionTimestamp: "2026-11-30T00:00:00Z", deletionGracePeriodSeconds: 30 });
    }
  },
  "lose-zone"(objects, { zone }) {
    const nodes = of(objects, "Node").filter((one) => one.metadata.labels?.["topology.kubernetes.io/zone"] === zone);
    nodes.forEach((node) => setReady(node, "Unknown"));
    const names = nodes.map((node) => node.metadata.name);
    const pods = of(objects, "Pod").filter((one) => names.includes(one.spec?.nodeName));
    pods.forEach((pod) => setReady(pod, "False", "NodeNotReady"));
  },
  "pod-label"(objects, change) {
    const named = of(objects, "Pod").find((one) => titleOf(one) === change.pod);
    const uid = named && ownerOf(named)?.uid;
    const isMeant = (one) => titleOf(one) === change.pod || (change.of === "owner" && uid && ownerOf(one)?.uid === uid);
    of(objects, "Pod").filter(isMeant).forEach((pod) => setLabel((pod.metadata.labels ??= {}), change));
  },
  selector(objects, change) {
    for (const object of of(objects, "Service").filter((one) => titleOf(one) === change.service)) {
      setLabel((object.spec.selector ??= {}), change);
      // An API server stores no empty selector.
      if (Object.keys(object.spec.selector).length === 0) delete object.spec.selector;
    }
  },
  "target-port"(objects, { service, port, target }) {
    for (const object of of(objects, "Service").filter((one) => titleOf(one) === service)) {
      const meant = object.spec.ports?.find((one) => one.name === port || String(one.port) === port);
      if (meant) meant.targetPort = /^\d+$/.test(target) ? Number(target) : target;
    }
  },
  "traffic-distribution"(objects, { service, value }) {
    for (const object of of(objects, "Service").filter((one) => titleOf(one) === service)) {
      if (value) object.spec.trafficDistribution = value;
      else delete object.spec.trafficDistribution;
    }
  },
};

// The text after these changes.
export function changed(text, changes) {
  const objects = objectsOf(text);
  changes.forEach((change) => APPLY[change.change](objects, change));
  return textOf(objects);
}
