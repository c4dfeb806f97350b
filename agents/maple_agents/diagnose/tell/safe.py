"""What a diagnosis may show: secrets masked, and nothing that a terminal would obey, wherever the text came from.

Logs are cleaned when they are read. Here it is done for all else too, at the last moment: names of files, jobs and
nodes, words of the scheduler, the user's own script. The copy that `--apply` writes is not touched by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from maple_submit_filter.answer.report import printable

from ...base.secrets.masking import MASK, masked, masked_lines


def safe(text: str) -> str:
    """Return *text* as one line that may be shown."""
    return printable(masked(text))


def safe_lines(text: str) -> str:
    """Return *text* with as many lines as it has, each as it may be shown; tabs stay."""
    return "\n".join("\t".join(printable(piece) for piece in line.split("\t")) for line in text.split("\n"))


def safe_script(script: bytes) -> bytes:
    """Return *script* with its secrets masked, line for line."""
    return masked_lines(script.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def safe_words(words: Sequence[bytes]) -> list[str]:
    """Return the words of a command; a secret may be known by the word before it: `--token`, `abc`."""
    shown: list[str] = []
    before = ""
    for word in words:
        text = word.decode("utf-8", "surrogateescape")
        shown.append(printable(_behind(before, text)))
        before = text
    return shown


def _behind(before: str, word: str) -> str:
    """Return *word* as it may be shown behind *before*."""
    alone = masked(word)
    if alone != word or not before.startswith("-") or "=" in before:
        return alone
    shown = masked("%s '%s'" % (before, word.replace("'", '"')))
    return MASK if shown == "%s '%s'" % (before, MASK) else word
