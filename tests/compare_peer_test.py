"""Tests of scripts/measure/compare_peer.py with engines that answer from a list, and of the verdict of compare_roofline.py there.

    python3 tests/compare_peer_test.py -v
"""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts/measure"))
import compare_peer  # noqa: E402
import compare_roofline  # noqa: E402
from engines import Ours, Peer  # noqa: E402


class FakeEngine:
    """An engine that is twice as fast as the other if `speed` is 2; it records its calls."""

    def __init__(self, speed):
        self.speed, self.calls = speed, []

    def note(self, *call):
        self.calls.append(call)

    def speeds(self, model):
        self.note("speeds", model)
        return {"prompt": 100 * self.speed, "generation": 10 * self.speed}

    def first_byte(self, model):
        self.note("first_byte", model)
        return 1 / self.speed

    def generation(self, model, depth):
        self.note("generation", model, depth)
        return 5 * self.speed

    def attention(self, model, depths):
        self.note("attention", model, depths)
        return {(rows, depth): ((1024 + depth) * rows / self.speed, depth * rows / self.speed) for depth in depths for rows in (1, 512)}

    def texts(self, model, counts):
        self.note("texts", model, counts)
        return {count: 5 * count * self.speed for count in counts}

    def rows_seconds(self, model, counts):
        self.note("rows_seconds", model)
        return {rows: rows / self.speed for rows in counts}

    def beside_limits(self, model, prompt_tokens=512):
        self.note("beside_limits", model, prompt_tokens)
        return {"prompt": (70 * self.speed, 300), "generation": (8 * self.speed, 20)}

    def perplexity(self, model, texts):
        self.note("perplexity", model, Path(texts).name)
        return (24.0, 10) if model == "q4_0" else (20.0, 10)


def compare(figures, repetitions=3):
    peer, ours = FakeEngine(1), FakeEngine(2)
    comparison = compare_peer.Comparison(peer, ours, "model", {"peer": "q4_0", "ours": "smaller"})
    with contextlib.redirect_stderr(io.StringIO()):
        return compare_peer.measure(comparison, figures, repetitions), peer, ours


