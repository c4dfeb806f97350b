"""Small questions about agents: what they were told, and where they would meet."""

from __future__ import annotations

from typing import Dict, Optional, Sequence

from ..play.scene import Agent, Start
from ..types.text import Text

LOCAL = (b"localhost", b"127.0.0.1", b"::1", b"0.0.0.0", b"localhost.localdomain", b"ip6-localhost")


def is_local(text: Optional[Text]) -> bool:
    """Return whether an address means the machine that uses it."""
    return text is not None and (text.raw.lower() in LOCAL or (text.literal and text.raw.startswith(b"127.")))


def agent_of(start: Start) -> Agent:
    """Return the agent of a start that has one."""
    assert start.agent is not None
    return start.agent


def meeting_id(agent: Agent) -> Optional[bytes]:
    """Return the name of an agent's meeting; a static one has none."""
    return raw_of(agent.run_id) if agent.backend != b"static" else b""


def raw_of(text: Optional[Text]) -> Optional[bytes]:
    """Return the bytes of a text, None for none."""
    return text.raw if text is not None else None


def same(values: Sequence[Optional[int]]) -> Optional[int]:
    """Return the value that all have, None where they differ."""
    return values[0] if values and len(set(values)) == 1 else None


def per_node(part: Sequence[Start]) -> Dict[Optional[int], int]:
    """Return how many start on each node."""
    out: Dict[Optional[int], int] = {}
    for start in part:
        out[start.place.node] = out.get(start.place.node, 0) + 1
    return out


def wanted_by(part: Sequence[Start]) -> Optional[int]:
    """Return how many agents the meeting waits for, None where they were told different or elastic numbers."""
    counts = {agent_of(start).nnodes for start in part}
    only = next(iter(counts)) if len(counts) == 1 else None
    return only[0] if only else None
