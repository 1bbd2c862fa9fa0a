#!/usr/bin/env python3
"""Says which sources of a folder may be compiled as one, so that the headers which they share are read once.

    cmake/together.py --root . --most 6 --lines 1800        writes a line for each group: its files, with | between

Each source also compiles alone: a group only saves time. Files of a group lie in one folder, and no file of a group uses a name, for
whatever it be, that another one declares for itself: in an unnamed namespace, as static, or by #define. So no file changes what another
one means.
"""
import argparse
import re
from functools import lru_cache
from pathlib import Path

COMMENT = re.compile(r"//[^\n]*")
WORD = re.compile(r"[A-Za-z_]\w+")
INCLUDE = re.compile(r'^#include "tessera/([^"]+)"', re.MULTILINE)
# A declaration begins at the first column; a line that ends with a comma goes on.
DECLARED_TYPE = re.compile(r"(?:struct|class|enum class|enum|union)(?: alignas\(.*?\))? (\w+)|using (\w+) =")
DECLARED = re.compile(r"[^=({\[;]*?([A-Za-z_]\w*)\s*(?:[=({\[;]|$)")
TOPS = ("base", "tensor", "quant", "npu", "storage", "model", "spec", "runtime", "apps", "tests")
OPENS, CLOSES = "namespace {", "}  // namespace"
NO_NAME = re.compile(r"(#|\}|namespace\b|TEST|INSTANTIATE|public|private|protected|extern\b|static_assert|DEFINE_|DECLARE_)")


@lru_cache(None)
def code(path):
    return COMMENT.sub("", path.read_text(errors="replace"))


@lru_cache(None)
def words(path):
    return frozenset(WORD.findall(code(path)))


@lru_cache(None)
def headers(root, path):
    """Returns the headers of the tree that a file includes, and those that the headers include."""
    found, left = set(), [path]
    while left:
        for name in INCLUDE.findall(code(left.pop())):
            header = root / name
            if header not in found and header.is_file():
                found.add(header)
                left.append(header)
    return found


@lru_cache(None)
def own_names(root, path):
    """Returns the names that a source declares for itself. A function of a class, Class::Function, is none."""
    names = set(re.findall(r"^\s*#define (\w+)", code(path), re.MULTILINE))
    of_headers = frozenset().union(*map(words, headers(root, path)))
    unnamed = False
    for line in path.read_text(errors="replace").splitlines():
        if line in (OPENS, CLOSES):
            unnamed = line == OPENS
        elif re.match(r"[A-Za-z]", line) and not NO_NAME.match(line):
            declared = re.sub(r"^template <.*?>\s*", "", COMMENT.sub("", line).rstrip())
            match = DECLARED_TYPE.match(declared) or DECLARED.match(declared)
            name = next(filter(None, match.groups())) if match else None
            if name and (unnamed or name not in of_headers):
                names.add(name)
    return frozenset(names)


class Group:
    def __init__(self):
        self.files, self.lines, self.names, self.words = [], 0, set(), set()

    def takes(self, root, path, most, lines):
        return (len(self.files) < most and self.lines + code(path).count("\n") <= lines and
                self.names.isdisjoint(used(root, path)) and self.words.isdisjoint(own_names(root, path)))

    def add(self, root, path):
        self.files.append(path)
        self.lines += code(path).count("\n")
        self.names |= own_names(root, path)
        self.words |= used(root, path)


@lru_cache(None)
def used(root, path):
    return words(path).union(*map(words, headers(root, path)))


def groups(root, paths, most, lines):
    """Returns groups of the paths, all of one folder; each path goes into the first group that takes it."""
    found = []
    for path in paths:
        group = next((group for group in found if group.takes(root, path, most, lines)), None)
        if group is None:
            group = Group()
            found.append(group)
        group.add(root, path)
    return [group.files for group in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="the repository")
    parser.add_argument("--most", type=int, default=6, help="most files of a group")
    parser.add_argument("--lines", type=int, default=1800, help="most lines of a group")
    parser.add_argument("--test_lines", type=int, default=700, help="most lines of a group of tests, which take the most memory")
    flags = parser.parse_args()
    folders = {}
    for top in TOPS:
        for path in sorted((flags.root / top).rglob("*.cc")):
            if path.parent.name != "kernels":
                folders.setdefault(path.parent, []).append(path)
    for folder in sorted(folders):
        lines = flags.test_lines if "tests" in folder.relative_to(flags.root).parts else flags.lines
        for files in groups(flags.root, folders[folder], flags.most, lines):
            if len(files) > 1:
                print("|".join(str(path.relative_to(flags.root)) for path in files))


if __name__ == "__main__":
    main()
