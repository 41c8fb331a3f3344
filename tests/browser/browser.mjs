// A headless browser that can reach nothing but the server, and what its pages complain about.
import { execFile } from "node:child_process";
import { access, constants, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { serveFolder } from "./static_server.mjs";

// The server that answers, and where the page comes from: from the server too, or from the folder of the playground.
export const serverUrl = process.env.ROSTER_URL ?? "http://127.0.0.1:8080";
export const isPlayground = Boolean(process.env.PLAYGROUND);
const opened = [];
const stray = (what) => opened.forEach((complaints) => complaints.push(what));
export const url = isPlayground ? await serveFolder(process.env.PLAYGROUND, stray) : serverUrl;
// For a test of what only a server does.
export const serverOnly = { skip: isPlayground && "the playground has no server" };
// The program, which is asked the same questions.
const program = process.env.ROSTER ?? "roster";
const fileOf = (path) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
export const shop = (await fileOf("examples/shop.yaml")).toString();
// The recorded cluster: 190 Services, 1 285 pods.
export const recorded = async () => gunzipSync(await fileOf("tests/data/cluster/recorded.json.gz")).toString();

// Without these the browser asks its maker's servers for updates, and waits for answers.
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // Nothing is reached but loopback.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

// playwright-core wants a path, not a name.
async function programPath(name) {
  if (name.includes("/")) return name;
  for (const folder of (process.env.PATH ?? "").split(":")) {
    const path = `${folder}/${name}`;
    if (await access(path, constants.X_OK).then(() => true, () => false)) return path;
  }
  throw new Error(`${name} is not installed`);
}

export async function launch() {
  return chromium.launch({ executablePath: await programPath(process.env.CHROMIUM ?? "chromium"), args, headless: true });
}

// A page that notes what it asks elsewhere, and what it complains about.
export async function openPage(browser, options = {}) {
  const { base = url, ...others } = options;
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, ...others });
  // A page takes seconds beside other tests: this only bounds one that never comes.
  page.setDefaultTimeout(180_000);
  const complaints = [];
  opened.push(complaints);
  page.on("request", (request) => {
    const target = request.url();
    if (![base, "data:", "blob:"].some((known) => target.startsWith(known))) complaints.push(`asks ${target}`);
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  return { page, complaints };
}

// Does something that asks the engine, and waits until its answer is shown, or why there is none.
export async function answered(page, action) {
  const shown = await page.evaluateHandle(() => {
    const result = document.getElementById("result");
    const done = new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error("there is no answer after a minute")), 60_000);
      const look = (_, observer) => {
        if (result.hasAttribute("aria-busy")) return;
        observer.disconnect();
        resolve();
      };
      new MutationObserver(look).observe(result, { attributeFilter: ["aria-busy"] });
    });
    return { done };
  });
  await action();
  await shown.evaluate(({ done }) => done);
}

// Opens a link in a page that is there.
export async function openLink(page, link) {
  await answered(page, () => page.evaluate((hash) => { location.hash = hash; }, link));
}

// Drops a file on the page, and returns after how many milliseconds the picture is there.
export async function drop(page, text, name = "cluster.yaml") {
  return page.evaluate(async ([text, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    const fault = document.getElementById("fault");
    const drawn = new Promise((resolve, reject) => {
      const watch = new MutationObserver(() => {
        if (document.querySelector("#panel svg")) resolve(performance.now());
        if (!fault.hidden) reject(new Error(fault.textContent));
      });
      watch.observe(document.getElementById("panel"), { childList: true, subtree: true });
      watch.observe(fault, { attributeFilter: ["hidden"] });
    });
    const began = performance.now();
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    return (await drawn) - began;
  }, [text, name]);
}

export async function picture(page, name) {
  if (process.env.SCREENSHOTS && !isPlayground) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, fullPage: true });
}

// What the program prints about a text.
export async function roster(command, text, ...more) {
  const folder = await mkdtemp(`${tmpdir()}/roster-browser-`);
  try {
    await writeFile(`${folder}/input.yaml`, text);
    const options = { maxBuffer: 256 << 20 };
    const asked = [command, "-f", `${folder}/input.yaml`, "-o", "json", ...more];
    // 1 means that there are findings.
    const run = promisify(execFile)(program, asked, options);
    const { stdout } = await run.catch((error) => (error.code === 1 ? error : Promise.reject(error)));
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

// What the server answers to a state of the page, as text and as a value.
export async function answerText(state) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${serverUrl}/v1/page`, { method: "POST", headers, body: JSON.stringify(state) });
  return response.text();
}

export const answer = async (state) => JSON.parse(await answerText(state));
