"""Tests of the checks: each passes on a small good tree and fails, naming file and line, once a violation is planted.

    python3 tests/scripts_test.py -v
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"

GOOD_TREE = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(good LANGUAGES NONE)
foreach(target base_objects base_static tensor_static text_objects files_static model_static spec_static runtime_static
        apps_cli apps_bench apps_show tensor_tests)
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
    "model/files/gguf.h": '// A file.\n//\n//   Gguf g;\n#pragma once\n#include "tessera/model/text/tokenizer.h"\nclass Gguf {};\n',
    "model/files/internal/cursor.h": "int Cursor();\n",
    "model/text/tokenizer.h": "// Tokens, as for Llama.\n//\n//   Tokenizer t;\n#pragma once\n"
                             "#include \"tessera/base/cpp20.h\"\nclass Tokenizer {};\n",
    "tests/fakes/gguf_file.h": '#include "tessera/model/files/gguf.h"\n',
    "tests/model/files/gguf_test.cc": '#include "tessera/tests/fakes/gguf_file.h"\n\nTEST(Gguf, HeaderExample) {}\n',
    "tests/model/text/tokenizer_test.cc": "TEST(Tokenizer, HeaderExample) {}\n",
    "tests/base/cpp20_test.cc": "TEST(Cpp20, HeaderExample) {}\n",
    "tests/base/half_test.cc": '#include "tessera/base/half.h"\n\nTEST(Half, HeaderExample) {}\n',
    "tests/tensor/view_test.cc": "TEST(View, HeaderExample) {}\n",
    "docs/headers.md": "# Headers\n\n`base/cpp20.h`, `base/half.h`, `tensor/view.h`\n"
                       "`model/files/gguf.h`\n"
                       "`model/text/tokenizer.h`\n",
    "README.md": "# T\n\n## Speed\n\nAs `scripts/speed.sh` prints:\n\n```\n$ scripts/speed.sh\n200 tokens/s\n```\n",
}


def run(script, *arguments, **options):
    return subprocess.run([sys.executable, str(SCRIPTS / script), *map(str, arguments)], capture_output=True, text=True, **options)


class GoodTree(unittest.TestCase):
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


class CheckTest(GoodTree):
    def test_headers_catches_an_installed_header_that_the_guide_leaves_out(self):
        guide = GOOD_TREE["docs/headers.md"].replace(", `tensor/view.h`", "")
        self.planted("check_headers", "docs/headers.md", guide, "tensor/view.h:1: is installed", "--no-compile")

    def test_headers_catches_a_guide_to_what_is_not_installed(self):
        guide = GOOD_TREE["docs/headers.md"] + "`base/internal/bits.h`\n"
        self.planted("check_headers", "docs/headers.md", guide, "names base/internal/bits.h", "--no-compile")

    def test_libraries_catches_a_log_line(self):
        self.planted("check_libraries", "storage/unit.cc", 'void F() {\n  LOG_IF(WARNING, true) << "slow";\n}\n', "storage/unit.cc:2: logs")

    def test_libraries_lets_bugs_end_the_process(self):
        self.plant("storage/unit.cc", 'void F() {\n  // LOG(INFO) is not for us, nor "--io".\n  LOG(FATAL) << "no such path";\n}\n')
        self.passes("check_libraries")

    def test_libraries_catches_the_name_of_a_flag(self):
        self.planted("check_libraries", "storage/unit.cc", 'const char kText[] = "--io: found a, expected b";\n', "names a flag")

    def test_libraries_catches_a_clock_that_is_not_given_in(self):
        self.planted("check_libraries", "storage/unit.cc", "int64_t Now() {\n  return RealClock().NowNanos();  // In real time.\n}\n",
                     "storage/unit.cc:2: takes the system's clock")
        for line in ("auto now = std::chrono::steady_clock::now();", "const absl::Time now = absl::Now();", "int64_t now = time(nullptr);",
                     "int64_t now = std::time(0);", "const Clock& clock = RealClock();", "const Clock* clock = &RealClock();",
                     "void Read(const Clock& clock = RealClock());", "Use(given != nullptr ? *given : RealClock(), RealClock());"):
            self.plant("storage/unit.cc", line + "\n")
            self.fails("check_libraries", "storage/unit.cc:1: takes the system's clock")

    def test_libraries_catches_a_local_clock_in_a_header(self):
        self.planted("check_libraries", "storage/internal/unit.h", "inline void F() {\n  const Clock& clock = RealClock();\n}\n",
                     "storage/internal/unit.h:2: takes the system's clock")

    def test_libraries_lets_the_real_clock_be_a_default_or_have_a_reason(self):
        self.plant("storage/internal/unit.h", "void Read(const Clock& clock = RealClock());\n"
                                              "void Write(const Clock& clock = RealClock(), int bytes = 0);\n"
                                              "const StepTime& time() const;\n")
        self.plant("storage/unit.cc", "// RealClock() is for those that are given none.\n"
                                      "Unit::Unit(Options given) : clock_(given.clock != nullptr ? given.clock : &RealClock()) {}\n"
                                      "Unit::Unit(Clock* given) : clock_(given != nullptr ? *given : RealClock()) {}\n"
                                      "double Seconds() { return logits.time().seconds; }\n"
                                      "int64_t Now() { return RealClock().NowNanos(); }   // Real time: the disk takes it.\n")
        self.passes("check_libraries")

    def test_libraries_catches_an_installed_header_that_logs(self):
        self.planted("check_libraries", "storage/unit.h",
                     "// A unit.\n#include <glog/logging.h>\n", "an installed header includes a logging")

    def test_libraries_catches_an_installed_header_that_does_not_ask_for_cpp20(self):
        self.plant("tensor/internal/part.h", "#include <vector>\n")
        self.planted("check_libraries", "tensor/view.h",
                     "// A view.\n#include <vector>\n", "tensor/view.h:1: does not include base/cpp20.h")

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
        self.planted_link("tessera_runtime_static", "tessera_base_static", "; it may link runtime and model and spec")

    def test_layers_knows_the_rooms_that_lie_in_another(self):
        for path, included, message in (
                ("model/text/tokenizer.cc", "model/files/gguf.h",
                 "model/text includes tessera/model/files/gguf.h; it may use base, model/text"),
                ("model/files/gguf.cc", "model/kv_cache.h", "model/files includes tessera/model/kv_cache.h; it may use"),
                ("model/files/architectures/llama.cc", "npu/graph.h", "model/files includes tessera/npu/graph.h"),
                ("model/kv_cache.cc", "model/files/internal/cursor.h",
                 "model includes tessera/model/files/internal/cursor.h, which is model/files's own"),
                ("model/files/gguf.cc", "model/internal/slots.h", "model/files includes tessera/model/internal/slots.h; it may use"),
                ("spec/trees/verify.cc", "model/text/tokenizer.h", "spec includes tessera/model/text/tokenizer.h; it may use base, spec"),
                ("spec/trees/pool.cc", "spec/drafters/drafter.h", "spec/trees includes spec/drafters/drafter.h; of spec it may use"),
                ("apps/cli/flags/flags.cc", "apps/bench/plot.h", "apps/cli includes tessera/apps/bench/plot.h; it may use apps/cli, base"),
                ("apps/generate.cc", "apps/bench/plot.h", "apps includes tessera/apps/bench/plot.h; it may use apps, apps/answers"),
                ("apps/bench/speed.cc", "apps/lab/scale/grid.h", "apps/bench includes tessera/apps/lab/scale/grid.h; it may use"),
                ("tests/apps/cli/flags_test.cc", "apps/bench/plot.h", "apps includes tessera/apps/bench/plot.h; it may use"),
                ("tests/model/text/tokenizer_test.cc", "model/files/gguf.h", "model/text includes tessera/model/files/gguf.h"),
                ("tests/model/text/tokenizer_test.cc", "tests/fakes/gguf_file.h", "gguf_file.h, which needs model/files"),
                ("tests/model/text/tokenizer_test.cc", "tests/model/files/builder.h", "of tests/ only fakes and its own folder"),
                ("tests/consumer/text/main.cc", "model/files/gguf.h", "model/text includes tessera/model/files/gguf.h")):
            with self.subTest(path):
                kept = self.root / path
                before = kept.read_text() if kept.exists() else None
                self.planted("check_layers", path, f'#include "tessera/{included}"\n', f"{path}:1: ")
                self.fails("check_layers", message)
                if before is None:
                    kept.unlink()
                else:
                    self.plant(path, before)

    def test_layers_lets_a_room_use_what_it_links_wherever_it_lies(self):
        self.plant("model/kv_cache.cc", '#include "tessera/model/text/tokenizer.h"\n#include "tessera/npu/graph.h"\n')
        self.plant("apps/generate.cc", '#include "tessera/apps/show/plan.h"\n#include "tessera/apps/cli/flags/flags.h"\n')
        self.passes("check_layers")

    def test_layers_catches_links_between_rooms_that_lie_in_one_folder(self):
        for target, linked, allowed in (("tessera_text_objects", "tessera_files_static", "text and base"),
                                        ("tessera_spec_static", "tessera_text_objects", "spec and base"),
                                        ("tessera_apps_cli", "tessera_apps_bench", "apps_cli and runtime")):
            with self.subTest(target):
                self.planted_link(target, linked, f"; it may link {allowed}")
                self.plant("CMakeLists.txt", GOOD_TREE["CMakeLists.txt"])

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

    def test_sizes_catches_long_file(self):
        self.planted("check_sizes", "base/half.cc", "\n" * 401, "base/half.cc:400: the file has 401 lines")

    def test_sizes_counts_the_modules_of_a_folder(self):
        for number in range(15):
            self.plant(f"spec/trees/m{number}.h", "")
            self.plant(f"spec/trees/m{number}.cc", "")
        self.planted("check_sizes", "spec/trees/one_more.h", "", "spec/trees:1: the folder holds 16 modules, at most 15")

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

    def test_sleeps_catches_a_sleep_in_a_test(self):
        for path, line in (("tests/base/half_test.cc", "  std::this_thread::sleep_for(std::chrono::milliseconds(20));"),
                           ("tests/fakes/slow.h", "inline void Wait() { SleepNanos(5); }"),
                           ("tests/base/half_test.cc", "  usleep(300'000);"),
                           ("tests/base/half_test.cc", "  EXPECT_EQ(done.wait_for(kSome), std::future_status::timeout);"),
                           ("tests/base/half_test.cc", '  system("trap a HUP; (sleep 0.5; kill -HUP $$) | b");'),
                           ("tests/half_test.py", "time.sleep(0.2)"), ("tests/half_test.py", "threading.Event().wait(0.5)"),
                           ("scripts/tests/test_half.sh", "sleep 3")):
            self.planted("check_sleeps", path, "\n" + line + "\n", f"{path}:2: ")
            self.fails("check_sleeps", "sleeps: wait for a condition")
            (self.root / path).unlink()

    def test_sleeps_catches_a_comparison_of_wall_clock_seconds(self):
        for path, line in (("tests/base/half_test.cc", "  EXPECT_LT(RealClock().NowNanos() - begin, 200'000'000);"),
                           ("tests/base/half_test.cc", "  EXPECT_LT(std::chrono::steady_clock::now() - begin, kBound);"),
                           ("tests/base/half_test.cc", "  ASSERT_GE(absl::Now() - begin, absl::Seconds(1));"),
                           ("tests/half_test.py", "self.assertLess(time.monotonic() - begin, 0.2)"),
                           ("scripts/tests/test_half.sh", "((SECONDS < 9)) || die")):
            self.planted("check_sleeps", path, "\n" + line + "\n", f"{path}:2: ")
            self.fails("check_sleeps", "reads the system's clock")
            (self.root / path).unlink()

    def test_sleeps_lets_comments_and_programs_be_and_an_exception_have_its_reason(self):
        self.plant("tests/base/half_test.cc", "// Neither sleep_for(x) nor usleep(3), not on the RealClock().\nWorkersThatSleep();\n")
        self.plant("base/half.cc", "void Pause() { std::this_thread::sleep_for(kPause); }\n")
        self.plant("tests/fakes/await.h", "inline void Pause() { std::this_thread::sleep_for(kPause); }\n")
        self.passes("check_sleeps")
        self.plant("tests/fakes/await.h", "inline void Pause() { std::this_thread::yield(); }\n")
        self.fails("check_sleeps", "tests/fakes/await.h:1: needs no exception")

    def test_tests_ran_catches_a_file_in_no_binary(self):
        ran = [{"name": "A", "status": "RUN", "result": "COMPLETED", "file": str(self.root / path)}
               for path in sorted(GOOD_TREE) if path.endswith("_test.cc")]
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

    def test_headers_wants_an_example_of_a_room_in_another_too(self):
        self.planted("check_headers", "model/text/tokenizer.h", "// A.\n// B.\n", "model/text/tokenizer.h:1: the opening comment holds no",
                     "--no-compile")

    def test_headers_catches_example_that_nothing_compiles(self):
        self.planted("check_headers", "tests/base/half_test.cc", "TEST(Half, A) {}\n", "no test named HeaderExample", "--no-compile")

    def test_headers_catches_header_without_its_includes(self):
        self.planted("check_headers", "tensor/view.h", GOOD_TREE["tensor/view.h"] + "std::string Name();\n",
                     "tensor/view.h:1: does not compile")

    def test_clean_catches_leftovers(self):
        for line, message in (("// in /" "root/x", "path of one machine"), ("// TO" "DO: x", "note to self"),
                              ("int a; ", "ends in blanks")):
            self.plant("base/half.cc", "\n")
            self.planted("check_clean", "base/half.cc", "\n" + line + "\n", "base/half.cc:2: ")
            self.fails("check_clean", message)

    def test_clean_catches_large_file(self):
        self.planted("check_clean", "tests/golden/big.bin", "x" * ((1 << 20) + 1), "tests/golden/big.bin:1:")


class LayerBuildTest(unittest.TestCase):
    """TESSERA_LAYERS=storage, as .ci/layer sets it, where pkg-config knows only what storage and text need and there is no Eigen."""
    MODULES = ("libglog", "protobuf", "liburing", "libseccomp", "libutf8proc")

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
        whole = lambda path: path.parts[0] == "tests" or str(path).startswith(("model/text/", "model/files/"))
        return {str(path.parent).removesuffix("/internal") if whole(path) else path.parts[0] for path in sources}

    def test_a_layer_builds_what_it_links_and_nothing_else(self):
        result = self.configure("storage")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.compiled("all"), {"base", "storage", "tests", "tests/base", "tests/fuzz", "tests/storage"})
        self.assertEqual(self.compiled("check-storage"), {"base", "storage", "tests", "tests/storage"})

    def test_a_layer_in_the_folder_of_another_builds_alone(self):
        for layer, *folders in (("text", "model/text", "model/text/jinja"), ("spec", "spec")):
            result = self.configure(layer)
            self.assertEqual(result.returncode, 0, result.stderr)
            expected = {"base", "tests", *folders, *(f"tests/{folder}" for folder in folders)}
            compiled = {re.sub("^tests/spec/.*", "tests/spec", folder) for folder in self.compiled(f"tessera_{layer}_tests")}
            self.assertEqual(compiled, expected)

    def test_a_layer_names_what_it_misses(self):
        self.assertIn("the CMake package Eigen3 with the target Eigen3::Eigen is not found",
                      " ".join(self.configure("quant").stderr.split()))

    def test_an_unknown_layer_is_named(self):
        self.assertIn("found nonsense, expected some of: base;tensor;quant", " ".join(self.configure("nonsense").stderr.split()))


if __name__ == "__main__":
    unittest.main()
