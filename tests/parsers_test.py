"""The list in tests/fuzz/README.md of what reads texts and files from outside, against the code: nothing is missing, nothing is made up.

    python3 tests/parsers_test.py -v

A reader is a function that a header declares, whose name begins with Read, Parse, Load, Open, Decode or Extract, is FromJson or ends with
OfName, and which takes a text, bytes, a path, or a value or file that was parsed. Headers in internal/ and kernels/ are left out: theirs
are parts of these. A reader stands in the table of a fuzz target, or in the table of those without one, with the reason.
"""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("base", "tensor", "quant", "npu", "storage", "model", "spec", "runtime", "apps")
CLASS = re.compile(r"(?:class|struct) (\w+)(?: .*)?\{")
READER = re.compile(r"(?P<indent>\s*)(?:(?:static|virtual|friend) )*[\w:]+(?:<.+?>)? "
                    r"(?P<name>(?:Read(?!s\b|s[A-Z])|Parse|Load|Open|Decode|Extract)\w*|FromJson|\w+OfName)\((?P<takes>.*)")
TEXT = re.compile(r"const std::string&|absl::string_view|absl::Span<const std::byte>|const JsonValue&|"
                  r"const (?:Safetensors|Gguf)File&|GgufBytes")
ROW = re.compile(r"\| `(?P<header>[\w/]+\.h)` \| (?P<names>`.*?`) \| (?P<target>.*?) \|")


def declarations(text):
    """Yields (class or "", line) of a header, a declaration that goes over several lines as one."""
    owner = ""
    for line in re.sub(r",\n\s+", ", ", text).splitlines():
        if match := CLASS.match(line):
            owner = match[1]
        if line.startswith("};"):
            owner = ""
        yield owner, line


def readers(path):
    """Returns the names of the readers that a header declares."""
    found = set()
    for owner, line in declarations(path.read_text()):
        match = READER.match(line)
        if match and "//" not in line[:match.start("takes")] and TEXT.search(match["takes"]):
            found.add(f"{owner}::{match['name']}" if match["indent"] and owner else match["name"])
    return found


def all_readers():
    """Returns {(header, name)}."""
    headers = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.h"))]
    return {(str(path.relative_to(ROOT)), name) for path in headers if not {"internal", "kernels"} & set(path.parts)
            for name in readers(path)}


def rows(heading):
    """Returns {(header, name): what stands in the third column} of the table below a heading of tests/fuzz/README.md."""
    section = re.search(rf"^### {heading}\n(.*?)(?=^##|\Z)", (ROOT / "tests/fuzz/README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    return {(row["header"], name): row["target"] for row in ROW.finditer(section) for name in re.findall(r"`(.*?)`", row["names"])}


def code_of(path):
    """Returns a target's source without comments, with the headers of tests/ that it includes."""
    code = path.read_text()
    headers = [(ROOT / name).read_text() for name in re.findall(r'^#include "tessera/(tests/[^"]+)"', code, re.MULTILINE)]
    return re.sub(r"//.*", "", "".join([code, *headers]))


class ParsersTest(unittest.TestCase):
    def setUp(self):
        self.fuzzed, self.others = rows("Readers that are fuzzed"), rows("Readers without a target")

    def test_every_reader_has_a_target_or_a_reason(self):
        self.assertGreater(len(all_readers()), 100)
        self.assertEqual(sorted(all_readers() - self.fuzzed.keys() - self.others.keys()), [], "in none of the tables")

    def test_no_reader_has_both(self):
        self.assertEqual(sorted(self.fuzzed.keys() & self.others.keys()), [])

    def test_what_the_tables_name_is_declared_there(self):
        for header, name in (*self.fuzzed, *self.others):
            with self.subTest(header=header, name=name):
                owner, _, function = name.rpartition("::")
                found = [own for own, line in declarations((ROOT / header).read_text()) if re.search(rf"\b{function}\(", line)]
                self.assertIn(owner, found)

    def test_every_target_calls_what_it_is_said_to_read(self):
        for (header, name), targets in self.fuzzed.items():
            for target in re.findall(r"`(\w+)`", targets) or [""]:
                with self.subTest(header=header, name=name, target=target):
                    code = code_of(ROOT / f"tests/fuzz/{target}_fuzz.cc")
                    owner, _, function = name.rpartition("::")
                    self.assertTrue(re.search(rf"\b{function}(<[^>]*>)?\(", code), function)
                    self.assertTrue(re.search(rf"\b{owner}\b", code), owner)

    def test_every_target_reads_something(self):
        named = {target for targets in self.fuzzed.values() for target in re.findall(r"`(\w+)`", targets)}
        there = {path.name.removesuffix("_fuzz.cc") for path in (ROOT / "tests/fuzz").glob("*_fuzz.cc")}
        self.assertEqual(sorted(there - named), ["packed", "tree"], "the first calls what is internal, the other reads drafters")

    def test_a_reason_is_a_sentence(self):
        for (header, name), reason in self.others.items():
            self.assertRegex(reason, r"^\w.{15,}\.$", f"{header} {name}")


class RuleTest(unittest.TestCase):
    """What the rule finds in a header."""
    def found(self, *lines):
        return sorted({f"{owner}::{m['name']}" if owner else m["name"] for owner, line in declarations("\n".join(lines))
                       if (m := READER.match(line)) and TEXT.search(m["takes"])})

    def test_functions_and_members_that_take_texts_are_found(self):
        self.assertEqual(self.found("absl::StatusOr<A> ParseA(absl::string_view text);", "struct B {",
                                    "  static absl::StatusOr<B> Load(int a,", "                                const std::string& path);",
                                    "};",
                                    "absl::StatusOr<std::vector<int>> ReadC(", "int ReadD(int place);"), ["B::Load", "ParseA"])


if __name__ == "__main__":
    unittest.main()
