"""Tests of scripts/measure/draw_cycle.py on small traces, in the form that tessera_generate --trace writes.

    python3 tests/draw_cycle_test.py -v
"""
import contextlib
import errno
import io
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts/measure"))
import draw_cycle  # noqa: E402
from draw_cycle import choose, find_cycles, milliseconds, picture_of, read_events, united  # noqa: E402

RESOURCES = {"read": "flash", "lease": "flash", "graph_run": "npu"}


def event(zone, begin, end, detail=0):
    """In milliseconds."""
    return {"name": zone, "cat": RESOURCES.get(zone, "cpu"), "ph": "X", "pid": 1, "tid": 1, "ts": begin * 1000, "dur": (end - begin) * 1000,
            "args": {"detail": detail}}


def cycle(start, rows=8, tokens=3, pruned=None, committed=True, layers=4):
    """Draft 10 ms in two passes, layers of 20 ms with waits of 5, half-way 2 ms of pruning, head 6 ms, and 1 ms to commit."""
    events = [event("draft", start, start + 4, 2), event("draft", start + 5, start + 10, 3), event("read", start + 2, start + 90)]
    now = start + 10
    for layer in range(layers):
        events += [event("lease", now, now + 5, layer), event("graph_run", now + 5, now + 20, layer)]
        now += 20
        if pruned is not None and layer == layers // 2 - 1:
            events += [event("prune", now, now + 2, pruned), event("predict", now, now + 1, 3)]
            now += 2
    events += [event("pass", start + 10, now, rows), event("head", now, now + 6, rows), event("graph_run", now + 1, now + 5, layers)]
    events += [event("sample", now + 6 + i / 10, now + 6.1 + i / 10, i) for i in range(tokens)]
    if committed:
        events.append(event("commit", now + 7, now + 8, tokens))
    return events


PROMPT = [event("load", 0, 50), event("pass", 60, 90, 36), event("head", 90, 92, 1), event("sample", 92, 93, 0)]


class Traces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = str(self.folder / "trace.json")

    def cycles(self, *events):
        named = {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "cpu"}}
        trace = {"traceEvents": [*sum(events, []), named], "displayTimeUnit": "ns", "otherData": {"dropped": 0}}
        Path(self.path).write_text(json.dumps(trace))
        return find_cycles(read_events(self.path))

    def fails(self, said, call, *arguments):
        with self.assertRaises(SystemExit) as ended:
            call(*arguments)
        self.assertIn(said, str(ended.exception))


class Cycles(Traces):
    def test_a_cycle_goes_from_a_draft_to_the_next(self):
        cycles = self.cycles(PROMPT, cycle(100), cycle(200, rows=5, tokens=2), cycle(300))
        self.assertEqual([(each.begin, each.end, each.verify.detail, each.tokens) for each in cycles], [(100, 200, 8, 3), (200, 300, 5, 2)])
        self.assertEqual(len(cycles[0].drafts), 2)

    def test_the_last_one_is_not_whole_and_a_pass_without_a_draft_is_none(self):
        self.assertEqual(self.cycles(PROMPT, cycle(100)), [])
        alone = [event("pass", 200, 220, 1), event("sample", 221, 222)]
        cycles = self.cycles(PROMPT, cycle(100), alone, cycle(300), cycle(400))
        self.assertEqual([(each.begin, each.end) for each in cycles], [(100, 200), (300, 400)])

    def test_a_trace_without_commits_counts_what_was_chosen(self):
        self.assertEqual(self.cycles(PROMPT, cycle(100, tokens=4, committed=False), cycle(200))[0].tokens, 4)

    def test_the_median_one_is_drawn_and_one_with_pruning_before_others(self):
        starts = (100, 300, 420, 560, 700)
        cycles = self.cycles(PROMPT, *(cycle(start) for start in starts))
        self.assertEqual(choose(cycles, None, "t").begin, 420)
        self.assertEqual(choose(cycles, 4, "t").begin, 560)
        pruned = self.cycles(PROMPT, *(cycle(start, pruned=3 if start == 300 else None) for start in starts))
        self.assertEqual(choose(pruned, None, "t").begin, 300)

    def test_what_cannot_be_drawn_is_said(self):
        self.fails("found no whole cycle, expected a text with several drafts", choose, [], None, "t")
        self.fails("--cycle: found 3, expected 1 to 1", choose, self.cycles(PROMPT, cycle(100), cycle(200)), 3, "t")
        for text in ("no json", "[]", '{"traceEvents": [{"ph": "X", "name": "pass"}]}'):
            Path(self.path).write_text(text)
            self.fails("found no trace", read_events, self.path)
        self.fails("No such file", read_events, str(self.folder / "none"))


