"""What a qsub line and its script ask for, read by a small reader of the lab's own: Maple must not judge itself.

The rules are those measured on OpenPBS 23.06: getopt without permutation; directives up to the first executable line;
command line over script; the first `-l` of a resource wins in a script and the last one on the command line.
"""

from __future__ import annotations

import getopt
import os
import re
import shlex
from typing import Callable, Mapping, NamedTuple, Optional, Sequence

OPTIONS = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"
USAGE = "usage: qsub [-a date_time] [-A account_string] ... [script | -- command [arg1 ...]]"


class Refused(Exception):
    """qsub says no: *says* on stderr, and its exit *code*."""

    def __init__(self, says: str, code: int) -> None:
        super().__init__(says)
        self.says, self.code = says, code


class Request(NamedTuple):
    """One submission. *letters*: value of each option letter ("" for a flag); *resources*: of each `-l` name."""

    script: bytes
    job_name: str
    letters: Mapping[str, str]
    resources: Mapping[str, str]
    attributes: Mapping[str, str]  # of -W

    def option(self, name: str) -> Optional[str]:
        """Return the value of a setting by the name that site files use ("account", "filesystems"), None: not given."""
        if name in self.resources:
            return self.resources[name]
        return self.letters.get(_LETTERS.get(name, ""), None)


_LETTERS = {"account": "A", "queue": "q", "keep": "k", "job-name": "N", "output": "o", "error": "e", "join": "j"}


def read(words: Sequence[str], stdin: bytes, cwd: str, environment: Mapping[str, str]) -> Request:
    """Return what `qsub` with *words* asks for. Raises `Refused`, with qsub's own text and exit code."""
    try:
        options, operands = getopt.getopt(list(words), OPTIONS)
    except getopt.GetoptError as error:
        raise Refused(f"qsub: {error}\n{USAGE}", 2) from None
    command = list(words[: len(words) - len(operands)])[-1:] == ["--"]
    if (len(operands) > 1 or command) and not (command and operands):
        raise Refused(USAGE, 2)
    script, name = (_executable(operands), "STDIN") if command else _script(operands, stdin, cwd)
    letters = _letters(options)
    prefix = letters.get("C", environment.get("PBS_DPREFIX", "#PBS"))
    own = _directives(script, prefix[:32]) if prefix and not command else []
    merged = {**_letters(own), **letters}
    merged.pop("C", None)
    resources = {**_resources(own, first=True), **_resources(options, first=False)}
    attributes = {**_attributes(own), **_attributes(options)}
    request = Request(script, merged.get("N", name), merged, resources, attributes)
    _checked(request)
    return request


def _script(operands: Sequence[str], stdin: bytes, cwd: str) -> tuple[bytes, str]:
    if not operands or operands[0] == "-":
        return stdin, "STDIN"
    path = os.path.join(cwd, operands[0])
    if os.path.isdir(path):
        raise Refused("qsub: script not a file", 1)
    try:
        with open(path, "rb") as file:
            return file.read(), os.path.basename(path)
    except OSError as error:
        raise Refused(f"qsub: script file:: {error.strerror}", 1) from None


def _executable(words: Sequence[str]) -> bytes:
    """Return a script that becomes the program behind `--`; PBS looks for no program in PATH."""
    start = f"exec {shlex.join(words)}" if words[0].startswith("/") else "exit 254"
    return f"#!/bin/sh\n{start}\n".encode("utf-8", "surrogateescape")


def _letters(options: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {flag[1:]: value for flag, value in options if flag not in ("-l", "-W")}


def _directives(script: bytes, prefix: str) -> list[tuple[str, str]]:
    """Return the options of every directive in front of the first executable line."""
    if b"\r\n" in script:
        raise Refused("qsub: script contains cr, lf", 1)
    found: list[tuple[str, str]] = []
    lines = iter(script.decode("utf-8", "surrogateescape").split("\n"))
    for line in lines:
        text = line.lstrip(" \t")
        if text.startswith(prefix):
            while text.endswith("\\"):
                text = text[:-1] + next(lines, "")
            found += _one(text[len(prefix) :])
        elif text.strip() and not text.startswith("#") and not line.startswith(":"):
            break
    return found


def _one(text: str) -> list[tuple[str, str]]:
    try:
        options, rest = getopt.getopt(shlex.split(text), OPTIONS)
    except (ValueError, getopt.GetoptError):
        options, rest = [], [text]
    if rest:
        raise Refused(f"qsub: directive error: {text.strip()} ", 1)
    return [pair for pair in options if pair[0] != "-C"]


def _resources(options: Sequence[tuple[str, str]], first: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for flag, value in options:
        for part in split(value) if flag == "-l" else []:
            name, _, given = part.partition("=")
            if not (first and name.strip() in found):
                found[name.strip()] = given.strip()
    return found


def _attributes(options: Sequence[tuple[str, str]]) -> dict[str, str]:
    parts = [part.partition("=") for flag, value in options if flag == "-W" for part in split(value)]
    return {name.strip(): value for name, _, value in parts}


def split(text: str) -> list[str]:
    """Return the parts between commas that stand outside quotes."""
    return [part for part in re.findall(r"(?:[^,\"']|\"[^\"]*\"|'[^']*')+", text) if part]


def seconds(text: str) -> int:
    """Return a walltime in seconds. Raises `Refused` as the server does for what is none."""
    if not re.fullmatch(r"(\d+:){0,2}\d*(\.\d+)?", text):
        raise Refused("qsub: Illegal attribute or resource value Resource_List.walltime", 166)
    total = 0
    for part in text.split(":"):
        total = total * 60 + int(float(part or 0))
    return total


def _checked(request: Request) -> None:
    """Refuse what qsub refuses whatever the site: the texts are those of the measured server."""
    letters, resources = request.letters, request.resources
    wrong = next((letter for letter, good in _FORMS.items() if letter in letters and not good(letters[letter])), "")
    if wrong:
        raise Refused(f"qsub: illegal -{wrong} value\n{USAGE}", 2)
    if "I" in letters:
        raise Refused("qsub:\tstandard input and output must be a terminal for\n\tinteractive job submission", 1)
    if "select" in resources or "place" in resources:
        _select_alone(resources)
    if "walltime" in resources:
        seconds(resources["walltime"])


def _rises(value: str) -> bool:
    first, last = (int(part) for part in re.split("[:%]", value)[0].split("-"))
    return first < last


_FORMS: dict[str, Callable[[str], bool]] = {
    "j": lambda value: value in ("oe", "eo", "n"),
    "N": lambda value: bool(value) and not re.search(r"\s", value) and len(value) <= 230,
    "J": lambda value: bool(re.fullmatch(r"\d+-\d+(:[1-9]\d*)?(%[1-9]\d*)?", value)) and _rises(value),
    "r": lambda value: value in ("y", "n"),
    "S": lambda value: value.split("@")[0].startswith("/"),
    "p": lambda value: bool(re.fullmatch(r"[+-]?\d+", value)) and -1024 <= int(value) <= 1023,
}


def _select_alone(resources: Mapping[str, str]) -> None:
    if "nodes" in resources:
        raise Refused("qsub: Cannot be used with select or place: nodes", 6)
    if "select" not in resources:
        raise Refused('qsub: Cannot have "place" without "select"', 7)
    for name in ("ncpus", "mem", "ngpus", "mpiprocs"):
        if name in resources:
            says = f'"-lresource=" cannot be used with "select" or "place", resource is: {name}'
            raise Refused(f"qsub: {says}", 5)
