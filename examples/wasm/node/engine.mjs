// The engine: takes the name of a call, its query and its body, and gives the answer. See docs/tasks/embed.md.
export function engine(module) {
  const { memory, roster_allocate, roster_call } = new WebAssembly.Instance(new WebAssembly.Module(module)).exports;

  // A request and an answer are a line of JSON, and then a body.
  const exchange = (request) => {
    const address = roster_allocate(request.length) >>> 0;
    if (address === 0) throw new Error("the request is too long");
    new Uint8Array(memory.buffer, address, request.length).set(request);
    const answer = BigInt.asUintN(64, roster_call());
    return Buffer.from(new Uint8Array(memory.buffer, Number(answer >> 32n), Number(answer & 0xffffffffn)));
  };
  const ask = (call, query, contentType, body) => {
    const answer = exchange(Buffer.from(`${JSON.stringify({ call, query, contentType })}\n${body}`));
    const end = answer.indexOf("\n");
    return { ...JSON.parse(answer.subarray(0, end)), body: JSON.parse(answer.subarray(end + 1)) };
  };
  return { exchange, ask };
}
