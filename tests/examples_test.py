"""Every example of README.md and of each program's --help runs, and an answer that README.md shows is what comes out.

    python3 tests/examples_test.py -v

The examples run in a folder outside of the source, with the files that they name and the default model; SHORTER and RANDOM_MODEL name
those that would take long. A script that builds, fetches or measures is only asked whether it takes the flags that are shown.
"""
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from example_files import TEXTS, make_files, make_grids
from examples import Example, help_examples, is_shown, problem_of, readme_examples

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build/bin"
README = (ROOT / "README.md").read_text("utf-8")
PROGRAMS = sorted(f"tessera_{path.stem}" for path in (*ROOT.glob("apps/*.cc"), *ROOT.glob("apps/bench/*.cc"), *ROOT.glob("apps/lab/*.cc")))
TINY = ROOT / "tests/golden/tiny/llama.gguf"
QUICKSTART = 'scripts/quickstart.sh "Why is the sky blue?"'
# What a person types, by a part of the command.
STDIN = {"--chat --system": "What is the capital of France?\n", "--prompts - ": "Why is the sky blue?\n"}
# Examples that would take more than some seconds, by how their command begins, and further flags with which they run. What a program
# measures, writes or counts is made small; the last of two equal flags counts.
SHORTER = {
    "tessera_bench adapters": "--adapters=8 --rank=4 --generate_tokens=16 --depth=8 --repetitions=1",
    "tessera_bench attention": "--depths=8 --prompt_tokens=8 --generate_tokens=1 --repetitions=1",
    "tessera_lever": "--texts=1 --generate_tokens=4 --repetitions=1 --categories=gsm8k",
    "tessera_bench memory": "--depth=8 --prompt_tokens=8 --generate_tokens=1",
    "tessera_bench overhead": "--generate_tokens=6 --repetitions=1",
    "tessera_bench products": "--repetitions=1",
    "tessera_bench roofline": "--prompt_tokens=8 --generate_tokens=2 --depth=8 --repetitions=1",
    "tessera_bench rows": "--rows=1,2 --depth=8 --repetitions=1",
    "tessera_bench samples": "--together=2 --generate_tokens=4 --repetitions=1",
    "tessera_bench speed": "--generate_tokens=2 --depth=8 --repetitions=1",
    "tessera_bench streaming": "--repetitions=1",
    "tessera_bench batch": "--together=1,2 --writers=1 --generate_tokens=4 --depth=4 --prompt_tokens=8 --long_prompt=16 --repetitions=1",
    "tessera_bench threads": "--prompt_tokens=8 --generate_tokens=4 --repetitions=1",
    "tessera_random_model --around": "--dry_run",   # 2 GB.
    "tessera_random_model --shape 1b": "--shape=tiny",
    "tessera_reproduce record --": "--texts=1 --generate_tokens=4 --categories=ui",
    "tessera_reproduce record_draft": "--texts=1 --generate_tokens=4 --categories=gsm8k",
    "tessera_scale grid": "--texts=1 --samples=2 --n_predict=8 --counts=1,2",
    "tessera_scale run --data=FOLDER --task": "--texts=1 --samples=2 --n_predict=8",
    "tessera_scale run --data=FOLDER --beam": "--texts=1 --n_predict=8 --most_steps=1",
    "tessera_bench spec": "--texts=1 --generate_tokens=4 --categories=gsm8k",
    "tessera_bench spec --speculate wrong": "--texts=1 --generate_tokens=4 --categories=gsm8k --writings=2",
    "tessera_quantize states --jsonl --generate": "--n_predict=16",
    "tessera_verify": "--n_predict=16",
}
# Examples that would take more than some seconds with the default model, by how their command begins: they run with one of random weights.
RANDOM_MODEL = (
    "tessera_bench adapters", "tessera_lever", "tessera_bench samples", "tessera_bench batch", "tessera_perplexity --table",
    "tessera_quantize --scheme", "tessera_quantize --table", "tessera_scale grid", "tessera_bench spec",
    "tessera_quantize states --prompt_file README.md", "tessera_quantize statistics", "tessera_verify",
)


