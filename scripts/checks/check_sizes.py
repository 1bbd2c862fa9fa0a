#!/usr/bin/env python3
"""Files have at most 400 lines of at most 140 columns, functions at most 40 lines, and folders with rooms at most 15 modules directly.

scripts/checks/size_exceptions.txt names the functions that may be longer, one per line: `path function: reason`; at most 3 % of all."""
import ast
import re
from collections import defaultdict
from cc_functions import cc_functions
from sources import code, files, problems, report, text

FILE_LINES, COLUMNS, FUNCTION_LINES, EXCEPTED_SHARE, MODULES = 400, 140, 40, 0.03, 15
LIST = "scripts/checks/size_exceptions.txt"


def read_exceptions():
    """The lines of the list: `path function` -> line number."""
    exceptions = {}
    for number, line in enumerate(text(LIST).splitlines() if files(LIST) else (), 1):
        if entry := re.fullmatch(r"(\S+ \S+): (\S.*)", line):
            exceptions[entry.group(1)] = number
        elif line and not line.startswith("#"):
            problems.append(f"{LIST}:{number}: expected `path function: reason`")
    return exceptions


def functions(path):
    if path.endswith((".h", ".cc")):
        yield from cc_functions(code(path))
    elif path.endswith(".py"):
        for node in ast.walk(ast.parse(text(path))):
            if isinstance(node, ast.FunctionDef):
                yield node.name, node.lineno, node.end_lineno


exceptions, total, excepted = read_exceptions(), 0, set()
for path in files("*.h", "*.cc", "*.py", "*.sh", "*.cmake", "CMakeLists.txt"):
    lines = text(path).count("\n")
    if lines > FILE_LINES:
        problems.append(f"{path}:{FILE_LINES}: the file has {lines} lines, at most {FILE_LINES}")
    for number, line in enumerate(text(path).splitlines(), 1):
        if len(line) > COLUMNS:
            problems.append(f"{path}:{number}: the line has {len(line)} columns, at most {COLUMNS}")
    for name, first, last in functions(path) if not path.endswith(".sh") else ():
        total += 1
        if last - first < FUNCTION_LINES:
            continue
        if f"{path} {name}" in exceptions:
            excepted.add(f"{path} {name}")
        else:
            problems.append(f"{path}:{first}: {name} has {last - first + 1} lines, at most {FUNCTION_LINES}")
modules = defaultdict(set)   # A header and its source are one.
for path in files("runtime/*", "spec/*", "apps/*", "tests/runtime/*", "tests/spec/*", "tests/apps/*"):
    if path.endswith((".h", ".cc")):
        modules[path.rpartition("/")[0]].add(path.rpartition(".")[0])
for folder, found in sorted(modules.items()):
    if len(found) > MODULES:
        problems.append(f"{folder}:1: the folder holds {len(found)} modules, at most {MODULES}")
for entry in exceptions.keys() - excepted:
    problems.append(f"{LIST}:{exceptions[entry]}: {entry} is short or gone, its exception can go, too")
if len(excepted) > EXCEPTED_SHARE * total:
    problems.append(f"{LIST}:1: {len(excepted)} of {total} functions are exceptions, at most {EXCEPTED_SHARE:.0%}")
report(f"files and {total} functions are short")
