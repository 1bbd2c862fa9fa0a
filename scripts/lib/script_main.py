"""What the scripts that take flags share: --help in their own words, numbers that are checked, and an end in order.

    flags = flag_parser(__doc__)                         # argparse's; --help prints the words above
    flags.add_argument("--repetitions", type=positive, default=5)
    if __name__ == "__main__":
        run_main(main)                                   # Ctrl-C, SIGTERM, SIGHUP: temporary things that main made are removed

A function that makes something temporary uses `with` or `finally`: a signal is an exception there.
"""
import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path


def flag_parser(words):
    return argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)


def positive(text):
    """The type of flags whose number must be 1 or more."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected a whole number from 1 on")
    return number


class Signalled(BaseException):
    """Not an Exception, so that code which handles errors does not go on after it."""


def _raise(number, _):
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)  # A second one must not end the cleaning up.
    raise Signalled(number)


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _end_children():
    """A child process that was just being started when the signal came has no owner yet that would end it."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    for child in children.read_text().split() if children.exists() else []:
        with contextlib.suppress(OSError):  # It has just ended.
            os.kill(int(child), signal.SIGKILL)
            os.waitpid(int(child), 0)


def run_main(main):
    """Runs main. After a signal, the same signal ends the process, so that a shell sees the reason."""
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # As under nohup.
            signal.signal(number, _raise)
    try:
        main()
    except Signalled as ended:
        _end_children()
        print("failed: ended by a signal", file=sys.stderr)
        sys.stderr.flush()
        signal.signal(ended.args[0], signal.SIG_DFL)
        os.kill(os.getpid(), ended.args[0])
