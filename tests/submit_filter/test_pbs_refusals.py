"""What qsub will say of a request is known before it is asked; texts and exit codes were measured on OpenPBS 23.06."""

from __future__ import annotations

import pytest
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.request.pbs.refusals import refusals

from tests.submit_filter.pbs_cases import table, words


def said_of(argv: list[bytes], script: bytes, path: bytes = b"job.sh"):
    read = pbs.read_argv(argv)
    return refusals(read, {b"HOME": b"/h"}, pbs.read_script(script), path)


@pytest.mark.parametrize("case", table("refusals"), ids=lambda case: case["words"] or case["script"])
def test_a_refusal_is_foretold_word_for_word(case):
    argv = [b"qsub", *words(case["words"]), *([] if case.get("alone") else [b"job.sh"])]
    found = said_of(argv, case.get("script", "#!/bin/sh\n").encode())
    assert bool(found) == ("text" in case), found
    if found:
        assert (found[0].text, found[0].exit_code, found[0].usage) == (
            case["text"],
            case["exit"],
            case.get("usage", False),
        )
        assert found[0].text or found[0].says


def test_a_refusal_names_the_setting_in_force():
    script = b"#!/bin/sh\n#PBS -l walltime=abc\n"
    found = said_of([b"qsub", b"job.sh"], script)[0]
    span = found.setting.origin.value_span
    assert script[span.start : span.end] == b"abc"
    assert said_of([b"qsub", b"-l", b"walltime=1:00", b"job.sh"], script) == ()


def test_a_refused_line_is_named():
    found = said_of([b"qsub", b"job.sh"], b"#!/bin/sh\n#PBS -N a\n#PBS -N x y\n")
    assert [(one.line, one.exit_code) for one in found] == [(3, 1)]


@pytest.mark.parametrize(
    "path, text",
    [
        (b"dir with blank/job.sh", None),
        (b"my job.sh", "qsub: illegal -N value"),
        (b"1num.sh", None),
        (b"x" * 231, "qsub: Job name is too long "),
        (b"x" * 230, None),
        (b"", None),
    ],
)
def test_the_name_of_the_script_is_the_name_of_the_job(path, text):
    found = said_of([b"qsub", b"job.sh"], b"", path)
    assert [one.text for one in found] == ([text] if text else [])
    assert said_of([b"qsub", b"-N", b"n", b"job.sh"], b"", path) == ()
