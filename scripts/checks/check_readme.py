#!/usr/bin/env python3
"""Every figure in README.md and docs/*.md says which command prints it. A figure is a number with tokens/s, GB/s, ms, MiB or %.

In a fenced block: the block starts with a line `$ command`, or the fenced block before it in the section does. In running text or
a table: the section (heading to heading) names its command in backticks, starting with scripts/ or build/bin/.

README.md has at most 180 lines, and a row for every program (X.cc directly in apps, apps/bench or apps/lab) in its table. A test that a
document names (`Suite.Name`, or with a `*` for some of a name) is there.

A fenced block that names a file behind its language (```cpp docs/examples/hello.cc) has lines that follow each other in that file. Every
file of docs/examples/ is shown by a document in this way."""
import fnmatch
import re
from sources import files, line_of, problems, report, text

FIGURE = re.compile(r"\d\s*(tokens/s|GB/s|ms\b|MiB\b|%)")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
NAMED_TEST = re.compile(r"`([A-Z]\w+\.[A-Z*][\w*]*)`")
EXAMPLE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 180
COMMAND = re.compile(r"`(\./)?(scripts|build/bin)/\w")


def sections(lines):
    """Yields lists of (number, line, fence): fence counts the fenced blocks, 0 outside them. Each starts at a heading."""
    section, fences, inside = [], 0, False
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*```", line):
            inside = not inside
            fences += inside
        elif not inside and re.match(r"#+ ", line):
            yield section
            section = [(number, line, 0)]
        else:
            section.append((number, line, fences if inside else 0))
    yield section


def check(path):
    for section in sections(text(path).splitlines()):
        named = any(COMMAND.search(line) for _, line, fence in section if not fence)
        blocks = {}
        for number, line, fence in section:
            if fence:
                blocks.setdefault(fence, []).append((number, line))
            elif FIGURE.search(line) and not named:
                problems.append(f"{path}:{number}: a figure, but the section names no command that prints it: {line.strip()[:60]}")
        before = False
        for block in blocks.values():
            has_command = any(line.startswith("$ ") for _, line in block)
            starts = block[0][1].startswith("$ ")
            for number, line in block:
                if FIGURE.search(line) and not (starts or before):
                    problems.append(f"{path}:{number}: a figure in a block without a line `$ command` before it: {line.strip()[:60]}")
            before = has_command


def check_examples(documents):
    shown = set()
    for document in documents:
        content = text(document)
        for match in EXAMPLE.finditer(content):
            line = line_of(content, match.start())
            if not files(match[1]):
                problems.append(f"{document}:{line}: found a block of {match[1]}, which is no file")
            elif f"\n{match[2]}" not in f"\n{text(match[1])}":
                problems.append(f"{document}:{line}: found a block that differs from {match[1]}, expected lines that follow each other")
            shown.add(match[1])
    for path in files("docs/examples/*"):
        if path not in shown:
            problems.append(f"{path}:1: found in no document, expected a block of the example in one")


lines = text("README.md").splitlines()
if len(lines) > MOST_LINES:
    problems.append(f"README.md:{MOST_LINES + 1}: found {len(lines)} lines, expected at most {MOST_LINES}")
for path in files("apps/*.cc"):
    program = f"tessera_{path.rpartition('/')[2][:-len('.cc')]}"
    if re.fullmatch(r"apps/((bench|lab)/)?\w+\.cc", path) and not any(line.startswith(f"| `{program}` |") for line in lines):
        problems.append(f"README.md:1: found no row for {program} ({path}) in the table of programs, expected one")
tests = {".".join(match.groups()) for path in files("tests/*.cc", "tests/*.h") for match in TEST.finditer(text(path))}
documents = files("README.md", "docs/*.md")
check_examples(documents)
for document in documents:
    check(document)
    for number, line in enumerate(text(document).splitlines(), 1):
        for named in NAMED_TEST.findall(line):
            if not fnmatch.filter(tests, named):
                problems.append(f"{document}:{number}: found the test {named} named, expected one of tests/")
report("figures in documents name their command, README.md names every program, tests that are named exist, and examples are those of "
       "docs/examples")
