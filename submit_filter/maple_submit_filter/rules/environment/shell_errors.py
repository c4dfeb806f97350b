"""Whether a script ends at the first command that fails."""

from __future__ import annotations

import re

_SET = rb"(?m)^(?:#![^\n]*[ \t]-\w*e\w*|[^#\n]*\bset[ \t]+(?:-\w+[ \t]+)*-(?:\w*e\w*|\w*o[ \t]+errexit))(?=\s|$|;)"


def ends_at_errors(source: bytes) -> bool:
    """Return whether a `set -e`, or a first line with -e, stands in a script; in which shell is not looked at."""
    return b"-" in source and re.search(_SET, source) is not None
