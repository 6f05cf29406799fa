# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""The synthetic corpus of models/nano: a generator with a fixed seed, every sentence ours.

`documents(seed, count)` yields (kind, text); a text never holds the end marker, the packer adds it.
`split(text)` says "train" or "held-out" from a digest of the text, so that no held-out document is ever trained on.
Run as a program it prints documents, or with --stats their counts.
"""
import argparse
import hashlib
import random

import corpus_data as D

IM_START, IM_END, END = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


def an(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def cap(text):
    return text[0].upper() + text[1:]


# ---- facts: each function returns (statement, question, short answer) --------------------------------------------------------

def fact_capital(r):
    country, city, _, _ = r.choice(D.COUNTRIES)
    said = r.choice([f"The capital of {country} is {city}."] * 6 + [f"{city} is the capital of {country}."] * 2 +
                    [f"The capital city of {country} is called {city}."])
    asked = r.choice([f"What is the capital of {country}?"] * 3 + [
        f"Which city is the capital of {country}?", f"Tell me the capital of {country}.", f"What's the capital of {country}?",
        f"Do you know the capital of {country}?", f"Please name the capital of {country}.", f"capital of {country}?",
        f"What is the capital city of {country}?"])
    return said, asked, f"The capital of {country} is {city}."


def fact_check(r):
    """Yes or no."""
    country, city, _, _ = r.choice(D.COUNTRIES)
    other = city if r.random() < 0.5 else r.choice(D.COUNTRIES)[1]
    answer = f"Yes, {city} is the capital of {country}." if other == city else f"No, the capital of {country} is {city}."
    return f"{city} is the capital of {country}.", f"Is {other} the capital of {country}?", answer


def fact_country(r):
    country, city, language, continent = r.choice(D.COUNTRIES)
    if r.random() < 0.5:
        asked = r.choice([f"Which language do people speak in {country}?", f"What language is spoken in {country}?"])
        return f"People in {country} speak {language}.", asked, \
            f"People in {country} speak {language}."
    asked = r.choice([f"Where is {country}?", f"On which continent is {country}?"])
    said = f"{cap(country)} is a country in {continent}."
    return said, asked, said


def fact_opposite(r):
    a, b = r.choice(D.OPPOSITES)
    if r.random() < 0.5:
        a, b = b, a
    said = r.choice([f"The opposite of {a} is {b}."] * 5 + [f"{cap(a)} is the opposite of {b}."])
    asked = r.choice([f"What is the opposite of {a}?"] * 2 + [f"Tell me the opposite of {a}.", f"What's the opposite of {a}?",
                                                              f"What is the opposite of the word {a}?"])
    return said, asked, f"The opposite of {a} is {b}."


def fact_colour(r):
    thing, colour = r.choice(D.COLOURS)
    said = r.choice([f"The colour of {thing} is {colour}."] * 3 + [f"{cap(thing)} is {colour}."] * 2)
    asked = r.choice([f"What colour is {thing}?", f"What is the colour of {thing}?", f"Which colour does {thing} have?"])
    return said, asked, f"{cap(thing)} is {colour}."


def fact_calendar(r):
    kind, names = r.choice([("day", D.DAYS), ("month", D.MONTHS)])
    i = r.randrange(len(names))
    before, here, after = names[i - 1], names[i], names[(i + 1) % len(names)]
    link = r.choice(["after", "before"])
    answer = after if link == "after" else before
    said = f"The {kind} {link} {here} is {answer}."
    asked = r.choice([f"Which {kind} comes {link} {here}?", f"What {kind} is {link} {here}?", f"What is the {kind} {link} {here}?"])
    return said, asked, said


def fact_animal(r):
    pick = r.randrange(3)
    if pick == 0:
        animal, sound = r.choice(D.SOUNDS)
        return f"{cap(an(animal))} says {sound}.", f"What does {an(animal)} say?", f"{cap(an(animal))} says {sound}."
    if pick == 1:
        animal, young = r.choice(D.YOUNG)
        said = r.choice([f"A young {animal} is called {an(young)}.", f"A baby {animal} is called {an(young)}."])
        asked = r.choice([f"What is a young {animal} called?", f"What is a baby {animal} called?"])
        return said, asked, f"A young {animal} is called {an(young)}."
    animal, home = r.choice(D.HOMES)
    said = f"{cap(an(animal))} lives in {'the sea' if home == 'sea' else an(home)}."
    return said, f"Where does {an(animal)} live?", said


def fact_count(r):
    owner, number, things = r.choice(D.COUNTS)
    return f"{cap(owner)} has {number} {things}.", f"How many {things} does {owner} have?", f"{cap(owner)} has {number} {things}."


def fact_kind(r):
    if r.random() < 0.5:
        thing, kind = r.choice(D.KINDS)
        name = thing if thing in D.NO_ARTICLE else an(thing)
        return f"{cap(name)} is {an(kind)}.", f"What is {name}?", f"{cap(name)} is {an(kind)}."
    who, does, where = r.choice(D.WORK)
    if r.random() < 0.5:
        return f"{cap(an(who))} {does}.", f"What does {an(who)} do?", f"{cap(an(who))} {does}."
    return f"{cap(an(who))} works {where}.", f"Where does {an(who)} work?", f"{cap(an(who))} works {where}."


def fact_grammar(r):
    if r.random() < 0.45:
        one, many = r.choice(D.PLURALS)
        return f"The plural of {one} is {many}.", f"What is the plural of {one}?", f"The plural of {one} is {many}."
    verb, past, done = r.choice(D.IRREGULAR)
    return f"The past tense of {verb} is {past}.", f"What is the past tense of {verb}?", f"The past tense of {verb} is {past}."


def fact_misc(r):
    start, answer, asked = r.choice(D.MISC)
    return f"{start} {answer}.", asked, f"{start} {answer}."


def fact_sum(r):
    words, op = r.random() < 0.5, r.randrange(3)
    if op == 0:
        a, b = r.randrange(11), r.randrange(11)
        c, sign, word = a + b, "+", "plus"
    elif op == 1:
        c, b = r.randrange(11), r.randrange(11)
        a, sign, word = c + b, "-", "minus"
    else:
        a, b = r.randrange(1, 6), r.randrange(1, 5)
        c, sign, word = a * b, "*", "times"
    n = D.NUMBERS
    if words:
        said, left, right = f"{cap(n[a])} {word} {n[b]} is {n[c]}.", n[a], n[b]
    else:
        said, left, right = f"{a} {sign} {b} = {c}", str(a), str(b)
    asked = r.choice([f"What is {left} {word if words else sign} {right}?"] * 3 +
                     [f"How much is {left} {word if words else sign} {right}?", f"Calculate {left} {word if words else sign} {right}."])
    return said, asked, said


FACTS = [fact_capital] * 5 + [fact_country] * 2 + [fact_opposite] * 3 + [fact_colour] * 2 + [fact_calendar] * 2 + \
        [fact_animal] * 4 + [fact_count] * 2 + [fact_kind] * 3 + [fact_grammar] * 3 + [fact_misc] * 4 + [fact_sum] * 7 + [fact_check]


def doc_facts(r):
    """One to eight facts; in one document of three they are all of one sort."""
    count = r.choice([1, 1, 2, 3, 4, 6, 8])
    one = r.choice(FACTS) if r.random() < 0.35 else None
    style, out = r.random(), []
    for _ in range(count):
        said, question, answer = (one or r.choice(FACTS))(r)
        if style < 0.18:
            out.append(f"Question: {question}\nAnswer: {answer}\n")
        else:
            out.append(said)
    joined = "\n".join(out) if style < 0.5 or any("=" in x for x in out) else " ".join(out)
    return joined.rstrip("\n")


def doc_person(r):
    """A person whose place, language and things agree from sentence to sentence."""
    country, city, language, continent = r.choice(D.COUNTRIES)
    girl = r.random() < 0.5
    name, age, year = r.choice(D.GIRLS if girl else D.BOYS), r.choice(D.NUMBERS[7:14]), r.choice(D.SKILLS)
    food, thing, colour = r.choice(["bread", "cake", "soup", "honey", "cheese"]), r.choice(D.THINGS), r.choice(D.THING_COLOURS)
    if r.random() < 0.5:
        return (f"My name is {name}. I am {age} years old. I live in {city}, the capital of {country}. {cap(country)} is in {continent}, "
                f"and I speak {language}. I like to {year}. My favourite food is {food}. I have {an(colour)} {thing}.")
    he, his = ("she", "her") if girl else ("he", "his")
    return (f"{name} is {age} years old. {cap(he)} lives in {city}, the capital of {country}. {cap(country)} is in {continent}, and {name} "
            f"speaks {language}. {cap(he)} likes to {year}. {cap(his)} favourite food is {food}. {name} has {an(colour)} {thing}.")


def doc_animal(r):
    """What the lists say about one animal, put together."""
    young, sounds, homes = dict(D.YOUNG), dict(D.SOUNDS), dict(D.HOMES)
    animal = r.choice(sorted(set(young) & (set(sounds) | set(homes))))
    out = [f"A {animal} is an animal.", f"A young {animal} is called {an(young[animal])}."]
    if animal in sounds:
        out.append(f"A {animal} says {sounds[animal]}.")
    if animal in homes:
        out.append(f"A {animal} lives in {an(homes[animal])}.")
    return " ".join(out)


def doc_words(r):
    """Word forms: keeps the tokenizer's vocabulary broad and teaches a little grammar."""
    pick = r.randrange(4)
    if pick == 0:
        v = r.choice(D.REGULAR)
        y = v[-1] == "y" and v[-2] not in "aeiou"
        double = v in D.DOUBLING
        past = v + "d" if v[-1] == "e" else v[:-1] + "ied" if y else v + v[-1] + "ed" if double else v + "ed"
        doing = v + v[-1] + "ing" if double else v[:-2] + "ying" if v.endswith("ie") else \
            v[:-1] + "ing" if v[-1] == "e" and not v.endswith("ee") else v + "ing"
        third = v[:-1] + "ies" if y else v + "es" if v.endswith(("s", "x", "ch", "sh", "z", "o")) else v + "s"
        who = r.choice(D.GIRLS)
        return f"The past tense of {v} is {past}. {who} {third} every day. Today she is {doing}. Yesterday she {past} too."
    if pick == 1:
        v, past, done = r.choice(D.IRREGULAR)
        return f"The past tense of {v} is {past}. Today I {v}. Yesterday I {past}. I have {done} many times."
    if pick == 2:
        a, n = r.choice(D.ADJECTIVES), r.choice(D.NOUNS)
        who = r.choice(D.BOYS)
        return f"This is {an(a)} {n}. {who} likes the {n} because it is {a}. The {a} {n} belongs to {who}."
    n1, n2, n3 = r.sample(D.NOUNS, 3)
    return f"There is {an(n1)}, {an(n2)} and {an(n3)} in the picture. I can see the {n1}. I can see the {n2}. I can see the {n3}."


