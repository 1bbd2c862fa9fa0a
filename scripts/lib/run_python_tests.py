"""Runs files of tests in Python, two at a time on two cores, and keeps the outcome and the seconds of each test.

    /usr/bin/python3 run_python_tests.py RESULTS FILE...     # prints a line per file; for a file that fails, the end of its log, too

Each file runs in a process of its own, whose log is RESULTS/FILE.log. RESULTS/FILE.tsv has a line per test: pass, fail or skip, the
test's name and its seconds, with tabs between, as count_tests.py and slowest_tests.py read them. A file that ends without a failed test
and with an exit code other than 0 counts as a failed test. The exit code is 1 if a test failed.
"""
import importlib.util
import os
import re
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORST = ("pass", "skip", "fail")


class KeptResult(unittest.TextTestResult):
    """Writes a line per test to `table` as soon as the test has ended. A test with subtests fails if one of them fails."""
    table = None
    outcome = None   # The outcome of the test that runs; None between tests, where only a class or a file can fail or be skipped.

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.began = "pass", time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.write(self.outcome, test, time.monotonic() - self.began)
        self.outcome = None

    def write(self, outcome, test, seconds):
        self.table.write(f"{outcome}\t{test.id()}\t{seconds:.3f}\n")
        self.table.flush()

    def note(self, outcome, test):
        if self.outcome is None:
            self.write(outcome, test, 0)
        else:
            self.outcome = max(self.outcome, outcome, key=WORST.index)

    def addError(self, test, err):
        super().addError(test, err)
        self.note("fail", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note("fail", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note("fail", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note("fail", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note("skip", test)


def run_one(path, table):
    """Runs the tests of one file in this process, and returns whether all passed."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    KeptResult.table = table
    return unittest.main(module, argv=[str(path), "-v"], exit=False,
                         testRunner=unittest.TextTestRunner(resultclass=KeptResult, verbosity=2)).result.wasSuccessful()


def run_file(path, results):
    """Runs one file in a process of its own, and returns (path, exit code, seconds)."""
    began, table = time.monotonic(), results / f"{path.stem}.tsv"
    with open(results / f"{path.name}.log", "wb") as log:
        code = subprocess.run([sys.executable, __file__, "--one", str(results), str(path)], stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT).returncode
    if code != 0 and not (table.exists() and re.search(r"^fail\t", table.read_text(), re.MULTILINE)):
        with open(table, "a") as lines:
            lines.write(f"fail\t{path.name}: exit code {code} without a failed test\t0\n")
    return path, code, time.monotonic() - began


def main():
    if sys.argv[1] == "--one":
        path = Path(sys.argv[3])
        with open(Path(sys.argv[2], f"{path.stem}.tsv"), "w") as table:
            sys.exit(not run_one(path, table))
    results, status = Path(sys.argv[1]), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, seconds in pool.map(lambda name: run_file(Path(name), results), sys.argv[2:]):
            print(f"{path.name}: {'ok' if code == 0 else f'FAILED, exit code {code}'} in {seconds:.1f} s", flush=True)
            if code != 0:
                status = 1
                print("\n".join((results / f"{path.name}.log").read_text(errors="replace").splitlines()[-60:]), flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
