"""How much of labelled requests grammar and tagger read, each alone and both: `make bench-tagger` prints the tables.

Of a slot's values: precision is the share of those read that the label has, recall the share of those labelled that are
read. *sure*: the tagger's by a margin that counts; *union*: the grammar's, and the tagger's where it has none; *both*:
what the two read alike.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import tomllib
from maple_agents.request import words
from maple_agents.request.tagger import reading
from maple_agents.request.tagger.model import FILE, weights
from maple_agents.request.tagger.model import tag as tagged
from maple_agents.request.tagger.witness import SURE

from tests.agents.extraction import blind_requests, requests
from tests.new567.asked import everything
from tests.tagger.requests import LABELS, labels
from tests.tagger.requests import requests as made_up

GPUS = ("gpus", "gpus_per_node", "gpus_total")
PLACES = ("partition", "queue", "qos", "place")
Values = dict[str, set[str]]


class Case(NamedTuple):
    """A request, and the values that a careful reader takes from it, by slot as this table calls them."""

    text: str
    truth: Values


def of_blind() -> Iterator[Case]:
    """Yield the requests that were labelled without sight of Maple."""
    names = {
        "time": "walltime",
        "name_of_job": "job_name",
        "cpus_per_task": "cpus",
        **dict.fromkeys(PLACES, "place"),
        **dict.fromkeys(GPUS, "gpus"),
        "conda": "environment",
        "venv": "environment",
    }
    for path in sorted(blind_requests.FOLDER.glob("*.toml")):
        for case in tomllib.loads(path.read_text("utf-8"))["case"]:
            truth: Values = {}
            for key, value in case.items():
                if key in case["must_ask"] or key in (
                    "name",
                    "site",
                    "words",
                    "style",
                    "must_ask",
                    "other",
                    "framework",
                    "arguments",
                ):
                    continue
                name = names.get(key, key)
                if name == "environment" and isinstance(value, dict):
                    truth["variables"] = {"%s=%s" % one for one in value.items()}
                elif isinstance(value, list):
                    truth.setdefault(name, set()).update(map(str, value))
                else:
                    truth.setdefault(name, set()).add(str(value))
            yield Case(case["words"], truth)


def of_cases() -> Iterator[Case]:
    """Yield the labelled requests of the extraction's tests that are neither refused nor open."""
    for case in requests.cases():
        if not case.refused and not case.open:
            yield Case(case.says, renamed(case.slots))


def of_567() -> Iterator[Case]:
    """Yield the 567's requests in words, with the slots that are known by construction."""
    for asked in everything():
        if asked.script is None and asked.way in ("complete", "terse", "wordy"):
            job = asked.job
            program = getattr(job, "program", "")
            truth: Values = {"nodes": {str(job.nodes)}, "walltime": {"%02d:%02d:00" % divmod(job.minutes, 60)}}
            if program:
                truth["program"] = {str(program)}
            yield Case(asked.words[0], truth)


def renamed(slots: Mapping[str, object]) -> Values:
    """Return slots by the names of this table, with their values as sets."""
    names = {
        **dict.fromkeys(PLACES, "place"),
        **dict.fromkeys(GPUS, "gpus"),
        "cpus_per_task": "cpus",
        "cpus_per_node": "cpus",
    }
    found: Values = {}
    for slot, value in slots.items():
        name, text = names.get(slot, slot), str(value)
        if slot == "environment" and text.startswith("module load"):
            found["modules"] = set(text.split()[2:])
        elif slot == "variables":
            found["variables"] = set(text.split())
        else:
            found.setdefault(name, set()).add(re.sub(r"^(?:conda activate|source) |/bin/activate$", "", text))
    return found


def by_grammar(text: str) -> Values:
    """Return what the grammar reads."""
    return renamed(words.read(text).slots.as_json())


def by_tagger(text: str, least: float = 0.0) -> Values:
    """Return what the tagger reads, in the grammar's normal forms; by at least the margin *least*."""
    found: Values = {}
    for said in reading.read(text).taggings:
        if said.span.margin < least:
            continue
        name = "gpus" if said.span.label in GPUS else said.span.label
        value = re.sub(r"^(?:conda activate|source) |/bin/activate$", "", said.value)
        if value and name not in ("data", "arguments", "mail_on", "ranks"):
            parts = re.split(r"[\s,+]+(?:and[\s,]+|und[\s,]+)?", value) if name == "modules" else [value]
            found.setdefault(name, set()).update(parts)
    return found


