"""Secrets taken out of text before it is stored, shown or sent.

Two kinds of rules: what a secret looks like by itself (a token with a known beginning, a private key; our own, and what
`known_shapes` has of others), and where one stands (behind `password=`, in a URL, after `--token`). A hash, a path, a
module's name or a count of tokens is none.
When in doubt behind a name that says secret, it is masked. Time grows with the length of the text, whatever it holds.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from . import shapes_found as shapes
from .known_shapes import masked_by_shape
from .names import is_harmless, is_password, is_secret, may_be_secret

MASK = "[masked]"
_LEAST_LOGIN = 8  # characters of `name:password` in base 64
_MOST_CREDENTIAL = 300  # characters that are looked at
_PATH = re.compile(r"(?:/[a-z0-9_.-]+){2,}/?")  # in base 64 capitals would stand among so many letters
_BLOCK = ("|", ">", "|-", ">-", "|+", ">+")


def masked(text: str) -> str:
    """Return *text* with `[masked]` in place of every secret found; doing it twice changes nothing more.

    All other characters stay as they are.
    """
    text = shapes.PRIVATE_KEY.sub(MASK, text)
    if "PRIVATE KEY" in text:
        text = shapes.KEY_END.sub(_on_each_line, text)
    text = masked_by_shape(shapes.KNOWN.sub(MASK, text), MASK)
    text = shapes.URL.sub(_user, text)
    for pattern in (shapes.HEADER, shapes.SCHEME, shapes.LOGIN, shapes.PIPED, shapes.KEY_LATER, shapes.KEY_LINE):
        text = pattern.sub(_behind, text)
    for pattern in (shapes.NAMED, shapes.CALL, shapes.OPTION, shapes.SET):
        text = "".join(_named(text, pattern))
    text = shapes.XML.sub(_if_named, text)
    for pattern in (shapes.SAID, shapes.TOKEN_LATER):
        text = pattern.sub(_if_like_one, text)
    return shapes.RANDOM.sub(_if_random, text)


def masked_lines(text: str) -> str:
    """Return *text* as `masked`, with as many lines as it has: a private key becomes a mask on each of its lines."""
    text = shapes.PRIVATE_KEY.sub(_on_each_line, text)
    whole = masked(text)
    if whole.count("\n") == text.count("\n"):
        return whole
    return "\n".join(masked(line) for line in text.split("\n"))


def _on_each_line(found: re.Match[str]) -> str:
    return "\n".join([MASK] * (found[0].count("\n") + 1))


def _behind(found: re.Match[str]) -> str:
    """Put the mask in place of the value, quotes and all else kept."""
    done = _is_done(found["value"]) or is_harmless("password", _unquoted(found["value"]))
    return found[0] if done else _with(found, _quoted(found["value"]))


def _named(text: str, head: re.Pattern[str]) -> Iterator[str]:
    """Yield the pieces of *text*, values of secret names masked; another value may hold names: `--export=A,TOKEN=…`."""
    done = 0
    for found in head.finditer(text):
        sure = is_secret(found["name"])
        if found.start() < done or not (sure or may_be_secret(found["name"])) or _is_path(text, found):
            continue
        if not sure and not _is_credential(text, found.end()):
            continue
        value = shapes.VALUE.match(text, found.end())
        if value is not None and value[0].startswith(MASK):
            yield text[done : found.end()] + MASK  # what follows may have names of its own: "&X-Amz-Signature=…"
            done = found.end() + len(MASK)
        elif value is not None:
            yield text[done : found.end()] + _value(found["name"], value[0])
            done = value.end()
    yield text[done:]


def _is_credential(text: str, at: int) -> bool:
    """Return whether the value there is one whatever its name: a long hexadecimal number, random letters, a login."""
    found = shapes.VALUE.match(text, at, at + _MOST_CREDENTIAL)
    value = found[0] if found is not None else ""
    plain = _unquoted(value[: len(value) - len(_kept(value))]) if value else ""
    if _PATH.fullmatch(plain):
        return False
    if shapes.CREDENTIAL.fullmatch(plain):
        return True
    try:
        return b":" in base64.b64decode(plain, validate=True) and len(plain) >= _LEAST_LOGIN
    except ValueError:
        return False


def _is_path(text: str, head: re.Match[str]) -> bool:
    """Return whether a file is spoken of: `/etc/passwd: Permission denied`."""
    return text[max(0, head.start() - 1) : head.start()] == "/" and "=" not in head[0]


def _value(name: str, value: str) -> str:
    """Return what may be shown of the value behind a secret's name."""
    kept = _kept(value)
    own = value[: len(value) - len(kept)]
    if _is_done(value) or any(is_harmless(name, _unquoted(one)) for one in (value, own)):
        return value
    return _quoted(own) + kept


