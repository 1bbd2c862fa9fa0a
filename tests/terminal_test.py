"""Tests of a dialogue at a terminal: long lines, editing, history, stops, and the terminal as it was afterwards.

    python3 tests/terminal_test.py -v
"""
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import termios
import unittest
from pathlib import Path

from patience import PATIENCE, all_asleep, await_that, times_asleep

ROOT = Path(__file__).resolve().parent.parent
GENERATE = str(ROOT / "build/bin/tessera_generate")
FLAGS = [f"--model={ROOT}/tests/golden/tiny/llama.gguf", "--threads=1", "--temperature=0", "--n_predict=4", "--context=256", "--chat",
         "--chat_template=none"]


def without_times(answers):
    return re.sub(r',"seconds":\{[^}]*\}', "", answers)


class Dialogue:
    """tessera_generate --chat at a terminal of its own; its answers go to a pipe."""
    def __init__(self, terminal, command, prepare=lambda slave: None):
        self.master, slave = os.openpty()
        self.slave = slave
        prepare(slave)
        self.before = termios.tcgetattr(slave)
        self.seen = b""
        self.read = 0     # What wait_for has gone past.

        def take_terminal():
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # They may be ignored by what started the tests, as by nohup.
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(command, stdin=slave, stderr=slave, stdout=subprocess.PIPE,
                                        preexec_fn=take_terminal, env={**os.environ, "TERM": terminal, "NO_COLOR": "1"})

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def wait_for(self, text):
        """Waits until the terminal shows it, after what was waited for before."""
        while (at := self.seen.find(text, self.read)) < 0:
            if not select.select([self.master], [], [], PATIENCE)[0]:
                raise AssertionError(f"{text} is not in {self.seen[self.read:]}")
            self.seen += os.read(self.master, 1 << 16)
        self.read = at + len(text)

    def feed(self, text):
        """Types a long text, and takes what the terminal shows meanwhile, for which it has little room."""
        rest = text.encode()
        while rest:
            readable, writable, _ = select.select([self.master], [self.master], [], PATIENCE)
            if readable:
                self.seen += os.read(self.master, 1 << 16)
            if writable:
                rest = rest[os.write(self.master, rest[:256]):]
            if not readable and not writable:
                raise AssertionError(f"nothing takes {rest[:100]}")

    def takes_bytes(self):
        return termios.tcgetattr(self.slave)[3] & termios.ICANON == 0

    def is_raw(self):
        return termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO) == 0

    def modes(self):
        return termios.tcgetattr(self.slave)

    def end(self):
        """Its output and exit code."""
        output = self.process.communicate(timeout=PATIENCE)[0]
        return output.decode(), self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.process.stdout.close()
        os.close(self.master)
        os.close(self.slave)


