"""Ways to write a labelled request otherwise, each with the label that follows by construction.

What keeps the meaning leaves the label as it is; what changes it changes the label likewise. A rewrite returns None of
a request that it does not fit: it knows the words and the label, and nothing of how Maple reads.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from maple_agents.ask import sites

Case = dict[str, Any]
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
FOREIGN = {
    "node": ("Knoten", "nodos", "nœuds", "nodi", "ノード", "节点"),
    "hour": ("Stunden", "horas", "heures", "ore", "小时"),
}


class Rewrite(NamedTuple):
    """*keeps*: whether the script has to be the very same one."""

    name: str
    make: Callable[[Case, random.Random], Case | None]
    keeps: bool


REWRITES: list[Rewrite] = []


def _rewrite(keeps: bool) -> Callable[[Callable[[Case, random.Random], Case | None]], Any]:
    def note(make: Callable[[Case, random.Random], Case | None]) -> Any:
        REWRITES.append(Rewrite(make.__name__.strip("_").replace("_", " "), make, keeps))
        return make

    return note


def _with(case: Case, words: str, **label: Any) -> Case | None:
    """Return *case* in other words, and with other labels; None where the words are the same."""
    kept = {key: value for key, value in {**case, **label}.items() if value is not None}
    return {**kept, "words": words} if words != case["words"] else None


def _put(case: Case, match: re.Match[str], words: str, **label: Any) -> Case | None:
    text = case["words"]
    return _with(case, text[: match.start()] + words + text[match.end() :], **label)


def _only(pattern: str, text: str) -> re.Match[str] | None:
    """Return where *pattern* stands, None where it stands nowhere or twice."""
    found = list(re.finditer(pattern, text))
    return found[0] if len(found) == 1 else None


def _nodes(case: Case) -> re.Match[str] | None:
    """Return the one "4 nodes" of the words that the label means."""
    nodes = case.get("nodes")
    match = _only(r"(?<![\w.,:=/*x×+-])(\d+) nodes?\b(?! *[-/x×(]| of\b| or\b| each\b)", case["words"])
    others = re.findall(r"(?i)\d+ ?-? ?(?:nodes?|n|knoten)\b", case["words"])
    return match if match and len(others) == 1 and nodes is not None and match[1] == str(nodes) else None


def _hours(case: Case) -> re.Match[str] | None:
    """Return the one "4 hours" or "4h" of the words that the label means."""
    match = _only(r"(?<![\w.,:=/*x×+-])(\d+) ?(hours?|hrs?|h)\b(?! ?(?:\d|and\b|or\b|[-:]))", case["words"])
    times = re.findall(r"(?i)\d+ ?(?:h|m|d|min)|minute|day\b|half|\d:\d\d", case["words"])
    whole = match and case.get("time") == "%02d:00:00" % int(match[1])
    return match if match and whole and len(times) == 1 else None


def _clauses(case: Case) -> list[str]:
    """Return the clauses of a terse line, [] of what is no such line: commas may part what belongs together."""
    text = case["words"].strip().rstrip(".")
    parts = re.split(r", ", text)
    plain = not re.search(
        r"[\n;:(\"'`]|\. |,\S| - |\b(?:no|not|each|per|but|then|and|with|that|it|instead|there|also|every|"
        r"them|one|same)\b",
        text,
        re.I,
    )
    short = all(1 <= len(part.split()) <= 6 for part in parts)
    return parts if plain and short and len(parts) > 2 else []


# How it is written.


@_rewrite(True)
def other_order(case: Case, chance: random.Random) -> Case | None:
    parts = _clauses(case)
    chance.shuffle(parts)
    return _with(case, ", ".join(parts)) if parts else None


@_rewrite(True)
def other_separators(case: Case, chance: random.Random) -> Case | None:
    return _with(case, chance.choice(("; ", " | ", "\n", " / ", " · ")).join(_clauses(case) or [case["words"]]))


@_rewrite(True)
def bullets(case: Case, chance: random.Random) -> Case | None:
    parts = _clauses(case)
    mark = chance.choice(("- ", "* ", "• "))
    return _with(case, "\n".join(mark + part for part in parts)) if parts else None


@_rewrite(True)
def numbered(case: Case, chance: random.Random) -> Case | None:
    parts = _clauses(case)
    form = chance.choice(("%d. %s", "%d) %s", "(%d) %s"))
    return _with(case, "\n".join(form % row for row in enumerate(parts, 1))) if parts else None


@_rewrite(True)
def markdown(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case) or _hours(case)
    return _put(case, match, chance.choice(("**%s**", "`%s`", "_%s_")) % match[0]) if match else None


@_rewrite(True)
def number_in_words(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case)
    fits = match and int(match[1]) < len(NUMBERS)
    return _put(case, match, match[0].replace(match[1], NUMBERS[int(match[1])])) if match and fits else None


@_rewrite(True)
def hours_otherwise(case: Case, chance: random.Random) -> Case | None:
    match = _hours(case)
    if match is None:
        return None
    number = int(match[1])
    forms = ("%d minutes" % (60 * number), "%d hrs" % number, "%dh" % number, "%d:00:00" % number, "%d h" % number)
    return _put(case, match, chance.choice(forms))


@_rewrite(True)
def another_language(case: Case, chance: random.Random) -> Case | None:
    kind = chance.choice(("node", "hour"))
    match = _nodes(case) if kind == "node" else _hours(case)
    return _put(case, match, "%s %s" % (match[1], chance.choice(FOREIGN[kind]))) if match else None


@_rewrite(True)
def capitals(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case) or _hours(case)
    return _put(case, match, match[0].upper()) if match else None


@_rewrite(True)
def blanks(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case) or _hours(case)
    forms = (re.sub(" ", "", match[0]), re.sub(" ", "  ", match[0]), re.sub(" ", "\u00a0", match[0]),
             re.sub(" ", "-", match[0]), re.sub(" ", "\n", match[0])) if match else ()  # fmt: skip
    return _put(case, match, chance.choice(forms)) if match else None


@_rewrite(True)
def slip_of_fingers(case: Case, chance: random.Random) -> Case | None:
    """Two letters of a word change places, or one is missing."""
    words = list(re.finditer(r"\b(?:nodes|hours|account|partition|queue|project|allocation|minutes)\b", case["words"]))
    if not words:
        return None
    match = chance.choice(words)
    word, at = match[0], chance.randrange(1, len(match[0]) - 2)
    slips = (word[:at] + word[at + 1] + word[at] + word[at + 2 :], word[:at] + word[at + 1 :])
    return _put(case, match, chance.choice(slips))


# What is said besides, and changes nothing.


@_rewrite(True)
def politeness(case: Case, chance: random.Random) -> Case | None:
    first = chance.choice(("Hi, could you please make me a job script? ", "Dear support team,\n\n", "hey! quick one: ",
                           "I would be very grateful for a batch script: "))  # fmt: skip
    last = chance.choice(("", "\n\nThanks a lot in advance!", "\n\nBest regards,\nAnna", " Cheers"))
    return _with(case, first + case["words"] + last)


@_rewrite(True)
def signature(case: Case, chance: random.Random) -> Case | None:
    name = chance.choice(("Dr. A. Example", "Maria", "K. Sato"))
    lines = chance.choice((
        "Institute for Examples, Room 4.12\nTel. +49 30 1234567",
        "PhD student, Dept. of Physics\n2500 University Dr NW",
        "Building 12, floor 3 | +1 555 010 4477",
    ))  # fmt: skip
    return _with(case, "%s\n\n-- \n%s\n%s" % (case["words"], name, lines))


@_rewrite(True)
def quoted_mail(case: Case, chance: random.Random) -> Case | None:
    head = "On Tue, 3 Nov 2026 at 14:12, Support wrote:"
    asked = chance.choice(("> How many nodes do you need, and for how long?", "> Please say what you want to run.",
                           "> Hi,\n> which partition is it for?"))  # fmt: skip
    return _with(case, "%s\n%s\n\n%s" % (head, asked, case["words"]))


@_rewrite(True)
def earlier_job(case: Case, chance: random.Random) -> Case | None:
    nodes, hours = chance.choice((3, 7, 11, 22)), chance.choice((5, 9, 17))
    says = chance.choice((
        "Last week I ran it on %d nodes for %d hours.", "(my last job had %d nodes and took %d h)",
        "The previous run used %d nodes and died after %d hours.", "A colleague used %d nodes for %d hours for hers.",
    )) % (nodes, hours)  # fmt: skip
    return _with(case, "%s %s" % ((case["words"], says) if chance.random() < 0.5 else (says, case["words"])))


@_rewrite(True)
def old_script(case: Case, chance: random.Random) -> Case | None:
    lines = ["#SBATCH --nodes=%d" % chance.choice((3, 7, 11)), "#SBATCH --time=0%d:30:00" % chance.choice((1, 5)),
             "#SBATCH --account=zz9999", "#SBATCH --job-name=oldjob"]  # fmt: skip
    head = chance.choice(("For reference, the header of my old script, it is out of date:", "My old script for another "
                          "cluster began like this, don't use its values:"))  # fmt: skip
    return _with(case, "%s\n\n%s\n%s" % (case["words"], head, "\n".join(chance.sample(lines, 3))))


@_rewrite(True)
def correction(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case)
    if match is None:
        return None
    wrong = int(match[1]) + chance.choice((1, 2, 5))
    form = chance.choice(("%d nodes, no, make it %d", "%d -- sorry, %d nodes", "%d nodes... I mean %d nodes",
                          "%d nodes (wait, %d nodes)", "%d nodes, scratch that, %d nodes",
                          "not %d but %d nodes"))  # fmt: skip
    return _put(case, match, form % (wrong, int(match[1])))


@_rewrite(True)
def denied(case: Case, chance: random.Random) -> Case | None:
    names = _other_places(case)
    says = ["no mail please", "I don't need a container", "no job array", "without email notifications"]
    says += ["not in %s" % chance.choice(names), "do not use %s" % chance.choice(names)] if names else []
    return _with(case, "%s. %s." % (case["words"].rstrip(" ."), chance.choice(says)))


def _other_places(case: Case) -> list[str]:
    """Return the places of the site that the words do not name, and whose names are no words of everyday."""
    rows = [row.name for row in sites.load(case["site"]).partitions if not row.routed]
    said = case["words"].lower()
    return [name for name in rows if name.lower() not in said and re.search(r"[\d_-]", name)]


# What says something else.


@_rewrite(False)
def other_nodes(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case)
    bound = re.search(r"(?i)\b(?:total|altogether|in all|so|makes|both|ranks|=)\b|=", case["words"])
    if match is None or bound or "gpus_total" in case or match[1] == "1":
        return None
    number = chance.choice([one for one in (2, 3, 4, 5, 6, 8) if one != int(match[1])])
    return _put(case, match, "%d nodes" % number, nodes=number)


@_rewrite(False)
def other_hours(case: Case, chance: random.Random) -> Case | None:
    match = _hours(case)
    number = chance.choice((1, 2, 3, 5, 7))
    return _put(case, match, match[0].replace(match[1], str(number), 1), time="%02d:00:00" % number) if match else None


@_rewrite(False)
def other_place(case: Case, chance: random.Random) -> Case | None:
    name = str(case.get("partition", ""))
    match = _only(r"(?<![\w./-])%s(?![\w/-])" % re.escape(name), case["words"]) if name else None
    rows = [row.name for row in sites.load(case["site"]).partitions if not row.routed and row.name != name]
    if match is None or len(re.findall(re.escape(name), case["words"], re.I)) > 1 or not rows:
        return None
    other = chance.choice(rows)
    return _put(case, match, other, partition=other, qos=None)


@_rewrite(False)
def other_account(case: Case, chance: random.Random) -> Case | None:
    name = str(case.get("account", ""))
    match = _only(r"(?<![\w./-])%s(?![\w/-])" % re.escape(name), case["words"]) if name else None
    letter = re.search(r"[a-z](?=[a-z])", name) if match else None
    if match is None or letter is None or case["words"].lower().count(name.lower()) > 1:
        return None
    other = name[: letter.start()] + chance.choice("kqvw") + name[letter.end() :]
    return _put(case, match, other, account=other)


@_rewrite(False)
def no_account(case: Case, chance: random.Random) -> Case | None:
    name = re.escape(str(case.get("account", "")))
    match = _only(r"(?i), (?:account|acct|project|allocation|proj|-A)[ :=]+%s(?=,|\.?$)" % name, case["words"])
    demands = any(
        demand.slot == "account" and demand.applies == "always" for demand in sites.load(case["site"]).demands
    )
    return _put(case, match, "", account=None, must_ask=["account"]) if match and demands and name else None


@_rewrite(False)
def two_numbers(case: Case, chance: random.Random) -> Case | None:
    match = _nodes(case)
    if match is None:
        return None
    number = int(match[1])
    form = chance.choice(("%d or %d nodes", "%d nodes or maybe %d", "%d, perhaps %d nodes", "between %d and %d nodes",
                          "%d to %d nodes", "%d nodes (or %d?)"))  # fmt: skip
    return _put(case, match, form % (number, number + 2), nodes=None, must_ask=["nodes"])


@_rewrite(False)
def two_people(case: Case, chance: random.Random) -> Case | None:
    """The thread ends without anybody having decided."""
    match = _nodes(case)
    if match is None:
        return None
    other = int(match[1]) + chance.choice((1, 2, 4))
    says = chance.choice(("Ben: I would rather take %d nodes.", "> I think it needs %d nodes\nNot sure, let's see.",
                          "Lena: hmm, %d nodes?", "Tom wants %d nodes, we still have to decide."))  # fmt: skip
    return _with(case, "%s\n\n%s" % (case["words"], says % other), nodes=None, must_ask=["nodes"])


def _items() -> Iterator[tuple[str, tuple[str, ...], Callable[[str], dict[str, Any]]]]:
    yield "a.b@uni.example", ("mail me at %s", "email %s", "send mail to %s when it ends"), lambda it: {"mail": it}
    yield (
        "fold-7",
        ("job name %s", "call it %s", "name: %s", "name it %s", "jobname=%s"),
        lambda it: {"name_of_job": it},
    )
    yield "logs/fold7.out", ("log to %s", "output goes to %s", "write the output into %s", "out: %s"), _output
    yield "OMP_PROC_BIND=close", ("set %s", "export %s", "with %s in the environment"), _variable
    yield "openmpi/4.1.5", ("module load %s", "load the module %s", "modules: %s"), lambda it: {"modules": [it]}
    yield "--warmup-ratio 0.03", ("pass %s to the script", "with %s as an extra argument", "extra args: %s"), _argument
    yield "1234567", ("after job %s", "it must wait for job %s", "start after job %s has finished"), _job


def _name(item: str) -> dict[str, Any]:
    return {"name_of_job": item}


def _output(item: str) -> dict[str, Any]:
    return {"output": item}


def _variable(item: str) -> dict[str, Any]:
    name, _, value = item.partition("=")
    return {"environment": {name: value}}


def _argument(item: str) -> dict[str, Any]:
    return {"arguments": item.split()}


def _job(item: str) -> dict[str, Any]:
    return {"array": item}  # looked for in the script, as that key is


@_rewrite(False)
def one_item_more(case: Case, chance: random.Random) -> Case | None:
    item, forms, label = chance.choice(list(_items()))
    own = label(item)
    if {*own} & {*case} or re.search(r"(?i)\b(?:mail|log|output|after|job ?name|called)\b", case["words"]):
        return None
    says = chance.choice(forms) % item
    parts = _clauses(case)
    if not parts:
        return _with(case, "%s. %s%s." % (case["words"].rstrip(" ."), says[0].upper(), says[1:]), **own)
    parts.insert(chance.randrange(len(parts) + 1), says)
    return _with(case, ", ".join(parts), **own)


# The label alone, laid out otherwise.

_COLUMNS = {"nodes": "nodes", "gpus_per_node": "gpus per node", "ranks_per_node": "ranks per node", "time": "walltime",
            "partition": "partition", "account": "account", "program": "program", "paradigm": "strategy",
            "name_of_job": "job name", "filesystems": "filesystems", "qos": "qos", "launcher": "launcher"}  # fmt: skip
_REST = {"name", "site", "style", "words", "must_ask", "time_unsaid", "why"}


def _cells(case: Case) -> list[tuple[str, str]]:
    """Return the label as columns; [] where it has what no column says, or lacks something."""
    cells = [(_COLUMNS[key], str(case[key])) for key in case if key in _COLUMNS]
    whole = {*case} <= {*_COLUMNS, *_REST} and not case["must_ask"] and "program" in case and "nodes" in case
    names = {row.name: row.selector for row in sites.load(case["site"]).partitions}
    cells = [(names.get(value, name) if name == "partition" else name, value) for name, value in cells]
    cells = [(name, {"three_d": "3D", "zero3": "ZeRO-3"}.get(value, value)) for name, value in cells]
    return cells if whole and not any("," in value or "|" in value for _, value in cells) else []


@_rewrite(False)
def key_and_value(case: Case, chance: random.Random) -> Case | None:
    form = chance.choice(("%s: %s", "%s = %s", "%s=%s"))
    cells = [(name.replace(" ", "_") if form == "%s=%s" else name, value) for name, value in _cells(case)]
    chance.shuffle(cells)
    return _with(case, chance.choice(("\n", ", ")).join(form % cell for cell in cells)) if cells else None


@_rewrite(False)
def comma_rows(case: Case, chance: random.Random) -> Case | None:
    cells = _cells(case)
    chance.shuffle(cells)
    sign = chance.choice((",", ", ", "\t", ";"))
    return _with(case, "\n".join(sign.join(row) for row in zip(*cells, strict=True))) if cells else None


@_rewrite(False)
def table(case: Case, chance: random.Random) -> Case | None:
    cells = _cells(case)
    chance.shuffle(cells)
    rows = [*zip(*cells, strict=True)]
    if not cells:
        return None
    lines = ["| %s |" % " | ".join(row) for row in (rows[0], ["---"] * len(cells), rows[1])]
    upright = ["| %s | %s |" % cell for cell in cells]
    return _with(case, "\n".join(chance.choice((lines, upright))))
