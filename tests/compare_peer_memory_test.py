"""Tests of scripts/measure/compare_peer_memory.py and of what it stands on: control groups and the page cache.

    python3 tests/compare_peer_memory_test.py -v
"""
import contextlib
import io
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from patience import NEVER_ENDS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts/measure"))
import compare_peer_memory  # noqa: E402
import memory_group  # noqa: E402
from compare_peer_memory import BESIDES, Contestant, contestants, measure, parse_flags, table  # noqa: E402
from engines import Ours, Peer  # noqa: E402
from memory_group import MIB, MemoryGroup, NoGroup, Outcome, own_group, parents  # noqa: E402
from page_cache import cached_bytes, drop_from_cache  # noqa: E402

VERSION_1 = "35 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
OTHER_1 = "34 30 0:30 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
VERSION_2 = "36 30 0:32 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"


class OwnGroup(unittest.TestCase):
    def test_version_1_is_where_its_memory_controller_is_mounted(self):
        mount = Path("/sys/fs/cgroup/memory")
        self.assertEqual(own_group("4:memory:/jobs/one\n1:cpu:/\n0::/\n", OTHER_1 + VERSION_1), (1, mount / "jobs/one", mount))

    def test_version_2_counts_only_without_version_1(self):
        mount = Path("/sys/fs/cgroup")
        self.assertEqual(own_group("0::/user.slice/a\n", VERSION_2), (2, mount / "user.slice/a", mount))
        self.assertEqual(own_group("4:memory:/\n0::/\n", VERSION_2 + VERSION_1)[0], 1)

    def test_a_mount_of_a_part_shows_groups_from_there_on(self):
        part = "36 30 0:32 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        self.assertEqual(own_group("0::/box/inner\n", part)[1], Path("/sys/fs/cgroup/inner"))
        self.assertEqual(own_group("0::/elsewhere\n", part)[1], Path("/sys/fs/cgroup"))

    def test_no_memory_controller_is_said(self):
        with self.assertRaisesRegex(NoGroup, "found no mounted control groups"):
            own_group("1:cpu:/\n", OTHER_1)


class Parents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.mount = Path(folder.name)
        self.own = self.mount / "slice" / "own"
        self.own.mkdir(parents=True)
        for place, handed_down in ((self.own, "cpu"), (self.own.parent, "cpu memory"), (self.mount, "memory")):
            (place / "cgroup.subtree_control").write_text(handed_down + "\n")

    def test_version_1_takes_the_nearest(self):
        self.assertEqual(parents(1, self.own, self.mount), [self.own, self.own.parent, self.mount])

    def test_version_2_takes_those_that_hand_the_controller_down(self):
        self.assertEqual(parents(2, self.own, self.mount), [self.own.parent, self.mount])