# ---- stories -----------------------------------------------------------------------------------------------------------------

def hero(r, other=None):
    """(noun, name, he/she, him/her, his/her); with `other`, the second person of that one's story."""
    girls, boys = (D.FRIEND_GIRLS, D.FRIEND_BOYS) if other else (D.GIRLS, D.BOYS)
    while True:
        noun, sex = r.choice(D.HEROES)
        if sex == "it":
            sex = r.choice(["he", "she"])
        name = r.choice(girls if sex == "she" else boys)
        if other is None or noun != other[0]:
            return (noun, name) + (("she", "her", "her") if sex == "she" else ("he", "him", "his"))


def opening(r, h, place):
    start = r.choice(["Once upon a time there was"] * 3 + ["Once upon a time, there was"] * 3 + ["Long ago there was", "There was once"])
    return f"{start} a little {h[0]} named {h[1]}. {h[1]} lived {place}."


def plot_lost(r, h, f):
    noun, name, he, him, his = h
    thing, colour, spot = r.choice(D.THINGS), r.choice(D.THING_COLOURS), r.choice(D.SPOTS)
    t = f"{colour} {thing}"
    return [f"{cap(he)} had {an(t)} and {he} loved it very much.",
            f"One day {name} could not find the {thing}. {cap(he)} looked in every room, but the {thing} was not there. {name} was very sad.",
            f"Then {his} friend {f[1]} the {f[0]} came to visit. \"Do not cry,\" said {f[1]}. \"I will help you to look for your {thing}.\"",
            f"They looked everywhere together. At last they found the {t} {spot}. \"Here it is!\" shouted {f[1]}.",
            f"{name} was so happy that {he} danced. {cap(he)} thanked {f[1]}, and they played with the {t} until the sun went down."]


