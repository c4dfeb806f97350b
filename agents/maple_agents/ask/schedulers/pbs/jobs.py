"""From the attributes of PBS jobs, nodes, queues and servers to values; the same for libpbs and for its commands.

Where a PBS job's output is, or will be.

`Output_Path` is what was asked for: `host:/path`, a folder, or a pattern; other attributes say what becomes of it.

PBS job ids: which id was meant by which, and which words cannot be one.
"""

from __future__ import annotations

import calendar
import html
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence

from ....base.quantities import asked, mebibytes
from ..protocol import Ending, EndReason, Job, JobState, Node, Queue, Server

_ID = re.compile(r"\d{1,18}(\[\d*\])?(\.[A-Za-z0-9][\w.-]*)?", re.ASCII)

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*:(?=.)")
_INDEX = "^array_index^"

# A node in one of these states takes no new job, whatever else it is.
_UNUSABLE = {"down", "offline", "stale", "unknown", "state-unknown", "provisioning", "wait-provisioning"}

# The letters of `job_state`; M is a job that another server has taken over, and nothing is known of it here.
_STATES = {
    "Q": JobState.QUEUED,
    "W": JobState.QUEUED,
    "T": JobState.QUEUED,
    "H": JobState.HELD,
    "R": JobState.RUNNING,
    "B": JobState.RUNNING,
    "S": JobState.RUNNING,
    "U": JobState.RUNNING,
    "E": JobState.EXITING,
    "F": JobState.FINISHED,
    "X": JobState.FINISHED,
}
_KILLED = {
    -24: EndReason.LIMIT,
    -25: EndReason.LIMIT,
    -26: EndReason.MEMORY,
    -27: EndReason.MEMORY,
    -28: EndReason.LIMIT,
    -29: EndReason.WALLTIME,
    -20: EndReason.NODE,
    **{code: EndReason.NOT_STARTED for code in (-1, -2, -3, -4, -10, -22, -30)},
}
_DELETED = "91"  # substate of a job that was deleted
_TERMINATED = re.compile(r"\band terminated by (\S+@\S+?)\s*\Z")
_ARGUMENT = re.compile(r"<jsdl-hpcpa:Argument>(.*?)</jsdl-hpcpa:Argument>", re.DOTALL)
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});")


def job_of(job_id: str, attributes: Mapping[str, str], inexact: frozenset[str] = frozenset()) -> Job:
    """Return the job that *attributes* describe. Keys of resources are written `Resource_List.walltime`."""
    letter = attributes.get("job_state", "")
    state = _STATES.get(letter, JobState.UNKNOWN)
    array = array_of(job_id)
    stdout, stderr = output_paths(job_id, attributes)
    return Job(
        id=job_id,
        state=state,
        raw_state=letter,
        substate=attributes.get("substate", ""),
        ending=ending(attributes) if state is JobState.FINISHED else None,
        name=attributes.get("Job_Name", ""),
        owner=attributes.get("Job_Owner", "").partition("@")[0],
        queue=attributes.get("queue", ""),
        account=attributes.get("Account_Name", ""),
        nodes=hosts(attributes.get("exec_host", "")),
        work_dir=variable(attributes, "PBS_O_WORKDIR"),  # where it was submitted; a job starts in its home
        stdout=stdout,
        stderr=stderr,
        array_id=array[0] if array else None,
        array_index=array[1] if array else None,
        submitted=moment(attributes.get("ctime")),
        started=moment(attributes.get("stime")),
        ended=_ended(attributes) if state is JobState.FINISHED else None,
        comment=attributes.get("comment", ""),
        submit_arguments=submit_arguments(attributes.get("Submit_arguments")),
        attributes=dict(attributes),
        inexact=inexact,
    )


def deleted_by(comment: str) -> str:
    """Return who deleted a job, as the end of its comment tells from the qdel on, `alice@pbs01`; "" for nobody.

    The exit status does not tell: of a job that was deleted it may be 271, 143 or 0 (23.06).
    """
    match = _TERMINATED.search(comment)
    return match[1] if match else ""


