#!/usr/bin/env python3
"""Every tests/**/*_test.cc must have run at least one test, as GoogleTest's JSON files in --results say. A test file that is in no
binary is found this way."""
import json
import os
from sources import arguments, files, problems, report, root

ran = set()
for result in sorted(arguments.results.glob("*.json")) if arguments.results else ():
    for suite in json.loads(result.read_text()).get("testsuites", ()):
        for test in suite.get("testsuite", ()):
            if test.get("result") == "COMPLETED":
                file = os.path.join(root, "build", test["file"])  # A relative path is one from the build folder.
                ran.add(os.path.relpath(os.path.realpath(file), os.path.realpath(root)))
for path in files("tests/*_test.cc"):
    if path not in ran:
        problems.append(f"{path}:1: no test of this file has run")
report(f"all test files ran ({len(ran)} seen)")
