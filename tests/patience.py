"""Waits for conditions, and never for a time: a busy machine makes a wait longer, and changes no outcome.

    await_that(lambda: path.exists())
    await_that(lambda: all_asleep(process.pid))       # it waits for input, or for its reader
    run(["sh", "-c", f"exec {NEVER_ENDS}"])           # something has to end this command
"""
import time
from pathlib import Path

PATIENCE = 180  # Seconds until something that does not come is missing.
NEVER_ENDS = "tail -f /dev/null"


def await_that(condition):
    """Looks at the condition until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"the condition did not hold within {PATIENCE} s")
        time.sleep(0.001)


def _of_threads(pid, name):
    """The value of a line of proc(5)'s status for each thread of a process; none of one that has ended."""
    values = []
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            values += [line.split()[1] for line in status.read_text().splitlines() if line.startswith(name + ":")]
        except OSError:
            pass  # The thread has ended meanwhile.
    return values


def all_asleep(pid):
    """Whether all threads of the process wait in the system."""
    states = _of_threads(pid, "State")
    return bool(states) and set(states) == {"S"}


def times_asleep(pid):
    """How often threads of the process have begun to wait so far."""
    return sum(int(count) for count in _of_threads(pid, "voluntary_ctxt_switches"))
