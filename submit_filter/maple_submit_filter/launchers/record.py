"""What an agent is, in one record: a launcher that starts the ranks of a node and lets them meet."""

from __future__ import annotations

from typing import NamedTuple, Tuple


class AgentRecord(NamedTuple):
    """*name*: in plans and sentences. *typed*: how people type it. *modules*: behind `python -m`.

    Then its options, by their long names: how many nodes, how many ranks, which node this is; "" where it has none.
    *spelled_node_rank*: the last one as its own documentation spells it.
    """

    name: str
    typed: bytes
    called: Tuple[bytes, ...]
    modules: Tuple[bytes, ...]
    nodes: str
    ranks: str
    node_rank: str
    spelled_node_rank: bytes
