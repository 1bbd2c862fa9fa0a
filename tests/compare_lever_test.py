"""Tests of scripts/measure/compare_lever.py on runs from a list.

    python3 tests/compare_lever_test.py -v
"""
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/measure"))
import compare_lever  # noqa: E402
import compare_peer_memory  # noqa: E402
from compare_lever import AUTO, PLAIN, measure, parse_flags, peer_speed, prompts, table, ways  # noqa: E402
from compare_peer_memory import BESIDES  # noqa: E402
from engines import Ours, Peer  # noqa: E402
from memory_group import MIB, Outcome  # noqa: E402

FLAGS = ["--peer", "a", "--ours", "b", "--gguf", "m.gguf", "--tsr", "m.tsr", "--draft", "d.gguf",
         "--data", str(ROOT / "tests/data/speculation"), "--threads", "1"]
TEXTS = [("gsm8k", "one"), ("mbpp", "two")]


def our_output(speed, tokens=(1, 2, 3), chosen=None):
    more = {"speculation": {"chosen": chosen}} if chosen else {}
    return json.dumps({"tokens": list(tokens), "timings": {"generation_tokens_per_second": speed}, **more})


def peer_output(tokens, seconds):
    return f"words\nencoded   36 tokens in    1.000 seconds\ndecoded {tokens:4d} tokens in {seconds:8.3f} seconds, speed: 0 t/s\n"


class Commands(unittest.TestCase):
    def setUp(self):
        for engine in (Peer, Ours):
            self.enterContext(mock.patch.object(engine, "PROGRAMS", ()))

    def by_name(self, share=0.5):
        return {way.name: way for way in ways(parse_flags(FLAGS), share)}

    def test_ours_have_the_limit_as_a_budget_and_only_one_has_the_draft(self):
        ours = self.by_name()
        plain, auto = (ours[name].command(100 * MIB, "why") for name in (PLAIN, AUTO))
        for command in (plain, auto):
            self.assertIn(f"--memory_budget={100 * MIB - BESIDES}", command)
            self.assertEqual(command[-2:], ["--prompt", "why"])
            self.assertIn("m.tsr", command)
        self.assertNotIn("d.gguf", plain)
        self.assertEqual(auto[auto.index("--draft_model") + 1], "d.gguf")
        self.assertNotIn("memory_budget", " ".join(ours[AUTO].command(None, "why")))

    def test_the_peer_has_each_length_of_drafts_and_maps_what_does_not_fit(self):
        for share, mapped in ((0.8, True), (None, False), (1.5, False)):
            found = self.by_name(share)
            self.assertEqual(list(found)[:4], ["llama.cpp plain"] + [f"llama.cpp draft {most}" for most in (4, 8, 16)])
            for name in list(found)[:4]:
                self.assertEqual("mmap" in found[name].command(MIB, "why"), mapped)
        command = self.by_name()["llama.cpp draft 16"].command(MIB, "why; not")
        self.assertEqual(command[command.index("--spec-draft-n-max") + 1], "16")
        self.assertEqual(command[-2:], ["-p", "why; not"])
        self.assertEqual(self.by_name()["llama.cpp draft 4"].command(MIB, "x")[command.index("--spec-draft-n-max") + 1], "4")

    def test_prompts_are_the_first_of_each_set(self):
        asked = []
        with mock.patch.object(compare_lever, "run", lambda command: asked.append(command[-1]) or f"<{len(asked)}>"):
            texts = prompts(parse_flags(FLAGS + ["--texts", "2"]))
        self.assertEqual([name for name, _ in texts], [name for name in ("gsm8k", "humaneval", "mbpp", "mt_bench") for _ in range(2)])
        self.assertEqual(texts[7][1], "<8>")
        self.assertTrue(asked[0].startswith("Janet"))
        self.assertTrue(asked[2].startswith("Complete this function:\n\n"))
        self.assertIn(" Your code should pass these tests:\n\nassert ", asked[4])

    def test_a_prompt_may_hold_what_ends_a_line_elsewhere(self):
        odd, asked = "one\u2028two\u0085three", []
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "tests/data/speculation", folder, dirs_exist_ok=True)
            Path(folder, "gsm8k_test.jsonl").write_text(json.dumps({"question": odd}, ensure_ascii=False) + "\n", "utf-8")
            with mock.patch.object(compare_lever, "run", lambda command: asked.append(command[-1])):
                prompts(parse_flags(FLAGS + ["--data", folder]))
        self.assertEqual(asked[0], odd)

    def test_the_peers_speed_is_read_from_its_words(self):
        self.assertEqual(peer_speed(peer_output(64, 16)), 4)
        with self.assertRaisesRegex(SystemExit, "found no line about decoded tokens"):
            peer_speed("nothing")


