"""Edits for launch lines: change, add or drop an option, start a line once on every node, move a value into the task.

Each function returns edits, or None where the place does not stand in the script byte for byte. Whether the edits cure
anything is not decided here: the plan is made again and must hold.
"""

from __future__ import annotations

import re
from typing import List, Optional, Sequence, Tuple

from ..launchers.grammar import place
from ..launchers.rank_words import first_node
from ..site.facts import Site
from ..types.edits import Edit, Fix, Safety, Span
from ..types.job import Job, Setting
from ..types.launch_plan import Allocation, LaunchPlan, Link, Option, Step
from ..types.text import Text

Edits = Optional[List[Edit]]
_ALIKE = re.compile(rb"(?:[\w./=:,@%+ \t-]|\\\n|\$\{?\w+\}?|\"(?:[\w./=:,@%+-]|\$\{?\w+\}?)*\")+")
_BARE = re.compile(rb"[ \t]+\$\{?\w+\}?(?=\s)")
_VARIABLE = re.compile(rb"\$\{?(\w+)")
_EXPORTED = re.compile(rb"^[ \t]*export[ \t]+(.*)", re.MULTILINE)
_CONTAINERS = (b"apptainer", b"singularity", b"shifter", b"podman", b"podman-hpc", b"sarus", b"enroot", b"ch-run")


def change(option: Optional[Option], value: bytes, why: str) -> Edits:
    """Give an option another value, where it stands."""
    if option is None or option.value_span is None:
        return None
    return [Edit(option.value_span, value, why)]


def put(link: Link, options: Sequence[Tuple[str, bytes]], why: str) -> Edits:
    """Set options of a launcher: those on its line are changed, the others stand behind its name."""
    edits: List[Edit] = []
    added = b""
    for name, value in options:
        option = link.option(name)
        if option is None:
            added += b" --" + name.encode() + b"=" + value
            continue
        changed = change(option, value, why)
        if changed is None:
            return None
        edits += changed
    if added:
        if link.options_at is None:
            return None
        edits.append(Edit(Span(link.options_at, link.options_at), added, why))
    return edits


def placed(link: Link, words: bytes, why: str) -> List[Edit]:
    """Say behind a launcher's name how ranks are placed, in words of their own: not every one takes an `=`."""
    return [Edit(Span(link.options_at, link.options_at), b" " + words, why)] if link.options_at is not None else []


def drop(source: bytes, option: Option, why: str) -> Edits:
    """Take an option off its line, with the blank in front of it."""
    if option.span is None:
        return None
    start, end = option.span
    if source[start - 1 : start] in (b" ", b"\t"):
        return [Edit(Span(start - 1, end), b"", why)]
    return None


def in_front(link: Link, words: bytes, why: str) -> Edits:
    """Put words in front of a launcher."""
    if link.name_span is None:
        return None
    return [Edit(Span(link.name_span.start, link.name_span.start), words + b" ", why)]


def around_image(step: Step, source: bytes, words: bytes, why: str) -> Edits:
    """Put words in front of the command that starts a launcher inside a container: the host has them, no image does."""
    at = step.span.start
    if (
        step.links[0].name_span is None
        or source[at : step.links[0].name_span.start].split(b" ", 1)[0] not in _CONTAINERS
    ):
        return None
    return [Edit(Span(at, at), words + b" ", why)]


def cpus_on_node(given: Allocation) -> Optional[int]:
    """Return how many CPUs the job has on a node, where the request says so."""
    if given.tasks_per_node is None or given.cpus_per_task is None:
        return None
    return given.tasks_per_node * given.cpus_per_task