class FakeGroup(MemoryGroup):
    """A folder with the files of a group of version 2, which limits nothing."""

    def __init__(self, folder, kills=0):
        self.limit, self.files, self.folder = None, memory_group.FILES[2], Path(folder)
        (self.folder / "memory.peak").write_text("12345\n")
        (self.folder / "memory.events").write_text(f"low 0\noom 3\noom_kill {kills}\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Running(unittest.TestCase):
    def run_in_group(self, script, seconds=60, kills=0):
        with tempfile.TemporaryDirectory() as folder, FakeGroup(folder, kills) as group:
            outcome = group.run(["sh", "-c", script], seconds)
            self.entered = int((Path(folder) / "cgroup.procs").read_text())
        return outcome

    def test_the_program_itself_enters_the_group(self):
        outcome = self.run_in_group("echo $$")
        self.assertEqual(outcome, Outcome(f"{self.entered}\n", "", 12345, 0))

    def test_a_failure_gives_code_and_last_words(self):
        self.assertEqual(self.run_in_group("echo first >&2; echo last >&2; exit 7").ended, "exit code 7: last")
        self.assertEqual(self.run_in_group("exit 7").ended, "exit code 7: no words")

    def test_a_program_that_takes_too_long_is_ended(self):
        self.assertEqual(self.run_in_group("exec " + NEVER_ENDS, seconds=1).ended, "no result in 1 s")

    def test_a_kill_by_the_kernel_is_told_from_other_ends(self):
        self.assertEqual(self.run_in_group("kill -9 $$", kills=1).ended, "killed for want of memory")
        self.assertEqual(self.run_in_group("kill -9 $$").ended, "exit code -9: no words")
        # A helper that was killed counts, too: the rest of the program then proves nothing.
        self.assertEqual(self.run_in_group("exit 0", kills=1).ended, "killed for want of memory")

    def test_a_real_group_holds_to_its_limit_and_goes(self):
        try:
            with MemoryGroup(64 * MIB) as group:
                greedy = group.run([sys.executable, "-c", f"b'x' * {128 * MIB}"], seconds=60)
        except NoGroup as none:
            self.skipTest(str(none))
        self.assertEqual(greedy.ended, "killed for want of memory")
        self.assertLessEqual(greedy.peak, 64 * MIB)
        self.assertFalse(group.folder.exists())


    def test_a_signal_ends_the_program_and_its_children_and_leaves_no_group(self):
        class Signal(BaseException):
            pass

        def raise_signal(*_):
            raise Signal

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, raise_signal))
        group = None
        try:
            with self.assertRaises(Signal), MemoryGroup(64 * MIB) as group:
                group.run(["sh", "-c", f"{NEVER_ENDS} & kill -ALRM {os.getpid()}; exec {NEVER_ENDS}"], seconds=60)
        except NoGroup as none:
            self.skipTest(str(none))
        self.assertFalse(group.folder.exists())

    def test_one_that_takes_too_long_is_ended_with_its_children(self):
        try:
            with MemoryGroup() as group:
                outcome = group.run(["sh", "-c", f"{NEVER_ENDS} & exec {NEVER_ENDS}"], seconds=1)
        except NoGroup as none:
            self.skipTest(str(none))
        self.assertEqual(outcome.ended, "no result in 1 s")
        self.assertFalse(group.folder.exists())

    def test_a_group_whose_limit_cannot_be_set_goes(self):
        try:
            with MemoryGroup(64 * MIB) as group:
                place = group.folder.parent
        except NoGroup as none:
            self.skipTest(str(none))
        with self.assertRaisesRegex(NoGroup, "the limit could not be set"), MemoryGroup("much"):
            self.fail("a limit that is no number was taken")
        self.assertEqual(list(place.glob(f"tessera-{os.getpid()}-*")), [])


class PageCache(unittest.TestCase):
    def test_a_file_is_cached_once_read_and_not_once_dropped(self):
        with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
            file.write(bytes(3 * 4096 + 1))
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).read_bytes()
            self.assertGreaterEqual(cached_bytes(file.name), 3 * 4096 + 1)
            drop_from_cache(file.name)
            self.assertEqual(cached_bytes(file.name), 0)


