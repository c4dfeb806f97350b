"""Steps to take with the names of this job in the places that general advice leaves open."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ..values import Diagnosis

_JOB_SAID = re.compile(r"\b(?:StepId=|JobId=|JOB |STEP |job |Job )(\d{2,12})(?:[.\s]|$)")
_WORD = re.compile(r"[^\W_]{2,}|\$\w+|-\w+")
SAME = 0.8  # share of a step's words that its heading holds, from which it says nothing new


def filled(step: str, diagnosis: Diagnosis) -> str:
    """Return *step* with the job's id for JOBID and the script's name for JOB.sh, as far as they are known."""
    job, script = _job(diagnosis), diagnosis.case.name
    step = re.sub(r"\bJOBID\b", lambda _: job, step) if job else step
    return re.sub(r"\bJOB\.sh\b", lambda _: shlex.quote(script), step) if script and "/" not in script else step


def _job(diagnosis: Diagnosis) -> str:
    """Return the job's id, as it is known or as the evidence says it; "" where neither does."""
    if diagnosis.case.ended.id:
        return diagnosis.case.ended.id
    lines = [*diagnosis.causes[0].evidence, *diagnosis.cascade]
    found = {said[1] for one in lines for said in _JOB_SAID.finditer(one.text)}
    return found.pop() if len(found) == 1 else ""


def new(steps: Sequence[str], heading: str) -> list[str]:
    """Return the steps that say more than the heading above them."""
    said = set(_WORD.findall(heading.lower()))
    return [one for one in steps if not _is_in(one, said)]


def _is_in(step: str, said: set[str]) -> bool:
    words = set(_WORD.findall(step.lower()))
    return bool(words) and len(words & said) >= SAME * len(words)
