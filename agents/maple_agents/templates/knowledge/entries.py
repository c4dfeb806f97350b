"""What an entry of the knowledge base says: by which words a cause is known, on what conditions, what cures it.

Each key is a fact, each value what it must be: a word or number (equal; of a fact with several values, one of them), a
list (one of these), a string ">1", "<=4", "!=x" (compared), "~pattern" (a regular expression is found in it), true or
false. All keys must hold. A fact that is not known makes a condition neither true nor false: it then confirms nothing,
excludes nothing and does not fulfil a need. The names of causes and of kinds of fixes stay: programs rely on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, NamedTuple, Union

from ...base.expressions import needed

Fact = Union[str, int, float, bool, tuple[str, ...], None]
Wanted = Union[bool, int, float, str, list[Union[str, int]]]

NAMES = {
    "job.state": "how it ended: a word of `job_records.STATES`",
    "job.exit_code": "0 to 255",
    "job.signal": "the signal that ended it",
    "job.reason": "the scheduler's own words",
    "job.elapsed": "seconds it ran",
    "job.left": "seconds between its end and its time limit",
    "job.memory": "bytes asked for on a node",
    "job.memory_share": "the most that was used, as a share of what was asked for",
    "job.restarts": "how often it was started anew",
    "log.events": "how many events stand in the logs",
    "log.errors": "events that sound like an error",
    "log.lines": "lines in all logs",
    "log.ordinary": "lines that are no part of an event",
    "log.progress": "lines that tell of training going on",
    "log.ended_well": "true: near its end the log says that all is done",
    "log.silent": "true: logs were read, and say next to nothing (no error, no progress)",
    "log.ranks": "how many ranks said anything",
    "log.world": "how many ranks there must have been, by the highest that said anything",
    "log.doubled": "true: two processes say that they are the same rank, and another rank says nothing",
    "log.absent": "true: a log tells of fewer tasks than its processes say that they are",
    "log.frozen": "true: a log shows one node rank that was put in before it went to several nodes",
    "log.missing": "true: no log could be read",
    "signs": "ids of the entries whose words were found, and their classes",
    "findings": "codes of the rules that find the script contradicted (proven ones)",
    "advice": "codes of the rules that only advise",
    "plan.nodes": "nodes of the allocation",
    "plan.world": "processes of the greatest world that would start",
    "plan.launchers": "names of the launchers in the script",
    "plan.backend": "the backend that the script names",
    "site.id": "the site",
    "site.scheduler": "slurm or pbs",
    "site.vendor": "nvidia, amd or intel: of the GPUs where the job ran",
    "script.text": "the whole script, for ~patterns",
    "script.endings": "dos where lines end with carriage returns",
    "job.set": "environment variables that the script, what it was submitted with, or the log gives a value",
    "event.frame": "the file of the innermost frame of the user's own code",
    "event.innermost": "the file of the innermost frame, whoever's it is",
    "event.behind": "ordinary lines of the same file after the event",
    "event.count": "how often it was said",
    "event.ranks": "by how many ranks it was said",
}

_COMPARED = re.compile(r"(>=|<=|>|<|!=)\s*(.+)\Z", re.S)
_BY: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def checked(condition: dict[str, Wanted]) -> dict[str, Wanted]:
    """Return *condition*. Raises `ValueError` where it names a fact that there is not, or holds no expression."""
    for name, wanted in condition.items():
        if name not in NAMES:
            raise ValueError("no such fact: %s" % name)
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(value, str) and value.startswith("~"):
                try:
                    re.compile(value[1:])
                except re.error as error:
                    raise ValueError("%s: %r is no regular expression: %s" % (name, value, error)) from None
    return condition


def holds(condition: Mapping[str, Wanted], facts: Mapping[str, Fact]) -> bool | None:
    """Return whether all of *condition* holds: False where one fact says no; else None where one is not known."""
    answers = [_one(wanted, facts.get(name)) for name, wanted in condition.items()]
    if False in answers:
        return False
    return None if None in answers else True


def _one(wanted: Wanted, fact: Fact) -> bool | None:
    if fact is None:
        return None
    if isinstance(wanted, list):
        return any(_one(value, fact) for value in wanted)
    if isinstance(fact, tuple):
        return _among(wanted, fact)
    if isinstance(wanted, bool) or isinstance(fact, bool):
        return wanted is fact
    if isinstance(wanted, str):
        return _text(wanted, fact)
    return wanted == fact


def _among(wanted: Wanted, fact: tuple[str, ...]) -> bool:
    """`!=x` holds where no value is x; all else where one value is as wanted."""
    if isinstance(wanted, str) and wanted.startswith("!="):
        return wanted[2:].strip() not in fact
    return any(_one(wanted, value) for value in fact)


def _text(wanted: str, fact: str | int | float) -> bool:
    if wanted.startswith("~"):
        return re.search(wanted[1:], str(fact)) is not None
    compared = _COMPARED.match(wanted)
    if compared is None:
        return wanted == str(fact)
    if compared[1] == "!=":
        return compared[2] != str(fact)
    try:
        return _BY[compared[1]](float(fact), float(compared[2]))
    except ValueError:
        return False


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
FAILURES = frozenset(CLASSES) - {"none", "unknown"}
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


class Remedy(NamedTuple):
    """What to do. *kind*: one of `FIX_KINDS`. *says* and *steps* may name what the signature caught: `{port}`.

    *how*: the name of a typed fix in `diagnose/fix/kinds/`, "" where only people can do it; *give*: its
    arguments. *when*: conditions as in `needs`; the first remedy that holds is taken.
    """

    kind: str
    says: str
    steps: list[str] = []
    how: str = ""
    give: dict[str, Union[str, int, float]] = {}
    when: Condition = {}


class Wording(NamedTuple):
    """Another sentence for a cause, where *when* holds."""

    when: Condition
    says: str


class Entry(NamedTuple):
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
    says: str
    sources: list[str]
    role: Role = "cause"
    why: str = ""
    said: list[Wording] = []
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


class Meaning(NamedTuple):
    """What a class of causes means in a sentence, where no entry says more, and whether running the same job again
    may help: *again*, and *because*.

    *names*: expressions whose groups catch what the lines of such a failure name, whatever entry knew it: `port`,
    `wanted_glibc`. *script*: expressions on the lines of a script that have a say in it, the likeliest first.
    """

    says: str
    again: Literal["no", "perhaps", "yes"]
    because: str
    names: list[str] = []
    script: list[str] = []


SHORTEST = 4  # letters of a literal that is worth searching for in a line
_ANY_CASE = re.compile(r"\(\?[a-zA-Z]*i")


@cache
def literals(pattern: str) -> frozenset[str]:
    """Return literals one of which stands in every text that *pattern* matches; none where that cannot be promised.

    Of an expression that ignores case they are in small letters, and stand in the text so (`str.casefold`). Raises
    `re.error` where the pattern is no regular expression.
    """
    if _ANY_CASE.search(pattern) and not ignores_case(pattern):
        return frozenset()  # in parts of it alone
    words = needed(pattern, 0, SHORTEST)
    return frozenset(word.casefold() for word in words) if ignores_case(pattern) else words


def ignores_case(pattern: str) -> bool:
    """Return whether the whole of an expression ignores case."""
    return pattern.startswith("(?i)")
