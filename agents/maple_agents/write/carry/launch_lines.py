"""Edits of launch lines: the launchers' own words become those of the new cluster, all else on the line stays.

The layout of each launch line on the new cluster: the whole job, a part of it, or one task.
"""

from __future__ import annotations

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.edits import Edit, Span
from maple_submit_filter.types.launch_plan import Link

from ...ask.sites.launch_templates import LaunchFile
from ...base.slots import Refused
from ...request.script.launches import options_kept
from ...request.script.parts import Foreign, Launch, Words
from ...request.script.walk import FoundCommand, bare, context, texts
from ..compose import launch_line
from ..values import Layout, Plan
from . import rendezvous

_HARMLESS = {"srun": ("unbuffered", "label", "kill-on-bad-exit", "output", "error", "quiet", "wait"), "mpiexec": ()}
_WHERE = ("nodelist", "exclusive", "exact", "overlap", "relative")  # of a step on some of the job's nodes
_PREFIXES = (b"exec", b"time", b"command", b"builtin")
_MODES = ("config-file", "use-fsdp", "use-deepspeed", "use-megatron-lm", "cpu")


def edits(launch: Launch, foreign: Foreign, plan: Plan, layout: Layout, commands: list[FoundCommand]) -> list[Edit]:
    """Return the edits after which the line starts its program on *layout* by the plan's template."""
    because = "%s revision %d" % (plan.launch.name, plan.launch.revision)
    placed = plan._replace(layout=layout)
    changes: list[Edit] = []
    if launch.agent is not None:
        words = _agent(launch, foreign, placed)
        if words is not None:
            changes += _put(launch.agent, words, because)
    if launch.outer is not None:
        changes += _alone_at_last(launch, foreign) if _without_outer(launch, placed) else _put(
            launch.outer, _outer(launch, foreign, placed, plan.layout), because)  # fmt: skip
    elif layout.nodes > 1 or (launch.agent is None and not launch.small):
        start = command_word(launch, foreign.source, commands)
        changes.append(Edit(Span(start, start), _outer(launch, foreign, placed, plan.layout) + b" ", because))
    return changes


def command_word(launch: Launch, source: bytes, commands: list[FoundCommand]) -> int:
    """Return where the command that starts the agent begins: in front of its wrappers, behind its assignments.

    An agent in a script that the job writes itself is started by the one command that runs that script.
    """
    start = launch.steps[0].span.start
    if launch.quote.startswith(b"<"):
        start = _run_at(start, source, commands) or start
    holding = [
        command.command for command in commands if command.command.span.start <= start < command.command.span.end
    ]
    command = min(holding, key=lambda simple: simple.span.end - simple.span.start, default=None)
    if command is None or not command.words:
        return launch.agent.spans[0].start if launch.agent is not None else start
    words = [word for word in command.words if bare(b"", word) not in _PREFIXES]
    return (words or list(command.words))[0].span.start


def _run_at(start: int, source: bytes, commands: list[FoundCommand]) -> int | None:
    """Return where the script is run that a here-document around byte *start* becomes; None unless in one place."""
    names = [
        _file(source, each.target.span)
        for command in commands
        if _writes(command, start)
        for each in command.command.redirects
        if each.op == b">" and each.target is not None
    ]
    running = [
        command for command in commands for name in names[:1] if not command.inside and _runs(command, name, source)
    ]
    return running[0].command.span.start if len(running) == 1 else None


def _writes(command: FoundCommand, offset: int) -> bool:
    spans = [each.heredoc.span for each in command.command.redirects if each.heredoc is not None]
    return any(span.start <= offset < span.end for span in spans)


def _runs(command: FoundCommand, name: bytes, source: bytes) -> bool:
    words = [_file(source, word.span) for word in command.command.words]
    return words[:1] == [name] or (words[:1] in ([b"bash"], [b"sh"]) and name in words[1:])


def _file(source: bytes, span: Span) -> bytes:
    return source[span.start : span.end].strip(b"\"'").removeprefix(b"./")


