// The playground: the page as static files, with the module in place of a server. Its worker answers a server's bytes.
//
//   PLAYGROUND=target/playground ROSTER_URL=http://127.0.0.1:8080 node --test tests/browser/playground.test.mjs
//
// The tests of the page, of random states and of hostile input run with PLAYGROUND too.
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { answered, answerText, launch, openPage, recorded, shop, url } from "./browser.mjs";

const EXAMPLES = fileURLToPath(new URL("../../crates/page/examples", import.meta.url));

let browser, page, complaints;
const asked = [];
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openPage(browser));
  page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
  await page.goto(`${url}/`);
  await page.waitForSelector("#examples button", { state: "attached" });
});
after(async () => browser?.close());

// What the worker of the playground answers to states, one after the other.
const textsOf = (states) => page.evaluate(async (bodies) => {
  const worker = new Worker("engine.js");
  const texts = [];
  for (const [id, body] of bodies.entries()) {
    const answer = new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); });
    worker.postMessage({ id, call: "page", body });
    texts.push((await answer).text);
  }
  worker.terminate();
  return texts;
}, states.map((state) => JSON.stringify(state)));

test("the worker answers the bytes of the server", async (t) => {
  const changes = [{ change: "lose-zone", zone: "zone-a" }, { change: "selector", service: "shop/catalog", key: "tier", value: "back" }];
  const states = [{}, { text: "kind: Service\n  metadata: [" }, { text: "kind: ConfigMap" }, { text: shop, tab: "evil" }, { example: "no-such-code" }];
  for (const tab of ["picture", "what-if", "review", "node"]) states.push({ text: shop, tab, changes, service: "shop/catalog" });
  for (const release of ["1.22", "1.33"]) states.push({ text: shop, release, tab: "what-if", against: "1.37" });
  for (const name of await readdir(EXAMPLES)) states.push({ text: await readFile(`${EXAMPLES}/${name}`, "utf8") });
  states.push({ text: await recorded(), tab: "picture" });
  const texts = await textsOf(states);
  for (const [at, state] of states.entries()) {
    const [own, served] = [texts[at], await answerText(state)];
    const about = JSON.stringify(state).slice(0, 200);
    // A problem of the server has the number of the request too.
    if (JSON.parse(served).detail === undefined) assert.ok(own === served, about);
    else assert.equal(JSON.parse(own).detail, JSON.parse(served).detail, about);
  }
  t.diagnostic(`${states.length} states`);
});

test("the page asks for its own files only, and keeps nothing", async () => {
  await answered(page, () => page.click("[data-start]"));
  for (const tab of ["what-if", "review", "node", "picture"]) await answered(page, () => page.click(`#tab-${tab}`));
  const own = ["", "page.css", "picture.css", "page.js", "engine.js", "roster.wasm"].map((name) => `GET ${url}/${name}`);
  assert.deepEqual([...new Set(asked)].toSorted(), own.toSorted());
  assert.equal(await page.locator("#live").isVisible(), false, "there is no cluster to follow");
  assert.match(await page.locator("#where").textContent(), /stay in this browser/);
  const kept = await page.evaluate(async () => [document.cookie, localStorage.length, sessionStorage.length, (await caches.keys()).length]);
  assert.deepEqual(kept, ["", 0, 0, 0]);
  assert.deepEqual(complaints, []);
});