class Pictures(Traces):
    def svg(self, *events):
        cycles = self.cycles(*events)
        return picture_of(cycles[0], cycles, self.path)

    def test_each_stage_has_a_lane_with_its_time(self):
        svg = self.svg(PROMPT, cycle(100, pruned=3), cycle(220))
        ElementTree.fromstring(svg)
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
        for words in ("One cycle: 8 rows verified, 3 tokens in 120 ms", "9.0 ms in 2 passes, 5 rows",
                      "1 read, 88.0 ms; in 78 % of drafting", "60.0 ms, 30.0 ms of it above the predictor", "20.0 ms",
                      "2.0 ms, 3 rows went", "6.3 ms", "1.0 ms, 3 tokens"):
            self.assertIn(words, texts)
        self.assertIn("draft 10.0 ms, then verify 82.0 ms (pruning 2.0 ms of it), then choose 6.3 ms, then commit 1.0 ms "
                      "(cycle 1 of 1, trace.json)", texts)
        for kind in ("draft", "read", "layers", "above", "wait", "prune", "choose", "commit"):
            self.assertIn(f'class="{kind}"', svg)

    def test_what_is_not_in_the_trace_has_no_lane(self):
        svg = self.svg(PROMPT, cycle(100, committed=False), cycle(220))
        for kind in ("prune", "commit", "above"):
            self.assertNotIn(f'class="{kind}"', svg)
        self.assertNotIn("predictor", svg)

    def test_bars_stay_within_the_picture_and_short_ones_are_seen(self):
        root = ElementTree.fromstring(self.svg(PROMPT, cycle(100), cycle(200)))
        width = float(root.get("viewBox").split()[2])
        for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
            self.assertLessEqual(float(bar.get("x", 0)) + float(bar.get("width")), width + 0.2)
            self.assertGreaterEqual(float(bar.get("width")), draw_cycle.LEAST)

    def test_both_themes_are_there_and_the_file_is_small_however_much_happened(self):
        many = [event("read", 100 + i / 50, 100.015 + i / 50, i) for i in range(5000)]
        svg = self.svg(PROMPT, many, cycle(100, layers=4), cycle(200))
        self.assertIn("prefers-color-scheme: dark", svg)
        self.assertLess(len(svg), 60_000)

    def test_a_name_from_outside_is_escaped(self):
        self.path = str(self.folder / "a<b&.json")
        ElementTree.fromstring(self.svg(PROMPT, cycle(100), cycle(200)))

    def test_the_program_writes_the_file_or_says_why_not(self):
        self.cycles(PROMPT, cycle(100), cycle(200))
        out = self.folder / "cycle.svg"
        for target, said in ((out, ""), (self.folder / "none/cycle.svg", "No such file")):
            sys.argv = ["draw_cycle.py"]
            sys.argv += self.path, "--out", str(target)
            try:
                draw_cycle.main()
            except SystemExit as ended:
                self.assertIn(said, str(ended))
                self.assertNotEqual(said, "")
        self.assertTrue(out.read_text().startswith("<svg"))
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            draw_cycle.parse_flags([self.path, "--out", "x", "--cycle", "0"])

    def test_it_does_not_replace_its_trace_and_leaves_nothing_half_written(self):
        self.cycles(PROMPT, cycle(100), cycle(200))
        before, link = Path(self.path).read_text(), self.folder / "link"
        link.symlink_to(self.path)
        for target, said in ((self.path, "found the file of the trace"), (link, "found the file of the trace"),
                             (self.folder, "found a folder"), ("/dev/null", "found what is no regular file")):
            with mock.patch.object(sys, "argv", ["", self.path, "--out", str(target)]):
                self.fails(f"failed: --out: {target}: {said}", draw_cycle.main)
        self.assertEqual(Path(self.path).read_text(), before)
        out = self.folder / "cycle.svg"
        out.write_text("before")
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(sys, "argv", ["", self.path, "--out", str(out)]), \
                mock.patch.object(os, "replace", side_effect=full):
            self.fails(f"failed: {out}: No space left", draw_cycle.main)
        self.assertEqual(out.read_text(), "before")
        self.assertEqual(sorted(os.listdir(self.folder)), ["cycle.svg", "link", "trace.json"])


class Words(unittest.TestCase):
    def test_times_have_as_many_digits_as_matter(self):
        self.assertEqual([milliseconds(time) for time in (0.034, 4.56, 234.5)], ["0.03 ms", "4.6 ms", "234 ms"])

    def test_what_overlaps_counts_once(self):
        events = [draw_cycle.Event("read", begin, end, 0) for begin, end in ((0, 4), (2, 6), (8, 9))]
        self.assertEqual(united(events, 1, 8.5), [[1, 6], [8, 8.5]])
        self.assertEqual(united(events, 0, 9, least=3), [[0, 9]])


if __name__ == "__main__":
    unittest.main()
