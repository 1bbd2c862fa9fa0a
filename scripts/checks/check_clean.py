#!/usr/bin/env python3
"""Nothing is left over: no paths of somebody's machine, no notes to self, no file over 1 MiB, no merge marks,
no blanks at the end of a line."""
import re
from sources import files, problems, report, root

LARGEST = 1 << 20
RULES = (
    (re.compile(r"(?<![\w.}/])/(root|work|tmp)/"), "names a path of one machine"),
    (re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"), "is a note to self"),
    (re.compile(r"^(<{7}|>{7}) "), "is a merge mark"),
    (re.compile(r"[ \t]+$"), "ends in blanks"),
)
TEXT = (".h", ".cc", ".py", ".sh", ".cmake", ".txt", ".md", ".proto", ".ci/run", ".ci/layer")

for path in files("*"):
    size = (root / path).stat().st_size
    if size > LARGEST:
        problems.append(f"{path}:1: {size} bytes, at most {LARGEST}")
    elif path.endswith(TEXT) and not path.startswith("tests/golden/"):
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            problems += [f"{path}:{number}: {what}: {line.strip()[:60]}" for rule, what in RULES if rule.search(line)]
report("nothing is left over")
