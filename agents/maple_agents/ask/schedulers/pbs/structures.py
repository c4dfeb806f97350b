"""The C structures of libpbs' interface, and copies of what they hold.

Layout: 40 bytes for `attrl` and `attropl`, 32 for `batch_status` on a 64-bit machine (facts of OpenPBS 23.06).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

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
        return {one.key: one.value for one in self.attributes}


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
    for index, (one, operator) in enumerate(wanted):
        array[index].name = bytes_of(one.name)
        array[index].resource = bytes_of(one.resource) if one.resource else None
        array[index].value = bytes_of(one.value)
        array[index].op = operator
        if index:
            array[index - 1].next = ctypes.pointer(array[index])
    return array


def copied(statuses: StatusPointer) -> list[Status]:
    """Return every entry of a list as values that need the list no longer."""
    found = []
    while statuses:
        entry = statuses.contents
        found.append(Status(text_of(entry.name), tuple(_attributes(entry.attribs)), text_of(entry.text)))
        statuses = entry.next
    return found


def _attributes(first: AttrlPointer) -> Iterator[Attribute]:
    while first:
        entry = first.contents
        yield Attribute(text_of(entry.name), text_of(entry.resource), text_of(entry.value))
        first = entry.next
