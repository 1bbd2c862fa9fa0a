"""Writes texts by the same adapter with llama.cpp and with ours; scripts/measure/compare_adapter.sh calls it.

    python3 compare_adapter.py --peer llama.cpp/build/bin --ours build/bin --model m.gguf --adapter pirate --gguf p.gguf --prompt "Hi"

Ours reads the PEFT folder and says which tokens the prompts are; the peer reads the GGUF file that was made of it, and gets these tokens.
Both write greedily. Prints both texts, whether they are the same, or after how many tokens they differ first; --data takes prompts from
dialogues, one per line, as adapters are trained on.
"""
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib", f"{ROOT}/scripts/train/lib"]
from dialogues import read_dialogues  # noqa: E402
from engines import check_programs  # noqa: E402
from json_lines import json_lines  # noqa: E402
from peer_server import PeerServer, check_server  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

CONTEXT = 2048
EXACT = ["-fa", "off", "-ctk", "f32", "-ctv", "f32"]   # As near to the same numbers as the peer comes.
NAME = "adapter"   # What requests call it.


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--peer", "--ours", "--model", "--adapter", "--gguf"):
        flags.add_argument(name, required=True, metavar="PATH")
    flags.add_argument("--prompt", action="append", default=[], help="may be given several times")
    flags.add_argument("--data", metavar="FILE")
    flags.add_argument("--texts", type=positive, default=10, help="of --data")
    flags.add_argument("--n_predict", type=positive, default=80)
    flags.add_argument("--threads", type=positive, default=2)
    flags.add_argument("--json", action="store_true")
    given = flags.parse_args()
    if bool(given.prompt) == (given.data is not None):
        flags.error("found both or neither of --prompt and --data, expected one of them")
    check_server(given.peer)
    check_programs(given.ours, ["tessera_generate"])
    return given


def dialogues_of(given):
    """Messages of each text."""
    if given.data is None:
        return [[{"role": "user", "content": prompt}] for prompt in given.prompt]
    return [messages for messages, _ in read_dialogues(given.data)[:given.texts]]


def our_texts(given, dialogues):
    """As tessera_generate answers: with tokens of prompts and texts."""
    requests = "".join(json.dumps({"id": i, "messages": messages, "adapter": NAME}) + "\n" for i, messages in enumerate(dialogues))
    command = [f"{given.ours}/tessera_generate", f"--model={given.model}", f"--adapter={NAME}:{given.adapter}", "--jsonl",
               "--temperature=0", f"--n_predict={given.n_predict}", f"--threads={given.threads}", f"--context={CONTEXT}"]
    ended = subprocess.run(command, input=requests, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"failed: tessera_generate: {ended.stderr.strip()}")
    return sorted(map(json.loads, json_lines(ended.stdout)), key=lambda answer: answer["id"])


def peer_texts(given, prompts):
    server = PeerServer(given.peer, given.model, given.threads, CONTEXT, ["--lora", given.gguf, *EXACT])
    with contextlib.closing(server):
        server.wait()
        return [server.complete(prompt, given.n_predict) for prompt in prompts]


def without_end(tokens, ends):
    """An end token is a part of the text for one engine, and none for the other."""
    return tokens[:-1] if tokens and tokens[-1] in ends else tokens


def compare(ours, peer, ends):
    """Both texts; same: how many tokens they begin with that are the same, of how many."""
    mine, other = without_end(ours["output_tokens"], ends), without_end(peer["tokens"], ends)
    same = len(os.path.commonprefix([mine, other]))
    return {"ours": ours["output_text"], "llama.cpp": peer["content"], "same_tokens": same, "tokens": max(len(mine), len(other)),
            "equal": mine == other}


def ends_of(path):
    from gguf_header import GgufHeader
    metadata = GgufHeader(path).metadata
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    return {metadata[f"tokenizer.ggml.{key}"] for key in keys if f"tokenizer.ggml.{key}" in metadata}


def show(dialogues, results):
    for messages, result in zip(dialogues, results):
        said = "the same" if result["equal"] else f"the same for {result['same_tokens']} of {result['tokens']} tokens"
        print(f"asked:     {messages[-1]['content']}\nours:      {result['ours'].strip()}")
        print(f"llama.cpp: {result['llama.cpp'].strip()}\n{said}\n")
    print(f"{sum(result['equal'] for result in results)} of {len(results)} texts are the same, "
          f"{sum(result['same_tokens'] for result in results)} of {sum(result['tokens'] for result in results)} tokens before a difference")


def main():
    given = read_flags()
    dialogues, ends = dialogues_of(given), ends_of(given.model)
    ours = our_texts(given, dialogues)
    peer = peer_texts(given, [answer["prompt_tokens"] for answer in ours])
    results = [compare(*pair, ends) for pair in zip(ours, peer)]
    if given.json:
        print(json.dumps({"texts": results}))
    else:
        show(dialogues, results)


if __name__ == "__main__":
    run_main(main)
