"""Right or wrong: what a request got, and what ran, against what is known of the request by construction."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.new567.answering import Made
from tests.new567.asked import Asked
from tests.new567.jobs import BIG, Job
from tests.new567.running import FILES
from tests.pbs_lab.request import Refused, read
from tests.reality.asked import ask
from tests.reality.corpus import Case
from tests.reality.field import Fact, Ran

# what a model is called in slots, without dashes and case
CALLED = {"gpt2-xl": "gpt2xl", "llama-3.1-8b": "llama318b", "bert-base": "bertbase", "vit-base": "vit",
          "resnet-18": "resnet18"}  # fmt: skip


def reasons(one: Asked, made: Made, ran: Ran | None) -> list[str]:
    """Return what is wrong, the first cause first; [] where all is as expected."""
    if one.lacks:
        return list(_lacking(one, made))
    if made.exit or made.script is None:
        return [f"new: exit {made.exit}: {_short(made)}"]
    found = [*_slots(one, made.document), *_paradigm(one, made), *_text(one, made.script), *_rules(one, made.script)]
    if ran is None:
        return [*found, "run: it was not run"]
    return [*found, *_ran(one, made.script, ran)]


def _lacking(one: Asked, made: Made) -> Iterator[str]:
    missing = made.document.get("missing")
    names = [entry.get("slot", "") if isinstance(entry, dict) else entry for entry in missing or []]
    if made.exit != 3 or made.script is not None:
        yield f"new: {one.lacks} should be missing (exit 3), got exit {made.exit}: {_short(made)}"
    elif names != [one.lacks]:
        yield f"new: {one.lacks} alone should be missing, not {names}"


def _short(made: Made) -> str:
    missing = made.document.get("missing")
    lacks = f"missing {missing}; " if missing else ""
    return (lacks + " ".join(made.said.split()))[-300:]


def _slots(one: Asked, document: Mapping[str, Any]) -> Iterator[str]:
    """What was said has to stand in the slots, in normal form; nothing else may stand there with another value."""
    if not document:
        return
    slots = document.get("slots", {})
    for name, value in expected(one).items():
        if name in slots and _same(slots[name]) != _same(value):
            yield f"slots: {name} is {slots[name]!r}, not {value!r}"
    said = ("site", "nodes", "walltime", one.job.where.word, "program")
    for name in said if one.script is None else ("site", one.job.where.word):
        if name not in slots:
            yield f"slots: {name} was said ({expected(one)[name]!r}), and is not there"
    if one.job.model and one.script is None and CALLED[one.job.model] not in _plain(str(slots.get("model", ""))):
        yield f"slots: the model is {slots.get('model')!r}"
    if one.job.paradigm and one.script is None and slots.get("paradigm") != one.job.paradigm:
        yield f"slots: the paradigm is {slots.get('paradigm')!r}, not {one.job.paradigm!r}"


TITLES = {"ddp": b"(DDP)", "fsdp": b"(FSDP)", "zero3": b"ZeRO", "3d": b"(3D)", "accelerate-ddp": b"Accelerate"}


def _paradigm(one: Asked, made: Made) -> Iterator[str]:
    """What was said or taken has to be one that the model fits in; at a terminal the script's own comment tells."""
    if not one.paradigms or made.script is None:
        return
    if not made.document:
        if not any(TITLES[name] in made.script for name in one.paradigms):
            yield f"script: its comment names none of {one.paradigms}"
        return
    taken = {entry["slot"]: entry["value"] for entry in made.document.get("assumed", ())}
    value = made.document.get("slots", {}).get("paradigm", taken.get("paradigm"))
    if value not in one.paradigms:
        yield f"slots: the paradigm is {value!r}, not one of {one.paradigms}"


