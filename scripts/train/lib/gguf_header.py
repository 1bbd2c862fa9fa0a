"""Reads the header of a GGUF file with the standard library alone: metadata, and where tensors lie.

    file = GgufHeader("model.gguf")
    file.metadata["llama.block_count"]
    file.tensors["blk.0.attn_norm.weight"]         # (shape, number of the type, offset): fastest dimension first, as in the file
    file.read("blk.0.attn_norm.weight", 2304)      # that many bytes of it

Arrays of numbers are array.array, and lists where there is no such type.
"""
import array
import struct
from pathlib import Path

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9
ALIGNMENT = 32
MOST = 1 << 40   # Bytes of one thing, before the file is looked at.


class GgufHeader:
    def __init__(self, path):
        self.path = path
        if not Path(path).is_file():
            raise SystemExit(f"{path}: found no file, expected a GGUF file")
        with open(path, "rb") as self.file:
            magic, version, tensors, entries = struct.unpack("<4sIQQ", self._take(24))
            if magic != b"GGUF" or version not in (2, 3):
                raise SystemExit(f"{path}: found {magic} version {version}, expected GGUF version 2 or 3")
            self.metadata = {}
            for _ in range(entries):
                name = self._text()
                self.metadata[name] = self._value(self._number("I"))
            self.tensors = {}
            for _ in range(tensors):
                name = self._text()
                shape = [self._number("Q") for _ in range(self._number("I"))]
                self.tensors[name] = (shape, self._number("I"), self._number("Q"))
            at = self.file.tell()
        alignment = self.metadata.get("general.alignment", ALIGNMENT)
        self.begin = -(-at // alignment) * alignment

    def _take(self, count):
        data = self.file.read(count) if count <= MOST else b""
        if len(data) != count:
            raise SystemExit(f"{self.path}: found the end of the file, expected {count} bytes more")
        return data

    def _number(self, kind):
        return struct.unpack(f"<{kind}", self._take(struct.calcsize(f"<{kind}")))[0]

    def _text(self):
        return self._take(self._number("Q")).decode("utf-8", "replace")

    def _value(self, kind):
        if kind == TEXT:
            return self._text()
        if kind != ARRAY:
            return self._number(self._letter(kind))
        kind, count = self._number("I"), self._number("Q")
        if kind in NUMBERS:
            return array.array(NUMBERS[kind], self._take(count * struct.calcsize(f"<{NUMBERS[kind]}")))
        return [self._value(kind) for _ in range(count)]

    def _letter(self, kind):
        if kind not in NUMBERS:
            raise SystemExit(f"{self.path}: found metadata of type {kind}, expected one of GGUF's")
        return NUMBERS[kind]

    def tensor_named(self, name):
        if name not in self.tensors:
            raise SystemExit(f"{self.path}: found no tensor {name}, expected one")
        return self.tensors[name]

    def read(self, name, size):
        with open(self.path, "rb") as file:
            file.seek(self.begin + self.tensor_named(name)[2])
            data = file.read(size)
        if len(data) != size:
            raise SystemExit(f"{self.path}: tensor {name}: found {len(data)} bytes, expected {size}")
        return data
