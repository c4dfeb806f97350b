"""The smallest set of edits after which the plan holds; and the proof that it does.

Every candidate is tried: its edits are made, the script is read and played through again, and it counts only if fewer
contradictions are left. All or nothing: a repair that leaves one standing is no repair. Last of all, what is done
unasked leaves every world as it was meant (`meant`); anything else is at most offered, and says what it makes of it.
"""

from __future__ import annotations

from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..cures.origins import ways
from ..launchers.opaque_programs import OF_THE_SHELL
from ..launchers.registry import AGENTS
from ..plan import breach_kinds
from ..plan.declared_worlds import Loss, Played, lost, pinned
from ..play.availability import missing
from ..types.edits import Conflict, Fix, Safety, apply, apply_argv, written
from ..types.findings import Finding
from ..types.job import Job, line_of
from ..types.launch_plan import Group, LaunchPlan, Step
from .cost import Price, plainest_first, price

MOST_ROUNDS = 6
AS_NUMBERS = ", with the counts that would change written as numbers"


class State(NamedTuple):
    """A job with its plan and findings, as first submitted or after edits."""

    job: Job
    plan: LaunchPlan
    findings: Tuple[Finding, ...]

    def proven(self) -> Tuple[Finding, ...]:
        """Return the findings that are contradictions."""
        return tuple(finding for finding in self.findings if finding.proven)

    def played(self) -> Played:
        """Return the script and what its launch lines would start."""
        return Played(self.job.source, self.plan.steps, self.plan.allocation)


class Repair(NamedTuple):
    """Where the edits led. *whole*: nothing is contradicted any more. *held_back*: (code, why) of fixes not taken."""

    state: State
    whole: bool
    taken: Tuple[Tuple[str, Fix], ...]
    because: Tuple[Tuple[int, str], ...]
    held_back: Tuple[Tuple[str, str], ...]

    def behind(self, first: Optional["Repair"]) -> "Repair":
        """Return this repair with another before it: it began where that led."""
        if first is None:
            return self
        because = tuple(dict.fromkeys((*first.because, *self.because)))
        whole = self.whole or not self.state.proven()
        return Repair(self.state, whole, (*first.taken, *self.taken), because, self.held_back)


Locals = Tuple[Tuple[int, int], ...]
Submitted = Tuple[bytes, Tuple[bytes, ...]]
Again = Callable[[Job, bytes, Tuple[bytes, ...]], Optional[State]]


Taken = Tuple[str, Fix, State]  # the rule's code, its fix, and what that leads to


def repair(start: State, safeties: Sequence[str], again: Again) -> Repair:
    """Return what fixes of the given safeties lead to. *again* makes the state for changed bytes and argv."""
    held: List[Tuple[str, str]] = []
    seen: Set[Submitted] = set()

    def following(state: State) -> Optional[Taken]:
        seen.add(submitted(state))
        return _best(state, start, safeties, again, held, seen) if state.proven() else None

    state, taken, because = walked(start, MOST_ROUNDS, following)
    whole = not state.proven() and bool(taken)
    losses = lost(start.played(), state.played()) if whole else ()
    if losses and Safety.ASK not in safeties:
        held += [(taken[-1][0], str(loss)) for loss in losses]
        whole = False
    elif losses:
        taken[-1] = (taken[-1][0], _as_offer(taken[-1][1], losses))
    cured = {code for code, _ in taken} if whole else set()
    left = tuple(fromkey for fromkey in dict.fromkeys(held) if fromkey[0] not in cured)
    return Repair(state, whole, tuple(taken), because, left)


def walked(
    start: State, most: int, following: Callable[[State], Optional[Taken]]
) -> Tuple[State, List[Tuple[str, Fix]], Tuple[Tuple[int, str], ...]]:
    """Return where *following* leads in at most so many steps, these steps, and the lines that they change with why."""
    state = start
    taken: List[Tuple[str, Fix]] = []
    because: List[Tuple[int, str]] = []
    for _ in range(most):
        step = following(state)
        if step is None:
            break
        code, fix, after = step
        taken.append((code, fix))
        because += reasons(fix, state)
        state = after
    return state, taken, tuple(dict.fromkeys(because))


def reasons(fix: Fix, state: State) -> List[Tuple[int, str]]:
    """Return for each change of a fix the line of the script, 0 for the command line, and why."""
    lines = [(line_of(state.job.source, edit.span.start), edit.because) for edit in fix.edits]
    return lines + [(0, edit.because) for edit in fix.argv_edits]


def submitted(state: State) -> Submitted:
    """Return the script and the command line of a state."""
    return state.job.source, state.job.submission.argv


