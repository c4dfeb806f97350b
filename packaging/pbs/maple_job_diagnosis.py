"""PBS hook: says why a job failed before anybody asks. For the event execjob_epilogue, on each node.

Off until PYTHON is set. The hook runs as root and reads nothing of the job's: it starts one process of the job's owner,
of the primary node alone, for jobs that failed (not those that ran well, and not those that a kill ended, which may
have been cancelled), with no variable of the job's, a processor's lowest priority, 20 s of it, 256 MiB and SECONDS in
all. That process leaves one file, ~/.local/state/maple/diagnoses/JOBID.json, for its owner. `maple-fix JOBID` shows it.
Whatever fails, the job's end is accepted. The hook's alarm has to be longer than SECONDS:

    qmgr -c 'create hook maple_diagnosis event=execjob_epilogue'
    qmgr -c 'set hook maple_diagnosis alarm=45'
    qmgr -c 'import hook maple_diagnosis application/x-python default maple_job_diagnosis.py'

Python of PBS's own interpreter, 3.6 or newer.
"""

import contextlib
import os
import pwd
import re
import resource
import signal
import subprocess

import pbs

PYTHON = ""  # the interpreter of Maple's installation, as the nodes see it: /opt/maple/venv/bin/python; "" for off
PATH = "/opt/pbs/bin:/usr/bin:/bin"  # where qstat is
SECONDS = 30
MEMORY = 256 << 20
PROCESSOR = 20  # seconds
CANCELS = (9, 15, 128 + 15, 256 + 9, 256 + 15)  # exit statuses of jobs that a kill ended, perhaps their owner's qdel


def failed(job):
    """Return the exit status of a job that failed, None for any other."""
    try:
        status = int(job.Exit_status)
    except Exception:
        return None
    return None if status == 0 or status in CANCELS else status


def owner(job):
    """Return the entry of the user that the job ran as; None for root, and for one that this node does not know."""
    name = str(getattr(job, "euser", None) or "") or str(job.Job_Owner).partition("@")[0]
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    return found if found.pw_uid != 0 else None


def outputs(job):
    """Return where the job's output lies on this node, before it is taken to where the user wanted it."""
    found = []
    for name in ("stdout_file", "stderr_file"):
        with contextlib.suppress(Exception):
            path = getattr(job, name)()
            if path and str(path).startswith("/") and str(path) not in found:
                found.append(str(path))
    return found


def become(user):
    """Return what makes the new process the user's own, bounded, before anything of his is touched."""

    def drop():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
        os.nice(19)
        os.umask(0o077)
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        if os.getuid() == 0 or os.geteuid() == 0:
            os._exit(1)

    return drop


def diagnose(job, user, status):
    """Start it and wait for it; what takes too long is killed with all that it started."""
    argv = [PYTHON, "-I", "-m", "maple_agents.diagnose.at_end", str(job.id), "--exit", str(status)] + outputs(job)
    variables = {"HOME": user.pw_dir, "PATH": PATH, "LC_ALL": "C.UTF-8"}
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(
        argv, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", env=variables, preexec_fn=become(user),
        start_new_session=True,
    )  # fmt: skip
    try:
        child.wait(SECONDS)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def main():
    """Diagnose a job that failed. Raises nothing."""
    try:
        job = pbs.event().job
        if not PYTHON or not re.match(r"^\d+(\[\d+\])?(\.[A-Za-z0-9._-]+)?$", str(job.id)) or not job.in_ms_mom():
            return
        status, user = failed(job), owner(job)
        if status is not None and user is not None:
            diagnose(job, user, status)
    except Exception as error:
        with contextlib.suppress(Exception):
            pbs.logmsg(pbs.LOG_DEBUG, "maple: a job was not diagnosed: %s" % type(error).__name__)


main()
pbs.event().accept()
