"""Tests of scripts/tests/mutants.py: what it reads, draws and plants, how it judges a test program, and that its table is the documents'.

    python3 tests/mutants_test.py -v
"""
import contextlib
import io
import sys
import tempfile
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/tests"), str(ROOT / "scripts/lib")]
import mutants  # noqa: E402
from planted_faults import (check_draw, drawn_of, function_lines, planted, read_faults, read_functions, table)  # noqa: E402

SOURCE = """int Twice(int value) {
  return value + value;
}

// Half of it: "int Half(int value) {".
int Half(int value) {
  if (value < 0) return -Half(-value);
  return value / 2;
}
"""
FAULT = """# A comment.
drawn: numbers below zero are forgotten
function: base/half.cc Half
-  if (value < 0) return -Half(-value);
+  if (value < 0) return 0;
why: it shows
tests: tessera_base_tests Half*:Twice*
"""


class TemporaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def refused(self, words, call, *arguments):
        with self.assertRaises(SystemExit) as ended:
            call(*arguments)
        self.assertIn(words, ended.exception.code)


class ReadingTest(TemporaryTest):
    def fault(self, text=FAULT):
        return read_faults(self.write("faults.txt", text))[0]

    def test_a_fault_is_read_as_it_is_written(self):
        fault = self.fault()
        self.assertEqual((fault.kind, fault.words), ("drawn", "numbers below zero are forgotten"))
        self.assertEqual((fault.file, fault.function, fault.line), ("base/half.cc", "Half", 2))
        self.assertEqual((fault.program, fault.tests, fault.why), ("tessera_base_tests", "Half*:Twice*", "it shows"))
        self.assertEqual(fault.diff(), ["-  if (value < 0) return -Half(-value);", "+  if (value < 0) return 0;"])

    def test_faults_that_say_too_little_or_what_nobody_knows_are_refused(self):
        for change, words in ((("tests: tessera_base_tests Half*:Twice*\n", ""), "faults.txt:2: found a fault without"),
                              (("function: base/half.cc Half\n", ""), "faults.txt:2: found a fault without"),
                              (("return 0;", "return -Half(-value);"), "faults.txt:2: found a fault without"),
                              (("-  if", "+  if"), "faults.txt:2: found a fault without"),
                              (("why: ", "whence: "), "faults.txt:6: found 'whence: it shows'"),
                              (("drawn: ", "guessed: "), "faults.txt:2: found 'guessed: numbers"),
                              (("Half*:Twice*", ""), "faults.txt:7: found 'tests: "),
                              (("why: it shows", "-  return 0;"), "faults.txt:6: found '-  return 0;'")):
            self.assertIn(change[0], FAULT)
            self.refused(words, self.fault, FAULT.replace(*change))

    def test_functions_are_read_below_their_part_and_file(self):
        path = self.write("functions.txt", "# All.\nparts:\na.cc\n  One Two\n  Three\nb.cc\n  One\n\nothers:\nc.cc\n  Four\n")
        self.assertEqual(read_functions(path), [("parts", "a.cc", "One"), ("parts", "a.cc", "Two"), ("parts", "a.cc", "Three"),
                                                ("parts", "b.cc", "One"), ("others", "c.cc", "Four")])
        self.refused("functions.txt:1: found", read_functions, self.write("functions.txt", "  One\n"))

    def test_a_fault_is_planted_in_its_function_alone(self):
        self.assertEqual(planted(SOURCE, self.fault()), SOURCE.replace("return -Half(-value)", "return 0"))
        several = FAULT.replace("+  if (value < 0) return 0;\n", "-  return value / 2;\n+  return value < 0 ? 0 : value / 2;\n+  // Or\n")
        self.assertIn("int Half(int value) {\n  return value < 0 ? 0 : value / 2;\n  // Or\n}\n", planted(SOURCE, self.fault(several)))

    def test_lines_that_do_not_stand_once_in_the_function_are_refused(self):
        twice = SOURCE.replace("  return value / 2;", "  if (value < 0) return -Half(-value);")
        self.refused("base/half.cc Half: found 2 places", planted, twice, self.fault())
        self.refused("base/half.cc Half: found 0 places", planted, SOURCE.replace("< 0", "< 1"), self.fault())
        elsewhere = FAULT.replace("base/half.cc Half", "base/half.cc Twice")
        self.refused("base/half.cc Twice: found 0 places", planted, SOURCE, self.fault(elsewhere))
        self.refused("base/half.cc: found 2 functions Half", planted, SOURCE + SOURCE, self.fault())
        self.refused("base/half.cc: found 0 functions Half", planted, "int a;\n", self.fault())

    def test_a_row_of_the_table_has_the_diff_and_the_test(self):
        fault = self.fault(FAULT.replace("return 0;", "return 0 || 1;"))
        self.assertEqual(table([(fault, "`Half.OfSeven`")]).splitlines()[2],
                         "| numbers below zero are forgotten | `base/half.cc`, `Half` | `- if (value < 0) return -Half(-value);`<br>"
                         "`+ if (value < 0) return 0 \\|\\| 1;` | `Half.OfSeven` |")


