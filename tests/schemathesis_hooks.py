"""Teaches schemathesis what it does not know: JSON with one value a line, and when not to try every shape."""

import json

import schemathesis

ANYTHING = {"object", "array", "string", "number", "boolean", "null"}


@schemathesis.hook
def before_load_schema(ctx, raw_schema):
    """`anyOf: [Pod, anything]` means anything, and is read as that: the shapes of a Pod are thousands.

    The document keeps both, since a person wants to see the Pod.
    """
    simplify(raw_schema)


def simplify(node):
    if isinstance(node, list):
        for child in node:
            simplify(child)
    if not isinstance(node, dict):
        return
    options = node.get("anyOf")
    if isinstance(options, list) and any(is_anything(option) for option in options):
        del node["anyOf"]
    for child in node.values():
        simplify(child)


def is_anything(schema):
    return isinstance(schema.get("type"), list) and set(schema["type"]) == ANYTHING


@schemathesis.serializer("application/x-ndjson")
def to_lines(ctx, value):
    items = value.get("items") if isinstance(value, dict) else None
    values = items if isinstance(items, list) else [value]
    return b"".join(json.dumps(v).encode() + b"\n" for v in values)


@schemathesis.deserializer("application/x-ndjson")
def from_lines(ctx, response):
    # Every line has the same schema; the last one, the summary, tells that the answer is whole.
    return json.loads(response.content.splitlines()[-1])
