"""Finds libpbs, loads it, and declares its functions; refuses Torque's, which only looks the same.

The C structures of libpbs' interface, and copies of what they hold.

Layout: 40 bytes for `attrl` and `attropl`, 32 for `batch_status` on a 64-bit machine (facts of OpenPBS 23.06).

PBS error numbers: what they mean for who asked, and what to do about them.

A command exits with the number's lowest eight bits, which other failures share: its text decides as well.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

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
_REMEDIES = {
    15007: "only the owner or an operator may, and limits of a running job only go down",
    BAD_HOST: "check PBS_SERVER in pbs.conf, or name the server",
    SYSTEM: "is the PBS server up? try again later",
    BAD_VALUE: "correct the value",
    NOT_AUTHENTICATED: "check that pbs_iff is set-uid, or that munge runs",
}

SET = 0
EQ = 4


class Attrl(ctypes.Structure):
    """`struct attrl`, and `struct attropl`, which is the same: one attribute of a list."""


Attrl._fields_ = [
    ("next", ctypes.POINTER(Attrl)),
    ("name", ctypes.c_char_p),
    ("resource", ctypes.c_char_p),
    ("value", ctypes.c_char_p),
    ("op", ctypes.c_int),
]


class BatchStatus(ctypes.Structure):
    """`struct batch_status`: one job, queue, node or server of a list."""


BatchStatus._fields_ = [
    ("next", ctypes.POINTER(BatchStatus)),
    ("name", ctypes.c_char_p),
    ("attribs", ctypes.POINTER(Attrl)),
    ("text", ctypes.c_char_p),
]


class AttributeInError(ctypes.Structure):
    """One attribute that was refused, and why."""

    _fields_ = [("attribute", ctypes.POINTER(Attrl)), ("code", ctypes.c_int), ("text", ctypes.c_char_p)]


class AttributesInError(ctypes.Structure):
    """What `pbs_get_attributes_in_error` points to."""

    _fields_ = [("count", ctypes.c_int), ("entries", ctypes.POINTER(AttributeInError))]


if TYPE_CHECKING:
    AttrlPointer = ctypes._Pointer[Attrl]
    StatusPointer = ctypes._Pointer[BatchStatus]


class Attribute(NamedTuple):
    """One attribute, copied out: `Resource_List`, `walltime`, `01:00:00`; *resource* is empty where there is none."""

    name: str
    resource: str
    value: str

    @property
    def key(self) -> str:
        """Return `Resource_List.walltime`, or the name alone."""
        return "%s.%s" % (self.name, self.resource) if self.resource else self.name


class Status(NamedTuple):
    """One job, queue, node or server, copied out."""

    name: str
    attributes: tuple[Attribute, ...]
    text: str = ""

    def values(self) -> dict[str, str]:
        """Return the values by key; of a key that is there twice, the last."""
        return {attribute.key: attribute.value for attribute in self.attributes}


def text_of(raw: bytes | None) -> str:
    """Return C text exactly: what is no UTF-8 becomes lone surrogates, which `bytes_of` turns back."""
    return (raw or b"").decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return *text* for C. Raises `ValueError` where it holds a NUL: C would read only what is before it."""
    raw = text.encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise ValueError("a NUL cannot be sent to PBS")
    return raw


def attribute_list(attributes: Iterable[tuple[Attribute, int]]) -> ctypes.Array[Attrl] | None:
    """Return a linked list of attributes with their operators, None for none; it lives as long as what is returned."""
    wanted = list(attributes)
    if not wanted:
        return None
    array = (Attrl * len(wanted))()
    for index, (attribute, operator) in enumerate(wanted):
        array[index].name = bytes_of(attribute.name)
        array[index].resource = bytes_of(attribute.resource) if attribute.resource else None
        array[index].value = bytes_of(attribute.value)
        array[index].op = operator
        if index:
            array[index - 1].next = ctypes.pointer(array[index])
    return array


def copied(statuses: StatusPointer) -> list[Status]:
    """Return every entry of a list as values that need the list no longer."""
    copies = []
    while statuses:
        entry = statuses.contents
        copies.append(Status(text_of(entry.name), tuple(_attributes(entry.attribs)), text_of(entry.text)))
        statuses = entry.next
    return copies


def _attributes(first: AttrlPointer) -> Iterator[Attribute]:
    while first:
        entry = first.contents
        yield Attribute(text_of(entry.name), text_of(entry.resource), text_of(entry.value))
        first = entry.next


SONAME = "libpbs.so.0"
_REMEDY = "give the path of OpenPBS' libpbs, or let Maple use qstat"

