"""One setting from many places, and which place wins."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Tuple

from .edits import Span


class Origin(NamedTuple):
    """Where a setting was said.

    *kind* is "argv", "environment", "directive", "line" (a launch line in the script), "default" or "site".
    *span*: the bytes of the whole option in the script, its value included (directive, line).
    *value_span*: the bytes of the value alone (None for a bare flag).
    *argv_index*, *argv_count*: which words of the submit command's argv say it. *variable*: which variable does.
    *line*: 1-based line of the script, 0 when it is not in the script.
    """

    kind: str
    span: Optional[Span] = None
    value_span: Optional[Span] = None
    argv_index: int = -1
    argv_count: int = 0
    variable: bytes = b""
    line: int = 0
    spelling: bytes = b""  # the option as it was written: b"-N", b"--nodes", b"--nod"


class Setting(NamedTuple):
    """An option by its long name without dashes ("ntasks-per-node"), its value (b"" for a bare flag) and its origin."""

    name: str
    value: bytes
    origin: Origin


class Settings:
    """Every setting of a submission; the strongest origin wins, the others are kept."""

    __slots__ = ("_by_name",)

    def __init__(self, settings: Tuple[Setting, ...] = ()) -> None:
        """*settings* come weakest first, so that of two equal names the later one wins."""
        by_name: dict[str, Tuple[Setting, ...]] = {}
        for setting in settings:
            by_name[setting.name] = (setting,) + by_name.get(setting.name, ())
        self._by_name = by_name

    def get(self, name: str) -> Optional[Setting]:
        """Return the setting in force, or None when nobody said it."""
        settings = self._by_name.get(name)
        return settings[0] if settings else None

    def value(self, name: str) -> Optional[bytes]:
        """Return the value in force, or None when nobody said it."""
        setting = self.get(name)
        return setting.value if setting else None

    def all(self, name: str) -> Tuple[Setting, ...]:
        """Return every setting of that name, the one in force first."""
        return self._by_name.get(name, ())

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Setting]:
        """Iterate over the settings in force."""
        return (settings[0] for settings in self._by_name.values())
