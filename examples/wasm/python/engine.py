"""The engine: takes the name of a call, its query and its body, and gives the answer. See docs/tasks/embed.md."""

import json

import wasmtime


class Engine:
    def __init__(self, path):
        self.store = wasmtime.Store()
        module = wasmtime.Module.from_file(self.store.engine, path)
        exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.memory, self.allocate, self.call = exports["memory"], exports["roster_allocate"], exports["roster_call"]

    def exchange(self, request):
        """A request and an answer are a line of JSON, and then a body."""
        address = self.allocate(self.store, len(request)) & 0xFFFFFFFF
        if address == 0:
            raise ValueError("the request is too long")
        self.memory.write(self.store, request, address)
        answer = self.call(self.store) & 0xFFFFFFFFFFFFFFFF
        start, length = answer >> 32, answer & 0xFFFFFFFF
        return bytes(self.memory.read(self.store, start, start + length))

    def ask(self, call, query, content_type, body):
        head = {"call": call, "query": query, "contentType": content_type}
        head, _, body = self.exchange(json.dumps(head).encode() + b"\n" + body).partition(b"\n")
        return json.loads(head)["status"], json.loads(body)
