"""The lines of a text that has one JSON value per line.

    for number, line in enumerate(json_lines(Path(path).read_text("utf-8")), 1):

str.splitlines() also splits at U+0085, U+2028 and others, which may stand within a string of JSON as they are.
"""


def json_lines(text):
    """Without their ends, and without an empty one behind the last end."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]
