"""Who leads and who is which rank: what a script sets for that becomes what the new cluster's launcher says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.launchers.grammar import read
from maple_submit_filter.launchers.rank_words import first_node
from maple_submit_filter.launchers.srun_options import TABLE
from maple_submit_filter.types.edits import Edit, Span
from maple_submit_filter.types.text import plain

from ...ask.sites.launch_templates import LaunchFile
from ...request.script.launches import OF_TASK
from ...request.script.parts import Foreign
from ...request.script.walk import FoundCommand, Given, Text, bare, given, simple_commands, texts
from ..compose import launch_line
from ..values import Layout, Plan

RANK_NAMES = (b"RANK", b"LOCAL_RANK", b"WORLD_SIZE", b"NODE_RANK", b"WORLD_RANK", b"GROUP_RANK", b"LOCAL_WORLD_SIZE")
_MEANS = (
    (re.compile(rb".*LOCAL(?:_WORLD)?_?(?:SIZE|NRANKS)|MPI_LOCALNRANKS"), "LOCAL_WORLD_SIZE"),
    (re.compile(rb".*LOCAL_?(?:RANK)?(?:ID)?"), "LOCAL_RANK"),
    (re.compile(rb".*NODEID"), "NODE_RANK"),
    (re.compile(rb".*SIZE"), "WORLD_SIZE"),
    (re.compile(rb".*(?:RANKID|RANK|PROCID)"), "RANK"),
)
_LOCAL = (b"localhost", b"127.0.0.1", b"::1")
_MASK = re.compile(rb"(?:CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|ZE_AFFINITY_MASK)=")
_SUBSTITUTED = b"""awk '!seen[$0]++' "$PBS_NODEFILE\""""
_WITHOUT_QUOTES = b'uniq "$PBS_NODEFILE"'  # the lines of a node stand together


class Numbers:
    """The words in which a task of the new cluster finds its numbers."""

    def __init__(self, plan: Plan, layout: Layout, launch_file: LaunchFile | None) -> None:
        """*launch_file*: the template that starts programs rank by rank."""
        laid = plan._replace(layout=layout._replace(tasks_per_node=layout.ranks_per_node))
        own = {name: launch_line.filled(word, laid) for name, word in ranks(launch_file).items()} if launch_file else {}
        node = node_rank(_with_node_rank(plan))
        size, each = "%d" % layout.ranks, "%d" % layout.ranks_per_node
        self.by_name = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": each, "NODE_RANK": node, "GROUP_RANK": node, **own}
        self.nodes = layout.nodes
        self.by_name["WORLD_RANK"] = self.by_name.get("RANK", "")

    def of(self, name: bytes) -> bytes:
        """Return the word for what a variable of another launcher means, b"" where there is none."""
        meaning = next((meaning for pattern, meaning in _MEANS if pattern.fullmatch(name)), "")
        return self.by_name.get(meaning, "").encode()

    def named(self, name: bytes) -> bytes:
        """Return the word for RANK, LOCAL_RANK and so on, b"" where there is none."""
        return self.by_name.get(name.decode(), "").encode()


def _with_node_rank(plan: Plan) -> tuple[LaunchFile, ...]:
    every = [launch_file for each in plan.cluster.launches.values() for launch_file in each]
    return tuple(launch_file for launch_file in every if launch_file.when.over == plan.launch.when.over)


def in_tasks(foreign: Foreign, numbers: Numbers) -> list[Edit]:
    """Return the edits by which texts for the shells of tasks give RANK and its like the new launcher's numbers."""
    found_edits: list[Edit] = []
    for text in scripts_of(foreign):
        escape = b"\\" if text.quote in (b'"', b"<") else b""
        masked = _MASK.search(foreign.source, *text.span) is not None
        for each in given_in(foreign.source, text):
            old = foreign.source[each.value.start : each.value.end]
            new = numbers.named(each.name)
            if each.name == b"MASTER_ADDR" and numbers.nodes > 1 and old.strip(b"\"'") in _LOCAL:
                new = b"$MASTER_ADDR"  # which the batch shell exports
            if not new or (each.name == b"LOCAL_RANK" and masked and old.strip(b"\"'") == b"0"):
                continue
            found_edits.append(Edit(each.value, new.replace(b"$", escape + b"$"), "rank"))
    return found_edits