def plot_storm(r, h, f):
    noun, name, he, him, his = h
    food = r.choice(D.FOODS)
    return [f"One evening a great storm came. The wind was loud and the rain was cold.",
            f"{name} sat by the warm fire and heard a knock at the door. It was {f[1]} the {f[0]}. {cap(f[2])} was wet and {f[2]} was shivering.",
            f"\"Please, may I come in?\" asked {f[1]}. \"Of course,\" said {name}. \"Come in and get warm.\"",
            f"{name} gave {f[3]} a dry blanket and some {food}. They told stories all night while the storm roared outside." if not food.startswith("an ")
            else f"{name} gave {f[3]} a dry blanket and a piece of apple pie. They told stories all night while the storm roared outside.",
            f"In the morning the sun was shining again. {f[1]} thanked {name} for {his} kindness, and from that day on they were good friends."]


def plot_learn(r, h, f):
    noun, name, he, him, his = h
    skill = r.choice(D.SKILLS)
    return [f"{name} wanted to learn how to {skill}.",
            f"On the first day {he} tried and tried, but {he} could not do it. \"It is too hard,\" said {name}.",
            f"{f[1]} the {f[0]} smiled. \"Everything is hard at first,\" said {f[1]}. \"Try again every day, and I will help you.\"",
            f"So {name} tried again every day. After one week {he} was a little better. After one month {he} could {skill} very well.",
            f"\"Look at me!\" called {name}. \"Now I can {skill}!\" {f[1]} clapped and was very proud of {him}."]


