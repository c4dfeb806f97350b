"""What a script says of its job, slot by slot, each with the line it was read from.

What the words of a submit command's line say, as slots: an account, a queue, a number of nodes.

How a script's training is divided over ranks, where its launch line, its arguments or its configuration prove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from maple_submit_filter.answer.decision import examined
from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.play.pbs_allocation import chunks_of
from maple_submit_filter.request.slurm.values import seconds
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Job, Read, Setting, Settings, line_of
from maple_submit_filter.types.launch_plan import LaunchPlan, Link, Step

from ...base.quantities import clock
from ...base.slots import LAUNCHERS, Name, Origin, Slot, Slots
from .parts import Launch
from .walk import FoundCommand, bare

_SPLIT = re.compile(
    rb"--(?:tensor[-_](?:model[-_])?parallel(?:[-_]size)?|pipeline[-_](?:model[-_])?parallel(?:[-_]size)?|tp|pp|tp[-_]size"
    rb"|pp[-_]size)(?:=|\Z)"
)
_FSDP = re.compile(rb"(?:--fsdp\b|--use[-_]fsdp\b|--fsdp[-_]\w+)")
_STAGE = re.compile(rb"[\"']?(?:stage|zero_stage)[\"']?\s*[:=]\s*([0-3])")
_NAMED = re.compile(rb"(?:zero|stage|z)[-_]?([0-3])", re.IGNORECASE)
_TYPE = re.compile(rb"^\s*distributed_type\s*:\s*[\"']?(\w+)", re.MULTILINE)
_CONFIG = re.compile(rb"^--?(?:deepspeed|deepspeed[-_]config|ds[-_]config|config[-_]file)(?:=(.*))?\Z")

_OPTIONS: dict[str, dict[str, Name]] = {
    "slurm": {"account": "account", "partition": "partition", "qos": "qos", "array": "array"},
    "pbs": {
        "account": "account",
        "project": "account",
        "queue": "queue",
        "array": "array",
        "filesystems": "filesystems",
    },
}
_TIME = {"slurm": "time", "pbs": "walltime"}
_NODES = {"slurm": ("nodes", "ntasks", "gpus"), "pbs": ("select", "nodes")}
_ENVIRONMENT = re.compile(rb"^(?:source|\.)[ \t]+(\S*?)/bin/activate\b|^(?:conda|mamba)[ \t]+activate[ \t]+(\S+)")
_IMAGES = ("image", "container-image")


def slots(job: Job, plan: LaunchPlan, launches: tuple[Launch, ...], commands: list[FoundCommand], site: str) -> Slots:
    """Return the slots that the script says. *site*: the cluster it was written for, "" unknown."""
    own = [*_of_request(job), *_of_layout(job, plan), *_of_program(job, launches), *_of_shell(job, commands)]
    where = [Slot("site", site, Origin("script", "the script's own signs"))] if site else []
    return Slots([*where, *own])


def main(launches: tuple[Launch, ...]) -> Launch | None:
    """Return the launch line of the training: the one with the largest world, the first of equals."""
    worlds = [launch for launch in launches if not launch.small]
    return max(worlds or launches, key=lambda launch: _world(launch), default=None)


def _world(launch: Launch) -> int:
    groups = [group for step in launch.steps for group in step.groups]
    return max((group.world_size or group.declared or 1 for group in groups), default=0)


def _of_request(job: Job) -> Iterator[Slot]:
    scheduler = job.submission.scheduler
    seen: set[str] = set()
    for option, name in _OPTIONS[scheduler].items():
        setting = job.settings.get(option)
        if setting is not None and setting.value and name not in seen:
            seen.add(name)
            yield Slot(name, setting.value.decode("utf-8", "replace").strip("\"'"), _place(setting))
    time = job.settings.get(_TIME[scheduler])
    length = seconds(time.value) if time is not None else None
    if time is not None and length:
        yield Slot("walltime", clock(_clocked(time.value, scheduler, length)), _place(time))


def _clocked(value: bytes, scheduler: str, length: int) -> int:
    """PBS counts a bare number in seconds, and two numbers as minutes and seconds, where Slurm counts minutes."""
    return int(value) if scheduler == "pbs" and value.strip().isdigit() else length


def _of_layout(job: Job, plan: LaunchPlan) -> Iterator[Slot]:
    given = plan.allocation
    setting = next(
        (setting for setting in map(job.settings.get, _NODES[job.submission.scheduler]) if setting is not None), None
    )
    chunks, of_chunk = _chunks(job) if given.nodes is None else (None, None)
    nodes, gpus = given.nodes or chunks, given.gpus_per_node or of_chunk
    if setting is not None and nodes:
        yield Slot("nodes", nodes, _place(setting))
    if gpus and _asks_gpus(job) is not None:
        yield Slot("gpus_per_node", gpus, _place(_asks_gpus(job)))
    kinds = {kind.name for kind in given.node_kinds}
    if len(kinds) == 1 and setting is not None:
        yield Slot("gpu", kinds.pop(), Origin("derived", "the partition, queue or constraint"))


def _chunks(job: Job) -> tuple[int | None, int | None]:
    """Return the chunks of a PBS job and the GPUs of each: where a site is not known several may share a node.

    Who asks for chunks of several GPUs means a node by each, and another cluster is asked for as many. One GPU may be a
    rank's, of which a node takes many, and chunks that are packed share a host.
    """
    chunks = chunks_of(job.settings) if job.submission.scheduler == "pbs" else ()
    gpus = {chunk.value(b"ngpus") for chunk in chunks}
    count = next(iter(gpus)) if len(gpus) == 1 else None
    packed = b"pack" in (job.settings.value("place") or b"").split(b":")
    if count is None or not count.isdigit() or int(count) < 2 or packed:
        return None, None
    return sum(chunk.count for chunk in chunks), int(count)


def _asks_gpus(job: Job) -> Setting | None:
    """Return the setting that asks for GPUs, None where none does."""
    names = ("gpus-per-node", "gres", "gpus", "gpus-per-task")
    if job.submission.scheduler == "pbs":
        chunk = job.settings.get("select")
        return chunk if chunk is not None and b"ngpus=" in chunk.value else job.settings.get("ngpus")
    return next((setting for setting in map(job.settings.get, names) if setting is not None), None)


def _of_program(job: Job, launches: tuple[Launch, ...]) -> Iterator[Slot]:
    training = main(launches)
    if training is None:
        return
    step = training.steps[0]
    where = Origin("script", "line %d" % training.line, step.span.start, step.span.end)
    links = [link.name for link in step.links]
    launcher = next((name for name in reversed(links) if name in AGENTS), links[0] if links else "")
    if launcher in LAUNCHERS:
        yield Slot("launcher", launcher, where)
    group = step.groups[0] if len(step.groups) == 1 else None
    if group is not None and group.ranks_per_node and not training.small:
        yield Slot("ranks_per_node", group.ranks_per_node, where)
    way = paradigm(step, job.source, job.read)
    if way:
        yield Slot("paradigm", way, where)
    if training.program is not None:
        start, end = training.program
        text = job.source[start:end].decode("utf-8", "replace")
        yield Slot("program", text, Origin("script", "line %d" % line_of(job.source, start), start, end))


def _of_shell(job: Job, commands: list[FoundCommand]) -> Iterator[Slot]:
    for name in _IMAGES:
        setting = job.settings.get(name)
        if setting is not None and setting.value:
            yield Slot("container", setting.value.decode("utf-8", "replace"), _place(setting))
    for command in commands:
        text = job.source[command.command.span.start : command.command.span.end]
        match = _ENVIRONMENT.match(text)
        if match is not None:
            value = (match[1] or match[2]).decode("utf-8", "replace").strip("\"'")
            yield Slot("environment", value, _at(job, command))
        image = _image(command)
        if image:
            yield Slot("container", image.decode("utf-8", "replace"), _at(job, command))


def _image(command: FoundCommand) -> bytes:
    """Return the image that a container runtime of the command is told, b"" none."""
    words = [bare(b"", word) for word in command.command.words]
    for word in words:
        name, equals, value = word.partition(b"=")
        if name in (b"--image", b"--container-image") and equals:
            return value
        if word.endswith((b".sif", b".sqsh")) and any(each in words for each in (b"apptainer", b"singularity")):
            return word
    return b""


def _at(job: Job, command: FoundCommand) -> Origin:
    start, end = command.command.span
    return Origin("script", "line %d" % line_of(job.source, start), start, end)


def _place(setting: Setting | None) -> Origin:
    if setting is None or setting.origin.kind != "directive":
        return Origin("script")
    span = setting.origin.value_span or setting.origin.span
    return Origin("script", "line %d" % setting.origin.line, *(span or (0, 0)))


def slots_of_words(job: Job, site: Site) -> Slots:
    """Return what command line and environment say; the directives of the job's script do not count."""
    words = Settings(tuple(setting for setting in job.settings if setting.origin.kind != "directive"))
    plain = job._replace(settings=words)
    return slots(plain, examined(plain, site).plan, (), [], "")