def ending(attributes: Mapping[str, str]) -> Ending:
    """Return how a finished job ended; the table of end states stands in docs/schedulers.md."""
    raw = attributes.get("Exit_status", "")
    deleted = attributes.get("substate") == _DELETED or bool(deleted_by(attributes.get("comment", "")))
    if not re.fullmatch(r"-?\d{1,9}", raw):
        return Ending(EndReason.CANCELLED if deleted else EndReason.UNKNOWN, raw=raw)
    status = int(raw)
    if status < 0:
        return Ending(_KILLED.get(status, EndReason.UNKNOWN), raw=raw)
    signal = status - 256 if status > 256 else None
    if deleted:
        return Ending(EndReason.CANCELLED, None if signal else status, signal, raw)
    if signal:
        return Ending(EndReason.SIGNALLED, None, signal, raw)
    return Ending(EndReason.EXITED if status else EndReason.COMPLETED, status, None, raw)


def hosts(exec_host: str) -> tuple[str, ...]:
    """Return the hosts of `node1/0*8+node2/0*8`, each once, in that order."""
    parts = (part.strip("()") for part in exec_host.split("+"))
    names = (re.sub(r":\d+$", "", part.partition("/")[0]) for part in parts)
    return tuple(dict.fromkeys(name for name in names if name))


def moment(text: str | None) -> int | None:
    """Return a time as seconds since 1970.

    libpbs gives just that; qstat, asked in UTC, `Thu Nov 20 20:28:38 2026`.
    """
    if not text:
        return None
    if re.fullmatch(r"\d{1,12}", text):
        return int(text) or None
    match = re.fullmatch(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})", text.strip(), re.ASCII)
    if match is None or match[1] not in _MONTHS:
        return None
    day, hour, minute, second, year = (int(match[group]) for group in range(2, 7))
    return calendar.timegm(time.struct_time((year, _MONTHS.index(match[1]) + 1, day, hour, minute, second, 0, 1, 0)))


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def submit_arguments(text: str | None) -> tuple[str, ...] | None:
    """Return the words of qsub's command line from their XML, None where *text* is no such XML.

    qstat has decoded it to words with blanks between, from which the words cannot be had back.
    """
    if text is None or _ARGUMENT.sub("", text).strip():
        return None
    return tuple(_unescaped(word) for word in _ARGUMENT.findall(text)) if text else ()


def _unescaped(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _ended(attributes: Mapping[str, str]) -> int | None:
    """Return when a finished job ended: the end that the node reported, else the last change, which is its delivery."""
    for name in ("obittime", "history_timestamp", "mtime"):
        at = moment(attributes.get(name))
        if at is not None:
            return at
    return None


def node_of(name: str, attributes: Mapping[str, str]) -> Node:
    """Return the node that *attributes* describe."""
    states = tuple(word.strip().lower() for word in attributes.get("state", "").split(",") if word.strip())
    queue = attributes.get("queue", "")
    return Node(
        name=name,
        states=states,
        usable=bool(states) and not _UNUSABLE & set(states),
        cpus=number(attributes.get("resources_available.ncpus")),
        gpus=number(attributes.get("resources_available.ngpus")),
        memory_mib=mebibytes(attributes.get("resources_available.mem")),
        queues=(queue,) if queue else (),
        comment=attributes.get("comment", ""),
        attributes=dict(attributes),
    )


def queue_of(name: str, attributes: Mapping[str, str], default: str = "") -> Queue:
    """Return the queue that *attributes* describe. *default*: the server's `default_queue`."""
    return Queue(
        name=name,
        accepts=_true(attributes.get("enabled")),
        starts=_true(attributes.get("started")),
        default=name == default,
        max_walltime=asked(attributes.get("resources_max.walltime", ""), "pbs"),
        max_nodes=number(attributes.get("resources_max.nodect")),
        attributes=dict(attributes),
    )


def server_of(name: str, attributes: Mapping[str, str]) -> Server:
    """Return the server that *attributes* describe."""
    return Server(attributes.get("server_host", name), attributes.get("pbs_version", ""), dict(attributes))


def number(text: str | None) -> int | None:
    """Return a whole number, None where *text* is none."""
    return int(text) if text is not None and re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


def _true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "t", "1", "y")


