"""The command itself: what is shown of eight diagnoses, the shape of its JSON, exit codes, pipes and signals."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from maple_agents.ask.submission import site_of
from maple_agents.base import output
from maple_agents.diagnose.tell import schema as fix_schema
from maple_agents.diagnose.tell.json_form import as_json as as_object
from maple_agents.diagnose.tell.page import show
from maple_agents.diagnose.tell.page_rows import cut_up
from maple_agents.diagnose.tell.schema import Answer
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Ended, Evidence, LogFile
from maple_submit_filter.answer.report import columns
from maple_submit_filter.types.submission import Submission
from pydantic import ValidationError

from tests.agents.debug.fix_called import COMMAND, LOG, SCRIPT, SECONDS, case, environment, fix

SHOWN = Path(__file__).parent / "shown"  # MAPLE_SHOWN=write writes them anew: look at each before it is kept
SITE = site_of("generic-slurm")
ENDED = Ended("4711", "failed", 1, elapsed=72.0, reason="NonZeroExitCode")
LINE = Evidence("job.log", 412, "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB")
LATER = tuple(Evidence("job.log", 500 + at, "[rank%d]: Connection closed by peer" % at) for at in range(5))
OOM = Cause("oom", "gpu_oom", "The GPU had not enough memory.", 8.0, 0.91, (LINE,))
OOM_LINE = Evidence("", 0, OOM.says)
OTHER = Cause("nccl", "nccl_timeout_due_to_straggler_or_crash_elsewhere", "A rank was late.", 5.0, 0.0, LATER[:1])


def _case(ended: Ended = ENDED, **more: Any) -> Case:
    asked = Submission("slurm", (b"sbatch", b"job.sh"), SCRIPT.encode(), "file", b"job.sh", b"/work", 1000, {})
    return Case(ended, "slurm", SITE, asked, "job.sh", **more)


FIXED = SCRIPT.replace("29500", "29511").encode()
DIAGNOSES = {
    "with a change": Diagnosis(_case(), (OOM,), LATER, (Cure("script_env", "a port", "safe", FIXED),)),
    "with words": Diagnosis(
        _case(), (OOM,), (), (Cure("script_directive", "more memory", "ask", argv=(b"sbatch", b"--mem=8G", b"job sh")),)
    ),
    "with steps": Diagnosis(
        _case(), (OOM, OTHER), LATER[:2], (Cure("user_code", "make batches smaller", steps=("halve it", "try again")),)
    ),
    "unknown": Diagnosis(
        _case(missing=("err.log: permission denied",)), (Cause("", "unknown", "the cause is not in it", 0.0, 0.0),),
        excerpt=(LINE, *LATER[:1]), cures=(Cure("script_env", "x", held_back="it would start no rank"),),
    ),
    "succeeded": Diagnosis(
        _case(Ended("4711", "completed", 0)), (Cause("", "none", "the job succeeded", 6.0, 0.9),), LATER
    ),
    "at a site": Diagnosis(
        Case(Ended("4711", "timeout"), "slurm", site_of("ncsa-delta"), None, "job.sh", notes=("of an array, task 3",)),
        (Cause("", "time_limit", "The job reached its time limit.", 9.0, 0.85, (LINE,)), OTHER),
        cures=(Cure("script_directive", "ask for more time"), Cure("user_code", "see sacct -j JOBID")),
    ),
    "runs still": Diagnosis(
        Case(Ended("4711", "running", elapsed=5.0), "slurm", SITE, logs=(LogFile("/x/slurm-4711.out", "both"),)),
        (Cause("", "unknown", "the logs do not show the cause", 0.0, 0.0),),
    ),
    "says the model": Diagnosis(
        Case(Ended(), "slurm", SITE, notes=("the script is not known",)),
        (Cause("oom", "gpu_oom", "The GPU was full", 1.0, 0.4, (Evidence("n.log", 0, "whole"),), by="model"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIAGNOSES)
def test_what_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Word for word as it was looked at."""
    show(DIAGNOSES[name])
    path, shown = SHOWN / (name.replace(" ", "-") + ".txt"), capsys.readouterr().out
    if os.environ.get("MAPLE_SHOWN") == "write":
        path.write_text(shown)
    assert shown == path.read_text()


