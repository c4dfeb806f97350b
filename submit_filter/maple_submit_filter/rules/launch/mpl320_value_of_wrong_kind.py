"""Values that a launcher's own parser refuses."""

from __future__ import annotations

import re
from typing import Iterator, Mapping, Optional, Sequence, Tuple

from ...cures.launch_edits import replacements
from ...launchers.option_table import BOOL, FLOAT, INT
from ...launchers.record import AgentOptions
from ...launchers.registry import AGENTS
from ...play.expansion import NODE_LIST
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, Origin, Setting
from ...types.launch_plan import LaunchPlan, Link, Option, Step
from ...types.text import NUL, Text
from .. import rule
from ..spelling import nearest

CODE = "MPL320"
_NUMBER = re.compile(rb"\s*[+-]?\d+(?:_\d+)*\s*")
# gpu, cpu, auto, and the name of any backend (torch 2.13.0); of these words none is one
_WORKERS = re.compile(_NUMBER.pattern + rb"|(?!(?:all|any|max|none|gpus|cuda|node)\Z)[a-z]+\d?")
_EVERY_GPU = (b"all", b"gpus", b"cuda", b"max")
_RANGE = re.compile(rb"\d+(?::\d+)?")
_OF_NODES = frozenset(agent.nodes for agent in AGENTS.values())
_JOB = b"\0job\0"  # the job id, a number under Slurm
_NAMES = (b"\0host:", b"\0addr:", b"\0name:")
_COUNTED = re.compile(rb"(?:[\w.-]+:)+(\d+)(?:\(\S*\))?|(\d+)\(x\d+\)")  # a100:4, and 4(x2) as Slurm counts


# Words that an option takes and its parser lets pass: torch 2.13, accelerate 1.15, deepspeed 0.18; srun by srun(1).
CHOICES: Mapping[str, Mapping[str, str]] = {
    "torchrun": {"rdzv-backend": "static c10d etcd etcd-v2"},
    "accelerate": {
        "rdzv-backend": "static c10d etcd etcd-v2",
        "zero-stage": "0 1 2 3",
        "deepspeed-multinode-launcher": "standard pdsh openmpi mvapich mpich slurm nossh impi",
        "offload-optimizer-device": "none cpu nvme",
        "offload-param-device": "none cpu nvme",
    },
    "deepspeed": {"launcher": "pdsh openmpi mvapich mpich impi slurm"},
    "srun": {
        "mpi": "none pmi2 pmix pmix_v1 pmix_v2 pmix_v3 pmix_v4 pmix_v5 cray_shasta list pmi1 hpe_shasta openmpi",
        "kill-on-bad-exit": "0 1",
        "wait-all-nodes": "0 1",
    },
    "mpiexec": {  # Open MPI 4.1 and 5, MPICH 4.0, Intel MPI: before any colon
        "bind-to": "none core hwthread cpu socket package numa board machine rr default user cluster group l1cache"
        " l2cache l3cache l4cache l5cache cpu-list gpu pci ib en eth hfi",
        "map-by": "slot node fill core hwthread cpu socket package numa board machine l1cache l2cache l3cache l4cache"
        " l5cache ppr seq dist mindist rankfile pe-list gpu pci ib en eth hfi",
        "rank-by": "slot node fill span core hwthread socket package numa board l1cache l2cache l3cache",
    },
}
_SAME = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "none": "no", "nccl": "c10d", "gloo": "c10d"}
_ADDRESSES = ("rdzv-endpoint", "master-addr", "main-process-ip")
_UNEXPANDED = re.compile(rb"\$[A-Za-z_{(]|`")
_OF_KIND: Mapping[str, "re.Pattern[bytes]"] = {  # as int(), float() and accelerate's str_to_bool() read
    INT: _NUMBER,
    FLOAT: re.compile(rb"(?i)\s*[+-]?(?:\d[\d_]*\.?\d*|\.\d+|inf(?:inity)?|nan)(?:e[+-]?\d+)?\s*"),
    BOOL: re.compile(rb"(?i)y|yes|t|true|on|1|n|no|f|false|off|0"),
}
_BY_PLAN = (
    "ntasks",
    "ntasks-per-node",
    "cpus-per-task",
    "n",
    "np",
    "c",
)  # the plan itself finds that srun refuses them
_WANTED = {INT: "a whole number", FLOAT: "a number", BOOL: "true or false"}