def _best(
    state: State, start: State, safeties: Sequence[str], again: Again, held: List[Tuple[str, str]], seen: Set[Submitted]
) -> Optional[Taken]:
    """Return a fix for the first finding that has one: of its ways the one that leaves fewest contradictions.

    Of equals, the one that keeps the world sizes and changes fewest bytes. What may be done unasked is tried first.
    """
    for safety in safeties:
        for finding in state.proven():
            chosen = _of_finding(finding, safety, state, start, again, held, seen)
            if chosen is not None:
                return chosen
    for finding in state.proven():
        if not finding.fixes:
            held.append((finding.code, "no fix is known"))
        others = (fix for fix in finding.fixes if fix.safety not in safeties)
        held.extend((finding.code, "needs your decision: " + fix.says) for fix in others)
    return None


def _of_finding(
    finding: Finding,
    safety: str,
    state: State,
    start: State,
    again: Again,
    held: List[Tuple[str, str]],
    seen: Set[Submitted],
) -> Optional[Taken]:
    """Return the best of a finding's fixes of one safety: the plainest; of those that say the same, the first."""
    cures: List[Tuple[Tuple[int, int, Price, int], Fix, State]] = []
    ordered = plainest_first(finding.fixes, state.job.source, state.plan.assigned)
    fixes = (way for fix in ordered for way in ways(fix, state.plan, state.job))
    for order, fix in enumerate(fixes):
        if fix.safety != safety or any(
            fix.says == other.says and not _its_doing(other, state, later) for _, other, later in cures
        ):
            continue
        after = tried(state, fix, again)
        why = _refused(finding, state, start, after, seen) or _unavailable(state, after, fix)
        if after is None or why:
            held.append((finding.code, why + ": " + fix.says))
            continue
        fix, after, losses = _keeping_worlds(fix, after, state, start, again)
        plain = price(fix, state.job.source, state.plan.assigned) if safety == Safety.SAFE else (0, 0)
        rank = (len(after.proven()), len(losses) + _asks_otherwise(start, after), plain, order)
        cures.append((rank, fix, after))
        if rank[:2] == (0, 0) and not fix.says.endswith(AS_NUMBERS):
            break  # no later one can do better: the plainest are tried first
    if not cures:
        return None
    _, fix, after = min(cures, key=lambda cure: cure[0])
    return finding.code, fix, after


def _asks_otherwise(start: State, after: State) -> int:
    """Return 1 where the job would ask for fewer nodes, which keeps no world as it was meant."""
    had, has = start.plan.allocation.nodes, after.plan.allocation.nodes
    return int(had is not None and (has is None or has < had))


def _keeping_worlds(
    fix: Fix, after: State, state: State, start: State, again: Again
) -> Tuple[Fix, State, Tuple[Loss, ...]]:
    """Return a fix, what it leads to, and the worlds it loses: with numbers in place of the words that it would change.

    `--num_processes=$SLURM_NTASKS` is another number once srun starts fewer tasks; the one that it was keeps the world.
    """
    losses = lost(start.played(), after.played())
    for edits in pinned(state.played(), after.played(), fix.edits) if losses else ():
        wider = fix._replace(edits=fix.edits + edits, says=fix.says + AS_NUMBERS)
        other = tried(state, wider, again)
        if other is not None and len(other.proven()) <= len(after.proven()):
            left = lost(start.played(), other.played())
            if len(left) < len(losses):
                return wider, other, left
    return fix, after, losses


def _as_offer(fix: Fix, losses: Tuple[Loss, ...]) -> Fix:
    """Return a fix that says what it makes of the worlds, which is not for Maple to decide."""
    return fix._replace(safety=Safety.ASK, says=fix.says + " (" + "; ".join(map(str, losses)) + ")")


def _its_doing(fix: Fix, before: State, after: State) -> bool:
    """Return whether a fix brought a contradiction about: a new one stands where it wrote, or nowhere in the script.

    What comes to light elsewhere once this is cured would do so whichever way it is cured.
    """
    known = {_key(finding, before) for finding in before.proven()}
    places = [finding.at for finding in after.proven() if _key(finding, after) not in known]
    spans = written(fix.edits)
    return any(at is None or any(at.start < span.end and span.start < at.end for span in spans) for at in places)


def _refused(finding: Finding, state: State, start: State, after: Optional[State], seen: Set[Submitted]) -> str:
    """Return why a fix is not to be used, "" when it may be."""
    if after is None or not _better(finding, state, after) or submitted(after) in seen:
        return "the launch would still be wrong with it"
    if not after.proven() and not shown(after, start):
        return "the repaired launch could not be proven right"
    return ""


def _unavailable(before: State, after: Optional[State], fix: Fix) -> str:
    if after is None:
        return ""
    return missing(before.plan.uses, after.plan.uses, fix.edits, after.job.source)


def tried(state: State, fix: Fix, again: Again, loops: bool = False) -> Optional[State]:
    """Return the state after a fix, None where it cannot be made or the result cannot be read.

    *loops*: a loop may start its line another number of times, and more lines be understood, which is for people to
    judge.
    """
    try:
        source = apply(state.job.source, fix.edits)
        argv = apply_argv(state.job.submission.argv, fix.argv_edits)
    except Conflict:
        return None
    if source == state.job.source and argv == state.job.submission.argv:
        return None
    if source.count(b"\n") != state.job.source.count(b"\n"):
        return None  # bash's line numbers stay the user's
    after = again(state.job, source, argv)
    return after if after is not None and _no_worse(state, after, loops) else None


