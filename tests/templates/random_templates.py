"""Random small templates over the constructs of chat templates, and variables for them; a seed gives the same one each time."""
import random

VARIABLES = {
    "s": "Hello, World", "w": "  padded \t\n", "e": "", "u": "Grüße 中文 🙂", "h": "<b>&'\"\\", "lines": "one\n two\n\nthree\r\nfour",
    "n": 7, "z": 0, "m": -3, "f": 2.5, "t": True, "x": None, "l": ["b", "A", "c", "a"], "i": [3, 1, 2, 3], "el": [],
    "d": {"k": "v", "items": [1, 2], "b": None, "a": {"x": 1}}, "ed": {},
    "r": [{"name": "B", "n": 2, "on": True}, {"name": "a", "n": 1}, {"name": "b", "n": 3, "on": False}],
    "messages": [{"role": "system", "content": " Be kind. "}, {"role": "user", "content": "Hi <|x|>"},
                 {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": [True,
                     "é"]}}}]},
                 {"role": "user", "content": [{"type": "text", "text": "part"}]}],
}
# What an expression of each kind may be. Kinds: text, number, list, dict, bool, any.
ATOMS = {
    "text": ["s", "w", "e", "u", "h", "lines", "d.k", "messages[0].content", "messages[1]['role']", "'a'", '"b\\n"', "''", "'l'", "' '",
             "'é'", "'\\x41\\u00e9'", "'o' 'x'"],
    "number": ["n", "z", "m", "f", "t", "1", "2.0", "(-4)", "0.5", "1_000", "1e3", "d['items'][0]", "r[0].n", "i[-1]"],
    "list": ["l", "i", "el", "d['items']", "r", "messages", "s.split(',')", "range(3)", "[1, 'a', none]", "['x', 'y']", "(1, 2)", "u"],
    "dict": ["d", "ed", "r[0]", "messages[2]", "messages[-1]", "{'q': 1, 'p': 'x'}", "d.a"],
    "bool": ["true", "t", "false", "x is defined", "nope is defined", "l", "n == 7", "not e"],
    "any": ["x", "nope", "none", "d.nope", "r[9]", "s.nope", "ns.v", "ns", "v", "a", "y", "d.items", "d.b"],
}
LOOP = {"number": ["loop.index", "loop.index0", "loop.length", "loop.revindex", "loop.revindex0", "loop.depth"], "bool": ["loop.first",
    "loop.last"],
        "any": ["loop.previtem", "loop.nextitem", "loop.cycle('a', 'b')", "loop.changed(v)", "loop.nope"]}
# (of a kind, what is appended, the kind that it gives).
FILTERS = [
    ("text", "trim", "text"), ("text", "upper", "text"), ("text", "lower", "text"), ("text", "length", "number"), ("text", "list", "list"),
    ("text", "first", "text"), ("text", "capitalize", "text"), ("text", "title", "text"), ("text", "replace('l', 'LL')", "text"),
    ("text", "replace('', '-')", "text"), ("text", "replace('o', '', 1)", "text"), ("text", "indent", "text"), ("text", "indent(2, true)",
    "text"),
    ("text", "indent('> ', blank=true)", "text"), ("text", "safe", "text"), ("text", "e", "text"), ("text", "center(9)", "text"),
    ("text", "wordcount", "number"), ("text", "trim('Hd')", "text"), ("text", "reverse", "text"), ("text", "int", "number"),
    ("text", "float(1.5)", "number"), ("text", "map('upper')|list", "list"), ("text", "default('D', true)", "text"),
    ("number", "int", "number"), ("number", "float", "number"), ("number", "abs", "number"), ("number", "round", "number"),
    ("number", "round(1)", "number"), ("number", "round(1, 'floor')", "number"), ("number", "string", "text"), ("number", "tojson", "text"),
    ("list", "join", "text"), ("list", "join(', ')", "text"), ("list", "length", "number"), ("list", "count", "number"), ("list", "last",
    "any"),
    ("list", "first", "any"), ("list", "reverse|list", "list"), ("list", "map('string')|sort", "list"), ("list",
    "map('string')|unique|list", "list"),
    ("list", "select('number')|sum", "number"), ("list", "select('number')|max", "any"), ("list", "select('number')|min", "any"),
    ("list", "map('upper')|list", "list"), ("list", "select('string')|list", "list"), ("list", "reject('none')|list", "list"),
    ("list", "select|list", "list"), ("list", "map('trim')|list", "list"), ("list", "select('in', [1, 'a'])|list", "list"), ("list",
    "tojson", "text"),
    ("list", "select('string')|sort(reverse=true)", "list"), ("list", "select('string')|sort(case_sensitive=true)", "list"),
    ("list", "selectattr('on', 'defined')|list", "list"), ("list", "map(attribute='zz', default='?')|join", "text"), ("list", "string",
    "text"),
    ("dict", "items|list", "list"), ("dict", "dictsort", "list"), ("dict", "dictsort(reverse=true)", "list"), ("dict", "tojson", "text"),
    ("dict", "tojson(indent=2)", "text"), ("dict", "tojson(sort_keys=true)", "text"), ("dict", "length", "number"), ("dict", "string",
    "text"),
    ("dict", "list", "list"), ("dict", "join('|')", "text"), ("dict", "first", "any"),
    ("any", "default('D')", "any"), ("any", "default('D', true)", "any"), ("any", "d(1)", "any"), ("any", "string", "text"),
    ("any", "tojson(ensure_ascii=True)", "text"), ("any", "tojson(separators=(',', ':'))", "text"), ("any", "safe", "text"),
]
ROWS = ["sort(attribute='n')|map(attribute='name')|list", "map(attribute='name')|list", "selectattr('on')|list",
    "selectattr('n', 'gt', 1)|list",
        "rejectattr('on', 'defined')|list", "sum(attribute='n')", "min(attribute='name')", "sort(attribute='name', reverse=true)|list",
        "join('-', attribute='name')", "unique(attribute='n')|list", "selectattr('name', 'equalto', 'a')|list|length"]
