"""What would make a request that PBS refuses one that it takes, where that can mean one thing only. Part of MPL216."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ..request.pbs import select
from ..request.pbs.refusals import BESIDE, CUSTOM, JOB_WIDE, Refusal
from ..site.facts import Site
from ..types.edits import Edit, Fix, Safety, Span
from ..types.job import Job, Setting
from ..types.text import as_clock
from .option_edits import restate, say, unsay

CODE = "MPL216"
_DAYS = re.compile(rb"(\d{1,3})-(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?\Z")  # as Slurm takes them
_GPUS = re.compile(rb"(\d{1,6}):ppn=(\d{1,6}):gpus=(\d{1,6})\Z")
_MOVABLE = tuple(name.encode() for name in JOB_WIDE if name not in ("nodes", "select"))


def cure(refusal: Refusal, job: Job, site: Site) -> Optional[Fix]:
    """Return the fix for what qsub refuses, None where it may have been meant in more than one way."""
    setting = refusal.setting
    chosen = job.settings.get("select")
    if setting is None:
        return None
    if setting.name == "walltime":
        return _in_hours(setting, job)
    if setting.name == "select":
        return _moved_out(setting, job, site) or _said_once(setting, job)
    if setting.name == "nodes":
        return _without_nodes(setting, chosen, job) if chosen is not None else _as_chunks(setting, job)
    if setting.name in (*BESIDE, *CUSTOM) and chosen is not None:
        return _into_chunk(setting, chosen, job)
    return None


def misplaced(job: Job, site: Site) -> Optional[Setting]:
    """Return the select that names a resource of the whole job which the site demands, such as filesystems."""
    setting = job.settings.get("select")
    return setting if setting is not None and _job_wide(setting, _demanded(site)) is not None else None


def _demanded(site: Site) -> Tuple[bytes, ...]:
    return tuple(b"filesystems" for demand in site.demands if "filesystems" in demand.options)


def _in_hours(setting: Setting, job: Job) -> Optional[Fix]:
    """Write `1-12:00:00` as 36:00:00, and `24h` as 24:00:00."""
    match, value = _DAYS.match(setting.value), clock(setting.value)
    if match:
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        value = b"%02d:%02d:%02d" % (days * 24 + hours, minutes, seconds)
    if value is None:
        return None
    made = restate(job, setting, value, CODE)
    safety = Safety.ASK if match else Safety.SAFE  # `1-12` is a form of Slurm's, where `12` may have been minutes
    return made.fix(safety, "-l walltime=" + value.decode()) if made is not None else None


def _job_wide(setting: Setting, names: Tuple[bytes, ...]) -> Optional[Tuple[bytes, bytes, bytes]]:
    """Return a resource of the whole job that stands in the only chunk, `name=value`, and what is left of the chunk.

    Its value may hold colons (01:00:00), which part it, so that what follows is none of `name=value`.
    """
    if b"+" in setting.value or b'"' in setting.value or b"'" in setting.value:
        return None
    parts = setting.value.split(b":")
    first = next((index for index, part in enumerate(parts) if part.partition(b"=")[0] in names), -1)
    if first < 0:
        return None
    last = first + 1
    while last < len(parts) and b"=" not in parts[last]:
        last += 1
    return parts[first].partition(b"=")[0], b":".join(parts[first:last]), b":".join(parts[:first] + parts[last:])


def _moved_out(setting: Setting, job: Job, site: Site) -> Optional[Fix]:
    """Say beside select what belongs to the whole job."""
    moved = _job_wide(setting, _MOVABLE + _demanded(site))
    if moved is None:
        return None
    name, text, rest = moved
    if not rest or select.chunks(rest) is None or name.decode() in job.settings:
        return None
    made = restate(job, setting, rest, CODE)
    if made is None:
        return None
    return (made + say(job, b"-l " + text, CODE)).fix(
        Safety.SAFE, "move %s out of the chunk, beside select" % name.decode()
    )


def _said_once(setting: Setting, job: Job) -> Optional[Fix]:
    """Leave out what a chunk says twice with the same value."""
    for chunk in setting.value.split(b"+"):
        parts = chunk.split(b":")
        again = [fromkey for fromkey in dict.fromkeys(parts) if b"=" in fromkey and parts.count(fromkey) > 1]
        if again and setting.value.count(chunk) == 1:
            kept: List[bytes] = [
                part for index, part in enumerate(parts) if part not in again or part not in parts[:index]
            ]
            made = restate(job, setting, setting.value.replace(chunk, b":".join(kept)), CODE)
            return made.fix(Safety.SAFE, "keep one of the two") if made is not None else None
    return None


def _without_nodes(older: Setting, chosen: Setting, job: Job) -> Optional[Fix]:
    """Leave out the older form where it asks for as many chunks."""
    chunks, same = select.chunks(chosen.value), select.nodes_form(older.value)
    if chunks is None or same is None or sum(chunk.count for chunk in chunks) != sum(chunk.count for chunk in same):
        return None
    made = unsay(job, "nodes", CODE)
    return made.fix(Safety.ASK, "remove -l nodes") if made is not None else None


def _as_chunks(setting: Setting, job: Job) -> Optional[Fix]:
    """Write `nodes=2:ppn=4:gpus=1` as chunks, each on a node of its own as `nodes` has it."""
    match, span = _GPUS.match(setting.value), setting.origin.value_span
    if match is None or span is None or "place" in job.settings or len(job.settings.all("nodes")) != 1:
        return None
    start = span.start - len(b"nodes=")
    if job.source[start : span.start] != b"nodes=":
        return None
    count, ppn, gpus = match.groups()
    words = b"select=%s:ncpus=%s:mpiprocs=%s:ngpus=%s,place=scatter" % (count, ppn, ppn, gpus)
    return Fix((Edit(Span(start, span.end), words, CODE),), Safety.ASK, "-l " + words.decode())


def _into_chunk(beside: Setting, chosen: Setting, job: Job) -> Optional[Fix]:
    """Of one chunk the whole job's amount is the chunk's. Of several it may be meant for each, or for all together."""
    chunks, without = select.chunks(chosen.value), unsay(job, beside.name, CODE)
    if chunks is None or len(chunks) != 1 or without is None:
        return None
    name = beside.name.encode()
    amount = chunks[0].value(name)
    if amount is not None:
        safety = Safety.SAFE if chunks[0].count == 1 else Safety.ASK
        says = "remove -l %s, which the chunk already sets" % beside.name
        return without.fix(safety if amount == beside.value else Safety.ASK, says)
    each = _share(beside, chunks[0], job)
    value = chosen.value + b":" + name + b"=" + each
    made = restate(job, chosen, value, CODE) if select.chunks(value) is not None else None
    if made is None:
        return None
    if chunks[0].count == 1:
        return (made + without).fix(Safety.SAFE, "move %s into the chunk" % beside.name)
    return (made + without).fix(Safety.ASK, "%s=%s for each chunk" % (beside.name, each.decode("ascii", "replace")))


def _share(beside: Setting, chunk: select.Chunk, job: Job) -> bytes:
    """Return what each chunk gets: its part of the sum where as many ranks start on a node, else what is said."""
    total = int(beside.value) if beside.value.isdigit() and len(beside.value) < 6 else 0
    part = b"%d" % (total // chunk.count) if chunk.count and total % chunk.count == 0 else b""
    started = re.findall(rb"--(?:nproc[-_]per[-_]node|num[-_]gpus|ppn)[= ](\d+)\b", job.source)
    return part if part and beside.value not in started and (part in started or not started) else beside.value


_PART = rb"(\d{1,4})\s*(d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
_PARTS = rb"(?:\d{1,4}\s*(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)[\s,]*)+"
_SECONDS = {b"d": 86400, b"h": 3600, b"m": 60, b"s": 1}


def clock(value: bytes) -> Optional[bytes]:
    """Return `24h`, `2d`, `90min` or `1d12h` as HH:MM:SS; None for anything else, and where a part comes twice."""
    text = value.strip(b"\"'").lower()
    if not re.fullmatch(_PARTS, text):
        return None
    parts = re.findall(_PART, text)
    units = [unit[:1] for _, unit in parts]
    if sorted(units, key=b"dhms".index) != units or len(set(units)) != len(units):
        return None
    seconds = sum(int(count) * _SECONDS[unit] for (count, _), unit in zip(parts, units))
    return as_clock(seconds) if seconds else None
