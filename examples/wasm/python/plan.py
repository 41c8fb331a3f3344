"""Plans a Service, and prints the addresses and ports that are served: python plan.py roster.wasm shop.yaml shop/catalog"""

import sys

from engine import Engine

module, objects, service = sys.argv[1:]
with open(objects, "rb") as file:
    status, body = Engine(module).ask("endpointslices", f"service={service}", "application/yaml", file.read())
if status != 200:
    sys.exit(body["detail"])
for item in body["items"]:
    for endpoint in item["endpoints"]:
        for port in item["ports"] if endpoint["conditions"]["ready"] else []:
            print(endpoint["addresses"][0], port["port"], port["name"])
