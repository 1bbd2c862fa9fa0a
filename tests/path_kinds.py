"""What tests of docs/files_in_and_out.md share: short runs of the programs, and a folder per test."""
import ctypes
import os
import resource
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build/bin"
MODEL = ROOT / "tests/golden/tiny/llama.gguf"
EARLIER = "earlier line\n"
ANSWER = [BIN / "tessera_generate", f"--model={MODEL}", "--prompt=the", "--n_predict=4", "--temperature=0", "--threads=1"]
ROWS = [BIN / "tessera_bench", "rows", f"--model={MODEL}", "--rows=1,2", "--repetitions=1", "--threads=1"]
GAINS = [BIN / "tessera_bench", "spec", f"--model={MODEL}", f"--data={ROOT}/tests/data/speculation", "--categories=gsm8k", "--texts=1",
         "--generate_tokens=2", "--threads=1"]
MAKERS = {"pack": [BIN / "tessera_pack", MODEL, "--threads=1"],
          "quantize": [BIN / "tessera_quantize", MODEL, "--head_format=Q4_1", "--threads=1"],
          "random_model": [BIN / "tessera_random_model", "--shape=tiny", "--threads=1"]}
PROMPT = "the in the"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2  # linux/prctl.h, linux/capability.h
TOKENIZE = [BIN / "tessera_tokenize", f"--model={MODEL}", "--json"]


def run(command, *flags, **options):
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60, **options}
    if "input" in options:
        del options["stdin"]
    return subprocess.run([*map(str, command), *flags], **options)


def pipe_without_reader():
    read, write = os.pipe()
    os.close(read)
    return write


def obey_permissions():
    """Takes from root, for the program that follows, the right to pass over the permissions of files."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def limit_files(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def path(self, name, text=None):
        path = self.folder / name
        if text is not None:
            path.write_text(text)
        return path

    def assert_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def assert_refused(self, result, *words, code=2):
        self.assertEqual(result.returncode, code, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def assert_no_temporary(self):
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".tessera")], [])

    def feed(self, path, text):
        """Writes text to a FIFO once somebody reads it."""
        thread = threading.Thread(target=lambda: path.write_text(text), daemon=True)
        thread.start()
        self.addCleanup(thread.join, 20)

    def drain(self, path):
        """What comes out of a FIFO, in a list, once the thread has ended."""
        texts = []
        thread = threading.Thread(target=lambda: texts.append(path.read_text()), daemon=True)
        thread.start()
        return texts, thread
