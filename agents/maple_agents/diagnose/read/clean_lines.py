"""What may be shown of a line: no terminal escapes, no control characters, nothing overwritten, no secrets.

Lines of logs are cleaned when they are read. All else that a diagnosis shows is made safe at the last moment: names of
files, jobs and nodes, words of the scheduler, the user's own script. The copy that `--apply` writes is not touched by
it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from maple_submit_filter.answer.report import printable

from ...base.secrets.masking import MASK, masked, masked_lines
from .limits import USUAL

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erasing
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC with text
    r"|\x1b[()*+\-./#%][0-9A-Za-z@]|\x1b[ -~]?"
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|[^\x00-\x7f]")
_ERASED = re.compile(r"[^\x08]\x08")
# A carriage return at the end of a name that a message quotes: nothing was drawn anew, and it is the cause.
_QUOTED_RETURN = re.compile(rb"(?<=\S)\r(?=(?:['\"`)\]]|\xe2\x80\x99){0,3}: [A-Za-z\[])")
TAB = "    "


def cleaned(line: bytes) -> str:
    """Return *line* as it may be shown: at most 2,000 characters, on any terminal harmless, secrets masked.

    What a carriage return overwrote is left out: the last state that was drawn stays. Bytes that are no UTF-8 become
    U+FFFD.
    """
    return shown(plain(line))


def plain(line: bytes) -> str:
    """Return *line* as `cleaned`, but with its secrets: only for looking at."""
    line = _last_state(line.rstrip(b"\r\n"))
    cut = len(line) > USUAL.raw
    text = line[: USUAL.raw].decode("utf-8", "replace")
    if not text.isascii() or not text.isprintable():
        text = _harmless(text)
    return text[: -(USUAL.raw // 8)] if cut else text  # a secret that was cut in two is not known as one


def shown(text: str) -> str:
    """Return a plain line with its secrets masked, cut to what is shown."""
    return masked(text)[: USUAL.shown]


def shown_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield each of *texts* masked; a private key goes over several lines, and what stands below `password: |`."""
    lines = list(texts)
    if not lines:
        return
    for line in masked_lines("\n".join(lines)).split("\n"):
        yield line[: USUAL.shown]


def _last_state(line: bytes) -> bytes:
    """Return what a terminal shows of a line that was drawn again and again."""
    if b"\r" not in line:
        return line
    line = _QUOTED_RETURN.sub(rb"\\r", line[-4 * USUAL.raw :])
    states = [part for part in line.split(b"\r") if part.strip()]
    return states[-1] if states else b""


def _harmless(text: str) -> str:
    for _ in range(4):
        if "\x08" not in text:
            break
        text = _ERASED.sub("", text)
    text = _ESCAPES.sub("", text).replace("\t", TAB)
    return _CONTROLS.sub(_kept, text)


def _kept(match: re.Match[str]) -> str:
    """Return the character if it draws something: no controls, marks of direction, private or unknown ones."""
    return "" if unicodedata.category(match[0]) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else match[0]


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
