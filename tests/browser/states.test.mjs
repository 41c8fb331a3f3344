// Random states of the page: what the page shows of a link is what the server answers to its state, and what the command line says.
//
//   ROSTER_URL=http://127.0.0.1:8080 ROSTER=target/debug/roster STATES=1000 SEED=1 node --test tests/browser/states.test.mjs
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { changed, objectsOf } from "./changes.mjs";
import { answer, launch, openLink, openPage, roster, shop, url } from "./browser.mjs";

const STATES = Number(process.env.STATES ?? 60);
const SEED = Number(process.env.SEED ?? 1);
const MAX_ROWS = 200;
const EXAMPLES = fileURLToPath(new URL("../../crates/page/examples", import.meta.url));

let browser, page, complaints;
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openPage(browser));
  await page.goto(`${url}/`);
  await page.waitForSelector("#examples button", { state: "attached" });
});
after(async () => browser?.close());

// Mulberry32: the same states for the same seed.
let seed = SEED;
function random(n) {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}
const oneOf = (list) => list[random(list.length)];
const release = () => `1.${22 + random(16)}`;

const linkOf = (state) => deflateRawSync(JSON.stringify(state)).toString("base64url");
const stateOf = (link) => JSON.parse(inflateRawSync(Buffer.from(link, "base64url")));

const CHANGES = [
  ({ pods }) => ({ change: "pod-readiness", pod: oneOf(pods), to: oneOf(["ready", "not-ready"]) }),
  ({ nodes }) => ({ change: "drain-node", node: oneOf(nodes) }),
  ({ zones }) => ({ change: "lose-zone", zone: oneOf(zones) }),
  ({ pods }) => ({ change: "pod-label", pod: oneOf(pods), of: oneOf(["pod", "owner"]), key: oneOf(["app", "tier"]), value: oneOf(["backend", "web", ""]) }),
  ({ service }) => ({ change: "selector", service, key: oneOf(["app", "tier"]), value: oneOf(["back", "web", ""]) }),
  ({ service }) => ({ change: "target-port", service, port: oneOf(["http", "metrics", "80"]), target: oneOf(["http", "metrics", "8080", "9"]) }),
  ({ service }) => ({ change: "traffic-distribution", service, value: oneOf(["PreferClose", "PreferSameZone", "PreferSameNode", ""]) }),
];

// What there is to choose from in a text.
function choicesOf(text) {
  const objects = objectsOf(text);
  const names = (kind) => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata);
  const titles = (kind) => names(kind).map(({ namespace = "default", name }) => `${namespace}/${name}`);
  const nodes = names("Node");
  const zones = nodes.map(({ labels }) => labels?.["topology.kubernetes.io/zone"]).filter(Boolean);
  return { services: titles("Service"), pods: titles("Pod"), nodes: nodes.map(({ name }) => name), zones };
}

function randomState(text) {
  const { services, ...choices } = choicesOf(text);
  const service = services.length > 0 ? oneOf(services) : "";
  const state = { text, service, tab: oneOf(["picture", "what-if", "what-if", "review", "node"]), release: release(), scheme: "kube-proxy" };
  if (random(4) === 0) state.filter = oneOf(["shop", "a", "nothing"]);
  if (choices.nodes.length > 0) state.node = oneOf(choices.nodes);
  if (service && state.tab === "what-if") {
    const possible = CHANGES.filter((_, at) => at > 3 || [choices.pods, choices.nodes, choices.zones, choices.pods][at].length > 0);
    state.changes = Array.from({ length: random(4) }, () => oneOf(possible)({ ...choices, service }));
    if (random(3) === 0) state.against = release();
  }
  return state;
}

async function examples() {
  // What cannot be read as it is written cannot be changed as objects.
  const broken = ["duplicate-key.yaml", "invalid-object.yaml", "missing-separator.yaml"];
  const files = (await readdir(EXAMPLES)).filter((name) => name.endsWith(".yaml") && !broken.includes(name));
  return Promise.all(files.map((name) => readFile(`${EXAMPLES}/${name}`, "utf8")));
}

