"""Counts the instructions of the loops of block-format products in an object file, for an instruction set that no CPU at hand has.

    python3 scripts/measure/count_instructions.py OBJECT [--objdump aarch64-linux-gnu-objdump]

OBJECT is compiled from quant/kernels/panels_*.cc.in for one instruction set, such as panels_of_32_avx2.cc.o.
A line for each format, bits of activations and number of rows: instructions in
the loop that holds the dot products, how many that is for each of them, and how many touch the stack.
"""
import argparse
import re
import subprocess

FUNCTION = re.compile(r"<void tessera::PanelRows<.*panels::(\w+), tessera::ActivationGroupOf<(\d+)>, (\d+)>\(.*>:\n")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$", re.MULTILINE)
DOT = {"8": re.compile(r"(?:sdot|udot|usdot|(?:\{\w+\} )?vpdpbusd|vpmaddubsw)\b"),
       "16": re.compile(r"(?:sdot|udot|usdot|(?:\{\w+\} )?vpdpwssd|vpmaddwd)\b")}
JUMP = re.compile(r"(?:b(?:\.\w+)?|cbn?z\s+\w+,|tbn?z\s+\w+, #\w+,|j\w+)\s+([0-9a-f]+) <")
STACK = re.compile(r"\[sp|\(%rsp|\(%rbp|\[x29")


def loop_of_dots(instructions, dot_product):
    """The shortest loop with nine of ten dot products: what lies from a jump's target to the jump."""
    dots = [address for address, text in instructions if dot_product.match(text)]
    loops = []
    for end, text in instructions:
        jump = JUMP.match(text)
        begin = int(jump[1], 16) if jump else end
        inside = sum(begin <= dot <= end for dot in dots)
        if begin < end and inside >= 0.9 * len(dots) > 0:
            loops.append((end - begin, [text for address, text in instructions if begin <= address <= end]))
    return min(loops, default=(0, []))[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("object")
    parser.add_argument("--objdump", default="objdump")
    arguments = parser.parse_args()
    listing = subprocess.run([arguments.objdump, "-dC", "--no-show-raw-insn", arguments.object], check=True, capture_output=True, text=True)
    for function in listing.stdout.split("\n\n"):
        name = FUNCTION.search(function)
        dot_product = name and DOT[name[2]]
        loop = name and loop_of_dots([(int(address, 16), text) for address, text in INSTRUCTION.findall(function)], dot_product)
        if loop:
            dots = sum(bool(dot_product.match(text)) for text in loop)
            stack = sum(bool(STACK.search(text)) for text in loop)
            print(f"{name[1]:8} {name[2]:>2} bits, rows {name[3]}: {len(loop):5} instructions, {len(loop) / dots:.2f} a dot product, "
                  f"{stack} on the stack")


if __name__ == "__main__":
    main()
