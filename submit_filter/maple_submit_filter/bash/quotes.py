"""What `$'...'` stands for."""

from __future__ import annotations

import re

ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
LETTERS = {
    b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
    b"v": b"\v", b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?",
}  # fmt: skip


def decoded(text: bytes) -> bytes:
    """Return the inside of `$'...'` with its escapes replaced."""
    return ESCAPE.sub(_byte, text)


def _byte(match: "re.Match[bytes]") -> bytes:
    octal, hexadecimal, short, long, control, other = match.groups()
    if octal:
        return bytes((int(octal, 8) & 0xFF,))
    if hexadecimal:
        return bytes((int(hexadecimal, 16),))
    if short or long:
        return _encoded(int(short or long, 16))
    if control:
        return bytes((control[0] & 0x1F,))
    return LETTERS.get(other, match.group())


def _encoded(point: int) -> bytes:
    return chr(point).encode("utf-8", "surrogatepass") if point <= 0x10FFFF else b"\xef\xbf\xbd"
