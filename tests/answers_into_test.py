"""Tests of tessera_generate --jsonl --into: a run that is killed and goes on has the answers of a run that was not.

    python3 tests/answers_into_test.py -v
"""
import json
import os
import pty
import re
import signal
import subprocess
import unittest
from patience import await_that
from path_kinds import BIN, MODEL, Folder, limit_files, obey_permissions, pipe_without_reader, run

GENERATE = [BIN / "tessera_generate", f"--model={MODEL}", "--threads=1", "--jsonl"]
GREEDY = [*GENERATE, "--temperature=0"]
WORDS = ("the", "in", "re", "an", "of")


def requests(count, **fields):
    return [{"id": i if i % 2 else f"id {i}", "text": f"{WORDS[i % 5]} {WORDS[i // 5 % 5]} {i}", "n": 60, **fields} for i in range(count)]


def without_times(line):
    """The line without times, and without the tokens and rows of a prefix that a run that goes on has to compute again."""
    line = re.sub(r',"seconds":\{[^}]*\}', "", line)
    return re.sub(r'"shared_prompt":(\d+|null)|"rows":\d+|"\w*seconds":[-+.\de]+', "", line)


def texts(lines):
    return [without_times(line) for line in lines]


class Into(Folder):
    def setUp(self):
        super().setUp()
        self.into = self.folder / "answers.jsonl"

    def input(self, asked, name="requests"):
        return self.path(name, "".join(json.dumps(request) + "\n" for request in asked))

    def answer(self, command, asked, **options):
        with open(self.input(asked)) as source:
            return run(command, f"--into={self.into}", stdin=source, **options)

    def lines(self):
        return self.into.read_text().splitlines() if self.into.exists() else []

    def whole_lines(self):
        return [line for line in self.into.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def start(self, command, source, **options):
        with open(source) as file:
            return subprocess.Popen([*map(str, command), f"--into={self.into}"], stdin=file, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True, **options)

    def wait_for_lines(self, process, count):
        """Waits until the file has so many whole lines. False if the run has ended."""
        def come():
            return self.into.exists() and self.into.read_bytes().count(b"\n") >= count

        await_that(lambda: come() or process.poll() is not None)
        return come()

    def end_by(self, number, command, source, lines):
        """Ends a run once the file has so many lines. False where the run had ended by itself."""
        with self.start(command, source) as process:
            self.wait_for_lines(process, lines)
            process.send_signal(number)
            said = process.stderr.read()
        self.assertIn(process.returncode, (-number, 0), said)
        return process.returncode == -number

    def assert_goes_on(self, number, flags, asked, in_order):
        expected = run(flags, input="".join(json.dumps(request) + "\n" for request in asked)).stdout.splitlines()
        self.assertEqual(len(expected), len(asked))
        source = self.input(asked)
        cuts = sum(self.end_by(number, flags, source, len(self.lines()) + 2) for _ in range(4))
        self.assertGreater(cuts, 0, "the runs are too short for this test")
        before = len(self.whole_lines())
        result = self.answer(flags, asked)
        self.assert_done(result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, rf"requests: {len(asked) - before} answered, {before} answered before; ")
        found, wanted = texts(self.lines()), texts(expected)
        self.assertEqual(found if in_order else sorted(found), wanted if in_order else sorted(wanted))
        bytes_before = self.into.read_bytes()
        self.assert_done(self.answer(flags, asked))
        self.assertEqual(self.into.read_bytes(), bytes_before, "a run that finds all answers adds none")


class ARunThatIsEnded(Into):
    def test_by_a_kill_goes_on_one_after_another(self):
        self.assert_goes_on(signal.SIGKILL, GREEDY, requests(60), in_order=True)

    def test_by_a_kill_goes_on_in_parallel(self):
        self.assert_goes_on(signal.SIGKILL, [*GREEDY, "--parallel=4"], requests(60), in_order=True)

    def test_by_a_kill_goes_on_unordered(self):
        self.assert_goes_on(signal.SIGKILL, [*GREEDY, "--parallel=4", "--unordered"], requests(60), in_order=False)

    def test_by_a_kill_goes_on_with_several_answers_to_a_request(self):
        self.assert_goes_on(signal.SIGKILL, [*GENERATE, "--parallel=3"], requests(40, answers=2, seed=7), in_order=True)

    def test_by_a_kill_goes_on_with_samples(self):
        self.assert_goes_on(signal.SIGKILL, [*GENERATE, "--parallel=4"], requests(40, best_of=2, seed=7), in_order=True)

    def test_by_a_kill_goes_on_with_beams(self):
        self.assert_goes_on(signal.SIGKILL, [*GENERATE, "--beam=2x2", "--temperature=1"], requests(30, n=20), in_order=True)

    def test_by_sigterm_goes_on(self):
        self.assert_goes_on(signal.SIGTERM, GREEDY, requests(60), in_order=True)

    def test_by_sigterm_goes_on_in_parallel(self):
        self.assert_goes_on(signal.SIGTERM, [*GREEDY, "--parallel=4"], requests(200), in_order=False)

    def test_by_sigterm_leaves_whole_lines_on_standard_output(self):
        source = self.input(requests(400))
        with open(source) as file, open(self.path("out"), "w+") as out:
            process = subprocess.Popen([*map(str, GREEDY)], stdin=file, stdout=out, stderr=subprocess.DEVNULL)
            await_that(lambda: self.path("out").read_bytes().count(b"\n") >= 3)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), -signal.SIGTERM)
        text = self.path("out").read_text()
        self.assertTrue(text.endswith("\n"), text[-100:])
        for line in text.splitlines():
            self.assertIn("output_text", json.loads(line))

    def test_at_a_full_disk_leaves_whole_lines_and_goes_on(self):
        asked = requests(6)
        expected = run(GREEDY, input="".join(json.dumps(request) + "\n" for request in asked)).stdout
        result = self.answer(GREEDY, asked, preexec_fn=limit_files(len(expected) // 2))
        self.assert_refused(result, f"{self.into}: cannot write: File too large", code=1)
        self.assertTrue(0 < len(self.lines()) < 6)
        self.assertTrue(self.into.read_text().endswith("\n"))
        self.assert_done(self.answer(GREEDY, asked))
        self.assertEqual(texts(self.lines()), texts(expected.splitlines()))


class TheFile(Into):
    def test_of_another_run_is_refused(self):
        asked = [{"id": 1, "text": "the", "n": 2}, {"id": 2, "text": "the", "n": 0}]
        with self.start([*GREEDY, "--context=400000"], self.input(asked)) as process:
            try:
                self.assertTrue(self.wait_for_lines(process, 1))
                second = self.answer(GREEDY, asked)
            finally:
                process.kill()
                process.stderr.read()
        self.assert_refused(second, f"--into: {self.into}: found another run that adds to it, expected none")

    def test_with_a_part_of_a_line_is_cut_and_the_run_says_so(self):
        asked = requests(3)
        self.assert_done(self.answer(GREEDY, asked))
        whole = self.into.read_text()
        self.into.write_text(whole[:-20])
        result = self.answer(GREEDY, asked)
        self.assert_done(result)
        self.assertIn(f"{self.into}: line 3 was not whole, as a run that is killed leaves it: ", result.stderr)
        self.assertIn("requests: 1 answered, 2 answered before; ", result.stderr)
        self.assertEqual(texts(self.lines()), texts(whole.splitlines()))

    def test_with_other_lines_is_refused_and_stays(self):
        for text, found in (("hello\n", "line 1"), ("my notes", "line 1"), ('{"id": 1}\n', "line 1: prompt_tokens: found nothing")):
            with self.subTest(text):
                self.into.write_text(text)
                self.assert_refused(self.answer(GREEDY, requests(1)), f"--into: {self.into}, ", found, "expected")
                self.assertEqual(self.into.read_text(), text)

    def test_is_a_regular_one_that_may_be_written_and_that_nothing_else_reads(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        source = self.input(requests(1))
        locked = self.path("locked", "")
        locked.chmod(0o400)
        for path, words, options in ((fifo, "found no regular file, expected one", {}), (self.folder, "cannot open", {}),
                                     ("/dev/null", "found no regular file", {}), (self.folder / "no/file", "cannot open", {}),
                                     (locked, "cannot open: Permission denied", {"preexec_fn": obey_permissions}),
                                     (source, "found what standard input reads", {}), (MODEL, "the model itself", {})):
            with self.subTest(path=path), open(source) as file:
                self.assert_refused(run(GREEDY, f"--into={path}", stdin=file, **options), "--into: ", words)

    def test_is_for_requests_alone(self):
        result = run([arg for arg in GREEDY if arg != "--jsonl"], "--prompt=the", f"--into={self.into}")
        self.assert_refused(result, "--into: found without --jsonl, expected both")
        self.assertFalse(self.into.exists())

    def test_is_not_made_by_a_dry_run(self):
        result = self.answer([*GREEDY, "--dry_run"], requests(1))
        self.assert_done(result)
        self.assertIn("not the file of --into", result.stderr)
        self.assertFalse(self.into.exists())


class Requests(Into):
    def test_that_fail_are_said_and_asked_again(self):
        asked = [*requests(2), {"id": "bad", "text": "the", "n": -1}, *requests(4)[2:]]
        for command in (GREEDY, [*GREEDY, "--parallel=2"]):
            with self.subTest(command[-1]):
                self.into.unlink(missing_ok=True)
                result = self.answer(command, asked)
                self.assert_refused(result, "standard input, line 3: n: found -1", "requests: 4 answered, 1 error; ", code=1)
                self.assertEqual(len(self.lines()), 4)
                self.assertNotIn("error", self.into.read_text())
                asked_again = self.answer(command, [{**request, "n": 60} for request in asked])
                self.assert_done(asked_again)
                self.assertIn("requests: 1 answered, 4 answered before; ", asked_again.stderr)
                self.assertEqual([json.loads(line)["id"] for line in self.lines()], ["id 0", 1, "id 2", 3, "bad"])

    def test_of_the_same_id_are_errors_and_so_are_those_without_one(self):
        text = '{"id": "a", "text": "the", "n": 2}\n{"id": "\\u0061", "text": "in", "n": 2}\n{"text": "in", "n": 2}\n'
        result = run(GREEDY, f"--into={self.into}", input=text)
        self.assert_refused(result, 'standard input, line 2: id: found "a" again, expected each id once',
                            "standard input, line 3: id: found nothing", "requests: 1 answered, 2 errors; ", code=1)
        self.assertEqual(len(self.lines()), 1)

    def test_of_an_id_with_an_answer_to_another_prompt_are_errors(self):
        self.assert_done(self.answer(GREEDY, [{"id": 1, "text": "the", "n": 2}]))
        result = self.answer(GREEDY, [{"id": 1, "text": "in", "n": 2}])
        self.assert_refused(result, f"standard input, line 1: id: found 1 of another prompt in {self.into}, line 1", code=1)

    def test_need_no_reader_of_standard_output(self):
        write = pipe_without_reader()
        self.addCleanup(os.close, write)
        self.assert_done(self.answer(GREEDY, requests(3), stdout=write))
        self.assertEqual(len(self.lines()), 3)


class Progress(Into):
    def test_on_a_terminal_is_one_line_that_is_redrawn(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with open(self.input([{**request, "n": 0} for request in requests(2)])) as source:
            process = subprocess.Popen([*map(str, GREEDY), "--context=400000", f"--into={self.into}"], stdin=source,
                                       stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        seen = b""
        while seen.count(b"\r\x1b[?7lrequests: 0 % (0 of 2), ") < 3:
            seen += os.read(master, 1 << 16)
        process.kill()
        process.wait()
        self.assertRegex(seen, rb"requests: 0 % \(0 of 2\), 0\.0/s, \d+ s; [0-9.]+ tokens/s\x1b\[K")

    def test_is_none_where_answers_come_on_a_terminal(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with open(self.input(requests(60))) as source:
            process = subprocess.Popen([*map(str, GREEDY)], stdin=source, stdout=slave, stderr=slave)
        os.close(slave)
        seen = b""
        try:
            while more := os.read(master, 1 << 16):
                seen += more
        except OSError:  # The program has ended.
            pass
        self.assertEqual(process.wait(), 0)
        self.assertNotIn(b"\x1b[?7l", seen)
        self.assertIn(b"requests: 60 answered; ", seen)


if __name__ == "__main__":
    unittest.main()
