#!/usr/bin/env python3
"""Libraries are good guests: they log nothing, name no program's flags in their errors, take the clock that they are given, and their
installed headers bring no glog and ask for C++20 in plain words (base/cpp20.h, included directly or by another header).

A LOG line that ends the process (FATAL) is a bug of ours that was found, and stays; comments are not looked at. The real clock
stands in for one that is not given: as a default of a header's parameter, or where a pointer is null. Or its line has a comment that begins
with "Real time" and says why no other would do; if that line gives it a name, the reason holds for each use of the name."""
import re
from sources import code, files, line_of, problems, report, root, text

LIBRARIES = ("base", "tensor", "quant", "npu", "storage", "model", "spec", "runtime")
LOGS = re.compile(r"\b(?:VLOG|D?LOG)\s*\(\s*(?!FATAL)\w+|\b(?:LOG_IF|LOG_EVERY_N|LOG_FIRST_N)\s*\(\s*(?!FATAL)\w+")
# A flag as a person would type it, in a string literal: "--threads". A lone "--" and an option of another program's are no flags.
FLAG = re.compile(r'"[^"\n]*(?<![\w-])--[a-z][a-z_]+\b[^"\n]*"')
CPP20 = "base/cpp20.h"
# A clock of the system's, and what may have one: `given != nullptr ? given : &RealClock()`, and in a header `Clock& clock = RealClock())`,
# which is a parameter: a local variable ends with a semicolon. The time() of C takes an argument, unlike a member of that name.
CLOCK = re.compile(r"\bRealClock\(\)|\b(?:steady|system|high_resolution)_clock\b|\bclock_gettime\b|\bgettimeofday\b|\babsl::Now\b|"
                   r"(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&\s*\w+)\s*\)")
CLOCK_FOR_NULL = re.compile(r" != nullptr \? [*&\w.>-]+ : &?RealClock\(\)")
CLOCK_DEFAULT = re.compile(r"\bconst Clock& clock = RealClock\(\)(?=[,)])")
CLOCK_REASON = re.compile(r"//.*\bReal time\b")
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
    if path not in ("base/clock.h", "base/clock.cc"):
        for number, (line, whole) in enumerate(zip(code(path).splitlines(), text(path).splitlines()), 1):
            line = CLOCK_FOR_NULL.sub("", CLOCK_DEFAULT.sub("", line) if path.endswith(".h") else line)
            if CLOCK.search(line) and not CLOCK_REASON.search(whole):
                problems.append(f"{path}:{number}: takes the system's clock; a library takes a Clock that is given in, or says after "
                                '"// Real time" why it has to be this one')
    installed = path.endswith(".h") and not re.search(r"/(internal|kernels)/", path)
    if installed and (match := GLOG.search(text(path))):
        problems.append(f"{path}:{line_of(text(path), match.start())}: an installed header includes a logging library")
    if installed and CPP20 not in all_includes(path):
        problems.append(f"{path}:1: does not include {CPP20}, directly or by another header; an older standard gives a page of errors")
report("libraries log nothing, know no flags and take the clock that they are given")
