#!/usr/bin/env python3
"""Proves that every room uses only the rooms below it (docs/architecture.md): it includes only what it links, directly or not, and
links only what LINKS says, as CMake itself sees it (wherever a target_link_libraries stands). A room may lie in another; the longest
folder decides which room a file belongs to. A test may use what its room links, and so may the fakes it includes. What lies in an
internal/ folder is its room's own. Below model/files/architectures only tokenizers name architectures."""
import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from sources import files, line_of, problems, report, root, text

LINKS = {"base": [], "tensor": ["base"], "quant": ["tensor"], "npu": ["quant"], "storage": ["base"], "model/text/jinja": ["base"],
         "model/text": ["base", "model/text/jinja"],
         "model/files": ["quant", "storage", "model/text"], "model": ["npu", "model/files"], "spec": ["base"],
         "runtime": ["model", "spec"], "apps/cli": ["runtime"], "apps/show": ["apps/cli"], "apps/phone": ["apps/show"],
         "apps/plan": ["apps/phone"], "apps/answers": ["apps/plan"], "apps/compare": ["apps/answers"], "apps/quantize": ["apps/compare"],
         "apps": ["apps/quantize"], "apps/old_names": [], "apps/bench/old_names": ["apps/old_names"], "apps/bench": ["apps/quantize"],
         "apps/lab/models": ["apps/bench"], "apps/lab/lever": ["apps/lab/models"],
         "apps/lab/scale": ["apps/lab/lever"], "apps/lab/papers": ["apps/lab/scale"], "apps/lab": ["apps/lab/papers"]}
# The parts of the programs: what people install, what measures, the laboratory. Each has its programs directly in its folder and
# one program of tests, for all its rooms.
PARTS = ("apps/lab", "apps/bench", "apps")
# The rooms within a layer, each after those that it may use.
ORDER = {"spec": ("trees", "costs", "policies", "drafters", "speculation"),
         "runtime": ("engine", "session", "adapters", "scheduler", "draft", "plan", "chat", "scale")}
# What CMake calls a room: model/text is tessera_text.
NAMES = {room: room.replace("/", "_") if room.startswith("apps/") else room.split("/")[-1] for room in LINKS}
ROOMS = {name: room for room, name in NAMES.items()}
# Every file of the architectures is one, but for what they share; "gemma" covers gemma3. As a word of its own, or within a CamelCase name.
SHARED = {"common", "decoder_keys", "families", "other_parts", "registry", "windows"}
FAMILIES = {Path(path).stem.rstrip("0123456789") for path in files("model/files/architectures/*.cc")} - SHARED
ARCHITECTURE = re.compile("|".join(rf"(?<![A-Za-z]){name}|{name.capitalize()}|{name.upper()}" for name in sorted(FAMILIES)))
NAMES_ALLOWED = re.compile(
    r"model/files/(architectures/|internal/architecture)|model/text/(internal/|tokenizer|chat_template)|apps/|tests/")
TARGET = re.compile(rf"tessera_({'|'.join(sorted(ROOMS, key=len, reverse=True))})(_static|_shared|_objects|_tests)?")
PROGRAMS = {f"tessera_{Path(path).stem}": str(Path(path).parent) for path in files("apps/*.cc") if str(Path(path).parent) in PARTS}
PROGRAMS |= {f"tessera_{part.split('/')[-1]}_tests": part for part in PARTS}


@lru_cache(None)
def closure(room):
    return {room}.union(*(closure(below) for below in LINKS[room]))


def room_of(path):
    """The room that a file is of, or is a test or a consumer of; None: of none."""
    if path.startswith("tests/consumer/"):
        return ROOMS.get(path.split("/")[2])
    if path.startswith("tests/apps/"):
        return next(part for part in PARTS if path.startswith(f"tests/{part}/"))
    folders = path.removeprefix("tests/").split("/")[:-1]
    return next((room for size in range(len(folders), 0, -1) if (room := "/".join(folders[:size])) in LINKS), None)


