"""Teaches schemathesis what the description does not say: what the server accepts besides what callers should send.

The description names what a caller should send, so that clients can be generated from it. The server accepts more, and
answers with findings: a pod that cannot be read, for one, or a list instead of an object. `accepted.json` has the shapes
of all that is accepted, and the tests are made from them. It also says what a schema for generators cannot: that a plan is
about a Service, Endpoints or slices, for one, and that a list has an object that can be read, or none at all. Whatever
fits these shapes must be accepted, and all else refused.
"""

import json
from pathlib import Path

import schemathesis
import yaml

ACCEPTED = json.loads(Path(__file__).with_name("accepted.json").read_text())
# The schema of a body by the name that the description has for it.
BODIES = {
    "PlanRequest": "PlanRequest",
    "ReviewRequest": "ReviewRequest",
    "ViewRequest": "ViewRequest",
    "KubernetesList": "ObjectList",
}
LINES = "application/x-ndjson"
# The object that makes a list of anything acceptable; see `Objects` in accepted.json.
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


@schemathesis.hook
def before_load_schema(ctx, raw_schema):
    schemas = raw_schema["components"]["schemas"]
    schemas.update(ACCEPTED)
    # Every option may be null, but the release, and there are no others.
    for options in (schemas["Options"], schemas["ViewOptions"]):
        options["additionalProperties"] = False
        for name, option in options["properties"].items():
            if name != "compat":
                options["properties"][name] = {"anyOf": [option, {"type": "null"}]}
    # What comes back of an object is what was posted.
    schemas["KubernetesObject"] = {"type": "object"}
    for path, operations in raw_schema["paths"].items():
        for operation in operations.values():
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                content["schema"] = accepted(path, media_type, content["schema"])
            for response in operation["responses"].values():
                if LINES in response.get("content", {}):
                    response["content"][LINES]["schema"] = reference("ClusterLine")


def accepted(path, media_type, schema):
    # What is not an object of Kubernetes is not checked, and counted.
    if path in ("/v1/convert", "/v1/lint"):
        return reference("ConvertRequest")
    if media_type == LINES:
        return reference("ObjectList")
    body = reference(BODIES[schema["$ref"].rsplit("/", 1)[1]])
    # A YAML document without content is null, and not an object of a cluster.
    return {"anyOf": [body, {"type": "null"}]} if (path, media_type) == ("/v1/cluster", "application/yaml") else body


@schemathesis.serializer(LINES)
def to_lines(ctx, value):
    items = value.get("items") if isinstance(value, dict) else None
    # A body without a line is not a list without objects.
    values = items if isinstance(items, list) and items else [value]
    if NODE in values:
        # Whatever else a list has is reported; a line must be an object.
        values = [v for v in values if isinstance(v, dict)]
    return b"".join(json.dumps(v).encode() + b"\n" for v in values)


@schemathesis.deserializer(LINES)
def from_lines(ctx, response):
    # Every line has the same schema; the last one, the summary, tells that the answer is whole.
    return json.loads(response.content.splitlines()[-1])


@schemathesis.deserializer("image/svg+xml")
def from_svg(ctx, response):
    # The document says that it is a text.
    return response.content.decode()


class QuotedDumper(yaml.SafeDumper):
    """Writes every string in quotes: kubectl, and so the server, reads more words as booleans than this library does."""


QuotedDumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


# Schemathesis takes the first serializer of any YAML type, which is that of text/yaml.
@schemathesis.serializer("text/yaml", "application/yaml")
def to_yaml(ctx, value):
    return yaml.dump(value, Dumper=QuotedDumper).encode()
