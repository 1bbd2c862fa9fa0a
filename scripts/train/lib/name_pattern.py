"""Patterns of names of modules, as PEFT's configurations have them and the engine reads them (model/files/internal/name_pattern.h).

    pattern = module_pattern(r"layers\\.[01]\\.self_attn\\.[qv]_proj")       # a key of rank_pattern or alpha_pattern
    pattern.matches("model.layers.1.self_attn.q_proj")                       # True: behind any words, to the end of the name

What the engine refuses is a ValueError here, too: what looks behind, groups that are repeated later (\\1), flags, possessive repeats, and
characters beyond ASCII. Patterns come from outside: one that takes longer than MOST_SECONDS for a name is a ValueError.
"""
import contextlib
import re
import signal

try:
    import re._parser as parser
except ImportError:   # Python before 3.11.
    import sre_parse as parser

MOST_SECONDS = 10
REFUSED = {"GROUPREF": "a group that is repeated", "GROUPREF_IGNORE": "a group that is repeated",
           "GROUPREF_EXISTS": "a group that is asked for", "POSSESSIVE_REPEAT": "a possessive repeat", "ATOMIC_GROUP": "an atomic group"}


def check(part):
    """ValueError for what no pattern may have. part: of a parsed pattern."""
    if isinstance(part, (list, parser.SubPattern)):
        for inner in part:
            check(inner)
        return
    if not isinstance(part, tuple):
        return
    name = str(part[0])
    if name in REFUSED:
        raise ValueError(f"found {REFUSED[name]}, expected a pattern without one")
    if name in ("ASSERT", "ASSERT_NOT") and part[1][0] < 0:
        raise ValueError("found what looks behind, expected a pattern without it")
    if name == "SUBPATTERN" and (part[1][1] or part[1][2]):
        raise ValueError("found flags, expected a pattern without them")
    for inner in part:
        check(inner)


def too_long(_signal, _frame):
    raise ValueError(f"found one that takes longer than {MOST_SECONDS} s for a name, expected a simpler pattern")


@contextlib.contextmanager
def in_time():
    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class NamePattern:
    def __init__(self, text):
        if not text.isascii():
            raise ValueError("found a character beyond ASCII, expected none")
        try:
            parsed = parser.parse(text)
            self.pattern = re.compile(text, re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"found no pattern: {error}") from None
        if parsed.state.flags & ~re.UNICODE:
            raise ValueError("found flags, expected a pattern without them")
        check(parsed)

    def matches(self, name):
        with in_time():
            return self.pattern.fullmatch(name) is not None


def module_pattern(key):
    NamePattern(key)   # By itself: a key may not end a group that is not its own.
    return NamePattern(rf"(.*\.)?({key})$")