def longest(command, starts):
    """The longest of `starts` with which the command of a program begins, or an empty text."""
    command = re.sub(r"^build/bin/", "", command)
    return max((start for start in starts if command.startswith(start)), key=len, default="")


class Place:
    """A folder for examples, in which the default model is `model`."""

    def __init__(self, folder, model, default):
        self.folder, cache = folder / "work", folder / "cache"   # Histories and copies for drafts go into the cache.
        self.folder.mkdir(parents=True)
        cache.mkdir()
        (cache / default).symlink_to(model)
        self.environment = {"TESSERA_CACHE": str(cache)}
        make_files(self.folder, BIN, model)

    def problem(self, example):
        stdin = next((text for flags, text in STDIN.items() if flags in example.command), "")
        more = SHORTER.get(longest(example.command, SHORTER), "")
        return problem_of(example, self.folder, BIN, more, stdin, TEXTS["text"], self.environment)


def setUpModule():
    """Makes the places of all tests, once."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    fetched = subprocess.run([ROOT / "scripts/fetch_model.sh"], check=True, capture_output=True, text=True)
    Examples.model = Path(fetched.stdout.strip())
    small = Path(folder.name, "random.gguf")
    subprocess.run([BIN / "tessera_random_model", "--shape=tiny", f"--out={small}"], check=True, capture_output=True)
    Examples.place = Place(Path(folder.name, "default"), Examples.model, Examples.model.name)
    make_grids(Examples.place.folder, BIN)   # Examples of grids make their own in the other place.
    Examples.small_place = Place(Path(folder.name, "random"), small, Examples.model.name)
    subprocess.run([BIN / "tessera_quantize", "statistics", "--prompt_file=text.txt", "--out=text.gguf", "model.gguf"],
                   cwd=Examples.small_place.folder, check=True, capture_output=True)


class Examples(unittest.TestCase):
    def problem(self, example):
        return (self.small_place if longest(example.command, RANDOM_MODEL) else self.place).problem(example)


class Readme(Examples):
    def test_every_command_runs_and_an_answer_that_is_shown_comes_out(self):
        examples = [example for example in readme_examples(README) if "build/bin/" in example.command]
        self.assertGreater(len(examples), len(PROGRAMS))
        self.assertTrue(any(example.shown for example in examples))
        for example in examples:
            with self.subTest(example.command):
                self.assertEqual(self.problem(example), "")

    def test_every_script_takes_the_flags_that_are_shown(self):
        """Each script is asked with a further flag that no script has, which must be all that the script does not know."""
        commands = {example.command.replace(" NAME", " smollm2") for example in readme_examples(README)
                    if example.command.startswith("scripts/") and not example.command.startswith("scripts/quickstart.sh")}
        self.assertGreater(len(commands), 4)
        for command in commands:
            with self.subTest(command):
                ended = subprocess.run(["bash", "-c", f"{ROOT}/{command} --no-such-flag"], capture_output=True, text=True, check=False)
                self.assertNotEqual(ended.returncode, 0)
                self.assertRegex(ended.stderr, "unknown (argument|flag) --no-such-flag")

    def test_the_first_command_answers_where_all_is_built_and_fetched(self):
        self.assertIn(QUICKSTART, [example.command for example in readme_examples(README)])
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            shutil.copytree(ROOT / "scripts/lib", root / "scripts/lib")
            shutil.copy(ROOT / "scripts/quickstart.sh", root / "scripts")
            (root / "build").mkdir()
            (root / "build/bin").symlink_to(BIN)
            for script, line in (("install_packages", ""), ("build", ""), ("fetch_model", f"echo {self.model}")):
                (root / f"scripts/{script}.sh").write_text(f"#!/bin/bash\n{line}\n")
                (root / f"scripts/{script}.sh").chmod(0o755)
            ended = subprocess.run(["bash", "-c", QUICKSTART], cwd=root, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertIn(" ", ended.stdout.strip())


class Help(Examples):
    def examples(self):
        for program in PROGRAMS:
            described = json.loads(self.output(program, "--help", "--json"))
            for command in ([], *([each["name"]] for each in described.get("subcommands", []))):
                name = " ".join([program, *command])
                found = help_examples(name, self.output(program, *command, "--help"))
                self.assertNotEqual(found, [], f"{name} --help shows no example")
                yield from found

    def output(self, program, *flags):
        return subprocess.run([BIN / program, *flags], check=True, capture_output=True, text=True).stdout

    def test_every_exception_is_of_an_example(self):
        commands = [example.command for example in (*readme_examples(README), *self.examples())]
        for start in (*SHORTER, *RANDOM_MODEL):
            self.assertTrue(any(longest(command, [start]) for command in commands), f"no example begins with {start}")

    def test_every_example_of_every_help_runs(self):
        """An example that several helps show runs once."""
        for example in {example.command: example for example in self.examples()}.values():
            with self.subTest(example.command):
                self.assertEqual(self.problem(example), "")


class Planted(Examples):
    """Wrong examples, which must be found."""

    def test_an_example_with_a_wrong_flag_is_found(self):
        planted = readme_examples("Text.\n```\nbuild/bin/tessera_tokenize --promt Hello      # shows tokens\n```\n")
        self.assertEqual([(example.command, example.where) for example in planted],
                         [("build/bin/tessera_tokenize --promt Hello", "README.md:3")])
        self.assertRegex(self.problem(planted[0]), r"^README\.md:3: build/bin/tessera_tokenize .*exit code 2: .*promt")

    def test_an_example_of_a_program_that_fails_within_a_pipe_is_found(self):
        self.assertIn("exit code", self.problem(Example("build/bin/tessera_tokenize --promt Hello | cat", "planted")))

    def test_an_answer_that_does_not_come_out_is_found(self):
        block = "```\n$ echo 'Hello, {}' | cat\nHello, {}!\n$ echo a; echo b\na\n...\n```\n"
        wrong, right = readme_examples(block)
        self.assertRegex(self.problem(wrong), r"found the answer\nHello, \{\}\nexpected\nHello, \{\}!\n")
        self.assertEqual(self.problem(right), "")

    def test_a_table_of_programs_and_a_sentence_hold_examples(self):
        found = readme_examples("| `tessera_pack` | packs | `build/bin/tessera_pack a b` |\nBy `scripts/speed.sh --all` in `build/bin`.\n")
        self.assertEqual([example.command for example in found], ["build/bin/tessera_pack a b", "scripts/speed.sh --all"])
        self.assertEqual(readme_examples("```cpp\nbuild/bin/x\n```\n"), [])

    def test_the_examples_of_help_end_where_its_flags_begin(self):
        found = help_examples("p", 'p: does.\nExamples:\n  p --jsonl < asks   # {"id": "#  1"}, or more\n  p a\nText:\n  --prompt=TEXT\n')
        self.assertEqual([(example.command, example.request) for example in found], [("p --jsonl < asks", '{"id": "#  1"}\n'), ("p a", "")])

    def test_a_request_of_help_that_the_program_does_not_take_is_found(self):
        example, = help_examples("p", 'Examples:\n  tessera_tokenize --jsonl < asks   # {"id": "a", "txt": "b"}\n')
        self.assertIn("exit code 1", self.problem(example))

    def test_three_dots_stand_for_a_part_of_a_line(self):
        for shown, found, expected in (("a {...} b\n", "a {1, 2} b\n", True), ("a ... b\n", "a\nb\n", False), ("a\n", "a\nb\n", False),
                                       ("a.c\n", "abc\n", False), ("a\n...\n", "a\nb\n", True)):
            self.assertEqual(is_shown(shown, found), expected, (shown, found))


if __name__ == "__main__":
    unittest.main()
