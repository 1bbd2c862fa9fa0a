"""The two engines that compare_peer.py times: how each is started, and how its output is read. One class each, the same methods.

    peer, ours = Peer("llama.cpp/build/bin", threads=2), Ours("build/bin", threads=2)
    peer.speeds("model.gguf")            # {"prompt": tokens/s, "generation": tokens/s}
    ours.attention("model.gguf", (128, 4096))[512, 128]  # a pass of 512 tokens after 128 others: its seconds, those of attention

A program that fails ends the comparison, with its last words.
"""
import json
import os
import subprocess
import sys
import time

from json_lines import json_lines

PROMPT_TOKENS, GENERATED_TOKENS = 512, 128
TEXT_PROMPT = 16  # Tokens of each of several texts.
PROMPT_PAIRS = 4  # Each pair is a prompt after other tokens and one after none, in one run.
# 100 tokens for SmolLM2, 101 for Gemma 3 (with its BOS). It ends so that every model goes on with words.
PROMPT = """The lighthouse stood at the end of the long stone pier, and every evening the keeper climbed its stairs to light the \
lamp. In winter the waves broke over the wall and the wind carried the spray as far as the village, where the fishermen had pulled their \
boats onto the sand. One night a letter arrived from the mainland. It said that the lighthouse would be closed in \
spring, and that a machine would do the work. The keeper read it twice, put it on the table, and then he"""


def run(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if result.returncode != 0:
        sys.exit(f"failed: {' '.join(command)[:200]}: exit code {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout


def check_programs(folder, names):
    for name in names:
        if not os.access(f"{folder}/{name}", os.X_OK):
            sys.exit(f"failed: {folder}/{name} is missing, expected a program")


def attention_by_pass(report):
    """{(rows, tokens before): (seconds of the pass, of its attention to them)}"""
    return {(row["rows"], row["depth"]): (row["seconds"], row["attention_seconds"]) for row in json.loads(report)["attention"]}


def speeds_of_texts(rows, counts, texts, speed):
    """{number of texts: tokens/s of all together}; a row names the two by the keys `texts` and `speed`."""
    speeds = {row[texts]: speed(row) for row in rows}
    if missing := [count for count in counts if count not in speeds]:
        sys.exit(f"failed: found speeds of {sorted(speeds)} texts, expected {missing}, too")
    return {count: speeds[count] for count in counts}


def time_to_byte(command, bytes_before, environment=None):
    """Seconds from process start until more than `bytes_before` bytes have come out of its stdout."""
    start, received, seconds = time.perf_counter(), 0, None
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})}) as process:
        while data := os.read(process.stdout.fileno(), 1 << 16):
            received += len(data)
            if seconds is None and received > bytes_before:
                seconds = time.perf_counter() - start
    if process.returncode != 0 or seconds is None:
        sys.exit(f"failed: {command[0]}: exit code {process.returncode}, {received} bytes of output, expected over {bytes_before}")
    return seconds


def rows_of_batch(report):
    """Returns the rows of `tessera_bench batch --json`, also as `tessera_bench streams` wrote them before schema 2."""
    return report["batch" if "batch" in report else "streams"]["together"]


class Engine:
    PROGRAMS = ()

    def __init__(self, folder, threads):
        self.folder, self.threads = folder, str(threads)
        check_programs(folder, self.PROGRAMS)


class Peer(Engine):
    """llama.cpp. Its llama-bench keeps its default warm-up run."""
    PROGRAMS = ("llama-bench", "llama-simple", "llama-batched-bench", "attention")

    def bench_command(self, model, *flags):
        return [f"{self.folder}/llama-bench", "-m", model, "-t", self.threads, "-r", "1", "-o", "json", *map(str, flags)]

    def bench(self, model, *flags):
        return json.loads(run(self.bench_command(model, *flags)))

    def speeds(self, model):
        rows = self.bench(model, "-p", str(PROMPT_TOKENS), "-n", str(GENERATED_TOKENS))
        return {"prompt" if row["n_prompt"] else "generation": row["avg_ts"] for row in rows}

    def generation(self, model, depth):
        return self.bench(model, "-p", "0", "-n", str(GENERATED_TOKENS), "-d", str(depth))[0]["avg_ts"]

    def attention(self, model, depths):
        """By a program of ours that uses its library (peer_attention.cc): llama-bench cannot take turns within a process."""
        return attention_by_pass(run([f"{self.folder}/attention", model, self.threads,
                                      *map(str, (GENERATED_TOKENS, PROMPT_PAIRS, PROMPT_TOKENS, *depths))]))

    def texts(self, model, counts):
        """llama-batched-bench writes no text: it feeds the same token again and again, and chooses none. Its lines of JSON stand among
        others. Each text has a share of the context, for the greatest number of texts."""
        context = max(counts) * 2 * (TEXT_PROMPT + GENERATED_TOKENS)
        output = run([f"{self.folder}/llama-batched-bench", "-m", model, "-t", self.threads, "-c", str(context), "-npp", str(TEXT_PROMPT),
                      "-ntg", str(GENERATED_TOKENS), "-npl", ",".join(map(str, counts)), "--output-format", "jsonl"])
        rows = [json.loads(line) for line in json_lines(output) if line.startswith("{")]
        return speeds_of_texts(rows, counts, "pl", lambda row: row["speed_tg"])

    def rows_seconds(self, model, counts):
        rows = self.bench(model, "-p", ",".join(map(str, counts)), "-n", "0")
        return {row["n_prompt"]: row["n_prompt"] / row["avg_ts"] for row in rows}

    def first_byte(self, model):
        """llama-simple first prints the prompt (after <bos>, if any) but leaves it in stdio's 4 KiB buffer and flushes after its
        first own token, so the first byte past the prompt arrives when that token is there. It has no flag for threads and asks for
        four; OpenMP's limit gives it as many as the others."""
        return time_to_byte([f"{self.folder}/llama-simple", "-m", model, "-n", "2", PROMPT], len(PROMPT.encode()),
                            {"OMP_THREAD_LIMIT": self.threads})


