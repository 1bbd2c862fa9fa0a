"""What a template makes of a client's dialogue, by the package jinja2: the parsed form of the messages, in the ways in which templates
take them.

    reference = Reference(source)
    reference.outcome(body)      # ("text", "...") | ("refused", {"Roles must alternate"}) | ("left out", None) | ("error", None)
    # Or ("tools unread", None): the template writes all but tools.

Templates differ in what they take: a content of null as none or as an empty text, parts as a list or as joined text, arguments of calls as
an object or as text. The first way counts in which the template writes all that the messages say."""
import itertools
import json
import re
from datetime import datetime

import jinja2
import jinja2.meta
from client_dialogues import WORD
from reference import environment

DAY = "%Y-%m-%d"   # How a day is written that templates are given.
SOME_ROLES = [some for count in range(1, 4) for some in itertools.combinations(("system", "tool", "assistant", "developer"), count)]
AS_SENT, TEXT, NONE = range(3)   # How a content of null, and an empty text beside calls, are given.
SWITCH = "CONTINUE_HERE"   # Stands at the end of a message that is continued, as the package transformers has it.


def given_list(role):
    """Parts stay a list."""
    return False


def joined_text(role):
    """Parts become one text."""
    return True


class Refusal(jinja2.exceptions.TemplateError):
    """A template's own words."""


def refuse(message):
    raise Refusal(message)


def joined(content):
    return "\n".join(each["text"] for each in content) if isinstance(content, list) else content


def parsed_call(each, sent):
    function = each["function"]
    arguments = function["arguments"]
    if arguments is None and not sent:
        arguments = {}
    if isinstance(arguments, str) and not sent:
        arguments = json.loads(arguments) if arguments.strip() else {}
    return {**each, "function": {**function, "arguments": arguments}}


class Reference:
    def __init__(self, source, day="2025-11-25"):
        made = environment()
        made.globals["raise_exception"] = refuse
        made.globals["strftime_now"] = lambda form: datetime.strptime(day, DAY).strftime(form)
        self.template = made.from_string(source)
        self.reads_tools = "tools" in jinja2.meta.find_undeclared_variables(made.parse(source))
        self.knows_developer = re.search(r"'developer'|\"developer\"", source) is not None

    def message(self, given, nothing, join, sent, left_out):
        made = {key: value for key, value in given.items() if value is not None or key == "content"}
        if given["role"] == "developer" and not self.knows_developer:
            made["role"] = "system"
        if given["role"] == "assistant":
            made.setdefault("content", None)
        calls = made.pop("tool_calls", None)
        if calls:
            made["tool_calls"] = [parsed_call(each, sent) for each in calls if each is not left_out]
        content = made["content"]
        if content is None or (calls and not content):
            made["content"] = None if nothing == NONE or (nothing == AS_SENT and content is None) else ""
        else:
            made["content"] = joined(content) if join(made["role"]) else content
        return made

    def render(self, body, nothing, join, sent, left_out=None):
        messages = [self.message(each, nothing, join, sent, left_out) for each in body["messages"]]
        continues = body.get("continue_final_message", False)
        if continues:
            messages[-1]["content"] = joined(messages[-1]["content"]) + SWITCH + " \n"
        made = self.template.render(messages=messages, tools=body.get("tools"), documents=None, add_generation_prompt=not continues,
                                    bos_token="<s>", eos_token="</s>", **body.get("template_args", {}))
        if not continues:
            return made
        before, after = made.rsplit(SWITCH, 1)
        return before if after.startswith(" \n") else before.rstrip()

    @staticmethod
    def writes_all(body, text):
        """Each word of a content is there; each call's name is there as often as it was called beyond its mention among the tools; and no
        list was printed as such."""
        said = re.findall(WORD + r"\d+e?\b", json.dumps(body["messages"]))
        return all(word in text for word in said) and "'type': 'text'" not in text and '"type": "text", "text"' not in text

    def writes_calls(self, body, text, ways):
        """The text is another one without any one of the calls."""
        for each in [call for message in body["messages"] for call in message.get("tool_calls") or []]:
            try:
                if self.render(body, *ways, left_out=each) == text:
                    return False
            except Exception:   # That a template fails without a call shows that it reads the call.
                pass
        return True

    def prints_none(self, body, text, join, sent):
        """The word None stands in the text for a content that says nothing."""
        if all(each.get("content") for each in body["messages"]):
            return False
        try:
            return text.count("None") > self.render(body, TEXT, join, sent).count("None")
        except Exception:
            return False

    def ways(self, body):
        """(nothing, join, sent), in the order in which they are tried. Parts are joined for the roles for which a list is not written, and
        for all where the template fails with a list."""
        has_parts = any(isinstance(each.get("content"), list) for each in body["messages"])
        for sent, nothing in itertools.product([False, True], [AS_SENT, TEXT, NONE]):
            yield nothing, given_list, sent
            if not has_parts:
                continue
            try:
                self.render(body, nothing, given_list, sent)
                joins = [lambda role, some=some: role in some for some in SOME_ROLES] + [joined_text]
            except Exception:
                joins = [joined_text]
            yield from ((nothing, join, sent) for join in joins)

    def outcome(self, body):
        has_parts = any(isinstance(each.get("content"), list) for each in body["messages"])
        refusals, left_out = set(), False
        for number, way in enumerate(self.ways(body)):
            try:
                text = self.render(body, *way)
            except Refusal as error:
                refusals.add(str(error))
                if number == 0 and not has_parts:
                    break
                continue
            except Exception:   # A template fails in any way with what it does not take.
                continue
            if way[0] != TEXT and self.prints_none(body, text, *way[1:]):
                continue
            if self.writes_all(body, text) and self.writes_calls(body, text, way):
                return ("text", text) if self.reads_tools or not body.get("tools") else ("tools unread", None)
            left_out = True
        if left_out:
            return "left out", None
        return ("refused", refusals) if refusals else ("error", None)
