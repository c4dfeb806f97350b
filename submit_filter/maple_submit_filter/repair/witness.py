"""When an offer is sure enough to be made unasked: nothing right can be lost, and only one thing can be meant.

A script with a contradiction is refused, or its ranks never meet: no right job is harmed by a change of it. What is
left to fear is another wrong job, or a right one that nobody wanted. So the change as a whole is held against what was
submitted, or against what the user has written and nobody reads, and each difference needs a witness beside what is
corrected:

- of the request: it is the same value in other words; or only CPUs and memory become fewer, on which no result depends;
  or only where output goes, or which file systems the job waits for; or a place is named that is the only one for it
- of the worlds: they are as declared; or the world is as large as the tasks that start and the GPUs that are asked for;
  or the command line asks for other nodes than the directive, and the launch line counts those of the directive

A launcher that was not there is not known to work, what a program takes for its own words nobody has read, and a new
command may do more than it should. Another way to cure the same finding is another thing that can be meant, unless it
fails this proof.
"""

from __future__ import annotations

from typing import FrozenSet, Iterator, Optional, Sequence, Set

from ..cures.places import alike, for_a_purpose, has_a_price, open_to, route, takes, usual
from ..launchers.registry import AGENTS
from ..plan.declared_worlds import NODES, WORKERS, filling, lost
from ..request.scheduler_words import is_pbs
from ..request.slurm import values
from ..site.facts import Site
from ..types.edits import Fix
from ..types.findings import Finding
from ..types.job import Job, Setting
from ..types.launch_plan import Allocation, Step
from ..types.text import number
from .offers import UNREAD, Offer, Pair, differences
from .search import Again, Repair, State, tried

_CAPACITY = ("cpus-per-task", "mem", "mem-per-cpu", "mem-per-gpu")
_OUTPUT = ("keep", "output", "error", "comment", "mail-type", "mail-user")
_TIMES = ("time", "walltime")


def sure(start: State, offer: Offer, site: Site, again: Again) -> bool:
    """Return whether what offers lead to may be made unasked."""
    base, made = offer
    if not made.whole or not _proven(base, made.state, site):
        return False
    if base is not start and not _as_written(base, made.state):
        return False
    added = made.taken[1:] if base is not start else made.taken
    return not any(_adds_command(fix) for _, fix in added) and not any(_rivals(base, made, site, again))


def unasked(made: Repair) -> Repair:
    """Return a repair without what was said of its worlds to those who would have been asked."""
    taken = tuple((code, fix._replace(says=fix.says.partition(" (line ")[0])) for code, fix in made.taken)
    return made._replace(taken=taken)


def _adds_command(fix: Fix) -> bool:
    """Return whether a command is new, which may do more than cure: what follows a `cd` runs elsewhere too."""
    return any(word in edit.new for edit in fix.edits for word in (b"&&", b"; ", b"\n"))


def _proven(start: State, end: State, site: Site) -> bool:
    pairs = list(differences(start.job, end.job))
    steps = list(zip(start.plan.steps, end.plan.steps))
    follows = any(_counts_changed(old, new) for old, new in steps)
    if not follows and lost(start.played(), end.played()):
        return False
    return (
        all(_witnessed(pair, pairs, start, site) for pair in pairs)
        and _same_room(start.plan.allocation, end.plan.allocation, pairs)
        and all(_same_words(old, new) and _meant(old, new, start, end) for old, new in steps)
    )


def _as_written(heard: State, end: State) -> bool:
    """Return whether the user's own words, once they are read, say which worlds start, and all of them are read."""
    groups = [group for step in heard.plan.steps for group in step.groups]
    return all(group.declared == group.world_size is not None for group in groups) and not any(
        finding.code in UNREAD for finding in end.findings
    )


def _witnessed(pair: Pair, pairs: Sequence[Pair], start: State, site: Site) -> bool:
    """Return whether a difference of the request is none of what the job is."""
    old, new = pair
    name = next(setting.name for setting in pair if setting is not None)
    if name in _OUTPUT:
        return True
    if name in PLACES and new is not None:
        return is_only(name, old, new, start, site)
    if old is None and new is not None and any(demand.usual.encode() == new.value for demand in site.demands):
        return True  # which file systems it waits for: all that the site's samples name
    if old is None or new is None:
        return new is None and old is not None and any(_holds(other, old) for other in pairs)
    if name in _TIMES:
        return values.seconds(old.value) == values.seconds(new.value) is not None
    return _is_less(old.value, new.value) if name in _CAPACITY else any(_takes_in(pair, other) for other, _ in pairs)


def _is_less(old: bytes, new: bytes) -> bool:
    """Return whether a number became smaller; `0` of memory is all that a node has."""
    if old.isdigit() and new.isdigit():
        return int(new) < int(old)
    amounts = values.mebibytes(old), values.mebibytes(new)
    return None not in amounts and (amounts[1] or 0) < (amounts[0] or 0)


