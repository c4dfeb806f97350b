"""What people read is in one register: no "1 nodes", no word twice, no article too many, no blank too many.

Read: every sentence of a finding of every script in the tree (`cases/seen`), the help of every command, every rule's
page, and all that is known of causes and of what to do. What stands in quotes, an option or a variable is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_agents.base.terminal import copied
from maple_agents.cli.rule_pages import pages
from maple_agents.diagnose.local_advice import all_spoken
from maple_agents.diagnose.tell import page_rows
from maple_agents.templates import knowledge

from tests.agents.test_width import WIDE, commands, too_wide

SEEN = Path(__file__).parent / "cases" / "seen"
TOLD = re.compile(r"^  \S+ MPL\d{3} (?:proven|tell): (.*)|^  held back MPL\d{3}: (.*)", re.MULTILINE)
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|--?[A-Za-z]\S*|\$\S+|\S*[/=_]\S*")
NOUNS = (
    "nodes|tasks|ranks|processes|GPUs|CPUs|copies|workers|hours|minutes|seconds|files|errors|jobs|users|lines|rounds|"
    "launchers|versions|submissions|steps|tiles|devices|hosts|slots|places|queues|cores|chunks|programs|others"
)
WRONG = {
    "one of many": re.compile(r"(?<![\w.,:~-])1 (?:[a-z]+ )?(?:%s)\b" % NOUNS),
    "a word twice": re.compile(r"\b([A-Za-z]+) \1\b"),
    "an article too many": re.compile(r"\b(?:the|a|an) (?:the|a|an|its|this|that|your|their)\b", re.IGNORECASE),
    "the other article": re.compile(r"\ba (?=[aeio][a-z])|\ban (?=[bcdfgjkpqtvwyz][a-z])"),
    "a blank too many": re.compile(r"(?<=\S)  (?=\S)| [,;:](?: |$)"),
}
COMMA = re.compile(r", (?:or|and|then|a|the) | (?:tells|shows|says) |; [a-z]+ --")  # of a sentence, in no command


def findings() -> Iterator[tuple[str, str]]:
    for path in sorted(SEEN.glob("*.txt")):
        for match in TOLD.finditer(path.read_text("utf-8")):
            yield from ((path.name, part) for part in (match[1] or match[2]).split(" | "))


def helps() -> Iterator[tuple[str, str]]:
    for path, command, _ in commands():
        text = (command.help or "").partition("\b")[0].partition("Exit code:")[0]
        yield from ((path, paragraph) for paragraph in text.split("\n\n"))
        yield from ((path, getattr(parameter, "help", None) or "") for parameter in command.params)


def rules() -> Iterator[tuple[str, str]]:
    for page in pages():
        yield page.code, page.title
        prose = re.sub(r"(?ms)^(?:Wrong|Right):.*?(?=^[A-Z]\w*:|\Z)", "", page.text)
        yield page.code, prose


def causes() -> Iterator[tuple[str, str]]:
    for name, entry in knowledge.entries().items():
        yield from ((name, text) for text in (entry.says, entry.why, *(said.says for said in entry.said)))
        yield from ((name, text) for fix in entry.fixes for text in (fix.says, *fix.steps))


@pytest.mark.parametrize("source", [findings, helps, rules, causes], ids=lambda source: source.__name__)
def test_what_people_read_is_in_one_register(source):
    """The counts say that there is something to read."""
    texts = [(who, " ".join(text.split()) if source in (helps, rules) else text) for who, text in source()]
    assert len(texts) > 150
    found = {
        (who, what, text)
        for who, text in texts
        for what, pattern in WRONG.items()
        if pattern.search(QUOTED.sub("...", text))
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    "wrong",
    ["starts on 1 nodes", "1 more ranks", "for the the job", "in a its own", "a error", "an job", "a,  b", "a , b"],
)
def test_the_register_hears_what_is_wrong(wrong):
    """A test that cannot fail tells nothing."""
    assert any(pattern.search(wrong) for pattern in WRONG.values())


@pytest.mark.parametrize("right", ["starts on 1 node", "1.1 nodes", "10 nodes", "an hour", "a user", "v. 1, nodes"])
def test_what_is_right_is_left_alone(right):
    """Numbers with a point, and what only looks like a vowel."""
    assert not any(pattern.search(right) for pattern in WRONG.values())


def test_only_a_command_is_wider_than_a_screen(monkeypatch, capsys):
    """A step is folded between its words; what a shell could not read in two is a command alone."""
    monkeypatch.setattr(page_rows, "_room", lambda: WIDE)
    mixed = []
    for name, entry in knowledge.entries().items():
        for step in (step for fix in entry.fixes for step in fix.steps):
            for said in {one for scheduler in ("slurm", "pbs") for one in all_spoken([step], scheduler)}:
                page_rows.step("  - ", re.sub(r"\{\w+\}", "NAME", said))
                wide = too_wide(capsys.readouterr().out)
                mixed += [(name, row) for row in wide if COMMA.search(QUOTED.sub("...", row))]
    assert mixed == []
    assert copied("x " * 60, WIDE) != ["x " * 60]
