"""Times llama.cpp's drafts from n-grams beside ours, text by text; scripts/measure/compare_peer_speculation.sh calls it.

    python3 compare_peer_speculation.py --peer llama.cpp/build/bin --ours build/bin --model model.gguf --data tests/data/speculation

Ours says which prompts there are, as tokens. A server for each of the peer's settings, and one that drafts nothing, answers each of
them greedily, one server after the other. Speeds are from the first to the last token of a text. A text is changed if it is not what
the same engine writes without drafts.
"""
import contextlib
import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import run  # noqa: E402
from peer_server import PeerServer, check_server  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

PLAIN = "none"
# Defaults, and keys of 3 tokens with drafts of 8. The keys and drafts of ngram-cache have no flags: at most 4 and 8.
SETTINGS = {
    PLAIN: [],
    "ngram-simple": ["--spec-type", "ngram-simple"],
    "ngram-simple 3,8": ["--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "3", "--spec-ngram-simple-size-m", "8"],
    "ngram-map-k": ["--spec-type", "ngram-map-k"],
    "ngram-map-k 3,8": ["--spec-type", "ngram-map-k", "--spec-ngram-map-k-size-n", "3", "--spec-ngram-map-k-size-m", "8"],
    "ngram-mod": ["--spec-type", "ngram-mod"],
    "ngram-mod 3,8": ["--spec-type", "ngram-mod", "--spec-ngram-mod-n-match", "3", "--spec-ngram-mod-n-min", "1",
                      "--spec-ngram-mod-n-max", "8"],
    "ngram-cache": ["--spec-type", "ngram-cache"],
}
CONTEXT = 4096


class Text:
    """The text that one way of decoding wrote for one prompt."""

    def __init__(self, tokens, seconds):
        self.tokens, self.seconds = tokens, seconds

    @property
    def decoded(self):
        """The first token is the prompt's."""
        return max(0, len(self.tokens) - 1)

    @property
    def speed(self):
        return self.decoded / self.seconds


class Server(PeerServer):
    """llama-server with one setting."""

    def __init__(self, flags, setting):
        super().__init__(flags.peer, flags.model, flags.threads, CONTEXT, SETTINGS[setting], pinned(flags))

    def write(self, prompt, most):
        answer = self.complete(prompt, most)
        return Text(answer["tokens"], answer["timings"]["predicted_ms"] / 1000)


def pinned(flags):
    return ["taskset", "-c", flags.cpus] if flags.cpus else []


def ours(flags, category):
    """Our texts of one category, both ways, and the prompts' tokens."""
    report = json.loads(run([*pinned(flags), f"{flags.ours}/tessera_bench", "spec", "--json", "--model", flags.model,
                             "--threads", str(flags.threads), "--data", flags.data, "--categories", category, "--texts", str(flags.texts),
                             "--generate_tokens", str(flags.tokens), "--speculate", flags.speculate, "--context", str(CONTEXT)]))
    return report["texts"]


class Way:
    """All texts of one way of decoding, beside the plain ones of the same engine."""

    def __init__(self, pairs):
        counted = [(plain, text) for plain, text in pairs if plain.decoded > 0 and text.decoded > 0]
        self.speed = sum(text.decoded for _, text in counted) / sum(text.seconds for _, text in counted)
        self.gain = statistics.median(text.speed / plain.speed for plain, text in counted)
        self.changed = sum(plain.tokens != text.tokens for plain, text in pairs)

    def result(self):
        return {"tokens_per_second": self.speed, "gain": self.gain, "changed": self.changed}


def compare(our_texts, peer_texts):
    """our_texts: as tessera_bench spec writes them; peer_texts: {setting: [Text]} for the same prompts."""
    our_plain = [Text(text["output_tokens"], text["plain_seconds"]) for text in our_texts]
    drafted = [Text(text["drafted_tokens"], text["drafted_seconds"]) for text in our_texts]
    ways = {setting: Way(list(zip(peer_texts[PLAIN], texts))) for setting, texts in peer_texts.items()}
    best = max(ways, key=lambda setting: ways[setting].speed)
    mine = Way(list(zip(our_plain, drafted)))
    return {"texts": len(our_texts), "ours_plain": Way(list(zip(our_plain, our_plain))).result(), "ours": mine.result(),
            "peer": {setting: way.result() for setting, way in ways.items()}, "peer_best": best, "ratio": mine.speed / ways[best].speed}


def measure(flags):
    results = {}
    with contextlib.ExitStack() as stack:
        servers = {setting: Server(flags, setting) for setting in SETTINGS}
        for server in servers.values():
            stack.callback(server.close)
        for server in servers.values():
            server.wait()
            server.write([1, 2, 3], 4)  # Brings the weights into memory.
        for category in flags.categories.split(","):
            our_texts, peer_texts = ours(flags, category), {setting: [] for setting in SETTINGS}
            for number, text in enumerate(our_texts):
                print(f"{category}: text {number + 1} of {len(our_texts)}", file=sys.stderr)
                settings = list(SETTINGS)
                for setting in settings[number % len(settings):] + settings[:number % len(settings)]:  # None is always the first.
                    peer_texts[setting].append(servers[setting].write(text["prompt_tokens"], flags.tokens))
            results[category] = compare(our_texts, peer_texts)
    return results


def print_table(results, flags):
    print(f"at most {flags.texts} texts of {flags.tokens} tokens, {flags.threads} threads; tokens/s from the first token to the last")
    print(f"{'':<15} {'-' * 16} llama.cpp {'-' * 17}  {'-' * 9} tessera {'-' * 9}")
    print(f"{'category':<15} {'plain':>7} {'best':>7} {'gain':>5} {'changed':>9} {'its setting':<16} {'plain':>8} "
          f"{'drafts':>7} {'gain':>5} {'changed':>8} {'ratio':>6}")
    for category, result in results.items():
        best, mine = result["peer"][result["peer_best"]], result["ours"]
        print(f"{category:<15} {result['peer'][PLAIN]['tokens_per_second']:>7.1f} {best['tokens_per_second']:>7.1f} {best['gain']:>5.2f} "
              f"{best['changed']:>3} of {result['texts']:<3}{'':>1}{result['peer_best']:<16} "
              f"{result['ours_plain']['tokens_per_second']:>8.1f} {mine['tokens_per_second']:>7.1f} {mine['gain']:>5.2f} "
              f"{mine['changed']:>8} {result['ratio']:>6.2f}")
    print("\nllama.cpp, all settings: median gain, texts changed")
    print(f"{'category':<15} " + " ".join(f"{setting:>17}" for setting in SETTINGS if setting != PLAIN))
    for category, result in results.items():
        cells = (f"{way['gain']:.2f}, {way['changed']}" for setting, way in result["peer"].items() if setting != PLAIN)
        print(f"{category:<15} " + " ".join(f"{cell:>17}" for cell in cells))


def parse_flags(arguments=None):
    flags = flag_parser(__doc__)
    for name in ("--peer", "--ours", "--model", "--data"):
        flags.add_argument(name, required=True)
    flags.add_argument("--categories", default="summarization,rag,code")
    flags.add_argument("--texts", type=int, default=48)
    flags.add_argument("--tokens", type=int, default=128)
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--cpus", help="to which all programs are kept, as taskset has it")
    flags.add_argument("--speculate", default="auto")
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args(arguments)
    check_server(flags.peer)
    return flags


def main():
    flags = parse_flags()
    results = measure(flags)
    print_table(results, flags)
    if flags.json:
        print(json.dumps({"threads": flags.threads, "tokens": flags.tokens, "categories": results}))


if __name__ == "__main__":
    run_main(main)
