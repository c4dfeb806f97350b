"""Requests that were written and labelled without sight of Maple, judged: `make bench-blind-requests` prints the table.

A set is one TOML file, `tests/cases/blind-requests/<date>.toml`; the date is that of its first run. `words` and `site`
are what is asked and where; every other key is what a careful reader takes from the words, `must_ask` what is missing.
What a request said is kept where it stands in the slots or the script, told where a note or a question names it, and
lost where neither does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import tomllib
from maple_agents.cli.main import run

FOLDER = Path(__file__).parents[2] / "cases" / "blind-requests"
MAPLE = Path(sys.executable).with_name("maple")
SLOTS = {"nodes": "nodes", "gpus_per_node": "gpus_per_node", "ranks_per_node": "ranks_per_node", "time": "walltime",
         "account": "account", "qos": "qos"}  # fmt: skip
COUNTS = ("nodes", "gpus_per_node", "ranks_per_node")
IN_SCRIPT = ("program", "name_of_job", "output", "container", "conda", "venv", "mail", "array")
PARADIGMS = {"three_d": "3d", "accelerate_ddp": "accelerate-ddp"}  # by the sets' own names
LISTS = ("arguments", "modules")


class Judged(NamedTuple):
    """A request, what `maple new --json` says, and of what was said: lost without a word, and told as not used."""

    case: dict[str, Any]
    answer: dict[str, Any]
    lost: tuple[str, ...]
    told: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Return one word for what became of the request."""
        must = bool(self.case.get("must_ask"))
        if "error" in self.answer:
            return "rightly refused" if must else "refused"
        if not self.answer["script"]:
            return "rightly asked" if must else "asked"
        if must or self.lost:
            return "silently wrong"
        return "told" if self.told else "right"


def _words(case: dict[str, Any]) -> list[str]:
    return ["new", "--json", "--site", case["site"], case["words"]]


def asked(case: dict[str, Any], home: str) -> Judged:
    """Return one request judged; nothing is asked back, no model is there, and nothing is known from earlier."""
    out, err = io.StringIO(), io.StringIO()
    environ = {**os.environ, "MAPLE_EMBEDDER": "off", "HOME": home, "XDG_STATE_HOME": home}
    with mock.patch.dict(os.environ, environ), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        run(_words(case))
    try:
        answer = json.loads(out.getvalue())
    except ValueError:
        return Judged(case, {"error": err.getvalue().strip()}, (), ())
    notes = " ".join([*(one["text"] for one in answer["unread"]), *answer["advice"]]).lower()
    gone = [what for what, kept in _said(case, answer) if not kept]
    told = tuple(what for what in gone if _is_told(what.partition("=")[2].lower(), notes))
    return Judged(case, answer, tuple(what for what in gone if what not in told), told)