def _holds(other: Pair, gone: Setting) -> bool:
    return other[0] is not None and other[1] is not None and _takes_in(other, gone)


def _takes_in(pair: Pair, gone: Optional[Setting]) -> bool:
    """Return whether a value is the old one with another setting's words behind: `2:ngpus=4` and `ncpus=64`."""
    old, new = pair
    if old is None or new is None or gone is None:
        return False
    return new.value == old.value + b":" + gone.name.encode() + b"=" + gone.value


def _same_room(before: Allocation, after: Allocation, pairs: Sequence[Pair]) -> bool:
    """Return whether the scheduler gives the same nodes, tasks and GPUs, and it is known how many nodes."""
    if any(setting is not None and setting.name in PLACES for pair in pairs for setting in pair):
        before, after = _anywhere(before), _anywhere(after)  # it is the place that changes
    return _rest(before) == _rest(after)


def _rest(given: Allocation) -> Allocation:
    return given._replace(cpus_per_task=None, node_file=None)


def _anywhere(given: Allocation) -> Allocation:
    return given._replace(node_kinds=(), partition="", shared=None)


def _same_words(old: Step, new: Step) -> bool:
    """Return whether no launcher is new, and the program, where one was read, is told what it was told before."""
    known = {link.name for link in new.links} <= {link.name for link in old.links}
    return known and (not old.program or new.program == old.program)


def _meant(old: Step, new: Step, start: State, end: State) -> bool:
    """Return whether the worlds of a launch line have a witness beside the number that is corrected."""
    if not _fits(new, start.plan.allocation):
        return False
    if (old.groups, old.tasks) == (new.groups, new.tasks):
        return not _counts_changed(old, new)
    declared = frozenset(group.declared for group in old.groups if group.declared is not None)
    made = frozenset(group.world_size for group in new.groups)
    wanted = filling(start.plan.allocation) if _gpus_said(start) else None
    full = wanted.size if wanted is not None else None
    if old.groups and all(group.launcher not in AGENTS for group in old.groups) and len(declared) == 1:
        return all(group.nodes is not None for group in new.groups) and _outvoted(old.tasks, min(declared), full, made)
    if full is not None and old.tasks == full and made != {full}:
        return False  # the tasks may have been meant for the ranks
    if _counts_changed(old, new):
        return made == {full} and _overruled(start.job, old)
    counted = bool(declared) and any(link.option(*NODES, *WORKERS) for link in old.links)
    return made == declared or not made or (made == {full} and not counted and _own_words(new, start, end))


def _own_words(step: Step, start: State, end: State) -> bool:
    """Return whether the counts of a line that was not read before stand in the user's script as they are read now."""
    spans = [option.span for link in step.links for option in link.options if option.name in (*NODES, *WORKERS)]
    own = all(span is None or end.job.source[span.start : span.end] in start.job.source for span in spans)
    return own and _assigned(start) == _assigned(end)


def _assigned(state: State) -> Set[bytes]:
    return {state.job.source[span.start : span.end] for spans in state.plan.assigned.values() for span in spans}


def _gpus_said(state: State) -> bool:
    given = state.plan.allocation
    return bool(given.gpus_per_node or given.gpus or given.gpus_asked) or given.shared is False


def _outvoted(tasks: Optional[int], declared: int, full: Optional[int], made: FrozenSet[Optional[int]]) -> bool:
    """Return whether two of three numbers name the world that is made: tasks that start, what is said, GPUs asked for.

    A world that is said to be larger than all that was asked for may as well want more nodes.
    """
    if len(made) > 1 or [tasks, declared, full].count(*made) < 2:
        return False
    return declared in made or full is None or declared < full


def _counts_changed(old: Step, new: Step) -> bool:
    """Return whether a number of nodes or workers that the user wrote for a launcher is another now."""
    names = (*NODES, *WORKERS)
    for link, after in zip(old.links, new.links):
        was = {option.name: number(option.value) for option in link.options if option.name in names}
        now = {option.name: number(option.value) for option in after.options if option.name in names}
        if link.name in AGENTS and any(count is not None and now.get(name) != count for name, count in was.items()):
            return True
    return False


def _fits(step: Step, given: Allocation) -> bool:
    """Return whether no more tasks share a node than it has GPUs, where the job asks for some."""
    return not given.gpus_per_node or (step.tasks_per_node or 0) <= given.gpus_per_node


def _overruled(job: Job, step: Step) -> bool:
    """Return whether the command line asks for other nodes than the directive, and the line counts the directive's."""
    requests = job.settings.all("nodes") or job.settings.all("select")
    counts = [link.option(*NODES) for link in step.links if link.name in AGENTS]
    if len(requests) < 2 or requests[0].origin.kind != "argv" or not counts or counts[0] is None:
        return False
    beaten, now = (_leading(setting.value) for setting in requests[:2][::-1])
    return beaten is not None and now is not None and beaten == number(counts[0].value) != now


