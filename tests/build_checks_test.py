"""Tests of the checks that read what a build made: weak symbols of kernels, and what each object cost.

    python3 tests/build_checks_test.py -v
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


class BuildFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)

    def run_script(self, script, *flags):
        return subprocess.run([sys.executable, SCRIPTS / script, *map(str, flags)], capture_output=True, text=True)


class WeakSymbolsTest(BuildFolder):
    KERNEL = """#include "lanes.h"
namespace tessera {
template <typename Lanes> __attribute__((noinline)) int Twice(int a) { return a * 2; }
int Kernel(int a) { return Twice<LanesAvx2>(a); }
}
"""

    def compile(self, name, text, *flags):
        (self.build / "lanes.h").write_text("#pragma once\nnamespace tessera { struct LanesAvx2 {}; struct Other {}; }\n")
        (self.build / f"{name}.cc").write_text(text)
        command = ["g++", "-O1", *flags, "-c", str(self.build / f"{name}.cc"), "-o", f"{name}.o"]
        subprocess.run(command, check=True, cwd=self.build)
        entry = {"directory": str(self.build), "command": " ".join(command), "file": str(self.build / f"{name}.cc")}
        listed = self.build / "compile_commands.json"
        listed.write_text(json.dumps([*(json.loads(listed.read_text()) if listed.exists() else ()), entry]))

    def check(self):
        result = self.run_script("checks/check_weak_symbols.py", "--build", self.build)
        return result.returncode, result.stderr

    def test_templates_over_the_lanes_pass_and_so_do_objects_without_flags(self):
        self.compile("kernel_avx2", self.KERNEL, "-mavx2")
        self.compile("plain", "#include <vector>\nvoid F(std::vector<int>& v) { v.push_back(1); }\n")
        self.assertEqual(self.check(), (0, "1 objects for instruction sets share no function with others: yes\n"))

    def test_a_function_of_the_standard_library_fails_and_is_named(self):
        self.compile("kernel_avx2", self.KERNEL + "#include <vector>\nvoid F(std::vector<int>& v) { v.push_back(1); }\n", "-mavx2")
        code, errors = self.check()
        self.assertEqual(code, 1)
        self.assertIn(f"{self.build}/kernel_avx2.o: defines void std::vector<int, std::allocator<int> >::_M_realloc_insert", errors)

    def test_a_function_without_the_lanes_in_its_name_fails(self):
        for name, text in (("kernel_avx2", self.KERNEL.replace("<LanesAvx2>", "<Other>")),
                           ("other_avx2", "namespace tessera { inline int __attribute__((noinline)) Shared(int a) { return a + 1; }\n"
                                          "int Kernel(int a) { return Shared(a); } }\n"),
                           ("kernel_avx512", self.KERNEL)):
            self.compile(name, text, "-mavx2")
        code, errors = self.check()
        self.assertEqual(code, 1)
        for problem in ("kernel_avx2.o: defines int tessera::Twice<tessera::Other>(int), whose name does not hold Avx2",
                        "other_avx2.o: defines tessera::Shared(int), whose name does not hold Avx2",
                        "kernel_avx512.o: defines int tessera::Twice<tessera::LanesAvx2>(int), whose name does not hold Avx512"):
            self.assertIn(problem, errors)

    def test_a_folder_without_such_objects_fails(self):
        code, errors = self.check()
        self.assertEqual(code, 1)
        self.assertIn(f"{self.build}: found no object that is compiled for an instruction set", errors)


class HeadersOfABuildTest(BuildFolder):
    """check_headers.py compiles what no build folder has shown to compile alone."""
    def setUp(self):
        super().setUp()
        self.root = self.build / "tree"
        for path, text in (("apps/cli/name.h", "// A name.\n// Not empty.\nstd::string Name();\n"),
                           ("apps/cli/name.cc", '#include "tessera/apps/cli/name.h"\n'), ("apps/cli/name.o", "")):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def check(self, *flags):
        words = ["g++", *flags, "-o", "name.o", "-c", str(self.root / "apps/cli/name.cc")]
        entry = {"directory": str(self.root / "apps/cli"), "command": " ".join(words), "file": str(self.root / "apps/cli/name.cc")}
        (self.build / "compile_commands.json").write_text(json.dumps([entry]))
        result = self.run_script("checks/check_headers.py", "--root", self.root, "--build", self.build)
        return result.returncode, result.stderr

    def test_the_first_header_of_a_compiled_file_is_left_to_the_build(self):
        self.assertEqual(self.check("-std=c++20")[0], 0)
        (self.root / "apps/cli/name.o").unlink()
        self.assertIn("apps/cli/name.h:1: does not compile alone", self.check("-std=c++20")[1])

    def test_a_precompiled_header_shows_nothing(self):
        for flags in (["-include", "cmake_pch.hxx"], ["-Xclang", "-include-pch", "-Xclang", "cmake_pch.hxx.pch"]):
            self.assertIn("apps/cli/name.h:1: does not compile alone", self.check(*flags)[1])

    def test_a_header_that_is_not_the_first_is_compiled(self):
        (self.root / "apps/cli/name.cc").write_text('#include <string>\n#include "tessera/apps/cli/name.h"\n')
        code, errors = self.check("-std=c++20")
        self.assertEqual(code, 1)
        self.assertIn("apps/cli/name.h:1: does not compile alone", errors)

    def test_a_public_header_that_brings_many_lines_is_refused(self):
        path = self.root / "base/places.h"
        path.parent.mkdir(parents=True)
        path.write_text('// Places by name.\n//\n#include "absl/container/flat_hash_map.h"\n#include "absl/status/statusor.h"\n')
        self.assertRegex(self.check("-std=c++20")[1], r"base/places.h:1: brings \d+ lines, expected at most \d+, 1.2 times")
        path.write_text('// Places by name.\n//\n#include "absl/status/statusor.h"\n')
        self.assertNotIn("brings", self.check("-std=c++20")[1])


class TogetherTest(unittest.TestCase):
    """cmake/together.py, which says what sources are compiled as one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("base/count.h", "int Count(int most);\n")
        self.write("base/count.cc", self.source("int Half(int most) { return most / 2; }", "int Count(int most) { return Half(most); }"))

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def source(self, unnamed, named=""):
        return f'#include "tessera/base/count.h"\nnamespace {{\n\n{unnamed}\n\n}}  // namespace\n{named}\n'

    def groups(self, *flags):
        ended = subprocess.run([sys.executable, SCRIPTS.parent / "cmake/together.py", "--root", self.root, *flags],
                               check=True, capture_output=True, text=True)
        return ended.stdout.split()

    def with_count(self, text, path="base/other.cc"):
        """Whether a source goes together with base/count.cc, which declares Half for itself and Count for all."""
        self.write(path, text)
        return self.groups() == [f"base/count.cc|{path}"]

    def test_sources_that_share_only_what_a_header_declares_go_together(self):
        self.assertTrue(self.with_count(self.source("int Third(int most) { return Count(most) / 3; }")))

    def test_a_source_that_declares_the_same_name_is_apart(self):
        for declared in ("int Half(int most) { return 0; }", "constexpr float Half = 0.5f;", "struct Half { int a; };", "using Half = int;",
                         "template <typename T>\nT Half(T most) { return most; }", "const int Half[2] = {1, 2};"):
            self.assertFalse(self.with_count(self.source(declared)), declared)

    def test_a_source_that_uses_the_name_of_another_one_is_apart(self):
        self.assertFalse(self.with_count(self.source("int Third(int most) { return Count(most) / other::Half(3.0); }")))

    def test_a_source_whose_header_has_the_name_is_apart(self):
        self.write("base/halves.h", "double Half(double most);\n")
        self.assertFalse(self.with_count('#include "tessera/base/halves.h"\n'))

    def test_a_macro_of_one_source_is_no_word_of_another(self):
        self.assertFalse(self.with_count("#define Count(a) 1\n"))
        self.assertFalse(self.with_count("static int Count2() { return 0; }\n#define Half 1\n"))

    def test_comments_hold_no_names(self):
        self.assertTrue(self.with_count(self.source("int Third(int most) { return most / 3; }  // Half of it, or less.")))

    def test_folders_are_apart_and_kernels_alone(self):
        self.assertFalse(self.with_count("int a;\n", "base/internal/other.cc"))
        self.write("base/kernels/a_avx2.cc", "int b;\n")
        self.write("base/kernels/b_avx2.cc", "int c;\n")
        self.assertEqual(self.groups(), [])

    def test_a_group_holds_no_more_files_and_lines_than_asked(self):
        for name in "abcde":
            self.write(f"spec/{name}.cc", f"int {name};\n" * 10)
        self.assertEqual(self.groups("--most=3"), ["spec/a.cc|spec/b.cc|spec/c.cc", "spec/d.cc|spec/e.cc"])
        self.assertEqual(self.groups("--lines=20"), ["spec/a.cc|spec/b.cc", "spec/c.cc|spec/d.cc"])


