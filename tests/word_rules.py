"""The rules that cut words, as regular expressions for the Python package tokenizers, and random texts on which they differ."""
import random
import re
import zlib
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "model/text/internal/unicode_15_0.inc"

ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
BLANKS = r"\s+(?!\S)|\s+"
LINES = r"\s*[\r\n]+|" + BLANKS
OTHERS = r" ?[^\s\p{L}\p{N}]+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|" + OTHERS + "|" + BLANKS
MARKED = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"""
HAN_AND_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
DEEPSEEK_ASIAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
YOUTU = ("[\uac00-\ud7a3\u3131-\u318e]+|"
         "[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|" + HAN_AND_KANA)
EUROPEAN = ("A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377"
            "\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556"
            "\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15"
            "\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe"
            "\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113"
            "\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184"
            "\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e"
            "\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
            "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943")


def llama(digits, ending=ENDING + "|", tail=r"[\r\n]*|" + LINES):
    return ending + LETTERS + "|" + digits + "|" + OTHERS + tail


def cased(digits, ending, tail=r"[\r\n/]*", without=""):
    upper = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}" + without + "]"
    lower = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}" + without + "]"
    first = r"[^\r\n\p{L}\p{N}]?"
    words = f"{first}{upper}*{lower}+{ending}|{first}{upper}+{lower}*{ending}"
    return words + "|" + digits + "|" + OTHERS + tail + "|" + LINES


# The patterns, one after the other, and whether the text is normalized to form C before them.
RULES = {
    "gpt-2": ([GPT2], False),
    "olmo": ([GPT2], True),
    "smollm": ([r"\p{N}", GPT2], False),
    "command-r": ([r"\p{N}", GPT2], True),
    "llama-bpe": ([llama(r"\p{N}{1,3}")], False),
    "qwen2": ([llama(r"\p{N}")], True),
    "qwen35": ([ENDING + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + LINES], False),
    "bailingmoe": ([r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|" + BLANKS], False),
    "ufakzeka": ([llama(r"\p{N}", ending="")], False),
    "laguna": ([r"[^\n]+|[\n]+", llama(r"\p{N}")], False),
    "minicpm5": ([r"\p{N}{1,3}", llama(r"\p{N}+")], False),
    "seed-coder": ([llama(r"\p{N}{1}", tail="|" + LINES)], False),
    "jais-2": ([llama(r"\p{N}{1,3}", tail=r"[\r\n]*|\s*[\r\n]+|" + "".join(rf"\s{{{1 << n}}}(?!\S)|" for n in range(9, 1, -1)) +
                      r"\s{1,2}(?!\S)|\s{1}")], False),
    "exaone-moe": ([ENDING + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|" +
                    OTHERS + r"[\r\n/]?|\s*[\r\n]|" + BLANKS], False),
    "tekken": ([cased(r"\p{N}", "")], False),
    "gpt-4o": ([cased(r"\p{N}{1,3}", ENDING + "?")], False),
    "tiny_aya": ([r"\d{1,3}(?=(?:\d{3})*\b)", cased(r"\p{N}{1,3}", ENDING + "?")], True),
    "youtu": ([YOUTU, cased(r"\p{N}", ENDING + "?")], False),
    "kimi-k2": ([r"[\p{Han}]+|" + cased(r"\p{N}{1,3}", ENDING + "?", r"[\r\n]*", r"&&[^\p{Han}]")], False),
    "deepseek-v3": ([r"\p{N}{1,3}", HAN_AND_KANA, MARKED + r"[\r\n]*|" + LINES], False),
    "spark2_5": ([r"\p{N}{1,3}", HAN_AND_KANA, MARKED + r"|[\r\n]|" + BLANKS, r"\p{N}"], False),
    "deepseek-llm": ([r"[\r\n]", r"\s?[" + EUROPEAN + "]+", "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$",
                      DEEPSEEK_ASIAN, r"\p{N}+"], False),
    "deepseek-coder": ([r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", DEEPSEEK_ASIAN, r"\p{N}"], False),
    "falcon": ([r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"], False),
    "default": ([r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"], False),
    "bloom": ([BLOOM], False),
    "viking": ([BLOOM, r"\p{N}"], False),
    "superbpe": ([r"\p{N}+", r"(?=(\d{3})+(?!\d))"], False),
}

COMMON = ["abcXYZstmdrevlLS", "0123456789", "  \n\r\t\u3000\u0085\u00a0/", "'.,!?<>|$+=^~`_-/(){}[]\\\"#%&*:;@",
          "eaou\u0301\u0308\u0323\u0338",
          "\u1100\u1161\u11a8\uac00\uac01\u09c7\u09be\u212b\u2126\u0958\ufb1d\U0001d15e", "\u4f60\u597d\u3005\u3007\u30a2\u2e80\u3021",
          "\u017f\u00bd\u00b2\u0663\u0be7\u00e9\u00df\u01c5\u02b0\u00aa\u3105\u3131\uff01\u201c\u2026\u200d\ufe0f\u2460\u24b6"]
ENDINGS = ["'s", "'T", "'re", "'VE", "'m", "'ll", "'D", "'\u017f", "a'll", "1'd"]


def by_category():
    """The code points that the table of Unicode 15.0 knows, by the number of their category."""
    runs = [(int(begin, 16), int(entry, 16)) for begin, entry in re.findall(r"{(0x\w+),(0x\w+)}", TABLE.read_text(encoding="ascii"))]
    categories = {}
    for (begin, entry), (end, _) in zip(runs, runs[1:] + [(0x110000, 0)]):
        categories.setdefault(entry & 0x1f, []).append((begin, end))
    surrogate, unassigned = 27, 29
    return [runs for number, runs in sorted(categories.items()) if number not in (surrogate, unassigned)]


def random_texts(seed, count):
    chance, categories = random.Random(zlib.crc32(seed.encode())), by_category()

    def part():
        kind = chance.random()
        if kind < 0.1:
            return chance.choice(ENDINGS)
        if kind < 0.75:
            return chance.choice(chance.choice(COMMON))
        begin, end = chance.choice(chance.choice(categories))
        return chr(chance.randrange(begin, end))

    def times():
        kind = chance.random()
        return 1 if kind < 0.7 else chance.randint(1, 9) if kind < 0.98 else chance.randint(1, 1100)

    return ["".join(part() * times() for _ in range(chance.randint(1, 16))) for _ in range(count)]
