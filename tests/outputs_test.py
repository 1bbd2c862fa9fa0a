"""Tests of docs/files_in_and_out.md: each kind of path, written.

    python3 tests/outputs_test.py -v
"""
import contextlib
import json
import os
import pty
import socket
import threading
import unittest
from pathlib import Path
from path_kinds import ANSWER, BIN, EARLIER, GAINS, MAKERS, ROWS, Folder, obey_permissions, pipe_without_reader, run


class TextIsWritten(Folder):
    """--trace and --plot."""
    def trace(self, path, **options):
        return run(ANSWER, f"--trace={path}", **options)

    def assert_trace(self, text):
        self.assertIn("traceEvents", json.loads(text))

    def test_to_a_new_file(self):
        self.assert_done(self.trace(self.path("t")))
        self.assert_trace(self.path("t").read_text())

    def test_to_a_file_that_is_replaced_and_keeps_its_mode(self):
        old = self.path("t", EARLIER)
        old.chmod(0o640)
        number = old.stat().st_ino
        self.assert_done(self.trace(old))
        self.assert_trace(old.read_text())
        self.assertNotEqual(old.stat().st_ino, number)
        self.assertEqual(old.stat().st_mode & 0o777, 0o640)
        self.assert_no_temporary()

    def test_to_the_target_of_a_link_which_stays(self):
        (self.folder / "there").mkdir()
        target = self.path("there/t", EARLIER)
        link, second = self.path("link"), self.path("second")
        link.symlink_to("there/t")
        second.symlink_to("link")
        self.assert_done(self.trace(second))
        self.assertTrue(link.is_symlink() and second.is_symlink())
        self.assert_trace(target.read_text())

    def test_to_what_a_dangling_link_names(self):
        link = self.path("link")
        link.symlink_to("new")
        self.assert_done(self.trace(link))
        self.assertTrue(link.is_symlink())
        self.assert_trace(self.path("new").read_text())

    def test_links_in_a_ring_are_refused(self):
        self.path("a").symlink_to("b")
        self.path("b").symlink_to("a")
        self.assert_refused(self.trace(self.path("a")), "--trace: ", "links one after another")

    def test_to_one_name_of_a_file_and_the_other_keeps_the_old_text(self):
        old = self.path("t", EARLIER)
        os.link(old, self.path("other"))
        self.assert_done(self.trace(old))
        self.assert_trace(old.read_text())
        self.assertEqual(self.path("other").read_text(), EARLIER)

    def log_after(self, path_of, to="stdout", mode="a"):
        """The log after a run to which standard output or error goes, and whose trace goes to path_of(log)."""
        log = self.path("log", EARLIER)
        link = self.path("link_to_log")
        link.symlink_to("log")
        with open(log, mode) as file:
            if mode == "w":
                file.write(EARLIER)
                file.flush()
            number = log.stat().st_ino
            self.assert_done(self.trace(path_of(log, link), **{to: file}))
        self.assertEqual(log.stat().st_ino, number)
        return log.read_text()

    def test_to_the_log_to_which_standard_output_goes_which_keeps_its_lines(self):
        alone = run(ANSWER).stdout
        for path_of in (lambda log, link: "/dev/stdout", lambda log, link: "/dev/fd/1", lambda log, link: "/proc/self/fd/1",
                        lambda log, link: "-", lambda log, link: log, lambda log, link: link, lambda log, link: "/proc/thread-self/fd/1",
                        lambda log, link: "/dev/../dev/stdout"):
            for mode in ("a", "w"):
                with self.subTest(path_of(Path("log"), Path("link")), mode=mode):
                    text = self.log_after(path_of, mode=mode)
                    self.assertTrue(text.startswith(EARLIER + alone), text[:200])
                    self.assert_trace(text[len(EARLIER + alone):])
                    self.path("link_to_log").unlink()

    def test_to_the_log_to_which_standard_error_goes(self):
        for path in ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"):
            with self.subTest(path):
                text = self.log_after(lambda log, link: path, to="stderr")
                self.assertTrue(text.startswith(EARLIER), text[:200])
                self.assert_trace(text[text.index('{"traceEvents'):].splitlines()[0])
                self.path("link_to_log").unlink()

    def test_to_a_file_that_a_shell_has_opened(self):
        log = self.path("log", EARLIER)
        with open(log, "a") as file:
            descriptor = file.fileno()
            for path in (f"/dev/fd/{descriptor}", f"/proc/self/fd/{descriptor}", log):
                self.assert_done(self.trace(path, pass_fds=[descriptor]))
        lines = log.read_text().replace("}{", "}\n{").splitlines()
        self.assertEqual(lines[0] + "\n", EARLIER)
        self.assertEqual(len(lines), 4)
        for line in lines[1:]:
            self.assert_trace(line)

    def test_to_a_file_that_a_shell_has_opened_for_reading_and_writing(self):
        log = self.path("log", EARLIER)
        for opened in (os.O_RDWR, os.O_WRONLY):
            for name in ("/dev/fd/{}", "/proc/self/fd/{}", str(log)):
                log.write_text(EARLIER)
                descriptor = os.open(log, opened)  # 3<>log: it stands at the first byte.
                self.addCleanup(os.close, descriptor)
                number = log.stat().st_ino
                self.assert_done(self.trace(name.format(descriptor), pass_fds=[descriptor]))
                self.assertEqual((log.read_text()[:len(EARLIER)], log.stat().st_ino), (EARLIER, number))
                self.assert_trace(log.read_text()[len(EARLIER):])

    def test_to_a_file_that_another_process_has_open(self):
        log = self.path("log", EARLIER)
        with open(log, "a") as file:
            self.assert_done(self.trace(f"/proc/{os.getpid()}/fd/{file.fileno()}"))
        text = log.read_text()
        self.assertTrue(text.startswith(EARLIER))
        self.assert_trace(text[len(EARLIER):])

    def test_a_descriptor_that_is_not_open_or_only_read_is_refused(self):
        self.assert_refused(self.trace("/dev/fd/77"), "--trace: /dev/fd/77: ", "Bad file descriptor")
        with open("/dev/null") as file:
            self.assert_refused(self.trace("/dev/stdin", stdin=file), "--trace: /dev/stdin: ", "not for writing")
        with open(self.path("in", EARLIER)) as file:
            self.assert_refused(self.trace("/dev/stdin", stdin=file), "--trace: /dev/stdin: ")
            self.assert_refused(self.trace(self.path("in"), stdin=file), "what standard input reads")
        self.assertEqual(self.path("in").read_text(), EARLIER)

    def test_to_a_fifo_and_to_a_command(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        texts, thread = self.drain(fifo)
        self.assert_done(self.trace(fifo))
        thread.join(20)
        self.assert_trace(texts[0])
        read, write = os.pipe()  # What a shell makes of >(cmd).
        with os.fdopen(read) as reader:
            texts, thread = [], threading.Thread(target=lambda: texts.append(reader.read()), daemon=True)
            thread.start()
            result = self.trace(f"/dev/fd/{write}", pass_fds=[write])
            os.close(write)
            thread.join(20)
        self.assert_done(result)
        self.assert_trace(texts[0])

    def test_a_command_that_reads_none_of_it_is_an_error(self):
        write = pipe_without_reader()
        result = self.trace(f"/dev/fd/{write}", pass_fds=[write])
        os.close(write)
        self.assert_refused(result, f"/dev/fd/{write}: cannot write", "Broken pipe", code=1)

    def test_to_devices(self):
        self.assert_done(self.trace("/dev/null"))
        self.assertTrue(Path("/dev/null").is_char_device())
        self.assert_refused(self.trace("/dev/full"), "/dev/full: cannot write: No space", code=1)

    def test_to_a_terminal(self):
        master, slave = pty.openpty()
        seen = []

        def read():
            with contextlib.suppress(OSError):  # Nobody has the other side open any more.
                while text := os.read(master, 1 << 16):
                    seen.append(text)
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        result = self.trace(os.ttyname(slave))
        os.close(slave)
        reader.join(20)
        os.close(master)
        self.assert_done(result)
        self.assert_trace(b"".join(seen))

    def test_to_no_folder_no_socket_and_no_missing_folder(self):
        self.assert_refused(self.trace(self.folder), "--trace: ", "found a directory")
        self.assert_refused(self.trace(f"{self.folder}/"), "--trace: ", "found a directory")
        self.assert_refused(self.trace(f"{self.folder}/none/"), "--trace: ")
        self.assert_refused(self.trace(f"{self.folder}/none/t"), "--trace: ", "No such file")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.path("socket")))
            self.assert_refused(self.trace(self.path("socket")), "--trace: ", "found a socket")

    def test_to_standard_output_that_is_a_socket(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            result = self.trace("/dev/stdout", stdout=theirs)
            theirs.close()
            text = b""
            while more := ours.recv(1 << 16):
                text += more
        self.assert_done(result)
        self.assertIn(b"traceEvents", text)

    def test_without_permission_it_is_refused_before_the_work(self):
        closed = self.folder / "closed"
        closed.mkdir()
        kept, read_only = closed / "t", self.path("t", EARLIER)
        kept.write_text(EARLIER)
        read_only.chmod(0o444)
        closed.chmod(0o555)
        self.addCleanup(closed.chmod, 0o755)
        for path in (kept, closed / "new", read_only):
            with self.subTest(path):
                self.assert_refused(self.trace(path, preexec_fn=obey_permissions), "--trace: ", "Permission denied")
        self.assertEqual([kept.read_text(), read_only.read_text()], [EARLIER] * 2)

    def test_a_drawing_goes_where_a_trace_goes(self):
        for command in (ROWS, GAINS):
            with self.subTest(command[0].name):
                log = self.path("log", EARLIER)
                with open(log, "a") as file:
                    self.assert_done(run(command, "--plot=/dev/stdout", stdout=file))
                self.assertTrue(log.read_text().startswith(EARLIER))
                self.assertIn("</svg>", log.read_text())
                self.assert_done(run(command, f"--plot={self.path('svg')}"))
                self.assertTrue(self.path("svg").read_text().startswith("<svg"))
                self.assert_refused(run(command, f"--plot={self.folder}"), "--plot: ", "found a directory")
                self.assert_refused(run(command, "--plot=/dev/full"), "/dev/full: cannot write", code=1)


class ModelsAreWritten(Folder):
    """--out of each program that has it."""
    def each(self):
        for name, command in MAKERS.items():
            with self.subTest(name):
                yield name, command

    def assert_model(self, path):
        self.assertEqual(run([BIN / "tessera_inspect", f"--model={path}", "--verify"]).returncode, 0)

    def test_to_a_new_file_an_old_one_and_through_links(self):
        for name, command in self.each():
            out, link, dangling, other = (self.path(f"{name}_{kind}") for kind in ("out", "link", "dangling", "other"))
            self.assert_done(run(command, f"--out={out}"))
            os.link(out, other)
            before = other.read_bytes()
            link.symlink_to(out.name)
            dangling.symlink_to(f"{name}_new")
            for path in (out, link, dangling):
                self.assert_done(run(command, f"--out={path}"))
                self.assert_model(path)
            self.assertTrue(link.is_symlink() and dangling.is_symlink())
            self.assertEqual(other.read_bytes(), before)
            self.assertNotEqual(other.stat().st_ino, out.stat().st_ino)
        self.assert_no_temporary()

    def test_to_nothing_else(self):
        os.mkfifo(self.path("fifo"))
        master, slave = pty.openpty()
        read, write = os.pipe()
        refused = [(self.path("fifo"), "a FIFO"), ("/dev/null", "a device"), ("/dev/full", "a device"), ("/dev/stdout", "a FIFO"),
                   (f"/dev/fd/{write}", "a FIFO"), (os.ttyname(slave), "a device"), (self.folder, "a directory"), ("-", "-"),
                   ("/dev/stdin", "a device")]
        for name, command in self.each():
            for path, found in refused:
                self.assert_refused(run(command, f"--out={path}", pass_fds=[write]), "--out: ", f"found {found}")
        for descriptor in (master, slave, read, write):
            os.close(descriptor)

    def test_not_over_a_log_that_is_open(self):
        log, link = self.path("log", EARLIER), self.path("link")
        link.symlink_to("log")
        for name, command in self.each():
            for path in ("/dev/stdout", "/proc/self/fd/1", log, link):
                with open(log, "a") as file:
                    self.assert_refused(run(command, f"--out={path}", stdout=file), "--out: ", "to which this or another program writes")
            descriptor = os.open(log, os.O_RDWR)
            self.addCleanup(os.close, descriptor)
            for path in (f"/dev/fd/{descriptor}", log):
                self.assert_refused(run(command, f"--out={path}", pass_fds=[descriptor]), "--out: ",
                                    "to which this or another program writes")
            self.assertEqual(log.read_text(), EARLIER)


if __name__ == "__main__":
    unittest.main()