def paradigm(step: Step, source: bytes, read: Read | None) -> str:
    """Return the paradigm, "" where nothing proves one: torchrun alone may start any."""
    agent = step.links[-1] if step.links else None
    words = [word for word in step.program if word]
    if _several_ways(words):
        return "3d"
    if agent is not None and agent.name == "accelerate":
        return _of_accelerate(agent, words, source, read)
    stage = _stage(words, source, read)
    if stage > "0":
        return "zero" + stage
    if any(_FSDP.match(word) for word in words):
        return "fsdp"
    return ""


def _several_ways(words: Sequence[bytes]) -> bool:
    """Tell whether a size of a tensor or pipeline group beyond 1 is among the arguments."""
    for at, word in enumerate(words):
        if _SPLIT.match(word):
            value = word.partition(b"=")[2] or (words[at + 1] if at + 1 < len(words) else b"")
            if value != b"1":
                return True
    return False


def _of_accelerate(agent: Link, words: Sequence[bytes], source: bytes, read: Read | None) -> str:
    if agent.option("use-fsdp") is not None:
        return "fsdp"
    if agent.option("use-deepspeed") is not None:
        stage = agent.option("zero-stage")
        number = stage.value.raw if stage is not None and stage.value is not None else b""
        return "zero" + number.decode() if number in (b"1", b"2", b"3") else ""
    if agent.option("use-megatron-lm") is not None:
        return "3d"
    config = agent.option("config-file")
    if config is None or config.value is None:
        stage_of = _stage(words, source, read)
        if stage_of > "0":
            return "zero" + stage_of
        return "fsdp" if any(map(_FSDP.match, words)) else "accelerate-ddp"
    text = _content(config.value.raw, source, read)
    kind = _TYPE.search(text)
    paradigms = {b"FSDP": "fsdp", b"MULTI_GPU": "accelerate-ddp", b"MULTI_XPU": "accelerate-ddp", b"MEGATRON_LM": "3d"}
    if kind is not None and kind[1] == b"DEEPSPEED":
        stage_in = _STAGE.search(text)
        return "zero" + stage_in[1].decode() if stage_in is not None and stage_in[1] != b"0" else ""
    return paradigms.get(kind[1], "") if kind is not None else ""


