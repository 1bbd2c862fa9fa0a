"""Tests of the commands that a new user runs first: scripts/quickstart.sh, scripts/build.sh and scripts/test.sh, with programs that only
say what they get.

    python3 tests/first_commands_test.py -v
"""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


class FirstCommand(unittest.TestCase):
    """A tree that holds the scripts alone."""
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(SCRIPTS / "lib", self.root / "scripts/lib", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("quickstart.sh", "build.sh", "test.sh"):
            shutil.copy(SCRIPTS / name, self.root / "scripts" / name)
        self.calls = self.root / "calls"

    def program(self, path, *lines):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(("#!/bin/bash", f'echo "{path.name} $*" >>{self.calls}', *lines, "")))
        path.chmod(0o755)

    def run_script(self, name, *flags):
        self.calls.write_text("")
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "CCACHE_DIR": f"{self.root}/none"}
        result = subprocess.run([self.root / "scripts" / name, *flags], capture_output=True, text=True, env=environment)
        return result, self.calls.read_text().splitlines()


class QuickstartTest(FirstCommand):
    def setUp(self):
        super().setUp()
        self.program("scripts/install_packages.sh")
        self.program("scripts/fetch_model.sh", "echo the.gguf")
        self.program("scripts/build.sh", f"mkdir -p {self.root}/build/bin && cp {self.root}/fake {self.root}/build/bin/tessera_generate")
        self.program("fake", "echo an answer")

    def test_steps_come_in_order_and_only_the_answer_goes_to_standard_output(self):
        result, calls = self.run_script("quickstart.sh", "Why?", "--n_predict", "3")
        self.assertEqual((result.returncode, result.stdout), (0, "an answer\n"), result.stderr)
        self.assertEqual(calls, ["install_packages.sh ", "build.sh tessera_generate", "fetch_model.sh ",
                                 "fake --model the.gguf --prompt Why? --n_predict 3"])

    def test_the_first_run_says_at_the_start_how_long_it_takes(self):
        expected = r"^\[.*\] the first run takes about \d+ minutes on 2 cores \(packages \d+\.\d, program \d+\.\d, model \d+\.\d\)\n"
        self.assertRegex(self.run_script("quickstart.sh")[0].stderr, expected)
        self.assertNotIn("the first run takes", self.run_script("quickstart.sh")[0].stderr)

    def test_a_step_that_fails_ends_the_run(self):
        self.program("scripts/build.sh", "exit 1")
        result, calls = self.run_script("quickstart.sh")
        self.assertEqual((result.returncode, result.stdout, calls[-1]), (1, "", "build.sh tessera_generate"))
        self.assertIn("failed: tessera_generate could not be built", result.stderr)


