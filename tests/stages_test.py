"""Tests of how scripts/test.sh runs: the expected seconds of its stages, the tests in Python, shards, and the slowest tests.

    python3 tests/stages_test.py -v
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
NAME = r'(?:"([\w ]+)"|(\w+))'


def expected_seconds():
    """Returns {stage: (seconds from nothing, seconds again)}."""
    lines = (SCRIPTS / "lib/stage_seconds.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {name: (int(first), int(again)) for name, first, again in rows}


def stages(script):
    """Returns the names of the stages that a script or one of its functions runs, in their order."""
    found = []
    for match in re.finditer(rf'^ *(?:if ! )?(stage|need|stage_after) {NAME}(?: (\w+))?', script, re.MULTILINE):
        found.append(match[2] or match[3])
        if match[1] == "stage_after":
            found.append(match[4].replace("_", " "))
    return found


def function(script, name):
    return re.search(rf"^{name}\(\) \{{\n(.*?)^\}}", script, re.MULTILINE | re.DOTALL)[1]


class StageSecondsTest(unittest.TestCase):
    def setUp(self):
        self.test = (SCRIPTS / "test.sh").read_text()
        self.quickstart = (SCRIPTS / "quickstart.sh").read_text()

    def test_every_stage_has_its_expected_seconds(self):
        self.assertEqual(sorted({*stages(self.test), *stages(self.quickstart)}), sorted(expected_seconds()))

    def test_the_expected_seconds_keep_the_minutes_that_the_scripts_promise(self):
        seconds = expected_seconds()
        first = ["packages", *stages(function(self.test, "first_part"))]
        parts = ("second_part", "clang_part", "address_part", "thread_part", "fuzz_part")
        second = [name for part in parts for name in stages(function(self.test, part))]
        self.assertIn("app tests", first)
        self.assertIn("thread tests", second)
        self.assertLessEqual(sum(seconds[name][0] for name in first), 30 * 60)
        self.assertLessEqual(sum(seconds[name][1] for name in first), 13 * 60)
        self.assertLessEqual(sum(seconds[name][0] for name in first + second), 50 * 60)
        self.assertLessEqual(sum(seconds[name][0] for name in stages(self.quickstart)), 8 * 60)


class ShellTest(unittest.TestCase):
    def bash(self, script, **environment):
        script = f"set -euo pipefail; source {SCRIPTS}/lib/shell.sh; {script}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_a_stage_prints_its_time_beside_the_expected_one(self):
        first, again = expected_seconds()["build"]
        result = self.bash("stage build true; stage other true; stage_table")
        self.assertRegex(result.stderr, rf"\] build: done in 0\.\d s  expected {first} s, again {again} s\n.*other: done in 0\.\d s\n")
        self.assertRegex(result.stdout, rf"^build +0\.\d s  done  expected {first} s, again {again} s\nother +0\.\d s  done\n"
                                        rf"all stages +0\.\d s  \(0 min 0 s\)  expected {first} s, again {again} s\n$")

    def test_progress_of_a_build_is_the_name_of_the_last_step(self):
        for log, expected in (
                ("[1/9] Building CXX object CMakeFiles/tessera_quant_objects.dir/quant/matmul.cc.o\nmatmul.cc:1: warning: x\n   | ^\n",
                 "[1/9] quant/matmul.cc"),
                ("[2/9] Linking CXX static library libtessera_base.a\n", "[2/9] libtessera_base.a"),
                ("[3/9] Building CXX object CMakeFiles/tessera_pch.dir/cmake_pch.hxx.gch\n", "[3/9] cmake_pch.hxx"),
                ("Get:1 cmake 3.25\nSetting up cmake (3.25)\n", "Setting up cmake (3.25)")):
            with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
                file.write(log)
                file.flush()
                self.assertEqual(self.bash(f"last_words {file.name}").stdout, expected + "\n")

    def test_jobs_are_as_many_as_the_memory_allows(self):
        gib = 1 << 30
        with tempfile.TemporaryDirectory() as folder:
            mount = Path(folder, "cgroup")
            for path, limit in (("small/inner/memory.max", "max"), ("small/memory.max", 3 * gib), ("tiny/memory.max", 1000),
                                ("memory/old/memory.limit_in_bytes", 2 * gib), ("memory/memory.limit_in_bytes", (1 << 63) - 4096)):
                (mount / path).parent.mkdir(parents=True, exist_ok=True)
                (mount / path).write_text(f"{limit}\n")
            for available, groups, jobs in ((64, "0::/", 8), (5, "0::/", 5), (0, "0::/", 1), (64, "0::/small/inner", 3),
                                            (2, "0::/small", 2), (64, "0::/tiny", 1), (64, "4:memory:/old\n0::/", 2),
                                            (64, "4:pids:/old\n3:cpu,memory:/", 8)):
                Path(folder, "meminfo").write_text(f"MemFree: 1 kB\nMemAvailable: {available << 20} kB\n")
                Path(folder, "groups").write_text(f"{groups}\n")
                said = self.bash(f"source {SCRIPTS}/lib/compile_jobs.sh; nproc() {{ echo 8; }}; "
                                 f"compile_jobs {folder}/meminfo {folder}/groups {mount}").stdout
                self.assertEqual(said, f"{jobs}\n", (available, groups))

    def test_shards_share_out_the_tests_and_name_their_results(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "tessera_apps_tests")
            program.write_text('#!/bin/sh\necho "$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS: $GTEST_OUTPUT"\n')
            program.chmod(0o755)
            said = [self.bash(f"{SCRIPTS}/tests/shard.sh {index} 3 env {program}", GTEST_OUTPUT="json:out/").stdout for index in (1, 3)]
        self.assertEqual(said, ["0 of 3: json:out/tessera_apps_1_tests.json\n", "2 of 3: json:out/tessera_apps_3_tests.json\n"])


class SmallMemoryTest(unittest.TestCase):
    def run_in_group(self, *command):
        result = subprocess.run([sys.executable, SCRIPTS / "measure/lib/run_in_group.py", "64", *command], capture_output=True, text=True)
        if "control group" in result.stderr or "does not bite" in result.stderr:
            self.skipTest(result.stderr)
        return result

    def test_a_command_that_takes_more_than_its_group_has_fails(self):
        result = self.run_in_group(sys.executable, "-c", "b'x' * (100 << 20)")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"^held 6\d MiB at most, 1 processes killed for want of memory\n$")

    def test_a_command_that_fits_says_how_much_it_took(self):
        result = self.run_in_group(sys.executable, "-c", "b'x' * (20 << 20); print('done')")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^done\nheld [23]\d MiB at most, 0 processes killed for want of memory\n$")
        self.assertEqual(self.run_in_group("bash", "-c", "exit 4").returncode, 1)


class PythonTestsTest(unittest.TestCase):
    FILES = {"good_test.py": "class T(unittest.TestCase):\n  def test_a(self): pass\n  @unittest.skip('no')\n  def test_b(self): pass\n",
             "bad_test.py": "class T(unittest.TestCase):\n  def test_a(self):\n    with self.subTest(): self.fail('words of a')\n"
                            "  def test_b(self): raise ValueError('words of b')\n",
             "class_test.py": "class T(unittest.TestCase):\n  @classmethod\n  def setUpClass(cls): raise OSError\n"
                              "  def test_a(self): pass\n",
             "dead_test.py": "import os\nclass T(unittest.TestCase):\n  def test_a_fail(self): pass\n  def test_b(self): os._exit(3)\n",
             "wrong_test.py": "nonsense\n",
             "main_test.py": "class T(unittest.TestCase):\n  def test_a(self): self.assertEqual(beside.VALUE, 7)\nimport beside\n"}

    def run_files(self, *names):
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                Path(folder, name).write_text("import unittest\n" + self.FILES[name])
            Path(folder, "beside.py").write_text("VALUE = 7\n")
            results = Path(folder, "results")
            results.mkdir()
            command = [sys.executable, SCRIPTS / "lib/run_python_tests.py", results, *(f"{folder}/{name}" for name in names)]
            result = subprocess.run(command, capture_output=True, text=True)
            lines = [line.split("\t") for path in sorted(results.glob("*.tsv")) for line in path.read_text().splitlines()]
        self.assertTrue(all(float(line[2]) >= 0 for line in lines), lines)
        return result, [tuple(line[:2]) for line in lines]

    def test_each_test_has_a_line_with_its_outcome(self):
        result, lines = self.run_files("good_test.py", "main_test.py")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(lines, [("pass", "good_test.T.test_a"), ("skip", "good_test.T.test_b"), ("pass", "main_test.T.test_a")])

    def test_failures_are_counted_and_their_words_shown(self):
        result, lines = self.run_files("bad_test.py", "good_test.py")
        self.assertEqual(result.returncode, 1)
        self.assertEqual([line[0] for line in lines], ["fail", "fail", "pass", "skip"])
        for words in ("words of a", "words of b", "bad_test.py: FAILED, exit code 1 in ", "good_test.py: ok in "):
            self.assertIn(words, result.stdout)

    def test_a_file_that_ends_without_its_tests_counts_as_a_failed_test(self):
        for name, failed in (("class_test.py", "setUpClass (class_test.T)"),
                             ("dead_test.py", "dead_test.py: exit code 3 without a failed test"),
                             ("wrong_test.py", "wrong_test.py: exit code 1 without a failed test")):
            result, lines = self.run_files(name)
            self.assertEqual((result.returncode, [line for line in lines if line[0] == "fail"]), (1, [("fail", failed)]), name)


class SlowestTest(unittest.TestCase):
    def test_times_of_all_kinds_of_tests_are_sorted(self):
        suites = {"testsuites": [{"name": "S", "testsuite": [{"name": "A", "time": "2.5s"}, {"name": "B", "time": "0.001s"}]}]}
        unit = ('<testsuite><testcase name="base" time="9" status="run"/><testcase name="replay_gguf" time="3.25" status="run"/>'
                "</testsuite>")
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (("tessera_base_tests.json", json.dumps(suites)), ("unit.xml", unit), ("address/unit.xml", unit),
                               ("steps.tsv", "pass\tfuzz_gguf\npass\tcheck_words\t12.5\n")):
                Path(folder, path).parent.mkdir(exist_ok=True)
                Path(folder, path).write_text(text)
            said = subprocess.run([sys.executable, SCRIPTS / "lib/slowest_tests.py", folder, "--most", "5"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertEqual(said.stdout.splitlines(), [
            "the 5 slowest of 6 tests, 30.5 s together", "    12.5 s  check_words", "     9.0 s  base (address)",
            "     3.2 s  replay_gguf", "     3.2 s  replay_gguf (address)", "     2.5 s  S.A"])


if __name__ == "__main__":
    unittest.main()
