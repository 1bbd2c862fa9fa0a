"""Reads dialogues, one per line: {"messages": [..., {"role": "assistant", "content": "..."}]}, as tessera_tokenize reads messages.

    for messages, answer in read_dialogues("dialogues.jsonl"):     # all messages but the last, and what the last one says
"""
import json
from pathlib import Path

from json_lines import json_lines


def read_dialogues(path):
    if not Path(path).is_file():
        raise SystemExit(f"{path}: found no file, expected dialogues, one per line")
    dialogues = []
    for number, line in enumerate(json_lines(Path(path).read_text("utf-8")), 1):
        if not line.strip():
            continue
        try:
            messages = json.loads(line)["messages"]
            if messages[-1]["role"] != "assistant" or len(messages) < 2:
                raise ValueError
            dialogues.append((messages[:-1], messages[-1]["content"]))
        except (ValueError, KeyError, TypeError, IndexError):
            said = f"found {line[:60]!r}, expected messages, the last of which is the assistant's"
            raise SystemExit(f"{path}, line {number}: {said}") from None
    return dialogues