def _same(value: int | str) -> int | str:
    """Return what is equal for equal values: the order of file systems says nothing."""
    return ":".join(sorted(str(value).split(":"))) if re.fullmatch(r"[a-z]\w*(:[a-z]\w*)+", str(value)) else value


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def expected(one: Asked) -> dict[str, int | str]:
    """Return the value of each slot that may stand in the answer."""
    job = one.job
    found: dict[str, int | str] = {
        "site": job.where.site, "nodes": job.nodes, "walltime": job.walltime, job.where.word: job.place.name,
        "account": job.account, "program": job.program, "gpus_per_node": job.place.ranks, "gpus_total": job.ranks,
        "ranks_per_node": job.place.ranks,
    }  # fmt: skip
    if job.file_systems:
        found["filesystems"] = job.file_systems
    if one.script is not None:  # what a script says of GPUs and of its program's words is its own cluster's
        for name in ("program", "gpus_per_node", "gpus_total", "ranks_per_node"):
            del found[name]
    return found


def _text(one: Asked, script: bytes) -> Iterator[str]:
    lines = [line.strip() for line in script.decode(errors="replace").splitlines()]
    for line in one.stays:
        if line not in lines:
            yield f"script: the user's line {line!r} is gone"
    for line in one.goes:
        if line in lines:
            yield f"script: {line!r} of the other cluster is still there"
    other = "#SBATCH" if one.job.where.scheduler == "pbs" else "#PBS"
    if any(line.startswith(other) for line in lines):
        yield f"script: it has {other} directives"
    if one.job.model == BIG and b"HF_TOKEN" not in script and b"token" not in script.lower():
        yield "script: nothing is said of the token that gated weights want"


def _rules(one: Asked, script: bytes) -> Iterator[str]:
    """`maple check` has to find nothing proven and to change nothing."""
    case = Case(("pbs/" if one.job.where.scheduler == "pbs" else "") + "right/new", one.job.where.site, script, ("{}",),
                False, (), True)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="maple-asked-") as folder:
        answer = ask(case, folder)
    if answer.decision.verdict != "clean":
        told = "; ".join(f"{one.code} {one.says}" for one in answer.decision.findings)
        yield f"check: {answer.decision.verdict}: {told}"


def _ran(one: Asked, script: bytes, ran: Ran) -> Iterator[str]:
    if ran.state != "COMPLETED" or ran.exit_code:
        why = next((str(fact.get("error")) for fact in ran.facts if not fact["ok"]), "")
        yield f"run: {ran.state} {ran.exit_code}: {why} {' '.join(ran.output.split())[-300:]}"
        return
    yield from world(ran.facts, one.job.nodes, one.job.place.ranks)
    yield from _words(one, ran.facts)
    yield from _users(one, ran)
    yield from _granted(one.job, script, ran)


def world(facts: Sequence[Fact], nodes: int, each: int) -> Iterator[str]:
    """Every rank up once and content, on the right node, with a GPU of its own, and all with one master."""
    bad = next((fact for fact in facts if not fact["ok"]), None)
    if bad is not None:
        yield f"run: rank {bad['rank']} on {bad['host']}: {bad['error']}"
    ranks = sorted(-1 if fact["rank"] is None else fact["rank"] for fact in facts)
    if ranks != list(range(nodes * each)):
        yield f"run: ranks {ranks}, not 0 to {nodes * each - 1}"
    hosts = Counter(fact["host"] for fact in facts)
    if sorted(hosts.values()) != [each] * nodes:
        yield f"run: ranks on nodes {dict(hosts)}, not {each} on each of {nodes}"
    sizes = {(fact["world_size"], (fact.get("group") or {}).get("world_size")) for fact in facts}
    if sizes != {(nodes * each, nodes * each)}:
        yield f"run: worlds (said, met) {sorted(map(str, sizes))}, not {nodes * each}"
    masters = {(fact["master_addr"], fact["master_port"]) for fact in facts}
    if len(masters) > 1:
        yield f"run: more than one master: {sorted(map(str, masters))}"
    devices = Counter((fact["host"], device(fact)) for fact in facts)
    shared = [where for where, count in devices.items() if count > 1 or where[1] is None]
    if shared:
        yield f"run: GPU {shared[0][1]} of {shared[0][0]} for {devices[shared[0]]} ranks"


