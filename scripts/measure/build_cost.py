"""Prints what a build cost, from the table that scripts/measure/build_cost.sh has had written.

    python3 build_cost.py [--check] [--headers] [--touch FILE]... BUILD [TARGET...]

For each target, or for tessera_generate, tessera_apps_all and all, ninja says which commands the target needs; the cost is the sum of
these commands. --headers compiles each public header alone, without a precompiled one. --touch builds again after a change of FILE, a
path in the source tree, whose time of change is the old one afterwards.
"""
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, f"{ROOT}/scripts/lib")
from script_main import flag_parser, positive, run_main  # noqa: E402

GROUPS = ("tessera_generate", "tessera_apps_all", "all")
OBJECT = re.compile(r"\.(o|gch|pch)$")
MOST_SECONDS, MOST_BYTES = 30, 700e6
MIB = 1 << 20
NOT_PUBLIC = re.compile(r"^(tests|apps|scripts|docs)/|/(internal|kernels|profiles)/")


def read_table(path):
    """Returns {file: (CPU seconds, MiB)}; of a file that was made again, the last line."""
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return {made: (float(seconds), float(mebibytes)) for seconds, mebibytes, made in lines}


def needed(build, target):
    """Returns the files that compilers and linkers make for the target, as the build folder names them."""
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" -o (\S+)", said))


def print_groups(build, costs, targets):
    print(f"{'group':24} {'CPU s':>8} {'objects':>8}")
    for target in targets or GROUPS:
        files = needed(build, target)
        objects = {path for path in files if OBJECT.search(path)}
        missing = len(objects - costs.keys())
        if missing == 0:
            print(f"{target:24} {sum(costs[path][0] for path in files & costs.keys()):8.1f} {len(objects):8}")
        else:
            print(f"{target:24} {'':8} {len(objects):8}  {missing} of them were not built")
    print(f"{'all that was built':24} {sum(seconds for seconds, _ in costs.values()):8.1f} {len(objects_of(costs)):8}")


def objects_of(costs):
    return {path: cost for path, cost in costs.items() if OBJECT.search(path)}


def print_dearest(costs, most=20):
    objects = objects_of(costs)
    dearest = sorted(objects, key=lambda path: (-objects[path][0], path))[:most]
    print(f"\nthe {len(dearest)} dearest of {len(objects)} objects\n{'CPU s':>8} {'MiB':>6}  object")
    for path in dearest:
        print(f"{objects[path][0]:8.1f} {objects[path][1]:6.0f}  {path}")
    largest = max(objects, key=lambda path: (objects[path][1], path))
    print(f"most memory: {objects[largest][1]:.0f} MiB, {largest}")


def print_disk(build):
    """Sums what the files take on disk; the table itself is left out."""
    blocks = sum(path.lstat().st_blocks for path in build.rglob("*") if path.is_file() and path.name != "cost.tsv")
    print(f"disk: {blocks * 512 / MIB:.0f} MiB in {build.name}")


def build_again(build, jobs, targets, path):
    """Builds after a change of one file, and prints the seconds of the build and of its commands."""
    table, before, began = build / "cost.tsv", (ROOT / path).stat(), None
    earlier = len(table.read_text().splitlines())
    try:
        os.utime(ROOT / path)
        began = time.monotonic()
        subprocess.run(["ninja", "-C", str(build), "-j", str(jobs), *targets], check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - began
    finally:
        os.utime(ROOT / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    lines = table.read_text().splitlines()[earlier:]
    print(f"{path:24} {took:8.1f} {sum(float(line.split(chr(9))[0]) for line in lines):8.1f} {len(lines):8}")


def public_headers():
    """Returns the headers that are installed, as a program includes them."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.h"], check=True, capture_output=True, text=True).stdout.split()
    return [path for path in listed if not NOT_PUBLIC.search(path)]


def cpu_of(command):
    """Runs a command and returns its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_headers(build, most=10):
    compiler = ["g++", "-std=c++20", "-O3", f"-I{build}/include", "-x", "c++", "-c", "-o", os.devnull, "-include"]
    costs = {path: cpu_of([*compiler, f"tessera/{path}", os.devnull]) for path in public_headers()}
    print(f"\nthe {most} dearest of {len(costs)} public headers\n{'CPU s':>8}  header")
    for path in sorted(costs, key=lambda path: (-costs[path], path))[:most]:
        print(f"{costs[path]:8.2f}  {path}")


def too_dear(costs):
    """Yields a sentence for each object over a limit."""
    for path, (seconds, mebibytes) in sorted(objects_of(costs).items()):
        if seconds > MOST_SECONDS:
            yield f"{path}: took {seconds:.1f} s of CPU, at most {MOST_SECONDS}"
        if mebibytes * MIB > MOST_BYTES:
            yield f"{path}: took {mebibytes * MIB / 1e6:.0f} MB of memory, at most {MOST_BYTES / 1e6:.0f}"


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("build", type=Path)
    flags.add_argument("targets", nargs="*")
    flags.add_argument("--check", action="store_true")
    flags.add_argument("--headers", action="store_true")
    flags.add_argument("--touch", action="append", default=[])
    flags.add_argument("--jobs", type=positive, default=os.cpu_count())
    given = flags.parse_args()
    costs = read_table(given.build / "cost.tsv")
    if not objects_of(costs):
        raise SystemExit(f"failed: {given.build}/cost.tsv: found no object, expected the table of a build")
    print_groups(given.build, costs, given.targets)
    print_dearest(costs)
    print_disk(given.build)
    if given.headers:
        print_headers(given.build)
    if given.touch:
        print(f"\n{'after a change of':24} {'seconds':>8} {'CPU s':>8} {'commands':>8}")
    for path in given.touch:
        build_again(given.build, given.jobs, given.targets, path)
    problems = list(too_dear(costs)) if given.check else []
    for problem in problems:
        print(problem, file=sys.stderr)
    if given.check:
        limits = f"no object takes more than {MOST_SECONDS} s or {MOST_BYTES / 1e6:.0f} MB"
        print(f"{limits}: {f'{len(problems)} problems' if problems else 'yes'}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    run_main(main)