// What is shown, compared with the fragments; and what of the pictures is not as it must be.
async function faultsOf(fragments) {
  return page.evaluate((fragments) => {
    const faults = [];
    for (const [id, html] of Object.entries(fragments)) {
      const template = document.createElement("template");
      template.innerHTML = html;
      const shown = document.getElementById(id).cloneNode(true);
      // The script sets the size of pictures, and marks the Service that is shown.
      shown.querySelectorAll("button[aria-current]").forEach((button) => button.removeAttribute("aria-current"));
      shown.querySelectorAll(".picture svg").forEach((svg) => {
        svg.setAttribute("width", svg.viewBox.baseVal.width);
        svg.setAttribute("height", svg.viewBox.baseVal.height);
      });
      if (shown.innerHTML !== template.innerHTML) faults.push(`${id} is not what the engine answers`);
    }
    for (const svg of document.querySelectorAll(".picture svg")) {
      const text = new XMLSerializer().serializeToString(svg);
      if (new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")) faults.push("not SVG");
      const [width, height] = svg.getAttribute("viewBox").split(" ").slice(2).map(Number);
      for (const label of svg.querySelectorAll("text")) {
        const box = label.getBBox();
        const of = label.parentElement.querySelector(":scope > rect.box");
        const name = JSON.stringify(label.textContent);
        if (of) {
          const outer = of.getBBox();
          const fits = box.x >= outer.x && box.y >= outer.y && box.x + box.width <= outer.x + outer.width + 0.5 && box.y + box.height <= outer.y + outer.height + 0.5;
          if (!fits) faults.push(`${name} does not fit its box: ${box.x + box.width} > ${outer.x + outer.width}, ${box.y + box.height} > ${outer.y + outer.height}`);
        } else if (box.x + box.width > width || box.y + box.height > height) {
          faults.push(`${name} does not fit the drawing`);
        }
      }
    }
    return faults;
  }, fragments);
}

// The pod ports that the page calls served and not served.
async function podsShown() {
  return page.evaluate(() => [...document.querySelectorAll("#reasons .pods li")].map((row) => {
    const port = row.querySelector("small")?.textContent.trim().split(" → ")[0].split(" ").at(-1) ?? "";
    return `${row.querySelector(".pod").textContent} ${port} ${row.querySelector("b").className === "ok"}`;
  }).sort());
}

function podsOf({ items: [{ rows }] }) {
  const isShown = rows.every((row) => row.scope === "Endpoints") ? () => true : (row) => row.scope !== "Endpoints";
  return rows.filter(isShown).map((row) => `${row.pod} ${row.port?.port ?? ""} ${row.served}`).sort();
}

async function check(state) {
  const about = JSON.stringify({ ...state, text: state.text.slice(0, 60) });
  await openLink(page, linkOf(state));
  const answered = await answer(state);
  const { summary, services, lead, panel, reasons } = answered;
  assert.deepEqual(await faultsOf({ summary, services, lead, panel, reasons }), [], about);
  if (state.service && ["picture", "what-if"].includes(state.tab)) {
    const text = changed(state.text, state.changes ?? []);
    const said = await roster("explain", text, state.service, "--compat", state.against ?? state.release);
    const [shown, expected] = [await podsShown(), podsOf(said)];
    // A long list ends early.
    if (expected.length > MAX_ROWS) assert.deepEqual(shown.filter((row) => !expected.includes(row)), [], about);
    else assert.deepEqual(shown, expected, about);
  }
  return answered;
}

test("each kind of change does what the command line says of the changed objects", async () => {
  const choices = { ...choicesOf(shop), service: "shop/catalog" };
  for (const change of CHANGES) {
    const state = { text: shop, service: "shop/catalog", tab: "what-if", release: "1.37", scheme: "kube-proxy", changes: [change(choices)] };
    await check(state);
  }
  await check({ text: shop, service: "shop/web", tab: "what-if", release: "1.37", scheme: "kube-proxy", against: "1.22" });
  assert.deepEqual(complaints, []);
});

test("random states: a link leads to the same state, pictures are sound, and the command line agrees", async (t) => {
  const texts = await examples();
  for (let n = 0; n < STATES; n += 1) {
    const state = randomState(random(2) === 0 ? shop : oneOf(texts));
    const { changes } = await check(state);
    if (n % 10 === 0) {
      await page.waitForTimeout(400);
      const kept = stateOf(await page.evaluate(() => location.hash.slice(1)));
      // Changes that are refused are not kept.
      const filled = Object.entries({ ...state, ...(changes && { changes }) }).filter(([, value]) => value.length > 0);
      assert.deepEqual(kept, { ...Object.fromEntries(filled), service: kept.service }, "the address follows the state");
    }
  }
  t.diagnostic(`${STATES} states from seed ${SEED}`);
  assert.deepEqual(complaints, []);
});
