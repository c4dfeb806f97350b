"""Which names say that their value is a secret, and which values behind such a name are none."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ALWAYS = ("password", "passwd", "passphrase", "passcode", "secret", "apikey", "authtoken", "accesstoken", "apitoken")
_PASSWORDS = ("password", "passwd", "passphrase", "passcode")
_ENDS = frozenset(
    (
        "pass",
        "pwd",
        "pw",
        "psw",
        "pat",
        "jwt",
        "secrets",
        "credential",
        "credentials",
        "passwords",
        "bearer",
        "cookie",
        "sig",
    )
)
_PRIVATE = frozenset(
    (
        "api", "access", "secret", "private", "auth", "encryption", "signing", "account", "master", "shared", "ssh",
        "license", "subscription", "service", "storage", "wandb", "session", "deploy", "app", "application", "admin",
        "openai", "anthropic", "client", "consumer", "host", "root", "user", "write", "management",
    )
)  # fmt: skip
# A token that is a piece of text; `tokens` is a number of them.
_OF_TEXT = frozenset(
    (
        "pad", "eos", "bos", "unk", "sep", "cls", "mask", "image", "special", "next", "new", "num", "stop", "start",
        "end", "first", "last", "per", "max", "min", "video", "audio", "prompt", "added", "extra", "placeholder", "box",
        "begin", "fake", "global", "class", "reg", "register", "think", "text", "word", "unexpected", "invalid", "each",
        "sample", "line", "boi", "eoi", "img", "vision", "user", "assistant", "system", "by", "of", "single", "default",
    )
)  # fmt: skip
_NO_SECRET = frozenset(
    (
        "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "str", "string", "int", "bool", "bytes",
        "any", "optional", "required", "missing", "empty", "unset", "default", "undefined", "expired", "invalid",
        "incorrect", "wrong", "todo", "changeme", "xxx", "redacted", "masked", "hidden", "stdin", "prompt", "ask",
        "auto",
    )
)  # fmt: skip
_FORMS = frozenset(("b", "base", "json", "yaml", "enc", "encoded", "raw", "hex", "pem", "plain", "value"))  # B64: b
_UNSURE = frozenset(("key", "keys", "auth", "authorization", "login", "apikeys"))
# A key by which data is found.
_OF_DATA = frozenset(
    (
        "cache", "sort", "primary", "foreign", "hash", "object", "content", "blob", "partition", "group", "index",
        "map", "dedup", "row", "column", "field", "routing", "public", "host", "fingerprint", "build", "config",
    )
)  # fmt: skip
_REFERENCE = re.compile(
    r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Za-z_]\w*(?::?[-?+=])?\}|\(.*|\{\{.*|[a-z_]*(?:token|key|pass|secret|cred)[a-z_]*)|`.*|"
    r"%[A-Z_]+%|\{\{?[\w. ]+\}?\}|<[^<>]*>|\[[A-Z_]+\]|\[masked\]|[\W_]+|"
    r"[A-Za-z_]\w*(?:\.\w+)*[(\[].*|(?:args|self|cfg|config|opts?|options|os|settings|params|kwargs|secrets)\.[\w.]+"
)
_PLAIN = re.compile(r"[a-z]{1,12}")  # "unexpected token: foo"
_PATH = re.compile(r"(?:~|\.{1,2}|\$\{?[A-Z]+\}?)?/[\w.~/+-]+")


def is_secret(name: str) -> bool:
    """Return whether a value of this name is nobody's business: `HF_TOKEN`, `db.password`, `AWS_CREDENTIALS_B64`."""
    words = _words(name)
    while len(words) > 1 and words[-1] in _FORMS:
        words.pop()
    if not words or words[0] == "no":  # --no-password
        return False
    joined, last, before = "".join(words), words[-1], words[-2] if len(words) > 1 else ""
    if joined.endswith(_ALWAYS) or (last in _ENDS and joined not in ("pwd", "oldpwd", "pass", "sig", "pat", "pw")):
        return joined not in ("bypass",)
    if last == "signature":
        return bool(words[0] == "x")  # of a signed URL: X-Amz-Signature
    if last.endswith("token"):
        return name.isupper() or before not in _OF_TEXT
    if last == "tokens":
        return before in _PRIVATE
    if last in ("key", "keys"):
        return before in _PRIVATE or (name.isupper() and last == "key" and "_" in name)
    if name in ("pwd", "Pwd", "pass", "sig", "_auth", "_authToken") or joined.endswith("accesskeyid"):
        return True
    return joined not in ("pwd", "oldpwd") and names().search(name) is not None