def output_paths(job_id: str, attributes: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return where stdout and stderr lie once they are delivered; None where nothing will.

    `$PBS_JOBID` in a path stays: PBS does not expand it. With `-k o` (without d) the file lies in the owner's home on
    the first node, which is taken to be the home at submission.
    """
    out = _kept(job_id, attributes, "o") or _path(job_id, attributes, "Output_Path", "OU")
    err = _kept(job_id, attributes, "e") or _path(job_id, attributes, "Error_Path", "ER")
    join = attributes.get("Join_Path", "n")
    if join.startswith("oe"):
        err = out  # Error_Path is shown, but never written
    elif join.startswith("eo"):
        out = err
    removed = attributes.get("Remove_Files", "")
    return None if "o" in removed else out, None if "e" in removed else err


def variable(attributes: Mapping[str, str], name: str) -> str | None:
    """Return a variable of `Variable_List`: qstat gives each on its own, libpbs all in one text.

    In the text a comma that belongs to a value has a backslash in front.
    """
    if "Variable_List.%s" % name in attributes:
        return attributes["Variable_List.%s" % name]
    match = re.search(
        r"(?:^|(?<!\\),)%s=((?:\\.|[^\\,])*)" % re.escape(name), attributes.get("Variable_List", ""), re.S
    )
    return re.sub(r"\\(.)", r"\1", match[1], flags=re.S) if match else None


def _path(job_id: str, attributes: Mapping[str, str], name: str, suffix: str) -> str | None:
    asked = attributes.get(name, "")
    path = _HOST.sub("", asked, count=1) if "/" not in asked.partition(":")[0] else asked
    if not path:
        return None
    array = array_of(job_id)
    if array and array[1] is not None:
        path = path.replace(_INDEX, str(array[1]))
    if not path.startswith("/"):
        path = os.path.join(variable(attributes, "PBS_O_WORKDIR") or "", path)
    return "%s%s.%s" % (path, job_id, suffix) if path.endswith("/") else path


def _kept(job_id: str, attributes: Mapping[str, str], stream: str) -> str | None:
    """Return the file in the owner's home where `-k` without `d` leaves a stream; else None."""
    keep = attributes.get("Keep_Files", "n")
    home = variable(attributes, "PBS_O_HOME")
    if stream not in keep or "d" in keep or home is None:
        return None
    array = array_of(job_id)
    sequence = re.match(r"\d*", job_id)
    index = ".%s" % (_INDEX if array[1] is None else array[1]) if array else ""
    return "%s/%s.%s%s%s" % (home, attributes.get("Job_Name", ""), stream, sequence[0] if sequence else "", index)


def is_id(word: str) -> bool:
    """Return True where *word* can be a job id. libpbs takes any other for the name of a queue."""
    return _ID.fullmatch(word) is not None


def array_of(job_id: str) -> tuple[str, int | None] | None:
    """Return the id of the array and the index of a subjob, None for a plain job: `39[2].pbs01` is 2 of `39[].pbs01`.

    The index of the parent itself is None.
    """
    match = re.fullmatch(r"(\d+)\[(\d*)\](.*)", job_id, re.ASCII)
    if match is None:
        return None
    number, index, rest = match.groups()
    return "%s[]%s" % (number, rest), int(index) if index else None


def answered(asked: Iterable[str], known: Iterable[Job], left_open: frozenset[str] = frozenset()) -> dict[str, Job]:
    """Return a job for each id that was asked for; one that the server does not know has vanished.

    An id may leave the server out, or the server's domain. *left_open*: ids of which nothing was said if they are not
    among *known*, so that their state is unknown.
    """
    by_number: dict[str, list[Job]] = {}
    for job in known:
        by_number.setdefault(job.id.partition(".")[0], []).append(job)
    nothing = {job_id: JobState.UNKNOWN if job_id in left_open else JobState.VANISHED for job_id in asked}
    return {
        job_id: _meant(job_id, by_number.get(job_id.partition(".")[0], ()), state) for job_id, state in nothing.items()
    }


def _meant(asked: str, candidates: Sequence[Job], nothing: JobState) -> Job:
    """Return the job of that very id, else one whose server may be the same, else one in the state *nothing*."""
    exact = [job for job in candidates if job.id == asked]
    fitting = exact or [job for job in candidates if same_server(_server(asked), _server(job.id))]
    return fitting[0] if fitting and is_id(asked) else Job(asked, nothing)


def _server(job_id: str) -> str:
    return job_id.partition(".")[2]


def same_server(here: str, there: str) -> bool:
    """Return whether two names of a server may be one's: the first may be left out, and either's domain."""
    return not here or here == there or there.startswith(here + ".") or here.startswith(there + ".")
