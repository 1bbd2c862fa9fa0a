"""Plants faults in a copy of the tree, one at a time, and says which test finds each: tests that find none of them promise little.

    python3 scripts/tests/mutants.py [--quick] [--only WORDS]... [--part K/N] [--out TABLE.md] [--scratch build/mutants]
    python3 scripts/tests/mutants.py --draw [--seed N]        # which functions get a fault, and whether they have one; builds nothing

The faults are those of tests/mutants/mutants.txt: three that no test had found, and one in each of 30 functions that the seed draws from
tests/mutants/functions.txt. Before anything is built, the old lines of each fault must stand once in its function. The copy, its build
folder and all output lie in the folder of --scratch; the working tree stays as it is.

A fault's own tests run first, up to the first that fails. If none does, all tests of the program run, but not with --quick. They all
pass without the fault, or the script ends. A test that does not end, in a minute and three times what the tests take without the fault,
or that ends the program, has found the fault, too.

--only: faults in whose words, file or function some of the words stand. --part 2/6: each sixth fault, beginning with the second. The
table is Markdown. The exit code is 1 if no test finds one of the faults.
"""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, f"{ROOT}/scripts/lib")
from output_file import check_output, output_file  # noqa: E402
from planted_faults import check_draw, drawn_of, planted, read_faults, read_functions, table  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

FUNCTIONS, FAULTS = ROOT / "tests/mutants/functions.txt", ROOT / "tests/mutants/mutants.txt"
SEED, DRAWN = 1, 30
TEST = r"([\w/]+\.[\w/]+)"


def say(words):
    print(words, file=sys.stderr, flush=True)


