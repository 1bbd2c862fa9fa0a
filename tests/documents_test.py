"""Tests of check_readme: it passes on a small good tree and fails, naming file and line, once a document breaks a rule.

    python3 tests/documents_test.py -v
"""
import unittest
from scripts_test import GOOD_TREE, GoodTree


class DocumentsTest(GoodTree):
    def test_readme_catches_figure_without_command(self):
        self.planted("check_readme", "README.md", "# T\n\n`scripts/x` says:\n\n# U\nIt runs at 200 tokens/s.\n", "README.md:6:")

    def test_readme_catches_a_program_without_a_row(self):
        self.planted("check_readme", "apps/chat.cc", "int main() {}\n", "README.md:1: found no row for tessera_chat (apps/chat.cc)")
        self.plant("README.md", GOOD_TREE["README.md"] + "\n| program | does |\n|---|---|\n| `tessera_chat` | talks |\n")
        self.passes("check_readme")

    def test_readme_catches_a_test_that_is_not_there(self):
        self.plant("docs/bits.md", "# T\n\n`Half.HeaderExample`, `View.*`, `Half.hidden`\n")
        self.planted("check_readme", "docs/bits.md", "# T\n\n`Half.Example` and `View.Other*`\n", "docs/bits.md:3: found the test View.O")

    def test_readme_catches_a_long_first_page(self):
        self.planted("check_readme", "README.md", "# T\n" + "\n" * 180, "README.md:181: found 181 lines, expected at most 180")

    def test_readme_catches_an_example_that_differs_from_its_file(self):
        self.plant("docs/examples/hello.cc", "int a;\nint b;\nint c;\n")
        self.plant("docs/hello.md", "# T\n\n```cpp docs/examples/hello.cc\nint b;\nint c;\n```\n")
        self.planted("check_readme", "docs/hello.md", "# T\n\n```cpp docs/examples/hello.cc\nint a;\nint c;\n```\n",
                     "docs/hello.md:3: found a block that differs from docs/examples/hello.cc")
        self.plant("docs/hello.md", "# T\n")
        self.fails("check_readme", "docs/examples/hello.cc:1: found in no document")

    def test_readme_catches_a_result_that_does_not_say_where_it_was_measured(self):
        head = "# T\n\n- Shows: speed.\n- Command: `scripts/speed.sh`\n- CPU: one\n- Commit: `a`\n- Document: [s](../speed.md)\n"
        body = "\nIt runs at 200 tokens/s.\n\n## More\n\nAnd at 100 tokens/s.\n"
        self.plant("docs/speed.md", "# T\n\n[speed](results/speed.md)\n")
        self.plant("docs/results/README.md", "# T\n\n[speed](speed.md)\n")
        self.plant("docs/results/speed.md", head + body)
        self.passes("check_readme")
        self.plant("docs/results/speed.md", head.replace("- CPU: one\n", "") + body)
        self.fails("check_readme", "docs/results/speed.md:1: found no line `- CPU: ...`")
        self.plant("docs/results/speed.md", head.replace("scripts/speed.sh", "speed") + body)
        self.fails("check_readme", "docs/results/speed.md:1: found no command")
        self.plant("docs/results/speed.md", head + body)
        self.planted("check_readme", "docs/speed.md", "# T\n", "docs/results/speed.md:1: found in no document")
        self.plant("docs/results/README.md", "# T\n")
        self.fails("check_readme", "docs/results/speed.md:1: found no link in docs/results/README.md")

    def test_readme_catches_a_link_to_nothing(self):
        self.plant("docs/bits.md", "# T\n\n## The bits: `a`\n\n[b](#the-bits-a), [h](headers.md#headers), [c](../base/half.h)\n")
        self.passes("check_readme")
        self.plant("docs/bits.md", "# T\n\n[b](gone.md)\n")
        self.fails("check_readme", "docs/bits.md:3: found a link to docs/gone.md, which is not there")
        self.plant("docs/bits.md", "# T\n\n[b](headers.md#gone)\n")
        self.fails("check_readme", "docs/bits.md:3: found a link to #gone, no heading of docs/headers.md")

    def test_readme_catches_documents_that_grow(self):
        self.plant("docs/results/README.md", "# T\n" + "\n" * 5000)
        table = "# T\n\n| a |\n|---|\n" + "| 1 |\n" * 4996
        self.planted("check_readme", "docs/bits.md", table, "lines without docs/results, expected at most 5000")

    def test_readme_catches_block_without_command(self):
        self.planted("check_readme", "docs/speed.md", "Text.\n\n```\n12 MiB\n```\n", "docs/speed.md:4:")


if __name__ == "__main__":
    unittest.main()
