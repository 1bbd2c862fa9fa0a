"""Finds the words of a shell script that stand where a command begins: good enough for our style, and no shell is needed.

    for line, word in shell_commands(text): ...          # (12, "cmake")

Words that hold an expansion or a quote are left out. What follows a word of WRAPPERS is a command, too, behind so many arguments and
any flags; so is the first word of an array that is run ("${apt[@]}"), and what stands in single quotes behind `sh -c`.
"""
import re

WRAPPERS = {"exec": 0, "command": 0, "env": 0, "nice": 0, "nohup": 0, "xargs": 0, "unshare": 0, "time": 0, "timeout": 1, "taskset": 1,
            "chroot": 1, "run_logged": 2, "stage": 1, "need": 1, "project": 1, "with_packages": 1, "inside": 0}
_BEFORE_COMMANDS = {"if", "then", "else", "elif", "do", "while", "until", "!", "{"}
_FILLER = "\u00a4"  # No name of a program has it.
_TOKEN = re.compile(r"\d*[<>]&[\d-]|&>|;;|&&|\|\||[;&|()\n]|[^\s;&|()]+")
# What is no command, and stays as long as it is: nothing but fillers or blanks.
_FILLED = re.compile(r"\$'(?:\\.|[^'\\])*'|'[^']*'|\$?\(\((?:[^()]|\([^()]*\))*\)\)|\$\{(?:[^{}]|\{[^{}]*\})*\}|\\[^\n]", re.DOTALL)
_BLANKED = re.compile(r"(?<![^\s;(])#[^\n]*|\\\n|\b\w+\(\)(?= *\{)")
_HERE = re.compile(r"<<-?(['\"]?)(\w+)\1")
_SCRIPT = re.compile(r"(?<=sh -c )'([^']*)'")
_ARRAY = re.compile(r"\b(\w+)\+?=\(")
_RUN_ARRAY = re.compile(r'(?:^|[;&|(]|\b(?:if|then|do|else)\b|\brun_logged "[^"]*" "[^"]*") *"\$\{(\w+)\[@\]\}" ', re.MULTILINE)


def _filled(text, filler=_FILLER):
    return filler * len(text)


class _Skeleton:
    """The script, every character in its place, but only what may be a command still readable."""

    def __init__(self, text):
        self.text, self.run_arrays, self.here = text, set(_RUN_ARRAY.findall(text)), None

    def commands(self, position, closing):
        """From `position` to the bracket that closes what is open there: (what is left of it, where it ends)."""
        out, depth = "", 0
        while position < len(self.text):
            char = self.text[position]
            if char == closing and depth == 0:
                break
            piece, position = self.piece(position)
            depth += {"(": 1, ")": -1}.get(piece, 0) if closing else 0
            out += piece
        return out, position

    def piece(self, position):
        for pattern, filler in ((_BLANKED, " "), (_FILLED, _FILLER)):
            if pattern is _FILLED and (script := _SCRIPT.match(self.text, position)):
                return "(" + _Skeleton(script[1]).commands(0, None)[0] + ")", script.end()
            if match := pattern.match(self.text, position):
                return _filled(match.group(), filler), match.end()
        if here := _HERE.match(self.text, position):
            self.here = here[2]
            return _filled(here.group(), " "), here.end()
        if self.here and self.text[position] == "\n":
            end = self.text.index(f"\n{self.here}\n", position) + len(self.here) + 1
            self.here = None
            return _filled(self.text[position:end], " "), end
        if array := _ARRAY.match(self.text, position):
            inside, end = self.commands(array.end(), ")")
            name = " " * (array.end() - position - 1)
            return f"{name}({inside})" if array[1] in self.run_arrays else _filled(f"{name}({inside})"), end + 1
        if self.text[position] == '"':
            return self.quoted(position + 1)
        if self.text.startswith("[[ ", position):
            return self.test(position)
        if self.text.startswith(("$(", "<(", ">("), position):
            inside, end = self.commands(position + 2, ")")
            return f"{_FILLER}({inside})", end + 1
        return self.text[position], position + 1

    def test(self, position):
        """[[ ... ]], of which only $(commands) are left."""
        out, end = "", self.text.index(" ]]", position) + 3
        while position < end:
            piece, position = (_FILLER, position + 1) if self.text[position] == "[" else self.piece(position)
            out += piece if len(piece) > 1 else _FILLER
        return out, position

    def quoted(self, position):
        """From behind a double quote to the one that closes it."""
        out = _FILLER
        while position < len(self.text) and self.text[position] != '"':
            if self.text.startswith("$(", position) and not self.text.startswith("$((", position):
                piece, position = self.piece(position)
            else:
                match = re.compile(r"\$\{(?:[^{}]|\{[^{}]*\})*\}|\\.|.", re.DOTALL).match(self.text, position)
                piece, position = _filled(match.group()), match.end()
            out += piece
        return out + _FILLER, position + 1


class _Finder:
    def __init__(self):
        self.found, self.open, self.on_line = [], 0, 0
        self.expected, self.skipped, self.redirected = True, 0, False

    def separator(self, token):
        self.expected, self.skipped = True, 0
        if token == "(":
            self.open += 1
        elif token == ")" and self.open > 0:
            self.open, self.expected = self.open - 1, False
        elif token == ")":  # It ends the pattern of a case.
            del self.found[self.on_line:]
        elif token in ("\n", ";;"):
            self.on_line = len(self.found)

    def word(self, token, position):
        redirected, self.redirected = self.redirected, bool(re.fullmatch(r"\d*[<>]+", token))
        if not self.expected or redirected or re.match(r"\d*&?[<>]", token):
            return
        if re.match(r"\w+(\[[^\]]*\])?\+?=", token) or token in _BEFORE_COMMANDS or (self.skipped is not None and token.startswith("-")):
            return
        if self.skipped:
            self.skipped -= 1
            return
        self.expected, self.skipped = token in WRAPPERS, WRAPPERS.get(token, 0)
        if re.fullmatch(r"[\w.+-]+", token):
            self.found.append((position, token))


def shell_commands(text):
    finder = _Finder()
    for match in _TOKEN.finditer(_Skeleton(text).commands(0, None)[0]):
        if re.fullmatch(r"[;&|()\n]+", match.group()):
            finder.separator(match.group())
        else:
            finder.word(match.group(), match.start())
    return [(text.count("\n", 0, position) + 1, word) for position, word in finder.found]