def once_a_node(step: Step, srun: Link, plan: LaunchPlan, why: str) -> Edits:
    """Make srun start one task on each node; the task keeps the CPUs that the tasks of the node had together."""
    if step.nodes is None:
        return None
    options = [("ntasks", b"%d" % step.nodes), ("ntasks-per-node", b"1")]
    cpus = _cpus_of_one(step, srun, plan)
    if cpus is not None:
        options.append(("cpus-per-task", b"%d" % cpus))
    edits = put(srun, options, why)
    each = srun.option("gpus-per-task")
    if edits is None or each is None or step.tasks_per_node is None:
        return edits
    count = each.value.raw if each.value is not None else b""
    if not count.isdigit():
        return None
    more = change(each, b"%d" % (int(count) * step.tasks_per_node), why)
    return edits + more if more is not None else None


def _cpus_of_one(step: Step, srun: Link, plan: LaunchPlan) -> Optional[int]:
    """Return what `--cpus-per-task` the one task needs, None where it needs none said."""
    own = srun.option("cpus-per-task")
    given = plan.allocation
    has = cpus_on_node(given)
    each = given.cpus_per_task
    if own is not None and own.value is not None and own.value.raw.isdigit():
        each = int(own.value.raw)
    if each is not None and step.tasks_per_node is not None:
        together = each * step.tasks_per_node
        return min(together, has) if has is not None else together
    # Nobody said how many: a job of N tasks a node has one CPU for each, unless the node is its own.
    return step.tasks_per_node if given.shared is not False and given.tasks_per_node == step.tasks_per_node else None


def by_directive(job: Job, plan: LaunchPlan, step: Step, why: str) -> Edits:
    """Ask for one task a node in the directives, where no other step lives by them."""
    if len(plan.steps) != 1 or step.nodes is None:
        return None
    even = step.tasks // step.nodes if step.tasks and step.tasks % step.nodes == 0 else None
    factor = step.tasks_per_node or even
    if factor is None:
        return None
    edits: List[Edit] = []
    wanted: List[Tuple[str, int]] = []
    if "ntasks-per-node" in job.settings:
        wanted.append(("ntasks-per-node", 1))
    if "ntasks" in job.settings:
        wanted.append(("ntasks", step.nodes))
    for name in ("cpus-per-task", "gpus-per-task"):
        if name in job.settings:
            count = _number(job.settings.get(name))
            if count is None:
                return None
            wanted.append((name, count * factor))
    for name, number in wanted:
        changed = change_setting(job.settings.get(name), b"%d" % number, why)
        if changed is None:
            return None
        edits += changed
    if "cpus-per-task" not in job.settings and plan.allocation.shared is not False:
        return _with_cpus(job, edits, factor, why)
    return edits


def _with_cpus(job: Job, edits: List[Edit], cpus: int, why: str) -> Edits:
    """Say --cpus-per-task on the directive line of the tasks."""
    anchor = job.settings.get("ntasks-per-node") or job.settings.get("ntasks")
    if anchor is None or anchor.origin.span is None:
        return None
    end = anchor.origin.span.end
    return edits + [Edit(Span(end, end), b" --cpus-per-task=%d" % cpus, why)]


def _number(setting: Optional[Setting]) -> Optional[int]:
    return int(setting.value) if setting is not None and setting.value.isdigit() else None


def change_setting(setting: Optional[Setting], value: bytes, why: str) -> Edits:
    """Give a directive another value; None where it stands elsewhere (argv, environment)."""
    if setting is None or setting.origin.kind != "directive" or setting.origin.value_span is None:
        return None
    return [Edit(setting.origin.value_span, value, why)]


def srun_words(plan: LaunchPlan, nodes: int) -> bytes:
    """Return the srun that starts one task on each node with all the job has there."""
    words = b"srun --ntasks=%d --ntasks-per-node=1" % nodes
    cpus = cpus_on_node(plan.allocation)
    if cpus is None and plan.allocation.shared is not False and (plan.allocation.tasks_per_node or 1) > 1:
        cpus = plan.allocation.tasks_per_node
    return words + (b" --cpus-per-task=%d" % cpus if cpus else b"")


