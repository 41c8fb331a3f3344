"""Teaches schemathesis the one format it does not know: JSON, one value a line."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def to_lines(ctx, value):
    items = value.get("items") if isinstance(value, dict) else None
    values = items if isinstance(items, list) else [value]
    return b"".join(json.dumps(v).encode() + b"\n" for v in values)


@schemathesis.deserializer("application/x-ndjson")
def from_lines(ctx, response):
    # Every line has the same schema; the last one, the summary, tells that the answer is whole.
    return json.loads(response.content.splitlines()[-1])
