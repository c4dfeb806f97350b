"""What lines say that look like directives and are not read."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from .schedulers.options import read_options
from .schedulers.sbatch_options import SBATCH

_HEAD = re.compile(rb"[ \t]*#[ \t]*[A-Za-z]{5,7}[ \t]*")


def said_on(line: bytes) -> Iterator[Tuple[str, bytes]]:
    """Yield (long name, words) of each option on a line such as `# SBATCH --time=1:00:00`; none where it has quotes."""
    match = _HEAD.match(line)
    words = (line[match.end() :] if match else b"").split(b" #")[0].split()
    if any(quote in line for quote in (b'"', b"'", b"\\")):
        return
    for one in read_options(SBATCH, words, 0).said:
        yield one.name, b" ".join(words[one.at : one.at + one.words])
