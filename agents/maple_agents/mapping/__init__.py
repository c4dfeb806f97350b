"""Ranks against the hardware: who talks to whom, over which links, and what another order would cost."""

from __future__ import annotations

import re

_ABOUT = re.compile(
    rb"paralle|cpu[-_]bind|taskset|numactl|NCCL_|[-_.](?:tp|pp|ep|cp)\b|(?:tp|pp|ep|cp)[-_](?:size|degree)"
)


def about(script: bytes) -> bool:
    """Return whether a script says anything that could be judged here: the rest of the package need not be loaded."""
    return _ABOUT.search(script) is not None
