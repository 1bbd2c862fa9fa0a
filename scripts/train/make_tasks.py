#!/usr/bin/env python3
"""Makes the data of two small tasks, by rules and a seed: a style and an extraction, for adapters that a person can look at.

    scripts/train/make_tasks.py --out tasks
    "$(scripts/train/environment.sh)" scripts/train/adapter.py --model model.gguf --data tasks/telegram.train.jsonl --out tasks/telegram

telegram: short messages become telegrams. Letters are capitals, the words THE, A, AN and what people put between words for politeness go,
and each sentence ends with STOP. facts: of a sentence about a journey, a meeting or a birth, name, date and place as JSON, in this order.
OUT gets TASK.train.jsonl with --examples dialogues and TASK.held_out.jsonl with --held_out others, one per line, as adapter.py and
tessera_generate --jsonl read messages. Held-out ones have names, places and things that no training example has. The same flags make the
same files on any machine. score_task.py says how well a model does either.
"""
import json
import random
import sys
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parents[1]}/lib")
from script_main import flag_parser, positive, run_main  # noqa: E402

# What a telegram leaves out. Messages use some of these, so that there is something to leave out.
LEFT_OUT = {"the", "a", "an", "please", "kindly", "just", "really", "very", "quite"}
STOP = "STOP"

ASK_TELEGRAM = "Write this message as a telegram: {}"
ASK_FACTS = "Write name, date and place as JSON: {}"

# For training, and for what is held out.
FIRST = (["Ann", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Iris", "Jonas", "Karla", "Leo", "Mira", "Nils", "Olga",
          "Peter", "Rosa", "Simon", "Tilda", "Viktor"],
         ["Agnes", "Bruno", "Cecilia", "Dario", "Edith", "Fabian", "Gloria", "Henrik"])
LAST = (["Weber", "Novak", "Rossi", "Larsen", "Dubois", "Kowalski", "Silva", "Meyer", "Okafor", "Tanaka", "Lindgren", "Moreau", "Ivanov",
         "Garcia", "Hansen", "Keller"],
        ["Bauer", "Costa", "Fischer", "Haddad", "Jensen", "Petrov", "Sato", "Vogel"])
PLACES = (["Ulm", "Oslo", "Porto", "Krakow", "Lyon", "Turin", "Bergen", "Graz", "Utrecht", "Malmo", "Seville", "Tartu", "Ghent", "Basel",
           "Varna", "Cork", "Leeds", "Nantes", "Parma", "Bremen"],
          ["Riga", "Dresden", "Bilbao", "Aarhus", "Verona", "Lublin", "Salzburg", "Tampere"])
THINGS = (["umbrella", "letter", "blue coat", "old camera", "piano", "garden key", "map", "red bicycle", "parcel", "ladder", "violin",
           "passport", "black suitcase", "lamp", "contract", "birthday cake", "clock", "horse", "ticket", "painting"],
          ["telescope", "green tent", "kettle", "chess board", "silver ring", "manuscript", "sewing machine", "wooden boat"])
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
DAYS = ["on Monday", "on Tuesday", "on Wednesday", "on Thursday", "on Friday", "tomorrow", "tonight", "at noon", "next week"]

# Sentences of messages; the words in LEFT_OUT are those that a person would write.
MESSAGES = ["The train from {place} arrives {day}.", "Please bring the {thing} with you.", "{first} has found the {thing} in {place}.",
            "I am sending {a_thing} to {first}.", "The meeting in {place} is {day}.", "{first} is very happy about the {thing}.",
            "We really need {a_thing} {day}.", "The {thing} was left in {place}.", "Kindly meet {first} in {place} {day}.",
            "I just sold the {thing}.", "The weather in {place} is quite bad.", "{first} will call you {day}.",
            "Do not forget the {thing}.", "The bridge near {place} is closed.", "Please pay {first} for the {thing}.",
            "A doctor from {place} is coming {day}."]

# Sentences of facts, with the place of each part; {other} is a place that is not asked for.
FACTS = ["{name} flew from {other} to {place} on {date}.", "On {date}, {name} opened a bakery in {place}.",
         "{name} was born in {place} on {date}.", "The concert of {name} in {place} is on {date}.",
         "After a long winter in {other}, {name} moved to {place} on {date}.", "{name} will meet the mayor of {place} on {date}.",
         "In {place}, {name} signed the contract on {date}.", "On {date} the train to {place} left without {name}.",
         "{name} won the race in {place} on {date}.", "The letter from {name}, written in {place} on {date}, was lost.",
         "Since {date}, {name} has been living in {place}.", "{name}, a teacher from {other}, visited {place} on {date}.",
         "A photo of {name} was taken in {place} on {date}.", "They expect {name} in {place} on {date}.",
         "Until {date}, {name} worked at the harbour of {place}.", "{name} lost a watch in {place} on {date}."]


def telegram_of(message):
    """The rule: capitals, words left out, a STOP for each full stop."""
    words = []
    for word in message.split():
        bare = word.rstrip(".")
        if bare.lower() not in LEFT_OUT:
            words.append(bare.upper())
        if word.endswith("."):
            words.append(STOP)
    return " ".join(words)


def date_of(draw):
    day, month, year = draw.randint(1, 28), draw.choice(MONTHS), draw.randint(1920, 2019)
    return draw.choice([f"{day} {month} {year}", f"{month} {day}, {year}", f"{day} {month}"])


def sentence_of(draw, template, held):
    thing = draw.choice(THINGS[held])
    return template.format(place=draw.choice(PLACES[held]), day=draw.choice(DAYS), first=draw.choice(FIRST[held]), thing=thing,
                           a_thing=f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}")


def telegram(draw, held):
    message = " ".join(sentence_of(draw, template, held) for template in draw.sample(MESSAGES, draw.choice([1, 2, 2])))
    return ASK_TELEGRAM.format(message), telegram_of(message)


def facts(draw, held):
    name = f"{draw.choice(FIRST[held])} {draw.choice(LAST[held])}"
    place, other = draw.sample(PLACES[held], 2)
    date = date_of(draw)
    sentence = draw.choice(FACTS).format(name=name, date=date, place=place, other=other)
    return ASK_FACTS.format(sentence), json.dumps({"name": name, "date": date, "place": place})


TASKS = {"telegram": telegram, "facts": facts}


def examples(task, held, count, seed):
    """`count` different (question, answer), the same each time."""
    draw, found = random.Random(f"{task} {held} {seed}"), {}
    while len(found) < count:
        question, answer = TASKS[task](draw, held)
        found.setdefault(question, answer)
    return list(found.items())


def dialogue(question, answer):
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def write_task(folder, task, given):
    for held, name, count in ((0, "train", given.examples), (1, "held_out", given.held_out)):
        lines = [json.dumps(dialogue(*example)) + "\n" for example in examples(task, held, count, given.seed)]
        path = folder / f"{task}.{name}.jsonl"
        path.write_text("".join(lines), "utf-8")
        print(f"{path}: {count} dialogues")


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--out", required=True, metavar="FOLDER")
    flags.add_argument("--examples", type=positive, default=200)
    flags.add_argument("--held_out", type=positive, default=50)
    flags.add_argument("--seed", type=int, default=0)
    given = flags.parse_args()
    if max(given.examples, given.held_out) > 5000:
        flags.error(f"--examples, --held_out: found {max(given.examples, given.held_out)}, expected at most 5000")
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    for task in TASKS:
        write_task(folder, task, given)


if __name__ == "__main__":
    run_main(main)
