"""Slips of script/: directives that are none, stand too late or twice, and bytes that bash reads otherwise."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import in_front, swapped, unread
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip, Spellings

_LONG = re.compile(rb"(?m)^#SBATCH[ \t]+(--[a-z-]+)(=|[ \t]+)([^\s#]+)[ \t]*$")
_WORTH = (b"--nodes", b"--gpus-per-node", b"--ntasks-per-node", b"--gres", b"--time", b"--partition", b"--account",
          b"--constraint", b"--cpus-per-task", b"--ntasks")  # fmt: skip
_PBS = re.compile(rb"(?m)^#PBS[ \t]+-l[ \t]*select=[^\n]*$")
_CONTINUED = re.compile(rb"\\\n")
_QUOTED = re.compile(rb'(?<=[ =])"([^"\n]*)"')
ENDASH, EMDASH = "\u2013".encode(), "\u2014".encode()


def _directive(script: Script) -> Optional[re.Match[bytes]]:
    """Return the first directive of one long option that lays the job out."""
    return next((found for found in _LONG.finditer(script.text) if found[1] in _WORTH), None)


def _long(script: Script) -> bool:
    return not script.is_pbs and _directive(script) is not None


def _rewritten(form: str) -> Change:
    """Write that directive otherwise; PREFIX, NAME (without dashes), SEP and VALUE stand for its parts."""

    def change(script: Script) -> Optional[bytes]:
        found = _directive(script)
        if found is None:
            return None
        parts = {"PREFIX": b"#SBATCH", "NAME": found[1][2:], "SEP": found[2], "VALUE": found[3]}
        new = form.encode()
        for name, value in parts.items():
            new = new.replace(name.encode(), value)
        return script.put(*found.span(), new)

    return change


def _misspelt(how: str) -> Change:
    def change(script: Script) -> Optional[bytes]:
        found = _directive(script)
        if found is None:
            return None
        name = found[1][2:]
        new = {"less": name[:2] + name[3:], "twice": name[:2] + name[1:], "exchanged": name[:1] + name[2:3] + name[1:2]
               + name[3:], "underscores": name.replace(b"-", b"_"), "a plural": name + b"s",
               "joined": name.replace(b"-", b"")}[how]  # fmt: skip
        return script.put(found.start(1) + 2, found.end(1), new) if new != name else None

    return change


def _moved(below: bytes) -> Change:
    """Put that directive behind the first command."""

    def change(script: Script) -> Optional[bytes]:
        found = _directive(script)
        if found is None or found[1] in (b"--account", b"--partition"):
            return None
        line = found[0]
        text = script.text[: found.start()] + script.text[found.end() + 1 :]
        at = script.line.start - len(line) - 1
        return text[:at] + below + line + b"\n" + text[at:]

    return change


def _twice(value: bytes) -> Change:
    """Say the number of nodes once more, behind the other directives, with another value."""

    def change(script: Script) -> Optional[bytes]:
        found = re.search(rb"(?m)^#SBATCH[ \t]+--nodes=(\d+)[ \t]*$", script.text)
        if found is None or found[1] == value:
            return None
        last = max(one.end() for one in re.finditer(rb"(?m)^#SBATCH[^\n]*$", script.text))
        return script.put(last, last, b"\n#SBATCH --nodes=" + value)

    return change


def _crlf(script: Script) -> Optional[bytes]:
    return script.text.replace(b"\n", b"\r\n") if b"\r" not in script.text else None


def _continued(script: Script) -> Optional[re.Match[bytes]]:
    return _CONTINUED.search(script.text, script.line.start, script.line.end)


def _at_break(new: bytes) -> Change:
    def change(script: Script) -> Optional[bytes]:
        found = _continued(script)
        return script.put(*found.span(), new) if found is not None else None

    return change


def _dash(dash: bytes) -> Change:
    def change(script: Script) -> Optional[bytes]:
        found = re.compile(rb"(?<=[ \t])--(?=[a-z])").search(script.text, script.line.start, script.line.end)
        return script.put(*found.span(), dash) if found is not None else None

    return change


def _value(name: bytes, *values: str) -> Spellings:
    """Give an option of the directives a value that sbatch can't read."""

    def one(value: bytes) -> Change:
        def change(script: Script) -> Optional[bytes]:
            found = re.search(rb"(?m)^#SBATCH[ \t]+" + name + rb"(=|[ \t]+)([^\s#]+)[ \t]*$", script.text)
            return script.put(found.start(2), found.end(2), value) if found is not None else None

        return change

    return {f"{name.decode()} {value}": one(value.encode()) for value in values}


