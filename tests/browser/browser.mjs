// A headless browser that can reach nothing but the server, and what its pages complain about.
import { execFile } from "node:child_process";
import { access, constants, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

export const url = process.env.ROSTER_URL ?? "http://127.0.0.1:8080";
// The program, which is asked the same questions.
const program = process.env.ROSTER ?? "roster";
export const shop = await readFile(fileURLToPath(new URL("../../examples/shop.yaml", import.meta.url)), "utf8");

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
  page.on("request", (request) => {
    const target = request.url();
    if (![base, "data:", "blob:"].some((known) => target.startsWith(known))) complaints.push(`asks ${target}`);
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  return { page, complaints };
}

export async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, fullPage: true });
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

// What the engine answers to a state of the page.
export async function answer(state) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/page`, { method: "POST", headers, body: JSON.stringify(state) });
  return response.json();
}
