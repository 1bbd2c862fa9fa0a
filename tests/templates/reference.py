"""The package jinja2, set up as the package transformers does for chat templates, and the program of ours that it is compared with."""
import json
import os
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "bin" / "tessera_render_cases"
NOW = 1764072000  # 25 November 2025, 12:00 UTC.


class Generation(Extension):
    """{% generation %}: what the model wrote, of which transformers keeps track; it changes no text."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    @staticmethod
    def _written(caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.fromtimestamp(NOW, timezone.utc).replace(tzinfo=None).strftime(form)
    return made


def expected(source, renders):
    """A text per render, or None where jinja2 has an error."""
    try:
        template = environment().from_string(source)
    except Exception:  # A template of a fuzzer may fail in any way.
        return [None] * len(renders)
    texts = []
    for variables in renders:
        try:
            texts.append(template.render(**variables))
        except Exception:
            texts.append(None)
    return texts


def found(cases):
    """What our program gives for each (template, renders): a list of {"text", "data"} or {"error"}."""
    lines = "".join(json.dumps({"template": source, "now": NOW, "renders": renders}) + "\n" for source, renders in cases)
    result = subprocess.run([str(PROGRAM)], input=lines, capture_output=True, text=True, check=True, env={**os.environ, "TZ": "UTC"})
    answers = [json.loads(line) for line in result.stdout.split("\n") if line]
    return [answer.get("results", [answer] * len(renders)) for answer, (_, renders) in zip(answers, cases)]
