"""Builds the double of libpbs and writes the file that tells it what to answer."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
_FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-shared", "-fPIC", "-pthread"]


def build(target: Path, *flags: str, source: str = "libpbs.c") -> Path:
    """Compile a double to *target*. A machine without a C compiler fails the test that asks for one."""
    subprocess.run(
        [os.environ.get("CC", "gcc"), *_FLAGS, *flags, "-o", str(target), str(HERE / source)],
        check=True,
        timeout=120,
    )
    return target


class Scenario:
    """What the double answers. Each method adds one thing; `write` says it in the double's own form."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def job(self, name: str, *steps: Mapping[str, str] | None) -> Scenario:
        """Add a job: its attributes each time it is asked for, the last ones for ever; None: it is not there.

        A task of an array is told without `Submit_arguments`, as PBS (23.06) tells them of the array alone.
        """
        if re.search(r"\[\d+\]", name):
            steps = tuple(one and {key: one[key] for key in one if key != "Submit_arguments"} for one in steps)
        self._say("job", name)
        for index, attributes in enumerate(steps):
            if index:
                self._say("step")
            if attributes is None:
                self._say("gone")
            self._attributes(attributes or {})
        return self

    def thing(self, kind: str, name: str, attributes: Mapping[str, str]) -> Scenario:
        """Add a queue, node or server."""
        self._say(kind, name)
        self._attributes(attributes)
        return self

    def fault(self, call: str, number: int, *, nth: int = 0, result: int = 0, text: str = "") -> Scenario:
        """Let a call (`statjob`) end with an error number and a result, each time or the *nth*; stats return NULL."""
        self._say("fault", call, str(nth), str(number), str(result), text)
        return self

    def slow(self, call: str, milliseconds: int) -> Scenario:
        """Let a call take so long."""
        self._say("slow", call, str(milliseconds))
        return self

    def refuse(self, key: str, value: str, code: int, text: str) -> Scenario:
        """Name an attribute in error, as `pbs_get_attributes_in_error` gives it."""
        self._say("refuse", str(code), text, *_split(key), value)
        return self

    def greet(self, text: str) -> Scenario:
        """Print *text* on descriptor 2 at each connect."""
        self._say("greet", text)
        return self

    def write(self, path: Path) -> Path:
        """Write the scenario file."""
        path.write_bytes(b"".join(self._lines))
        return path

    def _attributes(self, attributes: Mapping[str, str]) -> None:
        for key, value in attributes.items():
            self._say("attr", *_split(key), value)

    def _say(self, *words: str) -> None:
        self._lines.append(b"\t".join(_escaped(word) for word in words) + b"\n")


def _split(key: str) -> Sequence[str]:
    name, _, resource = key.partition(".")
    return name, resource


def _escaped(word: str) -> bytes:
    raw = word.encode("utf-8", "surrogateescape")
    return b"".join(b"%c" % byte if 32 < byte < 127 and byte != 37 else b"%%%02x" % byte for byte in raw)
