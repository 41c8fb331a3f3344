// The documentation page, in a real browser that can reach nothing but the server.
//
//   ROSTER_URL=http://127.0.0.1:8080 node --test tests/browser/docs.test.mjs
//
// CHROMIUM names the browser; SCREENSHOTS, if set, a folder for pictures.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, openPage, picture, url } from "./browser.mjs";

let browser, page, complaints;
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openPage(browser));
});

after(async () => browser?.close());

test("the page renders every call, and asks nobody else", async () => {
  await page.goto(`${url}/docs/`);
  await page.waitForSelector(".opblock");
  const paths = await page.locator(".opblock-summary-path").allInnerTexts();
  const document = await (await fetch(`${url}/openapi.json`)).json();
  const plain = paths.map((path) => path.replaceAll("\u200B", "").trim()).sort();
  assert.deepEqual(plain, Object.keys(document.paths).sort());
  assert.equal(await page.locator(".errors-wrapper").count(), 0);
  assert.deepEqual(complaints, []);
  await picture(page, "docs");
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
  await picture(page, "plan");
  assert.deepEqual(complaints, []);
});
