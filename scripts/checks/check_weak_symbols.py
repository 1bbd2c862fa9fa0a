#!/usr/bin/env python3
"""No object that is compiled for an instruction set (with flags such as -mavx2) shares a function with other objects, unless the
function's name holds the name of the instruction set.

    scripts/checks/check_weak_symbols.py --build build

A linker keeps any one of the copies of an inline function. If the linker keeps the copy that is compiled for AVX2, an older CPU ends at
an illegal instruction. So the objects may define weak symbols of Tessera's own templates, where the lanes of the instruction set are an
argument (tessera::PreparePanel<tessera::LanesAvx2, ...>), and none of std, absl or other libraries. Read are the objects in the build
folder, which compile_commands.json names; a build folder without an object for an instruction set fails."""
import re
import subprocess
from sources import builds, compiled, problems, report

FLAG = re.compile(r"-m(arch=|avx|fma|f16c|sse|bmi|amx)")
SUFFIX = re.compile(r"_([a-z0-9]+)\.cc$")
OWN = re.compile(r"_Z(T[VTIS]|GV|GR)?Z?N[rVKRO]*7tessera")   # tessera::..., and what belongs to a class, function or variable of tessera's.


def weak_symbols(path):
    """Returns [(mangled, readable)] of the functions and variables that the object defines and shares with other objects."""
    listed = subprocess.run(["nm", "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^[0-9a-f]+ [WVu] (\S+)$", listed, re.MULTILINE)
    readable = subprocess.run(["c++filt"], check=True, capture_output=True, text=True, input="\n".join(names)).stdout.splitlines()
    return list(zip(names, readable))


def judge(path, source):
    instruction_set = SUFFIX.search(source)
    lanes = instruction_set and instruction_set[1].capitalize()
    for mangled, readable in weak_symbols(path):
        if not OWN.match(mangled):
            problems.append(f"{path}: defines {readable}, which is not Tessera's: a program may run this copy on every CPU")
        elif not lanes or lanes not in mangled:
            problems.append(f"{path}: defines {readable}, whose name does not hold {lanes or 'an instruction set'}")


objects = {path: source for source, words, path in compiled() if any(map(FLAG.match, words))}
if not objects:
    problems.append(f"{', '.join(map(str, builds))}: found no object that is compiled for an instruction set, expected those of a build")
for one in sorted(objects):
    judge(one, objects[one])
report(f"{len(objects)} objects for instruction sets share no function with others")
