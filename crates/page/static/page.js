// The page of Roster. The engine answers with fragments of HTML, and this script puts them into place: it has no markup and
// decides nothing. It stores nothing, and talks to nobody but the engine.
"use strict";

// The state: what a request and a link hold. Only these fields are taken from a link.
const FIELDS = {
  text: "string", example: "string", service: "string", filter: "string", tab: "string", release: "string",
  changes: "array", against: "string", node: "string", scheme: "string", object: "string",
};
const MAX_FILE = 60 << 20; // bytes of files
const MAX_SHOWN = 200_000; // characters that the text field shows
const MAX_IN_ADDRESS = 1 << 20; // characters of objects for which the address bar follows the state
const MAX_LINK = 2 << 20; // characters of a link
const MAX_EXPANDED = 8 << 20; // bytes that a link expands to

const $ = (id) => document.getElementById(id);
const engine = document.documentElement.dataset.engine;
let state = {};
// The objects as the engine reads them quickest, as a JSON string; null before the first question. Each question needs it: to write
// 5 MB as a string of JSON takes 20 ms, and to send a string takes 20 ms more than to send a Blob.
let quickText = null;
let token = "";
let running = null;

// --- The engine: a server, or a worker with the same calls.

const ask = engine.endsWith(".js") ? workerEngine(engine) : serverEngine(engine);

function serverEngine(path) {
  return async (body, signal) => {
    const headers = { "content-type": "application/json" };
    if (token) headers.authorization = `Bearer ${token}`;
    const response = await fetch(path, { method: "POST", headers, body, signal, credentials: "omit", cache: "no-store" });
    return { status: response.status, answer: await response.json() };
  };
}

// The worker gets {id, call, body}, where the body is a string or a Blob, and answers {id, status, text}.
function workerEngine(path) {
  $("where").textContent = "The objects stay in this browser.";
  $("live").hidden = true;
  const worker = new Worker(path);
  const waiting = new Map();
  let last = 0;
  worker.addEventListener("message", ({ data: { id, status, text } }) => {
    waiting.get(id)?.resolve({ status, answer: JSON.parse(text) });
    waiting.delete(id);
  });
  worker.addEventListener("error", () => {
    for (const { reject } of waiting.values()) reject(new Error("the engine does not run in this browser"));
    waiting.clear();
  });
  return (body, signal) => new Promise((resolve, reject) => {
    const id = ++last;
    waiting.set(id, { resolve, reject });
    signal.addEventListener("abort", () => {
      waiting.delete(id);
      reject(new DOMException("stale", "AbortError"));
    });
    worker.postMessage({ id, call: "page", body });
  });
}

// --- Asking and showing. Only the last question is answered.

async function update(changes = {}) {
  state = { ...state, ...changes };
  running?.abort();
  const mine = (running = new AbortController());
  $("result").setAttribute("aria-busy", "true");
  try {
    const { status, answer } = await ask(requestOf(state), mine.signal);
    if (mine.signal.aborted) return;
    if (status === 401) return askForToken(answer);
    if (status !== 200) return fault(answer.detail ?? answer.title ?? `The engine answers ${status}.`);
    show(answer);
  } catch (error) {
    if (error.name !== "AbortError") fault(`There is no answer: ${error.message}`);
  } finally {
    if (running === mine) $("result").removeAttribute("aria-busy");
  }
}

function requestOf({ text, ...others }) {
  if (text === undefined && !quickText) return JSON.stringify(others);
  quickText ??= new Blob([JSON.stringify(text)]);
  const rest = JSON.stringify(others).slice(1);
  return new Blob([`{"text":`, quickText, rest === "}" ? "" : ",", rest]);
}

function show(answer) {
  if (answer.objects !== undefined) quickText = new Blob([JSON.stringify(answer.objects)]);
  $("fault").hidden = true;
  $("token").hidden = true;
  place("examples", answer.examples);
  if (answer.text !== undefined) fillField(answer.text);
  if (!answer.hasObjects) return;
  Object.assign(state, { service: answer.service, tab: answer.tab, release: answer.release, scheme: answer.scheme });
  if (answer.changes !== undefined) state.changes = answer.changes; // without those that are refused
  place("summary", answer.summary);
  place("services", answer.services);
  for (const button of document.querySelectorAll("#services button")) {
    button.setAttribute("aria-current", String(button.dataset.service === answer.service));
  }
  place("panel", answer.panel);
  place("lead", answer.lead);
  place("reasons", answer.reasons);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isChosen = tab.dataset.tab === answer.tab;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (isChosen) $("panel").setAttribute("aria-labelledby", tab.id);
  }
  $("announcement").textContent = answer.announcement;
  const wasInput = !$("input").hidden;
  showInput(false);
  fitAll();
  if (wasInput) $("lead").focus({ preventScroll: true });
  noteView();
  followInAddress();
}