METHODS = [
    ("text", ".strip()", "text"), ("text", ".strip('H d')", "text"), ("text", ".lstrip()", "text"), ("text", ".rstrip('\\n')", "text"),
    ("text", ".upper()", "text"), ("text", ".split()", "list"), ("text", ".split(',')", "list"), ("text", ".split('l', 1)", "list"),
    ("text", ".rsplit(' ', 1)", "list"), ("text", ".split(maxsplit=1)", "list"), ("text", ".rsplit(None, 1)", "list"),
    ("text", ".startswith('H')", "bool"), ("text", ".endswith(('d', 'x'))", "bool"), ("text", ".replace('l', 'r')", "text"),
    ("text", ".replace('o', '0', 1)", "text"), ("text", ".find('o')", "number"), ("text", ".rfind('l')", "number"), ("text",
    ".count('l')", "number"),
    ("text", ".join(['x', 'y'])", "text"), ("text", ".splitlines()", "list"), ("text", ".capitalize()", "text"), ("text",
    ".partition(',')", "list"),
    ("text", ".rpartition('o')", "list"), ("text", ".isspace()", "bool"), ("text", ".isupper()", "bool"), ("text", ".removeprefix('He')",
    "text"),
    ("text", ".removesuffix('ld')", "text"), ("text", "[1:]", "text"), ("text", "[::-1]", "text"), ("text", "[-3:-1]", "text"), ("text",
    "[0]", "any"),
    ("text", ".split('l')[-1].lstrip('d')", "text"), ("text", "[n]", "any"), ("text", "[1:3].upper()", "text"), ("text", ".nope", "any"),
    ("dict", ".get('k')", "any"), ("dict", ".get('zz', 3)", "any"), ("dict", ".items()|list", "list"), ("dict", ".items()", "any"),
    ("dict", ".keys()|list", "list"), ("dict", ".values()|list", "list"), ("dict", ".keys()", "any"), ("dict", ".k", "any"), ("dict",
    "['k']", "any"),
    ("dict", ".name", "any"), ("dict", ".a", "any"), ("dict", ".get('a', {}).x", "any"), ("dict", "['role']", "any"),
    ("list", "[0]", "any"), ("list", "[-1]", "any"), ("list", "[1:]", "list"), ("list", "[:2]", "list"), ("list", "[::-1]", "list"),
    ("list", "[1:-1]", "list"), ("list", "[-2:]", "list"), ("list", "[5]", "any"), ("list", "[::2]", "list"), ("list", "[2:0:-1]", "list"),
    ("list", ".0", "any"), ("list", "[none:2]", "list"), ("list", ".count(3)", "number"),
]
ODD = [".append(1)", ".pop()", ".update({})", ".__class__", ".index(1)", "['get']", "|int", "|length", "()", ".format(1, n=2)",
    "|map('nope')|list",
       ".isdigit()", ".title", ".index('l')", "|items|list", "|sort", "|sum", "|max", "[1:]", "|format(1)"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "iterable",
    "sequence",
         "eq 1", "equalto('a')", "ne(2)", "in [1, 'a', 7]", "lower", "upper", "callable", "escaped"]
