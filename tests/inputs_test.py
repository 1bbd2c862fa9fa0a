"""Tests of docs/files_in_and_out.md: each kind of path, read, and files of a run that are one.

    python3 tests/inputs_test.py -v
"""
import json
import os
import pty
import socket
import threading
import unittest
from path_kinds import ANSWER, BIN, EARLIER, GAINS, MAKERS, MODEL, PROMPT, ROOT, ROWS, TOKENIZE, Folder, run


class TextIsRead(Folder):
    """--prompt_file, --prompts, --flagfile, --peer_curve, --recordings and --curves: each of them with each kind of file."""
    drafts = json.dumps({"model": "peer", "tree": "ds2d:3,2",
                         "categories": [{"category": "rag", "texts": 1, "drafted": {"tokens": 3, "passes": 2}}]})
    accuracies = json.dumps({"model": "peer", "task": "gsm8k", "method": "majority", "samples": 2,
                             "right": {"mean": 0.4, "low": 0.3, "high": 0.5}, "gain": {"mean": 0.1, "low": 0, "high": 0.2}})
    curve = json.dumps({"name": "peer", "rows": [{"rows": 1, "seconds": 0.1}, {"rows": 2, "seconds": 0.2}]})

    def readers(self):
        """(flag, the command, a text that it reads, whether it read that)"""
        drawing = self.path("svg")
        return [("prompt_file", TOKENIZE, PROMPT, lambda result: json.loads(result.stdout)["tokens"] == self.tokens),
                ("flagfile", TOKENIZE, f"--prompt={PROMPT}\n", lambda result: json.loads(result.stdout)["tokens"] == self.tokens),
                ("prompts", [BIN / "tessera_verify", f"--model={MODEL}", "--n_predict=1", "--threads=1", "--raw"], PROMPT + "\n",
                 lambda result: result.stdout.startswith("equal: 1 prompts")),
                ("peer_curve", [*ROWS, f"--plot={drawing}"], self.curve, lambda result: ">peer" in drawing.read_text()),
                ("recordings", [BIN / "tessera_reproduce", "onemodel"], self.drafts, lambda result: "real runs of peer" in result.stdout),
                ("curves", [BIN / "tessera_reproduce", "scaling"], self.accuracies, lambda result: "by peer, gsm8k" in result.stdout)]

    def setUp(self):
        super().setUp()
        self.tokens = json.loads(run(TOKENIZE, f"--prompt={PROMPT}").stdout)["tokens"]

    def check(self, kinds):
        """kinds: from a text to (path, options of run) for each kind of file."""
        for flag, command, text, was_read in self.readers():
            for number, kind in enumerate(kinds):
                with self.subTest(flag, kind=number):
                    path, options = kind(text)
                    result = run(command, f"--{flag}={path}", **options)
                    self.assert_done(result)
                    self.assertTrue(was_read(result), result.stdout[:200])

    def fifo(self, text):
        path = self.path("fifo")
        if not path.exists():
            os.mkfifo(path)
        self.feed(path, text)
        return path, {}

    def of_command(self, text):
        """What a shell makes of <(cmd)."""
        read, write = os.pipe()
        os.write(write, text.encode())
        os.close(write)
        self.addCleanup(os.close, read)
        return f"/dev/fd/{read}", {"pass_fds": [read]}

    def link(self, text):
        self.path("text", text)
        if not self.path("link").exists():
            self.path("link").symlink_to("text")
        return self.path("link"), {}

    def test_of_each_kind_that_has_text(self):
        self.check([lambda text: (self.path("text", text), {}), self.link, self.fifo, self.of_command,
                    lambda text: ("/dev/stdin", {"input": text}), lambda text: ("-", {"input": text}),
                    lambda text: ("/proc/self/fd/0", {"input": text})])

    def test_from_where_standard_input_stands(self):
        for path in ("/dev/stdin", "-"):
            with open(self.path("text", "skipped" + PROMPT)) as file:
                os.lseek(file.fileno(), len("skipped"), os.SEEK_SET)
                result = run(TOKENIZE, f"--prompt_file={path}", stdin=file)
            self.assertEqual(json.loads(result.stdout)["tokens"], self.tokens)

    def test_of_a_terminal_and_of_a_socket(self):
        master, slave = pty.openpty()
        os.write(master, f"{PROMPT}\n\x04".encode())
        self.assertEqual(json.loads(run(TOKENIZE, f"--prompt_file={os.ttyname(slave)}").stdout)["tokens"], self.tokens)
        os.close(slave)
        os.close(master)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(PROMPT.encode())
            ours.shutdown(socket.SHUT_WR)
            self.assertEqual(json.loads(run(TOKENIZE, "--prompt_file=/dev/stdin", stdin=theirs).stdout)["tokens"], self.tokens)

    def test_of_a_pipe_that_does_not_block_its_reader(self):
        read, write = os.pipe()
        os.set_blocking(read, False)
        threading.Timer(0.3, lambda: (os.write(write, PROMPT.encode()), os.close(write))).start()
        for path in ("-",):
            self.assertEqual(json.loads(run(TOKENIZE, f"--prompt_file={path}", stdin=read).stdout)["tokens"], self.tokens)
        os.close(read)

    def test_an_empty_device_has_no_text(self):
        self.assertEqual(json.loads(run(TOKENIZE, "--prompt_file=/dev/null").stdout)["tokens"], [])
        self.assert_done(run(TOKENIZE, "--flagfile=/dev/null", "--prompt=the"))

    def test_a_device_without_end_is_refused_at_the_limit(self):
        self.assert_refused(run(TOKENIZE, "--flagfile=/dev/zero"), "/dev/zero: file size: found more, expected at most 1048576 bytes")

    def test_what_has_no_text_is_named(self):
        self.path("dangling").symlink_to("nowhere")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.path("socket")))
            for flag, command, _, _ in self.readers():
                for path, problem in ((self.folder, "found a directory"), (self.path("socket"), "found a socket"),
                                      (self.path("dangling"), "No such file"), (self.path("none"), "No such file"),
                                      ("/dev/fd/77", "Bad file descriptor")):
                    with self.subTest(flag, path=path):
                        result = run(command, f"--{flag}={path}")
                        self.assertIn(result.returncode, (1, 2))
                        self.assertIn(str(path), result.stderr)
                        self.assertIn(problem, result.stderr)