class BuildCostTest(BuildFolder):
    NINJA = """rule touch
  command = printf '1.5\\t200\\t$out\\n' >>cost.tsv; touch $out; : -o $out
build a.o: touch ../SOURCE
build b.o: touch
build bin/app: touch a.o
build tessera_generate: phony bin/app
build tessera_apps_all: phony bin/app
build all: phony tessera_apps_all b.o
"""

    def setUp(self):
        super().setUp()
        (self.build / "bin").mkdir()
        source = SCRIPTS.parent / "runtime/scheduler/stream.cc"
        (self.build / "build.ninja").write_text(self.NINJA.replace("../SOURCE", str(source)))
        subprocess.run(["ninja", "-C", self.build, "all"], check=True, capture_output=True)

    def cost(self, *flags):
        return self.run_script("measure/build_cost.py", *flags, "--", self.build)

    def table(self, *lines):
        (self.build / "cost.tsv").write_text("".join(f"{line}\n" for line in lines))

    def test_groups_hold_what_ninja_says_that_a_target_needs(self):
        self.table("10.5\t300\ta.o", "99.0\t100\tb.o", "12.5\t320\ta.o", "2.0\t50\tbin/app")
        result = self.cost()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual(lines[1:5], [["tessera_generate", "14.5", "1"], ["tessera_apps_all", "14.5", "1"], ["all", "113.5", "2"],
                                      ["all", "that", "was", "built", "113.5", "2"]])
        self.assertEqual(lines[7:10], [["CPU", "s", "MiB", "object"], ["99.0", "100", "b.o"], ["12.5", "320", "a.o"]])
        self.assertIn("most memory: 320 MiB, a.o", result.stdout)

    def test_a_target_that_was_not_built_has_no_cost(self):
        self.table("10.0\t300\ta.o", "2.0\t50\tbin/app")
        self.assertRegex(self.cost().stdout, r"\ntessera_generate +12\.0 +1\n.*\nall +2  1 of them were not built\n")

    def test_an_object_over_a_limit_fails_the_check_alone(self):
        self.table("30.5\t300\ta.o", "2.0\t668\tb.o", "99.0\t5000\tbin/app")
        self.assertEqual(self.cost().returncode, 0)
        result = self.cost("--check")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.splitlines(), ["a.o: took 30.5 s of CPU, at most 30", "b.o: took 700 MB of memory, at most 700",
                                                      "no object takes more than 30 s or 700 MB: 2 problems"])
        self.table("30.0\t667\ta.o", "2.0\t50\tb.o")
        self.assertEqual(self.cost("--check").returncode, 0)

    def test_a_build_after_a_change_is_timed_and_the_file_keeps_its_time(self):
        source = SCRIPTS.parent / "runtime/scheduler/stream.cc"
        before = source.stat().st_mtime_ns
        result = self.cost("--touch", "runtime/scheduler/stream.cc")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\nruntime/scheduler/stream\.cc +\d+\.\d +3\.0 +2\n$")
        self.assertEqual(source.stat().st_mtime_ns, before)

    def test_a_command_of_a_build_is_measured(self):
        table = self.build / "measured.tsv"
        launcher = [sys.executable, SCRIPTS / "measure/compile_cost.py", table]
        result = subprocess.run([*launcher, "sh", "-c", "exit 3", "-o", "x.o"], capture_output=True)
        self.assertEqual(result.returncode, 3)
        subprocess.run([*launcher, sys.executable, "-c", "a = b'x' * (64 << 20); sum(range(1 << 21))", "-o", "y.o"], check=True)
        lines = [line.split("\t") for line in table.read_text().splitlines()]
        self.assertEqual([line[2] for line in lines], ["x.o", "y.o"])
        self.assertGreater(float(lines[1][0]), 0)
        self.assertGreater(float(lines[1][1]), 64)
        self.assertFalse(os.path.exists(self.build / "y.o"))


if __name__ == "__main__":
    unittest.main()
