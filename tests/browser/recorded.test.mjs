// The page with the recorded cluster: 190 Services and 1 285 pods of a real API server, 5 MB of JSON.
//
//   ROSTER_URL=http://127.0.0.1:8080 ROSTER=target/debug/roster node --test tests/browser/recorded.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, drop, launch, openPage, picture, recorded, roster, url } from "./browser.mjs";

let browser, page, complaints, text, explained;
before(async () => {
  text = await recorded();
  explained = await roster("explain", text, "-A");
  browser = await launch();
  ({ page, complaints } = await openPage(browser));
  await page.goto(`${url}/`);
  await page.waitForSelector("#examples button", { state: "attached" });
});
after(async () => browser?.close());

const titleOf = ({ service: { namespace, name } }) => `${namespace}/${name}`;
const chosen = () => page.locator("#services [aria-current=true]").getAttribute("data-service");
const current = (service) => page.waitForSelector(`#services [aria-current=true][data-service="${service}"]`);

// Clicks on something, and returns after how many milliseconds the answer is drawn.
async function click(selector) {
  await page.evaluate((selector) => {
    const result = document.getElementById("result");
    const began = performance.now();
    document.querySelector(selector).click();
    window.took = new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (result.hasAttribute("aria-busy")) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
      });
      watch.observe(result, { attributeFilter: ["aria-busy"] });
    });
  }, selector);
  return Math.round(await page.evaluate(() => window.took));
}

test("dropped on the page, it becomes a picture and a list, problems first, with the totals of the command line", async (t) => {
  const took = await drop(page, text, "cluster.json");
  t.diagnostic(`${(text.length / 1e6).toFixed(1)} MB: the picture is there after ${Math.round(took)} ms`);
  await picture(page, "recorded");
  const lines = await page.evaluate(() => [...document.querySelectorAll("#services button")].map((button) => ({
    title: button.dataset.service, class: button.className, served: button.querySelector(".served").textContent,
  })));
  assert.equal(lines.length, 190);
  assert.deepEqual(lines.map(({ title }) => title).sort(), explained.items.map(titleOf).sort());
  const ranks = lines.map((line) => ["error", "warning", "info", "ok"].indexOf(line.class));
  assert.deepEqual(ranks, ranks.toSorted(), "problems first");
  const totals = { podPorts: 0, served: 0, staleAddresses: 0 };
  for (const { served } of lines) {
    const [, ready, all, stale] = /^(\d+) of (\d+)(?: pod ports)?(?:, (\d+) stale)?$/.exec(served) ?? [0, 0, 0, 0];
    totals.served += Number(ready);
    totals.podPorts += Number(all);
    totals.staleAddresses += Number(stale ?? 0);
  }
  const { podPorts, served, staleAddresses, services } = explained.summary;
  assert.deepEqual({ ...totals, services: lines.length }, { podPorts, served, staleAddresses, services });
  assert.match(await page.locator("#summary").innerText(), /^190 Services, .*; 1285 pods, 8 nodes/);
  assert.deepEqual(complaints, []);
});

test("each interaction answers, and Back leads to what was shown before", async (t) => {
  const first = await chosen();
  const most = explained.items.toSorted((a, b) => b.summary.pods * b.summary.ports - a.summary.pods * a.summary.ports)[0];
  const service = await click(`[data-service="${titleOf(most)}"]`);
  assert.equal(await chosen(), titleOf(most));
  assert.match(await page.locator("#lead h2").innerText(), new RegExp(most.service.name));
  const took = {};
  for (const tab of ["what-if", "review", "node", "picture"]) {
    took[tab] = await click(`#tab-${tab}`);
    assert.equal(await page.locator(`#tab-${tab}`).getAttribute("aria-selected"), "true");
  }
  await click("#tab-what-if");
  await page.evaluate(() => { document.querySelector("details.change").open = true; });
  took["lose-zone"] = await click("#lose-zone");
  assert.match(await page.locator(".outcome").innerText(), /Before: .*After: /s);
  t.diagnostic(`another Service after ${service} ms, and after ${Object.entries(took).map(([what, ms]) => `${what} ${ms} ms`).join(", ")}`);
  for (const tab of ["picture", "node", "review", "what-if", "picture"]) {
    await page.goBack();
    await page.waitForSelector(`#tab-${tab}[aria-selected=true]`);
  }
  assert.equal(await chosen(), titleOf(most));
  await page.goBack();
  await current(first);
  assert.deepEqual(complaints, []);
});

test("a link to it is made when it is asked for, and leads to the same view", async () => {
  const title = titleOf(explained.items.find(({ summary }) => summary.served > 0));
  await click(`[data-service="${title}"]`);
  await page.waitForTimeout(400);
  assert.ok(!page.url().includes("#"), "the address does not follow 5 MB");
  await answered(page, () => page.click("#tab-node"));
  await page.click("#link");
  await page.waitForFunction(() => location.hash.length > 1);
  const link = page.url();
  const other = await openPage(browser);
  await other.page.goto(link);
  await other.page.waitForSelector("#tab-node[aria-selected=true]");
  for (const id of ["services", "lead", "panel", "reasons"]) {
    const [here, there] = await Promise.all([page, other.page].map((one) => one.locator(`#${id}`).innerHTML()));
    assert.ok(here === there, id);
  }
  assert.deepEqual([...complaints, ...other.complaints], []);
});
