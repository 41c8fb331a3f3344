// The engine of the playground: a worker that answers the page with roster.wasm, as a server does. The page sends
// {id, call, body} and gets {id, status, text}. The body is a string or a Blob.
"use strict";

const compiled = fetch("roster.wasm").then(async (response) => {
  if (!response.ok) throw new Error(`roster.wasm: ${response.status}`);
  // Any web server will do, so its media type does not count.
  return WebAssembly.compile(await response.arrayBuffer());
});
let instance = null;

async function bytesOf({ call, body }) {
  const head = JSON.stringify({ call, contentType: "application/json" });
  return new Uint8Array(await new Blob([head, "\n", body]).arrayBuffer());
}

async function answer(request) {
  instance ??= await WebAssembly.instantiate(await compiled);
  const { memory, roster_allocate, roster_call, roster_free } = instance.exports;
  const address = roster_allocate(request.length) >>> 0;
  if (address === 0) return { status: 413, text: JSON.stringify({ detail: "The objects are too large." }) };
  new Uint8Array(memory.buffer, address, request.length).set(request);
  const place = BigInt.asUintN(64, roster_call());
  const bytes = new Uint8Array(memory.buffer, Number(place >> 32n), Number(place & 0xffffffffn));
  const end = bytes.indexOf(10);
  const read = (part) => new TextDecoder().decode(part);
  const { status } = JSON.parse(read(bytes.subarray(0, end)));
  const text = read(bytes.subarray(end + 1));
  roster_free();
  return { status, text };
}

// The page waits for its last question only.
let last = null;
let isAnswering = false;
self.addEventListener("message", ({ data }) => {
  last = data;
  if (!isAnswering) setTimeout(answerLast);
  isAnswering = true;
});

async function answerLast() {
  while (last !== null) {
    const { id, ...question } = last;
    last = null;
    try {
      const request = await bytesOf(question);
      if (last !== null) continue;
      self.postMessage({ id, ...(await answer(request)) });
    } catch (error) {
      // After a trap, nothing holds in the memory of the instance.
      instance = null;
      self.postMessage({ id, status: 500, text: JSON.stringify({ detail: `The engine stopped: ${error.message}` }) });
    }
  }
  isAnswering = false;
}
