"""What the checks share: the files of the tree, C++ without comments and strings, and the report.

    from sources import files, problems, report, root
    for path in files("*.h", "*.cc"): ...
    problems.append(f"{path}:{line}: what is wrong")
    report("includes follow the layers")

Paths are relative to the root: the repository, or the folder given as --root.
"""
import fnmatch
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from cc_functions import NOT_CODE, blanked  # noqa: F401: checks take both from here.

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, f"{ROOT}/scripts/lib")
from script_main import flag_parser  # noqa: E402

_flags = flag_parser(sys.modules["__main__"].__doc__)
_flags.add_argument("--root", type=Path, default=ROOT, help="the tree to check")
_flags.add_argument("--results", type=Path, help="folder with GoogleTest's JSON files (check_tests_ran)")
_flags.add_argument("--build", type=Path, action="append", help="a build folder, else build (check_weak_symbols, check_headers)")
_flags.add_argument("--no-compile", action="store_true", help="leave out what takes a compiler (check_headers)")
arguments = _flags.parse_args()
root = arguments.root
builds = arguments.build or [root / "build"]
problems = []


def _listed():
    """Files that git tracks or would track; without git, all outside build folders."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        try:
            return sorted(set(subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")) - {""})
        except (OSError, subprocess.CalledProcessError):
            pass  # No git here, or not our own repository: walk.
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "__pycache__") and not re.match(r"build(-|$)", name)]
        found += [str(Path(folder, name).relative_to(root)) for name in names]
    return sorted(found)


_all = [path for path in _listed() if (root / path).is_file()]


def files(*patterns):
    return [path for path in _all if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)]


def text(path):
    return (root / path).read_text(errors="replace")


def code(path):
    """The C++ file with comments, strings and character literals blanked; every line keeps its number."""
    return blanked(text(path))


def compiled():
    """Yields (source, words of the command, object) of each compilation of the build folders whose object is there. A source is a path
    below the root if the file lies there."""
    for build in builds:
        listed = build / "compile_commands.json"
        for entry in json.loads(listed.read_text()) if listed.exists() else ():
            words = shlex.split(entry["command"])
            path = Path(entry["directory"], words[words.index("-o") + 1])
            if path.exists():
                yield os.path.relpath(entry["file"], root), words, path


def line_of(content, position):
    return content.count("\n", 0, position) + 1


def report(promise):
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{promise}: {len(problems)} problems" if problems else f"{promise}: yes", file=sys.stderr)
    sys.exit(1 if problems else 0)
