// Hostile input: texts with markup, links that are too large, files that cannot be read. The page shows them as text, and goes on.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { isPlayground, launch, openLink as open, openPage, serverOnly, shop, url } from "./browser.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => browser?.close());

const TRICKS = [
  "<img src=x onerror=window.pwned=1>",
  "<script>window.pwned=1</script>",
  "\"><svg onload=window.pwned=1>",
  "javascript:window.pwned=1",
  "</title></svg><iframe src=//evil.example>",
  "a\u202Egpj.exe\u2066\u0007",
  "{{constructor.constructor('window.pwned=1')()}}",
];

// A Service and a pod in which every text is a trick.
function hostile(trick) {
  const text = JSON.stringify(trick);
  return JSON.stringify({
    apiVersion: "v1",
    kind: "List",
    items: [
      { apiVersion: "v1", kind: "Service", metadata: { name: trick, namespace: trick, labels: { [trick]: trick }, annotations: { [trick]: trick } },
        spec: { selector: { [trick]: trick }, trafficDistribution: trick, ports: [{ name: trick, port: 80, targetPort: trick }] } },
      { apiVersion: "v1", kind: "Pod", metadata: { name: trick, namespace: trick, labels: { [trick]: trick } },
        spec: { nodeName: trick, containers: [{ name: trick, ports: [{ name: "http", containerPort: 80 }] }] },
        status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "Ready", status: "False", reason: trick }] } },
      { apiVersion: "v1", kind: "Node", metadata: { name: trick, labels: { "topology.kubernetes.io/zone": trick } } },
      { apiVersion: text, kind: trick, metadata: { name: trick } },
    ],
  });
}

test("tricks in names, labels and values are shown as text", async () => {
  const { page, complaints } = await openPage(browser);
  await page.goto(`${url}/`);
  for (const trick of TRICKS) {
    for (const tab of ["picture", "what-if", "review", "node"]) {
      const changes = [{ change: "pod-label", pod: `${trick}/${trick}`, of: "pod", key: trick, value: trick }];
      const state = { text: hostile(trick), tab, node: trick, filter: "", changes, object: tab === "review" ? hostile(trick) : "" };
      await open(page, deflateRawSync(JSON.stringify(state)).toString("base64url"));
      const found = await page.evaluate(() => ({
        pwned: window.pwned,
        // What only an attack would bring along.
        foreign: [...document.querySelectorAll("main img, main script, main iframe, main a, main [onload], main [onerror], main style, main [style]")].map((e) => e.outerHTML),
        hidden: /[\u202A-\u202E\u2066-\u2069\u0007]/.test(document.querySelector("main").innerText),
        fault: document.getElementById("fault").hidden ? "" : document.getElementById("fault").innerText,
      }));
      assert.equal(await page.locator("#announcement").evaluate((e) => /[\u202A-\u202E\u2066-\u2069\u0007]/.test(e.textContent)), false);
      assert.deepEqual(found, { pwned: undefined, foreign: [], hidden: false, fault: "" }, `${tab} ${trick}`);
    }
    const shown = trick.replaceAll(/[\u202E\u2066\u0007]/g, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
    assert.ok((await page.locator("#services").innerText()).includes(shown), trick);
  }
  assert.deepEqual(complaints, []);
});

test("a link that cannot be opened says why, and the page goes on", async () => {
  const { page, complaints } = await openPage(browser);
  await page.goto(`${url}/`);
  const bomb = deflateRawSync(Buffer.alloc(64 << 20, " ")).toString("base64url");
  for (const [link, want] of [
    [bomb, /expands to more than 8 MB/],
    ["A".repeat((2 << 20) + 1), /longer than 2 MB/],
    ["%3Cscript%3E", /other characters than letters/],
    ["AAAA", /cut off or damaged|does not hold a state/],
    [deflateRawSync("[1").toString("base64url"), /does not hold a state/],
    [deflateRawSync(JSON.stringify({ text: shop })).toString("base64url").slice(0, -40), /cut off or damaged/],
    ["example=no-such-code", /no example named/],
  ]) {
    await page.evaluate((hash) => { location.hash = hash; }, link);
    await page.waitForFunction((want) => new RegExp(want).test(document.getElementById("fault").innerText), want.source);
    assert.ok(await page.locator("#fault").isVisible(), link.slice(0, 40));
    await page.evaluate(() => { document.getElementById("fault").textContent = ""; });
  }
  // Unknown fields and fields of another type are left out; a state that the engine refuses has a message.
  await open(page, deflateRawSync(JSON.stringify({ example: "shop", evil: 1, service: ["x"], __proto__: { a: 1 } })).toString("base64url"));
  await page.waitForSelector("#panel svg");
  await open(page, deflateRawSync(JSON.stringify({ example: "shop", tab: "evil" })).toString("base64url"));
  await page.waitForSelector("#fault:not([hidden])");
  assert.match(await page.locator("#fault").innerText(), /unknown variant `evil`/);
  // The browser notes that a server answers 4xx.
  assert.deepEqual(complaints.filter((complaint) => isPlayground || !complaint.includes("Failed to load resource")), []);
});

test("input that cannot be read has a message with its line", async () => {
  const { page } = await openPage(browser);
  await page.goto(`${url}/`);
  await page.fill("#yaml", "kind: Service\n  metadata: [");
  await page.click("#paste button[type=submit]");
  await page.waitForSelector("#fault:not([hidden])");
  assert.match(await page.locator("#fault").innerText(), /^line 2/);
  await page.fill("#yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n");
  await page.click("#paste button[type=submit]");
  await page.waitForFunction(() => /The input has no Service/.test(document.getElementById("fault").textContent));
  assert.equal(await page.locator("#input").isVisible(), true, "the start screen stays");
});

test("a server with tokens: the page asks for one, and keeps it in memory", serverOnly, async () => {
  const folder = await mkdtemp(`${tmpdir()}/roster-browser-`);
  const token = "a-token-of-the-browser-test";
  await writeFile(`${folder}/tokens`, `${token}\n`, { mode: 0o600 });
  const port = await new Promise((resolve) => {
    const free = createServer().listen(0, "127.0.0.1", () => { const { port } = free.address(); free.close(() => resolve(port)); });
  });
  const base = `http://127.0.0.1:${port}`;
  const server = spawn(process.env.ROSTER ?? "roster", ["serve", "--listen", `127.0.0.1:${port}`, "--token-file", `${folder}/tokens`], { stdio: "ignore" });
  try {
    for (let n = 0; n < 300 && !(await fetch(`${base}/livez`).then((r) => r.ok, () => false)); n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { page, complaints } = await openPage(browser, { base });
    await page.goto(`${base}/`);
    await page.waitForSelector("#token:not([hidden])");
    await page.fill("#bearer", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#fault:not([hidden])");
    await page.fill("#bearer", token);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#token", { state: "hidden" });
    await page.click("[data-start]");
    await page.waitForSelector("#panel svg");
    const kept = await page.evaluate(() => ({ cookie: document.cookie, local: localStorage.length, session: sessionStorage.length, address: location.href }));
    assert.deepEqual([kept.cookie, kept.local, kept.session], ["", 0, 0]);
    assert.ok(!kept.address.includes(token));
    const others = complaints.filter((complaint) => !complaint.includes("401"));
    assert.deepEqual(others, []);
    await page.reload();
    await page.waitForSelector("#token:not([hidden])");
  } finally {
    server.kill();
    await rm(folder, { recursive: true });
  }
});