class FilesAreReadAtManyPlaces(Folder):
    """--model, --flash, --cost_profile and --data: regular files."""
    def test_a_model_through_links_and_as_standard_input(self):
        link = self.path("link")
        link.symlink_to(MODEL)
        self.assert_done(run(TOKENIZE[:1], f"--model={link}", "--prompt=the"))
        with open(MODEL) as file:
            self.assert_done(run(TOKENIZE[:1], "--model=/dev/stdin", "--prompt=the", stdin=file))

    def test_all_else_is_refused_without_waiting(self):
        os.mkfifo(self.path("fifo"))
        read, write = os.pipe()
        master, slave = pty.openpty()
        self.path("dangling").symlink_to("nowhere")
        kinds = [(self.path("fifo"), "a FIFO"), (f"/dev/fd/{read}", "a FIFO"), ("/dev/null", "a device"), (os.ttyname(slave), "a device"),
                 (self.folder, "a directory"), (self.path("dangling"), "No such file")]
        flags = [("model", TOKENIZE[:1] + ["--prompt=the"]), ("cost_profile", ANSWER), ("session", ANSWER),
                 ("flash", [*ANSWER, "--memory_budget=200MiB"])]
        for flag, command in flags:
            for path, found in kinds:
                if flag in ("cost_profile", "session") and found == "No such file":
                    continue  # It is made.
                with self.subTest(flag, path=path):
                    result = run(command, f"--{flag}={path}", pass_fds=[read])
                    self.assertIn(result.returncode, (1, 2))
                    self.assertIn("expected a file or one of" if (flag, found) == ("flash", "No such file") else found, result.stderr)
        for descriptor in (read, write, master, slave):
            os.close(descriptor)

    def test_a_cost_profile_is_made_but_not_over_a_log(self):
        answer = [*ANSWER, "--n_predict=40", "--prompt=a a a a a a a a"]
        link = self.path("link")
        link.symlink_to("costs")
        self.assert_done(run(answer, f"--cost_profile={link}"))
        self.assertTrue(link.is_symlink())
        costs = self.path("costs").read_bytes()
        self.assert_done(run(answer, f"--cost_profile={link}"))
        self.assertEqual(self.path("costs").read_bytes(), costs)
        log = self.path("log", EARLIER)
        for path in ("/dev/stdout", log):
            with open(log, "a") as file:
                self.assert_refused(run(answer, f"--cost_profile={path}", stdout=file), "--cost_profile: ")
        self.assertEqual(log.read_text(), EARLIER)
        self.assert_refused(run(answer, "--cost_profile=-"), "--cost_profile: found -")


    def test_a_session_is_made_and_written_again_but_not_over_a_log(self):
        link = self.path("link")
        link.symlink_to("kept")
        self.assert_done(run(ANSWER, f"--session={link}"))
        kept = self.path("kept").read_bytes()
        self.assert_done(run(ANSWER, f"--session={link}"))
        self.assertTrue(link.is_symlink())
        self.assertGreater(len(self.path("kept").read_bytes()), len(kept))
        log = self.path("log", EARLIER)
        for path in ("/dev/stdout", log):
            with open(log, "a") as file:
                self.assert_refused(run(ANSWER, f"--session={path}", stdout=file), "--session: ")
        self.assert_refused(run(ANSWER, f"--session={log}"), f"{log}: magic: ", code=1)
        self.assertEqual(log.read_text(), EARLIER)
        self.assert_refused(run(ANSWER, "--session=-"), "--session: found -")


