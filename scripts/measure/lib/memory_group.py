"""A control group with a memory limit, in which a program runs as on a machine with that little memory.

    with MemoryGroup(512 << 20) as group:              # a group of its own beside or below that of this process, removed at the end
        outcome = group.run(["program", "--flag"], seconds=60)
    outcome.output, outcome.ended                      # stdout; "" or why there is no result
    outcome.peak, outcome.kills                        # bytes: process, page cache, the kernel's own for both; ended for want of memory

Without a limit (None) the group only counts. Version 1 or 2 of control groups, whichever has the memory controller. Needs the right to
make a group: NoGroup says what was tried.
"""
import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from page_cache import drop_from_cache

MIB = 1 << 20
# The names of the same things in both versions. Limits of memory and swap together cannot be below those of memory: they come second.
FILES = {1: {"limit": "memory.limit_in_bytes", "swap": "memory.memsw.limit_in_bytes", "peak": "memory.max_usage_in_bytes",
             "events": "memory.oom_control"},
         2: {"limit": "memory.max", "swap": "memory.swap.max", "peak": "memory.peak", "events": "memory.events"}}


class NoGroup(Exception):
    pass


@dataclass
class Outcome:
    output: str      # What the program wrote to stdout.
    ended: str       # "" if it ended well.
    peak: int        # Bytes, the most the group held at once.
    kills: int       # Processes of the group that the kernel killed for lack of memory.


def own_group(cgroups, mounts):
    """(version, this process's folder, the mount's folder) of the memory controller, from the texts of /proc/self/cgroup and mountinfo."""
    paths = {}
    for line in cgroups.splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            paths[1] = path
        elif number == "0":
            paths[2] = path
    for version in (1, 2):  # Where both are mounted, version 2 has the controller only if version 1 does not.
        for line in mounts.splitlines():
            before, after = line.split(" - ")
            mounted, place = before.split()[3:5]
            kind, _, options = after.split(" ", 2)
            if version not in paths or kind != ("cgroup" if version == 1 else "cgroup2"):
                continue
            if version == 1 and "memory" not in options.split(","):
                continue
            inside = os.path.relpath(paths[version], mounted)
            return version, Path(place) if inside.startswith("..") else Path(place, inside), Path(place)
    raise NoGroup("found no mounted control groups with the memory controller")


def parents(version, own, mount):
    """Where a group may be made, the nearest first. In version 2 a group with processes of its own cannot limit those below it, so it is
    made beside ours, or further up, wherever the controller is handed down."""
    places = [own, *(place for place in own.parents if place.is_relative_to(mount))]
    if version == 1:
        return places
    return [place for place in places if "memory" in (place / "cgroup.subtree_control").read_text().split()]


class MemoryGroup:
    made = 0

    def __init__(self, limit=None):
        self.limit = limit
        version, own, mount = own_group(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
        self.files = FILES[version]
        self.places, self.folder = parents(version, own, mount), None

    def _make(self, places, name):
        tried = []
        for place in places:
            try:
                (place / name).mkdir()
            except OSError as error:
                tried.append(str(error))
                continue
            return place / name
        raise NoGroup("no control group with a limit of memory could be made: " + ("; ".join(tried) or "none hands the controller down"))

    def __enter__(self):
        MemoryGroup.made += 1
        try:
            self.folder = self._make(self.places, f"tessera-{os.getpid()}-{MemoryGroup.made}")
            if self.limit is not None:
                (self.folder / self.files["limit"]).write_text(str(self.limit))
                swap = self.folder / self.files["swap"]
                if swap.exists():
                    swap.write_text(str(self.limit if "memsw" in swap.name else 0))
        except OSError as error:
            self._remove()
            raise NoGroup(f"{self.folder}: the limit could not be set: {error}") from error
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _remove(self):
        """With all that still runs in it. What was killed leaves the group a moment later."""
        for _ in range(200):
            if self.folder is None or not self.folder.exists():
                return
            try:
                self.folder.rmdir()
            except OSError:
                self._kill()
                time.sleep(0.02)
        print(f"failed: {self.folder}: this control group could not be removed", file=sys.stderr)

    def _kill(self):
        """All of the group's processes: a program may have started others."""
        for process in map(int, (self.folder / "cgroup.procs").read_text().split()):
            if process == 0:  # A process that is not visible from here has number 0, which would mean ourselves.
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def run(self, command, seconds):
        """Only one command at a time: the counters are the group's."""
        # The shell enters the group before it becomes the program, so all the program ever touches is counted.
        enter = ["bash", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.folder), *command]
        with subprocess.Popen(enter, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                output, errors = process.communicate(timeout=seconds)
                timed_out = False
            except subprocess.TimeoutExpired:
                self._kill()
                process.kill()
                output, errors = process.communicate()
                timed_out = True
            except BaseException:  # After a signal, no process of ours may go on running.
                process.kill()
                raise
        kills = self.count("oom_kill")
        ended = ""
        if kills > 0:
            ended = "killed for want of memory"
        elif timed_out:
            ended = f"no result in {seconds} s"
        elif process.returncode != 0:
            ended = f"exit code {process.returncode}: {(errors.strip().splitlines() or ['no words'])[-1]}"
        return Outcome(output, ended, self.peak(), kills)

    def peak(self):
        """Returns the most bytes that the group held at once."""
        return int((self.folder / self.files["peak"]).read_text())

    def count(self, event):
        """How often it happened: the lines of the file are `event number`."""
        lines = (self.folder / self.files["events"]).read_text().splitlines()
        return next(int(number) for name, number in map(str.split, lines) if name == event)


def check_limit_kills(limit=64 * MIB):
    """NoGroup unless a program that touches more than a limit is killed."""
    with MemoryGroup(limit) as group:
        greedy = group.run(["python3", "-c", f"bytearray(b'x') * {2 * limit}"], seconds=60)
    if greedy.kills == 0:
        raise NoGroup(f"the limit does not bite: {2 * limit} bytes were touched in {limit} ({greedy.ended or 'and nothing happened'})")


def check_limit_bites(file, limit=64 * MIB):
    """The same, and NoGroup unless the limit also bounds the pages of `file` that a program reads."""
    check_limit_kills(limit)
    drop_from_cache(file)
    with MemoryGroup(limit) as group:
        reader = group.run(["dd", f"if={file}", "of=/dev/null", "bs=1M", f"count={4 * limit // MIB}"], seconds=120)
    if reader.ended or not limit // 2 <= reader.peak <= limit:
        raise NoGroup(f"the limit does not bite: reading a file held {reader.peak} bytes of page cache, expected nearly {limit} at most "
                      f"({reader.ended or 'exit code 0'})")