def in_task(source: bytes, step: Step, link: Link, name: str, spelling: bytes, value: bytes, why: str) -> Edits:
    """Have an option of a launcher expanded in the task and not in the batch shell.

    `LAUNCHER --node_rank=$SLURM_NODEID MORE` becomes `bash -c 'LAUNCHER --node_rank=$SLURM_NODEID MORE'` where MORE
    means the same there, else `bash -c 'exec LAUNCHER --node_rank="$SLURM_NODEID" "$@"' bash MORE`: every other word is
    still expanded where it was.
    """
    option = link.option(name)
    if link.name_span is None or (option is not None and option.span is None):
        return None
    launcher = source[link.name_span.start : link.name_span.end]
    if any(byte in launcher for byte in b"'\"$\n\\"):
        return None
    spelling = option.spelling if option is not None and option.spelling.startswith(b"--") else spelling
    option = _with_its_word(option, source)
    covered = option.span if option is not None else None
    end = _alike_in_task(source, step, link.name_span.start, covered)
    if end is not None:
        at = option.span if option is not None and option.span is not None else None
        words = spelling + b"=" + value
        return [
            Edit(Span(link.name_span.start, link.name_span.start), b"bash -c '", why),
            Edit(at, words, why)
            if at is not None
            else Edit(Span(link.name_span.end, link.name_span.end), b" " + words, why),
            Edit(Span(end, end), b"'", why),
        ]
    spelled = spelling + b'="' + value + b'"'
    edits = [Edit(link.name_span, b"bash -c 'exec " + launcher + b" " + spelled + b' "$@"\' bash', why)]
    if option is None:
        return edits
    dropped = drop(source, option, why)
    return edits + dropped if dropped is not None else None


def _with_its_word(option: Optional[Option], source: bytes) -> Optional[Option]:
    """Return an option with the bare variable behind it, which is empty here and so no word: it was to be its value."""
    if option is None or option.span is None or b"=" in source[option.span.start : option.span.end]:
        return option
    behind = _BARE.match(source, option.span.end)
    alone = behind is not None and source[option.span.start : option.span.end] == option.spelling
    return option._replace(span=Span(option.span.start, behind.end())) if alone and behind is not None else option


def _alike_in_task(source: bytes, step: Step, start: int, covered: Optional[Span] = None) -> Optional[int]:
    """Return where the words of a command end, if a shell of the task's own reads them as the batch shell does.

    They hold no quote that would end the text, and no variable but what the scheduler or an `export` gives the tasks.
    *covered*: an option that is written anew.
    """
    from ..play.availability import TASK, VARIABLES

    spans = step.program_spans
    if not spans or any(span is None for span in spans) or start < step.span.start:
        return None
    end = max(span.end for span in spans if span is not None)
    text = source[start:end]
    if covered is not None and start <= covered.start and covered.end <= end:
        text = source[start : covered.start] + source[covered.end : end]
    before = source[source.rfind(b"\n", 0, start) + 1 : start]
    if not _ALIKE.fullmatch(text) or b"'" in before or b'"' in before or end > step.span.end:
        return None
    exported = b" ".join(_EXPORTED.findall(source)).replace(b"=", b" ").split()
    names = _VARIABLE.findall(text)
    return end if all(name in exported or TASK in VARIABLES.get(name, ()) for name in names) else None


def task_value(span: Span, variable: bytes, why: str) -> Tuple[List[Edit], ...]:
    """Return ways to have the task expand a variable at *span*: bare inside single quotes, else escaped."""
    return ([Edit(span, b"$" + variable, why)], [Edit(span, b"\\$" + variable, why)])


def later(texts: Sequence[Optional[Text]], source: bytes, why: str) -> List[Edit]:
    """Have expansions inside double quotes made by the task's shell: a backslash in front of each `$`."""
    spans = [text.written() for text in texts if text is not None]
    starts = [span.start for span in spans if span is not None and source[span.start : span.start + 1] == b"$"]
    starts = [start for start in starts if source[start - 1 : start] != b"\\"]
    return [Edit(Span(start, start), b"\\", why) for start in starts]


