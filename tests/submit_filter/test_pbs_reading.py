"""A submission is read as qsub reads it; the cases are what OpenPBS 23.06 was seen to do."""

from __future__ import annotations

import pytest
from maple_submit_filter.request.pbs import submission as pbs

from tests.submit_filter.pbs_cases import table, words


def in_force(script: bytes, argv: tuple[bytes, ...] = (), environment: dict[bytes, bytes] | None = None):
    read = pbs.read_argv((b"qsub", *argv, b"job.sh"))
    around = environment or {}
    job = pbs.read_script(script, pbs.prefix_in_force(read, around), pbs.shell_in_force(read, around))
    return {one.name: one.value for one in pbs.settings(read, around, job)}


@pytest.mark.parametrize("case", table("directives"), ids=lambda case: case["name"])
def test_directives_are_read_as_the_case_says(case):
    source = case["text"].encode()
    job = pbs.read_script(source)
    assert job.refused.rstrip() == case.get("refused", "")
    if "oddities" not in case.get("not_asked", ()):
        assert [[one.kind, one.line] for one in job.oddities] == case.get("oddities", [])
    if "settings" in case:
        assert {name: value.decode() for name, value in in_force(source).items()} == case["settings"]
    assert not job.het


@pytest.mark.parametrize("case", table("argv"), ids=lambda case: case["words"] or "nothing")
def test_words_are_read_as_the_case_says(case):
    read = pbs.read_argv([b"qsub", *words(case["words"])])
    executable = tuple(word.encode() for word in case["executable"]) if "executable" in case else None
    prefix = case["prefix"].encode() if "prefix" in case else None
    assert (case.get("problem", "") in read.problem, bool(read.problem)) == (True, "problem" in case)
    assert read.script_index == case.get("script")
    assert (read.executable, read.prefix, read.interactive) == (executable, prefix, case.get("interactive", False))
    if not read.problem:
        assert [[one.name, one.value.decode()] for one in read.settings] == case.get("settings", [])


def test_settings_of_the_command_line_remember_their_words():
    read = pbs.read_argv([b"qsub", b"-hlncpus=2,mem=4gb", b"-A", b"p", b"job.sh"])
    assert [(one.name, one.origin.argv_index, one.origin.argv_count, one.origin.spelling) for one in read.settings] == [
        ("hold", 1, 1, b"-h"),
        ("ncpus", 1, 1, b"-l"),
        ("mem", 1, 1, b"-l"),
        ("account", 2, 2, b"-A"),
    ]


SCRIPT = b"#!/bin/bash\n#PBS -l select=1:ncpus=4,walltime=1:00 -A s -q s\n#PBS -l walltime=9:00\n"


@pytest.mark.parametrize(
    "argv, expected",
    [
        ((), {"select": b"1:ncpus=4", "walltime": b"1:00", "account": b"s", "queue": b"s"}),
        ((b"-A", b"c"), {"select": b"1:ncpus=4", "walltime": b"1:00", "account": b"c", "queue": b"s"}),
        (
            (b"-lwalltime=2:00", b"-l", b"walltime=3:00,filesystems=home"),
            {"select": b"1:ncpus=4", "walltime": b"3:00", "filesystems": b"home", "account": b"s", "queue": b"s"},
        ),
        (
            (b"-l", b"select=2", b"-qa", b"-qb"),
            {"select": b"2", "walltime": b"1:00", "account": b"s", "queue": b"b"},
        ),
    ],
)
def test_the_command_line_wins_over_the_script_for_each_resource(argv, expected):
    assert in_force(SCRIPT, argv) == expected


def test_what_is_beaten_is_kept():
    read = pbs.read_argv([b"qsub", b"-l", b"walltime=5", b"job.sh"])
    said = pbs.settings(read, {}, pbs.read_script(SCRIPT)).all("walltime")
    assert [(one.value, one.origin.kind, one.origin.line) for one in said] == [
        (b"5", "argv", 0),
        (b"1:00", "directive", 2),
        (b"9:00", "directive", 3),
    ]


@pytest.mark.parametrize(
    "argv, environment, expected",
    [
        ((), {}, {"job-name": b"plain"}),
        ((), {b"PBS_DPREFIX": b"QSUB"}, {"job-name": b"by-variable"}),
        ((b"-C", b"#XX"), {b"PBS_DPREFIX": b"QSUB"}, {"directive-prefix": b"#XX", "job-name": b"by-option"}),
        ((b"-C", b""), {b"PBS_DPREFIX": b"QSUB"}, {"directive-prefix": b""}),
        ((), {b"PBS_DPREFIX": b""}, {}),
    ],
)
def test_the_prefix_is_that_of_the_option_then_the_variable(argv, environment, expected):
    script = b"#PBS -N plain\nQSUB -N by-variable\n"
    if expected.get("job-name") == b"by-option":
        script = b"#XX -N by-option\n" + script
    assert in_force(script, argv, environment) == expected


@pytest.mark.parametrize(
    "argv, script, environment, shell",
    [
        ((), b"", {b"PBS_SHELL": b"/bin/ksh"}, b"/bin/ksh"),
        ((), b"#PBS -S /bin/sh\n", {b"PBS_SHELL": b"/bin/ksh"}, b"/bin/sh"),
        ((b"-S/bin/zsh",), b"#PBS -S /bin/sh\n", {b"PBS_SHELL": b"/bin/ksh"}, b"/bin/zsh"),
    ],
)
def test_pbs_shell_counts_where_no_option_names_one(argv, script, environment, shell):
    assert in_force(script, argv, environment)["shell"] == shell


