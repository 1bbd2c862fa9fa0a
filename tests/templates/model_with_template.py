"""A model's file of a few kilobytes, without weights, whose vocabulary is the bytes and whose chat template is any.

    write_model(folder / "model.gguf", "{{ messages[0].content }}")      # for tessera_tokenize"""
import struct

STRING, ARRAY, UINT, INT, BOOL = 8, 9, 4, 5, 7
BOS, EOS = "<s>", "</s>"


def text(value):
    raw = value.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def entry(key, kind, raw):
    return text(key) + struct.pack("<I", kind) + raw


def array(kind, elements):
    return struct.pack("<IQ", kind, len(elements)) + b"".join(elements)


def byte_characters():
    """The characters that stand for the 256 bytes in byte-level vocabularies: printable ones for themselves, others from U+0100 on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def write_model(path, template):
    tokens = [*byte_characters(), BOS, EOS]
    types = [1] * 256 + [3, 3]
    entries = [
        entry("general.architecture", STRING, text("llama")),
        entry("tokenizer.ggml.model", STRING, text("gpt2")),
        entry("tokenizer.ggml.pre", STRING, text("gpt-2")),
        entry("tokenizer.ggml.tokens", ARRAY, array(STRING, [text(token) for token in tokens])),
        entry("tokenizer.ggml.token_type", ARRAY, array(INT, [struct.pack("<i", kind) for kind in types])),
        entry("tokenizer.ggml.merges", ARRAY, array(STRING, [])),
        entry("tokenizer.ggml.bos_token_id", UINT, struct.pack("<I", 256)),
        entry("tokenizer.ggml.eos_token_id", UINT, struct.pack("<I", 257)),
        entry("tokenizer.ggml.add_bos_token", BOOL, b"\0"),
        entry("tokenizer.chat_template", STRING, text(template))]
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + b"".join(entries))
