#!/usr/bin/env python3
"""No two files define types of one name, and no function has the name of a type: one program may include both.

Read are definitions in the first column (headers, sources and tests/fakes), outside namespaces without a name. A name within a namespace of
its own, as internal::Part, is another name."""
import re
from collections import defaultdict

from sources import code, files, line_of, problems, report

TYPE = re.compile(r"^(?:template <[^\n]*>\n)?(?:class|struct|union|enum class|enum) (?:alignas\([^)]*\) |\[\[\w+\]\] )?(\w+)(?: final)?"
                  r"(?=[ \n]*(?:\{|:[^:]))|^using (\w+) = ", re.MULTILINE)
FUNCTION = re.compile(r"^(?=\w)(?!(?:return|class|struct|using|enum|namespace|template|friend|typedef|extern)\b)[\w:<>,*& \[\]]*[\w>*&\]] "
                      r"\**&?(\w+)\(", re.MULTILINE)
NAMESPACE = re.compile(r"^(inline )?namespace ?([\w:]*) ?\{", re.MULTILINE)


def regions(content):
    """Yields (begin, end, name) of namespaces; the code has its braces in pairs."""
    for match in NAMESPACE.finditer(content):
        depth, place = 1, match.end()
        for brace in re.finditer(r"[{}]", content[match.end():]):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                place = match.end() + brace.start()
                break
        yield match.start(), place, match[2]


def space_of(spaces, place):
    """Returns the namespaces around a place, joined, or None within one without a name."""
    names = [name for begin, end, name in spaces if begin < place < end]
    return None if "" in names else "::".join(names)


def main():
    types, functions = defaultdict(list), defaultdict(list)
    paths = files("*.h", "*.cc")
    for path in paths:
        if path.startswith("tests/") and not path.startswith("tests/fakes/"):
            continue
        content = code(path)
        spaces = list(regions(content))
        for rule, found in ((TYPE, types), (FUNCTION, functions)):
            if rule is FUNCTION and not path.endswith(".h"):
                continue
            for match in rule.finditer(content):
                name = match[1] or match[2] if rule is TYPE else match[1]
                space = space_of(spaces, match.start())
                if space is not None and space != "":
                    found[f"{space}::{name}"].append((path, line_of(content, match.start(match.lastindex))))
    for name, places in sorted(types.items()):
        others = sorted({path for path, _ in places})
        if len(others) > 1:
            problems.append(f"{places[1][0]}:{places[1][1]}: {name} is a type of {places[0][0]}, too")
        for path, line in functions.get(name, []):
            problems.append(f"{path}:{line}: {name} is a function here and a type in {places[0][0]}")
    report(f"{len(types)} types have names of their own")


main()