def _said(case: dict[str, Any], answer: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield what the request says, and whether slots or script have it."""
    slots, script, must = answer["slots"], answer["script"] or "", case.get("must_ask", [])
    final = {**{one["slot"]: one["value"] for one in answer["assumed"]}, **slots}
    everywhere = script + json.dumps(slots)
    for key, slot in SLOTS.items():
        if key in case and key not in must:
            open_ = key in COUNTS and not script and slot not in slots
            value = str(case[key]).lower()
            kept = open_ and (key != "nodes" or "gpus_total" in slots) or str(final.get(slot, "")).lower() == value
            yield "%s=%s" % (key, case[key]), kept
    if "partition" in case and "partition" not in must:
        yield "partition=%s" % case["partition"], case["partition"] in map(final.get, ("partition", "queue", "qos"))
    if "filesystems" in case:
        had = set(re.split("[:, ]", str(final.get("filesystems", ""))))
        yield "filesystems=%s" % case["filesystems"], had == set(case["filesystems"].split(":"))
    if "paradigm" in case and "paradigm" not in must:
        named = PARADIGMS.get(case["paradigm"], case["paradigm"])
        yield "paradigm=%s" % case["paradigm"], final.get("paradigm") == named
    if "launcher" in case and script:
        yield "launcher=%s" % case["launcher"], bool(re.search(r"\b%s\d?\b" % case["launcher"], script))
    for key in IN_SCRIPT:
        if key in case and key not in must:
            yield "%s=%s" % (key, case[key]), str(case[key]) in everywhere
    for key in LISTS:
        yield from (("%s=%s" % (key, one), str(one) in everywhere) for one in case.get(key, ()))
    for name, value in case.get("environment", {}).items():
        yield "environment=%s=%s" % (name, value), name in everywhere
    for key, option in (("memory", "mem"), ("cpus_per_task", "(?:cpus-per-task|ncpus)")):
        if key in case:
            number = re.sub(r"\D", "", str(case[key]))
            yield "%s=%s" % (key, case[key]), bool(re.search(r"%s\S*=%s" % (option, number), script))


def _is_told(value: str, notes: str) -> bool:
    """Tell whether a note or a question names the value, or its number."""
    numbers = [one.lstrip("0") for one in re.findall(r"\d+", value) if one.strip("0")]
    parts = [one for one in re.split(r"[:,=\s/]+", value) if len(one) > 3]
    return value in notes or any(one in notes for one in parts) or any(
        re.search(r"\b%s" % one, notes) for one in numbers
    )  # fmt: skip


def _others(one: Judged) -> int:
    """Return how many slots have another value than what was said, or one that nobody said."""
    slots, must = one.answer["slots"], one.case.get("must_ask", [])
    judged = {slot: one.case.get(key) for key, slot in SLOTS.items()}
    return sum(
        slot in slots and (slot in must or value is not None and str(slots[slot]).lower() != str(value).lower())
        for slot, value in judged.items()
    )


def _printed(name: str, rows: Sequence[Judged]) -> None:
    read = [one for one in rows if "error" not in one.answer]
    said = sum(len(list(_said(one.case, one.answer))) for one in read)
    told, lost = (sum(len(one[at]) for one in read) for at in (3, 2))
    kept, others = said - told - lost, sum(map(_others, read))
    verdicts = Counter(one.verdict for one in rows)
    good = sum(verdicts[one] for one in ("right", "rightly asked", "rightly refused"))
    print("%s: %d of %d right or rightly asked (%.0f %%)" % (name, good, len(rows), 100 * good / len(rows)))
    print("  %s" % ", ".join("%s %d" % pair for pair in verdicts.most_common()))
    print("  of %d values %d are kept, %d told as not used, %d lost; precision %.3f, recall %.3f"
          % (said, kept, told, lost, kept / (kept + others), kept / said))  # fmt: skip
    for one in rows:
        if one.verdict == "silently wrong":
            print("  %-32s %s" % (one.case["name"], ", ".join(one.lost) or "not asked: %s" % one.case["must_ask"]))


def _reasons(one: Judged) -> Iterator[str]:
    """Yield why a request that names all that is needed has no script: by slot, and by kind of the word that stops."""
    if "error" in one.answer:
        yield "refused: %s" % re.sub(r"\S*\d\S*|'[^']*'", "N", one.answer["error"].removeprefix("maple: "))[:60]
    elif not one.answer["script"]:
        stops = [each for each in one.answer["unread"] if each["stops"]]
        yield from ("stops: %s" % (each["slot"] or _kind(each["text"])) for each in stops)
        yield from ("missing: %s" % each for each in one.answer["missing"] if not stops)


def _kind(word: str) -> str:
    kinds = (("option", r"-"), ("variable", r"\$"), ("mail", r".*@"), ("path", r".*/"), ("number", r".*\d"))
    return next((kind for kind, form in kinds if re.match(form, word)), "word")


def _why(rows: Sequence[Judged]) -> None:
    """Print how often each reason kept back a script that nothing needed to be asked for."""
    needless = [one for one in rows if one.verdict in ("asked", "refused")]
    reasons = Counter(reason for one in needless for reason in dict.fromkeys(_reasons(one)))
    print("asked or refused without need: %d of %d" % (len(needless), len(rows)))
    for reason, count in reasons.most_common():
        print("  %3d  %s" % (count, reason))


def _time(cases: Sequence[dict[str, Any]]) -> None:
    """Print what a request takes in a process of its own, byte code and the checked site at hand."""
    took = []
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for case in (*cases, *cases):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(MAPLE), *_words(case)], capture_output=True, check=False,
                       env={**environ, "MAPLE_EMBEDDER": "off"})  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    took = sorted(took[len(cases) :])
    print("processor a request in its own process: median %.2f s, most %.2f s" % (took[len(took) // 2], took[-1]))


def main() -> None:
    """Print the verdicts of each set, and of what was said how much was read, and what a request takes."""
    everything = []
    with tempfile.TemporaryDirectory() as home:
        for path in sorted(FOLDER.glob("*.toml")):
            rows = [asked(case, home) for case in tomllib.loads(path.read_text("utf-8"))["case"]]
            everything += rows
            _printed(path.stem, rows)
    _printed("all", everything)
    _why(everything)
    _time([one.case for one in everything[::26]])


if __name__ == "__main__":
    main()