class ComparePeer(unittest.TestCase):
    def test_every_ratio_is_above_1_where_ours_is_better(self):
        result, _, _ = compare(list(compare_peer.FIGURES))
        self.assertEqual(list(result), list(compare_peer.TABLE))
        for figure, row in result.items():
            expected = {"perplexity": 2.71828 ** 0.4, "bandwidth": 16 / 5}.get(figure, 1 if "share" in figure else 2)
            self.assertAlmostEqual(row["ratio"], expected, places=4, msg=figure)

    def test_a_figure_alone_asks_for_nothing_else(self):
        result, peer, _ = compare(["depth"])
        self.assertEqual(list(result), ["depth"])
        self.assertEqual({call[0] for call in peer.calls}, {"first_byte", "generation"})
        self.assertEqual(list(compare(["prompt"])[0]), ["prompt"])
        self.assertEqual(list(compare(["generation", "first_byte"])[0]), ["generation", "first_byte"])

    def test_prompt_and_generation_come_out_of_one_run_and_perplexity_is_taken_once(self):
        _, peer, ours = compare(["prompt", "generation", "perplexity"], repetitions=4)
        self.assertEqual(sum(call[0] == "speeds" for call in peer.calls), 4)
        self.assertEqual([call[1] for call in ours.calls if call[0] == "perplexity"], ["q4_0", "smaller"])

    def test_for_the_best_each_reads_a_file_of_its_own(self):
        _, peer, ours = compare(["best"], repetitions=1)
        self.assertIn(("speeds", "q4_0"), peer.calls)
        self.assertIn(("speeds", "smaller"), ours.calls)

    def test_our_best_file_is_the_model_where_no_smaller_one_is_given(self):
        flags = compare_peer.parse_flags(["--peer", "a", "--ours", "b", "--figures", "best", "--quantized", "m=q", "--quantized", "n=r",
                                          "--smaller", "m=s", "m=path", "n=other"])
        self.assertEqual(compare_peer.best_files(flags, "m"), {"peer": "q", "ours": "s"})
        self.assertEqual(compare_peer.best_files(flags, "n"), {"peer": "r", "ours": "other"})

    def test_attention_is_the_median_of_the_repetitions_and_a_share_of_a_prompt_s_pass(self):
        result, peer, ours = compare(["attention"])
        self.assertEqual({call[0] for call in peer.calls}, {"first_byte", "attention"})
        self.assertEqual(result["attention_token_1024"], {"peer": 1024, "ours": 512, "ratio": 2})
        self.assertEqual(result["attention_prompt_128"]["peer"], 128 * 512)
        self.assertAlmostEqual(result["attention_share_4096"]["ours"], 4 / 5)
        comparison = compare_peer.Comparison(peer, ours, "model", {})
        for seconds in (3, 1, 2):
            ours.attention = lambda model, depths, by=seconds: {(1, depth): (9, by) for depth in depths}
            comparison.attention()
        self.assertEqual(comparison.samples["attention_token_128"]["ours"], [3, 1, 2])

    def test_limits_stand_beside_the_figures_that_have_one(self):
        result, peer, _ = compare(["prompt", "generation", "first_byte", "limit"])
        self.assertEqual({figure: row.get("limit") for figure, row in result.items()},
                         {"prompt": 300, "generation": 20, "first_byte": None})
        self.assertNotIn("beside_limits", [call[0] for call in peer.calls])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            compare_peer.print_table({"m": result}, compare_peer.parse_flags(["--peer", "a", "--ours", "b", "m=path"]))
        self.assertRegex(printed.getvalue(), r"prompt 512, tokens/s +100\.0 +200\.0 +2\.00 +300\.0\n")
        self.assertRegex(printed.getvalue(), r"first byte, ms +1000\.0 +500\.0 +2\.00 +-\n")

    def test_what_is_less_than_the_noise_has_no_ratio(self):
        row = compare_peer.TABLE["attention_prompt_1024"]
        self.assertIsNone(row.ratio(peer=0.0, ours=0.1))
        self.assertIsNone(row.ratio(peer=0.1, ours=0.0))

    def test_wrong_figures_and_missing_files_are_said(self):
        common = ["--peer", "a", "--ours", "b", "m=path"]
        for flags, message in ((["--figures", "prompt,speed"], "found speed, expected some of prompt"),
                               (["--figures", "best"], "--quantized: found none of m")):
            with self.assertRaises(SystemExit) as ended:
                compare_peer.parse_flags(flags + common)
            self.assertIn(message, str(ended.exception))
        flags = compare_peer.parse_flags(["--figures", "all", "--quantized", "m=q"] + common)
        self.assertEqual(flags.figures, list(compare_peer.FIGURES))

    def test_a_missing_program_is_named(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(SystemExit) as ended:
            Peer(folder, 2)
        self.assertIn("llama-bench is missing", str(ended.exception))


class Engines(unittest.TestCase):
    """Programs that print what the real ones print: the keys are read from the right places."""

    def program(self, folder, name, output):
        path = Path(folder) / name
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n", encoding="utf-8")
        path.chmod(0o755)

    def test_llama_bench_rows_are_told_apart_by_size(self):
        rows = [{"n_prompt": 1, "avg_ts": 8.0}, {"n_prompt": 512, "avg_ts": 256.0}]
        with tempfile.TemporaryDirectory() as folder:
            for name in Peer.PROGRAMS:
                self.program(folder, name, json.dumps(rows))
            self.assertEqual(Peer(folder, 2).rows_seconds("model", (1, 512)), {1: 0.125, 512: 2.0})

    def test_the_peers_texts_are_read_among_its_other_lines(self):
        lines = ['llama_context: n_ctx = 2304', '{"n_kv_max": 2304, "pp": 16, "tg": 128, "pl": 1, "speed_pp": 900.0, "speed_tg": 200.5}',
                 '{"n_kv_max": 2304, "pp": 16, "tg": 128, "pl": 8, "speed_pp": 950.0, "speed_tg": 410.0}', '', 'llama_perf: 1 ms']
        with tempfile.TemporaryDirectory() as folder:
            for name in Peer.PROGRAMS:
                self.program(folder, name, "\n".join(lines))
            self.assertEqual(Peer(folder, 2).texts("model", (1, 8)), {1: 200.5, 8: 410.0})
            with self.assertRaisesRegex(SystemExit, r"found speeds of \[1, 8\] texts, expected \[16\], too"):
                Peer(folder, 2).texts("model", (8, 16))

    def test_our_texts_are_the_medians_of_all_together(self):
        together = [{"texts": texts, "tokens_per_second": {"min": 1, "median": 500 * texts, "max": 9999}} for texts in (1, 8)]
        with tempfile.TemporaryDirectory() as folder:
            for name in Ours.PROGRAMS:
                self.program(folder, name, json.dumps({"streams": {"together": together}}))
            self.assertEqual(Ours(folder, 2).texts("model", (1, 8)), {1: 500, 8: 4000})
            for name in Ours.PROGRAMS:
                self.program(folder, name, json.dumps({"schema": 2, "batch": {"together": together}}))
            self.assertEqual(Ours(folder, 2).texts("model", (1, 8)), {1: 500, 8: 4000})

    def test_both_report_attention_in_the_same_way(self):
        report = {"attention": [{"rows": 1, "depth": 128, "seconds": 5.0, "attention_seconds": 0.5},
                                {"rows": 512, "depth": 128, "seconds": 6.0, "attention_seconds": 1.5}]}
        with tempfile.TemporaryDirectory() as folder:
            for engine in (Peer, Ours):
                for name in engine.PROGRAMS:
                    self.program(folder, name, json.dumps(report))
                self.assertEqual(engine(folder, 2).attention("model", (128,)), {(1, 128): (5.0, 0.5), (512, 128): (6.0, 1.5)})

    def test_our_limits_are_those_without_tokens_before(self):
        lines = [{"figure": "generation", "depth": 1, "measured": 1, "limit": 2},
                 {"figure": "prompt", "depth": 0, "measured": 3, "limit": 4},
                 {"figure": "generation", "depth": 0, "measured": 5, "limit": 6}]
        with tempfile.TemporaryDirectory() as folder:
            for name in Ours.PROGRAMS:
                self.program(folder, name, json.dumps({"roofline": {"lines": lines}}))
            self.assertEqual(Ours(folder, 2).beside_limits("model"), {"prompt": (3, 4), "generation": (5, 6)})


class CheckRoofline(unittest.TestCase):
    def test_a_peak_below_nine_tenths_of_the_plain_loops_fails(self):
        plain = {peak: [100.0, 110.0, 90.0] for peak in compare_roofline.PEAKS}
        good = {peak: [91.0, 95.0, 80.0] for peak in compare_roofline.PEAKS}
        self.assertEqual(compare_roofline.too_low(good, plain), [])
        bad = {**good, "int8": [89.0, 95.0, 80.0]}
        self.assertEqual(compare_roofline.too_low(bad, plain), ["int8"])


if __name__ == "__main__":
    unittest.main()
