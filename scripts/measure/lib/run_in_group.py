"""Runs a command in a control group with a limit of memory, and says at the end how much memory the group held at most.

    python3 run_in_group.py MEBIBYTES COMMAND [ARGUMENT...]

Output and errors are the command's; the last line of the output is "held N MiB at most, N processes killed for want of memory". The exit
code is 1 if the command failed or a process was killed.
"""
import subprocess
import sys
from pathlib import Path
from memory_group import MIB, MemoryGroup, NoGroup, check_limit_kills

sys.path.insert(1, f"{Path(__file__).resolve().parents[2]}/lib")
from script_main import run_main  # noqa: E402


def main():
    limit, command = int(sys.argv[1]) * MIB, sys.argv[2:]
    try:
        check_limit_kills()
        with MemoryGroup(limit) as group:
            # The shell enters the group before it becomes the command, so that all is counted.
            code = subprocess.run(["bash", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group.folder), *command]).returncode
            peak, kills = group.peak(), group.count("oom_kill")
    except NoGroup as no_group:
        sys.exit(f"failed: {no_group}")
    print(f"held {peak / MIB:.0f} MiB at most, {kills} processes killed for want of memory", flush=True)
    sys.exit(0 if code == 0 and kills == 0 else 1)


if __name__ == "__main__":
    run_main(main)
