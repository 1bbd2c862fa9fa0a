"""Prints the likeliest first tokens of an answer on each path, with their probabilities; scripts/measure/first_tokens.sh calls it.

    python3 first_tokens.py --ours build/bin --model m.gguf [--prompt "Hello"] [--peer llama.cpp/build/bin --f32 f32.gguf]

Ours says them itself (tessera_generate --distinct_first_tokens). The peer gets the tokens of ours and prints all logits after them; its
probabilities are computed here. Ends with 1 if two sets of kernels of the fast path differ in any probability.
"""
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import check_programs, run  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

COUNT = 5
PROMPT = "What is the capital of France?"


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--ours", "--model"):
        flags.add_argument(name, required=True, metavar="PATH")
    flags.add_argument("--prompt", default=PROMPT, metavar="TEXT")
    flags.add_argument("--peer", metavar="PATH")
    flags.add_argument("--f32", metavar="PATH", help="the model with FP32 weights, for the peer")
    flags.add_argument("--json", action="store_true")
    given = flags.parse_args()
    if (given.peer is None) != (given.f32 is None):
        flags.error("--peer and --f32: found one of them, expected both")
    check_programs(given.ours, ["tessera_generate", "tessera_tokenize"])
    if given.peer:
        check_programs(given.peer, ["logits"])
    return given


def our_tokens(given, *path):
    """[{"id": ..., "text": ..., "probability": ...}], the likeliest first."""
    report = run([f"{given.ours}/tessera_generate", f"--model={given.model}", f"--prompt={given.prompt}", f"--answers={COUNT}",
                  "--distinct_first_tokens", "--n_predict=1", "--json", *path])
    return [answer["first_token"] for answer in json.loads(report)["answers"]]


def fast_tokens(given):
    """Those of every set of kernels, which must be the same, and the names of these sets."""
    kernels = json.loads(run([f"{given.ours}/tessera_generate", "--version", "--json"]))["kernels"]
    found = {name: our_tokens(given, "--path=fast", f"--kernels={name}") for name in kernels}
    for name in kernels[1:]:
        if found[name] != found[kernels[0]]:
            sys.exit(f"failed: --kernels={name}: found {found[name]}, expected those of {kernels[0]}, {found[kernels[0]]}")
    return found[kernels[0]], kernels


def peer_tokens(given, model, prompt, texts):
    """The same of the peer. texts: those of tokens that are known; the others are shown by their number."""
    logits = json.loads(run([f"{given.peer}/logits", model, *map(str, prompt)]))["logits"]
    largest = max(logits)
    total = math.fsum(math.exp(logit - largest) for logit in logits)
    likeliest = sorted(range(len(logits)), key=lambda token: (-logits[token], token))[:COUNT]
    return [{"id": token, "text": texts.get(token), "probability": math.exp(logits[token] - largest) / total} for token in likeliest]


def measure(given):
    """{path: tokens}, FP32 first, and the kernels of the fast path."""
    fast, kernels = fast_tokens(given)
    paths = {"reference path, FP32": our_tokens(given, "--path=reference"), "fast path": fast, "npu path": our_tokens(given, "--path=npu")}
    if given.peer:
        dialogue = run([f"{given.ours}/tessera_tokenize", f"--model={given.model}", "--chat", f"--prompt={given.prompt}", "--json"])
        prompt = json.loads(dialogue)["tokens"]
        texts = {token["id"]: token["text"] for tokens in paths.values() for token in tokens}
        paths["llama.cpp, FP32 weights"] = peer_tokens(given, given.f32, prompt, texts)
        paths["llama.cpp, the same file"] = peer_tokens(given, given.model, prompt, texts)
    return paths, kernels


def shown(token):
    text = f"#{token['id']}" if token["text"] is None else json.dumps(token["text"], ensure_ascii=False)
    return f"{text} {token['probability']:.4f}"


def show(given, paths, kernels):
    print(f"{given.prompt}: the {COUNT} likeliest first tokens of the answer, and their probabilities at temperature 1")
    columns = [[name, *map(shown, tokens)] for name, tokens in paths.items()]
    widths = [max(map(len, cells)) for cells in zip(*columns)]
    for cells in columns:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths)).rstrip())
    print(f"fast path: the same to the last digit by the kernels {', '.join(kernels)}")


def main():
    given = read_flags()
    paths, kernels = measure(given)
    if given.json:
        print(json.dumps({"prompt": given.prompt, "kernels": kernels, "paths": paths}))
    else:
        show(given, paths, kernels)


if __name__ == "__main__":
    run_main(main)
