"""The pages of the window: HTML made of the figures, without a script; one page each, or all in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape

from maple_agents.base.page import Bar, bars, columns, document, paragraph, table
from maple_submit_filter.rules import rules

from ..install.report.store import FAILED, RAN
from .figures import what_was_done
from .shapes import Failures, Foretold, Window

Parts = Iterator[str]
LOOKS = {  # where nothing was found there is nothing to see
    "as written, with a finding": "base", "would be changed": "warm", "changed": "good", "changed after a yes": "bar",
    "offered, and declined": "soft", "change taken back": "bad",
}  # fmt: skip
KINDS = ("bad", "warm", "bar", "good")  # the most frequent; all others are one part
OTHERS = "other"
MOST_CLASSES = 6  # columns of the table of nodes
MOST_HELD = 40  # rows
NOTHING = "Nothing yet."


def pages() -> dict[str, tuple[str, Callable[[Window], Parts]]]:
    """Return each page's title and what makes it, by its path."""
    return {
        "": ("Submissions", _submissions),
        "rules": ("Rules", _rules),
        "failures": ("Failures", _failures),
        "forecasts": ("Forecasts", _forecasts),
        "facts": ("Facts", _facts),
        "health": ("Health", _health),
    }


@cache
def read_titles() -> dict[str, str]:
    """Return what each rule finds; a server reads them before anybody asks."""
    return {rule.code: rule.title for rule in rules()}


def page(path: str, window: Window) -> str:
    """Return one page with the way to the others."""
    title, parts = pages()[path]
    return document("Maple: %s" % title, [_ways(path), _head(window), "<h1>%s</h1>" % escape(title), *parts(window)])


def whole(window: Window) -> str:
    """Return all of it as one page that can be sent."""
    parts = ["<h1>Maple at %s</h1>" % escape(window["site"] or "this cluster"), _head(window)]
    for title, made in pages().values():
        parts += ["<h1>%s</h1>" % escape(title), *made(window)]
    return document("Maple at %s" % (window["site"] or "this cluster"), parts)


def _ways(here: str) -> str:
    links = (
        '<a href="%s"%s>%s</a>' % (path or ".", ' aria-current="page"' if path == here else "", escape(title))
        for path, (title, _) in pages().items()
    )
    return "<nav>%s</nav>" % "".join(links)


def _head(window: Window) -> str:
    sentence = "%s, since %s; made %s (UTC). No user is named; a job with two findings counts for both rules." % (
        window["site"] or "this cluster", window["since"][:10], window["made"].replace("T", " ").rstrip("Z"),
    )  # fmt: skip
    silent = "not known: %s" % "; ".join(window["silent"]) if window["silent"] else ""
    return paragraph(sentence, soft=True) + (paragraph(silent, soft=True) if silent else "")


def _submissions(window: Window) -> Parts:
    figures = window["submissions"]
    if figures is None:
        yield paragraph(NOTHING)
        return
    yield columns("Submissions with a finding, by week and by what was done", LOOKS, figures["weeks"])
    done = _sums(figures["weeks"])
    yield table("All submissions", ["what was done", "number"], [[name, f"{count:,}"] for name, count in done.items()])
    if figures["users"] is not None:
        yield paragraph("%d users submitted." % figures["users"])
    if figures["ms"].get("p50") is not None:
        spent = ", ".join("%s %s ms" % (name, value) for name, value in figures["ms"].items())
        yield paragraph("Time to the hand-over where something was found: %s." % spent)
    yield "<h2>Too late</h2>"
    late = [[row["host"], *(_number(row[who]) for who in ("submissions", "daemon", "helper", "files"))]
            for row in figures["late"]]  # fmt: skip
    head = ["host", "submissions as written", "service late", "helper late", "files late"]
    yield table("Answers that were not waited for", head, late) if late else paragraph("No answer came too late.")
    yield "<h2>Partitions</h2>"
    rows = [[row["partition"] or "(none said)", _number(row["jobs"]), _number(row["repaired"]), *_ends(row["ended"])]
            for row in figures["partitions"]]  # fmt: skip
    yield table("Submissions with a finding", ["partition", "jobs", "changed", "ran", "failed", "other"], rows)


