"""Messages as clients send them reach chat templates as the package jinja2 gives them the parsed form.

    python3 tests/messages_test.py -v
    python3 tests/messages_test.py --cases 1000 --seed 7        # random dialogues by the many, with each template

Compared are all templates in the source of llama.cpp (scripts/fetch_peer_source.sh), 33 dialogues with each
(tests/templates/client_dialogues.py), and random ones: the text that tessera_tokenize --show_prompt shows. Where a template refuses a
dialogue, its words are in the error. Where it leaves something out, or fails with each form of the messages, there is an error."""
import argparse
import json
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "templates"))
from client_dialogues import ASKED, CLIENT_DIALOGUES, body, random_dialogue, said, tool, tool_call  # noqa: E402
from client_reference import DAY, Reference  # noqa: E402
from model_with_template import write_model  # noqa: E402
from reference import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "tests"))
from patience import await_that  # noqa: E402

TOKENIZE = ROOT / "build" / "bin" / "tessera_tokenize"
RANDOM = 12   # Dialogues for each template.
LAST = "a last message of the assistant"
CITY_CALL = tool_call("get_weather", {"city": "Berlin"})
CITY_TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Its name"}}, "required": ["city"]}}}

# Templates that take no call of a tool in any form: what becomes of one, and the reason.
NO_CALLS = ("left out", "it reads no tool_calls")
APPENDS = ("error", "it calls append of a list, which changes a list: the sandbox of jinja2 refuses that, too")
WITHOUT_CALLS = {
    "HuggingFaceTB-SmolLM3-3B.jinja": NO_CALLS,
    "Kimi-K2-Instruct.jinja": APPENDS,
    "Kimi-K2-Thinking.jinja": APPENDS,
    "LFM2-8B-A1B.jinja": NO_CALLS,
    "LFM2.5-Instruct.jinja": NO_CALLS,
    "fireworks-ai-llama-3-firefunction-v2.jinja": ("error", "it reads a variable functions, which templates are not given"),
    "google-gemma-2-2b-it.jinja": ("refused", "it has no role for results: roles must alternate"),
    "ibm-granite-granite-3.3-2B-Instruct.jinja": NO_CALLS,
    "llama-cpp-deepseek-r1.jinja": ("error", "it gives a generator to tojson, which is no JSON for jinja2, either"),
    "llama-cpp-rwkv-world.jinja": NO_CALLS,
    "microsoft-Phi-3.5-mini-instruct.jinja": NO_CALLS,
}
# Templates that take the arguments of a call as the text that the client sent, and fail with the object.
TAKE_TEXT = {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja", "meetkai-functionary-medium-v3.2.jinja"}


def vendor_templates():
    folder = subprocess.run(["bash", str(ROOT / "scripts" / "fetch_peer_source.sh")], capture_output=True, text=True,
                            check=True).stdout.strip()
    return sorted(Path(folder, "models", "templates").glob("*.jinja"))


def found(folder, source, bodies):
    """What tessera_tokenize shows for each dialogue: {"prompt"} or {"error"}."""
    model = Path(folder) / "model.gguf"
    write_model(model, source)
    lines = "".join(json.dumps({"id": number, **each}) + "\n" for number, each in enumerate(bodies))
    result = subprocess.run([str(TOKENIZE), f"--model={model}", "--jsonl", "--show_prompt"], input=lines, capture_output=True, text=True)
    answers = [json.loads(line) for line in result.stdout.split("\n") if line]
    if len(answers) != len(bodies):
        raise AssertionError(f"{len(answers)} answers for {len(bodies)} dialogues: {result.stderr}")
    return answers


def today(folder):
    return found(folder, f"{{{{ strftime_now('{DAY}') }}}}", [body({"role": "user", "content": ""})])[0]["prompt"]


def wrong(outcome, answer):
    """Why an answer is not what the reference says; empty if it is."""
    kind, value = outcome
    error = answer.get("error", "")
    if kind == "text":
        return "" if answer.get("prompt") == value else f"expected {value!r}, found {answer.get('prompt', error)!r}"
    if kind == "refused":
        said_so = any(words in error for words in value) and "the template refuses the messages: " in error
        return "" if said_so else f"expected one of the refusals {value}, found {answer}"
    if kind == "left out":
        return "" if "leaves this out" in error else f"expected a thing that is left out, found {answer}"
    if kind == "tools unread":
        return "" if "the model's chat template does not read them" in error else f"expected tools that are not read, found {answer}"
    return "" if error else f"expected an error, found {answer}"


def differences(path, bodies):
    """(template, name, why) for each dialogue with another outcome; and how many of each kind there were."""
    source = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        before, day = None, today(folder)
        while before != day:   # Some templates write the date, which may change.
            answers = found(folder, source, bodies.values())
            before, day = day, today(folder)
    reference = Reference(source, day)
    outcomes = [reference.outcome(each) for each in bodies.values()]
    told = [(path.name, name, wrong(outcome, answer)) for name, outcome, answer in zip(bodies, outcomes, answers)]
    return [each for each in told if each[2]], [outcome[0] for outcome in outcomes]


def compare(dialogues):
    """Compares for each template what `dialogues` gives for its number."""
    wrong_ones, kinds = [], {}
    paths = vendor_templates()
    with ThreadPoolExecutor(2) as threads:
        for path, (told, of_template) in zip(paths, threads.map(differences, paths, map(dialogues, range(len(paths))))):
            wrong_ones += told
            kinds[path.name] = of_template
    return wrong_ones, kinds


class MessagesTest(unittest.TestCase):
    def test_each_template_writes_what_clients_send(self):
        wrong_ones, kinds = compare(lambda number: {
            **CLIENT_DIALOGUES, **{f"random {seed}": random_dialogue(seed) for seed in range(number * RANDOM, (number + 1) * RANDOM)}})
        told = "\n".join(f"{template}, {name}: {why}" for template, name, why in wrong_ones[:5])
        self.assertFalse(wrong_ones, f"{len(wrong_ones)} differ\n{told}")
        self.assertGreaterEqual(len(kinds), 70)
        all_kinds = [kind for each in kinds.values() for kind in each]
        self.assertGreater(all_kinds.count("text"), len(all_kinds) / 2)
        self.assertGreater(all_kinds.count("refused"), 0)

    def test_templates_that_take_no_call_are_these(self):
        parsed = {**CITY_CALL, "function": {"name": "get_weather", "arguments": {"city": "Berlin"}}}
        without, take_text = {}, set()
        for path in vendor_templates():
            reference = Reference(path.read_text(encoding="utf-8"))
            tools = [CITY_TOOL] if reference.reads_tools else None
            sent, objects = (reference.outcome(body(ASKED, said(None, tool_calls=[each]), tool("wq2 21"), tools=tools))[0]
                             for each in (CITY_CALL, parsed))
            if sent != "text":
                without[path.name] = sent
            elif objects != "text":
                take_text.add(path.name)
        self.assertEqual(without, {name: outcome for name, (outcome, _) in WITHOUT_CALLS.items()})
        self.assertEqual(take_text, TAKE_TEXT)

    def test_a_last_message_of_the_assistant_needs_a_word_of_the_client(self):
        with tempfile.TemporaryDirectory() as folder:
            source = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
            ends = body(*CLIENT_DIALOGUES["continued"]["messages"])
            answers = found(folder, source, [ends, CLIENT_DIALOGUES["continued"], body(ASKED, continue_final_message=True)])
        self.assertIn(f"messages[1]: found {LAST}", answers[0]["error"])
        self.assertEqual(answers[1]["prompt"], "[user]wq1 Hi[assistant]wq2 The capital is")
        self.assertIn(f"continue_final_message: found true after a message of role \"user\", expected {LAST}", answers[2]["error"])

    def test_each_request_has_the_date_of_its_own_moment(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.gguf"
            write_model(model, "{{ strftime_now('%M:%S') }}")   # It writes no message, which is right for an empty one.
            with subprocess.Popen([str(TOKENIZE), f"--model={model}", "--jsonl", "--show_prompt"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as run:
                def moment():
                    run.stdin.write(json.dumps({"id": 1, **body({"role": "user", "content": ""})}) + "\n")
                    run.stdin.flush()
                    return json.loads(run.stdout.readline())["prompt"]

                first = moment()
                self.assertRegex(first, r"^\d\d:\d\d$")
                await_that(lambda: moment() != first)   # A second has to pass.
                run.stdin.close()
                self.assertEqual(run.wait(), 0)


def many(count, seed):
    """Random dialogues by the many, for a person."""
    first = seed * 10_000_000
    wrong_ones, kinds = compare(lambda number: {f"random {each}": random_dialogue(each) for each in range(first, first + count)})
    for template, name, why in wrong_ones[:10]:
        print(f"{template}, {name}: {why}")
    print(f"{count} dialogues with each of {len(kinds)} templates: {len(wrong_ones)} differ")
    return 1 if wrong_ones else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options, rest = parser.parse_known_args()
    if options.cases:
        sys.exit(many(options.cases, options.seed))
    unittest.main(argv=[sys.argv[0], *rest])
