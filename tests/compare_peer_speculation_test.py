"""Tests of scripts/measure/compare_peer_speculation.py on texts from a list.

    python3 tests/compare_peer_speculation_test.py -v
"""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts/measure"))
import compare_peer_speculation as speculation  # noqa: E402
from compare_peer_speculation import PLAIN, SETTINGS, Text, Way, compare, parse_flags  # noqa: E402


def our_text(tokens, plain_seconds, drafted_seconds, drafted=None):
    return {"output_tokens": tokens, "drafted_tokens": drafted or tokens, "plain_seconds": plain_seconds,
            "drafted_seconds": drafted_seconds}


class Ways(unittest.TestCase):
    def test_the_first_token_is_the_prompts(self):
        way = Way([(Text([1, 2, 3], 2.0), Text([1, 2, 3], 1.0))])
        self.assertEqual((way.speed, way.gain, way.changed), (2.0, 2.0, 0))

    def test_a_changed_text_counts_even_if_it_has_one_token(self):
        way = Way([(Text([1, 2], 1.0), Text([1, 3], 1.0)), (Text([1, 2], 1.0), Text([1], 1.0)), (Text([1, 2], 1.0), Text([1, 2], 1.0))])
        self.assertEqual(way.changed, 2)
        self.assertEqual(way.gain, 1.0)

    def test_gains_are_of_speeds_since_a_changed_text_may_be_shorter(self):
        way = Way([(Text([1, 2, 3, 4, 5], 4.0), Text([1, 2, 9], 1.0))])
        self.assertEqual(way.gain, 2.0)


class Compare(unittest.TestCase):
    def setUp(self):
        self.ours = [our_text([1, 2, 3], 2.0, 0.5)]
        self.peer = {PLAIN: [Text([1, 2, 3], 4.0)], "ngram-simple": [Text([1, 2, 4], 2.0)], "ngram-cache": [Text([1, 2, 3], 8.0)]}

    def test_the_peers_best_is_held_against_ours(self):
        result = compare(self.ours, self.peer)
        self.assertEqual(result["peer_best"], "ngram-simple")
        self.assertEqual(result["ratio"], 4.0)
        self.assertEqual(result["peer"]["ngram-simple"]["changed"], 1)
        self.assertEqual((result["ours"]["changed"], result["ours"]["gain"]), (0, 4.0))

    def test_a_text_that_our_drafts_changed_is_counted(self):
        self.ours = [our_text([1, 2, 3], 2.0, 0.5, drafted=[1, 2, 7])]
        self.assertEqual(compare(self.ours, self.peer)["ours"]["changed"], 1)

    def test_plain_decoding_may_be_the_peers_best(self):
        self.peer["ngram-simple"] = [Text([1, 2, 3], 5.0)]
        self.assertEqual(compare(self.ours, self.peer)["peer_best"], PLAIN)


class Table(unittest.TestCase):
    def test_every_setting_has_a_column(self):
        peer = {setting: [Text([1, 2, 3], 1.0)] for setting in SETTINGS}
        results = {"code": compare([our_text([1, 2, 3], 2.0, 1.0)], peer)}
        shown = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(shown):
            server = Path(folder) / "llama-server"
            server.touch(0o755)
            speculation.print_table(results, parse_flags(["--peer", folder, "--ours", "b", "--model", "m", "--data", "d"]))
        for setting in SETTINGS:
            self.assertIn(setting, shown.getvalue())

    def test_a_missing_server_is_named(self):
        with self.assertRaisesRegex(SystemExit, "nowhere/llama-server is missing"):
            parse_flags(["--peer", "nowhere", "--ours", "b", "--model", "m", "--data", "d"])


if __name__ == "__main__":
    unittest.main()
