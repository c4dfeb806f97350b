"""What the site's server and its hooks refuse of a request, in their own words and with their exit codes."""

from __future__ import annotations

from tests.pbs_lab.chunks import chunks
from tests.pbs_lab.request import Refused, Request, seconds
from tests.pbs_lab.shape import PbsShape, Queue, Rule

HOOK = 32  # exit code of whatever a hook rejects, measured
LIMITS = "qsub: Job violates queue and/or server resource limits"


def check(request: Request, shape: PbsShape) -> None:
    """Raise `Refused` for what this site does not take."""
    for rule in shape.rules:
        _ruled(request, rule)
    wanted = len(chunks(request.resources))  # raises for what is no request
    name = request.letters.get("q", "").split("@")[0]
    if name and shape.queues:
        queue = next((one for one in shape.queues if one.name == name), None)
        if queue is None:
            raise Refused("qsub: Unknown queue", 170)
        _queued(request, queue, wanted)


def _ruled(request: Request, rule: Rule) -> None:
    given = [value for value in (request.option(name) for name in rule.options) if value is not None]
    if rule.when == "missing" and not any(given):
        raise Refused(f"qsub: {rule.says}", HOOK)
    if rule.when == "present" and any(_meant(value, rule) for value in given):
        raise Refused(f"qsub: {rule.says}", HOOK)


def _meant(value: str, rule: Rule) -> bool:
    if any(sorted(value) == sorted(one) for one in rule.except_values):  # -k oed is -k doe
        return False
    return not rule.values or any(
        value.startswith(one[:-1]) if one.endswith("*") else value == one for one in rule.values
    )


def _queued(request: Request, queue: Queue, wanted: int) -> None:
    if queue.routed:
        raise Refused("qsub: Access to queue is denied", 174)
    long = seconds(request.resources.get("walltime", "0"))
    if queue.max_walltime is not None and long > queue.max_walltime:
        raise Refused(LIMITS, 188)
    if not (queue.min_nodes or 0) <= wanted <= (queue.max_nodes or wanted):
        raise Refused(LIMITS, 188)
