"""Writes a file whole or not at all, and never over what a script reads.

    check_output("--out", given.out, files={"--model": given.model}, folders={"--adapter": given.adapter})
    with output_file(given.out) as file:       # Binary; at the end of the block it takes its place.
        file.write(data)

What is wrong ends the script with one sentence. A link is followed: what it names is written.
"""
import contextlib
import os
import tempfile
from pathlib import Path


def check_output(flag, path, files=None, folders=None):
    """files, folders: what the script reads, by flag. It must not be one of the files, nor lie in one of the folders."""
    place, found = Path(os.path.realpath(path)), None
    if os.path.isdir(path):
        found = "a folder"
    elif place.exists() and not place.is_file():
        found = "what is no regular file"
    for name, other in (files or {}).items():
        if place == Path(os.path.realpath(other)) or (place.exists() and os.path.exists(other) and os.path.samefile(place, other)):
            found = f"the file of {name}"
    for name, folder in (folders or {}).items():
        if Path(os.path.realpath(folder)) in place.parents:
            found = f"a file in the folder of {name}"
    if found is not None:
        raise SystemExit(f"failed: {flag}: {path}: found {found}, expected a file to write")


def new_mode(place):
    """The permissions of the file that is there; else those of any new file."""
    if place.exists():
        return place.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def output_file(path):
    place, temporary = Path(os.path.realpath(path)), None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:200]}.", suffix=".part")
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, new_mode(place))
            yield file
        os.replace(temporary, place)
        temporary = None
    except OSError as error:
        raise SystemExit(f"failed: {path}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)