@rule("MPL320", "a launcher's option gets a value that it refuses")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Launchers take numbers where they count, and some variables of the scheduler hold more than a number.

    Wrong: #SBATCH --gpus-per-node=a100:4 ... torchrun --nproc-per-node=$SLURM_GPUS_PER_NODE (it is a100:4)
    Wrong: torchrun --nnodes=$SLURM_JOB_NODELIST, or --nproc-per-node=$SLURM_TASKS_PER_NODE (it is 4(x2))
    Wrong: torchrun --rdzv_backend=nccl; accelerate launch --mixed_precision=float16; srun --mpi=mpich
    Wrong: torchrun --nproc-per-node=all; torchrun --max-restarts=never; deepspeed --master_port=auto; srun --time=2h
    Wrong: torchrun --rdzv_endpoint='$MASTER_ADDR:29500': between single quotes nothing is expanded
    Wrong: torchrun --master_addr=$PBS_NODEFILE, which is a file
    Right: torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4
    Why:   each launcher ends at once: error: argument --nnodes: invalid value, or: Unsupported nproc_per_node value.
    """
    for step in plan.steps:
        if not step.maybe:
            yield from _of_no_kind(step, job)
        agent = AGENTS.get(step.links[-1].name) if step.links and not step.maybe else None
        kinds = _kinds(agent) if agent is not None else None
        for option in step.links[-1].options if kinds else ():
            finding = _finding(step, option, kinds, plan, job) if kinds else None
            if finding is not None:
                yield finding


def _of_no_kind(step: Step, job: Job) -> Iterator[Finding]:
    """Yield of values that are none of an option's few words, or that a shell was to expand and none does."""
    for link in step.links:
        numbers = tuple(_kinds(AGENTS[link.name])) if link.name in AGENTS else _BY_PLAN
        if link.name == "srun":
            yield from _refused_by_srun(link, step)
        for option in link.options:
            value = option.value
            if value is None or not value.raw or value.open:
                continue
            words = _words_of(link, option)
            at = option.value_span or option.span or link.name_span or step.span
            shown = value.raw.decode("utf-8", "replace")
            if value.literal and words and re.split("[,:=]", shown.lower())[0] not in words:
                yield Finding(CODE, "%s is no value of --%s that %s has" % (shown, option.name, link.name), at,
                              fixes=_word_for(option, words, job), help="it takes %s" % ", ".join(words))  # fmt: skip
            elif option.kind in _OF_KIND and option.name not in numbers and _of_another_kind(option):
                yield Finding(CODE, "%s is no value of --%s that %s has" % (shown, option.name, link.name), at,
                              help="it takes " + _WANTED[option.kind])  # fmt: skip
            elif option.name in _ADDRESSES and _UNEXPANDED.match(value.raw):
                yield Finding(CODE, "--%s is %s as it is written: nothing expands it" % (option.name, shown), at,
                              fixes=_in_double_quotes(value, job.source),
                              help="double quotes, in which the shell expands it")  # fmt: skip
            elif option.name in _ADDRESSES and value.raw.startswith((b"\0nodefile", b"/")):
                yield Finding(CODE, "--%s is the name of a file, and no host" % option.name, at,
                              help="its first line is a host: $(head -n 1 $PBS_NODEFILE)")  # fmt: skip


def _in_double_quotes(value: Text, source: bytes) -> Tuple[Fix, ...]:
    """Return what has the shell expand a word in single quotes, wherever in the script the value comes from."""
    for piece in value.pieces:
        start, end = piece.start - 1, piece.start + len(piece.text)
        stands = start >= 0 and source[start : end + 1] == b"'%s'" % piece.text
        if stands and b"$" in piece.text and b'"' not in piece.text:
            edits = (Edit(Span(start, start + 1), b'"', CODE), Edit(Span(end, end + 1), b'"', CODE))
            return (Fix(edits, Safety.ASK, "double quotes around %s" % piece.text.decode("utf-8", "replace")),)
    return ()


