#!/usr/bin/env python3
"""Runs the tests that prepare.py has built against the program in EXTERNAL_CONTROLLER: run.py FOLDER

Prints one line for each test and subtest, and at last how many have passed and failed. The logs are in FOLDER/logs.
"""
import json
import os
import subprocess
import sys


def main(folder):
    logs = os.path.join(folder, "logs")
    os.makedirs(logs, exist_ok=True)
    # No etcd listens there, so that the tests start their own.
    environment = dict(os.environ, EXTERNAL_LOGS=logs, KUBE_INTEGRATION_ETCD_URL="http://127.0.0.1:1")
    results = {}
    for package, tests in json.load(open(os.path.join(folder, "tests.json"))).items():
        results.update(run(folder, package, tests, logs, environment))
    for name, result in results.items():
        print(f"{result:<9} {name}")
    passed = sum(result == "pass" for result in results.values())
    print(f"{passed} passed; {len(results) - passed} failed")
    sys.exit(passed != len(results))


def run(folder, package, tests, logs, environment):
    """The result of each test of a package, and of its subtests."""
    name = package.replace("/", "-")
    binary = os.path.join(folder, "bin", name + ".test")
    arguments = [binary, "-test.v=test2json", "-test.timeout=15m", "-test.run", f"^({'|'.join(tests)})$"]
    command = ["go", "tool", "test2json", "-t", "-p", package, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    results = {}
    with open(os.path.join(logs, name + ".log"), "w") as log:
        process = subprocess.Popen(command, cwd=logs, env=environment, **pipes)
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                log.write(line)
                continue
            if event["Action"] == "output":
                log.write(event["Output"])
            elif event.get("Test") and event["Action"] in ("pass", "fail", "skip"):
                results[f"{package}/{event['Test']}"] = event["Action"]
        process.wait()
    return {**{f"{package}/{test}": "no result" for test in tests}, **results}


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
