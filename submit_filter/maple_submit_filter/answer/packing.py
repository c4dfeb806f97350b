"""A decision as bytes that can be kept and sent, with the files it depends on; what comes back is checked."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..host.frames import FileFacts
from ..types.edits import Span
from ..types.findings import Finding
from .decision import Decision, Rewritten

FORMAT = 1
VERDICTS = ("clean", "repaired", "findings", "unread")
TICK = 0.02  # seconds; Linux's clock goes by up to 10 ms
MOST = 1000  # findings, files, words: far beyond what any script comes to


class Watched:
    """Reads files as *read* does, and remembers how each was when it was read."""

    def __init__(self, read: Callable[[bytes], Optional[bytes]]) -> None:
        self._read = read
        self._content: Dict[bytes, Optional[bytes]] = {}
        self.files: List[FileFacts] = []

    def __call__(self, path: bytes) -> Optional[bytes]:
        """Return the file's content, None where it cannot be read. Facts are taken first: a later change shows.

        Two changes within one tick of the clock by which a file system dates them look like one, so a file that was
        changed just now is let rest. A file is read once: a decision is made of one state of it.
        """
        if path not in self._content:
            self._rest(path)
            self.files.append(FileFacts(path, facts_of(path)))
            self._content[path] = self._read(path)
        return self._content[path]

    @staticmethod
    def _rest(path: bytes) -> None:
        try:
            age = time.time() - os.stat(path).st_ctime
        except (OSError, ValueError):
            return
        if 0 <= age < TICK:
            time.sleep(TICK - age)


def facts_of(path: bytes) -> bytes:
    """Return a file's device, inode, size and times as the front writes them (frame.c), b"" where there is none."""
    try:
        file = os.stat(path)
    except (OSError, ValueError):
        return b""
    times = [divmod(stamp, 10**9) for stamp in (file.st_mtime_ns, file.st_ctime_ns)]
    shown = " ".join("%d.%09d" % stamp for stamp in times)
    return b"%d %d %d %s" % (file.st_dev, file.st_ino, file.st_size, shown.encode())


def pack(decision: Decision, files: Sequence[FileFacts] = ()) -> bytes:
    """Return the decision, without its plan and the fixes it chose from, and what it depends on."""
    data = {
        "format": FORMAT,
        "verdict": decision.verdict,
        "findings": [_finding(finding) for finding in decision.findings],
        "repaired": _rewritten(decision.repaired),
        "offered": _rewritten(decision.offered),
        "held_back": decision.held_back,
        "why": decision.why,
        "files": [[_text(file_facts.path), _text(file_facts.facts)] for file_facts in dict.fromkeys(files)],
    }
    return json.dumps(data, separators=(",", ":")).encode()


def unpack(data: bytes) -> Tuple[Decision, Tuple[FileFacts, ...]]:
    """Return the decision and the files it depends on. Raises `ValueError` where it is not as `pack` makes it."""
    try:
        values = json.loads(data)
        if values["format"] != FORMAT or values["verdict"] not in VERDICTS:
            raise ValueError("another format")
        decision = Decision(
            verdict=values["verdict"],
            findings=tuple(_read_finding(finding) for finding in _list(values["findings"])),
            repaired=_read_rewritten(values["repaired"]),
            offered=_read_rewritten(values["offered"]),
            held_back=tuple((_str(code), _str(why)) for code, why in _list(values["held_back"])),
            why=_str(values["why"]),
        )
        return decision, tuple(FileFacts(_bytes(path), _bytes(facts)) for path, facts in _list(values["files"]))
    except (LookupError, TypeError, AttributeError, RecursionError, UnicodeError) as error:
        raise ValueError("what was learnt is not well formed: %s" % type(error).__name__) from error


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _finding(finding: Finding) -> List[object]:
    return [finding.code, finding.says, finding.at, finding.proven, finding.asks_for, finding.help, finding.site_fact]


def _rewritten(made: Optional[Rewritten]) -> Optional[List[object]]:
    if made is None:
        return None
    script = None if made.script is None else _text(made.script)
    return [script, [_text(word) for word in made.argv], made.says, made.because]


def _read_finding(values: Any) -> Finding:
    code, says, at, proven, asks_for, help_, fact = values
    span = None if at is None else Span(_int(at[0]), _int(at[1]))
    return Finding(_str(code), _str(says), span, proven is True, _str(asks_for), (), _str(help_), _str(fact))


def _read_rewritten(values: Any) -> Optional[Rewritten]:
    if values is None:
        return None
    script, argv, says, because = values
    return Rewritten(
        None if script is None else _bytes(script),
        tuple(_bytes(word) for word in _list(argv)),
        tuple(_str(part) for part in _list(says)),
        tuple((_int(line), _str(code)) for line, code in _list(because)),
    )


def _list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list) or len(value) > MOST:
        raise TypeError("not a list in bounds")
    return value


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _bytes(value: Any) -> bytes:
    return _str(value).encode("latin-1")


def _int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 40:
        raise TypeError("not a number in bounds")
    return value
