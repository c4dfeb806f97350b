"""What `make demo` looks like: colours and a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pty
import re
import struct
import subprocess
import termios
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

WIDEST = 110  # columns; beyond that lines are hard to follow
TELLING = re.compile(r"Error|error:|[Rr]endezvous|trained|invalid|refused")
BRANCH = re.compile(r"\s*[├└│]|\s{12}")  # a line of a drawn tree, the end of a folded one
BRANCHES = 13  # lines of a tree that are shown
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def typed(argv: Sequence[str], env: Mapping[str, str], cwd: str, width: int, coloured: bool) -> tuple[int, str]:
    """Run a command with its output on a terminal of that width: to a pipe it would speak otherwise."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        said = {**env, "TERM": "xterm-256color" if coloured else "dumb"}
        process = subprocess.Popen(argv, env=said, cwd=cwd, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    finally:
        os.close(theirs)
    parts = []
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while part := os.read(ours, 65536):
            parts.append(part)
    os.close(ours)
    text = b"".join(parts).decode("utf-8", "replace").replace("\r\n", "\n")
    return process.wait(), text if coloured else CONTROL.sub("", text)


def telling(log: str, most: int = 5) -> list[str]:
    """Return the lines of a job's log that say what happened; of lines that differ in numbers alone, the first."""
    found: dict[str, str] = {}
    for line in log.splitlines():
        if TELLING.search(line):
            found.setdefault(re.sub(r"\d+", "#", line), line)
    return sorted(found.values(), key=lambda line: line.startswith("srun:"))[:most]  # torch says more than srun


def _is_branch(line: str) -> bool:
    return BRANCH.match(CONTROL.sub("", line)) is not None


class Screen:
    """A console for people."""

    def __init__(self) -> None:
        probe = Console()
        self.coloured = probe.is_terminal and not probe.no_color and probe.color_system is not None
        self.width = min(probe.width, WIDEST)
        self.console = Console(width=self.width, highlight=False)

    def heading(self, text: str) -> None:
        self.console.print()
        self.console.rule(Text(text, style="bold"), align="left", style="cyan")

    def note(self, text: str) -> None:
        self.console.print(Text(text, style="italic"))

    def script(self, source: bytes) -> None:
        code = source.decode().rstrip()
        text = Syntax(code, "bash", line_numbers=True, background_color="default", theme="ansi_dark", word_wrap=True)
        self.console.print(text)

    def command(self, line: str) -> None:
        self.console.print(Text.assemble(("$ ", "bold green"), (line, "bold")))

    def output(self, text: str) -> None:
        """Print what a command printed, set in by two columns; of a long tree the first branches."""
        shown = []
        for branches, group in itertools.groupby(text.strip("\n").split("\n"), _is_branch):
            lines = list(group)
            most = BRANCHES if branches and len(lines) > BRANCHES + 1 else len(lines)
            shown += lines[:most]
            shown += [f"    … {len(lines) - most} more lines of the tree"] if lines[most:] else []
        self.console.print(Padding(Text.from_ansi("\n".join(shown)), (0, 0, 0, 2), expand=False))

    def state(self, job: int, state: str, code: int, seconds: float) -> None:
        """Say how a job ended."""
        good = state == "COMPLETED" and code == 0
        mark = ("✓ " if good else "✗ ", "bold green" if good else "bold red")
        ended = (state, "bold green" if good else "bold red")
        self.console.print(Text.assemble(mark, f"job {job} ", ended, f", exit code {code}, after {seconds:.1f} s"))

    def log(self, lines: Sequence[str]) -> None:
        """Show lines of a job's log."""
        for line in lines:
            self.console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2), expand=False))

    def ranks(self, facts: Sequence[Mapping[str, Any]], nodes: Mapping[str, int]) -> None:
        """Draw which rank had which GPU of which node, as the processes themselves wrote it down."""
        table = Table(title="ranks, as the processes wrote them down", title_justify="left", header_style="bold")
        table.add_column("node")
        for gpu in range(max(nodes.values(), default=0)):
            table.add_column(f"GPU {gpu}", justify="right", style="green")
        for host, gpus in nodes.items():
            had = [[str(one["rank"]) for one in facts if (one["host"], one["device"]) == (host, gpu)]
                   for gpu in range(gpus)]  # fmt: skip
            table.add_row(
                host, *(Text(", ".join(one) or "–", style="" if len(one) == 1 else "bold red") for one in had)
            )
        self.console.print(Padding(table, (1, 0, 0, 2), expand=False))

    def claims(self, claims: Sequence[str], seconds: float) -> None:
        for claim in claims:
            self.console.print(Text.assemble(("✓ ", "bold green"), claim))
        self.console.print(f"{seconds:.0f} s in all. `make lab` opens a shell on the same cluster.")

    def failure(self, text: str) -> None:
        self.console.print(Text(text, style="bold red"))

    @contextlib.contextmanager
    def waiting(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show that something is going on, with the seconds it takes; plain output gets one line."""
        if not self.console.is_terminal:
            self.console.print(f"{text} …")
            yield lambda _: None
            return
        begun = time.monotonic()
        with self.console.status(f"{text} …") as status:
            yield lambda now: status.update(f"{now}, {time.monotonic() - begun:.0f} s")