def _stage(words: Sequence[bytes], source: bytes, read: Read | None) -> str:
    """Return the stage of ZeRO that a configuration named in the arguments says, "" none."""
    for at, word in enumerate(words):
        match = _CONFIG.match(word)
        if match is None:
            continue
        name = match[1] or (words[at + 1] if at + 1 < len(words) else b"")
        if name.startswith(b"-") or not name:
            continue
        stage = _STAGE.search(_content(name, source, read)) or _NAMED.search(name.rsplit(b"/", 1)[-1])
        if stage is not None:
            return stage[1].decode()
    return ""


def _content(name: bytes, source: bytes, read: Read | None) -> bytes:
    """Return what a configuration holds: written by the script itself, or lying beside it; b"" unknown."""
    last = name.rsplit(b"/", 1)[-1].replace(b"\0job\0", b"")
    pieces = [re.escape(piece) for piece in name.rsplit(b"/", 1)[-1].split(b"\0job\0")]
    if last:
        wrote = re.search(rb">\s*\S*?%s[\"']?\s*(<<-?\s*['\"]?(\w+)['\"]?[^\n]*)?\n" % rb"\S*?".join(pieces), source)
        if wrote is not None and wrote[2]:
            end = re.search(rb"^\s*%s$" % re.escape(wrote[2]), source[wrote.end() :], re.MULTILINE)
            return source[wrote.end() : wrote.end() + (end.start() if end is not None else 0)]
        before = re.search(rb"<<-?\s*['\"]?(\w+)['\"]?\s*>\s*\S*?%s[^\n]*\n" % rb"\S*?".join(pieces), source)
        if before is not None:
            end = re.search(rb"^\s*%s$" % re.escape(before[1]), source[before.end() :], re.MULTILINE)
            return source[before.end() : before.end() + (end.start() if end is not None else 0)]
    return (read(name) or b"") if read is not None and b"\0" not in name else b""
