"""Whatever is put into a request, wherever it is put: the answer carries it, tells of it, or asks for it.

The requests are those of the blind sets that lack nothing; what is put in is a place of that site, a number with a
unit, an option, or a module. `python -m tests.agents.extraction.test_nothing_lost 2000` counts many more.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import pytest
import tomllib
from maple_agents.ask import sites
from maple_agents.base.complaint import Complaint
from maple_agents.cli.new.request import Wanted, heard, held_against, wanted
from maple_agents.request.unread import _LED, _PROSE

from tests.agents.extraction.blind_requests import FOLDER

KINDS = ("place", "number", "option", "module")
UNITS = ("nodes", "hours", "GPUs", "cores", "GB", "ranks per node", "days", "minutes")
OPTIONS = ("--exclusive", "--mem-bind=local", "--reservation=abc", "--requeue", "--nice=5", "--comment=hello", "-x")
MODULES = ("cuda", "gcc", "cuda/12.4", "nccl", "openmpi/5.0.3", "aocc", "hdf5", "python/3.11")
FORMS = ("module %s", "%s", "modules %s and cray-fftw")


class Put(NamedTuple):
    """A request with *word* put into it; *token*: what of the word must be found again."""

    kind: str
    site: str
    words: str
    plain: str
    token: str


@cache
def _requests() -> tuple[dict[str, Any], ...]:
    rows = [row for path in sorted(FOLDER.glob("*.toml")) for row in tomllib.loads(path.read_text("utf-8"))["case"]]
    return tuple(row for row in rows if not row["must_ask"] and "\n" not in row["words"])


def put(kind: str, seed: int) -> Put:
    """Return a request with a word of that kind at any of its blanks."""
    chance = random.Random("%s %d" % (kind, seed))
    case = chance.choice(_requests())
    word, token = _word(kind, case["site"], chance)
    words = case["words"]
    gap = chance.choice([*(match.start() for match in re.finditer(" ", words)), len(words)])
    return Put(kind, case["site"], "%s %s%s" % (words[:gap], word, words[gap:]), words, token)


def _word(kind: str, site: str, chance: random.Random) -> tuple[str, str]:
    if kind == "place":
        rows = [row.name for row in sites.load(site).partitions if not row.routed]
        names = [name for name in rows if name.lower() not in _PROSE - _LED]
        return (chance.choice(names or ["gpu_long", "batch_2"]),) * 2
    if kind == "number":
        number = chance.choice((7, 9, 11, 13, 17, 19))
        return "%d %s" % (number, chance.choice(UNITS)), str(number)
    if kind == "option":
        word = chance.choice(OPTIONS)
        return word, word.partition("=")[0]
    word = chance.choice(MODULES)
    return chance.choice(FORMS) % word, word


def is_lost(one: Put) -> bool:
    """Tell whether nothing of the answer has what was put in; a request that is refused loses nothing."""
    try:
        answer = held_against(heard(wanted(one.words, (), one.site, "")), b"", (), ())  # the values are what is written
    except Complaint:
        return False
    token = re.escape(one.token.lower())
    return not re.search(r"(?<![\w-])%s(?![\w-])" % token, _shown(answer)) and not (
        one.kind == "number" and _shown(answer, True) != _shown(heard(wanted(one.plain, (), one.site, "")), True)
    )


def _shown(answer: Wanted, counts: bool = False) -> str:
    """Return what the answer has, as one text. *counts*: only what a number may have gone into: "10 h" and "7 h"."""
    said = [str(slot.value) for slot in answer.slots.values() if not counts or re.match(r"\d", str(slot.value))]
    if not counts:
        said += answer.wishes  # "debug" chooses the place
        said += ["%s %s" % (unread.text, unread.value) for unread in answer.unread]
        said += ["%s %s" % (missing.says, " ".join(missing.choices)) for missing in answer.doubts]
    return " ".join(said).lower()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_put_in_is_carried_told_or_asked(kind):
    """Sixty requests of each kind."""
    assert [one.words for one in (put(kind, seed) for seed in range(60)) if is_lost(one)] == []


def main(count: int) -> None:
    """Print what is lost, and how often."""
    lost: Counter[str] = Counter()
    for kind in KINDS:
        for seed in range(count // len(KINDS)):
            one = put(kind, seed)
            if is_lost(one):
                lost[kind] += 1
                print("%s: %s: %s" % (kind, one.token, one.words))
    print("of %d put in, lost: %s" % (count, dict(lost) or 0))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
