"""The last source: files in the current folder that are called after the job."""

from __future__ import annotations

import os
import re
import stat

MOST_LOOKED_AT = 20_000  # names
MOST = 16  # files
_RANK = re.compile(r"(?:rank|proc|task|worker|node|gpu|step|epoch)[._-]?\d+", re.IGNORECASE | re.ASCII)


def logs_of(job_id: str) -> list[str]:
    """Return the caller's own files here whose names hold the job's number: `slurm-4711.out`, `train.e4711`.

    The newest first. A task of an array needs its index too: `4711_3`, and `.o39.3` for `39[3]` of PBS. A number behind
    another is the index of that one's task (`slurm-4_3.out` is not of job 3), and behind `rank` a rank.
    """
    found = re.match(r"(\d+)(?:[_+](\d+)|\[(\d+)\])?", job_id, re.ASCII)
    if found is None:
        return []
    index = found[2] or found[3]
    number = r"(?<!\d)(?<!\d[_.+-])%s%s(?!\d)" % (found[1], r"[_.-]%s" % index if index else "")
    wanted = re.compile(r".*\.[oe]%s|.*%s.*\.(?:out|err|log|txt|OU|ER)" % (number, number), re.DOTALL)
    return [path for _, path in sorted(_own(wanted), reverse=True)[:MOST]]


def _own(wanted: re.Pattern[str]) -> list[tuple[float, str]]:
    out: list[tuple[float, str]] = []
    try:
        with os.scandir(".") as entries:
            for count, entry in enumerate(entries):
                if count >= MOST_LOOKED_AT:
                    break
                if wanted.fullmatch(_RANK.sub("", entry.name)):
                    facts = entry.stat()
                    if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid():
                        out.append((facts.st_mtime, entry.name))
    except OSError:
        return out
    return out
