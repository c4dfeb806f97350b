"""What becomes of a decision about a script of qsub's: the closing comment, the queue's mode, the copy's path."""

from __future__ import annotations

import subprocess
from typing import Any, Optional

import pytest
from maple_submit_filter.answer import reply as answers
from maple_submit_filter.answer import trailer
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.site.facts import GENERIC_PBS
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.submission import Submission

from tests.doubles.stand import Seen, Stand, compiled

SCRIPT = b"#!/bin/bash\n#PBS -q debug@pbs01\nmpiexec -n 8 python train.py\n"
FIXED = SCRIPT.replace(b"-n 8", b"-n 4")
FINDING = Finding("MPL203", "8 ranks, but 4 GPUs", at=Span(SCRIPT.index(b"mpiexec"), len(SCRIPT) - 1), proven=True)


def request_of(script: bytes, argv: tuple[bytes, ...] = (b"qsub", b"job.sh"), **environment: str) -> Request:
    """A request as the front would send it."""
    variables = {name.encode(): value.encode() for name, value in environment.items()}
    submission = Submission("pbs", argv, script, "file", b"job.sh", b"/", 1000, variables)
    return Request(bytes(range(16)), b"h" * 32, submission, len(argv) - 1, 0, True, True)


def decided(
    monkeypatch: pytest.MonkeyPatch, request: Request, policy: Optional[Policy] = None, fixed: bytes = FIXED
) -> Reply:
    """The answer where this had been decided."""
    made = Rewritten(fixed, request.submission.argv, ("-n 4 in place of -n 8",), ((3, "MPL203"),))
    monkeypatch.setattr(answers, "decide", lambda submission, site, read: Decision("repaired", (FINDING,), None, made))
    return answers.answer(request, GENERIC_PBS, policy or Policy(), ())


def test_the_closing_comment_names_the_command_that_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what it says can be typed."""
    reply = decided(monkeypatch, request_of(SCRIPT))
    assert reply.change is not None and reply.change.script is not None
    comment = reply.change.script[len(FIXED) :]
    assert comment.startswith(b"# maple: repaired (MPL203)") and b"; MAPLE=off qsub ... submits as written\n" in comment
    assert b"sbatch" not in reply.say + reply.change.script + reply.change.audit


@pytest.mark.parametrize(
    "argv, environment",
    [
        ((b"qsub", b"-C", b"#", b"job.sh"), {}),
        ((b"qsub", b"job.sh"), {"PBS_DPREFIX": "# maple"}),
    ],
    ids=str,
)
def test_where_the_closing_comment_would_be_a_directive_there_is_none(
    monkeypatch: pytest.MonkeyPatch, argv: tuple[bytes, ...], environment: dict[str, str]
) -> None:
    """Directives begin as the caller wants them to."""
    reply = decided(monkeypatch, request_of(SCRIPT, argv, **environment))
    assert reply.change is not None and reply.change.script == FIXED


@pytest.mark.parametrize(
    "argv, policy, changes",
    [
        ((b"qsub", b"job.sh"), {"debug": "observe"}, False),
        ((b"qsub", b"job.sh"), {"prod": "observe"}, True),
        ((b"qsub", b"-hqprod", b"job.sh"), {"prod": "observe"}, False),
        ((b"qsub", b"-q", b"prod@pbs01", b"job.sh"), {"prod": "observe"}, False),
        ((b"qsub", b"-N", b"-qprod", b"job.sh"), {"prod": "observe"}, True),
        ((b"qsub", b"-C", b"#X", b"job.sh"), {"debug": "observe"}, True),
    ],
    ids=str,
)
def test_the_administrator_s_mode_for_a_queue(
    monkeypatch: pytest.MonkeyPatch, argv: tuple[bytes, ...], policy: dict[str, str], changes: bool
) -> None:
    """A queue named by option or directive, with a server or without, counts as a partition does."""
    reply = decided(monkeypatch, request_of(SCRIPT, argv), Policy("repair", partitions=policy))
    assert (reply.change is not None) == changes


def test_a_script_that_asks_for_its_own_words_is_not_repaired_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submit_arguments would name the copy."""
    script = SCRIPT + b"qstat -f $PBS_JOBID | grep Submit_arguments\n"
    assert decided(monkeypatch, request_of(script), fixed=script.replace(b"-n 8", b"-n 4")).change is None