class DrawTest(TemporaryTest):
    FUNCTIONS = [("a", "a.cc", f"F{number}") for number in range(40)] + [("b", "b.cc", "G"), ("c", "c.cc", "H")]

    def test_a_seed_draws_the_same_functions_each_time_and_one_of_each_part(self):
        for seed in range(20):
            drawn = drawn_of(self.FUNCTIONS, seed, 10)
            self.assertEqual(drawn, drawn_of(self.FUNCTIONS, seed, 10))
            self.assertEqual(set(drawn), set(drawn_of(self.FUNCTIONS[::-1], seed, 10)))
            self.assertEqual(len(set(drawn)), 10)
            self.assertEqual({part for part, _, _ in drawn}, {"a", "b", "c"})
        self.assertNotEqual(drawn_of(self.FUNCTIONS, 1, 10), drawn_of(self.FUNCTIONS, 2, 10))
        self.assertEqual([name for _, _, name in drawn_of(self.FUNCTIONS, 1, 10)],
                         ["F4", "F6", "F10", "F14", "F23", "F26", "F30", "F33", "G", "H"])

    def test_a_function_that_is_new_takes_the_place_of_one_at_most(self):
        before, after = drawn_of(self.FUNCTIONS, 1, 10), drawn_of([*self.FUNCTIONS, ("a", "a.cc", "New")], 1, 10)
        self.assertLessEqual(len(set(before) - set(after)), 1)

    def test_a_drawn_function_without_a_fault_and_a_fault_that_was_not_drawn_are_refused(self):
        faults = read_faults(self.write("faults.txt", FAULT))
        check_draw(faults, [("base", "base/half.cc", "Half")])
        self.refused("base/half.cc Twice: found 0 drawn faults, expected 1", check_draw, faults,
                     [("base", "base/half.cc", "Half"), ("base", "base/half.cc", "Twice")])
        self.refused("base/half.cc Half: found 1 drawn faults, expected 0", check_draw, faults, [])
        self.refused("base/half.cc Half: found 2 drawn faults, expected 1", check_draw, faults * 2, [("base", "base/half.cc", "Half")])


class JudgingTest(TemporaryTest):
    def test_the_first_test_that_fails_is_named(self):
        log = "[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[ RUN      ] C/D.E/1\nwrong\n[  FAILED  ] C/D.E/1, where GetParam() = 3 (2 ms)\n"
        self.assertEqual(mutants.first_failure(log, 1, "log"), "`C/D.E/1`")
        self.assertIsNone(mutants.first_failure(log, 0, "log"))
        self.assertEqual(mutants.first_failure("[ RUN      ] A.B\n", -11, "log"), "`A.B`, which ends the program")
        self.assertEqual(mutants.first_failure("[ RUN      ] A.B\n[ RUN      ] A.C\n", None, "log"), "`A.C`, which does not end")
        self.refused("ended with 127 before its first test", mutants.first_failure, "not found\n", 127, "log")

    def test_parts_share_out_the_faults(self):
        faults = [types.SimpleNamespace(words=f"fault {number}", file="a.cc", function="F") for number in range(7)]
        parts = [mutants.chosen(faults, [], f"{number}/3") for number in (1, 2, 3)]
        self.assertEqual(sorted(sum(parts, []), key=faults.index), faults)
        self.assertEqual(mutants.chosen(faults, ["fault 3", "fault 5"], "1/1"), [faults[3], faults[5]])
        self.refused("found no fault", mutants.chosen, faults, ["fault 9"], "1/1")
        for part in ("0/3", "4/3", "1", "a/b"):
            self.refused(f"--part: found {part}", mutants.chosen, faults, [], part)


