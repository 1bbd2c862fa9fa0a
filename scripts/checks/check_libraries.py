#!/usr/bin/env python3
"""Libraries are good guests: they log nothing, name no program's flags in their errors, and their installed headers bring no glog and
ask for C++20 in plain words (base/cpp20.h, included directly or by another header).

A LOG line that ends the process (FATAL) is a bug of ours that was found, and stays; comments are not looked at."""
import re
from sources import code, files, line_of, problems, report, root, text

LIBRARIES = ("base", "tensor", "quant", "npu", "storage", "model", "spec", "runtime")
LOGS = re.compile(r"\b(?:VLOG|D?LOG)\s*\(\s*(?!FATAL)\w+|\b(?:LOG_IF|LOG_EVERY_N|LOG_FIRST_N)\s*\(\s*(?!FATAL)\w+")
# A flag as a person would type it, in a string literal: "--threads". A lone "--" and an option of another program's are no flags.
FLAG = re.compile(r'"[^"\n]*(?<![\w-])--[a-z][a-z_]+\b[^"\n]*"')
CPP20 = "base/cpp20.h"
GLOG = re.compile(r'^#include [<"](?:glog/|absl/log/)', re.MULTILINE)


def strings_only(path):
    """The file without its comments; strings stay."""
    blanked = code(path)
    kept = []
    for original, line in zip(text(path).splitlines(), blanked.splitlines()):
        comment = original.find("//")
        is_comment = comment >= 0 and original.count('"', 0, comment) % 2 == 0
        kept.append(original[:comment] if is_comment else original)
    return "\n".join(kept)


def all_includes(path, known={}):
    """The header and all of the project's headers that it includes, directly or not."""
    if path not in known:
        known[path] = {path}
        for included in re.findall(r'^#include "tessera/([^"]+)"', text(path), re.MULTILINE):
            if (root / included).is_file():
                known[path] |= all_includes(included)
    return known[path]


for path in files("*.h", "*.cc"):
    if path.split("/")[0] not in LIBRARIES:
        continue
    for match in LOGS.finditer(code(path)):
        problems.append(f"{path}:{line_of(code(path), match.start())}: logs; a library reports by a Status or a value")
    for number, line in enumerate(strings_only(path).splitlines(), 1):
        if named := FLAG.search(line):
            problems.append(f"{path}:{number}: names a flag, {named.group()[:60]}; a library names the option's field")
    installed = path.endswith(".h") and not re.search(r"/(internal|kernels)/", path)
    if installed and (match := GLOG.search(text(path))):
        problems.append(f"{path}:{line_of(text(path), match.start())}: an installed header includes a logging library")
    if installed and CPP20 not in all_includes(path):
        problems.append(f"{path}:1: does not include {CPP20}, directly or by another header; an older standard gives a page of errors")
report("libraries log nothing and know no flags")
