"""llama-server with some flags, which answers prompts that are given as tokens.

    server = PeerServer("llama.cpp/build/bin", "model.gguf", threads=2, context=4096, more=["--lora", "pirate.gguf"])
    with contextlib.closing(server):
        server.wait()
        server.complete([1, 2, 3], 64)["tokens"]        # greedily

A server that does not start ends the program.
"""
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

SECONDS_TO_START = 60


def check_server(folder):
    if not os.access(f"{folder}/llama-server", os.X_OK):
        sys.exit(f"failed: {folder}/llama-server is missing, expected a program")


class PeerServer:
    def __init__(self, folder, model, threads, context, more=(), before=()):
        """before: what the command begins with, such as taskset."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command = [*before, f"{folder}/llama-server", "-m", model, "-t", str(threads), "-c", str(context), "-np", "1",
                        "--cache-ram", "0", "--host", "127.0.0.1", "--port", str(self.port), *more]
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode() if body else None,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)

    def wait(self):
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.ask("/health")
                return
            time.sleep(0.1)
        sys.exit(f"failed: {' '.join(self.command)}: not ready after {SECONDS_TO_START} s")

    def complete(self, tokens, most, more=None):
        """Returns the server's own answer: "tokens", "content", "timings". more: fields of the request, such as sampling and seed."""
        return self.ask("/completion", {"prompt": tokens, "n_predict": most, "temperature": 0, "cache_prompt": False,
                                        "return_tokens": True, **(more or {})})

    def close(self):
        self.process.terminate()
        self.process.wait()
