"""The comment that ends a submitted copy tells of that submission; in a new copy it would tell a lie."""

from __future__ import annotations

import re

_FOOTER = re.compile(rb"# maple: repaired \([^\n]*\); record [^\n]*; original sha256 [0-9a-f]+; MAPLE=off [^\n]*\n?\Z")
_BESIDE = re.compile(  # a --wrap command, of one line
    rb"(\S) # maple: repaired \([^\n()]*\); record [0-9a-f]{16}; original sha256 [0-9a-f]{64};"
    rb" MAPLE=off sbatch \.\.\. submits as written(\n?)\Z"
)


def without_footer(script: bytes) -> bytes:
    """Return a script without the comment that Maple put behind its last line."""
    found = _FOOTER.search(script)
    if found is None or script[: found.start()].rpartition(b"\n")[2]:
        return _BESIDE.sub(rb"\1\2", script)
    return script[: found.start()]