class TerminalTest(unittest.TestCase):
    def start(self, terminal="xterm", command=(GENERATE, *FLAGS)):
        dialogue = Dialogue(terminal, command)
        self.addCleanup(dialogue.close)
        return dialogue

    def answers(self, *lines):
        """What the same dialogue gives through a pipe."""
        text = "".join(line + "\n" for line in lines)
        return subprocess.run([GENERATE, *FLAGS], input=text, capture_output=True, text=True).stdout

    def tokens(self, text):
        tokenize = [str(ROOT / "build/bin/tessera_tokenize"), FLAGS[0], "--json"]
        return len(json.loads(subprocess.run(tokenize, input=text, capture_output=True, text=True).stdout)["tokens"])

    def test_a_line_of_any_length_reaches_the_model_whole(self):
        for terminal in ("xterm", "dumb"):
            dialogue = self.start(terminal)
            await_that(dialogue.is_raw)
            dialogue.type("word " * 1600 + "\n")  # Perhaps before the first prompt: what is typed while a model loads is not lost, either.
            dialogue.wait_for(b"prompt: found ")
            dialogue.wait_for(b" ")
            tokens = int(re.search(rb"prompt: found (\d+) tokens", dialogue.seen).group(1))
            self.assertEqual(tokens, self.tokens("word " * 1600), terminal)
            dialogue.type("/exit\n")
            self.assertEqual(dialogue.end(), ("", 0))

    def typed_at(self, command, keys, shows=True):
        """The output of a program for what is typed at its terminal, which shows it or not."""
        def prepare(slave):
            modes = termios.tcgetattr(slave)
            modes[3] &= -1 if shows else ~termios.ECHO
            termios.tcsetattr(slave, termios.TCSANOW, modes)
        dialogue = Dialogue("dumb", [str(part) for part in command], prepare)
        self.addCleanup(dialogue.close)
        await_that(lambda: dialogue.takes_bytes() or dialogue.process.poll() is not None)
        dialogue.feed(keys)
        output, code = dialogue.end()
        self.assertEqual(code, 0, dialogue.seen)
        self.assertEqual(dialogue.modes(), dialogue.before)
        return output

    def test_lines_of_any_length_are_read_whole_wherever_text_is_read(self):
        text = "word " * 1600
        tokenize = [ROOT / "build/bin/tessera_tokenize", FLAGS[0]]
        request = json.dumps({"id": 1, "text": text}) + "\n"
        verify = [ROOT / "build/bin/tessera_verify", FLAGS[0], "--threads=1", "--n_predict=1", "--raw", "--context=8192",
                  "--b=kernels=portable"]
        generate = [GENERATE, FLAGS[0], "--threads=1", "--context=8192", "--jsonl", "--temperature=0"]
        programs = (([*tokenize, "--json", "--prompt_file=-"], text + "\n"),
                    ([*tokenize, "--json", "--prompt_file=/dev/stdin"], text + "\n"), ([*tokenize, "--jsonl"], request),
                    (generate, request.replace('"text"', '"n": 1, "text"')))
        for command, lines in programs:
            whole = subprocess.run([str(part) for part in command], input=lines, capture_output=True, text=True)
            self.assertEqual(whole.returncode, 0, whole.stderr)
            for keys in (lines + "\x04", lines.rstrip("\n") + "\x04\x04"):
                for shows in (True, False):
                    with self.subTest(command[1:], keys=keys[-3:], shows=shows):
                        self.assertEqual(without_times(self.typed_at(command, keys, shows)), without_times(whole.stdout))
        self.assertIn("1 prompt", self.typed_at([*verify, "--prompts=-"], text + "\n\x04"))

    def test_a_line_that_a_terminal_cuts_is_an_error(self):
        dialogue = self.start(command=(GENERATE, *FLAGS, "--flagfile=/dev/tty"))
        await_that(lambda: all_asleep(dialogue.process.pid))  # The program waits for a line.
        dialogue.feed("--prompt=" + "word " * 1600 + "\n\x04")
        dialogue.wait_for(b"/dev/tty: found a line of 4095 bytes or more")
        self.assertEqual(dialogue.end()[1], 2)

    def test_lines_are_edited(self):
        dialogue = self.start()
        dialogue.wait_for(b"> ")
        dialogue.type("théx\x7f \tin\x01\x0b" + "größe 中\x02\x02\x1b[C\x05x\x7f\n")  # All is erased but the last words.
        self.assertEqual(self.answers("größe 中"), self.finish(dialogue))

    def finish(self, dialogue):
        dialogue.wait_for(b"> ")
        dialogue.type("/exit\n")
        output, code = dialogue.end()
        self.assertEqual(code, 0)
        return output

    def test_earlier_lines_come_back(self):
        dialogue = self.start()
        for text in ("the in\n", "\x1b[A\n", "\x1b[A\x1b[A\x1b[B\n"):
            dialogue.wait_for(b"> ")
            dialogue.type(text)
        self.assertEqual(self.answers("the in", "the in", "the in"), self.finish(dialogue))

    def test_the_line_is_drawn_again_when_the_program_goes_on(self):
        dialogue = self.start()
        dialogue.wait_for(b"> ")
        dialogue.type("hello")
        dialogue.wait_for(b"hello")
        os.kill(dialogue.process.pid, signal.SIGSTOP)
        os.waitpid(dialogue.process.pid, os.WUNTRACED)
        termios.tcsetattr(dialogue.slave, termios.TCSANOW, dialogue.before)  # As a shell does.
        os.kill(dialogue.process.pid, signal.SIGCONT)
        dialogue.wait_for(b"> hello")
        self.assertTrue(dialogue.is_raw())
        dialogue.type("\n")
        self.assertEqual(self.answers("hello"), self.finish(dialogue))

    def test_a_dialogue_draws_a_seed_and_shows_it(self):
        sampled = [GENERATE, *(flag for flag in FLAGS if not flag.startswith("--temperature"))]
        drawn = self.start(command=sampled)
        drawn.wait_for(b"The seed is ")
        drawn.wait_for(b"> ")
        seed = re.search(rb"The seed is (\d+); --seed=\1 repeats this run\.", drawn.seen)[1].decode()
        drawn.type("hello\n")
        answers = self.finish(drawn)
        repeated = self.start(command=[*sampled, f"--seed={seed}"])
        repeated.wait_for(b"> ")
        self.assertNotIn(b"The seed is", repeated.seen)
        repeated.type("hello\n")
        self.assertEqual(self.finish(repeated), answers)

    def test_a_dialogue_from_a_pipe_has_seed_0(self):
        sampled = [GENERATE, *(flag for flag in FLAGS if not flag.startswith("--temperature"))]
        run = lambda *more: subprocess.run([*sampled, *more], input=b"hello\n", capture_output=True)
        piped = run()
        self.assertNotIn(b"The seed is", piped.stderr)
        self.assertEqual(run("--seed=0").stdout, piped.stdout)

    def test_the_terminal_is_as_before_in_the_end(self):
        def leave(dialogue):
            dialogue.type("/exit\n")

        def interrupt(dialogue):
            dialogue.type("\x03")
            dialogue.wait_for(b"ends the program.")
            dialogue.wait_for(b"> ")
            dialogue.type("\x03")

        for end, code in ((leave, 0), (lambda d: d.type("\x04"), 0), (interrupt, -signal.SIGINT),
                          (lambda d: d.process.send_signal(signal.SIGTERM), -signal.SIGTERM)):
            dialogue = self.start()
            dialogue.wait_for(b"> ")
            self.assertTrue(dialogue.is_raw())
            end(dialogue)
            self.assertEqual(dialogue.end()[1], code)
            self.assertEqual(dialogue.modes(), dialogue.before)

    def test_a_shell_stops_it_and_wakes_it(self):
        shell = self.start(command=("bash", "--norc", "--noprofile", "--noediting", "-i"))
        shell.type(" ".join((GENERATE, *FLAGS)) + "\n")
        shell.wait_for(b"--chat_template=none")
        shell.wait_for(b"> ")
        shell.type("hello")
        shell.wait_for(b"hello")
        shell.type("\x1a")
        shell.wait_for(b"Stopped")
        shell.wait_for(b"bash-")  # Its prompt: what is typed before it has the terminal again may be lost.
        shell.type("fg\n")
        shell.wait_for(b"> hello")
        shell.type("\n")
        shell.wait_for(b"> ")
        shell.type("/exit\n")
        shell.wait_for(b"MiB")   # The summary.
        shell.wait_for(b"bash-")
        shell.type("exit\n")
        output, code = shell.end()  # What fg prints comes first.
        self.assertEqual((output.endswith("\n" + self.answers("hello")), code), (True, 0), output)

    def test_a_stop_that_nothing_could_end_is_passed_over(self):
        dialogue = self.start()  # In a session of its own: no shell could wake it.
        dialogue.wait_for(b"> ")
        dialogue.type("hel")
        dialogue.wait_for(b"hel")
        pid = dialogue.process.pid
        await_that(lambda: all_asleep(pid))
        before = times_asleep(pid)
        dialogue.type("\x1a")
        await_that(lambda: times_asleep(pid) > before and all_asleep(pid))  # The system drops what comes before it has made the signal.
        dialogue.type("lo\n")
        self.assertEqual(self.answers("hello"), self.finish(dialogue))


if __name__ == "__main__":
    unittest.main()
