"""Tests of scripts/measure/compare_adapter.py, with programs that answer what they are told.

    python3 tests/compare_adapter_test.py -v
"""
import argparse
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts/measure/compare_adapter.py"
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/measure"), str(ROOT / "scripts/measure/lib")]
import compare_adapter  # noqa: E402

# Answers request i with answers[i], by which it also knows which tokens the prompts have.
OURS = """#!/usr/bin/env python3
import json, sys
open({log!r}, "w").write(json.dumps(sys.argv[1:]))
answers = json.load(open({answers!r}))
for line in sys.stdin:
    request = json.loads(line)
    assert request["adapter"] == "adapter" and request["messages"][-1]["content"] == f"prompt {{request['id']}}", request
    print(json.dumps({{"id": request["id"], "prompt_tokens": [7, request["id"]]}} | answers[request["id"]]))
"""
PEER = """#!/usr/bin/env python3
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
flags = sys.argv[1:]
assert flags[flags.index("--lora") + 1] == "a.gguf", flags
answers = json.load(open({answers!r}))

class Handler(BaseHTTPRequestHandler):
    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        self.answer({{}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["temperature"] == 0 and asked["prompt"][0] == 7, asked
        self.answer(answers[asked["prompt"][1]])
    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(flags[flags.index("--port") + 1])), Handler).serve_forever()
"""


def text(number, tokens):
    """An engine's answer, by both engines' names of it."""
    return {"output_tokens": tokens, "tokens": tokens, "output_text": f"ours {number}", "content": f"peer {number}"}


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.answers([text(0, [1, 2, 3, 99]), text(1, [1, 2])], [text(0, [1, 2, 3]), text(1, [1, 5, 6])])
        (self.folder / "m.gguf").write_bytes(self.header())

    @staticmethod
    def header():
        name = b"tokenizer.ggml.eos_token_id"
        return struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q", len(name)) + name + struct.pack("<II", 4, 99)

    def answers(self, ours, peer):
        for program, form, answers in (("tessera_generate", OURS, ours), ("llama-server", PEER, peer)):
            path = self.folder / f"{program}.json"
            path.write_text(json.dumps(answers))
            (self.folder / program).write_text(form.format(answers=str(path), log=str(self.folder / "log")))
            (self.folder / program).chmod(0o755)

    def run_script(self, *flags):
        where = ["--peer", self.folder, "--ours", self.folder, "--model", self.folder / "m.gguf", "--adapter", "peft", "--gguf", "a.gguf"]
        return subprocess.run([sys.executable, "-B", str(SCRIPT), *map(str, where), *flags], capture_output=True, text=True, check=False)

    def test_both_texts_stand_there_with_what_is_the_same_of_them(self):
        result = self.run_script("--prompt", "prompt 0", "--prompt", "prompt 1", "--n_predict", "9")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("asked:     prompt 0\nours:      ours 0\nllama.cpp: peer 0\nthe same\n", result.stdout)
        self.assertIn("asked:     prompt 1\nours:      ours 1\nllama.cpp: peer 1\nthe same for 1 of 3 tokens\n", result.stdout)
        self.assertIn("1 of 2 texts are the same, 4 of 6 tokens before a difference", result.stdout)
        self.assertIn("--n_predict=9", json.loads((self.folder / "log").read_text()))

    def test_a_text_may_hold_what_ends_a_line_elsewhere(self):
        answer = {"id": 0, "output_text": "one\u2028two\u0085three"}
        given = argparse.Namespace(ours="b", model="m", adapter="a", n_predict=8, threads=1)
        ended = subprocess.CompletedProcess([], 0, json.dumps(answer, ensure_ascii=False) + "\n", "")
        with mock.patch.object(subprocess, "run", return_value=ended):
            self.assertEqual(compare_adapter.our_texts(given, [[]]), [answer])

    def test_json_has_the_same(self):
        result = self.run_script("--prompt", "prompt 0", "--json")
        self.assertEqual(json.loads(result.stdout)["texts"], [{"ours": "ours 0", "llama.cpp": "peer 0", "same_tokens": 3, "tokens": 3,
                                                               "equal": True}])

    def test_prompts_may_come_from_dialogues(self):
        data = self.folder / "held_out.jsonl"
        lines = ({"messages": [{"role": "user", "content": f"prompt {i}"}, {"role": "assistant", "content": "x"}]} for i in range(2))
        data.write_text("".join(json.dumps(line) + "\n" for line in lines))
        result = self.run_script("--data", str(data), "--texts", "1")
        self.assertIn("1 of 1 texts are the same", result.stdout)

    def test_prompts_come_from_one_place(self):
        for flags in ([], ["--prompt", "a", "--data", "b"]):
            result = self.run_script(*flags)
            self.assertEqual(result.returncode, 2)
            self.assertIn("found both or neither of --prompt and --data", result.stderr)

    def test_an_engine_that_fails_is_named(self):
        (self.folder / "tessera_generate").write_text("#!/bin/sh\necho no such adapter >&2\nexit 1\n")
        result = self.run_script("--prompt", "prompt 0")
        self.assertEqual((result.returncode, result.stderr), (1, "failed: tessera_generate: no such adapter\n"))

    def test_an_end_token_is_no_difference(self):
        same = compare_adapter.compare(text(0, [1, 99]), text(0, [1]), {99})
        self.assertTrue(same["equal"])
        self.assertFalse(compare_adapter.compare(text(0, [1, 98]), text(0, [1]), {99})["equal"])


class Script(unittest.TestCase):
    def test_what_cannot_be_compared_is_refused_before_anything_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "m.gguf")
            model.write_text("")
            for flags, said in (([], "found no model and adapter"), ([f"{folder}/none.gguf", folder], "none.gguf: found no file"),
                                ([str(model), f"{folder}/none"], "none: found no folder"),
                                ([str(model), folder, "--prompt"], "needs a value"),
                                ([str(model), folder, "--speed"], "unknown argument --speed")):
                result = subprocess.run(["bash", str(ROOT / "scripts/measure/compare_adapter.sh"), *flags], capture_output=True, text=True)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