def _if_named(found: re.Match[str]) -> str:
    return _with(found, _value(found["name"], found["value"])) if is_secret(found["name"]) else found[0]


def _kept(value: str) -> str:
    """Return the end of an unquoted value that is not its own: the next name, the brackets around it."""
    if value[0] in "\"'\\|>":
        return ""
    follows = shapes.NEXT.search(value)
    return value[follows.start() :] if follows else ""


def _if_like_one(found: re.Match[str]) -> str:
    """Mask what stands behind a secret's name in a sentence, if it looks like one."""
    value, name = found["value"], found["name"]
    plain = _unquoted(value).rstrip(".!?)")
    if _is_done(value) or is_harmless(name, plain):
        return found[0]
    told = is_password(name) and bool(found["verb"]) and (value[0] in "\"'" or plain.lower() not in shapes.SAYS)
    mixed = any(one.isdigit() for one in plain) and any(one.isalpha() for one in plain)
    return _with(found, _quoted(value)) if told or mixed and len(plain) >= _least(name) else found[0]


def _least(name: str) -> int:
    """Return how long a word of letters and digits behind *name* has to be: "token is 128k"."""
    return 5 if is_password(name) else 8


def _if_random(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 8) : found.start()].lower()
    if shapes.HASH.search(before) or shapes.HASH.match(found[0].lower()) or not _looks_random(found[0]):
        return found[0]
    return MASK


def _looks_random(word: str) -> bool:
    """Return whether small letters, capitals and digits follow each other as in random base 62, not as in a name."""
    piece = max(re.split(r"[^A-Za-z0-9]", word), key=len)
    kinds = [one.isdigit() + 2 * one.isupper() for one in piece]
    if len(piece) < 20 or len(set(kinds)) < 3 or piece.startswith(("ZN", "Z1", "Z2")):
        return False
    changes = [one != other for one, other in zip(kinds, kinds[1:], strict=False)].count(True)
    return changes >= 0.45 * (len(piece) - 1)


def _user(found: re.Match[str]) -> str:
    """Mask the password of a shapes.URL, and a user's name that is a token."""
    user = found["user"] if found["user"] is not None else found["alone"]
    shown = MASK if len(user) >= 16 and any(one.isdigit() for one in user) else user
    password = found["password"]
    if password is None:
        return f"{found['scheme']}{shown}@"
    shown_password = password if _is_done(password) or is_harmless("password", password) else MASK
    return f"{found['scheme']}{shown}:{shown_password}@"


def _with(found: re.Match[str], shown: str) -> str:
    """Return the match with *shown* in place of its value."""
    start, end = (place - found.start() for place in found.span("value"))
    return found[0][:start] + shown + found[0][end:]


def _quoted(value: str) -> str:
    """Return the mask in the quotes of *value*."""
    if "\n" in value:  # `|` and lines below it, or three quotes around several
        first, indent, *_ = re.split(r"\n([ \t]*)", value, maxsplit=1)
        return (first if first in _BLOCK else MASK) + ("\n" + indent + MASK) * value.count("\n")
    quote = next((one for one in ('\\"', '"', "'") if value.startswith(one)), "")
    return quote + MASK + (quote if len(value) > len(quote) and value.endswith(quote) else "")


def _is_done(value: str) -> bool:
    return value.lstrip("\\\"'").startswith(MASK)


def _unquoted(value: str) -> str:
    return value.strip("\\\"'").rstrip(",;)]}") if value[:1] not in "$`" else value
