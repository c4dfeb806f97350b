"""What a fix may never do to a script: `harms` compares the submission before and after, as it is understood."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maple_agents.base.quantities import asked as seconds
from maple_agents.diagnose.fix.kinds.memory import size
from maple_agents.diagnose.values import Cure
from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.bash.check import parses
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.edits import Span, apply
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.submission import Submission

from .fix_trials import Trial

# What of the request each fix may say anew; all others leave it byte for byte.
MAY_SAY: Mapping[str, frozenset[str]] = {
    "raise-walltime": frozenset({"time", "walltime"}),
    "raise-memory": frozenset({"mem", "mem-per-cpu", "mem-per-gpu", "select"}),
    "exclude-nodes": frozenset({"exclude"}),
    "correct-value": frozenset({"partition", "queue", "qos", "output", "error"}),
}
# Launch lines that each fix may change, and in what: names of launchers' options, or of the environment.
LINES = frozenset({
    "port-of-job", "ranks-of-tasks", "deepspeed-over-srun", "set-option", "drop-option", "kill-on-bad-exit",
    "step-of-whole-allocation", "near-path", "replace-python", "correct-value",
    "raise-memory", "raise-walltime", "near-variable",
})  # fmt: skip
ENVIRONMENT = frozenset({
    "unix-line-endings", "set-env", "unset-env", "interface-of-site", "export-variable", "first-node", "master-of-job",
})  # fmt: skip
PROGRAMS = frozenset({"near-path", "replace-python", "unix-line-endings", "correct-value", "ranks-of-tasks"})
GIVEN = frozenset({"near-path", "replace-python"})  # what they name anew may be given to a function that starts it
_TOKEN = re.compile(rb"\0[^\0]*\0")
_SIZES = ("mem", "mem-per-cpu", "mem-per-gpu")
_TIMES = ("time", "walltime", "nodes")
_COUNTS = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus-per-node", "gpus", "gpus-per-task")


def harms(trial: Trial, made: Cure, asked: Submission, where: Site) -> Iterator[str]:
    """Yield every promise that a fix breaks, a line each; nothing for a fix that is not offered."""
    if made.fix is None or asked.script is None:
        return
    for script, argv in {(made.script, made.argv), _alone(made, asked)}:
        after = asked._replace(
            script=script if script is not None else asked.script, argv=argv if argv is not None else asked.argv
        )
        if parses(asked.script) and not parses(after.script or b""):
            yield "bash does not take it"
        yield from _of_request(asked, after, (*_SIZES, *_TIMES))
    yield from _of_scope(trial, made, asked, where)


def _alone(made: Cure, asked: Submission) -> tuple[bytes | None, tuple[bytes, ...] | None]:
    """Return the submission with the fix alone, without what the rules mend beside it."""
    assert made.fix is not None
    return apply(asked.script or b"", made.fix.edits), made.argv


def _job(asked: Submission) -> Job:
    job = understood(asked, None)
    assert job is not None
    return job


def _of_request(asked: Submission, after: Submission, names: tuple[str, ...]) -> Iterator[str]:
    """What a request says of these never shrinks, and none of them goes."""
    old, new = _job(asked).settings, _job(after).settings
    for name in names:
        was, now = old.get(name), new.get(name)
        if was is not None and now is None:
            yield "--%s is gone" % name
        elif was is not None and now is not None:
            before, behind = (_number(name, one.value.decode("ascii", "replace"), asked) for one in (was, now))
            if before is not None and (behind is None or behind < before) and behind != 0:
                yield "--%s shrank from %r to %r" % (name, was.value, now.value)


def _number(name: str, text: str, asked: Submission) -> float | None:
    if name in _SIZES:
        return size(text, "m" if asked.scheduler == "slurm" else "")
    if name in ("time", "walltime"):
        return seconds(text, asked.scheduler)
    return float(text) if text.isdigit() else None


def _of_scope(trial: Trial, made: Cure, asked: Submission, where: Site) -> Iterator[str]:
    """A fix changes what it says: these settings, these lines, and no process of a step that it does not edit."""
    script, argv = _alone(made, asked)
    after = asked._replace(script=script, argv=argv if argv is not None else asked.argv)
    old, new = _job(asked), _job(after)
    yield from _of_request(asked, after, _COUNTS)
    may = MAY_SAY.get(trial.how, frozenset())
    if trial.how in ("set-directive", "drop-directive"):
        may = frozenset({str(trial.give["name"])})
    if trial.how == "unix-line-endings" and old.script.refused:
        return  # nothing could be read of it before
    names = {one.name for one in (*old.settings, *new.settings)}
    for name in sorted(names - may):
        was, now = old.settings.get(name), new.settings.get(name)
        if (was.value if was else None) != (now.value if now else None):
            yield "--%s is %r, and was %r" % (name, now and now.value, was and was.value)
    yield from _of_steps(trial, made, examined(old, where).plan, examined(new, where).plan)


def _of_steps(trial: Trial, made: Cure, old: LaunchPlan, new: LaunchPlan) -> Iterator[str]:
    assert made.fix is not None
    if len(old.steps) != len(new.steps):
        if trial.how not in ("deepspeed-over-srun", "unix-line-endings", "correct-value"):
            yield "%d steps in place of %d" % (len(new.steps), len(old.steps))
        return
    for was, now in zip(old.steps, new.steps):
        places = [was.span, *(Span(one.name_span.start, one.options_at or 0) for one in was.links if one.name_span)]
        touched = any(place.start <= one.span.start <= place.end for one in made.fix.edits for place in places)
        inside = touched and was.links and any(_inside(one.span, was) for one in made.fix.edits)
        if inside and trial.how not in LINES | ENVIRONMENT:
            yield "the launch line in line %d is changed" % was.line
        if not touched and trial.how not in GIVEN and _told(was) != _told(now):
            yield "the step in line %d, which it does not touch, is another" % was.line
        yield from _of_options(was, now)
        if was.tasks and now.tasks and now.tasks < was.tasks:
            yield "the step in line %d has fewer tasks" % was.line
        if _known(was) and _known(now) and _worlds(was) != _worlds(now):
            yield "the worlds of the step in line %d are %s, and were %s" % (was.line, _worlds(now), _worlds(was))
        if trial.how not in PROGRAMS and _program(was) != _program(now):
            yield "the program of line %d is another" % was.line


def _of_options(was: Step, now: Step) -> Iterator[str]:
    """What a launch line asks for of memory, time and nodes never shrinks."""
    for old, new in zip(was.links, now.links):
        for name in (*_SIZES, "time", "nodes", "ntasks"):
            said = [one.option(name) for one in (old, new)]
            raw = [one.value.raw.decode("ascii", "replace") if one and one.value else "" for one in said]
            numbers = [size(one, "m") if name in _SIZES else seconds(one, "slurm") for one in raw]
            if old.name == new.name == "srun" and numbers[0] and (numbers[1] or 0) < numbers[0]:
                yield "srun --%s=%s in line %d is less than %s" % (name, raw[1], was.line, raw[0])


def _inside(span: Any, step: Step) -> bool:
    return step.span.start < span.start < step.span.end


def _told(step: Step) -> tuple[Any, ...]:
    """Return what of a step must not change by an edit elsewhere: who starts, how many, which program."""
    links = tuple((link.name, tuple((one.name, one.spelling) for one in link.options)) for link in step.links)
    return links, step.nodes, step.tasks, step.tasks_per_node, _program(step)


def _worlds(step: Step) -> tuple[int | None, ...]:
    return tuple(group.world_size for group in step.groups)


def _known(step: Step) -> bool:
    return bool(_worlds(step)) and None not in _worlds(step)


def _program(step: Step) -> tuple[bytes, ...]:
    """Return the program's words; what is not known of them has the byte where it stands in its name."""
    return tuple(_TOKEN.sub(b"?", word) for word in step.program)
