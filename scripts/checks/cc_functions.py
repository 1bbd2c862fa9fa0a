"""Finds the functions of a C++ file by counting braces: good enough for our style, and no compiler is needed.

    for name, first_line, last_line in cc_functions(blanked(text)): ...

The content must come without comments and strings (blanked). A test is called Suite.Name.
"""
import re

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\[^\n\']{1,10}|\\\'|[^\'\\\n])\'', re.DOTALL)
_SCOPE = re.compile(r"^\s*(inline\s+)?(namespace|class|struct|union|enum|extern)\b")


def blanked(content):
    """The content with comments, strings and character literals blanked; every line keeps its number."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), content)


def _without_nesting(text, opening, closing, replacement):
    pattern = re.compile(rf"{opening}[^{opening}{closing}]*{closing}")
    while (shorter := pattern.sub(replacement, text)) != text:
        text = shorter
    return text


def _name_of(head):
    """The name of the function whose brace follows `head`, or None: the brace may also begin a scope or an initializer."""
    test = re.search(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)", head)
    if test:
        return f"{test.group(1)}.{test.group(2)}"
    flat = re.sub(r"operator\s*[^\s\w(]+(?=\s*\()|operator\(\)", "operator_", head)
    flat = _without_nesting(flat, r"\(", r"\)", "@")
    flat = re.sub(r"\b(alignas|__attribute__|requires|decltype)\s*@", " ", flat)
    flat = re.sub(r"\btemplate\b\s*", "", _without_nesting(flat, "<", ">", ""))
    name = re.search(r"([~\w:]+)\s*@", flat)
    if not name or (_SCOPE.match(flat) and "@" not in flat.split("{")[0].split(" : ")[0]) or "=" in flat.split("@")[0]:
        return None
    return name.group(1)


def cc_functions(content):
    """Yields (name, first line, last line) of each function with a body."""
    content = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), content, flags=re.MULTILINE)
    depth = parens = start = 0
    function = None
    for match in re.finditer(r"[{};()]", content):
        token = match.group()
        parens += {"(": 1, ")": -1}.get(token, 0)
        if token == "{":
            head = content[start:match.start()]
            if function is None and parens == 0 and (name := _name_of(head)):
                first = start + len(head) - len(head.lstrip())
                function = (name, content.count("\n", 0, first) + 1, depth)
            depth += 1
        elif token == "}":
            depth -= 1
            if function and depth == function[2]:
                yield function[0], function[1], content.count("\n", 0, match.start()) + 1
                function = None
        if token in "{};" and parens == 0 and function is None:
            start = match.end()