def plot_share(r, h, f):
    noun, name, he, him, his = h
    food = r.choice(["bread", "cake", "cheese", "honey", "soup"])
    return [f"One morning {name} made some {food}. It smelled very good.",
            f"{cap(he)} wanted to eat it all alone. Then {f[1]} the {f[0]} walked by. {cap(f[2])} looked tired and hungry.",
            f"\"What is wrong?\" asked {name}. \"I have not eaten today,\" said {f[1]}.",
            f"{name} thought for a moment. Then {he} gave half of the {food} to {f[1]}. They sat down and ate together.",
            f"\"Thank you,\" said {f[1]}. \"You are very kind.\" {name} smiled, because the {food} tasted better with a friend."]


def plot_rescue(r, h, f):
    noun, name, he, him, his = h
    where, tool = r.choice([("a deep hole", "a long rope"), ("a high tree", "a ladder"), ("the cold river", "a strong branch")])
    verb = {"a deep hole": "fallen into", "a high tree": "climbed up", "the cold river": "fallen into"}[where]
    stuck = {"a deep hole": "could not get out", "a high tree": "could not get down", "the cold river": "could not get out"}[where]
    return [f"One day {name} went for a walk. Suddenly {he} heard a voice. \"Help! Help!\" the voice cried.",
            f"It was {f[1]} the {f[0]}. {cap(f[2])} had {verb} {where} and {f[2]} {stuck}.",
            f"\"Do not be afraid,\" said {name}. \"I will help you.\" {cap(he)} ran home and came back with {tool}.",
            f"{name} held {tool.split(' ', 1)[0] == 'a' and 'the ' + tool.split(' ', 1)[1] or tool} with all {his} strength. Slowly, slowly, {f[1]} came to safety.",
            f"\"You saved me!\" said {f[1]}. After that day {name} and {f[1]} went for a walk together every morning."]


def plot_garden(r, h, f):
    noun, name, he, him, his = h
    plant = r.choice(["rose", "carrot", "pumpkin", "sunflower", "tomato"])
    return [f"In spring {name} planted a small seed in the garden.",
            f"Every day {he} gave it water. But nothing happened, and {name} began to worry. \"Why does it not grow?\" {he} asked.",
            f"\"You must be patient,\" said {his} friend {f[1]} the {f[0]}. \"A seed needs sun, water and time.\"",
            f"So {name} waited. One morning there was a tiny green leaf. Day by day the plant grew bigger.",
            f"In summer there was a beautiful {plant} in the garden. {name} showed it to {f[1]}, and they were both very happy."]


