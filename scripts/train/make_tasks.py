#!/usr/bin/env python3
"""Makes the data of two small tasks, by rules and a seed: a style and an extraction, for adapters that a person can look at.

    scripts/train/make_tasks.py --out tasks
    "$(scripts/train/environment.sh)" scripts/train/adapter.py --model model.gguf --data tasks/pirate.train.jsonl --out tasks/pirate

pirate: short messages as a pirate would say them. They begin with "Ahoy!" and end with ", matey!", and words between change by a list (the:
th', you: ye, is: be, ...; -ing: -in'); all other words stay. facts: of a sentence about a journey, a meeting or a birth, name, date and
place as JSON, in this order. OUT gets TASK.train.jsonl with --examples dialogues and TASK.held_out.jsonl with --held_out others, one per
line, as adapter.py and tessera_generate --jsonl read messages. Held-out ones have names, places and things that no training example has.
The same flags make the same files on any machine. score_task.py says how well a model does either.
"""
import json
import random
import sys
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parents[1]}/lib")
from script_main import flag_parser, positive, run_main  # noqa: E402

# What a pirate says instead. Messages have many of these.
SAID = {"the": "th'", "you": "ye", "your": "yer", "my": "me", "is": "be", "are": "be", "am": "be", "of": "o'", "and": "an'", "for": "fer",
        "to": "t'", "friend": "shipmate", "money": "doubloons", "drink": "grog", "boat": "ship", "yes": "aye", "never": "ne'er"}
BEGIN, END = "Ahoy!", ", matey!"

ASK_PIRATE = "Say this as a pirate: {}"
ASK_FACTS = "Write name, date and place as JSON: {}"

# For training, and for what is held out.
FIRST = (["Ann", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Iris", "Jonas", "Karla", "Leo", "Mira", "Nils", "Olga",
          "Peter", "Rosa", "Simon", "Tilda", "Viktor", "Amira", "Bjorn", "Carmen", "Dmitri", "Esther", "Frank", "Hannah", "Ivan", "Julia",
          "Klaus", "Lena", "Marco", "Nadia", "Oscar", "Paula", "Robert", "Sofia", "Thomas", "Ursula", "Walter"],
         ["Agnes", "Bruno", "Cecilia", "Dario", "Edith", "Fabian", "Gloria", "Henrik"])
LAST = (["Weber", "Novak", "Rossi", "Larsen", "Dubois", "Kowalski", "Silva", "Meyer", "Okafor", "Tanaka", "Lindgren", "Moreau", "Ivanov",
         "Garcia", "Hansen", "Keller", "Brown", "Conti", "Diaz", "Eriksen", "Fontaine", "Gruber", "Horvat", "Jansen", "Klein", "Lopez",
         "Murphy", "Nilsson", "Olsen", "Popov", "Quinn", "Richter"],
        ["Bauer", "Costa", "Fischer", "Haddad", "Jensen", "Petrov", "Sato", "Vogel"])
PLACES = (["Ulm", "Oslo", "Porto", "Krakow", "Lyon", "Turin", "Bergen", "Graz", "Utrecht", "Malmo", "Seville", "Tartu", "Ghent", "Basel",
           "Varna", "Cork", "Leeds", "Nantes", "Parma", "Bremen", "Antwerp", "Bristol", "Cadiz", "Dublin", "Essen", "Florence", "Geneva",
           "Hamburg", "Innsbruck", "Kiel", "Lisbon", "Madrid", "Naples", "Odessa", "Prague", "Rouen", "Split", "Trieste", "Vienna",
           "Warsaw"],
          ["Riga", "Dresden", "Bilbao", "Aarhus", "Verona", "Lublin", "Salzburg", "Tampere"])
