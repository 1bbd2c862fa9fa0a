"""Tests of scripts/checks/check_words.py: it passes on plain words and names file and line of each habit that is planted.

    python3 tests/check_words_test.py -v
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parent.parent / "scripts/checks/check_words.py"
HABITS = (
    ("a.md", "# T\n\nAll of them. Of\nthese, two.\n", 'a.md:3: "Of"'),
    ("a.md", "| a |\n|---|\n| Who reads |\n", 'a.md:3: "Who"'),
    ("a.cc", "\nint F();  // For\n          // callers, or for\n          // who waits.\n", 'a.cc:3: "for who"'),
    ("a.h", "int F();\n/* Two rows\n a pass. */\n", 'a.h:2: "rows a pass"'),
    ("a.h", "// It takes 30 us a step.\n", 'a.h:1: "us a step"'),
    ("b.cc", 'Table table({{"drafter"},\n             {"us a step"}});\n', 'b.cc:2: "us a step"'),
    ("b.cc", 'const char* kUnit = "MiB a pass";\n', 'b.cc:1: "MiB a pass"'),
    ("b.cc", "TEST(Lock,\n     WhoWaitsIsTold) {}\n", 'b.cc:1: "TEST(Lock, WhoWaitsIsTold"'),
    ("b.cc", "TEST_F(Lock, ItIsTheErrorOfWhoWaits) {}\n", 'b.cc:1: "TEST_F(Lock, ItIsTheErrorOfWhoWaits"'),
    ("a.py", '"""Says.\n\nTokens, and tokens a second.\n"""\n', 'a.py:3: "tokens a second"'),
    ("a.py", "x = 1  # Of y.\n", 'a.py:1: "Of"'),
    ("a.cmake", "set(X 1)  # It is read by who asks.\n", 'a.cmake:1: "by who"'),
    ("CMakeLists.txt", "# Of x.\n", 'CMakeLists.txt:1: "Of"'),
    ("a.sh", "# Prints bytes a row.\n", 'a.sh:1: "bytes a row"'))
PLAIN = (
    ("a.md", 'Its column is `tokens a pass`, its title "Of Mice".\n\n```\n$ x\ntokens a second\n```\nTokens per second.\n'),
    ("a.cc", 'const char* k = "// Of x";  // Path::Of (x), OffsetOf x.\n'
             'TEST(Parts, OfWholePanels) { F(items, "a step", "status a pass"); }\n'),
    ("a.py", 'print("tokens a second # Of x")  # Tokens per second, of x.\n'),
    ("a.sh", "echo $# Of\n"))


class CheckWordsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, content in PLAIN:
            (self.root / path).write_text(content)

    def check(self):
        return subprocess.run([sys.executable, str(CHECK), "--root", str(self.root)], capture_output=True, text=True)

    def test_plain_words_code_output_and_quotations_pass(self):
        self.assertEqual(self.check().returncode, 0, self.check().stderr)

    def test_each_habit_is_named_by_file_and_line(self):
        for path, content, message in HABITS:
            with self.subTest(message):
                (self.root / path).write_text(content)
                result = self.check()
                (self.root / path).unlink()
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 2, result.stderr)
                self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
