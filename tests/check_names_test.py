"""Tests of scripts/checks/check_names.py and check_prose.py: both pass on a good tree and name each fault that is planted.

    python3 tests/check_names_test.py -v
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKS = Path(__file__).resolve().parent.parent / "scripts/checks"


class PlantedTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content)

    def run_check(self, name):
        command = [sys.executable, CHECKS / f"check_{name}.py", "--root", self.root]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class CheckNamesTest(PlantedTree):
    def setUp(self):
        super().setUp()
        self.write("spec/a.h", "namespace tessera {\n\nclass Cost;\n\nstruct Part {\n  int part = 0;\n};\n\n}  // namespace tessera\n")
        self.write("base/b.cc", "namespace tessera {\nnamespace {\n\nstruct Part {};\n\n}  // namespace\n\nint Sum(Part);\n}\n")
        self.write("base/c.h", "namespace tessera::inner {\n\nstruct Part {};\n\n}  // namespace tessera::inner\n")

    def test_types_without_a_namespace_and_of_other_namespaces_are_others(self):
        self.assertEqual(self.run_check("names")[0], 0, self.run_check("names")[1])

    def test_a_second_type_of_the_name_is_found_wherever_it_lies(self):
        for path in ("quant/d.h", "apps/lab/d.cc", "tests/fakes/d.h"):
            for text in ("class Part final : public Base {\n};", "enum class Part { kA };", "using Part = int;"):
                self.write(path, f"namespace tessera {{\n\n{text}\n\n}}  // namespace tessera\n")
                code, output = self.run_check("names")
                self.assertEqual(code, 1, path)
                self.assertIn("tessera::Part is a type of", output)
            (self.root / path).unlink()

    def test_a_function_with_the_name_of_a_type_is_found(self):
        self.write("quant/d.h", "namespace tessera {\n\nstd::optional<int> Part(int a, int b);\n\n}  // namespace tessera\n")
        code, output = self.run_check("names")
        self.assertEqual(code, 1)
        self.assertIn("quant/d.h:3: tessera::Part is a function here and a type in spec/a.h", output)


class CheckProseTest(PlantedTree):
    BOUNDS = "scripts/checks/prose_bounds.tsv"

    def setUp(self):
        super().setUp()
        self.groups = "base tensor quant npu storage model spec runtime help docs".split()
        self.bounds(0)

    def bounds(self, bound):
        rows = [f"{group}\t{kind}\t{bound}\t{bound}" for group in self.groups for kind in ("what", "pronouns", "which", "long")]
        self.write(self.BOUNDS, "\n".join([*rows, f"tests\tnames\t{bound}\t{bound}"]) + "\n")

    def test_plain_sentences_code_and_quotes_pass(self):
        self.write("spec/a.h", '// Returns the rows of `its_rows`, "what they say".\n//   it = those.begin();\nint F();  // Rows.\n')
        self.write("docs/a.md", "# What it is\n\n```\nwhat it prints\n```\n\n| what | those |\n\nA row has a number.\n")
        self.write("apps/flags.cc", 'DEFINE_string(model, "it", "FILE|Read the "\n              "model.");\nconst char* k = "what";\n')
        self.write("tests/spec/a_test.cc", "TEST(Rows, AreItemsInOrder) {}\n")
        self.assertEqual(self.run_check("prose")[0], 0, self.run_check("prose")[1])

    def test_each_habit_is_found_in_its_group(self):
        for path, content, found in (
                ("spec/a.h", "// Returns\n// what is asked for.\nint F();\n", "spec: what: found"),
                ("runtime/a.h", "int f;  // Those of a text.\n", "runtime: pronouns: found"),
                ("base/a.h", "// A row, of which a part is read.\nint F();\n", "base: which: found"),
                ("npu/a.h", "// " + "a row and " * 9 + "a row.\nint F();\n", "npu: long: found"),
                ("docs/a.md", "A row and what it has.\n", "docs: what: found"),
                ("apps/flags.cc", 'DEFINE_bool(a, false, "Show "\n            "what is read.");\n', "help: what: found"),
                ("tests/spec/a_test.cc", "TEST(Rows,\n     WhatIsAskedIsGiven) {}\n", "tests: names: found")):
            self.write(path, content)
            code, output = self.run_check("prose")
            self.assertEqual(code, 1, path)
            self.assertIn(found, output)
            (self.root / path).unlink()

    def test_a_bound_that_is_too_high_has_to_fall(self):
        self.write("spec/a.h", "// Returns what is asked for.\nint F();\n")
        rows = (self.root / self.BOUNDS).read_text().replace("spec\twhat\t0\t0", "spec\twhat\t900\t0")
        self.write(self.BOUNDS, rows)
        code, output = self.run_check("prose")
        self.assertEqual(code, 1)
        self.assertIn("so the bound 900 falls", output)


if __name__ == "__main__":
    unittest.main()