def _leading(value: bytes) -> Optional[int]:
    digits = value.partition(b":")[0]
    return int(digits) if digits.isdigit() else None


def _rivals(start: State, made: Repair, site: Site, again: Again) -> Iterator[Fix]:
    """Yield each other way to cure one of the findings that stands up to the proof, or that shows no fault."""
    taken = {(code, _plain(fix.says)) for code, fix in made.taken}
    codes = {code for code, _ in made.taken}
    for finding in start.proven():
        for fix in finding.fixes if finding.code in codes else ():
            if (finding.code, _plain(fix.says)) not in taken and _stands(finding, fix, start, site, again):
                yield fix


def _plain(says: str) -> str:
    return says.partition(" (line ")[0].partition(", with the counts")[0]


def _stands(finding: Finding, fix: Fix, start: State, site: Site, again: Again) -> bool:
    """Return whether a fix cures a finding in a way that may be meant, on whichever nodes."""
    after = tried(start, fix, again)
    if after is None or any((other.code, other.says) == (finding.code, finding.says) for other in after.proven()):
        return False
    pairs = list(differences(start.job, after.job))
    return all(_witnessed(pair, pairs, start, site) for pair in pairs) and all(
        _meant(old, new, start, after) for old, new in zip(start.plan.steps, after.plan.steps)
    )


PLACES = ("constraint", "partition", "queue")


def is_only(name: str, old: Optional[Setting], new: Setting, start: State, site: Site) -> bool:
    """Return whether *new* is the one value of the option *name* that the job as it was submitted can mean."""
    if name == "queue":
        return old is not None and (_leads_to(old, new, start, site) or _takes_alone(name, old, new, start, site))
    if name == "partition" and old is not None:
        return _takes_alone(name, old, new, start, site)
    if is_pbs(start.job) or not _gpus(start):
        return False
    if name == "constraint":
        return _only_feature(new.value.decode("utf-8", "replace"), start, site)
    return old is None and _charged_there(new.value.decode("utf-8", "replace"), start.job, site)


def _gpus(start: State) -> int:
    """Return how many GPUs the job asks for, on a node or in all."""
    given = start.plan.allocation
    return given.gpus_per_node or given.gpus or given.gpus_asked or 0


def _leads_to(old: Setting, new: Setting, start: State, site: Site) -> bool:
    """Return whether the routing queue brings the job into the queue that was named, and into no other."""
    from ..request.pbs import select  # not on the way of a Slurm job

    leads, walltime = route(site), start.job.settings.value("walltime") or b""
    rows = open_to(site, start.plan.allocation.nodes, select.seconds(walltime))
    return leads is not None and leads.name.encode() == new.value and [row.name.encode() for row in rows] == [old.value]


def _takes_alone(name: str, old: Setting, new: Setting, start: State, site: Site) -> bool:
    """Return whether one place alone takes all that a refused request asks for, on the nodes of the one it names.

    Places for a purpose are no choice of a job whose own has none.
    """
    nodes, seconds = start.plan.allocation.nodes, _seconds(start.job)
    row = next((row for row in site.partitions if (row.selector, row.name.encode()) == (name, old.value)), None)
    if row is None or row.routed or not row.sure or not nodes or not seconds or takes(row, nodes, seconds):
        return False
    fitting = [other for other in alike(site, row) if takes(other, nodes, seconds) and not has_a_price(other)]
    if not for_a_purpose(row):
        fitting = [other for other in fitting if not for_a_purpose(other)]
    pays = all((other.account_ending, for_a_purpose(other)) == (row.account_ending, False) for other in fitting)
    return pays and [other.name.encode() for other in fitting] == [new.value]


def _seconds(job: Job) -> Optional[int]:
    if is_pbs(job):
        from ..request.pbs import select

        return select.seconds(job.settings.value("walltime") or b"")
    return values.seconds(job.settings.value("time") or b"")


def _only_feature(feature: str, start: State, site: Site) -> bool:
    """Return whether nodes with enough GPUs, and no others, have a feature."""
    wanted = start.plan.allocation.gpus_per_node or 1
    able = {kind.name for kind in site.kinds if kind.gpus is None or kind.gpus >= wanted}
    return bool(able) and {kind.name for kind in site.kinds if feature in kind.features} == able


def _charged_there(partition: str, job: Job, site: Site) -> bool:
    """Return whether the account pays for a partition, and for no other but those for a purpose."""
    account = (job.settings.value("account") or b"").decode("utf-8", "replace")
    rows = [row for row in usual(site, "partition") if row.account_ending and account.endswith(row.account_ending)]
    return bool(account) and [row.name for row in rows] == [partition]
