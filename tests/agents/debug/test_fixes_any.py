"""Any fix on any script: bytes outside its spans stay, bash takes the result, and twice is once."""

from __future__ import annotations

import os
from functools import cache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from maple_agents.diagnose.fix import MADE
from maple_agents.diagnose.fix.registry import Given
from maple_agents.diagnose.fix.treatment import tried
from maple_agents.diagnose.recognise.log_facts import facts
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Digest, Ended
from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.bash.check import parses
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.request.slurm import submission as slurm
from maple_submit_filter.types.edits import apply

from tests.reality import corpus

from .fix_cases import cure_of, site, submission

GIVE = {
    "set-env": {"name": "NCCL_DEBUG", "value": "WARN"},
    "unset-env": {"name": "MASTER_PORT"},
    "set-directive": {"name": "comment", "value": "x"},
    "drop-directive": {"name": "time"},
    "set-option": {"launcher": "srun", "option": "label", "value": ""},
    "drop-option": {"launcher": "torchrun", "option": "master-port"},
    "near-path": {"what": "train.py"},
    "interface-of-site": {"variable": "GLOO_SOCKET_IFNAME"},
    "module-of-site": {"what": "nvcc"},
    "export-variable": {"name": "MASTER_ADDR"},
}
CAUGHT = {"node": "n3", "variable": "MASTER_ADDR", "name": "python", "path": "train.py"}
HOSTILE = st.text(max_size=40) | st.sampled_from(
    [
        "$(reboot)",
        "`id`",
        "a\nrm -rf ~",
        "x;y",
        "\x1b]0;t\x07",
        "--wrap=x",
        "' ; id '",
        "\0",
        "${IFS}",
        "a b",
        "../../x",
        "é",
    ]
)


@cache
def scripts() -> list[str]:
    """Return the paths of the corpus' scripts."""
    return sorted(os.path.join(corpus.laid(), file.path) for file in corpus.as_files() if file.path.endswith(".sh"))


def _asked(path: str):
    with open(path, "rb") as file:
        source = file.read()
    return submission(source, "pbs" if b"#PBS" in source and b"#SBATCH" not in source else "slurm")


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.deferred(lambda: st.sampled_from(scripts())), how=st.sampled_from(sorted(MADE)))
def test_any_fix_on_any_script(path, how):
    """A fix gives a script that bash takes, with every byte outside its edits; made again it changes nothing."""
    asked = _asked(path)
    where = site("", asked.scheduler)
    case = Case(Ended(limit=3600.0, memory=8 << 30, used_memory=9 << 30), asked.scheduler, where, asked)
    cause = Cause("entry", "unknown", "says", 9.0, 0.9, (), dict(CAUGHT))
    plain = Cure("script_env", "plain")
    made = tried(how, GIVE.get(how, {}), cause, plain, Diagnosis(case, (cause,)), Digest(), facts(case, Digest(), None))
    assert not any(word in made.held_back for word in ("twice", "bash", "mistake")), (path, how, made.held_back)
    if made.fix is None:
        return
    changed = apply(asked.script, made.fix.edits)
    assert parses(changed) or not parses(asked.script)
    kept = _outside(asked.script, made.fix.edits)
    assert all(piece in changed for piece in kept)
    assert len(changed) - len(asked.script) == sum(
        len(new) - (span.end - span.start) for span, new in {(one.span, one.new) for one in made.fix.edits}
    )
    assert _directives(changed, asked.scheduler) >= _directives(asked.script, asked.scheduler) - (
        how == "drop-directive"
    )


def _outside(source: bytes, edits) -> list[bytes]:
    at, kept = 0, []
    for span in sorted({one.span for one in edits}):
        kept.append(source[at : span.start])
        at = span.end
    return [*kept, source[at:]]


def _directives(source: bytes, scheduler: str) -> int:
    """Return how many directive lines the scheduler reads: no fix may push one behind a command."""
    read = pbs.read_script(source) if scheduler == "pbs" else slurm.read_script(source, False)
    return len(read.directives)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(how=st.sampled_from(sorted(MADE)), value=HOSTILE)
def test_what_a_log_named_never_becomes_code(how, value):
    """A value out of a log stands in a script as one plain word, or not at all; argv likewise."""
    script = b"#!/bin/bash\n#SBATCH --nodes=1\nsrun torchrun --master-port=29500 train.py --data x\n"
    caught = dict.fromkeys(("node", "host", "variable", "name", "path", "module", "port", "value"), value)
    give = {"name": "{value}", "value": "{value}", "what": "{path}", "module": "{module}", "launcher": "srun",
            "option": "{value}", "variable": "{value}"}  # fmt: skip
    for arguments in (give, {**give, "name": "NCCL_DEBUG"}, {**give, "name": "comment", "option": "label"}, {}):
        made = cure_of(how, arguments, caught, submission(script), site("", "slurm"), Ended(nodes=()))
        new = b"".join(one.new for one in made.fix.edits) if made.fix is not None else b""
        words = b" ".join(made.argv or ())
        if value and value.encode("utf-8", "replace") in new + words:
            assert all(one.isascii() and (one.isalnum() or one in "_.,:/=+@%^-") for one in value), (how, value, new)


def test_given_values_are_those_of_the_remedy():
    """An argument without a caught name stands as it is written; one with a hostile value is refused."""
    asked = submission(b"#!/bin/bash\nsrun python a.py\n")
    job = understood(asked, None)
    where = site("", "slurm")
    cause = Cause("entry", "unknown", "says", 1.0, 0.5, (), {"path": "a b"})
    made = Given(
        Case(Ended(), "slurm", where, asked), job, job, examined(job, where).plan, where, Digest(), {}, cause,
        {"value": "$SCRATCH/hf", "what": "{path}"},
    )  # fmt: skip
    assert made.word("value") == "$SCRATCH/hf"
    assert made.text("what") == "a b"
    try:
        made.word("what")
    except ValueError:
        return
    raise AssertionError("a value with a blank was taken")
