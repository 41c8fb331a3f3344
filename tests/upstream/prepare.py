#!/usr/bin/env python3
"""Builds Kubernetes' integration tests of the endpoints controllers against an external program: prepare.py FOLDER RELEASE

Copies the test files out of the Go module cache (fetched there if absent), exchanges the import paths of the constructors for
those of shim/, and builds them into FOLDER/bin. FOLDER/tests.json says which tests there are. What was built before from the
same files is not built again.
"""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# What a test builds a controller with.
CONSTRUCTORS = ("endpoint.NewEndpointController(", "endpointslice.NewController(", "endpointslicemirroring.NewController(")
SHIMS = {
    "k8s.io/kubernetes/pkg/controller/endpoint": "endpoint",
    "k8s.io/kubernetes/pkg/controller/endpointslice": "endpointslice",
    "k8s.io/kubernetes/pkg/controller/endpointslicemirroring": "endpointslicemirroring",
    "k8s.io/kubernetes/cmd/kube-apiserver/app/testing": "kubeapiservertesting",
    "k8s.io/kubernetes/test/integration/framework": "framework",
}
FUNCTION = re.compile(r"^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}$", re.M | re.S)


def main(folder, release):
    stamp = f"{release} {sources()}"
    stamp_file = os.path.join(folder, "stamp")
    if os.path.exists(stamp_file) and open(stamp_file).read() == stamp:
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "bin"))
    module = fetch(f"k8s.io/kubernetes@v{release}")
    tests = copy_tests(folder, module["Dir"])
    shutil.copytree(os.path.join(HERE, "shim"), os.path.join(folder, "shim"))
    write_module(folder, module, release)
    environment = dict(os.environ, GOWORK="off", GOFLAGS="-mod=mod -p=2")
    for package in sorted(tests):
        binary = os.path.join("bin", package.replace("/", "-") + ".test")
        arguments = ["go", "test", "-c", "-ldflags", "-s -w", "-o", binary, "./tests/" + package]
        subprocess.run(arguments, cwd=folder, env=environment, check=True)
    with open(os.path.join(folder, "tests.json"), "w") as file:
        json.dump(tests, file)
    with open(stamp_file, "w") as file:
        file.write(stamp)


def sources():
    """The hash of everything here that is built."""
    digest = hashlib.sha256(open(os.path.abspath(__file__), "rb").read())
    for path in sorted(glob.glob(os.path.join(HERE, "shim", "**", "*.go"), recursive=True)):
        digest.update(open(path, "rb").read())
    return digest.hexdigest()


def fetch(module):
    """The folder of a module."""
    environment = dict(os.environ, GOFLAGS="")
    told = subprocess.run(["go", "mod", "download", "-json", module], cwd="/", env=environment, capture_output=True, text=True)
    answer = json.loads(told.stdout or "{}")
    if "Dir" not in answer:
        sys.exit(answer.get("Error") or told.stderr)
    return answer


def copy_tests(folder, module):
    """Copies the packages in which a test builds one of the controllers. Returns the names of these tests by package."""
    tests = {}
    root = os.path.join(module, "test", "integration")
    for path in sorted(glob.glob(root + "/**/*_test.go", recursive=True)):
        text = open(path).read()
        functions = [(name, body) for name, body in FUNCTION.findall(text) if any(c in body for c in CONSTRUCTORS)]
        if sum(text.count(c) for c in CONSTRUCTORS) != sum(body.count(c) for _, body in functions for c in CONSTRUCTORS):
            sys.exit(f"{path} builds a controller outside its Test functions")
        if functions:
            package = os.path.relpath(os.path.dirname(path), root)
            tests.setdefault(package, []).extend(name for name, _ in functions)
    for package in tests:
        target = os.path.join(folder, "tests", package)
        os.makedirs(target)
        for path in glob.glob(os.path.join(root, package, "*.go")):
            text = open(path).read()
            for upstream, shim in SHIMS.items():
                text = text.replace(f'"{upstream}"', f'"upstream/shim/{shim}"')
            with open(os.path.join(target, os.path.basename(path)), "w") as file:
                file.write(text)
    return tests


def write_module(folder, module, release):
    """A module with the release's own versions of everything."""
    text = open(module["GoMod"]).read()
    staging = "v0." + release.split(".", 1)[1]
    required = re.findall(r"^\t(\S+) (v\S+)", text, re.M)
    required = [(name, version) for name, version in required if not name.startswith("k8s.io/") or version != "v0.0.0"]
    staged = sorted(set(re.findall(r"^\s*(k8s\.io/[\w.-]+) => \./staging", text, re.M)))
    with open(os.path.join(folder, "go.mod"), "w") as file:
        file.write(f"module upstream\n\ngo {re.search(r'^go (.+)$', text, re.M).group(1)}\n\n")
        file.write(f"require k8s.io/kubernetes v{release}\n\nrequire (\n")
        file.writelines(f"\t{name} {version}\n" for name, version in required)
        file.write(")\n\nreplace (\n")
        file.writelines(f"\t{name} => {name} {staging}\n" for name in staged)
        file.write(")\n")
    sums = os.path.join(folder, "go.sum")
    shutil.copy(os.path.join(module["Dir"], "go.sum"), sums)
    os.chmod(sums, 0o644)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
