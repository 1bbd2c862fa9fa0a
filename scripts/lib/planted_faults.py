"""Faults that are planted in sources, to see whether tests find them: their files, where they stand, and which functions are drawn.

    functions = read_functions(path)                        # tests/mutants/functions.txt: (part, file, function)
    faults = read_faults(path)                              # tests/mutants/mutants.txt, which says how they are written
    check_draw(faults, drawn_of(functions, seed, count))    # each drawn function has one fault, and no other function has a drawn one
    text = planted(text_of_the_file, faults[0])             # the fault's old lines stand once in its function, or it is refused

What is wrong ends the script with one sentence.
"""
import hashlib
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "checks"))
from cc_functions import blanked, cc_functions  # noqa: E402

KINDS = ("planted", "drawn")


@dataclass
class Fault:
    kind: str            # One of KINDS.
    words: str           # What goes wrong.
    line: int            # Where the fault begins in the file of faults.
    file: str = ""
    function: str = ""
    old: list = field(default_factory=list)   # Whole lines,
    new: list = field(default_factory=list)   # and those that come in their place.
    why: str = ""
    program: str = ""
    tests: str = ""      # A filter of GoogleTest.

    def diff(self):
        return [*(f"-{line}" for line in self.old), *(f"+{line}" for line in self.new)]


def failed(place, found, expected):
    raise SystemExit(f"failed: {place}: found {found}, expected {expected}")


def read_functions(path):
    functions, part, file = [], None, None
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.endswith(":"):
            part, file = line[:-1], None
        elif not line.startswith(" "):
            file = line
        elif part is None or file is None:
            failed(f"{path}:{number}", repr(line), "a part and a file before functions")
        else:
            functions += [(part, file, name) for name in line.split()]
    return functions


def _read_line(place, fault, line):
    key, _, value = line.partition(": ")
    if line[0] == "-" and not fault.new:
        fault.old.append(line[1:])
    elif line[0] == "+":
        fault.new.append(line[1:])
    elif key == "function" and len(value.split()) == 2:
        fault.file, fault.function = value.split()
    elif key == "tests" and len(value.split()) == 2:
        fault.program, fault.tests = value.split()
    elif key == "why" and value:
        fault.why = value
    else:
        failed(place, repr(line), "function: FILE NAME, why: WORDS, tests: PROGRAM FILTER, or lines with - and then lines with +")


def read_faults(path):
    faults, open_fault = [], False
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        kind, _, words = line.partition(": ")
        if line.startswith("#"):
            continue
        if not line:
            open_fault = False
        elif open_fault:
            _read_line(f"{path}:{number}", faults[-1], line)
        elif kind in KINDS and words:
            faults.append(Fault(kind, words, number))
            open_fault = True
        else:
            failed(f"{path}:{number}", repr(line), "planted: WORDS or drawn: WORDS")
    for fault in faults:
        if not (fault.file and fault.program and fault.old) or fault.old == fault.new:
            failed(f"{path}:{fault.line}", "a fault without a function, tests, old lines or a change", "all of them")
    return faults


def function_lines(text, place, name):
    """Returns the numbers of the first and the last line of the function of a C++ file that has the name."""
    found = [(first, last) for each, first, last in cc_functions(blanked(text)) if each == name]
    if len(found) != 1:
        failed(place, f"{len(found)} functions {name}", "one")
    return found[0]


def planted(text, fault):
    """Returns the text of the fault's file with the fault in it."""
    first, last = function_lines(text, fault.file, fault.function)
    lines, count = text.splitlines(), len(fault.old)
    places = [at for at in range(first - 1, last - count + 1) if lines[at:at + count] == fault.old]
    if len(places) != 1:
        failed(f"{fault.file} {fault.function}", f"{len(places)} places with the lines {fault.old}", "one")
    lines[places[0]:places[0] + count] = fault.new
    return "\n".join(lines) + "\n"


# Words of functions that were renamed after the draw, and the words that the seed knows.
FORMER = (("Chunk", "Piece"), ("Prefix", "Beginning"), ("Preempt", "SetBack"), ("TruncateCache", "SetBack"))


def _former(function):
    """Returns the name of a function before it was renamed, so that new words draw no other function."""
    name = function.replace("Prefixes", "Beginnings")
    for word, former in FORMER:
        name = name if function.startswith("PrefixIndex") else name.replace(word, former)
    return name


def _without_room(file):
    """Returns the path of a file as if its layer had no rooms but chat and scale, so that a move draws no other function."""
    return re.sub(r"^(runtime|spec)/(?!chat/|scale/)(?:\w+/)*?(internal/)?(\w+\.\w+)$", r"\1/\2\3", file)


def drawn_of(functions, seed, count):
    """Returns the functions that a seed draws: one of each part, then any. A function that is added or taken away changes little: the
    others keep their order, which is that of hashes."""
    ordered = sorted(functions, key=lambda each: hashlib.sha256(f"{seed} {_without_room(each[1])} {_former(each[2])}".encode()).hexdigest())
    drawn = list({part: next(each for each in ordered if each[0] == part) for part, _, _ in ordered}.values())
    drawn += [each for each in ordered if each not in drawn]
    return sorted(drawn[:count], key=functions.index)


def check_draw(faults, drawn):
    wanted = [(file, function) for _, file, function in drawn]
    found = [(fault.file, fault.function) for fault in faults if fault.kind == "drawn"]
    for each in {*wanted, *found}:
        if wanted.count(each) != found.count(each):
            failed(" ".join(each), f"{found.count(each)} drawn faults", f"{wanted.count(each)}, as the seed draws")


def table(rows):
    """Returns a table in Markdown. rows: (fault, the test that finds it)."""
    lines = ["| fault | where | diff | first test that fails |", "|---|---|---|---|"]
    for fault, test in rows:
        diff = "<br>".join("`" + re.sub(r"^([-+])\s*", r"\1 ", line).replace("|", "\\|") + "`" for line in fault.diff())
        lines.append(f"| {fault.words} | `{fault.file}`, `{fault.function}` | {diff} | {test} |")
    return "\n".join(lines) + "\n"
