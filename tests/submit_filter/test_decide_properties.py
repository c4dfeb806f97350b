"""Whatever arrives, `decide` leaves it alone or gives back a script that bash takes, changed where it says so."""

from __future__ import annotations

import random
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

from tests.reality.asked import ask, repaired, site, submission
from tests.reality.corpus import Case, cases
from tests.reality.operators import OPERATORS

SCRIPTS = [case for kind in ("right", "tricky", "wrong") for case in cases(kind) if case.script is not None]
COMMANDS = [
    b"srun ",
    b"torchrun --nnodes=2 ",
    b"--nproc_per_node=4 ",
    b"--node_rank=$SLURM_NODEID ",
    b"bash -c '",
    b"'",
    b'"',
    b"\\\n",
    b"$(",
    b")",
    b"`",
    b"<<EOF\n",
    b"EOF\n",
    b"${x:-",
    b"}",
    b"((",
    b"))",
    b"if ",
    b"then\n",
    b"fi\n",
    b"for i in a; do\n",
    b"done\n",
    b"f() {\n",
    b"#SBATCH -N2\n",
    b"#SBATCH --ntasks-per-node=4 --gpus-per-node=4\n",
    b"export X=1\n",
    b"\0",
    b"\r\n",
    b"\xff\xfe",
    b"accelerate launch ",
    b"mpirun -np 4 ",
    b"train.py\n",
]
thorough = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def decided(script: bytes, at: Site = GENERIC_SLURM, words: tuple[bytes, ...] = (b"job.sh",)) -> Decision:
    return decide(Submission("slurm", (b"sbatch", *words), script, "file", b"job.sh", b"/proc/nowhere", 1000, {}), at)


def holds(script: bytes, decision: Decision, at: Site) -> None:
    """Assert what is promised of every decision."""
    assert decision.verdict in ("clean", "repaired", "findings", "unread")
    if decision.repaired is None:
        assert decision.verdict != "repaired"
        return
    new = decision.repaired.script
    if new is None:
        return
    assert_bash_takes(new)
    assert_changed_only_where_said(script, new, {line for line, _ in decision.repaired.because})
    again = decided(new, at, decision.repaired.argv[1:])
    assert again.repaired is None or again.repaired.script in (None, new)


def assert_bash_takes(script: bytes) -> None:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, timeout=10, check=False)
    assert done.returncode == 0, done.stderr


def assert_changed_only_where_said(old: bytes, new: bytes, said: set[int]) -> None:
    """No line comes or goes, and a line that differs was named."""
    before, after = old.split(b"\n"), new.split(b"\n")
    assert len(before) == len(after)
    differ = {number for number, (one, other) in enumerate(zip(before, after), 1) if one != other}
    assert differ and min(differ) >= min(said)


@thorough
@given(st.binary(max_size=400))
def test_any_bytes_are_left_alone_or_come_back_as_a_script(script: bytes) -> None:
    holds(script, decided(script), GENERIC_SLURM)


@thorough
@given(st.lists(st.sampled_from(COMMANDS), max_size=30))
def test_any_pieces_of_scripts_are_left_alone_or_come_back_as_a_script(pieces: list[bytes]) -> None:
    script = b"#!/bin/bash\n" + b"".join(pieces)
    holds(script, decided(script), GENERIC_SLURM)


@thorough
@given(st.sampled_from(SCRIPTS), st.data())
def test_any_script_with_a_piece_missing_or_doubled_is_handled(case: Case, data: st.DataObject) -> None:
    text = case.script or b""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    script = text[:start] + data.draw(st.sampled_from([b"", b"\n", b"'", b'"', text[start:end] * 2])) + text[end:]
    holds(script, decided(script, site(case.site)), site(case.site))


@thorough
@given(st.sampled_from(SCRIPTS), st.sampled_from(sorted(OPERATORS)), st.integers(0, 10))
def test_any_mutant_of_a_known_script_is_left_alone_or_mended_for_good(case: Case, operator: str, seed: int) -> None:
    script = OPERATORS[operator](case.script or b"", random.Random(seed))
    if script is not None:
        holds(script, decided(script, site(case.site)), site(case.site))


@pytest.mark.parametrize("case", SCRIPTS, ids=lambda case: case.name)
def test_a_second_repair_changes_nothing(case: Case) -> None:
    answer = ask(case, "/proc/nowhere")
    second = ask(repaired(case, answer), "/proc/nowhere")
    assert not second.changed


@thorough
@given(st.lists(st.binary(max_size=20).filter(lambda word: b"\0" not in word), max_size=6))
def test_any_command_line_is_answered(words: list[bytes]) -> None:
    assert decided(b"#!/bin/bash\nsrun torchrun --nnodes=2 train.py\n", words=(*words, b"job.sh")).verdict


@pytest.mark.parametrize("case", [case for case in SCRIPTS if case.kind == "right"], ids=lambda case: case.name)
def test_a_decision_depends_on_nothing_but_what_arrived(case: Case) -> None:
    asked = submission(case, "/proc/nowhere")
    assert decide(asked, site(case.site)) == decide(asked, site(case.site))