def _sums(weeks: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for parts in weeks.values():
        for name, number in parts.items():
            sums[name] = sums.get(name, 0) + number
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _number(of: int) -> str:
    return f"{of:,}"


def _ends(ended: Mapping[str, int]) -> list[str]:
    return [_number(of) for of in _ended(ended)]


def _ended(ended: Mapping[str, int]) -> tuple[int, int, int]:
    """Return how many ran, failed, and ended otherwise or not yet."""
    ran, failed = (sum(ended.get(state, 0) for state in states) for states in (RAN, FAILED))
    return ran, failed, sum(ended.values()) - ran - failed


def _rules(window: Window) -> Parts:
    figures, titles = window["submissions"], read_titles()
    sums: dict[tuple[str, str], list[int]] = {}  # by rule and words: jobs and how they ended
    for row in figures["rules"] if figures is not None else ():
        numbers = sums.setdefault((row["code"], what_was_done(row["done"])), [0, 0, 0, 0])
        for at, number in enumerate((row["jobs"], *_ended(row["ended"]))):
            numbers[at] += number
    most = sorted(sums.items(), key=lambda item: -item[1][0])
    rows = [[code, titles.get(code, ""), done, *map(_number, numbers)] for (code, done), numbers in most]
    head = ["rule", "what is wrong", "what was done", "jobs", "ran", "failed", "other"]
    yield table("Findings by rule", head, rows) if rows else paragraph(NOTHING)
    yield "<h2>Held back</h2>"
    held = [
        [row["code"], titles.get(row["code"], ""), row["why"], _number(row["scripts"]), _number(row["users"])]
        for row in (window["held_back"] or ())[:MOST_HELD]
    ]
    head = ["rule", "what is wrong", "why nothing was changed", "scripts", "users"]
    yield (
        table("Changes that were not made, in the newest scripts with a finding", head, held)
        if held
        else paragraph("No change was held back, or no service remembers.")
    )


def _failures(window: Window) -> Parts:
    failures = window["failures"]
    if failures is None or not failures["kinds"]:
        yield paragraph(NOTHING)
        return
    named = dict(zip(failures["kinds"], KINDS))
    weeks = {week: _few(parts, named) for week, parts in failures["weeks"].items()}
    yield columns("Jobs that failed, by week and by how they ended", {**named, OTHERS: "base"}, weeks)
    most = list(failures["kinds"].items())[:12]
    yield bars("How jobs ended", [Bar(kind, number, f"{number:,}", look="bad") for kind, number in most])
    yield "<h2>Why</h2>"
    yield from _why(failures)
    yield "<h2>Where</h2>"
    yield from _where(failures)
    yield "<h2>When</h2>"
    hours = {"%02d" % hour: {"failed": number} for hour, number in enumerate(failures["hours"])}
    yield columns("Jobs that failed, by the hour of their end, UTC", {"failed": "bad"}, hours)


def _few(parts: Mapping[str, int], named: Mapping[str, str]) -> dict[str, int]:
    """Return the parts that have a name of their own, and the sum of all others."""
    few = {name: number for name, number in parts.items() if name in named}
    return {**few, OTHERS: sum(parts.values()) - sum(few.values())}


def _why(failures: Failures) -> Parts:
    """By the classes of maple-fix: what users' own processes found in logs, else what the scheduler's word names."""
    known = {cause: number for cause, number in failures["classes"].items() if cause}
    unread = failures["classes"].get("", 0)
    if known:
        looks = dict(zip(known, KINDS))
        weeks = {week: _few(parts, looks) for week, parts in failures["class_weeks"].items()}
        named = {_words(cause): look for cause, look in looks.items()}
        causes = {week: {_words(cause): number for cause, number in parts.items()} for week, parts in weeks.items()}
        yield columns("Jobs that failed, by week and by class", {**named, OTHERS: "base"}, causes)
        yield table(
            "Classes of failures", ["class", "jobs"], [[_words(cause), f"{of:,}"] for cause, of in known.items()]
        )
    yield paragraph("Of %s failed jobs nobody asked maple-fix why; they count as other." % f"{unread:,}", soft=True)


def _words(cause: str) -> str:
    """Return the name of a class as words; `maple-fix --json` and its page have it with bars."""
    return cause.replace("_", " ")


def _where(failures: Failures) -> Parts:
    rows = [Bar(node, number, f"{number:,}", look="warm") for node, number in failures["nodes"].items()]
    yield bars("Failed jobs by node", rows) if rows else paragraph("No node had two failed jobs.")
    yield paragraph("A job counts on each of its nodes; a busy node has more of them.", soft=True)
    causes = [cause for cause in failures["classes"] if cause][:MOST_CLASSES]
    if causes and rows:
        head = ["node", *map(_words, causes), OTHERS]
        yield table(
            "Failed jobs by node and class", head, [_of_node(row, causes) for row in failures["class_nodes"].items()]
        )


def _of_node(row: tuple[str, Mapping[str, int]], causes: Sequence[str]) -> list[str]:
    node, numbers = row
    named = [numbers.get(cause, 0) for cause in causes]
    return [node, *(_number(number) for number in (*named, sum(numbers.values()) - sum(named)))]


def _forecasts(window: Window) -> Parts:
    forecasts = window["forecasts"]
    if forecasts is None or not forecasts["told"]:
        yield paragraph("No run had a forecast yet: a job has to have run before.")
        return
    yield paragraph(
        "The newest %d runs, each foretold from what had ended before it was submitted." % forecasts["runs"]
    )
    yield bars("Forecasts against outcomes", _shares(forecasts))


def _shares(forecasts: Foretold) -> list[Bar]:
    shares = (
        ("runs that had a forecast", forecasts["told"] / max(1, forecasts["runs"]), "bar"),
        ("of these: took half to twice of it", forecasts["twice"], "good"),
        ("stayed below its bound (9 of 10 should)", forecasts["held"], "good"),
        ("took longer than the forecast", forecasts["under"], "warm"),
    )
    return [Bar(name, share, "%.0f %%" % (100 * share), look=look) for name, share, look in shares]


def _facts(window: Window) -> Parts:
    rows = [
        [
            row["code"],
            row["fact"] or "(the rule alone)",
            _number(row["ran"]),
            _number(row["failed"]),
            _number(row["users"]),
        ]
        for row in window["facts"] or ()
    ]
    yield "<h2>What changes came to</h2>"
    head = ["rule", "template or key of the site file", "ran", "failed", "users"]
    yield (
        table("Those that failed most come first: the fact behind it may be wrong", head, rows)
        if rows
        else (paragraph("No change yet that three users have in common."))
    )
    yield from _contradicted(window)
    yield "<h2>Ways of training, seen to run</h2>"
    seen = [[row["paradigm"], row["launch"], row["result"], row["on"], row["where"]] for row in window["proofs"]]
    head = ["paradigm", "launch template", "result", "on", "where"]
    yield table("", head, seen) if seen else paragraph("None for this site yet; maple verify --site runs them.")


def _contradicted(window: Window) -> Parts:
    """What ran although a rule had spoken, and what the scheduler took for no job although none had."""
    titles = read_titles()
    yield "<h2>Went as written</h2>"
    ran = [
        [row["code"], titles.get(row["code"], ""), _number(row["ran"]), _number(row["failed"])]
        for row in window["as_written"] or ()
    ]
    head = ["rule", "what it found", "ran", "failed"]
    yield (
        table("Jobs that ran unchanged: if it says that such a job is refused or fails, a fact may be wrong", head, ran)
        if ran
        else paragraph("No job ran with a finding that was left in it.")
    )
    yield "<h2>Became no job</h2>"
    none = [
        [row["partition"] or "(none said)", _number(row["submissions"]), _number(row["unseen"])]
        for row in window["refused"] or ()
    ]
    head = ["partition", "submissions", "of which nothing was found"]
    yield (
        table("Refused by the scheduler: a limit that the site file lacks shows in the last column", head, none)
        if none
        else paragraph("None that is known; the hook on login nodes (cli_filter.lua) tells of them.")
    )


def _health(window: Window) -> Parts:
    looks = {"ok": "good", "wrong": "bad", "note": "warm"}
    wrong = [row for row in window["health"] if row["state"] != "ok"]
    yield paragraph("%d checks, %d to look at." % (len(window["health"]), len(wrong)))
    good = [row for row in window["health"] if row["state"] == "ok"]
    cells = ((looks.get(row["state"], ""), row["state"], row["name"], row["says"], row["todo"]) for row in wrong + good)
    rows = (
        '<tr><td class="%s">%s</td><td>%s</td><td>%s</td><td>%s</td></tr>' % tuple(map(escape, cell)) for cell in cells
    )
    yield '<div class="wide"><table><tbody>%s</tbody></table></div>' % "".join(rows)
