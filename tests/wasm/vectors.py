"""Answers the requests of a file, each after its length: python vectors.py roster.wasm FOLDER"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/wasm/python"))
from engine import Engine

engine, folder = Engine(sys.argv[1]), pathlib.Path(sys.argv[2])
requests, at, answers = (folder / "requests").read_bytes(), 0, bytearray()
# The time in which this thread computes: other work on the machine does not count.
began = time.thread_time()
while at < len(requests):
    end = at + 4 + int.from_bytes(requests[at : at + 4], "little")
    answer = engine.exchange(requests[at + 4 : end])
    answers += len(answer).to_bytes(4, "little") + answer
    at = end
print(f"seconds {time.thread_time() - began}")
(folder / "python").write_bytes(answers)