@lru_cache(None)
def includes(path):
    """(line, included path) of every #include "..." line."""
    content = text(path)
    return [(line_of(content, match.start(1)), match.group(1))
            for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', content, re.MULTILINE)]


@lru_cache(None)
def rooms_behind(path):
    """The rooms that a header of tests/ needs, directly or by way of others there."""
    if not (root / path).is_file():
        return set()
    needed = [included.split("/", 1)[1] for _, included in includes(path) if included.startswith("tessera/")]
    return set().union(*(rooms_behind(other) if other.startswith("tests/") else {room_of(other)} for other in needed)) - {None}


def check_include(where, room, in_tests, included):
    path = included.removeprefix("tessera/")
    other = room_of(path)
    if in_tests and path.startswith("tests/"):
        if other != room and not path.startswith("tests/fakes/"):
            problems.append(f"{where}: a test of {room} includes {included}; of tests/ only fakes and its own folder are allowed")
        for foreign in sorted(rooms_behind(path) - closure(room)):
            problems.append(f"{where}: a test of {room} includes {included}, which needs {foreign}")
    elif other not in closure(room):
        problems.append(f"{where}: {room} includes {included}; it may use {', '.join(sorted(closure(room)))}")
    elif "internal" in path.split("/") and other != room:
        problems.append(f"{where}: {room} includes {included}, which is {other}'s own")


def inner_room_of(path):
    """The room within a layer, such as spec/trees; None: the layer has none."""
    layer, _, rest = path.partition("/")
    return f"{layer}/{rest.split('/')[0]}" if layer in ORDER and "/" in rest else None


def check_inner_include(where, path, other_path):
    """Checks an include within a layer that has rooms."""
    room, other = inner_room_of(path), inner_room_of(other_path)
    layer = path.split("/")[0]
    if room is None or other is None or room == other or layer != other.split("/")[0]:
        return
    places = [ORDER[layer].index(name.split("/")[1]) if name.split("/")[1] in ORDER[layer] else -1 for name in (room, other)]
    if -1 in places:
        problems.append(f"{where}: found the room {room if places[0] < 0 else other}, expected one of {', '.join(ORDER[layer])}")
    elif places[0] < places[1]:
        problems.append(f"{where}: {room} includes {other_path}; of {layer} it may use {', '.join(ORDER[layer][:places[0]])}")
    elif "/internal/" in other_path:
        problems.append(f"{where}: {room} includes {other_path}, which is {other}'s own")


def check_includes(path):
    room = room_of(path)
    for line, included in includes(path) if room else []:
        if included.startswith("tessera/"):
            check_include(f"{path}:{line}", room, path.startswith("tests/"), included)
            check_inner_include(f"{path}:{line}", path, included.removeprefix("tessera/"))
        elif (root / included).exists() or (root / path).parent.joinpath(included).exists():
            problems.append(f'{path}:{line}: "{included}" is one of ours, include it as "tessera/..."')


def edges():
    """(target, what it links directly), as CMake draws them."""
    with tempfile.TemporaryDirectory() as folder:
        # A precompiled header that several libraries share would look like links.
        command = ["cmake", "-S", str(root), "-B", folder, "-G", "Ninja", "-DTESSERA_PCH=OFF",
                   f"--graphviz={folder}/links.dot"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            problems.append(f"CMakeLists.txt:1: cmake cannot configure it: {result.stderr.strip()[:500]}")
            return []
        return re.findall(r"// (\S+) -> (\S+)$", Path(folder, "links.dot").read_text(), re.MULTILINE)


def room_of_target(target):
    match = TARGET.fullmatch(target)
    return PROGRAMS.get(target) or (ROOMS[match.group(1)] if match else None)


def check_link(target, linked):
    room, other = room_of_target(target), room_of_target(linked)
    if not room:
        return
    allowed = [room] if target.endswith("_tests") else [room] + LINKS[room]
    if target in PROGRAMS:  # A program links the last room that it includes, and with it those before; a test likewise.
        allowed = sorted(name for name in closure(room) if name.startswith("apps/"))
    if other and other not in allowed:
        problems.append(f"CMakeLists.txt:1: {target} links {linked}; it may link {' and '.join(NAMES[name] for name in allowed)}")
    elif not other and "::" not in linked and not linked.startswith("-") and linked not in ("tessera_test_main", "tessera_test_flags"):
        problems.append(f"CMakeLists.txt:1: {target} links {linked}, which is neither a layer nor PACKAGE::TARGET")


for source in files("*.h", "*.cc"):
    check_includes(source)
    if not NAMES_ALLOWED.match(source) and room_of(source):
        for number, line in enumerate(text(source).splitlines(), 1):
            if named := ARCHITECTURE.search(line):
                problems.append(f"{source}:{number}: names the architecture {named.group()}; only model/files/architectures may")
for edge in edges():
    check_link(*edge)
report("layers use only what is below them")
