"""Runs one command of a build and writes what the command cost.

  python3 -SE compile_cost.py TABLE COMPILER ARGUMENTS...

scripts/measure/build_cost.sh gives this program to CMake as the launcher of compilers and linkers. Each call appends one line to TABLE:
CPU seconds, MiB of memory at the peak of the largest process, and the file that `-o` or `qc` names, with tabs between.
"""
import os
import resource
import sys


def output_of(arguments):
    """Returns the file that a command of a compiler, a linker or ar writes."""
    for flag in ("-o", "qc"):
        if flag in arguments[:-1]:
            return arguments[arguments.index(flag) + 1]
    return " ".join(arguments)


def main():
    table, command = sys.argv[1], sys.argv[2:]
    child = os.spawnvp(os.P_WAIT, command[0], command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = f"{used.ru_utime + used.ru_stime:.2f}\t{used.ru_maxrss / 1024:.0f}\t{output_of(command)}\n"
    file = os.open(table, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, line.encode())  # One write per line: commands run side by side.
    os.close(file)
    sys.exit(child if child >= 0 else 128 - child)


main()
