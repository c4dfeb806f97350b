"""What each task must be told of itself, where no launcher of torch's stands between it and the scheduler's."""

from __future__ import annotations

from maple_submit_filter.cures import launch_edits
from maple_submit_filter.launchers.rank_words import rank_words
from maple_submit_filter.launchers.record import RankWords
from maple_submit_filter.launchers.registry import OUTER
from maple_submit_filter.types.edits import Edit, Fix, Safety
from maple_submit_filter.types.launch_plan import Step

from ....request.script.walk import context, texts
from ..registry import Given, concerned, fix
from .insertion import line
from .masters import MEETING, words

TOLD = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


@fix("ranks-of-tasks")
def ranks_of_tasks(given: Given) -> Fix | None:
    """Let each task of a Python program export RANK, WORLD_SIZE and LOCAL_RANK from its launcher's own variables.

    Where the log says that one of them is missing, and the tasks are started by nothing but the scheduler's launcher.
    The meeting place is set as well, where nothing tells it. Steps of one task are left alone,
    and those whose program the log does not name, where it names another's.
    """
    if given.caught("variable") not in TOLD:
        return None
    edits = [edit for step in concerned(given) for edit in _of_step(given, step)]
    if edits and _unmet(given):
        assignments = b" ".join(name.encode() + b"=" + words(given)[name] for name in MEETING)
        met = line(given, b"export " + assignments, "ranks-of-tasks")
        edits += [met] if met is not None else []
    return Fix(tuple(edits), Safety.ASK, "each task exports its rank") if edits else None


def _unmet(given: Given) -> bool:
    """Return whether nothing in script or submission tells where to meet."""
    known = given.job.submission.environment
    return not any(name.encode() in known or name.encode() in given.plan.assigned for name in MEETING)


def _of_step(given: Given, step: Step) -> list[Edit]:
    source, at = given.job.source, step.program_spans[0] if step.program_spans else None
    words = rank_words(step.links, given.site, source)
    alone = step.links and all(link.name in OUTER for link in step.links) and b"RANK=" not in source[slice(*step.span)]
    if not alone or words is None or at is None or step.tasks == 1 or not _is_python(step):
        return []
    if not (words.rank and words.local and words.tasks) or context(texts(source), at.start) is not None:
        return []
    return launch_edits.exec_in_task(source, step, _settings(words), "ranks-of-tasks") or []


def _is_python(step: Step) -> bool:
    return step.program[0].rpartition(b"/")[2].startswith(b"python") and step.program[1:2] != (b"-c",)


def _settings(rank_words: RankWords) -> list[bytes]:
    return [b"RANK=$" + rank_words.rank, b"WORLD_SIZE=$" + rank_words.tasks, b"LOCAL_RANK=$" + rank_words.local]
