"""A submission is read as sbatch reads it; the installed sbatch is asked as well."""

from __future__ import annotations

import os
import string

import pytest
import tomllib
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.request.options import NO, OPTIONAL, REQUIRED
from maple_submit_filter.request.slurm import submission as slurm
from maple_submit_filter.request.slurm.options import SBATCH
from maple_submit_filter.request.slurm.values import Gres, gpus, gres, mebibytes, nodes, seconds, whole

from tests.submit_filter.real_sbatch import complaint, listed
from tests.wanted import slurm as slurm_release

CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases", "reading", "directives.toml")
with open(CASES, "rb") as file:
    DIRECTIVES = tomllib.load(file)["case"]
SHEBANG = b"#!/bin/bash\n"
# sbatch lists some values in another form, or not at all.
NOT_LISTED = ("quiet", "version", "help", "usage", "wrap")


def in_force(
    script: bytes, argv: "tuple[bytes, ...]" = (), environment: "dict[bytes, bytes] | None" = None
) -> "dict[str, bytes]":
    read = slurm.read_argv((b"sbatch", *argv, b"job.sh"))
    job = slurm.read_script(script, slurm.ignores_pbs(read, environment or {}))
    return {one.name: one.value for one in slurm.settings(read, environment or {}, job)}


def source_of(case: "dict[str, object]") -> bytes:
    return SHEBANG + str(case["text"]).encode()


@pytest.mark.parametrize("case", DIRECTIVES, ids=lambda case: case["name"])
def test_directives_are_read_as_the_case_says(case):
    job = slurm.read_script(source_of(case))
    assert case.get("refused", "") in job.refused and bool(job.refused) == bool(case.get("refused"))
    assert [[one.kind, one.line] for one in job.oddities] == case.get("oddities", [])
    assert job.het == case.get("het", False)
    assert job.disputed == case.get("disputed", 0)
    if not job.refused:
        assert {name: value.decode() for name, value in in_force(source_of(case)).items()} == case["settings"]


@pytest.mark.parametrize("case", DIRECTIVES, ids=lambda case: case["name"])
def test_the_real_sbatch_reads_the_same(case, tmp_path):
    if "disputed" in case:
        slurm_release(below=(23, 0))
    real = listed(str(tmp_path), source_of(case))
    if "refused" in case:
        assert real.options is None, real
        return
    assert real.options is not None, real
    assert set(real.options) == set(case["settings"]) - set(NOT_LISTED)
    for name, value in real.options.items():
        ours = case["settings"][name].encode()
        assert value == ours or not ours or plain(name, value) == plain(name, ours) is not None, name