_INT, _TEXT = ctypes.c_int, ctypes.c_char_p
_LIST, _STATUS = ctypes.POINTER(Attrl), ctypes.POINTER(BatchStatus)
# name: result, arguments. From the programmer's interface of OpenPBS 23.06.
_FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "__pbs_errno_location": (ctypes.POINTER(_INT), []),
    "pbs_geterrmsg": (_TEXT, [_INT]),
    "pbs_get_attributes_in_error": (ctypes.POINTER(AttributesInError), [_INT]),
    "pbs_connect": (_INT, [_TEXT]),
    "pbs_disconnect": (_INT, [_INT]),
    "pbs_statfree": (None, [_STATUS]),
    "pbs_statjob": (_STATUS, [_INT, _TEXT, _LIST, _TEXT]),
    "pbs_selstat": (_STATUS, [_INT, _LIST, _LIST, _TEXT]),
    "pbs_statserver": (_STATUS, [_INT, _LIST, _TEXT]),
    "pbs_statque": (_STATUS, [_INT, _TEXT, _LIST, _TEXT]),
    "pbs_statnode": (_STATUS, [_INT, _TEXT, _LIST, _TEXT]),
    "pbs_alterjob": (_INT, [_INT, _TEXT, _LIST, _TEXT]),
    "pbs_deljob": (_INT, [_INT, _TEXT, _TEXT]),
    "pbs_sigjob": (_INT, [_INT, _TEXT, _TEXT, _TEXT]),
}


class Library:
    """A loaded libpbs. Its functions are attributes of *functions*, with argument and result types declared.

    Raises `SchedulerError` in one line where the file cannot be loaded, is Torque's, or lacks a function.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.functions = ctypes.CDLL(path)
        except OSError as error:
            raise SchedulerError(path, "cannot be loaded: %s" % error, _REMEDY) from None
        self._refuse_torque()
        self._refuse_layout()
        missing = [name for name in _FUNCTIONS if not hasattr(self.functions, name)]
        if missing:
            raise SchedulerError(path, "is no OpenPBS libpbs: it lacks %s" % ", ".join(missing), _REMEDY)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self.functions, name)
            function.restype, function.argtypes = result, arguments

    def errno(self) -> ErrnoPointer:
        """Return where this thread's error number lives; another thread has another place."""
        name = "__pbs_errno_location"  # as an attribute a class would mangle it
        pointer: ErrnoPointer = getattr(self.functions, name)()
        return pointer

    def _refuse_torque(self) -> None:
        """Torque has the same structures, but its error number is one variable for all threads."""
        if hasattr(self.functions, "pbs_errno") and not hasattr(self.functions, "__pbs_errno_location"):
            raise SchedulerError(self.path, "is Torque's libpbs, which Maple does not drive", _REMEDY)

    def _refuse_layout(self) -> None:
        """The layout is known for pointers of eight bytes; elsewhere nobody has looked."""
        if (ctypes.sizeof(Attrl), ctypes.sizeof(BatchStatus)) != (40, 32):
            raise SchedulerError(self.path, "has structures that Maple does not know on this machine", _REMEDY)


if TYPE_CHECKING:
    ErrnoPointer = ctypes._Pointer[ctypes.c_int]


def find(path: str | None, environ: Mapping[str, str], conf: str | None = None) -> str | None:
    """Return the path or name under which to load libpbs, None where this machine has none.

    *path* is taken as it is; else `PBS_EXEC/lib` of pbs.conf (*conf*, PBS_CONF_FILE, /etc/pbs.conf), else what the
    dynamic linker finds as `libpbs.so.0`.
    """
    if path:
        return path
    home = configuration(conf or environ.get("PBS_CONF_FILE") or "/etc/pbs.conf").get("PBS_EXEC", "")
    for name in (SONAME, "libpbs.so"):
        if home and os.path.isfile(os.path.join(home, "lib", name)):
            return os.path.join(home, "lib", name)
    try:
        ctypes.CDLL(SONAME)
    except OSError:
        return None
    return SONAME


def configuration(path: str) -> dict[str, str]:
    """Return the `NAME=value` lines of a pbs.conf; a file that cannot be read has none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.strip() for line in file.read(65536).splitlines()]
    except OSError:
        return {}
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("'\"") for name, value in pairs}


def pbs_error(asked: str, code: int, text: str | None) -> SchedulerError:
    """Return the exception for error number *code*; *text*: what PBS says about it, None where it says nothing."""
    down = code in LOST or code in (BAD_HOST, SYSTEM)
    remedy = _REMEDIES.get(code, "try again later" if down else "see the PBS administrator if it goes on")
    return SchedulerError(asked, (text or "").strip() or _MEANING.get(code, ""), remedy, code, transient=down)


def from_exit(asked: str, code: int, text: str) -> SchedulerError:
    """Return the exception for a PBS command that exited with *code* and said *text*."""
    known = {number & 255: number for number in (15007, BAD_HOST, SYSTEM, BAD_VALUE, PROTOCOL)}
    error = pbs_error(asked, known.get(code, code), text)
    error.code = code
    return error
