"""What an entry of the knowledge base says: by which words a cause is known, what confirms it, what cures it.

The stable names of causes and of kinds of fixes: programs may rely on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, Union

from pydantic import Field, field_validator

from ...base.tables import Part, Table
from .conditions import Wanted, checked

CLASSES = (
    "port_in_use", "rendezvous_timeout_master_unreachable", "early_expanded_rank_variable", "wrong_world_size_or_rank",
    "hostname_resolution", "wrong_network_interface", "nccl_init_or_transport",
    "nccl_timeout_due_to_straggler_or_crash_elsewhere", "gpu_oom", "host_oom", "shm_too_small", "memlock_limit",
    "disk_quota_or_full", "permission_denied", "ccl_fabric_provider", "cuda_driver_mismatch", "cuda_arch_unsupported",
    "missing_python_module", "wrong_interpreter_or_env", "missing_shared_library", "glibc_mismatch",
    "package_version_conflict", "compiler_or_cuda_home_missing", "module_not_found", "launcher_not_found",
    "launcher_bad_option", "file_not_found", "data_or_config_error", "code_error", "shared_filesystem_race",
    "hub_offline_or_gated", "time_limit", "preempted_or_requeued", "terminal_hangup", "node_failure_hardware",
    "srun_step_request", "srun_cpu_binding", "invalid_partition_account_qos", "mpi_pmi_mismatch",
    "mpi_not_enough_slots", "backend_unsupported_on_hardware", "deepspeed_hostfile_or_ssh", "accelerate_config",
    "container_error", "dos_line_endings", "cancelled_by_user", "resource_limit", "none", "unknown",
)  # fmt: skip
# none: the job succeeded; unknown: the logs do not show the cause; cancelled_by_user: somebody ended it;
# resource_limit: too many open files, processes or threads.

FIX_KINDS = (
    "script_env", "script_launch_line", "script_directive", "user_code", "environment_install", "admin_or_hardware",
    "resubmit", "unknown",
)  # fmt: skip

COMPARED = re.compile(r"\{(\w+)\} (<|>|<=|>=|!=) \{(\w+)\}")  # numbers that an entry's expression caught

Role = Literal["cause", "symptom", "follows", "harmless"]
Weight = Literal["strong", "fair", "weak"]
Condition = dict[str, Wanted]


class Remedy(Table):
    """What to do. *kind*: one of `causes.FIX_KINDS`. *says* and *steps* may name what the signature caught: `{port}`.

    *how*: the name of a typed fix in `maple_agents/debug/fixes/`, "" where only people can do it; *give*: its
    arguments. *when*: conditions as in `needs`; the first remedy that holds is taken.
    """

    kind: str
    says: Annotated[str, Field(min_length=1)]
    steps: list[str] = []
    how: str = ""
    give: dict[str, Union[str, int, float]] = {}
    when: Condition = {}

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in FIX_KINDS:
            raise ValueError("no such kind of fix; there are %s" % ", ".join(FIX_KINDS))
        return kind

    @field_validator("when")
    @classmethod
    def _condition(cls, condition: Condition) -> Condition:
        return checked(condition)


class Said(Table):
    """Another sentence for a cause, where *when* holds."""

    when: Condition
    says: Annotated[str, Field(min_length=1)]

    @field_validator("when")
    @classmethod
    def _condition(cls, condition: Condition) -> Condition:
        return checked(condition)


class Entry(Table):
    """One cause, and how it shows.

    *cause*: the class. *role*: "cause", what must be changed for the job to run; "symptom", a sign that is a cause only
    where nothing explains it; "follows", what a process says when another one died, never a cause; "harmless",
    frightening words of good runs. *match*: regular expressions, searched in each line of an event; any of them is
    enough. Named groups may be used in *says*. *where*: numbers that they caught are compared,
    "{joined} > {world}"; all must hold. Without *match* the entry is known by *needs* alone (a job that hung in
    silence). *without*: regular expressions; an event in which one is found is not meant. *exception*, *frame*: the
    event is a traceback of one of these exceptions (regular expression on the name), whose innermost frame is of "user"
    or "library". *weight*: how much the words alone say. *needs*: all must hold. *confirms*: each that holds makes it
    likelier. *excludes*: any that holds rules it out. *explains*: ids or classes of entries that are its consequences:
    those are then cascade. *said*: in place of *says*, the first whose condition holds: a sentence claims of a job only
    what its log's words or a condition show.
    """

    cause: str
    role: Role = "cause"
    says: Annotated[str, Field(min_length=1)]
    why: str = ""
    said: list[Said] = []
    match: list[str] = []
    without: list[str] = []
    where: list[str] = []
    exception: str = ""
    frame: Literal["", "user", "library"] = ""
    weight: Weight = "strong"
    needs: Condition = {}
    confirms: list[Condition] = []
    excludes: list[Condition] = []
    explains: list[str] = []
    fixes: list[Remedy] = []
    sources: Annotated[list[str], Field(min_length=1)]

    @field_validator("cause")
    @classmethod
    def _known(cls, cause: str) -> str:
        if cause not in CLASSES:
            raise ValueError("no such cause; the classes stand in debug/causes.py")
        return cause

    @field_validator("match", "without")
    @classmethod
    def _expressions(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            _compiles(pattern)
        return patterns

    @field_validator("where")
    @classmethod
    def _comparisons(cls, comparisons: list[str]) -> list[str]:
        for comparison in comparisons:
            if COMPARED.fullmatch(comparison) is None:
                raise ValueError("%r compares no two numbers that were caught" % comparison)
        return comparisons

    @field_validator("needs")
    @classmethod
    def _condition(cls, condition: Condition) -> Condition:
        return checked(condition)

    @field_validator("confirms", "excludes")
    @classmethod
    def _conditions(cls, conditions: list[Condition]) -> list[Condition]:
        return [checked(condition) for condition in conditions]


class Meaning(Table):
    """What a class of causes means in a sentence, where no entry says more, and whether running the same job again
    may help: *again*, and *because*.
    """

    says: Annotated[str, Field(min_length=1)]
    again: Literal["no", "perhaps", "yes"]
    because: Annotated[str, Field(min_length=1)]


class Family(Part):
    """A file of the knowledge base: entries that belong together, by their ids; lists that entries of any file share,
    by their names: "@name" stands for one in `match`, `without`, `explains` and in the lists of conditions; what
    classes mean.
    """

    entry: dict[str, Entry] = {}
    classes: dict[str, Meaning] = {}
    groups: dict[str, list[str]] = {}


def _compiles(pattern: str) -> None:
    """Parse only: to compile two thousand expressions takes longer than to read a log. Tests compile each."""
    try:
        literals(pattern)
    except re.error as error:
        raise ValueError("%r is no regular expression: %s" % (pattern, error)) from None


# Pieces of text that every match of a regular expression holds: a search for them is cheap, one for it is not.

SHORTEST = 4  # letters of a literal that is worth searching for in a line
_ANY_CASE = re.compile(r"\(\?[a-zA-Z]*i")


@cache
def literals(pattern: str) -> frozenset[str]:
    """Return literals one of which stands in every text that *pattern* matches; none where that cannot be promised.

    Raises `re.error` where the pattern is no regular expression.
    """
    from re import _parser as parser  # type: ignore[attr-defined]  # of CPython 3.11 and later

    return frozenset(_best(list(parser.parse(pattern))) or ()) if not _ANY_CASE.search(pattern) else frozenset()


def _best(tree: list[Any]) -> set[str] | None:
    """Return the choice whose shortest literal is longest; None: nothing can be promised."""
    choices = [choice for choice in _choices(tree) if choice and min(map(len, choice)) >= SHORTEST]
    return max(choices, key=lambda choice: (min(map(len, choice)), -len(choice)), default=None)


def _choices(tree: list[Any]) -> Iterator[set[str]]:
    text = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            text += chr(argument)
            continue
        if text:
            yield {text}
            text = ""
        yield from _inside(name, argument)
    if text:
        yield {text}


def _inside(name: str, argument: Any) -> Iterator[set[str]]:
    if name == "SUBPATTERN":
        best = _best(list(argument[-1]))
    elif name == "BRANCH":
        parts = [_best(list(one)) for one in argument[1]]
        best = set().union(*(part or set() for part in parts)) if all(parts) else None
    elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[0] >= 1:
        best = _best(list(argument[2]))
    elif name == "ATOMIC_GROUP":
        best = _best(list(argument))
    else:
        best = None
    if best:
        yield best
