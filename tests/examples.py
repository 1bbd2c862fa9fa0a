"""The examples that README.md and a program's --help show, and a run of each.

    for example in readme_examples(text): problem = problem_of(example, folder, bin_folder)

README.md shows commands in blocks without a language: behind `$ `, with their answer below, or a command a line where no line has `$ `;
in its table of programs; and within sentences. A comment behind a command is not a part of it, but a comment that begins with an object
of JSON says what the file has that the command reads.
"""
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600   # Seconds until an example counts as hanging.


@dataclass
class Example:
    command: str
    where: str          # Such as README.md:54, or the program.
    shown: str = ""     # The answer that stands below it.
    request: str = ""   # The object of JSON in its comment.


def without_comment(line):
    """(the command, the comment)"""
    command, _, comment = re.sub(r"\s{2,}# ", "\0", line, count=1).partition("\0")
    return command.strip(), comment


def example_of(line, where):
    command, comment = without_comment(line)
    request = ""
    if comment.startswith("{"):
        _, end = json.JSONDecoder().raw_decode(comment)
        request = comment[:end] + "\n"
    return Example(command, where, request=request)


def of_block(lines, first):
    """lines: of one block, the first of which has the number `first` in README.md."""
    if not any(line.startswith("$ ") for line in lines):
        return [example_of(line, f"README.md:{number}") for number, line in enumerate(lines, first) if line.strip()]
    examples = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            examples.append(example_of(line[2:], f"README.md:{number}"))
        else:
            examples[-1].shown += line + "\n"
    return examples


def of_text(line, number):
    return [Example(span, f"README.md:{number}") for span in re.findall(r"`([^`]+)`", line) if re.match(r"(scripts|build/bin)/\w", span)]


def readme_examples(text):
    examples, block, first = [], None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```") and block is None:
            block, first = [], number + 1 if line == "```" else 0
        elif line.startswith("```"):
            examples += of_block(block, first) if first else []
            block = None
        elif block is not None:
            block.append(line)
        else:
            examples += of_text(line, number)
    return examples


def help_examples(program, help_text):
    """The lines below "Examples:", which are indented."""
    lines = help_text.split("Examples:\n", 1)[1].splitlines() if "Examples:\n" in help_text else []
    examples = []
    for line in lines:
        if not line.startswith(" "):
            break
        examples.append(example_of(line.strip(), program))
    return examples


def is_shown(shown, found):
    """Whether `found` is what is shown. There `...` stands for any text within a line."""
    pattern = ".*".join(map(re.escape, shown.strip("\n").split("...")))
    return re.fullmatch(pattern, found.strip("\n")) is not None


def problem_of(example, folder, programs, more="", stdin="", text="", environment=None):
    """Runs the example in a folder, with further flags. text: stands where a request says "...". Returns the reason why the example does
    not do what is shown, or an empty text."""
    if example.request:
        name = re.search(r"< (\w+)", example.command)
        if name is None:
            return f"{example.where}: {example.command}: found no file that is read, expected one for {example.request.strip()}"
        (Path(folder) / name[1]).write_text(example.request.replace("...", text))
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {example.command} {more}"], cwd=folder, input=stdin, capture_output=True,
                           text=True, timeout=PATIENCE, check=False,
                           env={**os.environ, **(environment or {}), "PATH": f"{programs}:{os.environ['PATH']}"})
    if ended.returncode != 0:
        return f"{example.where}: {example.command} {more}: exit code {ended.returncode}: {ended.stderr.strip()[-600:]}"
    if example.shown and not is_shown(example.shown, ended.stdout):
        return f"{example.where}: {example.command}: found the answer\n{ended.stdout}expected\n{example.shown}"
    return ""
