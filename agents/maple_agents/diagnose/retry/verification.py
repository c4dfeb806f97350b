"""A verification that failed, explained as a job that failed: its output is the log, its rank facts are evidence."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from maple_submit_filter.answer.decision import decide
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.submission import Submission

from ...ask.schedulers import Scheduler
from ...ask.schedulers.protocol import state_of
from ...base.secrets.masking import masked
from ...templates.knowledge import anchors, entries
from ...verify.judge.verdicts import Kind, Reason
from ...verify.run.facts import Fact
from ...verify.run.watch import Watched
from ...verify.verification import Verified, Wanted, verify
from ..diagnosis import UNKNOWN, diagnose
from ..fix import cures
from ..read import read
from ..read.clean_lines import cleaned
from ..values import Case, Cause, Diagnosis, Digest, Ended, Evidence, LogFile

# Classes whose cause lies in how processes are started or meet: mini-apps go through it exactly as the program did.
PROVEN = frozenset({
    "port_in_use", "rendezvous_timeout_master_unreachable", "early_expanded_rank_variable", "wrong_world_size_or_rank",
    "hostname_resolution", "wrong_network_interface", "launcher_not_found", "launcher_bad_option", "srun_step_request",
    "srun_cpu_binding", "mpi_pmi_mismatch", "mpi_not_enough_slots", "deepspeed_hostfile_or_ssh", "accelerate_config",
    "dos_line_endings", "invalid_partition_account_qos", "module_not_found",
})  # fmt: skip
# What ranks said of themselves proves these, whatever the output says.
BY_RANKS = {
    Kind.DUPLICATE: "wrong_world_size_or_rank",
    Kind.RANK: "wrong_world_size_or_rank",
    Kind.FAN_OUT: "wrong_world_size_or_rank",
    Kind.WORLD: "wrong_world_size_or_rank",
    Kind.MASTER: "rendezvous_timeout_master_unreachable",
    Kind.GPU: "wrong_world_size_or_rank",
    Kind.NETWORK: "wrong_network_interface",
}
# What stands in the output is the rules' to explain; where they know nothing of it, this is what the verdict means.
BY_WORDS = {
    Kind.PORT: "port_in_use",
    Kind.MODULE: "missing_python_module",
    Kind.INTERPRETER: "wrong_interpreter_or_env",
    Kind.RENDEZVOUS: "rendezvous_timeout_master_unreachable",
    Kind.MISSING: "wrong_world_size_or_rank",
    Kind.WALLTIME: "time_limit",
}
FINER = {Kind.MASTER: ("hostname_resolution", "wrong_network_interface")}  # why the master was not reached
SAME = ("early_expanded_rank_variable", "wrong_world_size_or_rank", "srun_step_request", "mpi_pmi_mismatch",
        "accelerate_config", "deepspeed_hostfile_or_ssh")  # fmt: skip  # finer words for wrong ranks
OUTPUT, RANKS = "output of the mini-apps", "facts of the ranks"
SURE, LIKELY = 0.9, 0.6
_OURS = re.compile(rb"MAPLE-FACTS |CANCELLED AT \S+ (?!.*DUE TO)")


def run_miniapps(asked: Submission, site: Site, scheduler: Scheduler, tell: Callable[[str, Watched], None]) -> Verified:
    """Run a submission's launch lines with mini-apps. Raises as `verify.verifying.verify`."""
    at = max((place for place, word in enumerate(asked.argv) if place and word == asked.path), default=len(asked.argv))
    words = tuple(os.fsdecode(word) for word in asked.argv[1:at])
    return verify(Wanted(asked, site, words), scheduler, tell)


def explain_verified(made: Verified, asked: Submission, site: Site) -> Diagnosis:
    """Return why a verification failed, with what would cure the script; "none" where it passed.

    Evidence stands in the mini-apps' output or in the ranks' facts, which are named so in place of files.
    """
    known = entries()
    with tempfile.TemporaryDirectory(prefix="maple-explained-") as folder:
        files = _written(folder, made)
        digest = _renamed(read(tuple(files), anchors(known)), {log_file.path: log_file.about for log_file in files})
    case = Case(_ended(made), asked.scheduler, site, asked, _name(asked), tuple(_shown(log_file) for log_file in files))
    if made.verdict.result.value == "passed":
        return Diagnosis(
            case, (replace(UNKNOWN, cause="none", says="its launch lines run with mini-apps", confidence=SURE),)
        )
    decision = decide(asked, site, read_file if asked.uid == os.getuid() else None)
    diagnosis = _with_verdict(diagnose(case, digest, decision, known), made)
    return replace(diagnosis, cures=cures(diagnosis, digest, decision, known))