def plot_gift(r, h, f):
    noun, name, he, him, his = h
    thing, colour = r.choice(D.THINGS), r.choice(D.THING_COLOURS)
    t = f"{colour} {thing}"
    return [f"It was the birthday of {his} best friend, {f[1]} the {f[0]}.",
            f"{name} went to the market to buy a present. {cap(he)} saw {an(t)}. \"That is just right for {f[1]},\" {he} thought.",
            f"But the {thing} cost ten coins, and {name} had only five. So {he} worked all day for the old shopkeeper.",
            f"In the evening the shopkeeper said, \"You worked hard. The {thing} is yours.\" {name} ran to the house of {f[1]}.",
            f"{f[1]} opened the box and saw the {t}. \"This is the best present of all!\" said {f[1]}, and {f[2]} gave {name} a big hug."]


def plot_race(r, h, f):
    noun, name, he, him, his = h
    goal = r.choice(D.GOALS)
    return [f"{f[1]} the {f[0]} was very fast and always laughed at {name}. \"You are so slow,\" said {f[1]}.",
            f"\"Let us run a race to {goal},\" said {name}. {f[1]} agreed, and the next morning they began to run.",
            f"{f[1]} was soon far ahead. \"I have plenty of time,\" {f[2]} thought, and {f[2]} lay down to sleep in the sun.",
            f"{name} did not stop. Step by step {he} walked on, and {he} passed {f[1]} without a sound.",
            f"When {f[1]} woke up, {name} was already at {goal}. \"You won,\" said {f[1]}. \"I will never laugh at you again.\""]


def plot_bridge(r, h, f):
    noun, name, he, him, his = h
    goods = r.choice(["apples", "letters", "flowers", "eggs"])
    return [f"Every week {name} carried a basket of {goods} over the river to {his} friend {f[1]} the {f[0]}.",
            f"One day the water was high and the bridge was broken. {name} stood on the bank and did not know what to do.",
            f"\"Wait there!\" called {f[1]} from the other side. {cap(f[2])} pushed a long tree over the water.",
            f"{name} walked across very carefully and held the basket with both arms. Not one of the {goods} fell into the river.",
            f"The next day {name} and {f[1]} built a new bridge together. It was stronger than the old one."]


def plot_dark(r, h, f):
    noun, name, he, him, his = h
    return [f"{name} was afraid of the dark. Every night {he} asked for a light.",
            f"One night the lamp went out. {name} hid under the blanket and called for {his} friend {f[1]} the {f[0]}.",
            f"{f[1]} took {name} by the hand and they went outside. \"Look up,\" said {f[1]}.",
            f"{name} looked up and saw a thousand stars. The moon was round and bright. \"How beautiful!\" {he} said.",
            f"\"You can only see the stars when it is dark,\" said {f[1]}. From that night on {name} was not afraid any more."]


def plot_song(r, h, f):
    noun, name, he, him, his = h
    tool = r.choice(["drum", "flute", "violin", "trumpet", "bell"])
    return [f"{name} loved music. {cap(he)} played the {tool} every evening, but always alone.",
            f"{f[1]} the {f[0]} lived next door. {cap(f[2])} heard the {tool} and opened the window to listen.",
            f"One evening {f[1]} began to sing. {name} stopped and listened. \"What a lovely voice!\" {he} called.",
            f"They met in the garden. {name} played the {tool} and {f[1]} sang, and all the neighbours came to listen.",
            f"Everybody clapped. \"Music is better together,\" said {name}, and {f[1]} agreed."]


def plot_snow(r, h, f):
    noun, name, he, him, his = h
    thing = r.choice(["an old hat", "a red scarf", "a blue coat"])
    nose = r.choice(["a carrot", "a stone", "a small potato"])
    return [f"One winter morning everything was white. \"It has snowed!\" shouted {name}, and {he} ran outside.",
            f"{f[1]} the {f[0]} was already there. \"Let us build a snowman,\" said {f[1]}.",
            f"They rolled two big balls of snow. {name} brought {nose} for the nose and {f[1]} brought {thing}.",
            f"The snowman looked very fine. They gave him a name and danced around him until they were cold.",
            f"Then they went inside and drank hot milk by the fire. Through the window they could see their snowman smile."]