def _better(finding: Finding, before: State, after: State) -> bool:
    """Return whether fewer contradictions are left, or this one gave way to another that a next round may cure."""
    left, had = len(after.proven()), len(before.proven())
    if before.job.script.unreadable and not after.job.script.refused:
        return True  # only now what the text says can be looked at
    same = any(
        (other.code, other.says, _key(other, after)) == (finding.code, finding.says, _key(finding, before))
        for other in after.proven()
    )
    return left < had or (left == had and not same)


def _key(finding: Finding, state: State) -> Tuple[str, int]:
    return finding.code, line_of(state.job.source, finding.at.start) if finding.at else 0


def _no_worse(before: State, after: State, loops: bool = False) -> bool:
    """Return whether what was understood still is: the same launch lines, no new doubt."""
    if before.job.script.refused:
        return True  # a text that sbatch does not take was not understood to begin with
    lines = [{step.line for step in state.plan.steps if _starts(step)} for state in (before, after)]
    count = sum(map(_starts, before.plan.steps))
    read_now = len(before.plan.unread) - len(after.plan.unread)
    more = len(after.plan.steps) + _joined(before, after) - count
    return read_now >= 0 and (lines[0] <= lines[1] if loops else 0 <= more <= read_now)


def _starts(step: Step) -> bool:
    """Return whether a launch line has a program to start: a command of the shell is none."""
    return not step.program[:1] or step.program[0] not in OF_THE_SHELL


def _joined(before: State, after: State) -> int:
    """Return how many launch lines have become the rest of the one above, which goes on there."""
    went_on = {
        line for step in after.plan.steps for line in range(step.line + 1, line_of(after.job.source, step.span.end) + 1)
    }
    return sum(step.line in went_on for step in before.plan.steps) - sum(
        step.line in went_on for step in after.plan.steps
    )


def shown(state: State, before: State) -> bool:
    """Return whether the plan shows, and does not merely fail to deny, that every line that was wrong is right now.

    What was not known of a launcher's world before need not be known now, where the fix has not touched it.
    """
    for old, new in _pairs(before.plan.steps, state.plan.steps):
        wrong = [breach for breach in old.breaches if breach.kind not in breach_kinds.UNPROVEN]
        same = {group.launcher: _locals(group) for group in old.groups}
        of_master = any(breach.kind.startswith("master") for breach in old.breaches)
        if wrong and not all(
            _is_whole(group, same.get(group.launcher)) or (not of_master and _as_unknown(group, old, new))
            for group in new.groups
        ):
            return False
        if of_master and any(group.master is None and group.nodes != 1 for group in new.groups):
            return False
    return True


def _pairs(old: Sequence[Step], new: Sequence[Step]) -> Iterator[Tuple[Step, Step]]:
    """Yield each launch line as it was and is: by its place, or by its line where others have come to light."""
    if len(old) == len(new):
        yield from zip(old, new)
        return
    by_line = {step.line: step for step in new}
    yield from ((step, by_line[step.line]) for step in old if step.line in by_line)


def _as_unknown(group: Group, old: Step, new: Step) -> bool:
    """Return whether no more is unknown of an agent's world than was: its master, its size, what it reaches alone."""
    if group.launcher not in AGENTS:
        return False
    if not old.groups and new.unknown:
        return True  # it was refused, and starts the rest by itself
    sized = group.world_size is not None and group.world_size == (group.declared or group.world_size)
    return any(
        other.master == group.master and (sized or other.world_size is other.declared is group.declared is None)
        for other in old.groups
        if other.launcher == group.launcher
    )


def _is_whole(group: Group, before: Optional[Locals]) -> bool:
    """Return whether every rank of a world is there, and local ranks that were not so *before* differ."""
    if group.world_size is None or group.world_size != (group.declared or group.world_size):
        return False
    if group.launcher not in AGENTS and not _has_each_rank(group, group.world_size):
        return False
    known = _locals(group)
    if group.launcher not in AGENTS and known != before and len(set(known)) < len(known):
        return False
    apart = group.nodes is None or group.nodes > 1
    return not apart or group.master is None or group.master.startswith((b"\0host:", b"\0addr:", b"\0name:"))


def _has_each_rank(group: Group, size: int) -> bool:
    """Return whether the ranks are 0 up to the size, each once; of samples, whether each is another one of these."""
    ranks = {process.rank for process in group.processes}
    if group.complete:
        return ranks == set(range(size))
    return len(ranks) == len(group.processes) and all(rank is not None and rank < size for rank in ranks)


def _locals(group: Group) -> Locals:
    """Return node and local rank of each process, as far as both are known."""
    return tuple(
        (process.node, process.local_rank)
        for process in group.processes
        if process.node is not None and process.local_rank is not None
    )