class Ours(Engine):
    PROGRAMS = ("tessera_bench", "tessera_generate", "tessera_perplexity")

    def bench_command(self, subcommand, model, *flags):
        return [f"{self.folder}/tessera_bench", subcommand, "--model", model, "--threads", self.threads, "--repetitions", "1", "--json",
                *map(str, flags)]

    def bench(self, subcommand, model, *flags):
        return json.loads(run(self.bench_command(subcommand, model, *flags)))

    def speeds(self, model):
        report = self.bench("speed", model, "--prompt_tokens", PROMPT_TOKENS, "--generate_tokens", GENERATED_TOKENS)
        return {figure: report[figure]["tokens_per_second"]["median"] for figure in ("prompt", "generation")}

    def generation(self, model, depth):
        report = self.bench("speed", model, "--prompt_tokens", 0, "--generate_tokens", GENERATED_TOKENS, "--depth", depth)
        return report["generation"]["tokens_per_second"]["median"]

    def attention(self, model, depths):
        return attention_by_pass(run(self.bench_command(
            "attention", model, "--depths", ",".join(map(str, depths)), "--generate_tokens", GENERATED_TOKENS // PROMPT_PAIRS,
            "--repetitions", PROMPT_PAIRS, "--prompt_tokens", PROMPT_TOKENS)))

    def texts(self, model, counts):
        """Greedy texts, which the bench goes on with beyond their ends. What else it measures is made as short as can be."""
        report = self.bench("streams", model, "--together", ",".join(map(str, counts)), "--depth", TEXT_PROMPT, "--generate_tokens",
                            GENERATED_TOKENS, "--speculate", "none", "--writers", 1, "--long_prompt", 0, "--prompt_tokens", 1)
        return speeds_of_texts(rows_of_batch(report), counts, "texts", lambda row: row["tokens_per_second"]["median"])

    def rows_seconds(self, model, counts):
        report = self.bench("rows", model, "--rows", ",".join(map(str, counts)))
        return {row["rows"]: row["seconds"] for row in report["rows"]}

    def first_byte(self, model):
        return time_to_byte([f"{self.folder}/tessera_generate", "--model", model, "--raw", "--prompt", PROMPT, "--n_predict", "2",
                             "--temperature", "0", "--threads", self.threads], 0)

    def beside_limits(self, model, prompt_tokens=PROMPT_TOKENS):
        """{"prompt", "generation": (tokens/s, the tokens/s that memory and arithmetic allowed by the probes before and after)}."""
        report = self.bench("roofline", model, "--prompt_tokens", prompt_tokens, "--generate_tokens", GENERATED_TOKENS, "--depth", 1)
        return {line["figure"]: (line["measured"], line["limit"]) for line in report["roofline"]["lines"]
                if line["depth"] == 0 and line["figure"] in ("prompt", "generation")}

    def perplexity(self, model, texts):
        """Over all texts of a file of requests."""
        with open(texts, encoding="utf-8") as requests:
            result = subprocess.run([f"{self.folder}/tessera_perplexity", "--model", model, "--threads", self.threads, "--jsonl"],
                                    stdin=requests, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"failed: tessera_perplexity: exit code {result.returncode}\n{result.stderr[-2000:]}")
        answers = [json.loads(line) for line in json_lines(result.stdout)]
        return sum(answer["nll_sum"] for answer in answers), sum(answer["scored"] for answer in answers)