def scripts_of(foreign: Foreign) -> list[Text]:
    """Return the texts that a shell of the tasks reads; a configuration that is written out is none and stays."""
    programs = [launch.program.start for launch in foreign.launches if launch.program is not None]
    return [
        text for text in texts(foreign.source) if not text.quote.startswith(b"<") or _is_script(text, foreign, programs)
    ]


def _is_script(text: Text, foreign: Foreign, programs: list[int]) -> bool:
    start, end = text.span
    body = foreign.source[start:end]
    if body.startswith(b"#!") or any(start <= program < end for program in programs):
        return True
    return re.search(rb"^export |[$\{](?:%s)\b" % OF_TASK.pattern, body, re.MULTILINE) is not None


def given_in(source: bytes, text: Text) -> list[Given]:
    """Return the rank variables that a text gives a value; a here-document that is no script gives none."""
    commands = simple_commands(source, *text.span)
    return [each for each in given(source, commands) if each.name in (*RANK_NAMES, b"MASTER_ADDR")]


def other_numbers(foreign: Foreign, numbers: Numbers, taken: list[Edit]) -> list[Edit]:
    """Return the edits by which the rest of these texts reads the new launcher's variables.

    A program keeps its arguments as they are: variables that it names are set in front of it.
    """
    covered = [edit.span for edit in taken]
    out: list[Edit] = []
    for text in scripts_of(foreign):
        wanted: dict[bytes, None] = {}
        for span, name in _task_variables(foreign.source, text):
            new = numbers.of(name)
            if (
                not new.startswith(b"$")
                or new[1:] == name
                or any(edit.start <= span.start < edit.end for edit in covered)
            ):
                continue
            if any(launch.program is not None and _holds(launch.program, span) for launch in foreign.launches):
                wanted[name + b"=" + new] = None
            else:
                out.append(Edit(span, new[1:], "rank"))
        out += set_first(foreign.source, text, list(wanted))
    return out


def _task_variables(source: bytes, text: Text) -> Iterator[tuple[Span, bytes]]:
    """Yield the places in a text where a task's own variable is read."""
    start, end = text.span
    for match in re.finditer(rb"(?<=[$\{])(?:%s)\b" % OF_TASK.pattern, source[start:end]):
        yield Span(start + match.start(), start + match.end()), match[0]


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start < outer.end


def set_first(source: bytes, text: Text, settings: list[bytes]) -> list[Edit]:
    """Return the edit that sets variables where a text begins, behind the line that names its shell."""
    if not settings:
        return []
    start = text.span.start
    if source.startswith(b"#!", start):
        start = source.index(b"\n", start) + 1
    escape = b"\\" if text.quote in (b'"', b"<") else b""
    glue = b"; " if text.quote in (b"'", b'"') else b"\n"
    return [
        Edit(Span(start, start), b"".join(setting.replace(b"$", escape + b"$") + glue for setting in settings), "rank")
    ]


def in_batch(foreign: Foreign, plan: Plan, layout: Layout, commands: list[FoundCommand]) -> list[Edit]:
    """Return the edits by which the batch shell names the master and the size of the world as they are now."""
    master = first_node(plan.cluster.site)[0]
    out: list[Edit] = []
    for each in given(foreign.source, commands):
        old = foreign.source[each.value.start : each.value.end].strip(b"\"'")
        if each.name == b"MASTER_ADDR" and not (layout.nodes == 1 and old in _LOCAL):
            out.append(Edit(each.value, master, "master"))
        elif each.name == b"WORLD_SIZE":
            out.append(Edit(each.value, b"%d" % layout.ranks, "world"))
    return out


