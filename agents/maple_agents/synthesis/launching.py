"""The launch line of a plan: what stands in front of the program, around it and behind it."""

from __future__ import annotations

from typing import NamedTuple

from .values import Plan


class Launched(NamedTuple):
    """*before*: setup lines without newlines (MASTER_ADDR, a hostfile). The launch line is *words_before*, *program*,
    *words_after*, with nothing between them; *program* is the part of the program that stays, verbatim.
    """

    before: tuple[bytes, ...]
    words_before: bytes
    program: bytes
    words_after: bytes = b""

    @property
    def line(self) -> bytes:
        """The launch line, without newline; it may go over several lines."""
        return self.words_before + self.program + self.words_after


def launch(plan: Plan, program: bytes) -> Launched:
    """Return how *program* (its command with arguments, as said) is started by the plan's launch template.

    Shell operators behind the program (`> log`, `| tee log`, `&& next`) keep their meaning: they are the batch
    shell's. A leading `python` is left out where an agent (torchrun, accelerate, deepspeed) takes its place.
    """
    raise NotImplementedError
