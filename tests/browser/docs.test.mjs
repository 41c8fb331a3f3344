// The documentation page, in a real browser that can reach nothing but the server.
//
//   ROSTER_URL=http://127.0.0.1:8080 node --test tests/browser/docs.test.mjs
//
// CHROMIUM names the browser; SCREENSHOTS, if set, a folder for pictures.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const url = process.env.ROSTER_URL ?? "http://127.0.0.1:8080";
const executablePath = await programPath(process.env.CHROMIUM ?? "chromium");
// Without these the browser asks its maker's servers for updates, and waits for answers.
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

let browser, page;
const elsewhere = [];
const complaints = [];

// playwright-core wants a path, not a name.
async function programPath(name) {
  if (name.includes("/")) return name;
  const { access, constants } = await import("node:fs/promises");
  for (const folder of (process.env.PATH ?? "").split(":")) {
    const path = `${folder}/${name}`;
    if (await access(path, constants.X_OK).then(() => true, () => false)) return path;
  }
  throw new Error(`${name} is not installed`);
}

async function picture(name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` });
}

before(async () => {
  browser = await chromium.launch({ executablePath, args, headless: true });
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  // Drawing the page takes seconds, and a minute beside other tests: this only bounds a page that never comes.
  page.setDefaultTimeout(180_000);
  await page.route("**/*", (route) => {
    const target = route.request().url();
    if (target.startsWith(url) || target.startsWith("data:") || target.startsWith("blob:")) return route.continue();
    elsewhere.push(target);
    return route.abort();
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
});

after(async () => browser?.close());

test("the page renders every call, and asks nobody else", async () => {
  await page.goto(`${url}/`);
  await page.waitForSelector(".opblock");
  const paths = await page.locator(".opblock-summary-path").allInnerTexts();
  const document = await (await fetch(`${url}/openapi.json`)).json();
  const plain = paths.map((path) => path.replaceAll("\u200B", "").trim()).sort();
  assert.deepEqual(plain, Object.keys(document.paths).sort());
  assert.equal(await page.locator(".errors-wrapper").count(), 0);
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(complaints, []);
  await picture("docs");
});

test("Try it out: the example of /v1/plan answers 200", async () => {
  const call = page.locator(".opblock-post", { has: page.locator('[data-path="/v1/plan"]') });
  await call.locator(".opblock-summary-control").click();
  const [answer] = await Promise.all([
    page.waitForResponse((r) => r.url().startsWith(`${url}/v1/plan`) && r.request().method() === "POST"),
    call.locator("button.execute").click(),
  ]);
  assert.equal(answer.status(), 200);
  const plan = await answer.json();
  assert.equal(plan.endpoints.action, "create");
  assert.deepEqual(plan.endpoints.object.subsets.flatMap((s) => (s.addresses ?? []).map((a) => a.ip)), ["10.0.1.5"]);
  const shown = call.locator(".live-responses-table tbody .response-col_status").first();
  await shown.waitFor();
  assert.match(await shown.innerText(), /200/);
  await call.locator(".live-responses-table").first().scrollIntoViewIfNeeded();
  await picture("plan");
  assert.deepEqual(elsewhere, []);
});
