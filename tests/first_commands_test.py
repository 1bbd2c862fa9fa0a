"""Tests of the commands that a new user runs first: scripts/quickstart.sh and scripts/build.sh, with programs that only say what they get.

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
        for name in ("quickstart.sh", "build.sh"):
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
        self.assertEqual(calls[0], f"{self.configure} -DCMAKE_BUILD_TYPE=Release -DTESSERA_TESTS=OFF")
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

    def test_sanitizers_are_built_by_clang(self):
        self.assertEqual(self.build("--tests", "--type", "AddressSanitizer")[0], f"{self.configure} -DCMAKE_BUILD_TYPE=Release "
                         "-DCMAKE_CXX_COMPILER=clang++-19 -DTESSERA_TESTS=ON -DCMAKE_BUILD_TYPE=AddressSanitizer")
        self.assertEqual(len(self.build("--type", "AddressSanitizer")), 1)


if __name__ == "__main__":
    unittest.main()