def _without_outer(launch: Launch, plan: Plan) -> bool:
    """Tell whether a single task is better started by the batch shell: the launcher would start all of the job's."""
    return launch.small and launch.agent is None and "{" not in plan.launch.launch[0]


def _alone_at_last(launch: Launch, foreign: Foreign) -> list[Edit]:
    assert launch.outer is not None
    edits = []
    for span in launch.outer.spans:
        blanks = len(foreign.source[span.end :]) - len(foreign.source[span.end :].lstrip(b" \t"))
        edits.append(Edit(Span(span.start, span.end + blanks), b"", "one task"))
    return edits


def _put(words: Words, new: bytes, because: str) -> list[Edit]:
    first, *others = words.spans
    return [Edit(first, new, because), *(Edit(span, b"", because) for span in others)]


def _outer(launch: Launch, foreign: Foreign, plan: Plan, whole: Layout) -> bytes:
    """Return the words of the outer launcher; a step of fewer nodes than the job has says so."""
    words = launch_line.filled(outer_words(plan), plan)
    if plan.launch.when.over == "srun" and plan.layout.nodes < whole.nodes:
        words = words.replace("srun ", "srun --nodes=%d " % plan.layout.nodes, 1)
    made = words.encode()
    link = _link(launch, launch.outer)
    if link is None or link.name != plan.launch.when.over:
        return made
    harmless = _HARMLESS.get(link.name, ()) + (_WHERE if plan.layout.nodes < whole.nodes else ())
    kept = [text for name, text in _own(link, foreign) if name in harmless]
    return b" ".join([made, *kept])


def outer_words(plan: Plan) -> str:
    """Return the template's outer words with those that the site wants there."""
    return plan.launch.launch[0]


def _link(launch: Launch, words: Words | None) -> Link | None:
    links = launch.steps[0].links
    return next((link for link in links if words is not None and link.name == words.name), None)


def _own(link: Link, foreign: Foreign) -> list[tuple[str, bytes]]:
    return options_kept(link, (), foreign.source)


def _agent(launch: Launch, foreign: Foreign, plan: Plan) -> bytes | None:
    """Return the words of what starts the ranks of a node; None where they can stay as they are."""
    words, link = launch.agent, _link(launch, launch.agent)
    if words is None or link is None:
        return None
    kept = options_kept(link, AGENTS[words.name].layout, foreign.source)
    if plan.launch.when.launcher != words.name:
        kept = _of_other(launch, words.name, kept, plan)
    if plan.layout.nodes == 1:
        made = _alone(words.name, plan.layout, link, kept)
    else:
        inner = launch_line.filled(plan.launch.launch[1], plan)
        made = _without_mode(inner, link) if words.name == "accelerate" else inner
        made = rendezvous.in_text(made, words.quote) if words.quote else made
    own = made.encode()
    if words.name == "torchrun" and plan.launch.when.launcher == "torchrun":
        own = _name_kept(own, words, foreign)
    return b" ".join([own, *(text for _, text in kept)])


def _of_other(launch: Launch, name: str, kept: list[tuple[str, bytes]], plan: Plan) -> list[tuple[str, bytes]]:
    """Return the options that another launcher takes too. Raises `Refused` where one would be lost."""
    lost = [text for option, text in kept if option != "module"]
    if lost:
        raise Refused(
            "line %d: no launch template starts %s on %s, and %s does not take its %s"
            % (launch.line, name, plan.cluster.site.id, plan.launch.when.launcher, lost[0].decode("utf-8", "replace"))
        )
    return [("module", b"--module") for option, _ in kept if option == "module"]


def _name_kept(own: bytes, words: Words, foreign: Foreign) -> bytes:
    """Leave `python -m torch.distributed.run` as it was written: it names the user's own Python."""
    start, end = words.spans[0]
    own_words = foreign.source[start:end]
    name, dot, _ = own_words.partition(b"torch.distributed.run")
    return own.replace(b"torchrun", name + dot, 1) if dot and own.startswith(b"torchrun") else own


