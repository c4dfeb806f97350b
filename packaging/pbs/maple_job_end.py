"""PBS hook: tells Maple how a job ended. For the events jobobit (on the server) and execjob_epilogue (on each node).

`jobobit` runs inside pbs_server, which answers nobody meanwhile: so nothing is started here, the script of the job is
not looked for, and the socket has half a second. `execjob_epilogue` tells of the primary node alone, and knows the
job's script by its hash; it needs a spool on a file system that the node shares with the service. Whatever fails, the
job's end is accepted.

Python of PBS's own interpreter, 3.6 or newer.
"""

import contextlib
import hashlib
import json
import os
import re
import socket

import pbs

SOCKET = "/run/maple/events.sock"  # "" for none
SPOOL = "/var/spool/maple/events"  # "" for none
SECONDS = 0.5
MOST = 4096  # bytes of an event
MOST_SCRIPT = 4 << 20
FIGURES = (  # of an event, and where PBS has them
    ("limit", "Resource_List", "walltime"),
    ("node_count", "Resource_List", "nodect"),
    ("gpus", "Resource_List", "ngpus"),
    ("asked_memory", "Resource_List", "mem"),
    ("used_time", "resources_used", "walltime"),
    ("used_memory", "resources_used", "mem"),
)
LONG = ("stderr", "stdout", "nodes", "workdir", "name")  # left out, in this order, where an event would be too long


def told(event, job):
    """Return what is known of the job, as PBS says it."""
    owner = said(job, "euser") or said(job, "Job_Owner").partition("@")[0]
    found = {
        "v": 1,
        "event": "ended",
        "scheduler": "pbs",
        "source": "jobobit" if event.type == getattr(pbs, "JOBOBIT", None) else "execjob_epilogue",
        "job": said(job, "id"),
        "array": re.sub(r"\[\d+\]", "[]", said(job, "id")) if "[" in said(job, "id") else "",
        "owner": owner,
        "exit": said(job, "Exit_status"),
        "state": said(job, "substate"),
        "submitted": said(job, "ctime"),
        "started": said(job, "stime"),
        "ended": said(job, "obittime"),
        "name": said(job, "Job_Name"),
        "workdir": workdir(job),
        "nodes": hosts(said(job, "exec_host")),
        "stdout": said(job, "Output_Path"),
        "stderr": said(job, "Error_Path"),
        "comment": said(job, "comment")[-200:],
    }
    for name, listed, resource in FIGURES:
        found[name] = amount(job, listed, resource)
    if found["source"] == "execjob_epilogue":
        found.update(script(found["job"]))
    if "script_hash" not in found:
        found["script_hash"] = copied(said(job, "Submit_arguments"))
    return {name: value for name, value in found.items() if value != ""}


def said(job, name):
    """Return an attribute as text, "" where it is not set or not known to this PBS."""
    try:
        value = getattr(job, name)
    except Exception:
        return ""
    return "" if value is None else str(value)


def amount(job, listed, resource):
    """Return what was asked for, or used, of a resource as PBS prints it, "" where it is not told."""
    try:
        value = getattr(job, listed)[resource]
    except Exception:
        return ""
    return "" if value is None else str(value)[:24]


def workdir(job):
    """Return the folder that the job was submitted in."""
    try:
        return str(job.Variable_List["PBS_O_WORKDIR"] or "")
    except Exception:
        return ""


def hosts(exec_host):
    """Return the hosts of `node1/0*8+node2/0*8`, each once."""
    names = [part.strip("()").partition("/")[0] for part in exec_host.split("+")]
    return ",".join(dict.fromkeys(name for name in names if name))


def script(job):
    """Return hash and record of the job's script, which the node keeps while the job is there."""
    if not re.match(r"^\d+(\[\d+\])?(\.[A-Za-z0-9._-]+)?$", job):
        return {}
    try:
        with open(os.path.join(home(), "mom_priv", "jobs", job + ".SC"), "rb") as file:
            data = file.read(MOST_SCRIPT + 1)
    except OSError:
        return {}
    if len(data) > MOST_SCRIPT:
        return {}
    last = data.rstrip(b"\n").rpartition(b"\n")[2]
    record = re.match(rb"^# maple: repaired \(.*\); record ([0-9a-f]{16}); ", last)
    return {"script_hash": hashlib.sha256(data).hexdigest(), "record": record.group(1).decode() if record else ""}


def copied(words):
    """Return the first half of a changed script's hash, which the path of its private copy holds; "" for none."""
    found = set(re.findall(r"/submit/([0-9a-f]{32})/[^/\s<>]", words))
    return found.pop() if len(found) == 1 else ""


def home():
    """Return PBS_HOME, as pbs.conf has it."""
    with open(os.environ.get("PBS_CONF_FILE", "/etc/pbs.conf")) as file:
        for line in file:
            name, _, value = line.strip().partition("=")
            if name == "PBS_HOME" and value:
                return value
    return "/var/spool/pbs"


def packed(found):
    """Return the event as one line that is not too long."""
    for name in ("",) + LONG:
        found.pop(name, None)
        line = json.dumps(found, separators=(",", ":")).encode()
        if len(line) < MOST:
            return line
    return b""


def send(line):
    """Say it to the service on this host; return whether it is kept."""
    if not SOCKET:
        return False
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(SECONDS)
        one.connect(SOCKET)
        one.sendall(line + b"\n")
        return one.recv(64) == b"kept\n"


def leave(line):
    """Leave it in the spool: whole, under a name that nobody can guess, readable for the service."""
    if not SPOOL:
        return
    name = os.urandom(12).hex()
    draft = os.path.join(SPOOL, ".ended." + name)
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(file, line)
        os.fchmod(file, 0o644)
    finally:
        os.close(file)
    os.rename(draft, os.path.join(SPOOL, "ended." + name))


def main():
    """Tell, over the socket or else through the spool. Raises nothing."""
    try:
        event = pbs.event()
        job = event.job
        if event.type != getattr(pbs, "JOBOBIT", None) and not job.in_ms_mom():
            return
        line = packed(told(event, job))
        try:
            done = bool(line) and send(line)
        except Exception:
            done = False
        if line and not done:
            leave(line)
    except Exception as error:
        with contextlib.suppress(Exception):
            pbs.logmsg(pbs.LOG_DEBUG, "maple: the end of a job was not told: %s" % type(error).__name__)


main()
pbs.event().accept()