def may_be_secret(name: str) -> bool:
    """Return whether a value of this name is one where it looks like one: `key`, `"auth"`."""
    words = _words(name)
    return bool(words) and words[-1] in _UNSURE and (len(words) < 2 or words[-2] not in _OF_DATA)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name) if not word.isdigit()]


def is_password(name: str) -> bool:
    """Return whether a name says password, so that even a plain word behind it is one."""
    return name.lower().replace("_", "").endswith(_PASSWORDS)


def is_harmless(name: str, value: str) -> bool:
    """Return whether *value*, without its quotes, is no secret though *name* says so.

    A variable, a call, a placeholder, a type, a small count; for what may be a file, a path.
    """
    lower, words = value.lower(), [word.lower() for word in _WORD.findall(name)]
    if not value or lower in _NO_SECRET or _REFERENCE.fullmatch(value) or lower == name.lower():
        return True
    last = words[-1] if words else ""
    if words == ["pass"] and value.isdigit():  # "pass: 12, fail: 0"
        return True
    if last in ("credential", "credentials", "cookie", "pwd", "key", "pass") and _PATH.fullmatch(value):
        return last != "key" or "ssh" in words or "private" in words
    if last.endswith("token") or last == "secret":
        return bool(re.fullmatch(r"\d{1,5}|</?\w+/?>", value)) or (
            words == [last] and _PLAIN.fullmatch(value) is not None
        )
    return False


# Shapes of secrets that others maintain: those of detect-secrets, as data with its licence (`shapes/`, `make shapes`).
#
# A detector that is not taken has its reason here; what it would find is found all the same.

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes", "detect-secrets.json")
_BY_NAME = "what stands behind a name is masked by the name, whatever it looks like"
_BOUNDED = "its time grows with the square of the length; the pattern of our own is bounded"
NOT_TAKEN = {
    "ip_public": "an address tells which node, and is no secret",
    "private_key": "it finds the first line alone, ours the whole key",
    "basic_auth": "the password of an address is masked where it stands, and the rest is kept",
    "cloudant": _BY_NAME,
    "softlayer": _BY_NAME,
    "ibm_cloud_iam": _BY_NAME,
    "ibm_cos_hmac": _BY_NAME,
    "jwt": _BOUNDED,
    "npm": _BOUNDED,
    "openai": _BOUNDED,
}
_LEAST = 16  # characters of a group that is the secret itself, not a piece that tells its kind
# What a text has to hold before a pattern that begins with anything is tried: most texts hold none of it.
_HOLDS = {"artifactory": ("AKC", "AP"), "mailchimp": ("-us",), "stripe": ("k_live_",), "telegram_token": (":",)}


class Shape(NamedTuple):
    """*holds*: one of these stands in every text that has it, () where that is not known."""

    detector: str
    pattern: re.Pattern[str]
    holds: tuple[str, ...]


def masked_by_shape(text: str, mask: str) -> str:
    """Return *text* with *mask* in place of every secret that has one of the shapes."""
    for shape in shapes():
        if not shape.holds or any(literal in text for literal in shape.holds):
            text = shape.pattern.sub(lambda match: _without(match, mask), text)
    return text


@lru_cache(1)
def shapes() -> tuple[Shape, ...]:
    """Return those that are taken."""
    return tuple(Shape(name, pattern, _HOLDS.get(name, ())) for name, pattern in known() if name not in NOT_TAKEN)


def known() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield all that are in the file, with their detectors."""
    for row in _data()["shapes"]:
        flags = sum(flag for letter, flag in (("i", re.I), ("x", re.X)) if letter in row["flags"])
        yield row["detector"], re.compile(row["pattern"], flags)


@lru_cache(1)
def names() -> re.Pattern[str]:
    """Return what a name of a secret ends with, in any letters."""
    return re.compile("(?:%s)$" % "|".join(_data()["names"]), re.IGNORECASE)


@lru_cache(1)
def _data() -> dict:  # type: ignore[type-arg]
    with open(_FILE, encoding="utf-8") as file:
        data: dict = json.load(file)  # type: ignore[type-arg]
    return data


def _without(match: re.Match[str], mask: str) -> str:
    """Return a match without its secret: the longest group that can be one, else all but what stands around it."""
    group = max(range(len(match.groups()) + 1), key=lambda index: len(match[index] or "") if index else 0)
    start, end = match.span(group) if group and len(match[group] or "") >= _LEAST else match.span()
    core = match.string[start:end].strip(" \t\r\n\"'=:")
    random = any(letter.isdigit() for letter in core) and any(letter.isalpha() for letter in core)
    return match[0].replace(core, mask) if random else match[0]  # "APACHE": a word