class Measuring(unittest.TestCase):
    def setUp(self):
        self.calls = []
        for engine in (Peer, Ours):
            self.enterContext(mock.patch.object(engine, "PROGRAMS", ()))

    def measure(self, outputs, *more):
        """outputs: of each way, one per text; a pair: why there is none."""
        test = self

        class Group(contextlib.nullcontext):
            def run(self, command, seconds):
                words = " ".join(command)
                ours = AUTO if "--draft_model" in words else PLAIN
                name = "draft" if "speculative" in words else "plain" if "llama-bench" in words else ours
                test.calls.append(name)
                output = outputs[name].pop(0)
                return Outcome("", output[1], 0, 0) if isinstance(output, tuple) else Outcome(output, "", 7 * MIB, 0)

            def __enter__(self):
                return self

        flags = parse_flags(FLAGS + ["--drafts", "8", *more])
        with mock.patch.object(compare_peer_memory, "MemoryGroup", lambda limit: Group()), \
                mock.patch.object(compare_peer_memory, "drop_from_cache", lambda path: self.calls.append(path)), \
                mock.patch.object(compare_lever, "drop_from_cache", lambda path: self.calls.append(path)), \
                mock.patch.object(os.path, "getsize", lambda path: 200 * MIB), contextlib.redirect_stderr(io.StringIO()):
            return measure(flags, 0.5, TEXTS), flags

    def outputs(self, **other):
        return {"plain": ['[{"avg_ts": 1}]', '[{"avg_ts": 1}]'], "draft": [peer_output(64, 32), peer_output(64, 8)],
                PLAIN: [our_output(2), our_output(2)], AUTO: [our_output(4, chosen="both"), our_output(16, chosen="both")], **other}

    def test_means_and_ratios_are_of_all_texts(self):
        result, flags = self.measure(self.outputs())
        speeds = {each["engine"]: each["tokens_per_second"] for each in result["engines"]}
        for name, speed in (("llama.cpp plain", 1), ("llama.cpp draft 8", 4), (PLAIN, 2), (AUTO, 8)):
            self.assertAlmostEqual(speeds[name], speed)
        self.assertAlmostEqual(result["of_plain"], 4)
        self.assertAlmostEqual(result["of_peer"], 2)
        self.assertEqual((result["auto_chose"], result["texts_changed"]), (["both"], False))
        lines = table([result], flags).splitlines()
        self.assertEqual(lines[-1].split(maxsplit=3)[3], "auto (both): 4.00 times our plain decoding, 2.00 times the best of llama.cpp")
        self.assertEqual(lines[3].split(), "0.5, 100 MiB llama.cpp draft 8 4.00 2.00 8.00 7 2.00".split())

    def test_ways_take_turns_text_by_text_with_nothing_in_the_cache(self):
        self.measure(self.outputs())
        self.assertEqual([call for call in self.calls if "." not in call], ["plain", "draft", PLAIN, AUTO, "draft", PLAIN, AUTO, "plain"])
        self.assertEqual(self.calls[:3], ["d.gguf", "m.gguf", "plain"])

    def test_a_peer_without_a_result_is_not_run_again_and_counts_for_nothing(self):
        result, flags = self.measure(self.outputs(draft=[("", "killed for want of memory")]))
        self.assertEqual(self.calls.count("draft"), 1)
        self.assertAlmostEqual(result["of_peer"], 8)
        self.assertIn("killed for want of memory", table([result], flags))

    def test_without_our_own_result_there_is_no_ratio(self):
        result, flags = self.measure(self.outputs(**{PLAIN: [("", "no result in 9 s")]}))
        self.assertIsNone(result["of_plain"])
        self.assertIn("- times our plain decoding", table([result], flags))

    def test_a_text_that_the_draft_changed_is_told(self):
        result, _ = self.measure(self.outputs(**{PLAIN: [our_output(2), our_output(2, tokens=(1, 2, 4))]}))
        self.assertTrue(result["texts_changed"])


class WrongFlags(unittest.TestCase):
    def test_they_are_said(self):
        for more, message in ((["--limits", "half"], "--limits: found half"), (["--threads", "99999"], "--threads: found 99999"),
                              (["--drafts", "4,0"], "--drafts: found 0, expected most tokens"),
                              (["--drafts", "100"], "--drafts: found 100"),
                              (["--texts", "0"], "--texts: found 0")):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said):
                parse_flags(FLAGS + more)
            self.assertIn(message, str(ended.exception) + said.getvalue())
        self.assertTrue(parse_flags(["--check"]).check)


if __name__ == "__main__":
    unittest.main()
