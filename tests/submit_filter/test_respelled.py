"""A rule says the same of a script however its commands are laid out: bash reads the same commands.

What is silent stays silent, wherever a line is continued. What is found stays found where options stand on lines of
their own, variables in braces, the program in quotes, and other commands between.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.submit_filter.rule_cases import OF_LAUNCH, RuleCase, cases, found, lines

CASES: dict[str, list[RuleCase]] = {}
for _case in (*cases(), *cases(OF_LAUNCH)):
    CASES.setdefault(_case.code, []).append(_case)
BODY = re.compile(rb"(?m)^(?!#).*$")
PLAIN = re.compile(rb"[^'\"#<\\`]*\Z")  # of such a line each blank stands between words
# Where the layout itself is what is found, or what the fix can be: the case, and the ways that change it.
ABOUT_LAYOUT = {
    "MPL105": ("options", "first", "last", "between"),  # what is behind a carriage return
    "MPL108": ("quoted",),  # a line that a comment cuts
    "MPL119": ("options",),  # blanks around a sign
    "MPL313": ("options", "quoted"),  # a second python is taken out where one line has both
    "MPL411": ("quoted",),  # what is put in goes into no quotes of the same kind
}


def _each_line(script: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Change the lines that are no comment; a script with here-documents or continued lines is left as it is."""
    if b"<<" in script or b"\\\n" in script:
        return script
    return BODY.sub(lambda match: change(match.group()) if PLAIN.match(match.group()) else match.group(), script)


def _continued(at: int) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        places = [match.end() for match in re.finditer(rb"(?<=[\w}]) (?=[\w$/-])", line)]
        return line[: places[at]] + b"\\\n    " + line[places[at] :] if places else line

    return change


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "first": lambda script: _each_line(script, _continued(0)),
    "last": lambda script: _each_line(script, _continued(-1)),
    "options": lambda script: _each_line(
        script, lambda line: line if b"$(" in line else re.sub(rb"(?<=[\w}]) (?=--?[a-zA-Z])", rb" \\\n    ", line)
    ),
    "braces": lambda script: BODY.sub(
        lambda match: re.sub(rb"(?<![\\$\w])\$([A-Za-z_]\w*)", rb"${\1}", match.group()), script
    ),
    "quoted": lambda script: re.sub(rb"(?m)^((?!#)[^'\"\n#<]*) ([\w./-]+\.py)(?= |$)", rb'\1 "\2"', script),
    "between": lambda script: _each_line(
        script, lambda line: re.sub(rb"\A(?=srun |torchrun |mpi|export |accelerate |deepspeed )", b"echo here\n", line)
    ),
}
OF_SILENT_ALONE = ("first", "last")  # nobody writes so; but nothing wrong may be said of it


@pytest.mark.parametrize("code", sorted(CASES))
def test_a_rule_says_the_same_however_commands_are_laid_out(code: str) -> None:
    """Of each of its cases: as much, as sure, with as safe a fix. Each is asked in every other way."""
    assert [row for number, case in enumerate(CASES[code]) for row in _changed(case, number % 2)] == []


def _changed(case: RuleCase, first: int) -> list[tuple[str, str, list[str], list[str]]]:
    script = case.submission.script or b""
    was, rows = _said(case, script), []
    for name, way in list(WAYS.items())[first::2]:
        other = way(script)
        if other == script or name in ABOUT_LAYOUT.get(case.code, ()) or (was and name in OF_SILENT_ALONE):
            continue
        now = _said(case, other)
        rows += [(case.name, name, was, now)] if now != was else []
    return rows


def _said(case: RuleCase, script: bytes) -> list[str]:
    """Return what the rule says, without the numbers of lines."""
    findings = found(case, case.submission._replace(script=script))
    return sorted(line.partition(" ")[2] for line in lines(findings, script))
