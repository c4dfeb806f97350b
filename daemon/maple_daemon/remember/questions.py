"""What the process that reads is asked."""

from __future__ import annotations

import json
import struct
from typing import NamedTuple, Optional

SIZES = struct.Struct(">III")  # of the request, of the decision, and of the list of parts


class Question(NamedTuple):
    """*decision*: as `packing` packs it, b"" for none. *wanted*: hashes of parts to read, None: tell what it is."""

    frame: bytes
    decision: bytes = b""
    wanted: Optional[tuple[str, ...]] = None


def pack(question: Question) -> bytes:
    """Return the question as bytes."""
    wanted = json.dumps(question.wanted).encode()
    sizes = SIZES.pack(len(question.frame), len(question.decision), len(wanted))
    return sizes + question.frame + question.decision + wanted
