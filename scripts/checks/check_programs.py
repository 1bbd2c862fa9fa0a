#!/usr/bin/env python3
"""Every program that a script, a test in Python or a file of CMake starts by its name comes with a package that
scripts/install_packages.sh names, with what those depend on, or with every Debian.

scripts/tests/with_named_programs.sh proves it of what scripts/test.sh runs; this reads also what that does not run. A program that
only one of the script's flags installs stands in OPTIONAL, which names the flag and the package."""
import ast
import re
import subprocess
import sys
from pathlib import Path
from shell_commands import shell_commands
from sources import files, line_of, problems, report, root, text

sys.path.insert(1, f"{Path(__file__).resolve().parents[1]}/lib")
from debian_programs import closure, links_of_alternatives, named_packages, programs  # noqa: E402

INSTALL = "scripts/install_packages.sh"
OPTIONAL = {
    "clang++-19": ("--sanitizers", "clang-19"), "llvm-cov-19": ("--sanitizers", "llvm-19"),
    "llvm-profdata-19": ("--sanitizers", "llvm-19"),
    "aarch64-linux-gnu-g++": ("--arm64", "g++-aarch64-linux-gnu"), "qemu-aarch64": ("--arm64", "qemu-user"),
    "mmdebstrap": ("--fresh", "mmdebstrap"),
}
# What scripts/quickstart.sh runs, before the packages of --tests are there; build.sh names two programs
# that it then does not start.
FIRST = {f"scripts/{name}" for name in ("quickstart.sh", "build.sh", "fetch_model.sh", "install_packages.sh", "lib/shell.sh",
                                       "lib/compile_jobs.sh", "lib/unpack_model.py")}
NOT_NEEDED = {"ccache", "clang++-19"}
SHELL = ("*.sh", ".ci/*")
NAME = re.compile(r"[a-z0-9][\w.+-]*|\[")
CMAKE = re.compile(r"\bfind_program\(\s*\w+\s+(?:NAMES\s+)?([\w.+-]+)|\bCOMMAND\s+([\w.+-]+)|"
                   r"\bCMAKE_(?:\w+_COMPILER|CROSSCOMPILING_EMULATOR)[ =]([\w.+-]+)")
STARTS = {"run", "Popen", "call", "check_call", "check_output", "which", "execvp", "execlp", "system"}


def in_shell(path):
    yield from shell_commands(text(path))
    for match in re.finditer(r"-DCMAKE_\w+_COMPILER=([\w.+-]+)", text(path)):
        yield line_of(text(path), match.start()), match[1]


def words_of(node):
    return [item.value if isinstance(item, ast.Constant) else None for item in node.elts]


def in_python(path):
    """The first of a list that is an argument of what starts programs, or in which a flag stands."""
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, ast.Call) and node.args and getattr(node.func, "attr", getattr(node.func, "id", "")) in STARTS:
            first = node.args[0]
            words = words_of(first) if isinstance(first, ast.List) else [getattr(first, "value", None)]
        elif isinstance(node, ast.List) and any(isinstance(word, str) and word.startswith("-") for word in words_of(node)[1:]):
            words = words_of(node)
        else:
            continue
        if words and isinstance(words[0], str) and NAME.fullmatch(words[0]):
            yield node.lineno, words[0]


def in_cmake(path):
    for match in CMAKE.finditer(text(path)):
        name = match[1] or match[2] or match[3]
        if not name.startswith("tessera_"):
            yield line_of(text(path), match.start()), name


def of_the_shell():
    """What a shell or a script itself is."""
    builtins = subprocess.run(["bash", "-c", "compgen -b; compgen -k"], check=True, capture_output=True, text=True).stdout.split()
    return set(builtins) | {name for path in files(*SHELL) for name in re.findall(r"^\s*(\w+)\(\)", text(path), re.MULTILINE)}


def programs_with(*flags):
    """Returns the names of programs that are there with the packages of these flags, and of what a shell has itself."""
    paths = programs(closure(named_packages(*flags)))
    return {Path(path).name for path in paths.union(links_of_alternatives(paths))} | of_the_shell()


def started():
    """(path, line, program), each once a file."""
    for patterns, find in ((SHELL, in_shell), (("scripts/*.py", "tests/*.py"), in_python), (("*.cmake", "*CMakeLists.txt"), in_cmake)):
        for path in files(*patterns):
            first = {}
            for line, name in find(path):
                first.setdefault(name, line)
            yield from ((path, line, name) for name, line in first.items())


def check(have, first, path, line, name):
    if path in FIRST and name not in first | NOT_NEEDED:
        problems.append(f"{path}:{line}: starts {name}, which comes with no package that {INSTALL} names without --tests")
    if name in have:
        return
    flag, package = OPTIONAL.get(name, (None, None))
    if not flag:
        problems.append(f"{path}:{line}: starts {name}, which comes with no package that {INSTALL} names")
    elif package not in named_packages(flag):
        problems.append(f"{path}:{line}: starts {name} of {package}, which {INSTALL} {flag} does not name")


try:
    have, first = programs_with("--tests"), programs_with()
    for start in started():
        check(have, first, *start)
except KeyError as package:
    problems.append(f"{INSTALL}:1: the package {package.args[0]} is not installed here, so its programs are not known")
report("programs come with packages that are named")
