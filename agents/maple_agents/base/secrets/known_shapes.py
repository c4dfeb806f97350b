"""Shapes of secrets that others maintain: those of detect-secrets, as data with its licence (`shapes/`, `make shapes`).

A detector that is not taken has its reason here; what it would find is found all the same.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

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
        if not shape.holds or any(one in text for one in shape.holds):
            text = shape.pattern.sub(lambda found: _without(found, mask), text)
    return text


@lru_cache(1)
def shapes() -> tuple[Shape, ...]:
    """Return those that are taken."""
    return tuple(Shape(name, pattern, _HOLDS.get(name, ())) for name, pattern in known() if name not in NOT_TAKEN)


def known() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield all that are in the file, with their detectors."""
    for one in _data()["shapes"]:
        flags = sum(flag for letter, flag in (("i", re.I), ("x", re.X)) if letter in one["flags"])
        yield one["detector"], re.compile(one["pattern"], flags)


@lru_cache(1)
def names() -> re.Pattern[str]:
    """Return what a name of a secret ends with, in any letters."""
    return re.compile("(?:%s)$" % "|".join(_data()["names"]), re.IGNORECASE)


@lru_cache(1)
def _data() -> dict:  # type: ignore[type-arg]
    with open(_FILE, encoding="utf-8") as file:
        data: dict = json.load(file)  # type: ignore[type-arg]
    return data


def _without(found: re.Match[str], mask: str) -> str:
    """Return a match without its secret: the longest group that can be one, else all but what stands around it."""
    group = max(range(len(found.groups()) + 1), key=lambda one: len(found[one] or "") if one else 0)
    start, end = found.span(group) if group and len(found[group] or "") >= _LEAST else found.span()
    core = found.string[start:end].strip(" \t\r\n\"'=:")
    random = any(one.isdigit() for one in core) and any(one.isalpha() for one in core)
    return found[0].replace(core, mask) if random else found[0]  # "APACHE": a word
