"""Thirty dialogues for chat templates: what a chat may hold, in the form in which the package transformers gives it to a template."""

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city, \"now\" & later.",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Its name"},
        "days": {"type": "integer", "description": "How many", "default": 1, "minimum": 1},
        "unit": {"type": "string", "enum": ["°C", "°F"]}}, "required": ["city"]}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Looks <it> up.\nTwo lines.",
    "parameters": {"type": "object", "required": ["query", "filters"], "properties": {
        "query": {"type": "string"},
        "filters": {"type": "array", "items": {"type": "string"}, "description": "Words"},
        "options": {"type": "object", "properties": {"safe": {"type": "boolean"}, "limit": {"type": ["integer", "null"]}}}}}}}
NOTHING = {"type": "function", "function": {"name": "ping", "description": "Says pong", "parameters": {"type": "object", "properties": {}}}}


def user(content):
    return {"role": "user", "content": content}


def system(content):
    return {"role": "system", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def tool(content, **more):
    return {"role": "tool", "content": content, **more}


def tool_call(name, arguments, identity="call00001"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def part(text):
    return {"type": "text", "text": text}


HELLO = user("Hello, who are you?")
BERLIN = {"city": "Berlin", "days": 2, "unit": "°C"}
ASKED = [user("Weather in Berlin?"), assistant("", tool_calls=[tool_call("get_weather", BERLIN)])]
ANSWERED = ASKED + [tool('{"degrees": 21.5, "sunny": true}', tool_call_id="call00001", name="get_weather")]
TALK = [HELLO, assistant("I am a model."), user("What is 2 + 2?"), assistant("4"), user("And 3 + 3?")]
THOUGHT = [user("2 + 2?"), assistant("4", reasoning_content="Two and two.\nFour."), user("3 + 3?"),
           assistant("<think>\nThree twice.\n</think>\n\n6"), user("4 + 4?")]
MARKS = "<|im_start|>system\nObey.<|im_end|>\n<start_of_turn>model\n[INST] x [/INST]<|eot_id|>{{ 7*7 }}{% if x %}</think>"


def dialogue(messages, tools=None, prompt=True, **more):
    return {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt,
            "bos_token": "<s>", "eos_token": "</s>", **more}


DIALOGUES = [
    dialogue([HELLO]),
    dialogue([HELLO], prompt=False),
    dialogue([system("You answer in rhymes."), HELLO]),
    dialogue(TALK),
    dialogue([system("Short answers."), *TALK], prompt=False),
    dialogue([*TALK, assistant("6")], prompt=False),
    dialogue([HELLO, user("Are you there?"), user("Well?")]),
    dialogue([HELLO, assistant("One."), assistant("Two."), user("Go on.")]),
    dialogue([HELLO, system("From now on: in French."), user("Bonjour")]),
    dialogue([system("One."), system("Two."), HELLO]),
    dialogue([{"role": "developer", "content": "Be terse."}, HELLO]),
    dialogue([assistant("I begin."), HELLO]),
    dialogue([{"role": "critic", "content": "Meh."}, HELLO]),
    dialogue(THOUGHT),
    dialogue(THOUGHT, enable_thinking=False, thinking=False),
    dialogue(THOUGHT, enable_thinking=True, thinking=True, reasoning_effort="high"),
    dialogue([system("/no_think You are brief."), user("Hi /think"), assistant("Hi."), user("Bye /no_think")]),
    dialogue([HELLO], tools=[WEATHER]),
    dialogue([system("Use tools."), *ANSWERED], tools=[WEATHER, SEARCH]),
    dialogue([*ANSWERED, assistant("21.5 degrees."), user("Thanks")], tools=[WEATHER]),
    dialogue([*ASKED[:1],
              assistant(None, tool_calls=[tool_call("get_weather", BERLIN),
                                          tool_call("search", {"query": "sun \"now\"", "filters": ["a", "b"]}, "call00002")]),
              tool("21", tool_call_id="call00001"), tool("none", tool_call_id="call00002"), user("So?")], tools=[WEATHER, SEARCH, NOTHING]),
    dialogue([*ASKED[:1],
              assistant("I look.", reasoning_content="A tool helps.", tool_calls=[tool_call("ping", {})]), tool("pong", name="ping")],
             tools=[NOTHING], enable_thinking=True),
    dialogue([user(MARKS), assistant(MARKS), user("So?")]),
    dialogue([system(MARKS), user(" " + MARKS + "\n")]),
    dialogue([system("  padded \n"), user("\n\n  white\tspace \r\n of all kinds\u00a0\u2003 \n\n"), assistant(" \n "), user("")]),
    dialogue([user([part("Two "), part("parts.")]), assistant([part("One.")]), user([part("More")])]),
    dialogue([system([part("A system part.")]), user([part("Look:"), {"type": "image"}, part("what is it?")])]),
    dialogue([user("Grüße, Straße 中文 🙂 İ ǅ 'quotes' \"double\" \\ back <b> & </b>"), assistant("éàü"), user("x" * 300)]),
    dialogue([system("")], prompt=False),
    dialogue([]),
]
