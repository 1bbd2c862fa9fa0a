"""Counts what ran in scripts/test.sh: prints "PASSED FAILED SKIPPED" to stdout and names each failed or skipped test on stderr,
those that failed last, where they are read first.

    python3 count_tests.py RESULTS

RESULTS holds GoogleTest's *.json, one for each test binary or its shard; ctest's *.xml (JUnit), which also know the binaries that crashed
or never ran; and *.tsv, lines `pass|fail|skip <tab> name` with perhaps a tab and seconds, for everything else. Folders in RESULTS hold
the same of further runs of the same programs, such as those under a sanitizer; their names stand behind the tests'.
"""
import json
import sys
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path


def google_test_outcomes(path):
    try:
        suites = json.loads(path.read_text()).get("testsuites", ())
    except json.JSONDecodeError:
        yield "fail", f"{path.name}: found no whole JSON, as a test program writes at its end"
        return
    for suite in suites:
        for test in suite.get("testsuite", ()):
            if test.get("status") == "RUN":
                outcome = "fail" if test.get("failures") else "skip" if test.get("result") == "SKIPPED" else "pass"
                yield outcome, f"{suite['name']}.{test['name']}"


def ctest_outcomes(path, counted):
    """Test programs whose failures no JSON file explains: a crash, a time-out, a program that is not GoogleTest's."""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        passed, failed = counted.get(f"tessera_{case.get('name')}_tests", (0, 0))
        if case.get("status") == "run":
            if passed + failed == 0:
                yield "pass", case.get("name")
        elif failed == 0:
            yield "fail", f"{case.get('name')}: the test program crashed, ran out of time or did not start"


def outcomes(results):
    counted = {}
    for path in sorted(results.glob("*.json")):
        found = list(google_test_outcomes(path))
        counted[path.stem] = (len([1 for outcome, _ in found if outcome != "fail"]), len([1 for outcome, _ in found if outcome == "fail"]))
        yield from found
    for path in sorted(results.glob("*.xml")):
        yield from ctest_outcomes(path, counted)
    for path in sorted(results.glob("*.tsv")):
        yield from (line.split("\t")[:2] for line in path.read_text().splitlines())


def main(results):
    count = Counter()
    failed = []
    for folder in (Path(results), *sorted(path for path in Path(results).iterdir() if path.is_dir())):
        run = f" ({folder.name})" if folder != Path(results) else ""
        for outcome, name in outcomes(folder):
            count[outcome] += 1
            if outcome == "skip":
                print(f"skipped {name}{run}", file=sys.stderr)
            elif outcome == "fail":
                failed.append(name + run)
    for name in failed:
        print(f"FAILED  {name}", file=sys.stderr)
    print(count["pass"], count["fail"], count["skip"])


if __name__ == "__main__":
    main(*sys.argv[1:])
