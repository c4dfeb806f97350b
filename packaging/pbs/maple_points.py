"""PBS hook: gives a job that is submitted the points that Maple's forecast of it comes to. For the event queuejob.

The points go into a resource that users neither see nor can ask for, which `job_sort_formula` adds to waiting:

    qmgr -c 'create resource maple_points type=long,flag=i'
    qmgr -c 'create hook maple_points event=queuejob'
    qmgr -c 'set hook maple_points alarm=5'
    qmgr -c 'import hook maple_points application/x-python default maple_points.py'
    qmgr -c 'set server job_sort_formula = "maple_points + 2 * 1000 * eligible_time / 86400"'

with the bound (1000) and the patience (86400 s) of `maple admin priority on`. It reads one file, which `maple-daemon
--role priority` writes; without it, or with an old one, every job has 0 points. Whatever fails, the job is accepted.

Python of PBS's own interpreter, 3.6 or newer.
"""

import contextlib
import json
import math
import os
import re
import stat
import time

import pbs

TABLE = "/var/spool/maple/forecasts.json"
OWNERS = ("root", "maple")  # of the table, whose word counts
OLDEST = 86400  # seconds since it was written
MOST = 8 << 20  # bytes
DOUBLINGS, STEPS = 8.0, 32  # as in maple_daemon/priority/queue.py


def table():
    """Return what Maple wrote, {} where it is not there, too old, or not its own."""
    import pwd

    handle = os.open(TABLE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        told = os.fstat(handle)
        owner = pwd.getpwuid(told.st_uid).pw_name
        if not stat.S_ISREG(told.st_mode) or told.st_size > MOST or told.st_mode & 0o022 or owner not in OWNERS:
            return {}
        if time.time() - told.st_mtime > OLDEST:
            return {}
        return json.loads(os.read(handle, MOST).decode("utf-8"))
    finally:
        os.close(handle)


def size(job):
    """Return the GPUs that are asked for, or the chunks where those are more."""
    wanted = job.Resource_List
    chunks = gpus = 0
    for part in str(wanted["select"] or "").split("+"):
        words = part.split(":")
        count = int(words[0]) if words[0].isdigit() else 1
        found = re.search(r"(?:^|:)ngpus=(\d+)", part)
        chunks += count if part else 0
        gpus += count * int(found.group(1)) if found else 0
    return max(1, chunks, gpus)


def points(seconds, size, bound, reference):
    """Return where a job begins: the less work is foretold, the sooner."""
    doublings = math.log(max(1.0, seconds) * max(1, size) / reference, 2)
    begins = -max(-1.0, min(1.0, doublings / DOUBLINGS))
    return int(round(min(1.0, begins) * STEPS / 2)) * 2 * bound // STEPS


def main():
    """Set the points of a job of which something is foretold. Raises nothing."""
    try:
        event = pbs.event()
        job = event.job
        told = table()
        seconds = told.get("seconds", {}).get(str(event.requestor), {}).get(str(job.Job_Name or ""))
        if seconds is not None:
            job.Resource_List["maple_points"] = points(seconds, size(job), told["bound"], told["reference"])
    except Exception as error:
        with contextlib.suppress(Exception):
            pbs.logmsg(pbs.LOG_DEBUG, "maple: a job has no points: %s" % type(error).__name__)


main()
pbs.event().accept()