def test_on_a_terminal_the_cause_and_its_proof_stand_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are bold to their ends; what only followed is dim; what a colour begins, it ends in its own row."""
    monkeypatch.setattr(output, "coloured", lambda: True)
    show(DIAGNOSES["with a change"])
    rows = capsys.readouterr().out.splitlines()
    said = {one.text for one in (LINE, OOM_LINE) if any("\x1b[1m%s\x1b[0m" % one.text in row for row in rows)}
    assert said == {LINE.text, OOM_LINE.text}
    assert any(row.endswith("\x1b[2m%s\x1b[0m" % LATER[0].text) for row in rows)
    assert not any("\x1b[1m\x1b[22m" in row for row in rows)
    assert all(row.endswith("\x1b[0m") for row in rows if "\x1b" in row)


def test_rows_fit_the_screen_and_lose_nothing() -> None:
    """Wide characters count twice; what has room is whole, what has none ends in an ellipsis."""
    for text in ("word " * 30, "x" * 200, "日本語" * 40, "a", ""):
        rows = list(cut_up(text, 40, 100))
        assert all(columns(row) <= 40 for row in rows)
        assert "".join(rows).replace(" ", "") == text.replace(" ", "")
        short = list(cut_up(text, 40, 2))
        assert len(short) <= 2 and all(columns(row) <= 40 for row in short)
        assert (short[-1][-1:] == "…") == (len(rows) > 2)


@pytest.mark.parametrize(
    "log", [LOG, "nothing to see\n", "Training complete\n"], ids=["known", "unknown", "ended well"]
)
def test_json_has_its_shape(tmp_path: Path, log: str) -> None:
    """Every key is there, of its kind, whatever was found, and none that the shape does not name."""
    told = fix(*case(tmp_path, log), "--json", cwd=tmp_path).json
    Answer.model_validate(told)
    assert set(told) <= set(Answer.model_fields)


@pytest.mark.parametrize("name", DIAGNOSES)
def test_every_answer_has_the_shape(name: str) -> None:
    """Also those of a model, and those whose change is held back."""
    told = as_object(DIAGNOSES[name])
    Answer.model_validate(told)
    assert set(told) == {name for name, field in Answer.model_fields.items() if field.is_required()}


def test_what_has_not_the_shape_is_seen() -> None:
    """The shape is no sieve without a bottom."""
    told = as_object(DIAGNOSES["unknown"])
    for key, value in (("version", 2), ("cause", {"class": "gpu_oom"}), ("fixes", [{}]), ("exit_code", "1")):
        with pytest.raises(ValidationError):
            Answer.model_validate({**told, key: value})


def test_the_published_schema_is_current(tmp_path: Path) -> None:
    """MAPLE_SHOWN=write writes it anew after a change of the shape: a key that is gone wants another version."""
    path = Path(fix_schema.__file__).with_name(fix_schema.FILE)
    if os.environ.get("MAPLE_SHOWN") == "write":
        path.write_text(fix_schema.text())
    assert path.read_text() == fix_schema.text()
    assert fix("--json-schema", cwd=tmp_path).out == fix_schema.text()


def test_exit_codes(tmp_path: Path) -> None:
    """0 the cause is known or the job succeeded, 1 it is not known, 2 usage or nothing to read."""
    assert fix(*case(tmp_path), cwd=tmp_path).code == 0
    assert fix(*case(tmp_path, "x\n", "#!/bin/bash\ntrue\n"), cwd=tmp_path).code == 1
    assert fix("--log", "job.log", "--state", "completed", cwd=tmp_path).code == 0
    assert fix("--log", "none.log", cwd=tmp_path).code == 2
    assert fix(cwd=tmp_path).code == 2 and fix("--what", cwd=tmp_path).code == 2
    assert fix("-h", cwd=tmp_path).code == 0


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    """`maple-fix … | head -1` says nothing on stderr."""
    words = case(tmp_path)
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *words], cwd=tmp_path, env=environment(tmp_path), stdout=write, stderr=subprocess.PIPE,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