def plain(name: str, value: bytes) -> object:
    """Return a value freed from the form it is written in."""
    if name == "time":
        return -(-(seconds(value) or 0) // 60)
    if name in ("mem", "mem-per-cpu"):
        return mebibytes(value)
    if name in ("output", "error", "chdir"):
        return os.path.basename(value)
    return value


WORDS = [
    "-N2",
    "-n 4",
    "--nodes=3",
    "-J x",
    "'a b'",
    '"c"',
    "--comment=",
    "#",
    "\\",
    "--exclusive",
    "-t 5",
    "--time=1:00:00",
    "foo",
    "-A",
    "-c2",
    "-Hk",
    "--gres=gpu:2",
    "--mem 4G",
    "$X",
    "--nod 2",
    "--",
    "'",
    '"',
    "=",
    " ",
    "  ",
    "\t",
    "-p",
    "a,b",
    "hetjob",
]
LINES = st.lists(
    st.tuples(
        st.sampled_from(["#SBATCH ", "#SBATCH", "#SBATCH ", "#PBS ", "# ", "", " #", "##SBATCH "]),
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    ),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_whatever_the_lines_hold_we_refuse_what_sbatch_refuses_and_read_the_same_names(tmp_path_factory, lines):
    script = SHEBANG + "".join(prefix + rest + "\n" for prefix, rest in lines).encode()
    real, job = listed(str(tmp_path_factory.mktemp("job")), script), slurm.read_script(script)
    about_values = (b"Invalid", b"invalid", b"mutually", b"valid node count", b"Job name")
    if job.het or job.disputed:
        return
    if real.options is None and not job.refused:
        assert any(word in real.said for word in about_values) and b"directive" not in real.said, (real.said, lines)
    if real.options is not None:
        assert job.refused == "", lines
        assert set(in_force(script)) - set(NOT_LISTED) == set(real.options)


@pytest.mark.parametrize(
    "argv, environment, expected",
    [
        (
            (b"-N3",),
            {b"SBATCH_JOB_NAME": b"e", b"SBATCH_TIMELIMIT": b"5", b"SLURM_NNODES": b"9"},
            {"nodes": b"3", "job-name": b"e", "time": b"5"},
        ),
        (
            (),
            {b"SBATCH_MEM_PER_NODE": b"3G", b"SBATCH_GPUS": b"2"},
            {"nodes": b"2", "job-name": b"s", "mem": b"3G", "gpus": b"2"},
        ),
        ((b"-Jx", b"--job-n", b"y"), {}, {"nodes": b"2", "job-name": b"y"}),
        (
            (),
            {
                b"SBATCH_EXCLUSIVE": b"",
                b"SBATCH_NO_KILL": b"",
                b"SBATCH_OVERCOMMIT": b"yes",
                b"SBATCH_USE_MIN_NODES": b"2",
                b"SBATCH_NO_REQUEUE": b"0",
                b"SBATCH_SPREAD_JOB": b"",
            },
            {
                "nodes": b"2",
                "job-name": b"s",
                "exclusive": b"",
                "no-kill": b"",
                "overcommit": b"",
                "use-min-nodes": b"",
                "spread-job": b"",
            },
        ),
        (
            (),
            {b"SLURM_HINT": b"nomultithread", b"SBATCH_NTASKS": b"4", b"SBATCH_NODES": b"3"},
            {"nodes": b"2", "job-name": b"s", "hint": b"nomultithread"},
        ),
        (
            (),
            {b"SLURM_HINT": b"nomultithread", b"SBATCH_HINT": b"multithread"},
            {"nodes": b"2", "job-name": b"s", "hint": b"multithread"},
        ),
    ],
)
def test_the_command_line_wins_over_variables_and_those_over_directives(argv, environment, expected, tmp_path):
    script = SHEBANG + b"#SBATCH -N 2 -J s\n"
    assert in_force(script, argv, environment) == expected
    real = listed(str(tmp_path), script, argv, environment)
    assert real.options is not None and set(real.options) == set(expected), real
    for name in ("nodes", "job-name", "mem", "gpus", "hint"):
        assert real.options.get(name) == expected.get(name)


@pytest.mark.parametrize(
    "argv, environment, name",
    [
        ((), {b"SBATCH_IGNORE_PBS": b"0"}, b"p"),
        ((), {b"SBATCH_IGNORE_PBS": b""}, b"s"),
        ((b"--ignore",), {}, b"s"),
        ((), {}, b"p"),
    ],
)
def test_pbs_lines_are_left_alone_where_sbatch_is_told_so(argv, environment, name, tmp_path):
    script = SHEBANG + b"#SBATCH -J s\n#PBS -N p\n"
    assert in_force(script, argv, environment)["job-name"] == name
    assert listed(str(tmp_path), script, argv, environment).options["job-name"] == name


@pytest.mark.parametrize(
    "lines, read", [(b"x\n" * 100, True), (b"x\n" * 101, False), (b"\n" * 101, False), (b"#\n" * 300, True)], ids=repr
)
def test_pbs_lines_are_looked_for_up_to_a_hundred_other_lines(lines, read, tmp_path):
    script = SHEBANG + b"#SBATCH -J s\n" + lines + b"#PBS -N p\n"
    assert in_force(script)["job-name"] == (b"p" if read else b"s")
    assert listed(str(tmp_path), script).options["job-name"] == (b"p" if read else b"s")


@pytest.mark.parametrize(
    "script, refused",
    [
        (b"", "empty"),
        (b"  \n\n", "whitespace"),
        (b"#SBATCH -N 2\n", "#!"),
        (b" #!/bin/sh\n", "#!"),
        (b"\xef\xbb\xbf#!/bin/sh\n", "#!"),
        (b"#!/bin/sh\n\0", "NULL"),
        (b"#!/bin/sh\necho '\r\n'", "DOS"),
        (b"#! /bin/sh\n", ""),
        (b"#!/bin/sh\recho\r", ""),
        (b"#!/bin/sh\n\xff", ""),
    ],
)
def test_what_is_no_batch_script_is_refused_as_sbatch_refuses_it(script, refused, tmp_path):
    said = slurm.read_script(script).refused
    assert refused in said and bool(said) == bool(refused)
    assert (listed(str(tmp_path), script).options is None) == bool(refused)


@pytest.mark.parametrize(
    "line, shell",
    [
        (b"#!/bin/bash", True),
        (b"#!/bin/sh -l", True),
        (b"#!/usr/bin/env bash", True),
        (b"#!/usr/bin/env -S bash -e", True),
        (b"#! /bin/zsh", True),
        (b"#!/usr/bin/env A=1 ksh", True),
        (b"#!/usr/bin/python3", False),
        (b"#!/usr/bin/env python3", False),
        (b"#!/bin/tcsh", False),
        (b"#!", False),
    ],
)
def test_only_scripts_of_a_shell_are_read_further(line, shell):
    assert slurm.read_script(line + b"\n").is_shell == shell


def test_settings_remember_the_bytes_that_said_them():
    source = SHEBANG + b"#SBATCH --nodes=\"2\" -n4 # x\n#SBATCH -HJ job --comment 'a b'\n#SBATCH -A\n#SBATCH acc\n"
    said = {}
    for one in (one for directive in slurm.read_script(source).directives for one in directive.settings):
        span, value = one.origin.span, one.origin.value_span
        said[one.name] = (
            source[span.start : span.end] if span else None,
            source[value.start : value.end] if value else None,
            one.origin.line,
        )
    assert said == {
        "nodes": (b'--nodes="2"', b'"2"', 2),
        "ntasks": (b"-n4", b"4", 2),
        "hold": (None, None, 3),
        "job-name": (None, b"job", 3),
        "comment": (b"--comment 'a b'", b"'a b'", 3),
        "account": (None, b"acc", 4),
    }


@pytest.mark.parametrize(
    "argv, script, args, problem, het",
    [
        (b"sbatch -N2 s.sh -N 4 --wrap", 2, (b"-N", b"4", b"--wrap"), "", False),
        (b"sbatch", None, (), "", False),
        (b"sbatch -- -x a", 2, (b"a",), "", False),
        (b"sbatch - a", 1, (b"a",), "", False),
        (b"sbatch -N 2 : -N 4 s.sh", None, (), "", True),
        (b"sbatch --ti=7 s.sh", None, (), "ambiguous", False),
        (b"sbatch -Z s.sh", None, (), "invalid option", False),
        (b"sbatch --nodes", None, (), "wants a value", False),
        (b"sbatch --hold=1", None, (), "not take", False),
        (b"sbatch --wrap=x s.sh", None, (), "Script arguments not permitted", False),
        (b"sbatch --exclusive s.sh", 2, (), "", False),
    ],
)
def test_the_first_word_that_is_no_option_names_the_script(argv, script, args, problem, het):
    read = slurm.read_argv(argv.split())
    assert (read.script_index, read.args, read.het) == (script, args, het)
    assert problem in read.problem and bool(read.problem) == bool(problem)


def test_every_option_of_the_installed_sbatch_is_known_with_its_kind(tmp_path):
    names, folder = set(), str(tmp_path)
    for letter in string.ascii_lowercase:
        said = complaint(["--" + letter], folder=folder)
        names |= (
            {one.strip("'").lstrip("-") for one in said.split("possibilities:")[-1].split() if one.startswith("'--")}
            if "possib" in said
            else set()
        )
    assert len(names) > 90
    kinds = {
        name: REQUIRED
        if "requires an argument" in complaint(["--" + name], folder=folder)
        else NO
        if "doesn't allow" in complaint(["--%s=x" % name, "--no-such"], folder=folder)
        else OPTIONAL
        for name in names
    }
    ours = {name: SBATCH.long[name.encode()].value for name in names if name.encode() in SBATCH.long}
    assert set(ours) == names
    # What takes a value in one release may have one in every other.
    assert {name: kind for name, kind in kinds.items() if kind != ours[name] and ours[name] != OPTIONAL} == {}
    for letter in string.ascii_letters:
        assert (letter.encode() in SBATCH.short) == (
            "invalid option" not in complaint(["-" + letter, "--no-such"], folder=folder)
        ), letter


def test_a_script_is_looked_for_where_sbatch_looks():
    read = slurm.read_argv([b"sbatch", b"-D", b"sub", b"job.sh"])

    def found(*there: bytes) -> "bytes | None":
        return slurm.find_script(
            [b"sbatch", b"-D", b"sub", b"job.sh"], read, b"/w", b"/bin:/opt", lambda path: path in there
        )

    assert found(b"/opt/job.sh", b"/w/job.sh", b"/w/sub/job.sh") == b"/w/sub/job.sh"
    assert found(b"/opt/job.sh", b"/w/job.sh") == b"/opt/job.sh"
    assert found(b"/w/job.sh") == b"/w/job.sh"
    assert found() is None
    assert slurm.candidates(b"./job.sh", b"sub", b"/w", b"/bin") == (b"/w/./job.sh",)
    assert slurm.candidates(b".hidden.sh", b"sub", b"/w", b"/bin") == (b"/w/.hidden.sh",)
    assert slurm.candidates(b"job.sh", b"", b"/w", b"/bin") == (b"/w/job.sh", b"/bin/job.sh")
    assert slurm.candidates(b"/x/job.sh", b"sub", b"/w", b"/bin") == (b"/x/job.sh",)


@pytest.mark.parametrize(
    "argv, came, script, path",
    [
        ([b"sbatch", b"job.sh", b"a"], "file", b"#!/bin/sh\n", b"job.sh"),
        ([b"sbatch", b"none.sh"], "none", None, b"none.sh"),
        ([b"sbatch"], "stdin", b"in", b""),
        ([b"sbatch", b"-"], "stdin", b"in", b""),
        (
            [b"sbatch", b"--wrap", b"srun x"],
            "wrap",
            b"#!/bin/sh\n# This script was created by sbatch --wrap.\n\nsrun x\n",
            b"",
        ),
        ([b"sbatch", b"-N1", b":", b"-N2", b"job.sh"], "none", None, b""),
    ],
)
def test_words_become_a_submission(argv, came, script, path):
    files = {b"/w/job.sh": b"#!/bin/sh\n", b"-": b"in"}
    one = slurm.submission_from_words(argv, b"/w", {b"SBATCH_GPUS": b"1", b"SECRET": b"x"}, files.get, 7)
    assert (one.came, one.script, one.path, one.argv, one.uid) == (came, script, path, tuple(argv), 7)
    assert one.environment == {b"SBATCH_GPUS": b"1"}


@pytest.mark.parametrize(
    "read, value, expected",
    [
        (nodes, b"2", (2, 2)),
        (nodes, b"2-4", (2, 4)),
        (nodes, b"2k", (2048, 2048)),
        (nodes, b"x", None),
        (nodes, b"1,3", None),
        (whole, b"4", 4),
        (whole, b"4x", None),
        (seconds, b"5", 300),
        (seconds, b"5:30", 330),
        (seconds, b"1:00:00", 3600),
        (seconds, b"1-2", 93600),
        (seconds, b"1-2:03", 93780),
        (seconds, b"1-2:03:04", 93784),
        (seconds, b"UNLIMITED", None),
        (mebibytes, b"4000", 4000),
        (mebibytes, b"4G", 4096),
        (mebibytes, b"4gb", 4096),
        (mebibytes, b"1K", 1),
        (mebibytes, b"2T", 2097152),
        (gres, b"gpu:a100:4", (Gres(b"gpu", b"a100", 4),)),
        (gres, b"gpu", (Gres(b"gpu", b"", 1),)),
        (gres, b"gpu:4(S:0)", (Gres(b"gpu", b"", 4),)),
        (gres, b"gres:gpu:4", (Gres(b"gpu", b"", 4),)),
        (gres, b"gres/gpu:2,nvme:1", (Gres(b"gpu", b"", 2), Gres(b"nvme", b"", 1))),
        (gres, b"gpu:a100", (Gres(b"gpu", b"a100", 1),)),
        (gres, b"", None),
        (gpus, b"4", (Gres(b"gpu", b"", 4),)),
        (gpus, b"a100:4", (Gres(b"gpu", b"a100", 4),)),
        (gpus, b"a100:2,v100:1", (Gres(b"gpu", b"a100", 2), Gres(b"gpu", b"v100", 1))),
        (gpus, b"gpu:4", (Gres(b"gpu", b"", 4),)),
    ],
)
def test_values_are_read(read, value, expected):
    assert read(value) == expected


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120))
def test_any_bytes_are_a_script_or_refused(text):
    for source in (text, SHEBANG + b"#SBATCH " + text, SHEBANG + b"#PBS -l " + text):
        job = slurm.read_script(source)
        for oddity in job.oddities:
            assert 0 <= oddity.span.start <= oddity.span.end <= len(source)
        for setting in (one for directive in job.directives for one in directive.settings):
            span = setting.origin.value_span
            assert span is None or 0 <= span.start <= span.end <= len(source)
    slurm.read_argv((b"sbatch", *text.split()))


def test_an_option_of_a_plug_in_does_not_hide_what_follows():
    """sbatch knows options that a site's plug-in adds; with or without a separate value, the rest still counts."""
    script = slurm.read_script(
        b"#!/bin/bash\n#SBATCH --image=docker:torch:24 -N2\n#SBATCH --module gpu,nccl\n#SBATCH --ntasks-per-node=4\n"
    )
    said = slurm.settings(slurm.read_argv([b"sbatch", b"job.sh"]), {}, script)
    assert (said.value("nodes"), said.value("ntasks-per-node")) == (b"2", b"4")
    assert script.refused.startswith("unrecognized option --image")
