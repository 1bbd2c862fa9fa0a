#!/usr/bin/env python3
"""Every header opens with a comment of two lines or more and compiles alone; a public one (LAYER/thing.h) also shows an example of
use there, which tests/LAYER/thing_test.cc compiles in a test named HeaderExample. docs/headers.md names each that is installed.

A header that is the first #include of a source file compiles alone if a build folder (--build, which may stand more than once) has
compiled that file without a precompiled header; the others are compiled here, unless --no-compile is given.
Headers in internal/, kernels/ and tests/ are exempt. Those in other folders of a layer (LAYER/formats/thing.h) and those of the
apps are sisters behind a public header, so they need no example.

A public header brings at most 20 % more lines into a file than absl/status/statusor.h alone, as the preprocessor counts lines that are
not blank. The ten heaviest headers are printed."""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from sources import arguments, compiled, files, problems, report, root, text

EXEMPT = re.compile(r"^tests/|/(internal|kernels)/")
PUBLIC = re.compile(r"(?!apps/)(\w+|model/(text|files))/\w+\.h")
NOT_INSTALLED = re.compile(r"^(tests|apps|scripts)/|/(internal|kernels|profiles)/")
GUIDE = "docs/headers.md"
MOST_LINES = 1.2
BUILD = root / "build" / "header_check"
PRECOMPILED = {"-include", "-include-pch"}   # CMake's flags for a precompiled header.


def check_opening(path):
    opening = re.match(r"(?://[^\n]*\n)*", text(path)).group()
    if opening.count("\n") < 2:
        problems.append(f"{path}:1: opens with {opening.count(chr(10))} comment lines, expected a paragraph of at least 2")
    if not PUBLIC.fullmatch(path):
        return
    if not re.search(r"^//   +\S", opening, re.MULTILINE):
        problems.append(f"{path}:1: the opening comment holds no example of use (a line indented by three spaces)")
    test = f"tests/{path[:-2]}_test.cc"
    if test not in tests:
        problems.append(f"{path}:1: {test} is missing, so nothing compiles the header's example")
    elif not re.search(r"\bTEST(_[FP])?\(\s*\w+,\s*HeaderExample\s*\)", text(test)):
        problems.append(f"{path}:1: {test} has no test named HeaderExample")


def check_guide():
    """The guide names every installed header, and nothing else."""
    named = set(re.findall(r"\]\(\.\./([\w/]+\.h)\)", text(GUIDE))) if files(GUIDE) else set()
    for path in sorted(installed - named):
        problems.append(f"{path}:1: is installed, but {GUIDE} does not name it")
    for path in sorted(named - installed):
        problems.append(f"{GUIDE}:1: names {path}, which is not installed")


def first_include(path):
    match = re.search(r'^#include ["<](?:tessera/)?([^">]+)', text(path), re.MULTILINE)
    return match and match.group(1)


COMPILER = ["g++", "-std=c++20", "-x"]


def preprocessed(include):
    """Returns what an include brings into a file; an empty text if the preprocessor fails, and what the preprocessor says."""
    result = subprocess.run([*COMPILER, "c++", "-E", f"-I{BUILD}", "-"], input=f'#include "{include}"\n', capture_output=True, text=True)
    return "" if result.returncode else result.stdout, result.stderr


def lines_of(code):
    """Returns the number of lines that are neither blank nor the preprocessor's own."""
    return sum(1 for line in code.splitlines() if line.strip() and not line.startswith("#"))


def compile_alone(path):
    """Returns the number of lines that a header brings, and what is wrong with the header, or None."""
    code, said = preprocessed(f"tessera/{path}")
    failed = not code
    if code and path in unproven:
        result = subprocess.run([*COMPILER, "c++-cpp-output", "-fsyntax-only", "-"], input=code, capture_output=True, text=True)
        failed, said = result.returncode != 0, result.stderr
    first = next((line for line in said.splitlines() if "error" in line), said[:200])
    return lines_of(code), f"{path}:1: does not compile alone: {first}" if failed else None


def check_weights(lines):
    """Checks how many lines each installed header brings. lines: by header."""
    allowed = lines_of(preprocessed("absl/status/statusor.h")[0])
    weights = sorted(((lines[path], path) for path in installed), reverse=True)
    for brought, path in weights:
        if 0 < allowed * MOST_LINES < brought:
            problems.append(f"{path}:1: brings {brought} lines, expected at most {allowed * MOST_LINES:.0f}, {MOST_LINES} times "
                            "those of absl/status/statusor.h: hide hash tables, threads and maps in the .cc file")
    shown = ", ".join(f"{path} {brought / max(allowed, 1):.2f}" for brought, path in weights[:10])
    print(f"headers: lines beside those of statusor.h: {shown}", file=sys.stderr)


tests = set(files("tests/*_test.cc"))
headers = [path for path in files("*/*.h") if not EXEMPT.search(path)]
installed = {path for path in files("*/*.h") if not NOT_INSTALLED.search(path)}
for header in headers:
    check_opening(header)
check_guide()

if not arguments.no_compile:
    built = {first_include(source) for source, words, _ in compiled() if (root / source).is_file() and not PRECOMPILED & set(words)}
    BUILD.mkdir(parents=True, exist_ok=True)
    if not (BUILD / "tessera").exists():
        (BUILD / "tessera").symlink_to(root.resolve())
    unproven = {header for header in headers if header not in built}
    paths = sorted(unproven | installed)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(paths, pool.map(compile_alone, paths)))
    problems += [wrong for _, wrong in found.values() if wrong]
    check_weights({path: lines for path, (lines, _) in found.items()})
    print(f"headers: {len(headers) - len(unproven)} are the first of a file that was compiled, {len(unproven)} were compiled alone",
          file=sys.stderr)
report(f"{len(headers)} headers explain themselves")
