"""Draws one cycle of a text that a draft model helps to write (draft, read, verify, prune, commit), from a trace of tessera_generate.

    tessera_generate --model big.tsr --memory_budget 1G --draft_model small.gguf --prompt "Why?" --trace trace.json
    python3 scripts/measure/draw_cycle.py trace.json --out cycle.svg [--cycle N]

A cycle begins with the first pass of the draft after a pass of the model, and ends where the next one begins. Without --cycle it is the one
of median length, among those in which rows were pruned if there are any. The first cycle has number 1.
"""
import html
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/lib"]
from output_file import check_output, output_file  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

WIDTH, LEFT, RIGHT, TOP, LANE, BAR = 960, 250, 20, 84, 40, 22
LEAST = 1.2   # Pixels: what takes less time is drawn as wide, and with what is as near it is one piece.
# Each lane has a name, shows zones of the trace, and perhaps only those within the pass.
LANES = (("draft", "draft", ("draft",), False), ("read", "flash reads", ("read",), False), ("layers", "layers", ("graph_run",), True),
         ("wait", "waits for weights", ("lease",), True), ("prune", "predictor, pruning", ("prune", "predict"), True),
         ("choose", "head, choosing", ("head", "sample"), False), ("commit", "commit", ("commit",), False))
STYLE = """
text { font: 13px sans-serif; fill: #1f2328; } .small { font-size: 11px; fill: #59636e; } .title { font-size: 16px; font-weight: bold; }
.page { fill: #ffffff; } .lane { fill: #f0f2f5; } .tick { stroke: #c8ced6; stroke-width: 1; }
.draft { fill: #8250df; } .read { fill: #bc6a00; } .layers { fill: #1b6ca8; } .above { fill: #6cb0e0; }
.wait { fill: #9aa4b0; } .prune { fill: #c4284e; }
.choose { fill: #2a7f3f; } .commit { fill: #0a7d8c; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .small { fill: #9da7b3; } .page { fill: #0d1117; } .lane { fill: #1a2029; } .tick { stroke: #38414d; }
.draft { fill: #b083f0; } .read { fill: #e09b13; } .layers { fill: #539bf5; } .above { fill: #316dca; }
.wait { fill: #6b7685; } .prune { fill: #f47067; }
.choose { fill: #57ab5a; } .commit { fill: #39c5cf; }
}"""


@dataclass
class Event:
    zone: str
    begin: float    # Milliseconds.
    end: float
    detail: int


@dataclass
class Cycle:
    drafts: list
    verify: Event                                  # The pass.
    end: float = 0
    events: list = field(default_factory=list)     # All that overlap it.

    @property
    def begin(self):
        return self.drafts[0].begin

    def of(self, *zones):
        return [event for event in self.events if event.zone in zones]

    def within_pass(self, *zones):
        return [event for event in self.of(*zones) if self.verify.begin <= event.begin and event.end <= self.verify.end]

    @property
    def pruned_at(self):
        """When rows went, or 0."""
        return max((event.end for event in self.within_pass("prune")), default=0)

    @property
    def tokens(self):
        """Those that were committed; in a trace without that, those that were chosen."""
        return sum(event.detail for event in self.of("commit")) or len(self.of("sample"))


def read_events(path):
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
        events = [Event(entry["name"], entry["ts"] / 1000, (entry["ts"] + entry["dur"]) / 1000, entry["args"]["detail"])
                  for entry in entries if entry["ph"] == "X"]
    except OSError as error:
        sys.exit(f"failed: {path}: {error.strerror}")
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"failed: {path}: found no trace ({type(error).__name__}: {error}), expected one of --trace")
    return sorted(events, key=lambda event: (event.begin, -event.end))


def find_cycles(events):
    """All that are whole: the last one may have been cut off."""
    cycles, drafts = [], []
    for event in events:
        if event.zone not in ("draft", "pass"):
            continue
        if not drafts and cycles and not cycles[-1].end:
            cycles[-1].end = event.begin   # Also where the next pass has no draft.
        if event.zone == "draft":
            drafts.append(event)
            continue
        if drafts:
            cycles.append(Cycle(drafts, event))
        drafts = []
    whole = [cycle for cycle in cycles if cycle.end]
    for cycle in whole:
        cycle.events = [event for event in events if event.begin < cycle.end and event.end > cycle.begin]
    return whole