def _alone(name: str, layout: Layout, link: Link, kept: list[tuple[str, bytes]]) -> str:
    """Return the words for one node without an outer launcher."""
    ranks = layout.ranks_per_node
    if name == "torchrun":
        return "torchrun --standalone --nproc-per-node=%d" % ranks
    if name == "deepspeed":
        port = link.option("master-port")
        port_text = port.value.raw.decode("utf-8", "replace") if port is not None and port.value is not None else ""
        return "deepspeed --num_gpus=%d" % ranks + (" --master_port=%s" % port_text if port_text.isdigit() else "")
    several = " --multi_gpu" if ranks > 1 and not any(mode in _MODES for mode, _ in kept) else ""
    return "accelerate launch%s --num_machines=1 --num_processes=%d" % (several, ranks)


def _without_mode(inner: str, link: Link) -> str:
    """Take `--multi_gpu` away where the user chose another kind of run, with which accelerate refuses it."""
    chosen = any(link.option(name) is not None for name in _MODES)
    return inner.replace(" --multi_gpu", "") if chosen and link.option("multi-gpu") is None else inner


def rank_by_rank(launch: Launch, foreign: Foreign, plan: Plan) -> list[Edit]:
    """Return the edit that gives each rank its numbers, in front of its program or where its shell's text begins."""
    words = launch_line.filled(rendezvous.in_front(plan.launch), plan)
    because = "%s revision %d" % (plan.launch.name, plan.launch.revision)
    if not words or launch.program is None:
        return []
    if not launch.quote:
        start = launch.program.start
        return [Edit(Span(start, start), words.encode() + b" ", because)]
    text = context(texts(foreign.source), launch.program.start)
    numbers = [
        b"%s=%s" % (name.encode(), launch_line.filled(word, plan).encode())
        for name, word in rendezvous.ranks(plan.launch).items()
    ]
    return rendezvous.set_first(foreign.source, text, [b"export " + b" ".join(numbers)]) if text is not None else []


def python_template(plan: Plan) -> LaunchFile | None:
    """Return the template that starts single programs on this cluster, None where there is none."""
    if plan.launch.when.launcher == "python":
        return plan.launch
    every = [
        launch_file
        for each in plan.cluster.launches.values()
        for launch_file in each
        if launch_file.when.launcher == "python"
    ]
    same = [launch_file for launch_file in every if launch_file.when.over == plan.launch.when.over]
    return next(iter(same or every), None)


def layout_of(launch: Launch, foreign: Foreign, plan: Plan) -> Layout:
    """Return which ranks the line starts where.

    A line of the whole job gets the plan's layout; a smaller one keeps its nodes, and all their GPUs where it had all.
    """
    whole = plan.layout
    if launch.small:
        return Layout(1, min(1, whole.gpus_per_node), 1, 1, whole.cpus_per_task)
    nodes, ranks = (_nodes(launch), _ranks(launch)) if launch.outer is not None else (None, None)
    had = foreign.plan.allocation.nodes
    each = whole.ranks_per_node
    if nodes is None or had is None or nodes >= had or foreign.wrong:
        return whole._replace(tasks_per_node=1 if launch.agent is not None else each)
    if ranks and ranks < _usual(foreign):
        each = min(ranks, each)
    tasks = 1 if launch.agent is not None else each
    return whole._replace(nodes=min(nodes, whole.nodes), ranks_per_node=each, tasks_per_node=tasks)


def _nodes(launch: Launch) -> int | None:
    groups = [group for step in launch.steps for group in step.groups]
    counts = {group.nodes for group in groups}
    step = launch.steps[0]
    return counts.pop() if len(step.groups) == 1 and len(counts) == 1 else step.nodes


def _ranks(launch: Launch) -> int | None:
    counts = {group.ranks_per_node for step in launch.steps for group in step.groups}
    return counts.pop() if len(counts) == 1 else None


def _usual(foreign: Foreign) -> int:
    """Return the most ranks that any line starts on a node."""
    return max((_ranks(launch) or 1 for launch in foreign.launches), default=1)
