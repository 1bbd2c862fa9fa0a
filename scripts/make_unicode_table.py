#!/usr/bin/env python3
"""Writes model/text/internal/unicode_15_0.inc: what tokenizers need to know of each code point, by Unicode 15.0.0.

  scripts/make_unicode_table.py [--check] [--data=/usr/share/unicode]

The data is the Unicode Character Database as published (on Debian 12: apt-get install unicode-data). The table is checked in, so that a
text has the same tokens on every machine, whatever its libraries know of Unicode. --check: writes nothing, fails if the file differs."""
import argparse
import re
import sys
from pathlib import Path

VERSION = "15.0.0"
TABLE = Path(__file__).resolve().parent.parent / "model/text/internal/unicode_15_0.inc"
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
HAN, UNSETTLED, SPACE = 0x20, 0x40, 0x80  # Above the number of the category.
LIMIT = 0x110000


def fields(folder, name):
    """First and last code point, and the fields after them, of each line of a file of the database."""
    for line in (folder / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([^#]*)", line):
            yield int(match[1], 16), int(match[2] or match[1], 16), [field.strip() for field in match[3].split(";")]


def values(folder):
    """One number for each code point."""
    table = [CATEGORIES.index("Cn")] * LIMIT
    first = 0
    for code, _, (name, category, combining, *_) in fields(folder, "UnicodeData.txt"):
        first = first if name.endswith(", Last>") else code  # Large ranges are given by two lines.
        for at in range(first, code + 1):
            table[at] = CATEGORIES.index(category) | (UNSETTLED if combining != "0" else 0)
    for name, wanted, bit in (("Scripts.txt", ["Han"], HAN), ("PropList.txt", ["White_Space"], SPACE),
                              ("DerivedNormalizationProps.txt", ["NFC_QC", "N"], UNSETTLED),
                              ("DerivedNormalizationProps.txt", ["NFC_QC", "M"], UNSETTLED)):
        for begin, end, found in fields(folder, name):
            if found == wanted:
                for at in range(begin, end + 1):
                    table[at] |= bit
    return table


def text(table):
    lines = [f"// Written by scripts/make_unicode_table.py from the Unicode Character Database {VERSION}: where runs of code points that",
             "// are alike begin, and what they are (unicode_traits.h).", ""]
    line = ""
    for code, value in enumerate(table):
        if code > 0 and value == table[code - 1]:
            continue
        item = f"{{{code:#x},{value:#x}}},"
        if len(line) + len(item) > 140:
            lines.append(line)
            line = ""
        line += item
    return "\n".join(lines + [line]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--data", type=Path, default=Path("/usr/share/unicode"))
    arguments = parser.parse_args()
    if f"Version {VERSION}" not in " ".join((arguments.data / "ReadMe.txt").read_text(encoding="utf-8").split()):
        sys.exit(f"{arguments.data}/ReadMe.txt: found no \"Version {VERSION}\", expected the data of that version")
    wanted = text(values(arguments.data))
    if not arguments.check:
        TABLE.write_text(wanted, encoding="ascii")
    elif TABLE.read_text(encoding="ascii") != wanted:
        sys.exit(f"{TABLE}: differs from what this script writes")


if __name__ == "__main__":
    main()