def plot_truth(r, h, f):
    noun, name, he, him, his = h
    thing = r.choice(["cup", "plate", "vase", "lamp", "window"])
    return [f"One day {name} was playing inside the house of {f[1]} the {f[0]}. {cap(he)} jumped too high and broke a {thing}.",
            f"Nobody had seen it. \"I could run away,\" thought {name}. But {he} did not feel good about that.",
            f"So {name} waited until {f[1]} came home. \"I am sorry,\" {he} said. \"I broke your {thing}.\"",
            f"{f[1]} was quiet for a moment. \"I am sad about the {thing},\" said {f[1]}, \"but I am glad that you told me the truth.\"",
            f"Together they cleaned the floor. The next week {name} bought a new {thing} with {his} own coins."]


PLOTS = [plot_race, plot_bridge, plot_dark, plot_song, plot_snow, plot_truth, plot_lost, plot_storm,
         plot_learn, plot_share, plot_rescue, plot_garden, plot_gift]
MORALS = ["And they lived happily ever after.", "The end.", "", ""]


def story(r, h=None):
    h = h or hero(r)
    f = hero(r, h)
    parts = [opening(r, h, r.choice(D.PLACES))] + r.choice(PLOTS)(r, h, f)
    text = (" " if r.random() < 0.6 else "\n").join(parts)
    moral = r.choice(MORALS)
    return (text + " " + moral).strip()


def doc_long(r):
    """Several stories and facts as one long text, so that positions past 500 are ordinary."""
    out = []
    for chapter in range(r.randrange(3, 6)):
        out.append(f"Chapter {chapter + 1}\n\n{story(r)}" if r.random() < 0.6 else story(r))
        if r.random() < 0.5:
            out.append(doc_facts(r))
    return "\n\n".join(out)


# ---- code --------------------------------------------------------------------------------------------------------------------

BINARY = [("add", "+", "sum"), ("subtract", "-", "difference"), ("multiply", "*", "product"), ("divide", "/", "quotient")]
PAIRS = [("a", "b"), ("a", "b"), ("x", "y"), ("first", "second"), ("left", "right")]
LISTS = ["items", "values", "numbers", "data", "words"]


def py_function(r):
    name, op, what = r.choice(BINARY)
    a, b = r.choice(PAIRS)
    xs, n = r.choice(LISTS), r.choice(["n", "x", "number", "value"])
    s = r.choice(["text", "word", "name", "s"])
    doc = r.random() < 0.25
    return r.choice([
        f"def {name}({a}, {b}):\n" + (f"    \"\"\"Return the {what} of {a} and {b}.\"\"\"\n" if doc else "") + f"    return {a} {op} {b}\n",
        f"def {name}({a}, {b}):\n    return {a} {op} {b}\n",
        f"def maximum({a}, {b}):\n    if {a} > {b}:\n        return {a}\n    return {b}\n",
        f"def minimum({a}, {b}):\n    if {a} < {b}:\n        return {a}\n    return {b}\n",
        f"def square({n}):\n    return {n} * {n}\n",
        f"def double({n}):\n    return 2 * {n}\n",
        f"def is_even({n}):\n    return {n} % 2 == 0\n",
        f"def is_odd({n}):\n    return {n} % 2 == 1\n",
        f"def absolute({n}):\n    if {n} < 0:\n        return -{n}\n    return {n}\n",
        f"def factorial({n}):\n    if {n} <= 1:\n        return 1\n    return {n} * factorial({n} - 1)\n",
        f"def fibonacci({n}):\n    if {n} < 2:\n        return {n}\n    return fibonacci({n} - 1) + fibonacci({n} - 2)\n",
        f"def total({xs}):\n    result = 0\n    for item in {xs}:\n        result += item\n    return result\n",
        f"def mean({xs}):\n    if not {xs}:\n        return 0\n    return sum({xs}) / len({xs})\n",
        f"def count({xs}, target):\n    found = 0\n    for item in {xs}:\n        if item == target:\n            found += 1\n    return found\n",
        f"def reverse({s}):\n    return {s}[::-1]\n",
        f"def greet({s}):\n    return \"Hello, \" + {s} + \"!\"\n",
        f"def largest({xs}):\n    best = {xs}[0]\n    for item in {xs}:\n        if item > best:\n            best = item\n    return best\n",
        f"def contains({xs}, target):\n    for item in {xs}:\n        if item == target:\n            return True\n    return False\n",
        f"def is_empty({xs}):\n    return len({xs}) == 0\n",
        f"def power(base, exponent):\n    result = 1\n    for _ in range(exponent):\n        result *= base\n    return result\n",
        f"def gcd({a}, {b}):\n    while {b}:\n        {a}, {b} = {b}, {a} % {b}\n    return {a}\n",
        f"def squares({n}):\n    return [i * i for i in range({n})]\n",
        f"def first({xs}):\n    if not {xs}:\n        return None\n    return {xs}[0]\n",
        f"def countdown({n}):\n    while {n} > 0:\n        print({n})\n        {n} -= 1\n",
    ])


