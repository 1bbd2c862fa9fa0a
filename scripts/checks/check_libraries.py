#!/usr/bin/env python3
"""What a program may expect of the libraries that it links, as far as their text shows it.

They write nothing to the log: what a caller may want to tell is a fact that it can ask for. CHECK and LOG(FATAL), which end the process
where our own code is wrong, remain. Installed headers include no glog, whose macros (LOG, CHECK) would meet those of a program that has
others of these names. And each includes base/cpp20.h, itself or by way of another header, so that an older standard is refused in one
sentence."""
import re
from sources import code, files, line_of, problems, report, root, text

LIBRARIES = re.compile(r"(?!apps/|tests/|scripts/)[\w/]+\.(h|cc)")
NOT_INSTALLED = re.compile(r"/(internal|kernels)/")
CPP20 = "base/cpp20.h"
LOGS = re.compile(r"\b([DPV]?LOG(_\w+)?|SYSLOG\w*|RAW_LOG\w*)\s*\((?!\s*FATAL\b)")


def all_includes(path, known={}):
    """The project's headers that `path` includes, itself or by way of others, and `path`."""
    if path not in known:
        known[path] = {path}
        for included in re.findall(r'^#include "tessera/([^"]+)"', text(path), re.MULTILINE):
            if (root / included).is_file():
                known[path] |= all_includes(included)
    return known[path]


def check_quiet(path):
    content = code(path)
    for match in LOGS.finditer(content):
        problems.append(f"{path}:{line_of(content, match.start())}: writes to the log ({match.group(1)}), expected a fact to ask for")


def check_installed(path):
    for match in re.finditer(r'^#include ["<]glog/', text(path), re.MULTILINE):
        problems.append(f"{path}:{line_of(text(path), match.start())}: includes glog, expected in .cc files alone")
    if CPP20 not in all_includes(path):
        problems.append(f"{path}:1: includes {CPP20} nowhere, so an older standard would be refused in other words")


sources = [path for path in files("*.h", "*.cc") if LIBRARIES.fullmatch(path)]
headers = [path for path in sources if path.endswith(".h") and not NOT_INSTALLED.search(path)]
for source in sources:
    check_quiet(source)
for header in headers:
    check_installed(header)
report(f"{len(sources)} files of libraries log nothing, and {len(headers)} headers say what they need")
