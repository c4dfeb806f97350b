"""PBS error numbers: what they mean for who asked, and what to do about them.

A command exits with the number's lowest eight bits, which other failures share: its text decides as well.
"""

from __future__ import annotations

from ..protocol import SchedulerError

UNKNOWN_JOB = 15001
BAD_HOST = 15008
SYSTEM = 15010
BAD_VALUE = 15014
PROTOCOL = 15031
NO_CONNECTIONS = 15033
NO_SERVER = 15034
JOB_HAS_FINISHED = 15139
NOT_AUTHENTICATED = -1

# The job is not there, or there is nothing left of it that could be changed.
NO_SUCH_JOB = frozenset({UNKNOWN_JOB, JOB_HAS_FINISHED})
# The connection is gone; a new one may do.
LOST = frozenset({PROTOCOL, NO_CONNECTIONS, NO_SERVER})

_MEANING = {
    UNKNOWN_JOB: "Unknown Job Id",
    15007: "Unauthorized Request",
    BAD_HOST: "Unknown Host",
    SYSTEM: "Connection refused, or a system error",
    BAD_VALUE: "Illegal attribute or resource value",
    PROTOCOL: "the connection to the server is closed",
    NOT_AUTHENTICATED: "the server does not accept who we are",
    JOB_HAS_FINISHED: "Job has finished",
}
_REMEDY = {
    15007: "only the owner or an operator may, and limits of a running job only go down",
    BAD_HOST: "check PBS_SERVER in pbs.conf, or name the server",
    SYSTEM: "is the PBS server up? try again later",
    BAD_VALUE: "correct the value",
    NOT_AUTHENTICATED: "check that pbs_iff is set-uid, or that munge runs",
}


def pbs_error(asked: str, code: int, text: str | None) -> SchedulerError:
    """Return the exception for error number *code*; *text*: what PBS says about it, None where it says nothing."""
    down = code in LOST or code in (BAD_HOST, SYSTEM)
    remedy = _REMEDY.get(code, "try again later" if down else "see the PBS administrator if it goes on")
    return SchedulerError(asked, (text or "").strip() or _MEANING.get(code, ""), remedy, code, transient=down)


def from_exit(asked: str, code: int, text: str) -> SchedulerError:
    """Return the exception for a PBS command that exited with *code* and said *text*."""
    known = {number & 255: number for number in (15007, BAD_HOST, SYSTEM, BAD_VALUE, PROTOCOL)}
    error = pbs_error(asked, known.get(code, code), text)
    error.code = code
    return error