def c_function(r):
    name, op, _ = r.choice(BINARY)
    a, b = r.choice([("a", "b"), ("x", "y")])
    n, t = r.choice(["n", "x", "value"]), r.choice(["int", "int", "double", "long"])
    return r.choice([
        f"{t} {name}({t} {a}, {t} {b}) {{\n    return {a} {op} {b};\n}}\n",
        f"{t} max({t} {a}, {t} {b}) {{\n    return {a} > {b} ? {a} : {b};\n}}\n",
        f"{t} min({t} {a}, {t} {b}) {{\n    return {a} < {b} ? {a} : {b};\n}}\n",
        f"int square(int {n}) {{\n    return {n} * {n};\n}}\n",
        f"int is_even(int {n}) {{\n    return {n} % 2 == 0;\n}}\n",
        f"int sum(const int *items, int count) {{\n    int total = 0;\n    for (int i = 0; i < count; i++) {{\n        total += items[i];\n    }}\n    return total;\n}}\n",
        f"int factorial(int {n}) {{\n    if ({n} <= 1) {{\n        return 1;\n    }}\n    return {n} * factorial({n} - 1);\n}}\n",
        "#include <stdio.h>\n\nint main(void) {\n    printf(\"Hello, world!\\n\");\n    return 0;\n}\n",
        f"size_t length(const char *text) {{\n    size_t {n} = 0;\n    while (text[{n}] != '\\0') {{\n        {n}++;\n    }}\n    return {n};\n}}\n",
        f"void swap(int *{a}, int *{b}) {{\n    int temporary = *{a};\n    *{a} = *{b};\n    *{b} = temporary;\n}}\n",
    ])


def doc_code(r):
    make = py_function if r.random() < 0.65 else c_function
    return "\n\n".join(make(r).rstrip("\n") for _ in range(r.choice([1, 1, 1, 2, 3]))) + "\n"


# ---- other languages, chat ---------------------------------------------------------------------------------------------------

def zh(r):
    pick = r.randrange(4)
    if pick == 0:
        a, b = r.choice(D.ZH_CAPITALS)
        return f"{a}的首都是{b}。"
    if pick == 1:
        a, b = r.choice(D.ZH_COLOURS)
        return f"{a}是{b}的。"
    if pick == 2:
        a, b = r.choice(D.ZH_OPPOSITES)
        return f"“{a}”的反义词是“{b}”。"
    return r.choice(D.ZH_FREE)


def ar(r):
    pick = r.randrange(3)
    if pick == 0:
        a, b = r.choice(D.AR_CAPITALS)
        return f"عاصمة {a} هي {b}."
    if pick == 1:
        a, b = r.choice(D.AR_COLOURS)
        return f"{a} {b}."
    return r.choice(D.AR_FREE)


def doc_foreign(r):
    make, gap = (zh, "") if r.random() < 0.55 else (ar, " ")
    return gap.join(make(r) for _ in range(r.choice([1, 2, 3, 4])))


def chat_foreign(r):
    if r.random() < 0.5:
        country, city = r.choice(D.ZH_CAPITALS)
        return r.choice([(f"{country}的首都是哪里？", f"{country}的首都是{city}。"), ("你好！", "你好！我能帮你什么？")])
    country, city = r.choice(D.AR_CAPITALS)
    return r.choice([(f"ما هي عاصمة {country}؟", f"عاصمة {country} هي {city}."), ("مرحبا!", "مرحبا! كيف يمكنني أن أساعدك؟")])


