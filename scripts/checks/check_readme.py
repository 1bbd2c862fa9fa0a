#!/usr/bin/env python3
"""Every figure in README.md and docs/*.md says which command prints it. A figure is a number with tokens/s, GB/s, ms, MiB or %.

In a fenced block: the block starts with a line `$ command`, or the fenced block before it in the section does. In running text or
a table: the section (heading to heading) names its command in backticks, starting with scripts/ or build/bin/.

docs/results/ has the figures, a file per command. Behind its title stands a list: what the file shows, its command, the CPU, the commit
that was measured, and the document that links to it. docs/results/README.md lists all of them. docs without results has at most 5,000
lines, and a link leads to a file and a heading.

README.md has at most 180 lines, and a row for every program (X.cc directly in apps, apps/bench or apps/lab) in its table. A test that a
document names (`Suite.Name`, or with a `*` for some of a name) is there.

A fenced block that names a file behind its language (```cpp docs/examples/hello.cc) has lines that follow each other in that file. Every
file of docs/examples/ is shown by a document in this way."""
import fnmatch
import os
import re
from sources import files, line_of, problems, report, root, text

FIGURE = re.compile(r"\d\s*(tokens/s|GB/s|ms\b|MiB\b|%)")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
NAMED_TEST = re.compile(r"`([A-Z]\w+\.[A-Z*][\w*]*)`")
EXAMPLE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES, MOST_LINES_OF_DOCS = 180, 5000
COMMAND = re.compile(r"`(\./)?(scripts|build/bin)/\w")
RESULTS, INDEX = "docs/results/*.md", "docs/results/README.md"
FIELDS = ("Shows", "Command", "CPU", "Commit", "Document")
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")


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
    of_file = fnmatch.fnmatch(path, RESULTS) and bool(re.search(rf"^- Command: .*{COMMAND.pattern}", text(path), re.MULTILINE))
    for section in sections(text(path).splitlines()):
        named = of_file or any(COMMAND.search(line) for _, line, fence in section if not fence)
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


def check_result(path, linked):
    """Checks the list behind the title of a file of docs/results, and that a document links to the file."""
    head = text(path).partition("\n\n")[2].partition("\n\n")[0]
    for field in FIELDS:
        if not re.search(rf"^- {field}: \S", head, re.MULTILINE):
            problems.append(f"{path}:1: found no line `- {field}: ...` behind the title, expected one")
    if not re.search(rf"^- Command: .*{COMMAND.pattern}", head, re.MULTILINE):
        problems.append(f"{path}:1: found no command of scripts/ or build/bin/ in the line `- Command:`, expected one")
    if path not in linked:
        problems.append(f"{path}:1: found in no document, expected a link to it")
    if f"]({path.rpartition('/')[2]})" not in text(INDEX):
        problems.append(f"{path}:1: found no link in {INDEX}, expected one")


def anchors(path):
    """Returns the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text(path), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.strip()).replace(" ", "-") for heading in plain}


def check_links(documents):
    """Checks that links of documents lead somewhere; returns the files they lead to from documents that are no results."""
    linked = set()
    for document in documents:
        content = text(document)
        for match in LINK.finditer(content):
            path = os.path.normpath(os.path.join(os.path.dirname(document), match[1])) if match[1] else document
            if not fnmatch.fnmatch(document, RESULTS): linked.add(path)
            if not (root / path).exists():
                problems.append(f"{document}:{line_of(content, match.start())}: found a link to {path}, which is not there")
            elif match[2] and path.endswith(".md") and match[2] not in anchors(path):
                problems.append(f"{document}:{line_of(content, match.start())}: found a link to #{match[2]}, no heading of {path}")
    return linked


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
linked = check_links(documents)
results = [path for path in files(RESULTS) if path != INDEX]
for path in results: check_result(path, linked)
lines_of_docs = sum(len(text(path).splitlines()) for path in documents if re.match(r"docs/(?!results/)", path))
if lines_of_docs > MOST_LINES_OF_DOCS:
    problems.append(f"docs: found {lines_of_docs} lines without docs/results, expected at most {MOST_LINES_OF_DOCS}")
for document in documents:
    check(document)
    for number, line in enumerate(text(document).splitlines(), 1):
        for named in NAMED_TEST.findall(line):
            if not fnmatch.filter(tests, named):
                problems.append(f"{document}:{number}: found the test {named} named, expected one of tests/")
report("figures in documents name their command, README.md names every program, tests that are named exist, links lead somewhere, and "
       "examples are those of docs/examples")