def choose(cycles, number, path):
    if not cycles:
        sys.exit(f"failed: {path}: found no whole cycle, expected a text with several drafts (--draft_model)")
    if number is not None:
        if number > len(cycles):
            sys.exit(f"failed: --cycle: found {number}, expected 1 to {len(cycles)}, the whole cycles of {path}")
        return cycles[number - 1]
    best = [cycle for cycle in cycles if cycle.of("prune", "predict")] or cycles
    return sorted(best, key=lambda cycle: cycle.end - cycle.begin)[(len(best) - 1) // 2]


def united(events, begin, end, least=0.0):
    """[(begin, end)] of what at least one event covers, within these bounds; pieces that are nearer than `least` are one."""
    pieces = []
    for event in sorted(events, key=lambda event: event.begin):
        first, last = max(event.begin, begin), min(event.end, end)
        if pieces and first <= pieces[-1][1] + least:
            pieces[-1][1] = max(pieces[-1][1], last)
        elif last >= first:
            pieces.append([first, last])
    return pieces


def busy(events, begin, end):
    return sum(last - first for first, last in united(events, begin, end))


def milliseconds(time):
    return f"{time:.0f} ms" if time >= 100 else f"{time:.1f} ms" if time >= 1 else f"{time:.2f} ms"


def many(count, what):
    return f"{count} {what}" + ("" if count == 1 else "es" if what.endswith("ss") else "s")


def summary(key, events, cycle):
    time = milliseconds(busy(events, cycle.begin, cycle.end))
    if key == "draft":
        return f"{time} in {many(len(events), 'pass')}, {many(sum(event.detail for event in events), 'row')}"
    if key == "read":
        drafted = [(event.begin, event.end) for event in cycle.drafts]
        beside = sum(busy(events, begin, end) for begin, end in drafted) / sum(end - begin for begin, end in drafted)
        return f"{many(len(events), 'read')}, {time}; in {100 * beside:.0f} % of drafting"
    if key == "layers" and cycle.pruned_at:
        above = milliseconds(busy([event for event in events if event.begin >= cycle.pruned_at], cycle.begin, cycle.end))
        return f"{time}, {above} of it above the predictor"
    if key == "prune":
        return f"{time}, {many(sum(event.detail for event in events if event.zone == 'prune'), 'row')} went"
    if key == "commit":
        return f"{time}, {many(cycle.tokens, 'token')}"
    return time


class Picture:
    def __init__(self, cycle, lanes):
        self.cycle, self.lanes, self.parts = cycle, lanes, []
        self.scale = (WIDTH - LEFT - RIGHT) / (cycle.end - cycle.begin)
        self.bottom = TOP + LANE * len(lanes)

    def x(self, time):
        return LEFT + (time - self.cycle.begin) * self.scale

    def text(self, x, y, words, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>')

    def rect(self, x, y, width, height, kind):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{height}" class="{kind}"/>')

    def axis(self):
        length = self.cycle.end - self.cycle.begin
        step = next(size for power in range(-3, 9) for size in (10 ** power, 2 * 10 ** power, 5 * 10 ** power) if length / size <= 10)
        for tick in range(int(length / step) + 1):
            x = self.x(self.cycle.begin + tick * step)
            self.parts.append(f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{self.bottom}" class="tick"/>')
            self.text(x, self.bottom + 16, f"{tick * step:g}", "small", "middle")
        self.text(WIDTH - RIGHT, self.bottom + 32, "milliseconds", "small", "end")

    def lane(self, number, key, name, events):
        y = TOP + number * LANE
        self.text(12, y + 14, name)
        self.text(12, y + 29, summary(key, events, self.cycle), "small")
        above = self.cycle.pruned_at if key == "layers" else 0
        for begin, end in united(events, self.cycle.begin, self.cycle.end, LEAST / self.scale):
            width = max(LEAST, (end - begin) * self.scale)
            self.rect(min(self.x(begin), WIDTH - RIGHT - width), y + (LANE - BAR) / 2, width, BAR, "above" if begin >= above > 0 else key)

    def draw(self, title, stages):
        for number in range(len(self.lanes)):
            self.rect(LEFT, TOP + number * LANE + 4, WIDTH - LEFT - RIGHT, LANE - 8, "lane")
        self.axis()
        for number, (key, name, events) in enumerate(self.lanes):
            self.lane(number, key, name, events)
        self.text(12, 26, title, "title")
        self.text(12, 50, stages, "small")
        height = self.bottom + 44
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
                          f"<title>{html.escape(title)}</title>", f"<style>{STYLE}\n</style>",
                          f'<rect width="{WIDTH}" height="{height}" class="page"/>', *self.parts, "</svg>"]) + "\n"


def stages_of(cycle):
    """What follows what, with times."""
    chosen, kept, pruned = cycle.of("head", "sample"), cycle.of("commit"), cycle.within_pass("prune", "predict")
    stages = [f"draft {milliseconds(cycle.drafts[-1].end - cycle.begin)}",
              f"verify {milliseconds(cycle.verify.end - cycle.verify.begin)}" +
              (f" (pruning {milliseconds(busy(pruned, cycle.begin, cycle.end))} of it)" if pruned else ""),
              f"choose {milliseconds(busy(chosen, cycle.begin, cycle.end))}"]
    if kept:
        stages.append(f"commit {milliseconds(busy(kept, cycle.begin, cycle.end))}")
    return ", then ".join(stages)


def picture_of(cycle, cycles, path):
    lanes = []
    for key, name, zones, inside in LANES:
        events = cycle.within_pass(*zones) if inside else cycle.of(*zones)
        if events:
            lanes.append((key, name, events))
    title = (f"One cycle: {many(cycle.verify.detail, 'row')} verified, {many(cycle.tokens, 'token')} in "
             f"{milliseconds(cycle.end - cycle.begin)}")
    stages = f"{stages_of(cycle)} (cycle {cycles.index(cycle) + 1} of {len(cycles)}, {Path(path).name})"
    return Picture(cycle, lanes).draw(title, stages)


def parse_flags(arguments=None):
    flags = flag_parser(__doc__)
    flags.add_argument("trace")
    flags.add_argument("--out", required=True)
    flags.add_argument("--cycle", type=positive)
    return flags.parse_args(arguments)


def main():
    flags = parse_flags()
    check_output("--out", flags.out, files={"the trace": flags.trace})
    cycles = find_cycles(read_events(flags.trace))
    svg = picture_of(choose(cycles, flags.cycle, flags.trace), cycles, flags.trace)
    with output_file(flags.out) as file:
        file.write(svg.encode("utf-8"))


if __name__ == "__main__":
    run_main(main)
