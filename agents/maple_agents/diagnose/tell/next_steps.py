"""What one can do about a failure: a cure's difference, its steps with the names of this job, and what is left to try
where the log does not tell the cause: chosen by how the process died and by what the log speaks of. Variables for a
library that nowhere appears in the log, or a trace of a process that was killed from outside, tell nothing and cost
a run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...ask.submission import GENERIC
from ...base.output import unified
from ..fix.registry import whole
from ..read.clean_lines import safe_lines, safe_script
from ..values import Case, Cure, Diagnosis
from .page_rows import short

TEXTS = 60  # lines of a log's end that are looked at


def difference(cure: Cure, diagnosis: Diagnosis) -> str:
    """Return the unified diff of a cure as it may be shown, "" where it changes no script."""
    asked = diagnosis.case.asked
    if cure.script is None or asked is None or asked.script is None:
        return ""
    before, after = safe_script(asked.script), safe_script(cure.script)
    return safe_lines(unified(before, after, diagnosis.case.name or "job.sh"))


def changes(cure: Cure) -> bool:
    """Return whether a cure changes what is submitted, and is offered."""
    return (cure.script is not None or cure.argv is not None) and not cure.held_back


def changed(diagnosis: Diagnosis) -> bool:
    """Return whether a change is offered for the cause itself, not only for what stands beside it."""
    return any(changes(cure) and not cure.says.startswith("besides") for cure in diagnosis.cures)


# Steps to take with the names of this job in the places that general advice leaves open.

_JOB_SAID = re.compile(r"\b(?:StepId=|JobId=|JOB |STEP |job |Job )(\d{2,12})(?:[.\s]|$)")
_WORD = re.compile(r"[^\W_]{2,}|\$\w+|-\w+")
SAME = 0.8  # share of a step's words that its heading holds, from which it says nothing new


def filled(step: str, diagnosis: Diagnosis) -> str:
    """Return *step* with the job's id for JOBID and the script's name for JOB.sh, as far as they are known."""
    job, script = _job(diagnosis), diagnosis.case.name
    step = re.sub(r"\bJOBID\b", lambda _: job, step) if job else step
    return re.sub(r"\bJOB\.sh\b", lambda _: shlex.quote(script), step) if script and "/" not in script else step


def _job(diagnosis: Diagnosis) -> str:
    """Return the job's id, as it is known or as the evidence says it; "" where neither does."""
    if diagnosis.case.ended.id:
        return diagnosis.case.ended.id
    lines = [*diagnosis.causes[0].evidence, *diagnosis.cascade]
    jobs = {match[1] for evidence in lines for match in _JOB_SAID.finditer(evidence.text)}
    return jobs.pop() if len(jobs) == 1 else ""


def new(steps: Sequence[str], heading: str) -> list[str]:
    """Return the steps that say more than the heading above them."""
    words = set(_WORD.findall(heading.lower()))
    return [step for step in steps if not _is_in(step, words)]


def _is_in(step: str, words_above: set[str]) -> bool:
    words = set(_WORD.findall(step.lower()))
    return bool(words) and len(words & words_above) >= SAME * len(words)


# What one can do where the log does not tell the cause: show more of the job, look it up, ask people, say it later.

GOING_ON = ("pending", "running")


