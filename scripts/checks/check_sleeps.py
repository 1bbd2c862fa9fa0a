#!/usr/bin/env python3
"""No test sleeps for a fixed time or reads the system's clock: a wait has a condition and a deadline far away (tests/fakes/await.h,
tests/patience.py), and what takes time takes it by a clock that is given in (base/clock.h).

A future that is expected not to be ready in time is a sleep, too. What else has a reason stands in EXCEPTIONS, which names nothing that is
gone. Read are C++, Python and shell under tests/, and the shell scripts that run tests; of C++ all but comments, since a string may be a
program. Clocks of CPU time alone are free."""
import re
from sources import NOT_CODE, ROOT, files, line_of, problems, report, root, text

SLEEPS = re.compile(
    r"\b(?:sleep_for|sleep_until|SleepNanos|SleepFor|usleep|nanosleep|clock_nanosleep)\s*\(|\bfuture_status::timeout\b|"
    r"(?<![\w.:])sleep\s*\(|time\.sleep\s*\(|\bEvent\(\)\.wait\s*\(|(?<![\w-])sleep +[\d.$\"'{]|\b(?:poll|select)\s*\((?:nullptr|NULL|0),|"
    r"\bselect\.select\(\[\], *\[\], *\[\]")
CLOCKS = re.compile(
    r"\bRealClock\(\)|\b(?:steady|system|high_resolution)_clock\b|\bclock_gettime\s*\(|\bgettimeofday\s*\(|"
    r"\babsl::(?:Now|GetCurrentTimeNanos)\b|(?<![\w.>])time\s*\(\s*(?:nullptr|NULL)\s*\)|"
    r"\btime\.(?:time|monotonic|perf_counter)(?:_ns)?\b|\bdatetime\.now\b|\bSECONDS\b|\bdate \+%s")
EXCEPTIONS = {
    "tests/base/clock_test.cc": "SleepNanos and the real clock are what is tested, with lower bounds alone",
    "tests/fakes/failing_calls.cc": "the system's clock is what it sets back",
    "tests/fakes/await.h": "the pause and the deadline of every wait in C++",
    "tests/fakes/thread_state.h": "reads the clocks of processes and threads that count CPU time alone",
    "tests/patience.py": "the pause and the deadline of every wait in Python",
    "tests/apps/lab/scale/sandbox/code_checker_test.cc": "a checked program that never ends by itself, and takes no CPU",
    "tests/storage/sandboxed_device_test.cc": "a finished read shows nowhere before its thread enters the kernel; however long that takes",
    "tests/chat_test.py": "the deadline of waits for a terminal, which wakes its reader when its window changes",
    "tests/scripts_test.py": "plants in trees of its own what the checks find",
}


def without_comments(path):
    """The file with the comments of C++ blanked; every line keeps its number."""
    if not path.endswith((".h", ".cc")):
        return text(path)
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()) if match.group().startswith("/") else match.group(), text(path))


found = set()
for path in files("tests/*.h", "tests/*.cc", "tests/*.py", "tests/*.sh", "scripts/tests/*.sh"):
    content = without_comments(path)
    for rule, advice in ((SLEEPS, "sleeps: wait for a condition (tests/fakes/await.h, tests/patience.py)"),
                         (CLOCKS, "reads the system's clock: give a clock in (base/clock.h), or wait for a condition")):
        for match in rule.finditer(content):
            if path in EXCEPTIONS:
                found.add(path)
            else:
                problems.append(f"{path}:{line_of(content, match.start())}: {match.group().strip()}: {advice}")
for path in EXCEPTIONS:
    if path not in found and (root == ROOT or (root / path).is_file()):
        problems.append(f"{path}:1: needs no exception, check_sleeps.py names one")
report("tests wait for conditions, and none reads the system's clock")