class FilesOfARunDiffer(Folder):
    def setUp(self):
        super().setUp()
        self.model = self.path("m.gguf")
        self.model.write_bytes(MODEL.read_bytes())
        self.bytes = self.model.read_bytes()

    def names_of_the_model(self):
        link, hard = self.path("link"), self.path("hard")
        link.symlink_to("m.gguf")
        os.link(self.model, hard)
        return [self.model, link, hard, f"{self.folder}/./m.gguf"]

    def test_no_output_is_the_model_by_any_name(self):
        commands = [(ANSWER, "--trace"), (ANSWER, "--cost_profile"), (ROWS, "--plot"), (MAKERS["pack"][:1], "--out"),
                    (MAKERS["quantize"][:1] + ["--format=Q8_0"], "--out")]
        for path in self.names_of_the_model():
            for command, flag in commands:
                with self.subTest(flag, path=path):
                    result = run([word for word in command if word != f"--model={MODEL}"], f"--model={self.model}", f"{flag}={path}")
                    self.assert_refused(result, f"{flag}: {path}: found the model itself (--model), expected another file")
        self.assertEqual(self.model.read_bytes(), self.bytes)

    def test_nor_one_of_its_parts(self):
        parts = [self.path(f"m-0000{part}-of-00002.gguf", "a part") for part in (1, 2)]
        self.assert_refused(run(ANSWER, f"--model={parts[0]}", f"--trace={parts[1]}"), "found the model itself (--model)")
        self.assertEqual(parts[1].read_text(), "a part")

    def test_nor_is_standard_output_or_error(self):
        for to in ("stdout", "stderr"):
            with open(self.model, "ab") as file:
                result = run(ANSWER, f"--model={self.model}", **{to: file})
            self.assertEqual(result.returncode, 2)
            if to == "stdout":
                self.assertEqual(self.model.read_bytes(), self.bytes)
                self.assertIn("standard output: found ", result.stderr)

    def test_nor_do_they_go_to_costs_or_among_the_files_of_a_history(self):
        cache = {"env": {**os.environ, "TESSERA_CACHE": str(self.folder)}}
        costs = self.path("costs", (ROOT / "tests/data/speculation/flat_costs.json").read_text())
        flash = self.path("flash", "not read")
        self.assert_done(run(ANSWER, "--history=mail", **cache))
        kept = next((self.folder / "history").glob("mail-*.history"))
        link = self.path("link")
        link.symlink_to(kept)
        folder = f"--history: found {self.folder}/history, to a file of which"
        for flag, path, said in (("--history=mail", kept, folder), ("--history=other", link, folder),
                                 ("--history=mail", self.folder / "history/new", folder),
                                 (f"--cost_profile={costs}", costs, f"--cost_profile: found {costs}, to which"),
                                 (f"--flash={flash}", flash, f"--flash: found {flash}, to which")):
            for to, name in (("stdout", "standard output"), ("stderr", "standard error")):
                with self.subTest(flag, path=path, to=to), open(path, "ab") as file:
                    before = path.read_bytes()
                    result = run(ANSWER, flag, **cache, **{to: file})
                    self.assertEqual(result.returncode, 2)
                    if to == "stdout":
                        self.assertEqual(path.read_bytes(), before)
                    text = path.read_bytes()[len(before):].decode() if to == "stderr" else result.stderr
                    self.assertIn(f"{said} {name} goes, expected another file", text)
        descriptor = os.open(kept, os.O_WRONLY | os.O_APPEND)
        self.addCleanup(os.close, descriptor)
        self.assert_refused(run(ANSWER, "--history=mail", f"--trace=/dev/fd/{descriptor}", pass_fds=[descriptor], **cache),
                            f"--trace: /dev/fd/{descriptor}: found a file in the folder of --history")

    def test_a_story_may_be_continued_in_its_file(self):
        story = self.path("story", PROMPT)
        with open(story, "a") as file:
            self.assert_done(run([*ANSWER[:2], *ANSWER[3:]], f"--prompt_file={story}", stdout=file))
        self.assertTrue(story.read_text().startswith(PROMPT) and len(story.read_text()) > len(PROMPT))

    def test_no_output_is_another_input(self):
        prompt = self.path("prompt", PROMPT)
        flags = self.path("flags", "--seed=1\n")
        self.assert_refused(run(ANSWER[:2], f"--prompt_file={prompt}", f"--trace={prompt}"), "found the file of --prompt_file")
        self.assert_refused(run(ANSWER, f"--flagfile={flags}", f"--trace={flags}"), "found the file of --flagfile")
        self.assertEqual(prompt.read_text(), PROMPT)
        data = self.folder / "data"
        data.mkdir()
        text = data / "gsm8k_test.jsonl"
        text.write_text("{}")
        self.assert_refused(run(GAINS, f"--data={data}", f"--plot={text}"), "found a file in the folder of --data")

    def test_two_outputs_are_not_one_file(self):
        link = self.path("link")
        link.symlink_to("t")
        for other in (self.path("t"), link, f"{self.folder}/./t"):
            self.assert_refused(run(ANSWER, f"--trace={self.path('t')}", f"--cost_profile={other}"), "found the file of --")
        self.assertFalse(self.path("t").exists())

    def test_a_dialogue_does_not_answer_its_own_answers(self):
        log = self.path("log", '{"id": 1, "text": "the", "n": 1}\n')
        with open(log) as source, open(log, "a") as sink:
            result = run([BIN / "tessera_generate", f"--model={MODEL}", "--jsonl"], stdin=source, stdout=sink)
        self.assert_refused(result, "standard output: found what standard input reads")


class TheTable(unittest.TestCase):
    def test_has_every_flag_that_names_a_file(self):
        text = (ROOT / "docs/files_in_and_out.md").read_text()
        flags = {"--flash"}
        for program in sorted([*ROOT.glob("apps/*.cc"), *ROOT.glob("apps/bench/*.cc"), *ROOT.glob("apps/lab/*.cc")]):
            names = [[f"tessera_{program.stem}"]]
            helped = json.loads(run([BIN / names[0][0]], "--help", "--json").stdout)
            names += [[names[0][0], command["name"]] for command in helped.get("subcommands", [])]
            for name in names:
                for group in json.loads(run([BIN / name[0], *name[1:]], "--help", "--json").stdout)["groups"]:
                    flags |= {f"--{flag['name']}" for flag in group["flags"] if flag["placeholder"] in ("FILE", "FOLDER")}
        for flag in sorted(flags):
            self.assertIn(f"`{flag}`", text)


if __name__ == "__main__":
    unittest.main()