def sources_of(root):
    """Returns the files that git tracks or would track."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(path for path in set(listed) - {""} if (root / path).is_file())


def ended(command, log, most_seconds=None):
    """Returns the exit code of a command whose output goes to a file; None if the command takes longer. What it has started ends, too."""
    with open(log, "w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(most_seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Copy:
    """A copy of a tree, with a build folder of its own."""

    def __init__(self, root, scratch):
        self.root, self.scratch, self.tree, self.build_folder = root, scratch, scratch / "tree", scratch / "build"
        self.seconds = {}   # What tests take that pass without a fault, by program and filter.

    @contextlib.contextmanager
    def alone(self):
        """No other run uses the folder meanwhile."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        with open(self.scratch / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SystemExit(f"failed: {self.scratch}: found a run that uses it, expected none; --scratch names another") from None
            yield

    def update(self):
        """Makes the copy like the tree. Files that are alike stay, so that nothing is compiled for them."""
        wanted = sources_of(self.root)
        for path in wanted:
            source, target = self.root / path, self.tree / path
            if target.is_file() and target.read_bytes() == source.read_bytes() and os.access(target, os.X_OK) == os.access(source, os.X_OK):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
        for path in self.tree.rglob("*"):
            if path.is_file() and str(path.relative_to(self.tree)) not in wanted and "__pycache__" not in path.parts:
                path.unlink()

    @contextlib.contextmanager
    def having(self, fault):
        path = self.tree / fault.file
        text = path.read_text()
        path.write_text(planted(text, fault))
        try:
            yield
        finally:
            path.write_text(text)

    def build(self, programs):
        log = self.scratch / "build.log"
        command = [self.tree / "scripts/build.sh", "--tests", "--build-dir", self.build_folder, "-DTESSERA_TOGETHER=OFF", *programs]
        code = ended(command, log)
        if code != 0:
            say("\n".join(log.read_text(errors="replace").splitlines()[-40:]))
            raise SystemExit(f"failed: the build ended with {code}; {log} has its output")

    def run(self, program, tests, most_seconds):
        """Returns the first test of a program that fails; None if all pass."""
        log = self.scratch / "tests.log"
        command = [self.build_folder / "bin" / program, f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_color=no"]
        code = ended(command, log, most_seconds)
        return first_failure(log.read_text(errors="replace"), code, log)

    def expect_passing(self, program, tests):
        """The tests pass without a fault; keeps how long they take."""
        began = time.monotonic()
        test = self.run(program, tests, most_seconds=3600)
        if test is not None:
            raise SystemExit(f"failed: {test} fails without a fault; {self.scratch}/tests.log has its output")
        self.seconds[program, tests] = time.monotonic() - began

    def expect_tests(self, program, filters):
        """Each part of each filter has tests."""
        command = [self.build_folder / "bin" / program, "--gtest_list_tests"]
        suites = re.findall(r"^(\S+)\.", subprocess.run(command, check=True, capture_output=True, text=True).stdout, re.MULTILINE)
        for part in sorted({part for tests in filters for part in tests.split(":")}):
            pattern = re.compile(re.escape(part.partition(".")[0]).replace(r"\*", ".*"))
            if not any(pattern.fullmatch(suite) for suite in suites):
                raise SystemExit(f"failed: {FAULTS}: found the filter {part}, of which {program} has no test")


def first_failure(log, code, place):
    """Returns the test that has found a fault, by a log of GoogleTest and an exit code, None where the time was over."""
    if code == 0:
        return None
    ran, test = re.findall(rf"^\[ RUN      \] {TEST}$", log, re.MULTILINE), re.search(rf"^\[  FAILED  \] {TEST}", log, re.MULTILINE)
    if test is not None:
        return f"`{test[1]}`"
    if not ran:
        raise SystemExit(f"failed: the test program ended with {code} before its first test; {place} has its output")
    return f"`{ran[-1]}`, which {'does not end' if code is None else 'ends the program'}"


def found_by(copy, fault, tests, measured):
    """Returns the test that finds a fault; None if none does. measured: tests that were timed without a fault, these among them."""
    with copy.having(fault):
        copy.build([fault.program])
        return copy.run(fault.program, tests, most_seconds=60 + 3 * copy.seconds[fault.program, measured])


def run_own_tests(copy, faults):
    """Returns the test of each fault's own that finds the fault; None if none does."""
    filters, outcomes = {}, []
    for fault in faults:
        filters.setdefault(fault.program, set()).add(fault.tests)
    copy.build(sorted(filters))
    for program, all_tests in filters.items():
        copy.expect_tests(program, all_tests)
        filters[program] = ":".join(sorted({part for tests in all_tests for part in tests.split(":")}))
        copy.expect_passing(program, filters[program])
    for number, fault in enumerate(faults, 1):
        began = time.monotonic()
        outcomes.append(found_by(copy, fault, fault.tests, filters[fault.program]))
        say(f"[{number}/{len(faults)}] {fault.words}: {outcomes[-1] or 'not found'} ({time.monotonic() - began:.0f} s)")
    return outcomes


def run_all_tests(copy, faults, outcomes):
    """Has all tests of its program look for each fault that its own have not found."""
    for place, fault in enumerate(faults):
        if outcomes[place] is not None:
            continue
        if (fault.program, "*") not in copy.seconds:
            copy.build([fault.program])
            copy.expect_passing(fault.program, "*")
        outcomes[place] = found_by(copy, fault, "*", "*")
        say(f"all tests: {fault.words}: {outcomes[place] or 'not found'}")


def outcomes_of(copy, faults, quick):
    """Returns the test that finds each fault; None if none does."""
    with copy.alone():
        copy.update()
        outcomes = run_own_tests(copy, faults)
        if not quick:
            run_all_tests(copy, faults, outcomes)
        copy.build(sorted({fault.program for fault in faults}))   # No program with a fault stays behind.
    return outcomes


def part_of(text):
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if found is None or int(found[1]) > int(found[2]):
        raise SystemExit(f"failed: --part: found {text}, expected K/N with K from 1 to N")
    return int(found[1]), int(found[2])


def chosen(faults, only, part):
    """Returns the faults that --only and --part leave."""
    number, parts = part_of(part)
    left = [fault for fault in faults if any(words in f"{fault.words} {fault.file} {fault.function}" for words in only or [""])]
    left = left[number - 1::parts]
    if not left:
        raise SystemExit(f"failed: found no fault with --only {only} and --part {part}, expected some")
    return left


def show_draw(drawn, seed, faults):
    having = {(fault.file, fault.function) for fault in faults if fault.kind == "drawn"}
    print(f"seed {seed} draws {len(drawn)} functions")
    for part, file, function in drawn:
        print(f"{part}: {file} {function}{'' if (file, function) in having else ' (without a fault)'}")


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--quick", action="store_true", help="a fault's own tests alone")
    flags.add_argument("--only", action="append", default=[], help="words")
    flags.add_argument("--part", default="1/1", help="K/N")
    flags.add_argument("--out", type=Path, help="a file for the table, else standard output")
    flags.add_argument("--scratch", type=Path, default=ROOT / "build/mutants", help="a folder for the copy")
    flags.add_argument("--draw", action="store_true", help="show the draw")
    flags.add_argument("--seed", type=int, default=SEED, help="of --draw")
    given = flags.parse_args()
    faults, functions = read_faults(FAULTS), read_functions(FUNCTIONS)
    if given.draw:
        return show_draw(drawn_of(functions, given.seed, DRAWN), given.seed, faults)
    check_draw(faults, drawn_of(functions, SEED, DRAWN))
    for fault in faults:
        planted((ROOT / fault.file).read_text(), fault)
    faults = chosen(faults, given.only, given.part)
    if given.out is not None:
        check_output("--out", given.out, files={"the faults": FAULTS, "the functions": FUNCTIONS})
    copy = Copy(ROOT, given.scratch.resolve())
    outcomes = outcomes_of(copy, faults, given.quick)
    written = table((fault, test or "**none**") for fault, test in zip(faults, outcomes))
    if given.out is None:
        print(written, end="")
    else:
        with output_file(given.out) as file:
            file.write(written.encode())
    say(f"seed {SEED}: {len(faults) - outcomes.count(None)} of {len(faults)} faults are found by a test")
    sys.exit(1 if None in outcomes else 0)


if __name__ == "__main__":
    run_main(main)
