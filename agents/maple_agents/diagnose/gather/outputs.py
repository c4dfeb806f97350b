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
from .sources.job_facts import Told

_PADDED = re.compile(r"%(0\d+)(?![A-Za-z\d])", re.ASCII)


def add(gathered: Gathered, told: Told, asked: Optional[Asked], values: Mapping[str, str]) -> None:
    """Add stdout and stderr of a job or task to what is gathered."""
    if told.scheduler == "pbs":
        _of_pbs(gathered, told, asked)
    else:
        _of_slurm(gathered, told, asked, values)


def values_of(told: Told) -> dict[str, str]:
    """Return what Slurm's signs mean for this job."""
    user = job_facts.name_of(told.owner) if told.owner is not None else ""
    return name_patterns.slurm_values(raw_id(told), told.name, user, told.array, told.index)


def raw_id(told: Told) -> str:
    """Return the number that %j stands for: a task of an array has one of its own, which is not always known."""
    return told.number or ("" if "_" in told.id or "+" in told.id else told.id)


def _of_slurm(gathered: Gathered, told: Told, asked: Optional[Asked], values: Mapping[str, str]) -> None:
    out, err = told.stdout, told.stderr
    said_out, said_err = _said(asked, "output"), _said(asked, "error")
    out = _without_signs(out, said_out, told, values)
    err = _without_signs(err, said_err or said_out, told, values)
    if out is None:
        out = said_out or ("slurm-%A_%a.out" if told.index is not None else "slurm-%j.out")
    if err is None:
        err = said_err
    if told.restarts and (_said(asked, "open-mode") or "").startswith("a"):
        gathered.notes.append(
            "the job was started anew %d times; its output holds the earlier runs too" % told.restarts
        )
    full = name_patterns.of_batch(values, told.nodes)
    _streams(gathered, _path(out, told, full, asked), _path(err, told, full, asked) if err else None)


def _without_signs(path: Optional[str], said: Optional[str], told: Told, values: Mapping[str, str]) -> Optional[str]:
    """Return the path of *said*, where scontrol filled in signs that a backslash had switched off (22.05 does).

    Before a number that `%012j` pads it leaves a percent sign (24.11), which the file does not have.
    """
    path = _PADDED.sub(r"\1", path) if path is not None else None
    if path is None or said is None or "\\" not in said:
        return path
    filled = "\\".join(name_patterns.text(name_patterns.slurm(part, values)) for part in said.split("\\"))
    shown = (filled, said.replace("\\", ""))  # 26.05 shows the name that the file has
    return said if path in [name_patterns.text(name_patterns.below(told.work_dir, (one,))) for one in shown] else path


def _path(pattern: str, told: Told, values: Mapping[str, str], asked: Optional[Asked]) -> name_patterns.Path:
    pieces = name_patterns.slurm(pattern, values)
    folder = _said(asked, "chdir") if not told.work_dir else None
    return name_patterns.below(folder or told.work_dir, pieces)


def _of_pbs(gathered: Gathered, told: Told, asked: Optional[Asked]) -> None:
    out, err = told.stdout, told.stderr
    if out is None and err is None and not told.missing:
        out, err = output_paths(told.id, _attributes(told, asked))
    before = len(gathered.missing)
    _streams(gathered, _delivered(out, told, "OU"), _delivered(err, told, "ER") if err and err != out else None)
    if gathered.logs:
        if told.state == "running":  # nothing is delivered yet, and what a node keeps of it was found
            del gathered.missing[before:]
        return
    _spooled(gathered, told)
    if not told.nodes or not any(path and not path.startswith("/dev/") for path in (out, err)):
        return
    if told.state == "running":
        says = "PBS delivers output when the job has ended; until then it lies on %s in /var/spool/pbs/spool"
        gathered.missing[before:] = [] if gathered.logs else [says % told.nodes[0]]
    elif not gathered.logs:
        says = "output that could not be delivered may lie on %s in /var/spool/pbs/undelivered"
        gathered.missing.append(says % told.nodes[0])


def _attributes(told: Told, asked: Optional[Asked]) -> dict[str, str]:
    """Return what PBS would say of a submission, for a job that it does not know any more."""
    number = re.match(r"\d*", told.id)
    task = ".%d" % told.index if told.index is not None else ""
    name = told.name or os.path.basename(told.path)
    usual = "%s.%%s%s%s" % (name.replace("%", "%%"), number[0] if number else "", task)
    return {
        "Job_Name": name,
        "Output_Path": _said(asked, "output") or usual % "o",
        "Error_Path": _said(asked, "error") or usual % "e",
        "Join_Path": _said(asked, "join") or "n",
        "Keep_Files": _said(asked, "keep") or "n",
        "Variable_List.PBS_O_WORKDIR": told.work_dir,
    }


def _delivered(path: Optional[str], told: Told, suffix: str) -> name_patterns.Path:
    """Return where PBS delivers to; a folder gets a file of the job's id."""
    if not path:
        return ()
    return (os.path.join(path, "%s.%s" % (told.id, suffix)),) if os.path.isdir(path) else (path,)


def _spooled(gathered: Gathered, told: Told) -> None:
    """Look where a node keeps output that is not delivered: of use on that node alone."""
    for home in dict.fromkeys((os.environ.get("PBS_HOME") or "/var/spool/pbs", "/var/spool/pbs")):
        for folder in ("spool", "undelivered"):
            for suffix, role in (("OU", "stdout"), ("ER", "stderr")):
                path = "%s/%s/%s.%s" % (home, folder, told.id, suffix)
                if os.path.isfile(path):
                    gathered.output((path,), role, "not delivered yet")  # type: ignore[arg-type]


def _streams(gathered: Gathered, out: name_patterns.Path, err: Optional[name_patterns.Path]) -> None:
    if err is not None and err != out:
        gathered.output(err, "stderr", "stderr of the job")
        if out:
            gathered.output(out, "stdout", "stdout of the job")
    elif out:
        gathered.output(out, "both", "output of the job")


def _said(asked: Optional[Asked], name: str) -> Optional[str]:
    value = asked.settings.value(name) if asked is not None else None
    return os.fsdecode(value) if value else None