def alike(slot: str, one: str, other: str) -> bool:
    """Tell whether two values of a slot are the same for this table."""
    if slot in ("nodes", "gpus", "ranks_per_node", "cpus", "walltime", "memory"):
        return re.sub(r"(?<=[GTM])B?$", "", one.upper()) == re.sub(r"(?<=[GTM])B?$", "", other.upper())
    first, second = (re.sub(r"[\s\"'`]+", " ", each).strip().lower() for each in (one, other))
    return first == second or (
        slot in ("program", "gpu", "model", "array", "output", "launcher", "paradigm", "filesystems", "environment")
        and (_bare(first) in _bare(second) or _bare(second) in _bare(first))
    )


def _bare(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum())


def both(one: Values, other: Values) -> Values:
    """Return what two readers read alike."""
    found = {
        slot: {each for each in values if any(alike(slot, each, more) for more in other.get(slot, ()))}
        for slot, values in one.items()
    }
    return {slot: values for slot, values in found.items() if values}


class Counts:
    """Right, wrong and missed values, by slot."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()

    def add(self, read: Values, truth: Values) -> None:
        """Count one request. A slot that no label of the set ever names is not judged."""
        for slot in {*read, *truth}:
            had, want = read.get(slot, set()), truth.get(slot, set())
            right = {one for one in want if any(alike(slot, one, each) for each in had)}
            self.right[slot] += len(right)
            self.missed[slot] += len(want) - len(right)
            self.wrong[slot] += sum(not any(alike(slot, one, each) for one in want) for each in had)

    def line(self, slots: list[str]) -> tuple[float, float]:
        """Return precision and recall over *slots*."""
        right, wrong, missed = (sum(each[slot] for slot in slots) for each in (self.right, self.wrong, self.missed))
        return right / max(1, right + wrong), right / max(1, right + missed)


def measured(name: str, cases: list[Case]) -> None:
    """Print one set's table."""
    counts = {way: Counts() for way in ("grammar", "tagger", "sure", "union", "both")}
    labelled: Counter[str] = Counter()
    for case in cases:
        grammar, tagger = by_grammar(case.text), by_tagger(case.text)
        for way, read in (
            ("grammar", grammar),
            ("tagger", tagger),
            ("sure", by_tagger(case.text, SURE)),
            ("union", {**tagger, **grammar}),
            ("both", both(grammar, tagger)),
        ):
            counts[way].add(read, case.truth)
        labelled.update({slot: len(values) for slot, values in case.truth.items()})
    slots = [slot for slot, _ in labelled.most_common()]
    print("\n%s: %d requests, %d values" % (name, len(cases), sum(labelled.values())))
    print("  %-16s%6s" % ("", "values") + "".join("%18s" % way for way in counts) + "   (precision recall)")
    for slot in [*slots, "all"]:
        those = slots if slot == "all" else [slot]
        cells = "".join("      %5.3f  %5.3f" % each.line(those) for each in counts.values())
        print("  %-16s%6d%s" % (slot, sum(labelled[one] for one in those), cells))


def on_made_up(count: int = 500, seed: int = 4711) -> None:
    """Print how many pieces of made-up requests of another seed get their label, and what tagging takes."""
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    took, pieces = 0.0, 0
    for one in made_up(count, seed):
        begun = time.process_time()
        got = tagged(one.text)
        took += time.process_time() - begun
        pieces += len(got)
        for each, truth in zip(
            got, labels(one.text, one.spans, [(each.piece.start, each.piece.end) for each in got]), strict=True
        ):
            (right if each.label == truth else missed)[truth] += 1
            wrong[each.label] += each.label != truth
    print(
        "made up, seed %d: %d requests, %d pieces, %.1f ms of processor a request"
        % (seed, count, pieces, took / count * 1e3)
    )
    for label in LABELS:
        print(
            "  %-16s precision %.3f  recall %.3f  pieces %d"
            % (
                label,
                right[label] / max(1, right[label] + wrong[label]),
                right[label] / max(1, right[label] + missed[label]),
                right[label] + missed[label],
            )
        )


def main() -> None:
    """Print all of it."""
    begun = time.process_time()
    weights()
    print("weights: %d bytes, read in %.0f ms" % (FILE.stat().st_size, (time.process_time() - begun) * 1e3))
    on_made_up()
    measured("blind requests", list(of_blind()))
    measured("labelled requests of the tests", list(of_cases()))
    measured("the 567's requests in words", list(of_567()))


if __name__ == "__main__":
    main()
