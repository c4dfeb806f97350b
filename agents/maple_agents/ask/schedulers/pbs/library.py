"""Finds libpbs, loads it, and declares its functions; refuses Torque's, which only looks the same."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import SchedulerError
from .structures import AttributesInError, Attrl, BatchStatus

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
        found: ErrnoPointer = getattr(self.functions, name)()
        return found

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
