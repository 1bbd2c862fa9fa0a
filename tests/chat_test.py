"""Tests of tessera_generate --chat as a person sees it: tmux is the terminal. They use the default model.

    python3 tests/chat_test.py -v
"""
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATE = str(ROOT / "build/bin/tessera_generate")
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"   # The default model's file.
FLAGS = ["--threads=1", "--context=512", "--temperature=0", "--n_predict=12"]
PATIENCE = 60  # Seconds until something that does not come is missing.
SETTINGS = """set -g remain-on-exit on
set -g status off
set -g history-limit 2000
set -g default-terminal screen-256color
"""
RUN = 'trap : INT; "$@"; echo "exit code $?"'   # Ctrl-C is for the program, not for this shell.


class Terminal:
    """A program in a window of tmux: keys go in, and what a person sees comes out."""
    def __init__(self, command, columns=70, environment=()):
        self.folder = tempfile.mkdtemp()
        Path(f"{self.folder}/settings").write_text(SETTINGS)
        os.mkfifo(f"{self.folder}/changes")
        self.changes = os.open(f"{self.folder}/changes", os.O_RDWR | os.O_NONBLOCK)
        self.tmux("-f", f"{self.folder}/settings", "new-session", "-d", "-x", str(columns), "-y", "60",
                  "env", "-u", "NO_COLOR", *environment, "sh", "-c", RUN, "sh", *command)
        self.tmux("pipe-pane", f"exec cat > {self.folder}/changes")   # Says when the screen may have changed.

    def tmux(self, *arguments):
        command = ["tmux", "-u", "-S", f"{self.folder}/socket", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def lines(self, *flags):
        """The window's lines down to the last that is not empty, with those above its upper edge."""
        return self.tmux("capture-pane", "-p", "-S", "-", *flags).rstrip("\n ").split("\n")

    def wait_until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition(lines := self.lines()):
            if not select.select([self.changes], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("the window never shows it:\n" + "\n".join(lines))
            os.read(self.changes, 1 << 20)
        return lines

    def wait_for(self, text):
        return self.wait_until(lambda lines: any(text in line for line in lines))

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.press("Enter")

    def ready(self, sign=">"):
        return self.wait_until(lambda lines: lines[-1].rstrip() == sign)

    def ask(self, line, sign=">"):
        """Types a line; what the window shows between it and the next prompt."""
        shown = f"{self.ready_sign} {line}".rstrip()
        before = self.ready(self.ready_sign).count(shown)
        self.type(line)
        lines = self.wait_until(lambda lines: lines.count(shown) > before and lines[-1].rstrip() == sign)
        self.ready_sign = sign
        return lines[len(lines) - lines[::-1].index(shown):-1]

    def say(self, line):
        """The same as one line."""
        return " ".join(self.ask(line))

    ready_sign = ">"

    def close(self):
        subprocess.run(["tmux", "-S", f"{self.folder}/socket", "kill-server"], capture_output=True, check=False)
        os.close(self.changes)
        shutil.rmtree(self.folder)


class ChatTest(unittest.TestCase):
    def start(self, *flags, **options):
        terminal = Terminal([GENERATE, "--chat", *FLAGS, *flags], **options)
        self.addCleanup(terminal.close)
        return terminal

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Path(folder.name)

    def generate(self, *flags, lines=""):
        """What a pipe gets."""
        return subprocess.run([GENERATE, *FLAGS, *flags], input=lines, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

    def in_pipe(self, *lines, flags=()):
        return self.generate("--chat", *flags, lines="".join(line + "\n" for line in lines))

    def end(self, terminal):
        terminal.ready()
        terminal.type("/exit")
        terminal.wait_for("exit code 0")

    def assert_answer(self, lines, text):
        """The words of the answer, with or without the mark of a stopped one behind them."""
        if lines[-1].startswith("[stopped at "):
            lines = lines[:-1]
        self.assertEqual(" ".join(lines).split(), text.split())

    def test_model_context_and_seed_are_shown_first(self):
        lines = self.start("--seed=71").ready()
        self.assertEqual(lines[0], f"model {MODEL} | context 512 tokens | seed 71")
        self.assertEqual(" ".join(lines[1:]), "/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends the dialogue. >")

    def test_answers_are_wrapped_at_words(self):
        question = "Tell a story about a dog."
        whole = self.in_pipe(question, flags=["--n_predict=120"])
        terminal = self.start("--n_predict=120")
        for columns in (70, 36):
            terminal.tmux("resize-window", "-x", str(columns))   # The next answer has the width that the window has by then.
            terminal.ask("/reset")
            answer = terminal.ask(question)
            self.assertEqual(answer.pop(), "[stopped at 120 tokens]")
            self.assert_answer(answer, whole)
            self.assertGreater(len(answer), len(whole) // columns)
            whole_lines = [line.rstrip() for line in terminal.lines("-J")]
            self.assertEqual(whole_lines[-len(answer) - 2:-2], answer, "the terminal itself broke a line")
        self.end(terminal)

    def test_questions_and_answers_differ_in_colour(self):
        terminal = self.start()
        answer = terminal.ask("What is the capital of France?")
        coloured = "\n".join(terminal.lines("-e"))
        self.assertIn("\x1b[36m" + answer[0].split()[0], coloured)
        self.assertRegex(coloured, r"\x1b\[(0;)?1m[^>\n]*>\x1b")   # The sign is bold, and nothing behind it.

    def test_no_colour_where_it_is_not_wanted_or_not_there(self):
        for variable in ("NO_COLOR=1", "TERM=dumb"):
            terminal = self.start(environment=[variable])
            self.assertTrue(terminal.ask("What is the capital of France?"))
            self.assertNotIn("\x1b", "\n".join(terminal.lines("-e")), variable)

    def test_an_answer_that_was_stopped_is_marked(self):
        terminal = self.start("--context=64", "--n_predict=5")
        self.assertEqual(terminal.ask("Tell a story.")[-1], "[stopped at 5 tokens]")
        terminal.ask("/set n_predict 0")
        self.assertTrue(terminal.say("Tell a longer story.").endswith(
            "[stopped: the context of 64 tokens is full; /reset begins a new dialogue]"))
        self.assertNotIn("[stopped", self.start("--n_predict=200", "--stop=.").say("Tell a story."))

    def test_ctrl_c_stops_the_answer_alone(self):
        terminal = self.start("--n_predict=0", "--context=8192")
        terminal.ready()
        terminal.type("Write the longest story that you can about a dog.")
        terminal.wait_until(lambda lines: len(lines) > 6)   # The answer has begun.
        terminal.press("C-c")
        terminal.wait_for("[stopped]")
        terminal.ask("/set n_predict 2")
        self.assertEqual(terminal.ask("Go on.")[-1], "[stopped at 2 tokens]")
        self.end(terminal)

    def test_help_lists_every_command(self):
        shown = "\n".join(self.start().ask("/help"))
        for command in ("/help", "/system", "/set", "/retry", "/reset", "/save", "/load", "/stats", "/exit", '"""'):
            self.assertRegex(shown, rf"(?m)^{re.escape(command)} ")

    def test_an_unknown_command_is_an_error_and_no_message(self):
        terminal = self.start()
        self.assertEqual(terminal.say("/retyr"), 'found the command "/retyr", expected one of /help; did you mean /retry?')
        self.assertEqual(terminal.say("/exit now"), '/exit: found "now", expected nothing behind it')
        self.assertTrue(terminal.say("/stats").startswith("prompt 0 tok | 0 tok"))
        self.assert_answer(terminal.ask(" /retyr"), self.in_pipe(" /retyr"))   # After a blank it is text.
        self.end(terminal)

    def test_quotes_begin_and_end_a_message_of_several_lines(self):
        terminal = self.start()
        self.assertEqual(terminal.ask('"""Name a fruit', sign="."), [])
        self.assertEqual(terminal.ask("/exit", sign="."), [])
        answer = terminal.ask('that is red."""')
        expected = self.generate("--prompt=Name a fruit\n/exit\nthat is red.")
        self.assert_answer(answer, expected)
        terminal.ask('"""never sent', sign=".")
        terminal.press("C-c")
        terminal.ready_sign = ">"
        self.assertIn(" 2 messages", terminal.say("/stats"))

    def test_an_end_of_input_within_quotes_is_an_error(self):
        terminal = self.start()
        terminal.ask('"""never sent', sign=".")
        terminal.press("C-d")
        terminal.wait_for('found no """ at the end of the message')
        terminal.ready_sign = ">"
        self.assertIn(" 0 messages", terminal.say("/stats"))
        self.end(terminal)
        ended = self.start()
        ended.ask('"""never sent', sign=".")
        ended.press("C-d")
        ended.ready(">")
        ended.press("C-d")   # As an input that has ended for good.
        ended.wait_for("exit code 1")

    def test_system_sets_the_message(self):
        terminal = self.start("--system=You are a cat.")
        self.assertEqual(terminal.say("/system"), "system message: You are a cat.")
        terminal.ask("/system You are a pirate.")
        expected = self.in_pipe("Who are you?", flags=["--system=You are a pirate."])
        self.assert_answer(terminal.ask("Who are you?"), expected)

    def test_set_changes_the_next_answer(self):
        terminal = self.start()
        self.assertIn("temperature 0, top_k 40,", terminal.say("/set"))
        self.assertIn("n_predict 3", terminal.say("/set n_predict 3"))
        self.assertEqual(terminal.ask("Tell a story.")[-1], "[stopped at 3 tokens]")
        self.assertEqual(terminal.say("/set temperature hot"), 'temperature: found "hot", expected a number')
        self.assertIn("seed 5,", terminal.say("/set seed 5"))
        self.assertIn("temperature 0,", terminal.say("/set"))
        terminal.ask("/set top_k 3")
        self.assertRegex(terminal.say("/stats"), r"top_k 3 \(set\).*; seed 5")

    def test_retry_gives_another_answer_to_the_same_message(self):
        terminal = self.start("--temperature=1.5", "--seed=3")
        self.assertEqual(terminal.say("/retry"), "/retry: found no answer, expected one to replace")
        first = terminal.ask("Tell a story.")
        second, third = terminal.ask("/retry"), terminal.ask("/retry")
        self.assertEqual(len({" ".join(answer) for answer in (first, second, third)}), 3)
        self.assertIn(" 2 messages", terminal.say("/stats"))
        terminal.ask("/set temperature 0")
        terminal.ask("/retry")
        greedy = terminal.ask("/retry")
        note = "At temperature 0 the answer stays the same; /set temperature 0.7 changes this."
        self.assertTrue(" ".join(greedy).startswith(note), greedy)
        self.assert_answer(greedy[2:], self.in_pipe("Tell a story."))

    def test_a_retry_that_fails_leaves_the_answer(self):
        terminal = self.start("--context=64")
        terminal.ask("Name a city.")
        terminal.ask("/system " + "1234567890" * 5 + "12345678")   # Now the dialogue is longer than the context: a token is a digit.
        self.assertIn("/reset begins a new dialogue", terminal.say("/retry"))
        self.assertIn(" 3 messages", terminal.say("/stats"))
        terminal.ask("/system You are a cat.")
        terminal.ask("/retry")
        self.assertIn(" 3 messages", terminal.say("/stats"))
        self.end(terminal)

    def test_save_and_load_continue_the_dialogue(self):
        saved = self.folder() / "trip"
        first, second = "Name a city.", "Name another."
        both = self.in_pipe(first, second)
        terminal = self.start()
        self.assertEqual(terminal.say(f"/load {saved}"), f"{saved}: cannot open: No such file or directory")
        terminal.ask(first)
        self.assertIn(f"Saved. /load {saved}", terminal.say(f"/save {saved}"))
        self.end(terminal)
        loaded = self.start("--system=You are a cat.")
        self.assertRegex(loaded.say(f"/load {saved}"), r"^Loaded: 1 answer, \d+ tokens\.$")
        answer = loaded.ask(second)
        self.assert_answer(answer, both[len(self.in_pipe(first)):])
        session = self.start(f"--session={saved}")
        self.assertEqual(session.ask(second), answer)
        self.assertIn("found the file of --session", session.say(f"/save {saved}"))
        self.end(session)   # It writes its file before the folder goes.

    def test_save_replaces_no_file_of_another_kind(self):
        notes = self.folder() / "notes"
        notes.write_text("mine")
        terminal = self.start()
        self.assertEqual(terminal.say(f"/save {notes}"), f"{notes}: found a file that is no session, expected one, or no file")
        self.assertEqual(terminal.say("/save"), "/save: found no file, expected a file to write")
        self.assertEqual(notes.read_text(), "mine")
        self.assertEqual(sorted(notes.parent.iterdir()), [notes])

    def test_reset_and_stats(self):
        terminal = self.start()
        first = terminal.ask("Name a city.")
        self.assertRegex(terminal.say("/stats"), r"prompt \d+ tok .*\| 12 tok .* 2 messages")
        self.assertEqual(terminal.say("/reset"), "The dialogue is forgotten.")
        self.assertIn(" 0 of 512 tokens, 0 messages", terminal.say("/stats"))
        self.assertEqual(terminal.ask("Name a city."), first)

    def test_a_pipe_gets_the_answers_alone(self):
        with_commands = self.in_pipe("Name a city.", "/help", '"""', "/reset", "Name a city.", "/exit", "never read")
        first = self.in_pipe("Name a city.")
        self.assertNotIn("\x1b", with_commands)
        self.assertTrue(with_commands.startswith(first) and with_commands.endswith(first))
        self.assertEqual(with_commands, self.in_pipe("Name a city.", "/help", '"""') + first)


if __name__ == "__main__":
    unittest.main()