def _pbs_select(script: Script) -> bool:
    return script.is_pbs and _PBS.search(script.text) is not None


def _select(pattern: bytes, new: bytes) -> Change:
    def change(script: Script) -> Optional[bytes]:
        found = _PBS.search(script.text)
        return script.swap(pattern, new, found.span()) if found is not None else None

    return change


SLIPS = [
    Slip(
        "an option of a directive is misspelt", ("MPL102", "MPL106", "MPL217"), _long,
        {
            "a letter less": _misspelt("less"), "a letter twice": _misspelt("twice"),
            "two exchanged": _misspelt("exchanged"), "underscores": _misspelt("underscores"),
            "a plural": _misspelt("a plural"), "joined": _misspelt("joined"),
            "one dash": _rewritten("PREFIX -NAMESEPVALUE"), "three dashes": _rewritten("PREFIX ---NAMESEPVALUE"),
            "no dash": _rewritten("PREFIX NAME=VALUE"), "an en dash": _rewritten("PREFIX \u2013NAMESEPVALUE"),
            "an em dash": _rewritten("PREFIX \u2014NAMESEPVALUE"),
            "blanks around =": _rewritten("PREFIX --NAME = VALUE"),
            "a blank behind =": _rewritten("PREFIX --NAME= VALUE"), "a colon": _rewritten("PREFIX --NAME:VALUE"),
            "capitals": lambda script: (
                script.put(found.start(1), found.end(1), found[1].upper()) if (found := _directive(script)) else None
            ),
        },
        dressed=False,
    ),
    Slip(
        "a directive is none", ("MPL102", "MPL106", "MPL101"), _long,
        {
            "SBTACH": _rewritten("#SBTACH --NAMESEPVALUE"), "SBATH": _rewritten("#SBATH --NAMESEPVALUE"),
            "small letters": _rewritten("#sbatch --NAMESEPVALUE"), "a blank": _rewritten("# SBATCH --NAMESEPVALUE"),
            "a colon": _rewritten("#SBATCH: --NAMESEPVALUE"),
            "indented": _rewritten("  #SBATCH --NAMESEPVALUE"), "no number sign": _rewritten("SBATCH --NAMESEPVALUE"),
            "of Slurm": _rewritten("#SLURM --NAMESEPVALUE"), "of PBS": _rewritten("#PBS --NAMESEPVALUE"),
            "SBATCHES": _rewritten("#SBATCHS --NAMESEPVALUE"),
        },
        dressed=False,
    ),
    Slip(
        "a directive behind the first command", ("MPL101",), _long,
        {"in front of the launch": _moved(b""), "behind an echo": _moved(b"echo start\n"),
         "behind a variable": _moved(b"RUN=1\n"), "behind a heading": _moved(b"# --- resources ---\n")},
        dressed=False,
    ),
    Slip(
        "a directive twice", ("MPL107",), lambda script: not script.is_pbs and script.several_nodes,
        {"one node": _twice(b"1"), "more nodes": _twice(b"6")},
        dressed=False,
    ),
    Slip(
        "a value that sbatch can't read", ("MPL217",), _long,
        {
            **_value(b"--time", "24h", "2days", "01:00:00:00", "aa:bb", "12hours", "1d", "<hh:mm:ss>", "2:00:00h"),
            **_value(b"--nodes", "two", "2x", "<N>", "{nodes}", "2nodes", "2;", "'2", "2..4"),
            **_value(b"--ntasks-per-node", "four", "4,", "gpu:4", "4x", "auto", "4/node"),
            **_value(b"--mem", "lots", "all", "max", "200_GB", "G200"),
            **_value(b"--gres", "gpu=4", "4", "gpus:4", "gpu:4:a100", "gpu4"),
            **_value(b"--gpus-per-node", "four", "gpu=4", "4gpus", "all"),
            **_value(b"--cpus-per-task", "all", "8c", "eight", "8,"),
        },
        dressed=False,
    ),
    Slip(
        "ends of lines from another system", ("MPL119", "MPL105", "MPL102"), lambda script: not script.is_pbs,
        {"everywhere": _crlf},
        dressed=False,
    ),
    Slip(
        "a continued line is cut", ("MPL108",), lambda script: _continued(script) is not None,
        {"a blank behind the backslash": _at_break(rb"\ " + b"\n"), "no backslash": _at_break(b"\n"),
         "a comment behind it": _at_break(rb"\  # more" + b"\n"), "a tab behind it": _at_break(b"\\\t\n"),
         "an empty line": _at_break(b"\\\n\n"), "a comment between": _at_break(b"\\\n    # options\n"),
         "a slash": _at_break(b"/\n")},
        dressed=False,
    ),
    Slip(
        "typographic dashes on the launch line", ("MPL314", "MPL119", "MPL335"),
        lambda script: re.search(rb"[ \t]--[a-z]", script.launch) is not None,
        {"an en dash": _dash(ENDASH), "an em dash": _dash(EMDASH), "en and hyphen": _dash(ENDASH + b"-"),
         "a minus": _dash("\u2212".encode() * 2), "a soft hyphen": _dash("\u2010".encode() * 2)},
        {**unread("torchrun \u2013nnodes=2 train.py".encode())},
    ),
    Slip(
        "a chunk that qsub can't read", ("MPL113", "MPL215", "MPL105", "MPL106", "MPL112", "MPL201", "MPL216"),
        _pbs_select,
        {
            "a comma": _select(rb"(select=\d+):", rb"\1,"), "blanks": _select(rb"(select=\d+):", rb"\1: "),
            "a blank at =": _select(rb"select=", rb"select = "), "a word": _select(rb"select=\d+", rb"select=two"),
            "an option of Slurm": _select(rb"-l[ \t]*select=(\d+)[^\n]*", rb"--nodes=\1"),
            "selects": _select(rb"select=", rb"selects="), "ncpu": _select(rb"ncpus=", rb"ncpu="),
            "ngpu": _select(rb"ngpus=", rb"ngpu="), "a semicolon": _select(rb"(select=\d+):", rb"\1;"),
        },
        dressed=False,
    ),
    Slip(
        "a walltime that qsub can't read", ("MPL225", "MPL105", "MPL217", "MPL106", "MPL216"),
        lambda script: script.is_pbs and b"walltime=" in script.text,
        {f"walltime {form}": swapped(rb"walltime=[\d:]+", b"walltime=" + form.encode())
         for form in ("1h", "2hours", "1-00:00:00", "01:00:00:00:00", "aa:bb", "<time>", "60m")},
        dressed=False,
    ),
    Slip(
        "a place to go that is not there", ("MPL409", "MPL121"), lambda script: not script.is_pbs,
        {"PBS's variable": in_front(b"cd $PBS_O_WORKDIR\n"),
         "misspelt": in_front(b"cd $SLURM_SUBMIT_DIRS\n"), "another": in_front(b"cd $SLURM_WORKDIR\n")},
        {"its own": lambda script: None if script.is_pbs else in_front(b"cd $SLURM_SUBMIT_DIR\n")(script)},
        dressed=False,
    ),
]  # fmt: skip