class BuildTest(FirstCommand):
    HOW = "-DTESSERA_TOGETHER=ON -DCMAKE_BUILD_TYPE=Release"
    CMAKE = """
build=$4; mkdir -p "$build"; touch "$build/build.ninja"
for flag in "$@"; do
  [[ $flag == -D* ]] || continue
  flag=${flag#-D} name=${flag%%=*} value=${flag#*=}
  [[ $name != CMAKE_CXX_COMPILER ]] || value=/usr/bin/$value
  grep -v "^$name:" "$build/CMakeCache.txt" >"$build/new" 2>/dev/null
  echo "$name:STRING=$value" >>"$build/new"; mv "$build/new" "$build/CMakeCache.txt"
done"""

    def setUp(self):
        super().setUp()
        self.program("bin/cmake", self.CMAKE)
        self.program("bin/ninja")
        self.configure = f"cmake -S {self.root} -B {self.root}/build -G Ninja"

    def build(self, *flags):
        result, calls = self.run_script("build.sh", *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        return calls

    def test_tests_are_built_only_where_they_are_asked_for_and_stay(self):
        calls = self.build("tessera_generate")
        self.assertEqual(calls[0], f"{self.configure} {self.HOW} -DTESSERA_TESTS=OFF")
        self.assertRegex(calls[1], rf"^ninja -C {self.root}/build -j \d+ tessera_generate$")
        self.assertEqual(len(self.build()), 1, "nothing to configure")
        self.assertEqual(self.build("--tests")[0], f"{self.configure} -DTESSERA_TESTS=ON")
        self.assertEqual(len(self.build("--tests")), 1)
        self.assertEqual(len(self.build()), 1)

    def test_a_definition_that_differs_configures_the_folder_again(self):
        flags = ("--build-dir", f"{self.root}/build", "-DCMAKE_CXX_COMPILER=clang++-19", "-DTESSERA_LAYERS=runtime")
        self.assertIn(" -DTESSERA_LAYERS=runtime", self.build(*flags)[0])
        self.assertEqual(len(self.build(*flags)), 1, "CMake keeps the compiler's path")
        self.assertEqual(self.build("-DTESSERA_LAYERS=base")[0], f"{self.configure} -DTESSERA_LAYERS=base")

    def test_with_a_folder_of_ccache_each_source_is_compiled_alone(self):
        self.program("bin/ccache")
        (self.root / "none").mkdir()   # CCACHE_DIR.
        self.assertEqual(self.build()[0], f"{self.configure} -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_BUILD_TYPE=Release "
                         "-DTESSERA_TESTS=OFF")

    def test_sanitizers_are_built_by_clang(self):
        self.assertEqual(self.build("--tests", "--type", "AddressSanitizer")[0], f"{self.configure} {self.HOW} "
                         "-DCMAKE_CXX_COMPILER=clang++-19 -DTESSERA_TESTS=ON -DCMAKE_BUILD_TYPE=AddressSanitizer")
        self.assertEqual(len(self.build("--type", "AddressSanitizer")), 1)


class TestScriptTest(FirstCommand):
    """scripts/test.sh, where each test program passes two tests, each check and each test in Python one."""
    CTEST = """
folder=${GTEST_OUTPUT#json:}
while [[ $1 != --output-junit ]]; do shift; done
echo '<testsuite/>' >"$2"
name=$(basename "$2" .xml)
printf '{"testsuites": [{"name": "%s", "testsuite": [' "$name" >"$folder/$name.json"
printf '{"name": "%s", "status": "RUN", "result": "COMPLETED", "time": "1.5s"}%s' A , B ']}]}' >>"$folder/$name.json"
"""
    FIRST = ["install_packages.sh --tests", "build.sh --tests"]

    def setUp(self):
        super().setUp()
        checks = ("words", "layers", "sizes", "libraries", "readme", "clean", "programs", "headers", "weak_symbols", "sleeps", "tests_ran",
                  "prose", "names")
        for name in checks:
            self.program(f"scripts/checks/check_{name}.py")
        for name in ("install_packages.sh", "build.sh", "fetch_model.sh", "tests/test_consumers.sh", "tests/fuzz.sh",
                     "tests/fuzz_coverage.sh", "tests/test_arm64.sh"):
            self.program(f"scripts/{name}", f"mkdir -p {self.root}/build; : >{self.root}/build/build.log")
        self.program("scripts/tests/with_named_programs.sh", 'while [[ $1 != -- ]]; do shift; done; shift; exec "$@"')
        self.program("bin/ctest", self.CTEST)
        (self.root / "tests").mkdir()
        (self.root / "tests/a_test.py").write_text("import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n")

    def run_tests(self, *flags):
        result, calls = self.run_script("test.sh", *flags)
        return result, [call.split("/")[0].strip() for call in calls if not call.startswith(("with_named", "fetch_model"))]

    def test_without_a_flag_the_first_part_runs(self):
        result, calls = self.run_tests()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(calls[:2], self.FIRST)
        self.assertEqual((sum(call.startswith("ctest") for call in calls), len(calls)), (2, 17))
        self.assertRegex(result.stdout, r"^\nthe 18 slowest of 18 tests, .*\n +1\.5 s  app_tests\.A\n")
        self.assertRegex(result.stdout, r"\nunit tests +\d\.\d s  done  expected \d+ s\n(.*\n)+19 passed, 0 failed\n$")

    def test_all_runs_both_parts_once_with_one_sum(self):
        result, calls = self.run_tests("--all")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(calls[:2], ["install_packages.sh --tests --sanitizers", "build.sh --tests"])
        self.assertEqual(sum(call.startswith("build.sh --tests --build-dir") for call in calls), 3)
        once = ("test_consumers.sh", "fuzz.sh --seconds 5", "fuzz_coverage.sh")
        self.assertEqual(len([call for call in calls if call.startswith(once)]), len(once))
        self.assertEqual(result.stdout.splitlines()[-1], "28 passed, 0 failed")
        self.assertNotIn("test_arm64.sh", " ".join(calls))

    def test_a_part_runs_alone(self):
        result, calls = self.run_tests("--sanitize")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "7 passed, 0 failed"), result.stderr)
        self.assertEqual([call.split()[0] for call in calls], ["install_packages.sh", *["build.sh", "ctest"] * 2, "ctest"])
        self.assertEqual([call.split()[0] for call in self.run_tests("--fuzz")[1]], ["install_packages.sh", "fuzz_coverage.sh", "fuzz.sh"])

    def test_a_failure_is_in_the_sum_and_what_does_not_need_it_runs_on(self):
        self.program("scripts/checks/check_sizes.py", "exit 1")
        self.program("bin/ctest", self.CTEST.replace('"time"', '"failures": [{}], "time"'), "exit 8")
        result, calls = self.run_tests()
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1], len(calls)), (1, "14 passed, 5 failed", 17), result.stderr)
        self.assertIn("FAILED  check_sizes", result.stderr)

    def test_a_build_that_fails_or_warns_ends_the_run(self):
        for lines in (["exit 1"], [f"mkdir -p {self.root}/build; echo 'a.cc:1: warning: words' >{self.root}/build/build.log"]):
            self.program("scripts/build.sh", *lines)
            result, calls = self.run_tests()
            self.assertEqual((result.returncode, result.stdout.splitlines()[-1], calls), (1, "1 passed, 1 failed", self.FIRST))
        self.assertIn("a.cc:1: warning: words\n", result.stderr)

    def test_flags_that_contradict_each_other_are_refused(self):
        result, calls = self.run_tests("--all", "--fuzz")
        self.assertEqual((result.returncode, result.stdout, calls), (1, "", []))
        self.assertIn("found --all and --fuzz, expected one of them", result.stderr)


if __name__ == "__main__":
    unittest.main()