class CopyTest(TemporaryTest):
    """A tree whose build makes a test program of base/half.cc: it fails where the words of the fault are."""
    BUILD = """#!/bin/sh
for argument; do [ "$before" = --build-dir ] && folder=$argument; before=$argument; done
mkdir -p "$folder/bin"
cd "$(dirname "$0")/.."
cp tests/program "$folder/bin/tessera_base_tests"
cp base/half.cc "$folder/bin/half.cc"
"""
    PROGRAM = """#!/bin/sh
case $1 in
  --gtest_list_tests) printf 'Half.\\n  OfSeven\\nTwice.\\n  OfNone\\n'; exit ;;
  *=Twice*) exit 0 ;;
esac
printf '[ RUN      ] Half.OfSeven\\n'
grep -q 'return 0' "$(dirname "$0")/half.cc" || exit 0
printf '[  FAILED  ] Half.OfSeven (0 ms)\\n'
exit 1
"""

    def setUp(self):
        super().setUp()
        self.write("root/base/half.cc", SOURCE)
        for path, text in (("root/scripts/build.sh", self.BUILD), ("root/tests/program", self.PROGRAM)):
            self.write(path, text).chmod(0o755)
        paths = ("base/half.cc", "scripts/build.sh", "tests/program")
        self.addCleanup(setattr, mutants, "sources_of", mutants.sources_of)
        mutants.sources_of = lambda root: [path for path in paths if (root / path).is_file()]
        self.copy = mutants.Copy(self.folder / "root", self.folder / "scratch")

    def outcomes(self, *texts, quick=False):
        faults = [read_faults(self.write("faults.txt", text))[0] for text in texts]
        with contextlib.redirect_stderr(io.StringIO()):
            return mutants.outcomes_of(self.copy, faults, quick)

    def test_the_fault_is_found_by_its_own_tests_or_by_all_of_them_or_by_none(self):
        others = FAULT.replace("Half*:Twice*", "Twice*")
        harmless = FAULT.replace("return 0;", "return -(value / -2);")
        self.assertEqual(self.outcomes(FAULT, others, harmless), ["`Half.OfSeven`", "`Half.OfSeven`", None])
        self.assertEqual(self.outcomes(FAULT, others, quick=True), ["`Half.OfSeven`", None])
        for path in ("root/base", "scratch/tree/base", "scratch/build/bin"):
            self.assertEqual((self.folder / path / "half.cc").read_text(), SOURCE, path)

    def test_the_copy_follows_the_tree(self):
        self.outcomes(FAULT)
        kept = (self.folder / "scratch/tree/tests/program").stat().st_mtime_ns
        self.write("scratch/tree/base/old.cc", "")
        self.write("root/base/half.cc", SOURCE + "int other;\n")
        self.copy.update()
        self.assertEqual((self.folder / "scratch/tree/base/half.cc").read_text(), SOURCE + "int other;\n")
        self.assertFalse((self.folder / "scratch/tree/base/old.cc").exists())
        self.assertEqual((self.folder / "scratch/tree/tests/program").stat().st_mtime_ns, kept)

    def test_tests_that_fail_without_a_fault_or_are_not_there_are_refused(self):
        self.refused("found the filter Hal, of which tessera_base_tests has no test", self.outcomes, FAULT.replace("Half*:", "Hal:"))
        self.write("root/base/half.cc", SOURCE.replace("return value / 2", "return 0"))
        self.refused("`Half.OfSeven` fails without a fault", self.outcomes, FAULT)

    def test_two_runs_do_not_share_a_folder(self):
        with self.copy.alone():
            self.refused("found a run that uses it", self.outcomes, FAULT)


class OurFaultsTest(unittest.TestCase):
    def setUp(self):
        self.faults, self.functions = read_faults(mutants.FAULTS), read_functions(mutants.FUNCTIONS)

    def test_each_stands_once_in_its_function_and_each_drawn_function_has_one(self):
        check_draw(self.faults, drawn_of(self.functions, mutants.SEED, mutants.DRAWN))
        for fault in self.faults:
            planted((ROOT / fault.file).read_text(), fault)
        self.assertEqual([fault.kind for fault in self.faults].count("planted"), 3)
        self.assertEqual(len(self.faults), 33)

    def test_each_function_of_the_list_is_there(self):
        for _, file, name in self.functions:
            function_lines((ROOT / file).read_text(), file, name)
        self.assertEqual(len(set(self.functions)), len(self.functions))

    def test_the_documents_show_a_test_for_each(self):
        whole = table((fault, "") for fault in self.faults).splitlines()
        rows = (ROOT / "docs/mutants.md").read_text().partition("\n".join(whole[:2]) + "\n")[2].partition("\n\n")[0].splitlines()
        self.assertEqual([row.rpartition(" | ")[0] for row in rows], [row.rpartition(" | ")[0] for row in whole[2:]])
        for row in rows:
            self.assertRegex(row, r"\| `[\w/]+\.[\w/]+`(, which ends the program|, which does not end)? \|$")


if __name__ == "__main__":
    unittest.main()
