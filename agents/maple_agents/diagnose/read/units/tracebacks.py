"""Python tracebacks, line by line: whole or cut, indented, in groups, between the lines of other processes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HEADER = re.compile(r"(?P<before>.*?)(?P<group>\+ Exception Group )?Traceback \(most recent call last\):")
FRAME = re.compile(r'(?P<indent>\s*)File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in .*)?\s*$')
RAISED = re.compile(r"\s*(?P<name>(?:(?:[A-Za-z_]\w*|<locals>)\.)*[A-Za-z_]\w*)(?P<colon>:(?:\s.*)?)?\s*$")
DURING = "During handling of the above exception, another exception occurred"
DIRECT = "The above exception was the direct cause of the following exception"
_MARKS = re.compile(r"[\s^~]+$")
IN_GROUP = re.compile(r"\s*\| ?(?P<rest>.*)$")
_ENDS_LIKE_ONE = re.compile(
    r"(?:Error|Exception|Interrupt|Exit|Warning|Timeout|Failure|Fault|Empty|Full|Cancelled|Iteration|Group|Found|Abort"
    r"|Invalid|Missing|Closed|Refused|Denied|Expired|Exceeded|Unavailable|gaierror|herror|timeout|error)$"
)
_LEVELS = frozenset(("INFO", "DEBUG", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTE", "Note", "Epoch", "Step"))
_LIBRARY = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|SP|LIB)/|/lib(?:64|exec)?/python\d|(?:^|/)torch/\w|<frozen "
    r"|<string>|<__array_function__"
    r"|<attrs generated|/torchinductor|(?:^|/)s?bin/[^/]*$|^importlib|/pluggy/"
)
_ANNOUNCES = re.compile(r":\s*$|\bvalidation errors? for \w+\s*$|^\s*[\w.]+(?:Error|Exception)\s*$")
_LAUNCHER = re.compile(r"^[\w-]+$")  # a console script: no suffix, no folder


def own(file: str) -> bool:
    """Return whether *file* is the user's: no library, no part of Python, no launcher."""
    file = file.replace("\\", "/")
    return not _LIBRARY.search(file) and not _LAUNCHER.match(file)


def announces(words: str) -> bool:
    """Return whether the line of an exception only announces what stands below it."""
    return _ANNOUNCES.search(words) is not None


@dataclass
class Traceback:
    """A traceback that is being read. *base*: how far it is indented; *piped*: it stands in the tree of a group."""

    base: int | None = None
    last: str = "header"
    frames: list[tuple[str, int]] = field(default_factory=list)
    exception: str = ""
    piped: bool = False

    def takes(self, words: str, next_to: bool) -> bool:
        """Take *words* if they go on with it. *next_to*: no other line stands between."""
        inner = IN_GROUP.match(words)
        if inner is not None and (self.piped or self.base is None and FRAME.match(inner["rest"])):
            self.piped, words = True, inner["rest"]
        elif self.piped or not words.strip():
            return False
        return self._frame(words) or self._code(words) or self._raised(words, next_to)

    def wants(self, words: str) -> bool:
        """Return whether *words* are what comes next, as far as one can tell: source behind a frame, marks below it."""
        if FRAME.match(words):
            return self.last != "frame"
        if not words.startswith("   "):
            return True
        return self.last == ("code" if _MARKS.match(words) else "frame")

    def would_frame(self, words: str) -> bool:
        match = FRAME.match(words)
        return match is not None and (self.base is None or len(match["indent"]) == self.base + 2)

    @property
    def done(self) -> bool:
        return bool(self.exception)

    def _frame(self, words: str) -> bool:
        match = FRAME.match(words)
        if match is None or not self.would_frame(words):
            return False
        self.base = max(0, len(match["indent"]) - 2)
        self.frames.append((match["file"], int(match["line"])))
        self.last = "frame"
        return True

    def _code(self, words: str) -> bool:
        """Source, the marks below it, `[Previous line repeated 970 more times]`."""
        if self.base is None or len(words) - len(words.lstrip()) < self.base + 2:
            return False
        self.last = "code"
        return True

    def _raised(self, words: str, next_to: bool) -> bool:
        match = RAISED.match(words)
        indent = len(words) - len(words.lstrip())
        if match is None or not (indent == self.base or self.base is None and next_to):
            return False
        if not _is_exception(match["name"], bool(match["colon"]), next_to):
            return False
        self.exception = match["name"]
        return True


def _is_exception(name: str, colon: bool, next_to: bool) -> bool:
    own_name = name.rsplit(".", 1)[-1]
    if name in _LEVELS:
        return False
    if _ENDS_LIKE_ONE.search(own_name) and (own_name[0].isupper() or "." in name):
        return True
    return next_to and (own_name[0].isupper() or "." in name) and (colon or own_name[0].isupper())
