// Plans a Service, and prints the addresses and ports that are served: node plan.mjs roster.wasm shop.yaml shop/catalog
import { readFileSync } from "node:fs";
import { engine } from "./engine.mjs";

const [module, objects, service] = process.argv.slice(2);
const { ask } = engine(readFileSync(module));
const { status, body } = ask("endpointslices", `service=${service}`, "application/yaml", readFileSync(objects, "utf8"));
if (status !== 200) throw new Error(body.detail);
for (const { ports, endpoints } of body.items) {
  for (const { addresses, conditions } of endpoints) {
    if (conditions.ready) ports.forEach(({ name, port }) => console.log(addresses[0], port, name));
  }
}
