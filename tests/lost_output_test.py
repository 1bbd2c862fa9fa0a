"""Nothing is lost with exit code 0: readers that go away, outputs that are not ready, disks that are full.

    python3 tests/lost_output_test.py -v
"""
import fcntl
import json
import os
import signal
import subprocess
import unittest
from path_kinds import ANSWER, BIN, EARLIER, GAINS, MAKERS, MODEL, ROOT, ROWS, TOKENIZE, Folder, limit_files, pipe_without_reader, run
from patience import all_asleep, await_that


class Readers(Folder):
    """What a reader's end ends, and what it does not."""
    def without_errors(self, command, *flags, **options):
        write = pipe_without_reader()
        try:
            return run(command, *flags, stderr=write, **options)
        finally:
            os.close(write)

    def without_output(self, command, *flags, **options):
        write = pipe_without_reader()
        try:
            return run(command, *flags, stdout=write, **options)
        finally:
            os.close(write)

    def test_when_nobody_reads_the_errors_all_the_rest_is_written(self):
        trace, costs, kept, packed = self.path("t"), self.path("c"), self.path("k"), self.path("m.tsr")
        long = [*ANSWER, "--n_predict=60", "--stats"]
        self.assert_done(run(MAKERS["pack"], f"--out={packed}"))
        text = run(long).stdout
        cache = {"env": {**os.environ, "TESSERA_CACHE": str(self.folder)}}
        for flags in ([f"--trace={trace}"], [f"--cost_profile={costs}"], ["--history=gone"], [f"--session={kept}"],
                      [f"--model={packed}", "--memory_budget=200MiB", "--context=512"]):
            result = self.without_errors(long, *flags, **cache)
            self.assertEqual((result.returncode, result.stdout), (0, text), flags)
        self.assertIn("traceEvents", trace.read_text())
        self.assertIn("pass", costs.read_text())
        self.assertTrue(kept.read_bytes().startswith(b"tsrsess"))
        self.assertEqual(len(list((self.folder / "history").glob("gone-*"))), 1)
        self.assertEqual(json.loads(self.without_errors(long, "--json").stdout)["text"], json.loads(run(long, "--json").stdout)["text"])

    def test_wrong_usage_keeps_its_exit_code_where_nobody_reads_the_errors(self):
        for flags in (["--bad"], ["--n_predict=x"], ["--flagfile=/nope"]):
            self.assertEqual(self.without_errors([*ANSWER, *flags]).returncode, 2, flags)

    def test_nor_is_a_product_or_a_dialogue_lost_with_the_errors(self):
        for name, command in MAKERS.items():
            self.assertEqual(self.without_errors(command, f"--out={self.path(name)}").returncode, 0)
            self.assertTrue(self.path(name).exists())
        chat = [BIN / "tessera_generate", f"--model={MODEL}", "--chat", "--chat_template=chatml", "--temperature=0", "--n_predict=5"]
        told = run(chat, input="a\n/reset\nb\n")
        self.assert_done(told)
        untold = self.without_errors(chat, input="a\n/reset\nb\n")
        self.assertEqual((untold.returncode, untold.stdout), (0, told.stdout))

    def test_when_nobody_reads_the_output_a_filter_ends_by_sigpipe_and_says_nothing(self):
        for command in (ANSWER, [*ANSWER, "--json"], [*TOKENIZE, "--prompt=the"], [*ANSWER, "--help"], [*ANSWER, "--version"],
                        [BIN / "tessera_inspect", f"--model={MODEL}"], [*ANSWER, "--n_predict=0", "--context=100000"]):
            with self.subTest(command):
                result = self.without_output(command)
                self.assertEqual((result.returncode, result.stderr), (-signal.SIGPIPE, ""))

    def test_but_products_are_made(self):
        for name, command in MAKERS.items():
            with self.subTest(name):
                whole = self.path(f"{name}_whole")
                self.assert_done(run(command, f"--out={whole}"))
                self.assertEqual(self.without_output(command, f"--out={self.path(name)}").returncode, -signal.SIGPIPE)
                self.assertEqual(self.path(name).stat().st_size, whole.stat().st_size)
        for command in (ROWS, GAINS):
            self.assertEqual(self.without_output(command, f"--plot={self.path('svg')}").returncode, -signal.SIGPIPE)
            self.assertIn("</svg>", self.path("svg").read_text())
            self.path("svg").unlink()
        self.assert_no_temporary()

    def test_and_the_trace_and_history_of_what_was_done(self):
        for command in (ANSWER, [*ANSWER, "--n_predict=0", "--context=100000"]):
            result = self.without_output(command, f"--trace={self.path('t')}")
            self.assertEqual(result.returncode, -signal.SIGPIPE, result.stderr)
            self.assertIn("traceEvents", self.path("t").read_text())
            self.path("t").unlink()

    def test_an_output_that_does_not_block_is_waited_for(self):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(write, False)
        requests = "".join(json.dumps({"id": i, "tokens": [5] * 3000, "n": 1}) + "\n" for i in range(3))
        command = [BIN / "tessera_generate", f"--model={MODEL}", "--jsonl", "--temperature=0", "--context=4096"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=write, stderr=subprocess.DEVNULL) as process:
            os.close(write)
            process.stdin.write(requests.encode())
            process.stdin.close()
            await_that(lambda: all_asleep(process.pid))  # The program waits for room in the pipe.
            with os.fdopen(read) as reader:
                lines = reader.read().splitlines()
        self.assertEqual(process.returncode, 0)
        self.assertEqual([json.loads(line)["id"] for line in lines], [0, 1, 2])
        self.assertEqual([len(json.loads(line)["prompt_tokens"]) for line in lines], [3000] * 3)


