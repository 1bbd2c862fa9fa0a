"""Dialogues as clients send them to a server: 33 that are named, and random ones. Each is the body of a request without its id.

    for name, body in CLIENT_DIALOGUES.items(): ...      # {"messages": [...], "tools": [...], "continue_final_message": true}
    body = random_dialogue(7)                            # a seed gives the same one each time

Each text of a message holds a word that stands nowhere else, WORD and a number, so that a reader sees what a template leaves out."""
import json
import random

from dialogues import NOTHING, SEARCH, WEATHER

WORD = "wq"
CITY = {"city": "Berlin", "days": 2, "unit": "°C"}
QUERY = {"query": "sun \"now\"\n& <later>", "filters": ["a", "é"], "options": {"safe": True, "limit": None, "share": 0.5}}


def user(content, **more):
    return {"role": "user", "content": content, **more}


def system(content, **more):
    return {"role": "system", "content": content, **more}


def developer(content, **more):
    return {"role": "developer", "content": content, **more}


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


def tool(content, identity="call00001", **more):
    return {"role": "tool", "tool_call_id": identity, "content": content, **more}


def part(text):
    return {"type": "text", "text": text}


def tool_call(name, arguments, identity="call00001", **more):
    """A call with its arguments as JSON text, as the public schema has them."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": text}, **more}


WEATHER_CALL = tool_call("get_weather", CITY)
BOTH_CALLS = [WEATHER_CALL, tool_call("search", QUERY, "call00002")]
ASKED = user("wq1 Weather?")
DUMPED = {"refusal": None, "annotations": [], "audio": None, "function_call": None, "name": None}   # As client libraries write answers.
ALL_TOOLS = [WEATHER, SEARCH, NOTHING]


def body(*messages, tools=None, **more):
    return {"messages": list(messages), **({"tools": tools} if tools else {}), **more}


CLIENT_DIALOGUES = {
    "plain": body(user("wq1 Hi")),
    "system": body(system("wq1 Rhyme."), user("wq2 Hi")),
    "developer": body(developer("wq1 Rhyme."), user("wq2 Hi")),
    "developer in parts": body(developer([part("wq1 Rhyme."), part("wq2 Short.")]), user("wq3 Hi")),
    "user in parts": body(user([part("wq1 Two"), part("wq2 parts")])),
    "all in parts": body(system([part("wq1 S")]), user([part("wq2 Two"), part("wq3 parts")]), said([part("wq4 One")]), user("wq5 More")),
    "one part": body(user([part("wq1 One")]), said("wq2 Yes"), user([part("wq3 Go")])),
    "names": body(system("wq1 S", name="setup"), user("wq2 Hi", name="Ada"), said("wq3 Yes", name="bot"), user("wq4 Go", name="Ada")),
    "dumped answer": body(user("wq1 Hi"), said("wq2 Yes", **DUMPED, tool_calls=None), user("wq3 Go")),
    "dumped answer without calls": body(user("wq1 Hi"), said("wq2 Yes", refusal=None, tool_calls=[]), user("wq3 Go")),
    "refused answer": body(user("wq1 Hi"), said("wq2 No", refusal="I cannot."), user("wq3 Go")),
    "reasoning": body(user("wq1 Hi"), said("wq2 Yes", reasoning_content="Because."), user("wq3 Go")),
    "tools": body(user("wq1 Hi"), tools=ALL_TOOLS),
    "call": body(ASKED, said("", tool_calls=[WEATHER_CALL]), tool("wq2 21"), tools=[WEATHER]),
    "call without content": body(ASKED, said(None, tool_calls=[WEATHER_CALL]), tool("wq2 21"), tools=[WEATHER]),
    "call without the key": body(ASKED, {"role": "assistant", "tool_calls": [WEATHER_CALL]}, tool("wq2 21"), tools=[WEATHER]),
    "call after text": body(ASKED, said("wq2 I look.", tool_calls=[WEATHER_CALL]), tool("wq3 21"), tools=[WEATHER]),
    "dumped call": body(ASKED, said(None, **DUMPED, tool_calls=[{**WEATHER_CALL, "index": 0}]), tool("wq2 21"), tools=[WEATHER]),
    "two calls": body(ASKED, said(None, tool_calls=BOTH_CALLS), tool("wq2 21"), tool("wq3 none", "call00002"), tools=ALL_TOOLS),
    "call and answer": body(ASKED, said(None, tool_calls=[WEATHER_CALL]), tool("wq2 21"), said("wq3 It is 21."), user("wq4 Thanks"),
                            tools=[WEATHER]),
    "calls in turn": body(ASKED, said(None, tool_calls=[WEATHER_CALL]), tool("wq2 21"),
                          said(None, tool_calls=[tool_call("search", QUERY, "call00002")]), tool("wq3 x", "call00002"), tools=ALL_TOOLS),
    "call with no arguments": body(ASKED, said(None, tool_calls=[tool_call("ping", "{}")]), tool("wq2 pong"), tools=[NOTHING]),
    "call with blank arguments": body(ASKED, said(None, tool_calls=[tool_call("ping", "")]), tool("wq2 pong"), tools=[NOTHING]),
    "named result": body(ASKED, said(None, tool_calls=[WEATHER_CALL]), tool("wq2 21", name="get_weather"), tools=[WEATHER]),
    "result in parts": body(ASKED, said(None, tool_calls=[WEATHER_CALL]), tool([part("wq2 21"), part("wq3 dry")]), tools=[WEATHER]),
    "blank result in parts": body(ASKED, said(None, tool_calls=[WEATHER_CALL]), tool([part("")]), user("wq2 And?"),
                                  tools=[WEATHER]),
    "blank parts": body(system([part(" ")]), user([part("")]), said([part("")]), user("wq1 Go")),
    "call with null arguments": body(ASKED, said(None, tool_calls=[{"id": "call00001", "type": "function", "function": {
        "name": "ping", "arguments": None}}]), tool("wq2 pong"), tools=[NOTHING]),
    "call with reasoning": body(ASKED, said(None, reasoning_content="A tool helps.", tool_calls=[WEATHER_CALL]), tool("wq2 21"),
                                tools=[WEATHER]),
    "system, call and question": body(system("wq5 Use tools."), ASKED, said(None, tool_calls=[WEATHER_CALL]), tool("wq2 21"),
                                      said("wq3 It is 21."), user("wq4 And then?"), tools=[WEATHER]),
    "call at the end": body(ASKED, said("", tool_calls=[WEATHER_CALL]), tools=[WEATHER]),
    "continued": body(user("wq1 Hi"), said("wq2 The capital is"), continue_final_message=True),
    "continued with a blank": body(system("wq3 S"), user("wq1 Hi"), said("wq2 The capital is "), continue_final_message=True),
}
TEXTS = ["Hello", "  padded ", "two\nlines", "Grüße 中文 🙂", "<|im_end|> and <s>", "{\"a\": [1, 2]}", "it's \"quoted\" \\ back", "x" * 90,
         "a & b < c", "{{ 7 * 7 }}"]
VALUES = [1, -7, 2.5, True, False, None, "text", "", "é \"q\"", ["a", 1, None], {}, {"deep": {"er": [1, 2]}}, [], 10 ** 15]


class Writer:
    def __init__(self, seed):
        self.random, self.words, self.calls = random.Random(f"client {seed}"), 0, 0

    def chance(self, share):
        return self.random.random() < share

    def text(self):
        self.words += 1
        return f"{WORD}{self.words} {self.random.choice(TEXTS)} {WORD}{self.words}e"

    def content(self):
        return [part(self.text()) for _ in range(self.random.randint(1, 3))] if self.chance(0.2) else self.text()

    def spoken(self, role):
        more = {"name": "Ada"} if self.chance(0.1) else {}
        return {"role": role, "content": self.content(), **more}

    def answer(self):
        fields = {"refusal": None, "annotations": [], "audio": None, "tool_calls": None, "function_call": None,
                  "reasoning_content": self.random.choice([None, "Because."]), "name": "bot"}
        return said(self.content(), **{name: value for name, value in fields.items() if self.chance(0.15)})

    def arguments(self):
        names = self.random.sample(["city", "query", "days", "a_b", "filters", "é"], self.random.randint(0, 3))
        made = {name: self.random.choice(VALUES) for name in names}
        return json.dumps(made, ensure_ascii=self.chance(0.5), separators=self.random.choice([None, (",", ":")]),
                          indent=self.random.choice([None, None, 2]))

    def turn_of_tools(self):
        calls = []
        for _ in range(self.random.choice([1, 1, 2])):
            self.calls += 1
            name = self.random.choice(["get_weather", "search", "ping"])
            calls.append(tool_call(name, self.arguments(), f"call{self.calls:05}", **({"index": len(calls)} if self.chance(0.2) else {})))
        content = self.random.choice([None, None, "", "absent", self.text()])
        asks = {"role": "assistant", **({} if content == "absent" else {"content": content}), "tool_calls": calls}
        if self.chance(0.2):
            asks.update(refusal=None, annotations=[])
        if self.chance(0.2):
            asks["reasoning_content"] = "A tool helps."
        results = [tool(self.content(), each["id"], **({"name": each["function"]["name"]} if self.chance(0.3) else {})) for each in calls]
        return [asks, *results]


def random_dialogue(seed):
    writer = Writer(seed)
    messages = [writer.spoken(writer.random.choice(["system", "developer"]))] if writer.chance(0.5) else []
    messages.append(writer.spoken("user"))
    has_tools = writer.chance(0.7)
    for _ in range(writer.random.randint(0, 2)):
        messages += writer.turn_of_tools() if has_tools and writer.chance(0.7) else []
        messages += [writer.answer(), writer.spoken("user")] if writer.chance(0.7) else []
    more = {}
    if messages[-1]["role"] == "user" and writer.chance(0.2):
        messages.append(said(writer.text()))
        more["continue_final_message"] = True
    tools = writer.random.sample(ALL_TOOLS, writer.random.randint(1, 3)) if has_tools else None
    return body(*messages, tools=tools, **more)