THINGS = (["umbrella", "letter", "blue coat", "old camera", "piano", "garden key", "map", "red bicycle", "parcel", "ladder", "violin",
           "passport", "black suitcase", "lamp", "contract", "birthday cake", "clock", "horse", "ticket", "painting", "bread", "candle",
           "chair", "diamond", "flag", "guitar", "hammer", "helmet", "mirror", "newspaper", "notebook", "orange", "pistol", "radio", "rope",
           "sandwich", "table", "teapot", "watch", "wooden box"],
          ["telescope", "green tent", "kettle", "chess board", "silver ring", "manuscript", "sewing machine", "parrot"])
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
DAYS = ["on Monday", "on Tuesday", "on Wednesday", "on Thursday", "on Friday", "tomorrow", "tonight", "at noon", "next week"]

MESSAGES = ["The train from {place} is coming {day}.", "You are bringing the {thing} to {place}.",
            "{first} and my friend found the {thing} in {place}.", "I am sending {a_thing} to {first}.",
            "Your meeting with the captain of {place} is {day}.", "{first} is looking for your {thing}.",
            "My money is in the {thing}.", "The {thing} of {first} is on the boat.", "You are meeting {first} in {place} {day}.",
            "{first} is selling the {thing} for money.", "The weather in {place} is never good.", "My friend {first} is calling you {day}.",
            "I am never going to {place}.", "The road to {place} and the bridge are closed.", "{first} is drinking the drink of my friend.",
            "We are waiting for {first} and the {thing} {day}."]

# Sentences of facts, with the place of each part; {other} is a place that is not asked for.
FACTS = ["{name} flew from {other} to {place} on {date}.", "On {date}, {name} opened a bakery in {place}.",
         "{name} was born in {place} on {date}.", "The concert of {name} in {place} is on {date}.",
         "After a long winter in {other}, {name} moved to {place} on {date}.", "{name} will meet the mayor of {place} on {date}.",
         "In {place}, {name} signed the contract on {date}.", "On {date} the train to {place} left without {name}.",
         "{name} won the race in {place} on {date}.", "The letter from {name}, written in {place} on {date}, was lost.",
         "Since {date}, {name} has been living in {place}.", "{name}, a teacher from {other}, visited {place} on {date}.",
         "A photo of {name} was taken in {place} on {date}.", "They expect {name} in {place} on {date}.",
         "Until {date}, {name} worked at the harbour of {place}.", "{name} lost a watch in {place} on {date}."]


def said_word(word):
    """One word, perhaps with a full stop behind, as a pirate says it; a capital stays one, and so do short words in -ing."""
    bare = word.rstrip(".")
    said = SAID.get(bare.lower(), f"{bare[:-3]}in'" if bare.endswith("ing") and len(bare) > 4 else bare)
    return (said[0].upper() if bare[0].isupper() else said[0]) + said[1:] + word[len(bare):]


def pirate_of(message):
    """The rule."""
    return f"{BEGIN} {' '.join(said_word(word) for word in message.split()).rstrip('.')}{END}"


def date_of(draw):
    day, month, year = draw.randint(1, 28), draw.choice(MONTHS), draw.randint(1920, 2019)
    return draw.choice([f"{day} {month} {year}", f"{month} {day}, {year}", f"{day} {month}"])


def sentence_of(draw, template, held):
    thing = draw.choice(THINGS[held])
    return template.format(place=draw.choice(PLACES[held]), day=draw.choice(DAYS), first=draw.choice(FIRST[held]), thing=thing,
                           a_thing=f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}")


def pirate(draw, held):
    message = " ".join(sentence_of(draw, template, held) for template in draw.sample(MESSAGES, draw.choice([1, 2, 2])))
    return ASK_PIRATE.format(message), pirate_of(message)


def facts(draw, held):
    name = f"{draw.choice(FIRST[held])} {draw.choice(LAST[held])}"
    place, other = draw.sample(PLACES[held], 2)
    date = date_of(draw)
    sentence = draw.choice(FACTS).format(name=name, date=date, place=place, other=other)
    return ASK_FACTS.format(sentence), json.dumps({"name": name, "date": date, "place": place})


TASKS = {"pirate": pirate, "facts": facts}


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