class Comparing(unittest.TestCase):
    FLAGS = ["--peer", "a", "--ours", "b", "--gguf", "m.gguf", "--tsr", "m.tsr", "--repetitions", "3", "--threads", "1"]

    def setUp(self):
        self.calls = []

    def group(self, outcomes):
        """Stands in for MemoryGroup: the outcome of a run is found by the program's name."""
        test = self

        class Group(contextlib.nullcontext):
            def run(self, command, seconds):
                program = command[3]
                test.calls.append(program)
                ended, speed = outcomes[program].pop(0)
                return Outcome(str(speed), ended, 7 * MIB, 0)

            def __enter__(self):
                return self

        return mock.patch.object(compare_peer_memory, "MemoryGroup", Group)

    def measure(self, outcomes, share=0.5):
        flags = parse_flags(self.FLAGS)
        players = [Contestant(name, "file", lambda limit, name=name: [name], float) for name in outcomes]
        with self.group(outcomes), mock.patch.object(compare_peer_memory, "contestants", lambda _: players), \
                mock.patch.object(compare_peer_memory, "drop_from_cache", lambda path: self.calls.append("drop")), \
                mock.patch.object(os.path, "getsize", lambda path: 100 * MIB), contextlib.redirect_stderr(io.StringIO()):
            return measure(flags, share), flags

    def test_runs_alternate_each_with_a_dropped_cache(self):
        result, flags = self.measure({"peer": [("", 2), ("", 1), ("", 9)], "ours": [("", 10), ("", 30), ("", 4)]})
        self.assertEqual(self.calls, ["drop", "peer", "drop", "ours"] * 3)
        self.assertEqual((result["limit_bytes"], result["budget_bytes"]), (50 * MIB, 50 * MIB - BESIDES))
        self.assertEqual([(run["tokens_per_second"], run["ratio"]) for run in result["engines"]], [(2, 5), (10, 1)])
        lines = table([result], flags).splitlines()
        self.assertEqual(lines[2].split(), "0.5, 50 MiB peer 2.00 1.00 9.00 7 5.00".split())

    def test_an_engine_without_a_result_is_not_run_again(self):
        result, flags = self.measure({"peer": [("", 2), ("no result in 9 s", 0)], "ours": [("", 10)] * 3})
        self.assertEqual([call for call in self.calls if call != "drop"], ["peer", "ours", "peer", "ours", "ours"])
        self.assertEqual((result["engines"][0]["tokens_per_second"], result["engines"][0]["ratio"]), (None, None))
        self.assertTrue(table([result], flags).splitlines()[2].endswith("no result in 9 s"))

    def test_our_budget_leaves_room_for_what_a_group_counts_besides(self):
        with mock.patch.object(Peer, "PROGRAMS", ()), mock.patch.object(Ours, "PROGRAMS", ()):
            players = {player.name: player for player in contestants(parse_flags(self.FLAGS))}
        self.assertIn(f"--memory_budget={100 * MIB - BESIDES}", players["tessera"].command(100 * MIB))
        self.assertNotIn("--memory_budget", " ".join(players["tessera"].command(None)))
        self.assertIn("--mapped", players["tessera --mapped"].command(100 * MIB))
        self.assertIsNone(players["tessera --mapped"].command(None))
        self.assertEqual(players["llama.cpp mapped"].command(100 * MIB)[-4:], ["--repack", "0", "-lm", "mmap"])

    def test_speeds_are_read_from_what_the_programs_print(self):
        with mock.patch.object(Peer, "PROGRAMS", ()), mock.patch.object(Ours, "PROGRAMS", ()):
            players = {player.name: player for player in contestants(parse_flags(self.FLAGS))}
        self.assertEqual(players["llama.cpp"].speed('[{"n_gen": 4, "avg_ts": 1.5}]'), 1.5)
        self.assertEqual(players["tessera"].speed('{"generation": {"tokens_per_second": {"min": 1, "median": 2, "max": 3}}}'), 2)

    def test_wrong_flags_are_said(self):
        for more, message in ((["--limits", "0.5,half"], "found half, expected shares"), (["--limits", "0"], "found 0, expected shares"),
                              (["--threads", "99999"], "--threads: found 99999, expected 1 to"),
                              (["--repetitions", "0"], "--repetitions: found 0, expected a whole number from 1 on"),
                              (["--seconds", "soon"], "--seconds: found soon, expected a whole number"),
                              (["--repetition", "1"], "unrecognized arguments: --repetition 1")):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said):
                parse_flags(self.FLAGS + more)
            self.assertIn(message, str(ended.exception) + said.getvalue())
        self.assertEqual(parse_flags(self.FLAGS + ["--limits", "none,0.25"]).limits, [None, 0.25])

    def test_flags_can_be_checked_before_there_is_a_model(self):
        self.assertTrue(parse_flags(["--check", "--limits", "0.5"]).check)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            parse_flags(["--limits", "0.5"])


if __name__ == "__main__":
    unittest.main()