def test_a_question_of_pbs_comes_through_the_frame() -> None:
    """As it went in."""
    request = request_of(SCRIPT, PBS_DPREFIX="#X")
    assert frames.unpack_request(frames.pack_request(request)) == request


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Stand:
    """The double of qsub."""
    folder = str(tmp_path_factory.mktemp("closing"))
    one = Stand(folder, "/bin/true", compiled("qsub", folder), "qsub")
    one.setup()
    return one


HEAD = b"#!/bin/bash\n#PBS -N python\n"
CLOSED: dict[str, tuple[bytes, list[bytes]]] = {
    "behind a command": (SCRIPT, []),
    "no final newline": (SCRIPT[:-1], []),
    "directives only": (HEAD + b"#PBS -l walltime=1:00\n", []),
    "directives only, no final newline": (HEAD + b"#PBS -l walltime=1:00", []),
    "another prefix": (b"#X -N x\n: python\n", [b"-C", b"#X"]),
    "no prefix": (HEAD, [b"-C", b""]),
    "a here-document that ends": (HEAD + b"mpiexec python <<EOF\nx\nEOF\n", []),
    "continued in the middle": (HEAD + b"#PBS -l walltime=1:00 \\\n -A x\nmpiexec \\\n python\n", []),
}
UNCLOSED: dict[str, tuple[bytes, list[bytes]]] = {
    "a directive that goes on": (HEAD + b"#PBS -l walltime=1:00 \\", []),
    "a directive that goes on behind the end": (HEAD + b"#PBS -l walltime=1:00 \\\n", []),
    "a command that goes on": (HEAD + b"mpiexec python \\\n", []),
    "a here-document that is open": (HEAD + b"mpiexec python <<EOF\nx\n", []),
    "every comment is a directive": (b"#-N x\n#-l walltime=1:00\n", [b"-C", b"#"]),
}


def submitted(double: Stand, script: bytes, words: list[bytes]) -> Any:
    """What qsub makes of it: settings, name, streams, exit."""
    double.write("job.sh", script)
    seen: Seen = double.run(False, [*words, "job.sh"])
    return seen.lines(b"set"), seen.lines(b"name"), seen.lines(b"given"), seen[1:]


def closed(script: bytes, words: list[bytes]) -> bytes:
    """The script as a repaired copy would end."""
    prefix = pbs.prefix_in_force(pbs.read_argv([b"qsub", *words]), {})
    return trailer.close(script, ("MPL301",), "r", "o", "qsub", prefix)


@pytest.mark.parametrize("name", CLOSED)
def test_the_closing_comment_changes_nothing_that_qsub_or_bash_does(double: Stand, name: str) -> None:
    """qsub takes the same settings, and bash runs the same commands."""
    script, words = CLOSED[name]
    other = closed(script, words)
    assert other.startswith(script) and b"# maple: repaired (MPL301)" in other.split(b"\n")[-2]
    assert submitted(double, script, words) == submitted(double, other, words)
    ran = [subprocess.run(["bash", "-vn"], input=text, capture_output=True) for text in (script, other)]
    assert ran[0].returncode == ran[1].returncode == 0
    assert ran[1].stderr.startswith(ran[0].stderr.rstrip(b"\n"))


@pytest.mark.parametrize("name", UNCLOSED)
def test_where_a_comment_would_be_taken_for_something_else_there_is_none(double: Stand, name: str) -> None:
    """For qsub, which would read it as part of a directive, or for bash."""
    script, words = UNCLOSED[name]
    assert closed(script, words) == script


def test_a_comment_behind_an_open_directive_would_be_an_error(double: Stand) -> None:
    """The double says so, of the two ways that this can be."""
    for name in ("a directive that goes on behind the end", "every comment is a directive"):
        script, words = UNCLOSED[name]
        assert submitted(double, script, words)[3][2] == 0
        assert submitted(double, script + b"# maple: repaired (MPL301)\n", words)[3][2] == 1
