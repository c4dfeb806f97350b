"""Where the output of the job itself lies: as the scheduler says, else as was asked for, else the default."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Optional

from maple_submit_filter.types.job import Job as Asked

from ...ask.schedulers.pbs.jobs import output_paths
from . import name_patterns
from .evidence_files import Gathered
from .sources import job_facts
from .sources.job_facts import JobFacts

_PADDED = re.compile(r"%(0\d+)(?![A-Za-z\d])", re.ASCII)


def add(gathered: Gathered, facts: JobFacts, asked: Optional[Asked], values: Mapping[str, str]) -> None:
    """Add stdout and stderr of a job or task to what is gathered."""
    if facts.scheduler == "pbs":
        _of_pbs(gathered, facts, asked)
    else:
        _of_slurm(gathered, facts, asked, values)


def values_of(facts: JobFacts) -> dict[str, str]:
    """Return what Slurm's signs mean for this job."""
    user = job_facts.name_of(facts.owner) if facts.owner is not None else ""
    return name_patterns.slurm_values(raw_id(facts), facts.name, user, facts.array, facts.index)


def raw_id(facts: JobFacts) -> str:
    """Return the number that %j stands for: a task of an array has one of its own, which is not always known."""
    return facts.number or ("" if "_" in facts.id or "+" in facts.id else facts.id)


def _of_slurm(gathered: Gathered, facts: JobFacts, asked: Optional[Asked], values: Mapping[str, str]) -> None:
    out, err = facts.stdout, facts.stderr
    said_out, said_err = _option(asked, "output"), _option(asked, "error")
    out = _without_signs(out, said_out, facts, values)
    err = _without_signs(err, said_err or said_out, facts, values)
    if out is None:
        out = said_out or ("slurm-%A_%a.out" if facts.index is not None else "slurm-%j.out")
    if err is None:
        err = said_err
    if facts.restarts and (_option(asked, "open-mode") or "").startswith("a"):
        gathered.notes.append(
            "the job was started anew %d times; its output holds the earlier runs too" % facts.restarts
        )
    full = name_patterns.of_batch(values, facts.nodes)
    _streams(gathered, _path(out, facts, full, asked), _path(err, facts, full, asked) if err else None)


def _without_signs(
    path: Optional[str], asked_path: Optional[str], facts: JobFacts, values: Mapping[str, str]
) -> Optional[str]:
    """Return the path of *asked_path*, where scontrol filled in signs that a backslash had switched off (22.05 does).

    Before a number that `%012j` pads it leaves a percent sign (24.11), which the file does not have.
    """
    path = _PADDED.sub(r"\1", path) if path is not None else None
    if path is None or asked_path is None or "\\" not in asked_path:
        return path
    filled = "\\".join(name_patterns.text(name_patterns.slurm(part, values)) for part in asked_path.split("\\"))
    shown = (filled, asked_path.replace("\\", ""))  # 26.05 shows the name that the file has
    return (
        asked_path
        if path in [name_patterns.text(name_patterns.below(facts.work_dir, (name,))) for name in shown]
        else path
    )


def _path(pattern: str, facts: JobFacts, values: Mapping[str, str], asked: Optional[Asked]) -> name_patterns.Path:
    pieces = name_patterns.slurm(pattern, values)
    folder = _option(asked, "chdir") if not facts.work_dir else None
    return name_patterns.below(folder or facts.work_dir, pieces)


def _of_pbs(gathered: Gathered, facts: JobFacts, asked: Optional[Asked]) -> None:
    out, err = facts.stdout, facts.stderr
    if out is None and err is None and not facts.missing:
        out, err = output_paths(facts.id, _attributes(facts, asked))
    before = len(gathered.missing)
    _streams(gathered, _delivered(out, facts, "OU"), _delivered(err, facts, "ER") if err and err != out else None)
    if gathered.logs:
        if facts.state == "running":  # nothing is delivered yet, and what a node keeps of it was found
            del gathered.missing[before:]
        return
    _spooled(gathered, facts)
    if not facts.nodes or not any(path and not path.startswith("/dev/") for path in (out, err)):
        return
    if facts.state == "running":
        says = "PBS delivers output when the job has ended; until then it lies on %s in /var/spool/pbs/spool"
        gathered.missing[before:] = [] if gathered.logs else [says % facts.nodes[0]]
    elif not gathered.logs:
        says = "output that could not be delivered may lie on %s in /var/spool/pbs/undelivered"
        gathered.missing.append(says % facts.nodes[0])


def _attributes(facts: JobFacts, asked: Optional[Asked]) -> dict[str, str]:
    """Return what PBS would say of a submission, for a job that it does not know any more."""
    number = re.match(r"\d*", facts.id)
    task = ".%d" % facts.index if facts.index is not None else ""
    name = facts.name or os.path.basename(facts.path)
    usual = "%s.%%s%s%s" % (name.replace("%", "%%"), number[0] if number else "", task)
    return {
        "Job_Name": name,
        "Output_Path": _option(asked, "output") or usual % "o",
        "Error_Path": _option(asked, "error") or usual % "e",
        "Join_Path": _option(asked, "join") or "n",
        "Keep_Files": _option(asked, "keep") or "n",
        "Variable_List.PBS_O_WORKDIR": facts.work_dir,
    }


def _delivered(path: Optional[str], facts: JobFacts, suffix: str) -> name_patterns.Path:
    """Return where PBS delivers to; a folder gets a file of the job's id."""
    if not path:
        return ()
    return (os.path.join(path, "%s.%s" % (facts.id, suffix)),) if os.path.isdir(path) else (path,)


def _spooled(gathered: Gathered, facts: JobFacts) -> None:
    """Look where a node keeps output that is not delivered: of use on that node alone."""
    for home in dict.fromkeys((os.environ.get("PBS_HOME") or "/var/spool/pbs", "/var/spool/pbs")):
        for folder in ("spool", "undelivered"):
            for suffix, role in (("OU", "stdout"), ("ER", "stderr")):
                path = "%s/%s/%s.%s" % (home, folder, facts.id, suffix)
                if os.path.isfile(path):
                    gathered.output((path,), role, "not delivered yet")  # type: ignore[arg-type]


def _streams(gathered: Gathered, out: name_patterns.Path, err: Optional[name_patterns.Path]) -> None:
    if err is not None and err != out:
        gathered.output(err, "stderr", "stderr of the job")
        if out:
            gathered.output(out, "stdout", "stdout of the job")
    elif out:
        gathered.output(out, "both", "output of the job")


def _option(asked: Optional[Asked], name: str) -> Optional[str]:
    value = asked.settings.value(name) if asked is not None else None
    return os.fsdecode(value) if value else None
