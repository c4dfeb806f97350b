"""The comment that ends a submitted copy tells of that submission; in a new copy it would tell a lie."""

from __future__ import annotations

import re

_FOOTER = re.compile(rb"# maple: repaired \([^\n]*\); record [^\n]*; original sha256 [0-9a-f]+; MAPLE=off [^\n]*\n?\Z")


def without_footer(script: bytes) -> bytes:
    """Return a script without the comment that Maple put behind its last line."""
    found = _FOOTER.search(script)
    if found is None or script[: found.start()].rpartition(b"\n")[2]:
        return script
    return script[: found.start()]
