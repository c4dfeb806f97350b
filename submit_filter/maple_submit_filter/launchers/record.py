"""What a launcher is, in one record: its names, whose program it is, its options, what it sets, how it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Optional, Pattern, Tuple

if TYPE_CHECKING:
    from ..play.scene import Launch
    from .grammar import Table


class AgentOptions(NamedTuple):
    """How an agent (it starts the ranks of a node and lets them meet) is told; options by their long names, "" none.

    How many *nodes*, how many *ranks* (*total_ranks*: of all nodes), which node this is; *spelled_node_rank*: the last
    one as its own documentation spells it. *port*: of the master, *port_unsaid* where nobody says it. *module* and
    *no_python*: that a module, or no Python script, follows; *takes_m*: `-m` says the former too. *to_join*: what to
    tell agents that each form a world of their own node. *standalone*: its option for such a world; *endpoint*: where
    agents agree on ranks themselves. *layout*: every option that says how ranks are laid out and meet. *numbers*: those
    whose value is a number; *ranged_nodes*: `1:4` counts nodes; *named_ranks*: `gpu` and its like count ranks;
    *one_unsaid*: it starts one rank where no number is said. *hosts_by_file*: a file of hosts says how many nodes, the
    option does not. *misplaced*: what begins its options, and seldom one of a program's own, behind the program.
    """

    nodes: str
    ranks: str
    node_rank: str
    spelled_node_rank: bytes
    port: str
    port_unsaid: bytes
    module: bytes
    no_python: bytes
    to_join: str
    layout: Tuple[str, ...]
    numbers: Tuple[str, ...]
    total_ranks: bool = False
    takes_m: bool = True
    standalone: str = ""
    endpoint: str = ""
    ranged_nodes: bool = False
    named_ranks: bool = False
    one_unsaid: bool = False
    hosts_by_file: bool = False
    misplaced: bytes = b""

    def spelled(self, option: str) -> str:
        """Return an option as the agent's own documentation spells it: with dashes, or with underscores."""
        return option.replace("-", "_") if b"_" in self.spelled_node_rank else option


class RankWords(NamedTuple):
    """Names of variables: of the rank, the local rank, the node (where each has one task), the number of tasks.

    b"" where the launcher has none.
    """

    rank: bytes
    local: bytes
    node: bytes
    tasks: bytes


class Launcher(NamedTuple):
    """One launcher. *name*: in plans and sentences. *starts*: by each name it is called with, what starts it.

    *family*: whose program it is (`program_owner`), "" where no rule relies on that. *called*: how site files,
    templates and people call it, its own name first; *typed*: how people type it where that is longer. *modules*:
    behind `python -m`, by the name that this is then called by. *table*: its options where they are data. *agent*: None
    for what is no agent. *outer*: it starts a process for each task of the job, and so an agent on each node. *words*:
    the variables in which a task finds its numbers. *steered*: variables of its environment that lay out its ranks, and
    that nobody here reads. *own_hosts*: it is told hosts, starts ranks there and lets them meet without torch's
    variables. *reads_job*: where its line says no number of tasks, the job's holds.
    """

    name: str
    starts: Mapping[bytes, Launch]
    family: str = ""
    called: Tuple[str, ...] = ()
    typed: bytes = b""
    modules: Mapping[bytes, bytes] = {}
    table: Optional[Table] = None
    agent: Optional[AgentOptions] = None
    outer: bool = False
    words: Optional[RankWords] = None
    steered: Optional[Pattern[bytes]] = None
    own_hosts: bool = False
    reads_job: bool = True
