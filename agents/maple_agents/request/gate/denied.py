"""What the words take out, wherever they stand: a file system that is not needed, and training over processes.

Where the words deny what a reading took, the reading is wrong; where they deny what would be guessed, the guess is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..language.vocabulary import pattern, texts

_WORDS = texts("denied")
_DISTRIBUTION = re.compile("(?i)" + pattern(_WORDS["distribution"]))


def systems(text: str, names: Sequence[str]) -> frozenset[str]:
    """Return those of *names*, file systems, that each mention in *text* denies: "home is not needed any more"."""
    return frozenset(name for name in names if _is_denied(name, " ".join(text.split())))


def _is_denied(name: str, text: str) -> bool:
    own = r"(?<![\w/$.-])%s(?![\w/-])" % re.escape(name)
    every = len(re.findall("(?i)" + own, text))
    ahead = r"(?<!\w)%s %s" % (pattern(_WORDS["before"]), own)
    denied = r"(?i)(?:%s|%s (?=%s))" % (ahead, own, pattern(_WORDS["behind"]))
    return 0 < every == len(re.findall(denied, text))


def distribution(text: str) -> str:
    """Return the words by which *text* says that nothing is distributed, "" where none does: "no distributed stuff"."""
    match = _DISTRIBUTION.search(text)
    return match[0] if match is not None else ""