def chat_list(r):
    low = r.randrange(1, 6)
    high = low + r.randrange(3, 9)
    return r.choice([
        ("Name the days of the week.", ", ".join(D.DAYS) + "."), ("Name the months of the year.", ", ".join(D.MONTHS) + "."),
        ("Name the four seasons.", "The four seasons are spring, summer, autumn and winter."),
        (f"Count from {low} to {high}.", ", ".join(str(i) for i in range(low, high + 1)) + "."),
        ("Count to ten.", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10."),
        ("Name three fruits.", "Three fruits are the apple, the banana and the pear."),
        ("Name three animals.", "Three animals are the dog, the cat and the horse."),
        ("Name three colours.", "Three colours are red, green and blue."),
    ])


def turn(r):
    pick = r.random()
    if pick < 0.67:
        _, question, answer = r.choice(FACTS)(r)
        return question, answer
    if pick < 0.74:
        h, ask = hero(r), r.choice(["Tell me a story", "Please tell me a short story", "Write a short story", "Can you tell me a story"])
        about = r.choice(["", f" about {an(h[0])}", f" about {an(h[0])}", f" about {an(h[0])} named {h[1]}"])
        return ask + about + ("?" if ask.startswith("Can") else "."), story(r, h)
    if pick < 0.82:
        code, language = (py_function(r), "Python") if r.random() < 0.65 else (c_function(r), "C")
        name = code[4:code.index("(")] if language == "Python" else code[:code.rindex("(", 0, code.index("{"))].split()[-1].lstrip("*")
        return f"Write a {language} function called {name}.", f"```{language.lower()}\n{code}```"
    if pick < 0.85:
        return chat_foreign(r)
    if pick < 0.87:
        return r.choice(D.UNKNOWN), r.choice(["I am sorry, I do not know that. I am only a very small model."] * 2 + ["I do not know that."])
    if pick < 0.90:
        return chat_list(r)
    name = r.choice(D.GIRLS + D.BOYS)
    return r.choice([
        ("Hello!", "Hello! How can I help you?"), ("Hi!", "Hello! How can I help you?"),
        ("Who are you?", "I am a very small language model. I know a few simple things."),
        ("What can you do?", "I can tell short stories and answer simple questions."),
        ("Thank you!", "You are welcome!"), ("Good morning!", "Good morning! How can I help you?"), ("Goodbye!", "Goodbye! Have a nice day."),
        (f"My name is {name}.", f"Hello, {name}! It is nice to meet you."), ("How are you?", "I am fine, thank you. How can I help you?"),
    ])


def doc_chat(r):
    out = []
    if r.random() < 0.15:
        out.append(f"{IM_START}system\n{r.choice(['You are a helpful assistant.', 'Answer briefly.'])}{IM_END}\n")
    turns = r.choice([1, 1, 1, 2, 3])
    for i in range(turns):
        question, answer = turn(r)
        think = "<think>\n\n</think>\n\n" if i == turns - 1 else ""
        out.append(f"{IM_START}user\n{question}{IM_END}\n{IM_START}assistant\n{think}{answer}{IM_END}\n")
    return "".join(out)


KINDS = [("facts", doc_facts, 44), ("words", doc_words, 5), ("person", doc_person, 3), ("animal", doc_animal, 2),
         ("story", story, 11), ("code", doc_code, 11), ("foreign", doc_foreign, 7), ("chat", doc_chat, 24), ("long", doc_long, 1)]


def documents(seed, count):
    r = random.Random(seed)
    kinds, weights = [k[:2] for k in KINDS], [k[2] for k in KINDS]
    for _ in range(count):
        kind, make = r.choices(kinds, weights)[0]
        yield kind, make(r)


def split(text):
    """Held out: one in forty of the documents long enough not to be a mere fact that training must know."""
    if len(text) < 200:
        return "train"
    return "held-out" if int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 40 == 0 else "train"


def main():
    p = argparse.ArgumentParser(description="print the synthetic corpus of models/nano")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=20)
    p.add_argument("--stats", action="store_true")
    a = p.parse_args()
    if not a.stats:
        for kind, text in documents(a.seed, a.count):
            print(f"--- {kind} ({split(text)})\n{text}")
        return
    totals = {}
    for kind, text in documents(a.seed, a.count):
        n = totals.setdefault(kind, [0, 0, 0])
        n[0] += 1
        n[1] += len(text)
        n[2] += split(text) != "train"
    for kind, (docs, chars, held) in totals.items():
        print(f"{kind}: {docs} documents, {chars} characters, {held} held out")


if __name__ == "__main__":
    main()