def _name(asked: Submission) -> str:
    return os.path.basename(os.fsdecode(asked.path)) or "job.sh"


def _ended(made: Verified) -> Ended:
    """Return how the mini-apps' job ended; that we cancelled it when all was said is no end of its own."""
    job = made.job
    if job is None:
        return Ended(state="refused")
    state, ending = state_of(job), job.ending
    if state in ("cancelled", "completed", "running", "pending"):
        return Ended(id=job.id, state="failed", nodes=tuple(job.nodes))
    return Ended(
        id=job.id,
        state=state,
        exit_code=ending.exit_code if ending is not None else None,
        signal=ending.signal if ending is not None else None,
        nodes=tuple(job.nodes),
    )


def _written(folder: str, made: Verified) -> list[LogFile]:
    """Write what was said as files that are read as any log, and return them."""
    files = []
    for about, text in ((OUTPUT, _output(made.output)), (RANKS, b"\n".join(_of_ranks(made)))):
        path = os.path.join(folder, about.replace(" ", "-"))
        with open(path, "wb") as file:
            file.write(text)
        files.append(LogFile(path, "both", about=about))
    return files


def _output(output: bytes) -> bytes:
    """Return the job's output without the facts on it, which are read apart, and without what our cancelling said."""
    return b"\n".join(line for line in output.split(b"\n") if not _OURS.search(line))


def _of_ranks(made: Verified) -> Iterator[bytes]:
    """Yield a line for each rank that failed, in the order in which they did."""
    facts = [fact for run in made.runs for fact in run.facts if fact.ok is False]
    for fact in sorted(facts, key=lambda fact: fact.ended_at):
        yield _line(fact).encode("utf-8", "replace")


def _line(fact: Fact) -> str:
    rank = "[rank%d]: " % fact.rank if fact.rank is not None else ""
    return "%s%s: %s" % (rank, fact.error or "Error", " ".join(fact.says.split()) or fact.phase)


def _shown(file: LogFile) -> LogFile:
    return replace(file, path=file.about)


def _renamed(digest: Digest, names: Mapping[str, str]) -> Digest:
    """Return *digest* with what the files hold in place of their paths, which are gone."""
    return replace(
        digest,
        streams=tuple(replace(stream, file=_shown(stream.file)) for stream in digest.streams),
        events=tuple(
            replace(
                event,
                place=replace(event.place, file=names[event.place.file]),
                last=replace(event.last, file=names[event.last.file]) if event.last else None,
            )
            for event in digest.events
        ),
    )


def _with_verdict(diagnosis: Diagnosis, made: Verified) -> Diagnosis:
    """Return *diagnosis* with the verdict's cause first, where ranks prove it or nothing else is known."""
    first = diagnosis.causes[0]
    for reason in made.verdict.reasons:
        by_ranks = BY_RANKS.get(reason.kind)
        if by_ranks is not None and first.cause not in (by_ranks, *SAME, *FINER.get(reason.kind, ())):
            return _first(diagnosis, _cause(reason, by_ranks, SURE))
    words = next((BY_WORDS[cause.kind] for cause in made.verdict.reasons if cause.kind in BY_WORDS), None)
    if words is not None and first.cause in ("unknown", "none"):
        return _first(diagnosis, _cause(made.verdict.reasons[0], words, LIKELY))
    return diagnosis if first.cause != "none" else _first(diagnosis, _unknown(made))


def _first(diagnosis: Diagnosis, cause: Cause) -> Diagnosis:
    others = [other for other in diagnosis.causes if other.cause not in ("unknown", "none", cause.cause)]
    return replace(diagnosis, causes=(cause, *(replace(other, confidence=0.0) for other in others)), excerpt=())


def _cause(reason: Reason, name: str, confidence: float) -> Cause:
    says = cleaned(masked(reason.says).encode("utf-8", "replace"))
    return Cause("", name, says, 0.0, confidence, (Evidence(RANKS, 0, says),))


def _unknown(made: Verified) -> Cause:
    says = made.verdict.reasons[0].says if made.verdict.reasons else UNKNOWN.says
    return replace(UNKNOWN, says=cleaned(masked(says).encode("utf-8", "replace")))
