"""The script's own file: the last place to look for what was submitted, and trusted only while it is unchanged."""

from __future__ import annotations

import hashlib
import os
import re
import time
from dataclasses import replace

from maple_submit_filter.host.bounded_file import read_file

from ..walking import Window, regular
from .from_memory import MASKED
from .told import Told

_CLOSING = re.compile(rb"[\n ]# maple: repaired \([^\n]*; original sha256 ([0-9a-f]{64});[^\n]*\n?\Z")


def with_script(told: Told, owner: int | None) -> Told:
    """Return *told* with the script of its path, where nobody has given the very bytes; and with what the user wrote,
    where the submitted copy says that Maple changed it and the file is still the one.
    """
    told = _with_before(told, owner)
    if told.script is not None and MASKED not in told.script:
        return told
    source = _read(told.path, owner)
    if told.script is not None:
        return _unmasked(told, source)
    if not told.path:
        return told
    if source is None:
        return replace(told, missing=(*told.missing, "the script %s cannot be read" % told.path))
    note = _changed(told)
    return replace(told, script=source, notes=(*told.notes, *note))


def _read(path: str, owner: int | None) -> bytes | None:
    facts = regular(path) if path.startswith("/") else None
    if facts is None or not Window(owner=owner).allows(facts):
        return None
    return read_file(os.fsencode(path))


def _changed(told: Told) -> tuple[str, ...]:
    """Return a line where the file is younger than the submission: it may not be what ran."""
    facts = regular(told.path)
    if facts is None or told.submitted is None or facts.st_mtime <= told.submitted + 2:
        return ()
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.st_mtime))
    return ("%s was changed at %s, after the job was submitted: it may not be what ran" % (told.path, when),)


def _unmasked(told: Told, source: bytes | None) -> Told:
    """Return the file's bytes in place of a script whose secrets are masked, where they are the same but for those."""
    script = told.script or b""
    if source is not None and _same_but_masked(script, source):
        return replace(told, script=source)
    if source is not None and told.before is not None and _same_but_masked(told.before, source):
        told = replace(told, before=source)
    return replace(told, notes=(*told.notes, "secrets in the script are masked"))


def _same_but_masked(script: bytes, source: bytes) -> bool:
    pattern = b".*?".join(re.escape(part) for part in script.split(MASKED))
    return len(script) < 1 << 20 and script.count(MASKED) <= 50 and re.fullmatch(pattern, source) is not None


def _with_before(told: Told, owner: int | None) -> Told:
    found = _CLOSING.search(told.script or b"")
    if told.before is not None or found is None:
        return told
    source = _read(told.path, owner)
    same = source is not None and hashlib.sha256(source).hexdigest().encode() == found[1]
    return replace(told, before=source) if same else told
