"""The 567 requests: each of the 81 cases in seven ways, with what is expected of it, known by construction."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

from tests.new567 import sources, wording
from tests.new567.jobs import BIG, Case, Job, cases, drawn
from tests.new567.places import BY_SITE

SEED = 567
WAYS = ("complete", "terse", "wordy", "asked", "same", "across", "broken")
LEFT = {  # slots whose absence has to be noticed, by site: nobody but the user can know them
    "nersc-perlmutter": ("qos",),
    "alcf-aurora": ("account", "filesystems", "walltime", "nodes"),
}


class Asked(NamedTuple):
    """One request. *words* behind `maple new`; *script*: the file of --from; *answers*: typed at the prompts, by slot.

    *paradigms*: those that the result may have; *lacks*: the one slot that has to be missing, "" for a script.
    *left*: what the request leaves out. *stays*, *goes*: lines of the script of --from that have to be in the result,
    and that must not.
    """

    case: Case
    way: str
    job: Job
    words: tuple[str, ...]
    script: bytes | None = None
    answers: Mapping[str, str] = {}
    lacks: str = ""
    paradigms: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    goes: tuple[str, ...] = ()
    came_from: str = ""
    left: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people and for -k."""
        return f"{self.case.site}/{self.case.name}/{self.way}"


def everything(seed: int = SEED) -> list[Asked]:
    """Return the 567, in an order and of a content that depend on nothing but the seed."""
    return [request(case, way, seed) for case in cases() for way in WAYS]


def sample(seed: int = SEED) -> list[Asked]:
    """Return each case once, the ways in rotation, so that every way, site and strategy comes up."""
    return [request(case, WAYS[(3 * number) % len(WAYS)], seed) for number, case in enumerate(cases())]


def request(case: Case, way: str, seed: int) -> Asked:
    """Return one of them."""
    chance = random.Random(f"{seed}:{case}:{way}")
    job = drawn(case, chance, 2 if way in ("same", "across", "broken") else 1)
    made = {"same": _carried, "across": _carried, "broken": _broken}.get(way, _worded)
    return made(case, way, job, chance)


def _worded(case: Case, way: str, job: Job, chance: random.Random) -> Asked:
    said, lacks, wanted = _paradigm(job, way, chance)
    job = job._replace(paradigm=said)
    if way == "terse":
        return Asked(case, way, job, (wording.terse(job, chance),), lacks=lacks, paradigms=wanted)
    if way == "wordy":
        return Asked(case, way, job, (wording.wordy(job, chance),), lacks=lacks, paradigms=wanted)
    if way == "complete":
        return Asked(case, way, job, (wording.complete(job, chance),), lacks=lacks, paradigms=wanted)
    left = _left(job, chance)
    if left == ("qos",):  # of what is neither debugging nor paid double only one takes it; short jobs fit the default
        job = job._replace(place=job.where.places[0], minutes=max(60, job.minutes))
    words = wording.complete(job, chance, left)
    return Asked(case, way, job, (words,), None, _answers(job, wanted), "", wanted, left=left)


def _paradigm(job: Job, way: str, chance: random.Random) -> tuple[str, str, tuple[str, ...]]:
    """Return what is said, what has to be missing, and what the script may then be."""
    if not job.model:
        return job.paradigm, "", (job.paradigm,)
    big = job.model == BIG
    if way == "terse":
        return "ddp", "paradigm" if big else "", ("ddp",)
    if way == "wordy":
        said = chance.choice(("fsdp", "zero3")) if big else "ddp"
        return said, "", (said,)
    if way == "asked" and big:
        return "ddp", "", ("fsdp",)
    return "", "", ("fsdp", "zero3", "3d") if big else ("ddp",) if job.model != "gpt2-xl" else ("ddp", "fsdp")


def _left(job: Job, chance: random.Random) -> tuple[str, ...]:
    slots = LEFT.get(job.where.site, job.where.demands)
    found = chance.sample(slots, min(len(slots), chance.choice((1, 1, 2))))
    return tuple(found)


def _answers(job: Job, wanted: tuple[str, ...]) -> dict[str, str]:
    return {
        "account": job.account, "walltime": job.walltime, "nodes": str(job.nodes), "filesystems": job.file_systems,
        "paradigm": wanted[0], job.where.word: job.place.name, "gpu": job.place.kind, "program": job.program,
        "gpus_per_node": str(job.place.ranks),
    }  # fmt: skip


def _carried(case: Case, way: str, job: Job, chance: random.Random) -> Asked:
    """A script of another cluster: of the same scheduler, or of the other one."""
    here = job.where.scheduler
    wanted = here if way == "same" else {"slurm": "pbs", "pbs": "slurm"}[here]
    others = [one for one in sources.HEADS if sources.scheduler(one) == wanted and one != job.where.site]
    origin = sources.source(chance.choice(others), job, chance)
    words = (wording.small(job, chance), "--site", job.where.site)
    return _from(case, way, job, words, origin)


def _broken(case: Case, way: str, job: Job, chance: random.Random) -> Asked:
    """A script of this very cluster with one mistake in its launch."""
    for _ in range(40):
        right = sources.source(job.where.site, job, chance)
        origin = sources.broken(right, job.nodes, chance)
        if origin is not None:
            break
    else:
        raise AssertionError(f"no mistake fits {case}")
    words = (wording.small(job, chance), "--site", job.where.site)
    return _from(case, way, job, words, origin._replace(goes=()))


def _from(case: Case, way: str, job: Job, words: tuple[str, ...], origin: sources.Source) -> Asked:
    return Asked(case, way, job, words, origin.script, {}, "", (), origin.stays, origin.goes, origin.site)


def sites() -> list[str]:
    """Return the nine."""
    return list(BY_SITE)