def exec_in_task(source: bytes, step: Step, settings: Sequence[bytes], why: str) -> Edits:
    """Have variables set in the task, in front of a program: `bash -c 'RANK=$SLURM_PROCID python train.py'`.

    Where the program's words would mean something else there they stay where they are:
    `bash -c 'export RANK=$SLURM_PROCID; exec "$@"' bash python train.py $ARGS`.
    """
    at = step.program_span
    if at is None:
        return None
    here, end = Span(at.start, at.start), _alike_in_task(source, step, at.start)
    if end is not None:
        return [Edit(here, b"bash -c '" + b" ".join(settings) + b" ", why), Edit(Span(end, end), b"'", why)]
    words = b"bash -c 'export " + b" ".join(settings) + b'; exec "$@"\' bash '
    return [Edit(here, words, why)]


def replacements(text: Optional[Text], news: Sequence[bytes], why: str, source: bytes) -> List[List[Edit]]:
    """Return ways to write new bytes for a value: where its bytes stand, or where it is used.

    Behind a backslash the place is in the double quotes of a text for another shell, which new quotes would end;
    without it this shell expands the value.
    """
    if text is None:
        return []
    spans = [span for span in dict.fromkeys((text.span() if text.raw else None, text.written())) if span is not None]
    escaped = {span for span in spans if source[span.start - 1 : span.start] == b"\\"}
    ways = [[Edit(span, new, why)] for span in spans for new in news if span not in escaped or b'"' not in new]
    here = [Span(span.start - 1, span.end) for span in spans if span in escaped]
    return ways + [[Edit(span, new, why)] for span in here for new in news if b'"' not in new]


def first_node_fixes(text: Optional[Text], site: Site, why: str, source: bytes, plan: LaunchPlan) -> Tuple[Fix, ...]:
    """Return fixes that make the job's first node the master, where *text* names another."""
    return as_first_node(replacements(text, first_words(text, site, plan), why, source))


def first_words(text: Optional[Text], site: Site, plan: LaunchPlan) -> Tuple[bytes, ...]:
    """Return shell words for the job's first node: the script's own variable where one holds it, then the site's."""
    span = text.written() if text is not None else None
    return (*(own_first_node(plan, span.start) if span is not None else ()), *first_node(site))


def own_first_node(plan: LaunchPlan, before: int) -> Tuple[bytes, ...]:
    """Return the variable that a script has set to the job's first node in front of a place, if there is one."""
    last = {name: max(span.end for span in plan.assigned[name]) for name in plan.leads}
    names = sorted((end, name) for name, end in last.items() if end <= before)
    return (b"$" + names[-1][1],) if names else ()


def as_first_node(ways: Sequence[List[Edit]]) -> Tuple[Fix, ...]:
    """Return ways to name the first node as fixes: it says who leads, and changes nothing else about the run."""
    return tuple(Fix(tuple(edits), Safety.SAFE, "the job's first node is the master") for edits in ways)


def counted_hosts(plan: LaunchPlan, source: bytes, why: str) -> List[Edit]:
    """Count the hosts of PBS_NODEFILE where the script counts its lines, of which each host may have several."""
    edits = []
    for spans in plan.assigned.values():
        for span in spans:
            match = re.search(
                rb"(wc -l < |cat )(\"?\$\{?PBS_NODEFILE\}?\"?)( \| wc -l)?(?=[)`])", source[span.start : span.end]
            )
            if match is not None and (match.group(3) or match.group(1)[:2] == b"wc"):
                at = Span(span.start + match.start(), span.start + match.end())
                edits.append(Edit(at, b"sort -u " + match.group(2) + b" | wc -l", why))
    return edits


def as_offers(fixes: Sequence[Fix]) -> Tuple[Fix, ...]:
    """Return fixes that nobody makes unasked."""
    return tuple(fix._replace(safety=Safety.ASK) for fix in fixes)


def pointed_at(text: Optional[Text], step: Step) -> Span:
    """Return the place to show for a value: where it is written, else its launch line."""
    return (place(text) if text is not None else None) or step.span