class FullDisks(Folder):
    """A limit on the size of files stands for a disk that becomes full."""
    def test_an_output_that_finds_no_room_is_an_error_and_leaves_nothing(self):
        cases = [(ANSWER, "--trace", 100), (ROWS, "--plot", 100), (GAINS, "--plot", 100),
                 ([*ANSWER, "--n_predict=40", "--prompt=a a a a a a a a"], "--cost_profile", 10), (ANSWER, "--session", 100)]
        cases += [(command, "--out", 5000) for command in MAKERS.values()]
        for command, flag, size in cases:
            for old in (None, EARLIER):
                with self.subTest(command[0].name, flag=flag, old=old):
                    path = self.path("output")
                    if command[0].name == "tessera_pack" and old:
                        continue  # It replaces only .tsr files.
                    if flag in ("--cost_profile", "--session") and old:
                        continue  # It is read.
                    if old:
                        path.write_text(old)
                    result = run(command, f"{flag}={path}", preexec_fn=limit_files(size))
                    self.assert_refused(result, f"{path}: ", "File too large", code=1)
                    self.assertEqual(path.read_text() if old else path.exists(), old or False)
                    self.assertEqual(os.listdir(self.folder), ["output"] if old else [])
                    path.unlink(missing_ok=True)

    def test_a_history_that_finds_no_room_is_an_error(self):
        result = run([*ANSWER, "--n_predict=20"], "--history=full", preexec_fn=limit_files(10),
                     env={**os.environ, "TESSERA_CACHE": str(self.folder)})
        self.assert_refused(result, f"{self.folder}/history/full-", "File too large", code=1)
        self.assertEqual(list((self.folder / "history").iterdir()), [])

    def test_text_that_finds_no_room_is_an_error_and_the_trace_is_whole(self):
        trace = self.path("t")
        with open("/dev/full", "w") as full:
            result = run(ANSWER, f"--trace={trace}", stdout=full)
        self.assert_refused(result, "tessera_generate: standard output: No space left on device", code=1)
        self.assertIn("traceEvents", trace.read_text())
        with open(self.path("log"), "w") as file:
            result = run([*ANSWER, "--n_predict=200"], stdout=file, preexec_fn=limit_files(20))
        self.assert_refused(result, "standard output: File too large", code=1)

    def test_every_program_says_that_its_output_found_no_room(self):
        programs = sorted(path.stem for path in (*ROOT.glob("apps/*.cc"), *ROOT.glob("apps/bench/*.cc"), *ROOT.glob("apps/lab/*.cc")))
        self.assertGreater(len(programs), 9)
        for program in programs:
            for flag in ("--help", "--version"):
                with self.subTest(program, flag=flag), open("/dev/full", "w") as full:
                    self.assert_refused(run([BIN / f"tessera_{program}"], flag, stdout=full), "standard output: No space", code=1)


if __name__ == "__main__":
    unittest.main()
