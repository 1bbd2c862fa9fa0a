"""The files that the examples of README.md and of --help read, made in a folder.

    make_files(folder, bin_folder, model)       # model: the default model; folder/build/bin becomes a link to the programs

Texts are short, models are the default model and those that our programs make of it, and what would be trained is random.
"""
import json
import random
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[1:1] = [str(ROOT / "scripts/train/lib")]
from gguf_header import GgufHeader  # noqa: E402

UINT16, INT32 = 2, 5
TEXT = "The lighthouse stood at the end of the long stone pier, and every evening the keeper climbed its stairs to light the lamp. "
DRAFTS = {"model": "small", "tree": "ds2d:3,2", "categories": [{"category": "rag", "texts": 1, "drafted": {"tokens": 3, "passes": 2}}]}
ACCURACY = {"model": "small", "task": "gsm8k", "method": "majority", "samples": 2, "right": {"mean": 0.4, "low": 0.3, "high": 0.5},
            "gain": {"mean": 0.1, "low": 0, "high": 0.2}}
GRID = "grid --model=model.gguf --task=gsm8k --texts=1 --samples=2 --n_predict=8 --counts=1,2"
TEXTS = {"notes.txt": "Write one sentence about the sea.\n", "prompts.txt": "Why is the sky blue?\nWhat is the capital of France?\n",
         "list.jsonl": '{"text": "The sea is"}\n', "article.txt": TEXT * 24, "text": TEXT * 24, "text.txt": TEXT * 24,
         "book.txt": TEXT * 48, "ds2d.jsonl": json.dumps(DRAFTS) + "\n", "judged.jsonl": json.dumps(ACCURACY) + "\n"}


def matrix_file(name, rows, columns, texts):
    """Returns the bytes of a file of safetensors with one matrix of small random numbers."""
    source = random.Random(1)
    data = struct.pack(f"<{rows * columns}f", *(source.uniform(-0.1, 0.1) for _ in range(rows * columns)))
    header = {"__metadata__": texts, name: {"dtype": "F32", "shape": [rows, columns], "data_offsets": [0, len(data)]}}
    header = json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data


def trained_files(folder, model):
    """Writes a predictor of rows to prune and a reward head, as scripts/train would train them for the model."""
    metadata = GgufHeader(str(model)).metadata
    width, layers = metadata["llama.embedding_length"], metadata["llama.block_count"]
    texts = {"layer": str(layers // 2), "layers": str(layers), "kind": "width"}
    (folder / "exit.safetensors").write_bytes(matrix_file("predictor.map", width, width, texts))
    (folder / "FILE").write_bytes(matrix_file("score.weight", 1, width, {}))


def split_entry(name, kind, value):
    return struct.pack(f"<Q{len(name)}sI{'H' if kind == UINT16 else 'i'}", len(name), name.encode(), kind, value)


def split(model, folder, count):
    """Writes a model as `count` files, model-00001-of-00003.gguf and so on; the first has the metadata."""
    file, raw = GgufHeader(str(model)), model.read_bytes()
    names = sorted(file.tensors, key=lambda name: file.tensors[name][2])
    ends = [file.tensors[name][2] for name in names[1:]] + [len(raw) - file.begin]
    first = next(iter(file.tensors)).encode()
    metadata = raw[24:raw.index(struct.pack("<Q", len(first)) + first + struct.pack("<I", len(file.tensors[first.decode()][0])))]
    for part in range(count):
        low, high = len(names) * part // count, len(names) * (part + 1) // count
        start = file.tensors[names[low]][2]
        header = struct.pack("<4sIQQ", b"GGUF", 3, high - low, 3 + (struct.unpack_from("<Q", raw, 16)[0] if part == 0 else 0))
        header += metadata if part == 0 else b""
        for name, kind, value in (("split.no", UINT16, part), ("split.count", UINT16, count), ("split.tensors.count", INT32, len(names))):
            header += split_entry(name, kind, value)
        for name in names[low:high]:
            shape, kind, offset = file.tensors[name]
            header += struct.pack(f"<Q{len(name)}sI{len(shape)}QIQ", len(name), name.encode(), len(shape), *shape, kind, offset - start)
        header += bytes(-len(header) % 32)
        (folder / f"model-{part + 1:05}-of-{count:05}.gguf").write_bytes(header + raw[file.begin + start:file.begin + ends[high - 1]])


def make_repository(folder):
    """Makes a repository with a change for `git diff`."""
    git = ["git", "-C", str(folder), "-c", "user.name=Nobody", "-c", "user.email=nobody@example.com"]
    (folder / "greeting.txt").write_text("Hello\n")
    for command in ("init", "add greeting.txt", "commit -m first"):
        subprocess.run([*git, *command.split()], check=True, capture_output=True)
    (folder / "greeting.txt").write_text("Hello, world\n")


def make_files(folder, programs, model):
    (folder / "build").mkdir()
    (folder / "build/bin").symlink_to(programs)
    (folder / "README.md").symlink_to(ROOT / "README.md")
    for name in ("FOLDER", "evaluation_sets"):
        (folder / name).symlink_to(ROOT / "tests/data/speculation")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    for name in ("model.gguf", "m.gguf", "d.gguf", "draft.gguf"):
        (folder / name).symlink_to(model)
    make_repository(folder)
    trained_files(folder, model)
    split(model, folder, 3)
    for command in ("tessera_pack model.gguf model.tsr", "tessera_pack m.gguf m.tsr",
                    "tessera_random_model --shape=tiny --format=F16 --out=model-f16.gguf",   # SmolLM2's rows fit no K format.
                    "tessera_quantize --format=Q4_0 --head_format=Q4_0 model.gguf small-q4_0.gguf"):
        program, *flags = command.split()
        subprocess.run([programs / program, *flags], cwd=folder, check=True, capture_output=True)


def make_grids(folder, programs):
    """Makes the grids that examples report on. REQUIRES: make_files for the same folder."""
    for name in ("grid", "grid_135m", "grid_360m"):
        subprocess.run([programs / "tessera_scale", *GRID.split(), f"--into={name}"], cwd=folder, check=True, capture_output=True)
