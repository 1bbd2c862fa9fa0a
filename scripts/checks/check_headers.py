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
from functools import lru_cache
from sources import arguments, compiled, files, problems, report, root, text

EXEMPT = re.compile(r"^tests/|/(internal|kernels)/")
PUBLIC = re.compile(r"(?!apps/)(\w+|model/(text|files)|spec/\w+(/history)?|"
                    # The example of draft/speculation.h has no test yet.
                    r"runtime/(engine(/switching)?|session|adapters|scheduler|draft(?!/speculation)))/\w+\.h")
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
    """The guide names every installed header by its path, in backticks, and nothing else."""
    named = set(re.findall(r"`([\w/]+/\w+\.h)`", text(GUIDE))) if files(GUIDE) else set()
    for path in sorted(installed - named):
        problems.append(f"{path}:1: is installed, but {GUIDE} does not name it")
    for path in sorted(named - installed):
        problems.append(f"{GUIDE}:1: names {path}, which is not installed")


def first_include(path):
    match = re.search(r'^#include ["<](?:tessera/)?([^">]+)', text(path), re.MULTILINE)
    return match and match.group(1)


COMPILER = ["g++", "-std=c++20", f"-I{BUILD}", "-x"]
COMMON = "absl/status/statusor.h"   # Half of the time of most headers is that of this one, which they include.


@lru_cache(None)
def included(path):
    """Returns what a header includes, directly or by headers of the tree."""
    names = set(re.findall(r'^#include ["<]([^">]+)', text(path), re.MULTILINE))
    own = {name[len("tessera/"):] for name in names if name.startswith("tessera/")}
    return names.union(*(included(name) for name in own if (root / name).is_file()))


def precompile_common():
    (BUILD / "common.h").write_text(f'#include "{COMMON}"\n')
    subprocess.run([*COMPILER, "c++-header", "-o", BUILD / "common.h.gch", BUILD / "common.h"], check=True)


def compile_alone(path):
    """Returns what is wrong with the header, or None. COMMON is precompiled for headers that include it."""
    common = ["-include", BUILD / "common.h"] if COMMON in included(path) else []
    command = [*COMPILER, "c++", *common, "-fsyntax-only", "-Wno-pragma-once-outside-header", root / path]
    result = subprocess.run(command, capture_output=True, text=True)
    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr[:200])
    return f"{path}:1: does not compile alone: {first}" if result.returncode else None


def lines_of(include):
    """Returns the number of lines that an include brings into a file, 0 if the preprocessor fails (compile_alone tells why)."""
    result = subprocess.run([*COMPILER, "c++", "-E", "-P", "-"], input=f'#include "{include}"\n', capture_output=True, text=True)
    return 0 if result.returncode else sum(1 for line in result.stdout.splitlines() if line.strip())


def check_weights(pool):
    """Checks how many lines each installed header brings."""
    paths = sorted(installed)
    allowed, *lines = pool.map(lines_of, [COMMON] + [f"tessera/{path}" for path in paths])
    weights = sorted(zip(lines, paths), reverse=True)
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
    unproven = [header for header in headers if header not in built]
    precompile_common()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems += filter(None, pool.map(compile_alone, unproven))
        check_weights(pool)
    print(f"headers: {len(headers) - len(unproven)} are the first of a file that was compiled, {len(unproven)} were compiled alone",
          file=sys.stderr)
report(f"{len(headers)} headers explain themselves")
