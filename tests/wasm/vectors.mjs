// Answers the requests of a file, each after its length: node vectors.mjs roster.wasm FOLDER
import { readFileSync, writeFileSync } from "node:fs";
import { engine } from "../../examples/wasm/node/engine.mjs";

const [module, folder] = process.argv.slice(2);
const { exchange } = engine(readFileSync(module));
const requests = readFileSync(`${folder}/requests`);
const answers = [];
// The seconds that this thread has computed: other work on the machine does not count.
const busy = () => Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e9;
const began = busy();
for (let at = 0; at < requests.length; ) {
  const end = at + 4 + requests.readUInt32LE(at);
  const answer = exchange(requests.subarray(at + 4, end));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(answer.length);
  answers.push(length, answer);
  at = end;
}
console.log(`seconds ${busy() - began}`);
writeFileSync(`${folder}/node`, Buffer.concat(answers));