def steps(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what to do next, the cheapest first; nothing where the cause is known or all is well."""
    case, cause = diagnosis.case, diagnosis.causes[0].cause
    if cause == "none" and case.ended.state == "unknown":
        yield "how it ended is not known here; if it failed, add: --state failed --exit-code N"
    if cause != "unknown":
        return
    call = "maple-fix %s" % case.ended.id if case.ended.id else "maple-fix"
    if case.ended.state in GOING_ON:
        yield from _waiting(case, call)
        return
    yield from _more(case, call)
    yield from (filled(step, diagnosis) for step in further_evidence(diagnosis))
    yield "ask %s and send this page; secrets in it are masked%s" % (
        _people(case), ": %s > %s.txt" % (call, case.ended.id) if case.ended.id else ""
    )  # fmt: skip
    if case.ended.id:
        yield "once you know the cause: %s --was CLASS; Maple will recognise it next time" % call


def _waiting(case: Case, call: str) -> Iterator[str]:
    """What there is to see of a job that has not ended: nothing of it has failed yet."""
    job, slurm = case.ended.id, case.scheduler != "pbs"
    if case.ended.state == "pending":
        yield "it is still waiting; to see why, and when it may start: %s" % (
            "squeue --start -j %s" % job if slurm else "qstat -f %s | grep comment" % job
        )
    else:
        yield from (
            "it is still running; follow its output: tail -f %s" % short(log_file.path) for log_file in case.logs[:1]
        )
    yield "when it has ended: %s" % call


def _more(case: Case, call: str) -> Iterator[str]:
    if not case.logs or case.missing:
        yield "if it wrote elsewhere, name the file: %s --log FILE" % call
    if case.asked is None:
        yield "add its script, so that its launch lines are checked: --script FILE"


def _people(case: Case) -> str:
    site = whole(case.site) if case.site.id not in GENERIC else None
    return "the help desk of %s" % (site.center or site.name) if site is not None else "your cluster's help desk"


class Sign(NamedTuple):
    """*says*: an expression for lines of the log; *codes*: exit codes, signals and states of the job that say the same.

    *slurm*, *pbs*: what to look at now. *settings*: to run again with; *change*: of the launch, or to try apart.
    """

    says: str
    codes: tuple[int | str, ...] = ()
    slurm: str = ""
    pbs: str = ""
    settings: tuple[str, ...] = ()
    change: str = ""


# The first that fits decides what to look at; the settings of the first two that fit are for the next run.
SIGNS = (
    Sign(
        r"\bKilled\b|SIGKILL|exit(?:ed with)?[ _]?code:? ?\(?(?:137|-9)\b|signal 9\b",
        codes=(9, 137, -9, "out-of-memory"),
        slurm="see whether memory ran out: sacct -j JOBID -o JobID,State,ExitCode,MaxRSS,ReqMem",
        pbs="see whether memory ran out: qstat -xf JOBID | grep -E 'mem|Exit_status'",
        change="one rank less on a node, or more memory, tells whether it is that",
    ),
    Sign(
        r"(?i)segmentation fault|sig(?:segv|abrt|bus)|core dumped|exit(?:ed with)?[ _]?code:? ?\(?(?:13[459]|-11|-6)\b",
        codes=(6, 7, 11, 134, 135, 139, -6, -7, -11),
        settings=("PYTHONFAULTHANDLER=1",),
        change="the stack that is then printed names the library",
    ),
    Sign(
        r"(?i)CANCELLED AT|DUE TO TIME LIMIT|walltime .{0,20}exceeded|timed? ?out|watchdog|heartbeat",
        codes=("timeout", "cancelled"),
        slurm="while it hangs, see where: srun --jobid=JOBID --overlap -N1 -n1 py-spy dump --pid PID",
        pbs="while it hangs, see where: log in on one of its nodes, then py-spy dump --pid PID",
        settings=("TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "TORCH_NCCL_DUMP_ON_TIMEOUT=1"),
    ),
    Sign(r"\bNCCL\b|ncclSystem|\bRCCL\b|NET/|ProcessGroupNCCL", settings=("NCCL_DEBUG=INFO",)),
    Sign(
        r"(?i)c10d|rendezvous|TCPStore|init_process_group|gloo|torch\.distributed",
        settings=("TORCH_DISTRIBUTED_DEBUG=DETAIL", "TORCH_CPP_LOG_LEVEL=INFO"),
    ),
    Sign(r"(?i)CUDA error|cudaError|device-side|cublas|cudnn", settings=("CUDA_LAUNCH_BLOCKING=1",)),
    Sign(r"(?i)\bHIP error|hipError|HSA_STATUS", settings=("AMD_SERIALIZE_KERNEL=3",)),
    Sign(r"libfabric|\bfi_\w+\(|OFI\b|cxi|psm3|verbs", settings=("FI_LOG_LEVEL=warn",)),
    Sign(
        r"\bPMPI_|MPI_Abort|MPI_INIT|MPIDI_|hydra|prte|orted|\bpmix\b",
        settings=("MPICH_ENV_DISPLAY=1", "I_MPI_DEBUG=10"),
        change="mpirun --display-map shows where Open MPI starts what",
    ),
    Sign(
        r"(?i)\bray(?:let)?\b|gcs_",
        slurm="see Ray's own logs on the head's node: /tmp/ray/session_latest/logs/raylet.err and gcs_server.out",
        pbs="see Ray's own logs on the head's node: /tmp/ray/session_latest/logs/raylet.err and gcs_server.out",
        settings=("RAY_BACKEND_LOG_LEVEL=debug",),
    ),
    Sign(
        r"(?i)apptainer|singularity|enroot|pyxis|podman", change="apptainer --debug exec … shows which step of it fails"
    ),
    Sign(
        r"ChildFailedError|error_file: <N/A>|exitcode\s*:|torchelastic|elastic/",
        change="torchrun --log-dir logs --redirects 3 keeps each rank's words in a file of its own",
    ),
    Sign(
        r"srun: error: .{0,60}(?:Exited|exit code)",
        change="srun --label --output=%x.%j.%t.out keeps each task's words in a file of its own",
    ),
    Sign(
        r"Traceback|\w+(?:Error|Exception): ",
        change="the exception above is the program's last word: run that line of yours alone, on one GPU",
    ),
)
ALWAYS = "PYTHONUNBUFFERED=1"


def signs(diagnosis: Diagnosis) -> list[Sign]:
    """Return the signs that the log and the job's end show."""
    ended = diagnosis.case.ended
    codes = {code for code in (ended.exit_code, ended.signal, ended.state) if code is not None}
    lines = (*diagnosis.excerpt, *diagnosis.cascade, *diagnosis.causes[0].evidence)
    texts = [line.text for line in lines][:TEXTS]
    return [
        sign for sign in SIGNS if codes.intersection(sign.codes) or any(re.search(sign.says, text) for text in texts)
    ]


def further_evidence(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what to look at now, then what to run again with; JOBID stands for the job."""
    shown, pbs = signs(diagnosis)[:2], diagnosis.case.scheduler == "pbs"
    yield from filter(None, (sign.pbs if pbs else sign.slurm for sign in shown[:1]))
    yield "run it again with more output: %s" % louder(diagnosis.case, shown)
    yield from (sign.change for sign in shown if sign.change)


def louder(case: Case, shown: Sequence[Sign]) -> str:
    """Return the lines that make a job tell more and that its script does not hold; no trace where it has secrets."""
    script = (case.asked.script if case.asked is not None else None) or b""
    wanted = [ALWAYS, *(setting for sign in shown for setting in sign.settings)]
    names = [setting for setting in wanted if setting.partition("=")[0].encode() not in script]
    line = ["export " + " ".join(names)] if names else []
    if script and b"set -x" not in script and safe_script(script) == script:
        line.append("set -x")
    return "; ".join(line) or "on one node, where the error may show sooner"