// Replaces a fragment. The focus stays on what has the same name in the new one.
const placed = new Map();
function place(id, html) {
  if (placed.get(id) === html) return;
  placed.set(id, html);
  const target = $(id);
  const focused = target.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const open = [...target.querySelectorAll("details[id][open]")].map((details) => details.id);
  target.innerHTML = html;
  open.forEach((name) => $(name)?.setAttribute("open", ""));
  if (focused === null) return;
  const same = [...target.querySelectorAll("button, input, select, textarea, summary, [tabindex]")];
  (same.find((element) => nameOf(element) === focused && element.checkVisibility()) ?? target).focus({ preventScroll: true });
}

// Fits a picture into its column, as far as its text can still be read, and scrolls to the last thing that is wrong. A narrow
// column has no room for the whole of it: it scrolls, with text of 10 px.
function fit(picture) {
  const svg = picture.querySelector("svg");
  const { width: natural, height } = svg.viewBox.baseVal;
  const leastScale = picture.clientWidth < 700 ? 0.9 : 0.65;
  const width = Math.max(Math.min(natural, picture.clientWidth), Math.round(natural * leastScale));
  svg.setAttribute("width", width);
  svg.setAttribute("height", Math.round((height * width) / natural));
  const outer = picture.getBoundingClientRect();
  const wrong = [...picture.querySelectorAll(".broken rect, .not-served rect, .partly-served rect")];
  const right = Math.max(0, ...wrong.map((rect) => rect.getBoundingClientRect().right));
  if (right > outer.right) picture.scrollLeft += right - outer.right + 8;
}
const fitAll = () => document.querySelectorAll(".picture").forEach(fit);
window.addEventListener("resize", fitAll);

const nameOf = (element) => element.id || element.dataset.set || element.textContent;

// On a small screen, the list of Services is folded.
const small = matchMedia("(max-width: 55.9rem)");
const foldList = () => { $("list").open = !small.matches; };
small.addEventListener("change", foldList);
foldList();

function showInput(isShown) {
  $("input").hidden = !isShown;
  $("bar").hidden = isShown;
  $("result").hidden = isShown;
  $("back").hidden = !isShown || !hasResult();
  document.body.classList.toggle("has-result", !isShown);
}

const hasResult = () => placed.get("lead") !== undefined;

// Leaves the result for the input. An answer that is still to come would bring the result back, and the address is not its.
function showStart() {
  running?.abort();
  clearTimeout(addressing);
  showInput(true);
}

// Below what the user did: the button of the start, or the bar of a result.
function fault(message) {
  if ($("input").hidden) $("bar").after($("fault"));
  else $("paste").append($("fault"));
  $("fault").textContent = message;
  $("fault").hidden = false;
  $("fault").scrollIntoView({ block: "nearest" });
  $("announcement").textContent = "";
}

function askForToken(answer) {
  $("token").hidden = false;
  if (token) fault(answer.detail ?? "The token is not valid.");
  $("bearer").focus();
}

// --- Input: a text, files, an example.

// A long text would make the field slow. It is in the state.
function fillField(text) {
  $("yaml").value = text.length > MAX_SHOWN ? "" : text;
}