def device(fact: Fact) -> int | None:
    """Return the GPU that a program takes by its local rank, or the only one it sees; None where there is none."""
    seen = fact.get("visible") or []
    if len(seen) == 1:
        return int(seen[0])
    local = fact["local_rank"]
    return int(seen[local]) if local is not None and local < len(seen) else None


def _words(one: Asked, facts: Sequence[Fact]) -> Iterator[str]:
    for fact in facts[:1]:
        wanted = _expanded(one.job.program, fact["told"])
        got = [word for word in fact["arguments"] if not re.match(r"--local[-_]rank=\d+$", word)]
        if got != wanted:
            yield f"run: the program got {got}, not {wanted}"


def _expanded(program: str, env: Mapping[str, str]) -> list[str]:
    """Return the words behind train.py as bash makes them in the job's folder."""
    words = program[program.index("train.py") + len("train.py") :]
    known = {name: env[name] for name in ("HOME", "USER", "LOGNAME") if name in env}
    with tempfile.TemporaryDirectory(prefix="maple-words-") as folder:
        for name in FILES:
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.touch()
        line = ["bash", "-c", f"printf '%s\\0' {words}"]
        env = {"PATH": "/usr/bin:/bin", **known}
        done = subprocess.run(line, cwd=folder, env=env, capture_output=True, timeout=20, check=True)
    return done.stdout.decode().split("\0")[:-1]


def _users(one: Asked, ran: Ran) -> Iterator[str]:
    """What the user's own lines set has to reach the ranks, and those behind the launch have to be run."""
    told = [fact["told"] for fact in ran.facts]
    for line in one.stays:
        name, _, value = line.removeprefix("export ").partition("=")
        if line.startswith("export WANDB_MODE") and any(env.get(name) != value for env in told):
            yield f"run: {line!r} did not reach the ranks"
        if "hf_token" in line and any(env.get("HF_TOKEN") != "hf_of-the-script" for env in told):
            yield "run: the token that the script reads did not reach the ranks"
    if one.stays and "finished with 0" not in ran.output:
        yield "run: the user's line behind the launch was not run, or the launch did not end with 0"


def _granted(job: Job, script: bytes, ran: Ran) -> Iterator[str]:
    """What the scheduler understood of the directives."""
    got = _by_qsub(script) if job.where.scheduler == "pbs" else _by_sbatch(ran)
    wanted = {"nodes": str(job.nodes), "walltime": job.walltime, "account": job.account, "place": job.place.name}
    if job.file_systems:
        wanted["filesystems"] = job.file_systems
    for name, value in wanted.items():
        if name == "place" and job.where.word == "qos":  # the lab's hook turns it into a partition
            if not str(got[name]).startswith(value):
                yield f"run: the job went to {got[name]}, not {value}"
        elif _same(got[name].lower()) != _same(value.lower()):  # Slurm keeps accounts in lower case
            yield f"run: {name} of the job is {got[name]}, not {value}"


def _by_sbatch(ran: Ran) -> dict[str, str]:
    job = next((fact["job"] for fact in ran.facts if fact.get("job")), {})
    return {
        "nodes": job.get("NumNodes", ""),
        "walltime": _hours(job.get("TimeLimit", "")),
        "account": job.get("Account", ""),
        "place": job.get("Partition", ""),
    }


def _hours(text: str) -> str:
    days, _, rest = text.rpartition("-")
    hours, _, more = rest.partition(":")
    return f"{int(days or 0) * 24 + int(hours):02}:{more}" if hours.isdigit() else text


def _by_qsub(script: bytes) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="maple-qsub-") as folder:
        Path(folder, "job.sh").write_bytes(script)
        try:
            found = read(["job.sh"], b"", folder, {})
        except Refused as error:
            return dict.fromkeys(("nodes", "walltime", "account", "place", "filesystems"), error.says)
    chunks = re.match(r"\d+", found.resources.get("select", ""))
    return {
        "nodes": chunks[0] if chunks else "",
        "walltime": found.resources.get("walltime", ""),
        "account": found.option("account") or "",
        "place": found.option("queue") or "",
        "filesystems": found.resources.get("filesystems", ""),
    }
