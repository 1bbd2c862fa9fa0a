"""Times several engines in turns, each on its best 4-bit form of a model; scripts/measure/compare_peer.sh --engines calls it.

    python3 compare_engines.py --ours build/bin --peer llama.cpp/build/bin --python engines/bin/python [--json] [--repetitions 5]
        [--threads 2] --forms forms.json

forms.json: {"smollm2": {"model": GGUF, "tessera": GGUF, "llama.cpp": GGUF, "openvino": FOLDER, "onnxruntime": FOLDER}, ...}; a model
whose name begins with random- has no perplexity. One row per engine and model: tokens/s over a prompt of 512, tokens/s over 128
generated after few others, beside them what they cost: bits per weight, perplexity over tests/golden/wikitext2_articles.jsonl in windows
of 512 tokens, and the most memory of the process that was timed. `chooses`: whether the engine chose each token from its logits while
it was timed, as a user's text needs. Each sample is a process of its own with an uncounted warm-up.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import GENERATED_TOKENS, PROMPT_TOKENS, Ours, Peer, run  # noqa: E402
from json_lines import json_lines  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

TEXTS = ROOT / "tests/golden/wikitext2_articles.jsonl"
WINDOW, WINDOWS_PER_TEXT = 512, 4
PROCESS = f"{ROOT}/scripts/measure/lib/other_engine_process.py"


def run_with_peak(command):
    """(stdout, the most memory that the process had resident, in bytes)"""
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"failed: {' '.join(map(str, command))[:200]}: exit code {process.returncode}\n{errors.read()[-2000:]}")
    return output, usage.ru_maxrss << 10


class Form:
    """A model in the form that one engine reads. `weights`: the parameters of the model, a head that shares the embedding's once."""
    chooses = True

    def __init__(self, flags, path, weights):
        self.flags, self.path, self.weights = flags, path, weights

    def bits_per_weight(self):
        return 8 * self.bytes() / self.weights

    def speeds(self):
        """{"prompt", "generation": tokens/s, "memory": bytes}"""
        output, memory = run_with_peak(self.speed_command())
        return {**self.read_speeds(output), "memory": memory}


class GgufForm(Form):
    def bytes(self):
        return sum(tensor["bytes"] for tensor in tensors_of(self.flags, self.path))

    def perplexity(self, windows):
        """By our engine, also for llama.cpp's file. Other engines score the windows, so both must be the same tokens."""
        negative_log_likelihood, scored = Ours(self.flags.ours, self.flags.threads).perplexity(self.path, TEXTS)
        expected = sum(len(window) - 1 for window in windows)
        if scored != expected:
            sys.exit(f"failed: {self.path}: tessera_perplexity scored {scored} tokens, expected the {expected} of the others' windows")
        return math.exp(negative_log_likelihood / scored)


class TesseraForm(GgufForm):
    def speed_command(self):
        return Ours(self.flags.ours, self.flags.threads).bench_command(
            "speed", self.path, "--prompt_tokens", PROMPT_TOKENS, "--generate_tokens", GENERATED_TOKENS)

    def read_speeds(self, output):
        report = json.loads(output)
        return {figure: report[figure]["tokens_per_second"]["median"] for figure in ("prompt", "generation")}


class LlamaCppForm(GgufForm):
    chooses = False  # llama-bench feeds random tokens.

    def speed_command(self):
        return Peer(self.flags.peer, self.flags.threads).bench_command(self.path, "-p", PROMPT_TOKENS, "-n", GENERATED_TOKENS)

    def read_speeds(self, output):
        return {"prompt" if row["n_prompt"] else "generation": row["avg_ts"] for row in json.loads(output)}


class FolderForm(Form):
    """OpenVINO GenAI or onnxruntime-genai, which read a folder."""

    def command(self, figure, *more, folder=None):
        return [self.flags.python, PROCESS, self.engine, figure, folder or self.path, "--threads", str(self.flags.threads),
                *map(str, more)]

    def scored_folder(self):
        return self.path

    def speed_command(self):
        return self.command("speed", "--prompt", PROMPT_TOKENS, "--generate", GENERATED_TOKENS)

    def read_speeds(self, output):
        return json.loads(output.splitlines()[-1])

    def perplexity(self, windows):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as windows_file:
            json.dump(windows, windows_file)
            windows_file.flush()
            command = self.command("perplexity", "--windows", windows_file.name, folder=self.scored_folder())
            result = json.loads(run(command).splitlines()[-1])
        return math.exp(result["nll_sum"] / result["scored"])