@pytest.mark.parametrize(
    "script, argv, is_shell",
    [
        (b"#!/bin/bash\n", (), True),
        (b"#!/usr/bin/env bash\n", (), True),
        (b"#!/usr/bin/python3\n", (), False),
        (b"#!/bin/tcsh\n", (), False),
        (b"mpiexec ./a\n", (), True),
        (b"#PBS -S /bin/bash\n", (), True),
        (b"#PBS -S /bin/tcsh\n", (), False),
        (b"#PBS -S /bin/bash@one,/bin/sh@two\n", (), True),
        (b"#PBS -S /usr/bin/python3\n", (), False),
        (b"#!/bin/bash\n#PBS -S /usr/bin/python3\n", (), False),
        (b"#!/bin/bash\n#PBS -S /bin/tcsh\n", (), True),
        (b"#!/bin/bash\n", (b"-S", b"/opt/wrap"), False),
        (b"echo\n", (b"-S", b"/bin/zsh"), True),
    ],
)
def test_only_scripts_of_a_shell_are_read_further(script, argv, is_shell):
    read = pbs.read_argv((b"qsub", *argv, b"job.sh"))
    assert pbs.read_script(script, b"#PBS", pbs.shell_in_force(read, {})).is_shell == is_shell


def test_settings_remember_the_bytes_that_said_them():
    source = (
        b'#!/bin/sh\n#PBS -l select=2:ncpus=8,walltime=1:00 -A "my proj"\n#PBS -hN job -q\\d -W umask=022,block=true\n'
        b"#PBS -l ncpus,mem= -l place=scat\\\nter,file=1gb\n"
    )
    said = {}
    for one in (one for directive in pbs.read_script(source).directives for one in directive.settings):
        span, value = one.origin.span, one.origin.value_span
        said[one.name] = (
            source[span.start : span.end] if span else None,
            source[value.start : value.end] if value else None,
            one.origin.line,
        )
    assert said == {
        "select": (b"-l select=2:ncpus=8,walltime=1:00", b"2:ncpus=8", 2),
        "walltime": (b"-l select=2:ncpus=8,walltime=1:00", b"1:00", 2),
        "account": (b'-A "my proj"', b"my proj", 2),
        "hold": (None, None, 3),
        "job-name": (None, b"job", 3),
        "queue": (b"-q\\d", b"d", 3),
        "umask": (b"-W umask=022,block=true", b"022", 3),
        "block": (b"-W umask=022,block=true", b"true", 3),
        "ncpus": (b"-l ncpus,mem=", None, 4),
        "mem": (b"-l ncpus,mem=", b"", 4),
        "place": (None, None, 4),
        "file": (None, b"1gb", 4),
    }


def test_a_directive_that_goes_on_spans_its_lines():
    source = b"#!/bin/sh\n#PBS -A a \\\n  -q b\n#PBS -N c\n"
    found = pbs.read_script(source).directives
    assert [source[one.span.start : one.span.end] for one in found] == [b"#PBS -A a \\\n  -q b", b"#PBS -N c"]
    assert [[setting.origin.line for setting in one.settings] for one in found] == [[2, 3], [4]]


def test_oddities_say_why():
    says = {one.kind: one.says for one in pbs.read_script(b"#PBS -l a=1,a=2 -C x\nset -e\n#PBS -q x\n").oddities}
    assert says["late"] == "behind the first command, in line 2: qsub does not read it"
    assert "-C" in says["ignored"]
    marked = pbs.read_script(b"\xef\xbb\xbf#!/bin/sh\n#PBS -q x\n").oddities
    assert "byte order mark" in marked[0].says


@pytest.mark.parametrize(
    "argv, came, script, path",
    [
        ([b"qsub", b"job.sh"], "file", b"#!/bin/sh\n", b"job.sh"),
        ([b"qsub", b"/w/job.sh"], "file", b"#!/bin/sh\n", b"/w/job.sh"),
        ([b"qsub", b"none.sh"], "none", None, b"none.sh"),
        ([b"qsub"], "stdin", b"in", b""),
        ([b"qsub", b"-"], "stdin", b"in", b""),
        ([b"qsub", b""], "stdin", b"in", b""),
        ([b"qsub", b"-I"], "none", None, b""),
        ([b"qsub", b"-I", b"job.sh"], "file", b"#!/bin/sh\n", b"job.sh"),
        ([b"qsub", b"--", b"/bin/true"], "none", None, b""),
        ([b"qsub", b"job.sh", b"-N", b"x"], "none", None, b""),
        ([b"qsub", b"--version"], "none", None, b""),
    ],
)
def test_words_become_a_submission(argv, came, script, path):
    files = {b"/w/job.sh": b"#!/bin/sh\n", b"-": b"in"}
    one = pbs.submission_from_words(argv, b"/w", {b"RANK": b"1", b"SECRET": b"x"}, files.get, 7)
    assert (one.came, one.script, one.path, one.argv, one.uid) == (came, script, path, tuple(argv), 7)
    assert (one.scheduler, one.environment) == ("pbs", {b"RANK": b"1"})