def _words_of(link: Link, option: Option) -> Sequence[str]:
    """Return the few words that an option takes, [] where it takes others as well."""
    if "|" in option.kind:
        return option.kind.lower().split("|")
    return CHOICES.get(link.name, {}).get(option.name, "").split()


def _of_another_kind(option: Option) -> bool:
    value = option.value
    return value is not None and value.literal and not _OF_KIND[option.kind].fullmatch(value.raw)


def _refused_by_srun(link: Link, step: Step) -> Iterator[Finding]:
    """Yield of values that srun reads as sbatch reads them, and refuses."""
    from ...request.slurm.values import of_another_form
    from ..resources.mpl217_value_refused import refusals

    for option in link.options:
        value = option.value
        if value is None or not value.literal or option.name in _BY_PLAN:
            continue
        setting = Setting(option.name, value.raw, Origin("line"))
        form = of_another_form(setting)
        says = next((words for _, words in refusals((setting,))), form.says if form is not None else "")
        if says:
            yield Finding(CODE, "srun refuses this value: " + says, option.value_span or option.span or step.span,
                          help="srun(1) lists what --%s takes" % option.name)  # fmt: skip


def _word_for(option: Option, words: Sequence[str], job: Job) -> Tuple[Fix, ...]:
    """Write the word that is spelled nearly so, or that other programs call so."""
    value = option.value.raw.decode("utf-8", "replace") if option.value is not None else ""
    other = _SAME.get(value.lower(), "")
    word = nearest(value, words) or (other if other in words else "")
    if not word or option.value is None:
        return ()
    ways = replacements(option.value, (word.encode(),), CODE, job.source)
    return tuple(Fix(tuple(edits), Safety.ASK, "--%s=%s" % (option.name, word)) for edits in ways)


def _finding(
    step: Step, option: Option, kinds: "Mapping[str, re.Pattern[bytes]]", plan: LaunchPlan, job: Job
) -> Optional[Finding]:
    kind, value = kinds.get(option.name), option.value
    if kind is None or value is None or not value.known or not value.raw:
        return None  # an empty one has a rule of its own
    raw = value.raw.replace(_JOB, b"1")
    named = raw.startswith(_NAMES)
    if kind.fullmatch(raw) or (NUL in raw and raw != NODE_LIST and not named):
        return None
    shown = (
        "the name of a node" if named else "the list of nodes" if raw == NODE_LIST else raw.decode("utf-8", "replace")
    )
    new, says = _meant(option, raw, job)
    ways = replacements(value, (new,), CODE, job.source) if new else []
    fixes: Tuple[Fix, ...] = tuple(Fix(tuple(edits), Safety.SAFE, says) for edits in ways)
    return Finding(
        CODE, "--%s is %s, which %s refuses" % (option.name, shown, step.links[-1].name),
        option.span or step.links[-1].name_span or step.span, True, fixes=fixes, help="give it a number",
    )  # fmt: skip


def _kinds(agent: AgentOptions) -> "Mapping[str, re.Pattern[bytes]]":
    """Return what the values of an agent's options have to look like."""
    kinds = dict.fromkeys(agent.numbers, _NUMBER)
    kinds.update({agent.nodes: _RANGE} if agent.ranged_nodes else {})
    kinds.update({agent.ranks: _WORKERS} if agent.named_ranks else {})
    return kinds


def _meant(option: Option, raw: bytes, job: Job) -> Tuple[bytes, str]:
    """Return the number that is surely meant, and what to say of it; b"" where that is not known."""
    if raw == NODE_LIST and option.name in _OF_NODES and job.submission.scheduler == "slurm":
        return b"$SLURM_NNODES", "--%s takes the number of nodes" % option.name
    if raw in _EVERY_GPU:  # of the options that take words at all, these are workers
        return b"gpu", "--%s=gpu is one rank for each GPU" % option.name
    match = _COUNTED.fullmatch(raw)
    if match is None or option.name in _OF_NODES:
        return b"", ""
    number = match.group(1) or match.group(2)
    return number, "--%s=%s" % (option.name, number.decode())
