"""Prints the slowest tests of a run of scripts/test.sh, slowest first.

    python3 slowest_tests.py RESULTS [--most 20]

RESULTS is the folder that count_tests.py counts: GoogleTest's *.json have the seconds of each test; ctest's *.xml (JUnit) those of the
programs without a JSON file; and *.tsv those of lines with a third column. Folders in RESULTS hold the same of further runs, whose names
stand behind the tests'.
"""
import argparse
import json
import xml.etree.ElementTree
from pathlib import Path


def google_tests(path):
    for suite in json.loads(path.read_text()).get("testsuites", ()):
        for test in suite.get("testsuite", ()):
            yield float(test.get("time", "0s").rstrip("s")), f"{suite['name']}.{test['name']}"


def programs_without_json(path, folder):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        if not (folder / f"tessera_{case.get('name')}_tests.json").exists():
            yield float(case.get("time") or 0), case.get("name")


def timed_lines(path):
    for line in path.read_text().splitlines():
        columns = line.split("\t")
        if len(columns) > 2:
            yield float(columns[2]), columns[1]


def timed_tests(folder):
    """Yields (seconds, name) of each test whose time is known."""
    for path in sorted(folder.glob("*.json")):
        yield from google_tests(path)
    for path in sorted(folder.glob("*.xml")):
        yield from programs_without_json(path, folder)
    for path in sorted(folder.glob("*.tsv")):
        yield from timed_lines(path)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("results", type=Path)
    flags.add_argument("--most", type=int, default=20)
    given = flags.parse_args()
    found = list(timed_tests(given.results))
    for folder in sorted(path for path in given.results.iterdir() if path.is_dir()):
        found += [(seconds, f"{name} ({folder.name})") for seconds, name in timed_tests(folder)]
    found.sort(key=lambda one: (-one[0], one[1]))
    if found:
        print(f"the {min(given.most, len(found))} slowest of {len(found)} tests, {sum(seconds for seconds, _ in found):.1f} s together")
    for seconds, name in found[:given.most]:
        print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