def has_ranks(foreign: Foreign) -> bool:
    """Tell whether the script itself tells each task its rank."""
    return any(each.name == b"RANK" for text in scripts_of(foreign) for each in given_in(foreign.source, text))


def node_lists(foreign: Foreign, plan: Plan, commands: list[FoundCommand]) -> Iterator[Edit]:
    """Replace what only Slurm's commands can say: the list of nodes, and what one node says of itself."""
    site = plan.cluster.site
    for command in commands:
        words = [bare(foreign.source, word) for word in command.command.words]
        if not words:
            continue
        whole = Span(command.command.words[0].span.start, command.command.words[-1].span.end)
        if words[:2] == [b"scontrol", b"show"] and words[2:3] and b"hostnames".startswith(words[2]):
            if site.scheduler == "pbs":
                yield Edit(whole, _SUBSTITUTED, "node list")
        elif words[0] == b"srun" and command.inside and site.launcher("srun") in ("absent", "discouraged", "unknown"):
            at = _program(command, foreign.source)
            if at is not None and words[at] in (b"hostname", b"ip", b"host", b"uname") and site.scheduler != "slurm":
                yield Edit(Span(whole.start, command.command.words[at].span.start), b"", "first node")


def _program(command: FoundCommand, source: bytes) -> int | None:
    """Return the index of the word that an srun starts, None where that cannot be told."""
    values = [plain(bare(source, word) or b"x") for word in command.command.words]
    reading = read(TABLE, values, 1)
    return reading.program if not reading.open and reading.program < len(values) else None


# The words of launch templates, taken apart: what a task sets for itself, and what stands around it.

_TASK = re.compile(r"""^bash -c 'exec (?P<text>.*?) "\$@"' bash ?(?P<rest>.*)$""", re.DOTALL)
_RANKS = re.compile(r"""^bash -c 'export (?P<text>[^;]*); exec "\$@"' bash ?(?P<rest>.*)$""", re.DOTALL)
_QUOTED = re.compile(r'"(\$\w+)"')
_SET = re.compile(r"(\w+)=(\S+)")
_NODE = re.compile(r'--(?:machine|node)_rank="?(\$\w+)"?')


class Inner(NamedTuple):
    """The inner words of a template. *task*: those that only a shell of the task can expand, ""; *rest*: others."""

    whole: str
    task: str
    rest: str


def inner(words: str) -> Inner:
    """Return the inner words taken apart."""
    match = _TASK.match(words)
    return Inner(words, match["text"], match["rest"]) if match else Inner(words, "", words)


def in_text(words: str, quote: bytes) -> str:
    """Return the words for a text that the shell of the task reads: in single or double quotes, or a here-document."""
    made = inner(words)
    task = made.task
    if quote in (b'"', b"<"):
        task = _QUOTED.sub(r"\1", task).replace("$", r"\$")
    joined = " ".join(filter(None, (task, made.rest)))
    return _QUOTED.sub(r"\1", joined).replace('"', "") if quote == b'"' else joined


def ranks(launch_file: LaunchFile) -> dict[str, str]:
    """Return what each variable of a rank is set to in its task, by a template that starts rank by rank."""
    match = _RANKS.match(launch_file.launch[1])
    return dict(_SET.findall(match["text"])) if match else {}


def in_front(launch_file: LaunchFile) -> str:
    """Return the words that set a rank's variables in front of any program, "" where the template has none."""
    match = _RANKS.match(launch_file.launch[1])
    return launch_file.launch[1][: match.start("rest")].rstrip() if match else ""


def node_rank(files: tuple[LaunchFile, ...]) -> str:
    """Return the word for a node's number in its task, "" where no template has one."""
    matches = (_NODE.search(launch_file.launch[1]) for launch_file in files)
    return next((each[1] for each in matches if each), "")