NUMBER_TESTS = ["odd", "even", "divisibleby(3)", "divisibleby 2", "lt 3", "gt(1)", "greaterthan 2", "ge 7"]


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0
        self.macros = []

    def one(self, *choices):
        return self.random.choice(choices)

    def expression(self, kind=None, depth=0):
        """An expression, mostly one that gives a value of the kind."""
        kind = kind or self.one("text", "text", "number", "list", "dict", "bool", "any")
        if self.random.random() < 0.015:  # Now and then something that may fail.
            return self.atom("text", depth) + self.random.choice(ODD)
        if depth > 3 or self.random.random() < 0.25:
            loop = LOOP.get(kind) if self.loops and self.random.random() < 0.4 else None
            return self.random.choice(loop or ATOMS[kind])
        ways = [each for each in FILTERS + METHODS if each[2] == kind]
        if ways and self.random.random() < 0.5:
            chosen = self.random.choice(ways)
            between = "|" if chosen in FILTERS else ""
            return f"{self.atom(chosen[0], depth)}{between}{chosen[1]}"
        return getattr(self, f"some_{kind}")(lambda wanted: self.expression(wanted, depth + 1), depth)

    def atom(self, kind, depth):
        return f"({self.expression(kind, depth + 1)})" if self.random.random() < 0.3 else self.random.choice(ATOMS[kind])

    def some_text(self, inner, depth):
        choice = self.random.randint(0, 7)
        if choice < 3:
            return f"{self.atom('text', depth)} {self.one('+', '~')} {self.atom('text', depth)}"
        if choice == 3:
            middle = self.atom(self.one("any", "number", "list", "dict"), depth)
            return f"{self.atom('text', depth)} ~ {middle} ~ {self.atom('text', depth)}"
        if choice == 4 and self.macros:
            given = self.one("1", inner("any"), f"{inner('text')}, {inner('any')}", f"b={inner('number')}", f"1, *{inner('list')}[:1]")
            return f"{self.random.choice(self.macros)}({given})"
        if choice == 5:
            return self.one(f"'%s|%r' % ({inner('text')}, {inner('number')})",
                            f"'%05.1f' % {self.atom('number', depth)}", f"'%s' % {self.atom('any', depth)}",
                            f"'{{}} {{n}} {{{{}}}}'.format({inner('text')}, n={inner('number')})", f"'%-8s|'|format({inner('text')})")
        if choice == 6:
            return f"{self.atom('text', depth)} * {self.one('2', '0', '-1', 'true')}"
        return f"{inner('text')} if {inner('bool')}{self.one('', ' else ' + inner('text'))}"

    def some_number(self, inner, depth):
        if self.random.random() < 0.2:
            return f"-{self.atom('number', depth)}"
        return f"{self.atom('number', depth)} {self.one('+', '-', '*', '/', '//', '%', '+', '-')} {self.random.choice(ATOMS['number'])}"

    def some_list(self, inner, depth):
        return self.one(f"[{inner('any')}, {inner('number')}]", f"({inner('text')}, {inner('any')})", f"r|{self.random.choice(ROWS)}",
                        f"[{inner('text')}] + [{inner('any')}]", f"range({self.one('n', '1, 4', '5, 0, -2')})|list", f"[{inner('list')}]")

    def some_dict(self, inner, depth):
        return self.one(f"{{'k': {inner('any')}, 1: {inner('text')}}}", f"dict(a={inner('number')})",
                        "dict([('p', 1)])", f"{{'b': {inner('list')}}}")

    def some_bool(self, inner, depth):
        return self.one(
            f"{self.atom('any', depth)} is {self.one('', 'not ')}{self.random.choice(TESTS)}",
            f"{self.atom('number', depth)} is {self.one('', 'not ')}{self.random.choice(NUMBER_TESTS)}",
            f"{inner('number')} {self.one('<', '>', '<=', '>=', '==', '!=')} {inner('number')}", f"0 < {inner('number')} <= 9",
            f"{inner('text')} {self.one('==', '!=', '<', 'in', 'not in')} {inner('text')}",
            f"{inner('any')} {self.one('==', '!=')} {inner('any')}",
            f"{inner('bool')} {self.one('and', 'or')} {inner('bool')}", f"not {inner('bool')}",
            f"{self.atom('any', depth)} in {self.atom('list', depth)}",
            f"{self.atom('text', depth)} in {self.atom('dict', depth)}")

    def some_any(self, inner, depth):
        return self.one(inner("text"), inner("number"), inner("list"), inner("dict"), inner("bool"), "namespace(v=1).v",
                        "strftime_now('%Y-%m-%d %H')", f"{inner('any')} or {inner('text')}", f"{inner('any')} and {inner('list')}")

    def tag(self, content):
        return "{%" + self.one("", "", "-", "+") + f" {content} " + self.one("", "", "-", "+") + "%}"

    def text(self):
        return self.one("", " ", "\n", "a", "\n  ", " <|x|> ", "{# note #}", "  {#- note -#}\n", "\n\n", "b\n",
                        "\r\n", "{% raw %}{{ x }}{% endraw %}")

    def body(self, depth):
        return "".join(self.text() + self.statement(depth + 1) for _ in range(self.random.randint(1, 2))) + self.text()

    def statement(self, depth=0):
        choice = self.random.random()
        if depth > 3 or choice < 0.4:
            return "{{" + self.one("", "", "-") + f" {self.expression()} " + self.one("", "", "-") + "}}"
        if choice < 0.56:
            target = self.one("v", "a", "y", "ns.v", "ns.w", "s", "n")
            return self.tag(f"set {target} = {self.expression()}")
        if choice < 0.70:
            middle = self.tag(f"elif {self.expression()}") + self.body(depth) if self.random.random() < 0.3 else ""
            other = self.tag("else") + self.body(depth) if self.random.random() < 0.4 else ""
            return self.tag(f"if {self.expression()}") + self.body(depth) + middle + other + self.tag("endif")
        if choice < 0.86:
            return self.loop(depth)
        return self.block(depth)

    def loop(self, depth):
        target, over = self.one(("v", self.expression("list", 2)), ("v", self.expression("text", 3)), ("m", "messages"), ("v", "l"),
                                ("k, v", self.atom("dict", 3) + self.one(".items()", "|items", "|dictsort")))
        test = f" if {self.expression('bool')}" if self.random.random() < 0.15 else ""
        start = self.tag(f"for {target} in {over}{test}")
        self.loops += 1
        inside = self.body(depth)
        if self.random.random() < 0.2:
            inside += self.tag(f"if {self.expression('bool')}") + self.tag(self.one("break", "continue")) + self.tag("endif") + self.text()
        self.loops -= 1
        other = self.tag("else") + self.body(depth) if self.random.random() < 0.2 else ""
        return start + inside + other + self.tag("endfor")

    def block(self, depth):
        loops, self.loops = self.loops, 0
        kind = self.random.randint(0, 5)
        if kind == 0:
            name = f"f{len(self.macros)}"
            made = self.tag(f"macro {name}(a, b={self.expression(depth=2)})") + self.body(depth) + self.tag("endmacro")
            self.macros.append(name)
        elif kind == 1 and self.macros:
            made = self.tag(f"call {self.random.choice(self.macros)}(1)") + self.body(depth) + self.tag("endcall")
        elif kind == 2:
            made = self.tag(f"filter {self.one('upper', 'trim', 'indent(2)', 'replace(' + chr(39) + 'a' + chr(39) + ', n)|lower')}") + \
                self.body(depth) + self.tag("endfilter")
        elif kind == 3:
            made = self.tag(f"with y = {self.expression()}, a = v") + self.body(depth) + self.tag("endwith")
        elif kind == 4:
            made = self.tag("generation") + self.body(depth) + self.tag("endgeneration")
        else:
            made = self.tag(f"set {self.one('v', 'a', 'ns.v')}{self.one('', '|trim', '|upper')}") + self.body(depth) + self.tag("endset")
        self.loops = loops
        return made


def random_case(seed):
    writer = Writer(seed)
    head = writer.one("", "{% set ns = namespace(v=0, w='') %}",
                      "{%- macro f9(a, b='d') -%}[{{ a }}|{{ b }}{{ caller() if caller }}]{%- endmacro %}\n")
    if "f9" in head:
        writer.macros.append("f9")
    return head + writer.body(0) + writer.body(0), [VARIABLES]