function start(fields) {
  stopFollowing();
  placed.clear();
  quickText = null;
  state = {};
  $("filter").value = "";
  return update(fields);
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function startFiles(files) {
  const list = [...files];
  if (list.length === 0) return;
  if (list.reduce((sum, file) => sum + file.size, 0) > MAX_FILE) {
    return fault("These files have more than 60 MB. Choose fewer objects, such as one namespace.");
  }
  try {
    const texts = await Promise.all(list.map((file) => file.text()));
    // Values of JSON follow each other. Between documents of YAML is a line; JSON with it would be YAML, which may be less long.
    const text = texts.join(texts.length > 1 && texts.every(isJson) ? "\n" : "\n---\n");
    fillField(text);
    await start({ text });
  } catch (error) {
    fault(`A file cannot be read: ${error.message}`);
  }
}

// --- A live cluster: the server streams what the token of the user may see. The token is only in the request.

let following = null;

function stopFollowing() {
  following?.abort();
  following = null;
  showUnread([]);
}

// What the token does not show, in a line: no error, because the rest is shown.
function showUnread(unread) {
  const why = ({ code }) => ({ 403: "the token may not read them", 404: "the cluster has no such kind" })[code] ?? "there is no answer";
  const reasons = [...new Set(unread.map(why))];
  const named = (reason) => unread.filter((one) => why(one) === reason).map(({ resource }) => resource).join(", ");
  const parts = reasons.map((reason) => `${named(reason)} (${reason})`);
  $("unread").textContent = parts.length > 0 ? `Not checked: ${parts.join("; ")}.` : "";
  $("unread").hidden = parts.length === 0;
}

async function follow(clusterToken, namespace) {
  await start({});
  const mine = (following = new AbortController());
  const query = namespace ? `?namespace=${encodeURIComponent(namespace)}` : "";
  const headers = { "roster-cluster-token": clusterToken, ...(token && { authorization: `Bearer ${token}` }) };
  try {
    const options = { headers, signal: mine.signal, credentials: "omit", cache: "no-store" };
    const response = await fetch(`v1/live${query}`, options);
    if (!response.ok) {
      const { detail, title } = await response.json();
      const hint = response.status === 404 ? "start the server with --page-cluster" : (detail ?? title);
      return fault(`The cluster cannot be followed: ${hint}.`);
    }
    const end = await readCluster(response.body.getReader(), mine.signal, namespace);
    if (["time", "stopping"].includes(end?.code)) return await follow(clusterToken, namespace);
    fault(`The cluster is not followed any more: ${end?.why ?? "the connection ended"}.`);
  } catch (error) {
    if (error.name !== "AbortError") fault(`The cluster is not followed any more: ${error.message}.`);
  }
}

// Reads lines of JSON until the last one, and shows the objects after each change.
async function readCluster(reader, signal, namespace) {
  const objects = new Map();
  const keyOf = ({ kind, metadata, namespace = metadata?.namespace, name = metadata?.name }) => JSON.stringify([kind, namespace ?? "", name]);
  const decoder = new TextDecoder();
  let rest = "";
  let isBlind = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || signal.aborted) return null;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    let isChanged = false;
    let last = null;
    for (const line of lines.filter(Boolean)) {
      const { cluster, list, applied = [], deleted = [], unread, end } = JSON.parse(line);
      last ??= end ?? null;
      if (cluster?.release) state.release = cluster.release;
      if (list) objects.clear();
      for (const object of [...(list?.items ?? []), ...applied]) objects.set(keyOf(object), object);
      for (const object of deleted) objects.delete(keyOf(object));
      isChanged ||= list !== undefined || applied.length + deleted.length > 0;
      if (unread) {
        showUnread(unread);
        isBlind = unread.some(({ resource, code }) => resource === "services" && code === 403);
      }
    }
    if (isBlind) {
      const of = namespace ? `of the namespace ${namespace}.` : "of all namespaces. Enter a namespace that it may read.";
      fault(`The token may not read the Services ${of}`);
    } else if (isChanged) {
      quickText = null;
      const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: [...objects.values()] });
      // Who enters something else is not disturbed: the button that leads back asks again.
      if (!$("input").hidden && hasResult()) state = { ...state, text };
      else await update({ text });
    }
    if (last) return last;
  }
}

// --- Links: the state as JSON, deflated, in the letters of base64url.

