#!/usr/bin/env python3
"""Proves that every layer uses only the layers below it (docs/architecture.md): it includes only what it links, directly or not, and links only
what LINKS says, as CMake itself sees it (wherever a target_link_libraries stands). A test may use what its layer links, and so may
the fakes it includes. No architecture is named below model/architectures."""
import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from sources import files, line_of, problems, report, root, text

LINKS = {"base": [], "tensor": ["base"], "quant": ["tensor"], "npu": ["quant"], "storage": ["base"], "model": ["npu", "storage"],
         "spec": ["model"], "runtime": ["spec"], "apps": ["runtime"]}
# Every file of model/architectures but two is one; "gemma" covers gemma3. As a word of its own, or within a CamelCase name.
FAMILIES = {Path(path).stem.rstrip("0123456789") for path in files("model/architectures/*.cc")} - {"common", "registry"}
ARCHITECTURE = re.compile("|".join(rf"(?<![A-Za-z]){name}|{name.capitalize()}|{name.upper()}" for name in sorted(FAMILIES)))
NAMES_ALLOWED = re.compile(r"model/(architectures|tokenizers|chat_templates)/|model/(internal/)?(tokenizer|chat_template)|apps/|tests/")
TARGET = re.compile(rf"tessera_({'|'.join(LINKS)})(_static|_shared|_objects|_common|_tests)?")
PROGRAMS = {f"tessera_{Path(path).stem}" for path in files("apps/*.cc")}


def closure(layer):
    return {layer}.union(*(closure(below) for below in LINKS[layer]))


def layer_of(path):
    folders = path.split("/")
    if folders[0] == "tests":
        folders = folders[2 if folders[1] == "consumer" else 1:]
    return folders[0]


@lru_cache(None)
def includes(path):
    """(line, included path) of every #include "..." line."""
    content = text(path)
    return [(line_of(content, match.start(1)), match.group(1))
            for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', content, re.MULTILINE)]


@lru_cache(None)
def layers_behind(path):
    """The layers that a header of tests/ needs, directly or by way of others there."""
    if not (root / path).is_file():
        return set()
    needed = [included.split("/", 1)[1] for _, included in includes(path) if included.startswith("tessera/")]
    return set().union(*(layers_behind(other) if other.startswith("tests/") else {other.split("/")[0]} for other in needed))


def check_includes(path):
    layer, in_tests = layer_of(path), path.startswith("tests/")
    if layer not in LINKS:
        return
    for line, included in includes(path):
        where, parts = f"{path}:{line}", included.split("/")
        if parts[0] != "tessera":
            if (root / included).exists() or (root / path).parent.joinpath(included).exists():
                problems.append(f'{where}: "{included}" is one of ours, include it as "tessera/..."')
        elif in_tests and parts[1] == "tests":
            if parts[2] not in ("fakes", layer):
                problems.append(f"{where}: a test of {layer} includes {included}; of tests/ only fakes and its own folder are allowed")
            for foreign in sorted(layers_behind(included.split("/", 1)[1]) - closure(layer)):
                problems.append(f"{where}: a test of {layer} includes {included}, which needs {foreign}")
        elif parts[1] not in closure(layer):
            problems.append(f"{where}: {layer} includes {included}; it may use {', '.join(sorted(closure(layer)))}")
        elif "internal" in parts and parts[1] != layer:
            problems.append(f"{where}: {layer} includes {included}, which is {parts[1]}'s own")


def edges():
    """(target, what it links directly), as CMake draws them."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cmake", "-S", str(root), "-B", folder, "-G", "Ninja", f"--graphviz={folder}/links.dot"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            problems.append(f"CMakeLists.txt:1: cmake cannot configure it: {result.stderr.strip()[:500]}")
            return []
        return re.findall(r"// (\S+) -> (\S+)$", Path(folder, "links.dot").read_text(), re.MULTILINE)


def layer_of_target(target):
    match = TARGET.fullmatch(target)
    return match.group(1) if match else "apps" if target in PROGRAMS else None


def check_link(target, linked):
    layer, other = layer_of_target(target), layer_of_target(linked)
    if not layer:
        return
    allowed = [layer] if target.endswith("_tests") else [layer] + LINKS[layer]
    if other and other not in allowed:
        problems.append(f"CMakeLists.txt:1: {target} links {linked}; it may link {' and '.join(allowed)}")
    elif not other and "::" not in linked and not linked.startswith("-") and linked != "tessera_test_main":
        problems.append(f"CMakeLists.txt:1: {target} links {linked}, which is neither a layer nor PACKAGE::TARGET")


for source in files("*.h", "*.cc"):
    check_includes(source)
    if not NAMES_ALLOWED.match(source) and source.split("/")[0] in LINKS:
        for number, line in enumerate(text(source).splitlines(), 1):
            if named := ARCHITECTURE.search(line):
                problems.append(f"{source}:{number}: names the architecture {named.group()}; only model/architectures may")
for edge in edges():
    check_link(*edge)
report("layers use only what is below them")