class OpenVinoForm(FolderForm):
    engine = "openvino"

    def bytes(self):
        return Path(self.path, "openvino_model.bin").stat().st_size


class OnnxRuntimeForm(FolderForm):
    engine = "onnxruntime"

    def bytes(self):
        return json.loads(run(self.command("bytes")).splitlines()[-1])

    def scored_folder(self):
        return f"{self.path}_all_logits"


ENGINES = {"tessera": TesseraForm, "llama.cpp": LlamaCppForm, "openvino": OpenVinoForm, "onnxruntime": OnnxRuntimeForm}


def inspect(flags, path):
    return json.loads(run([f"{flags.ours}/tessera_inspect", "--model", str(path), "--json"]))


def tensors_of(flags, path):
    return inspect(flags, path)["tensors"]


def windows_of(flags, path):
    """The windows that tessera_perplexity scores: whole ones, with BOS where the model asks for it."""
    metadata = {entry["key"]: entry.get("value") for entry in inspect(flags, path)["metadata"]}  # An array has none.
    begin = [metadata["tokenizer.ggml.bos_token_id"]] if metadata.get("tokenizer.ggml.add_bos_token") is True else []
    with open(TEXTS, encoding="utf-8") as texts:
        answers = subprocess.run([f"{flags.ours}/tessera_tokenize", "--model", str(path), "--jsonl"], stdin=texts, capture_output=True,
                                 text=True, check=True).stdout
    windows, step = [], WINDOW - len(begin)
    for answer in map(json.loads, json_lines(answers)):
        tokens = answer["tokens"]
        starts = range(0, len(tokens) - step + 1, step)[:WINDOWS_PER_TEXT]
        windows += [begin + tokens[start:start + step] for start in starts]
    return windows


def compare(flags, name, forms):
    """{engine: {figure: value}} of one model."""
    weights = sum(math.prod(tensor["shape"]) for tensor in tensors_of(flags, forms["model"]))
    engines = {engine: ENGINES[engine](flags, path, weights) for engine, path in forms.items() if engine != "model"}
    windows = None if name.startswith("random-") else windows_of(flags, forms["model"])
    samples = {engine: [] for engine in engines}
    for repetition in range(flags.repetitions):
        for engine, form in engines.items():
            print(f"{name}: repetition {repetition + 1} of {flags.repetitions}, {engine}", file=sys.stderr)
            samples[engine].append(form.speeds())
    return {engine: {**{figure: statistics.median(sample[figure] for sample in samples[engine])
                        for figure in ("prompt", "generation", "memory")},
                     "bits_per_weight": form.bits_per_weight(), "perplexity": form.perplexity(windows) if windows else None,
                     "chooses": form.chooses} for engine, form in engines.items()}


def print_table(results, flags):
    print(f"medians of {flags.repetitions}, {flags.threads} threads; prompt of {PROMPT_TOKENS}, {GENERATED_TOKENS} generated, tokens/s")
    print(f"{'model':<10} {'engine':<12} {'prompt':>8} {'generation':>11} {'bits/weight':>12} {'perplexity':>11} {'MiB':>7} {'chooses':>8}")
    for name, result in results.items():
        for engine, row in result.items():
            perplexity = "-" if row["perplexity"] is None else f"{row['perplexity']:.2f}"
            print(f"{name:<10} {engine:<12} {row['prompt']:>8.0f} {row['generation']:>11.1f} {row['bits_per_weight']:>12.2f} "
                  f"{perplexity:>11} {row['memory'] / 2**20:>7.0f} {'yes' if row['chooses'] else 'no':>8}")


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--ours", required=True)
    flags.add_argument("--peer", required=True)
    flags.add_argument("--python", required=True)
    flags.add_argument("--forms", required=True)
    flags.add_argument("--repetitions", type=positive, default=5)
    flags.add_argument("--threads", type=positive, default=2)
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args()
    models = json.loads(Path(flags.forms).read_text(encoding="utf-8"))
    results = {name: compare(flags, name, forms) for name, forms in models.items()}
    print_table(results, flags)
    if flags.json:
        print(json.dumps({"repetitions": flags.repetitions, "threads": flags.threads, "models": results}))


if __name__ == "__main__":
    run_main(main)
