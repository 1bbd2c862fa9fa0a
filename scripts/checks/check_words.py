#!/usr/bin/env python3
"""Documents and comments are free of three habits that readers stumble over: a sentence that begins with "Of" or "Who", "who" after
"for", "by", "of" or "to", and "a" where "per" is meant ("tokens per pass").

Read are running text in *.md and comments in C++, Python, shell and CMake; neither code, nor output, nor what stands in quotes. Strings
in C++, which programs print, are read for "a" alone, and the names of tests for "Who"."""
import ast
import io
import re
import tokenize
from sources import NOT_CODE, code, files, line_of, problems, report, text

BREAK = r"(?:[ \t]+|[ \t]*\n[ \t]*)"  # Between two words, of which the second may begin the next line.
RATE = (r"(?:\b(?:tokens|rows|bytes|lines|times|blocks|nodes|passes|seconds|nanoseconds)|(?<![A-Za-z_])(?:ns|us|ms|[KMG]i?B))"
        rf"{BREAK}an?{BREAK}(?:pass|second|line|token|row|file|step|unit|layer|block|text|run|prompt|answer)\b",
        '"per", or another word than "a"')
TEST_NAME = (r"\bTEST(?:_F|_P)?\(\w+,\s*\w*Who[A-Z]\w*", "name the caller, the thread or the reader")
RULES = (
    (rf"(?<![\w.:])(?:Of|Who){BREAK}", 'a sentence begins with it: begin with its subject'),
    (rf"\b(?:for|by|of|to){BREAK}who\b", 'name the caller, the thread or the reader'),
    RATE,
)


def blank(piece):
    return re.sub(r"[^\n]", " ", piece)


def kept(content, spans):
    """The content with everything outside the spans blanked; every line keeps its number."""
    parts, end = [], 0
    for first, last in spans:
        parts += [blank(content[end:first]), content[first:last]]
        end = last
    return "".join(parts) + blank(content[end:])


def prose_of_markdown(content):
    return re.sub(r"^[ \t]*```.*?^[ \t]*```", lambda match: blank(match.group()), content, flags=re.DOTALL | re.MULTILINE)


def prose_of_cc(content):
    comments = [match.span() for match in NOT_CODE.finditer(content) if match.group().startswith("/")]
    return re.sub(r"//+|/\*|\*/", lambda match: blank(match.group()), kept(content, comments))


def strings_of_cc(content):
    strings = [match.span() for match in NOT_CODE.finditer(content) if match.group().startswith(('"', 'R"'))]
    return kept(content, [(first + 1, last - 1) for first, last in strings])


def prose_of_python(content):
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = []
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            spans.append((starts[token.start[0] - 1] + token.start[1] + 1, starts[token.end[0] - 1] + token.end[1]))
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            spans.append((starts[node.lineno - 1] + node.col_offset + 3, starts[node.end_lineno]))
    return kept(content, sorted(spans))


def prose_of_shell(content):
    return kept(content, [match.span(1) for match in re.finditer(r"(?:^|[ \t])#([^\n]*)", content, re.MULTILINE)])


PROSE = {".md": prose_of_markdown, ".h": prose_of_cc, ".cc": prose_of_cc, ".py": prose_of_python}

def judge(path, content, rules):
    for rule, advice in rules:
        for match in re.finditer(rule, content):
            words = " ".join(match.group().split())
            problems.append(f'{path}:{line_of(content, match.start())}: "{words}": {advice}')


for path in files("*.md", "*.h", "*.cc", "*.py", "*.sh", "*.cmake", "CMakeLists.txt"):
    suffix = path[path.rfind("."):]
    prose = PROSE.get(suffix, prose_of_shell)(text(path))
    prose = re.sub(r"`[^`\n]*`|\"[^\"\n]*\"", lambda match: blank(match.group()), prose)
    judge(path, prose, RULES)
    if suffix in (".h", ".cc"):
        judge(path, strings_of_cc(text(path)), (RATE,))
        judge(path, code(path), (TEST_NAME,))
report("documents and comments are free of three confusing habits")