async function linkOf(fields) {
  const kept = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value.length > 0));
  if (kept.example) delete kept.text;
  const stream = new Blob([JSON.stringify(kept)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function stateOf(link) {
  const example = /^example=([a-z0-9-]{1,80})$/.exec(link);
  if (example) return { example: example[1] };
  if (link.length > MAX_LINK) throw new Error("it is longer than 2 MB");
  if (!/^[A-Za-z0-9_-]+$/.test(link)) throw new Error("it has other characters than letters, digits, - and _");
  const bytes = Uint8Array.from(atob(link.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => { throw new Error("it is cut off or damaged"); });
    if (done) break;
    size += value.length;
    if (size > MAX_EXPANDED) {
      await reader.cancel();
      throw new Error("it expands to more than 8 MB");
    }
    parts.push(value);
  }
  let fields;
  try {
    fields = JSON.parse(await new Blob(parts).text());
  } catch {
    throw new Error("it does not hold a state of this page");
  }
  const kindOf = (value) => (Array.isArray(value) ? "array" : typeof value);
  const isKnown = ([name, value]) => Object.hasOwn(FIELDS, name) && kindOf(value) === FIELDS[name];
  return Object.fromEntries(Object.entries(fields ?? {}).filter(isKnown));
}

let addressing = 0;
function followInAddress() {
  clearTimeout(addressing);
  addressing = setTimeout(async () => {
    // What a cluster has is in a link only if the user asks for one.
    const isShort = !following && (state.example || (state.text ?? "").length <= MAX_IN_ADDRESS);
    const link = isShort ? await linkOf(state) : "";
    history.replaceState(history.state, "", link && link.length <= MAX_LINK ? `#${link}` : location.pathname);
  }, 200);
}

async function copyLink() {
  const link = await linkOf(state);
  if (link.length > MAX_LINK) return fault("The objects are too large for a link: they have more than 2 MB compressed.");
  // The address would lose the link again, if what is shown is new and too long for it.
  clearTimeout(addressing);
  const url = new URL(`#${link}`, location.href);
  history.replaceState(history.state, "", url);
  try {
    await navigator.clipboard.writeText(url.href);
    $("announcement").textContent = "The link is copied. It contains your objects.";
    $("link").textContent = "Copied";
  } catch {
    $("announcement").textContent = "The address of the page is the link.";
    $("link").textContent = "See the address";
  }
  setTimeout(() => { $("link").textContent = "Copy link"; }, 2000);
}

// --- The history of the browser: an entry for each Service and tab. What they hold stays in the memory of the page. A reload
// begins anew: then an entry is opened by its link, if it has one.

const MAX_VIEWS = 200;
const RUN = performance.timeOrigin;
const views = [];
let replaces = true;

function noteView() {
  const last = viewOf(history.state);
  // The objects of a cluster change by themselves.
  const told = following && last?.following === following ? ["service", "tab"] : ["text", "example", "service", "tab"];
  const isNew = told.some((field) => last?.fields[field] !== state[field]);
  const view = { fields: state, quickText, following };
  if (isNew && !replaces) {
    views.push(view);
    delete views[views.length - 1 - MAX_VIEWS];
    history.pushState({ run: RUN, view: views.length - 1 }, "", location.pathname);
  } else if (last) {
    views[history.state.view] = view;
  } else {
    views.push(view);
    history.replaceState({ run: RUN, view: views.length - 1 }, "");
  }
  replaces = false;
}

function viewOf(entry) {
  return entry?.run === RUN ? views[entry.view] : undefined;
}

window.addEventListener("popstate", ({ state: entry }) => {
  const view = viewOf(entry);
  if (view?.following && view.following === following) {
    // What the cluster has now.
    update({ ...view.fields, text: state.text });
    return;
  }
  stopFollowing();
  if (view) {
    quickText = view.quickText;
    state = {};
    update(view.fields);
  } else if (location.hash) {
    replaces = true;
    openLink();
  } else {
    replaces = false;
    showStart();
  }
});

async function openLink() {
  const link = location.hash.slice(1);
  // An anchor of this page, such as that of the skip link.
  if (document.getElementById(link)) return;
  if (!link) {
    replaces = false;
    return update();
  }
  try {
    await start(await stateOf(link));
  } catch (error) {
    if (placed.size === 0) await update();
    fault(`This link cannot be opened: ${error.message}.`);
  }
}

// --- Events. One listener for each kind of event: fragments have no listeners of their own.

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button, [data-set]");
  if (!button) return;
  const { set, start: first, tab, remove } = button.dataset;
  if (set !== undefined) update(JSON.parse(set));
  if (button.dataset.service !== undefined && small.matches) $("list").open = false;
  if (first !== undefined) start(JSON.parse(first));
  if (tab !== undefined) update({ tab });
  if (remove !== undefined) update({ changes: (state.changes ?? []).filter((_, at) => at !== Number(remove)) });
  if (button.id === "other") {
    showStart();
    $("yaml").focus();
  }
  if (button.id === "back") update();
  if (button.id === "link") copyLink();
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.id === "paste") return start({ text: $("yaml").value });
  if (form.id === "follow") {
    const clusterToken = $("cluster-token").value;
    $("cluster-token").value = "";
    return follow(clusterToken, $("cluster-namespace").value.trim());
  }
  if (form.id === "token") {
    token = $("bearer").value;
    $("bearer").value = "";
    return update();
  }
  const fields = Object.fromEntries(new FormData(form));
  if (form.dataset.change) {
    const changes = [...(state.changes ?? []), { change: form.dataset.change, ...fields }];
    update({ changes });
  }
  if (form.dataset.fields !== undefined) update(fields);
});

document.addEventListener("change", ({ target }) => {
  if (target.id === "file") {
    startFiles(target.files);
    target.value = "";
  } else if (target.dataset.field && target.type !== "search") {
    update({ [target.dataset.field]: target.value });
  }
});

let typing = 0;
document.addEventListener("input", ({ target }) => {
  if (target.type !== "search" || !target.dataset.field) return;
  clearTimeout(typing);
  typing = setTimeout(() => update({ [target.dataset.field]: target.value }), 150);
});

document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  const next = tabs[(to + tabs.length) % tabs.length];
  next.focus();
  update({ tab: next.dataset.tab });
});

document.addEventListener("paste", (event) => {
  if (event.target.closest("textarea, input")) return;
  const text = event.clipboardData.getData("text/plain");
  if (text.trim()) {
    event.preventDefault();
    fillField(text);
    start({ text });
  }
});

for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
}
document.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  if (event.dataTransfer.files.length > 0) return startFiles(event.dataTransfer.files);
  const text = event.dataTransfer.getData("text/plain");
  if (text.trim()) start({ text });
});

openLink();
