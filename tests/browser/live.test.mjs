// The page beside a real cluster: `tests/cluster/page.rs` starts the API server and `roster serve --page-cluster`, and runs this.
//
// ROSTER_URL is the server, KUBECONFIG that of an administrator, and CLUSTER_TOKEN that of a user who may read the namespace shop,
// but for its nodes and HTTPRoutes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { answered, launch, openPage, picture, url } from "./browser.mjs";

const token = process.env.CLUSTER_TOKEN;
let browser, page, complaints;
const asked = [];
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openPage(browser));
  page.on("request", async (request) => asked.push({ url: request.url(), headers: await request.allHeaders() }));
  // The browser does not tell the bodies of its requests: they are Blobs.
  await page.addInitScript(() => {
    window.sent = [];
    const send = window.fetch;
    window.fetch = async (...request) => {
      const body = request[1]?.body;
      if (body) sent.push(await new Blob([body]).text());
      return send(...request);
    };
  });
  await page.goto(`${url}/`);
  await page.waitForSelector("#examples button", { state: "attached" });
  await page.click("#live summary");
});
after(async () => browser?.close());

async function follow(token, namespace) {
  if (!(await page.locator("#follow").isVisible())) await page.click("#other");
  await page.fill("#cluster-token", token);
  await page.fill("#cluster-namespace", namespace);
  await page.keyboard.press("Enter");
}

const fault = (want) => page.waitForFunction((want) => {
  const { hidden, textContent } = document.getElementById("fault");
  return !hidden && new RegExp(want).test(textContent) && textContent;
}, want.source).then((handle) => handle.jsonValue());

const served = (service, text) => page.waitForFunction(([service, text]) => {
  return document.querySelector(`#services [data-service="${service}"] .served`)?.textContent === text;
}, [service, text]);

function setReady(pod, status) {
  const patch = JSON.stringify({ status: { conditions: [{ type: "Ready", status }] } });
  execFileSync("kubectl", ["patch", "pod", pod, "-n", "shop", "--subresource=status", "--type=merge", "-p", patch]);
}

test("a wrong token, and a namespace that the token may not read, have a message", async () => {
  await follow("a-wrong-token", "shop");
  assert.match(await fault(/cannot be followed/), /token/);
  await follow(token, "");
  await fault(/The token may not read the Services of all namespaces\. Enter a namespace/);
  await follow(token, "back");
  await fault(/The token may not read the Services of the namespace back\./);
});

test("the page shows the namespace that the token may read, and no other", async () => {
  await follow(token, "shop");
  await page.waitForSelector("#panel svg");
  const names = await page.locator("#services .name").allInnerTexts();
  assert.deepEqual(names.toSorted(), ["shop/cart", "shop/web"]);
  assert.ok(!/\bback\b.*\bhidden\b/.test(await page.locator("main").innerText()), "nothing of the other namespace");
  await answered(page, () => page.click('[data-service="shop/web"]'));
  assert.match(await page.locator("#panel svg").textContent(), /Ingress.*edge/s);
  const unread = await page.locator("#unread").innerText();
  assert.match(unread, /^Not checked: nodes, namespaces, httproutes \(the token may not read them\)\.$/);
  assert.equal(await page.locator("#fault").isVisible(), false);
  await picture(page, "live");
});

test("a pod that becomes unready changes the picture without a reload, and Back keeps following", async () => {
  await page.evaluate(() => { window.isSame = true; });
  await served("shop/web", "1 of 1");
  setReady("web-0", "False");
  await served("shop/web", "0 of 1");
  await page.waitForFunction(() => /not-ready/.test(document.getElementById("reasons").innerText));
  await answered(page, () => page.click('[data-service="shop/cart"]'));
  setReady("web-0", "True");
  await served("shop/web", "1 of 1");
  await page.goBack();
  await page.waitForSelector('#services [aria-current=true][data-service="shop/web"]');
  assert.match(await page.locator("#lead").innerText(), /gets? traffic/);
  setReady("web-0", "False");
  await served("shop/web", "0 of 1");
  assert.equal(await page.evaluate(() => window.isSame), true);
});

test("a change does not disturb who enters something else, and Back to the result shows it", async () => {
  await page.click("#other");
  setReady("web-0", "True");
  await page.waitForTimeout(1500);
  assert.ok(await page.isVisible("#yaml"));
  await page.click("#back");
  await served("shop/web", "1 of 1");
  assert.equal(await page.isVisible("#yaml"), false);
});

test("the token is in the requests for the cluster, and nowhere else", async () => {
  await page.waitForTimeout(400);
  const kept = await page.evaluate(() => JSON.stringify([
    document.cookie, { ...localStorage }, { ...sessionStorage }, location.href, document.documentElement.outerHTML,
    [...document.querySelectorAll("input, textarea")].map((field) => field.value), history.state,
  ]));
  assert.ok(!kept.includes(token));
  assert.ok(!page.url().includes("#"), "the address does not follow the cluster");
  for (const { url, headers } of asked) {
    const { "roster-cluster-token": header, ...others } = headers;
    assert.equal(header !== undefined, new URL(url).pathname === "/v1/live", url);
    assert.ok(![url, JSON.stringify(others)].some((text) => text.includes(token)), url);
  }
  const sent = await page.evaluate(() => window.sent);
  assert.ok(sent.some((body) => body.includes('\\"kind\\":\\"Service\\"')), "the objects are sent");
  assert.ok(sent.every((body) => !body.includes(token)));
  assert.ok(asked.some(({ headers }) => headers["roster-cluster-token"] === token));
  // The browser notes the answer to the wrong token.
  assert.deepEqual(complaints.filter((complaint) => !/Failed to load resource.* 401/.test(complaint)), []);
});
