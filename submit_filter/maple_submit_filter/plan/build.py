"""From a script and its settings to the launch plan: the script is played through, and what started is put in order."""

from __future__ import annotations

from typing import Dict, Hashable, List, Optional, Sequence, Set, Tuple

from ..launchers.grammar import place
from ..launchers.programs import Programs
from ..launchers.registry import foreign
from ..play.batch_shell import batch_shell, granted, login, presume
from ..play.scene import MOST_COMMANDS, Scene, Start, StepShape, Trail
from ..play.shell_state import Shell
from ..play.tape.recording import Tape
from ..site.facts import Site
from ..types.edits import Span
from ..types.job import JobScript, Read, Settings
from ..types.launch_plan import Breach, LaunchPlan, Link, Step
from ..types.submission import Submission
from ..types.text import Piece, Text, host, node_name, plain
from . import breach_kinds, groups, program_groups


def plan(
    submission: Submission,
    script: JobScript,
    settings: Settings,
    site: Site,
    arguments: Optional[Sequence[bytes]] = (),
    read: Optional[Read] = None,
    presumes: bool = False,
    tape: Optional[Tape] = None,
) -> LaunchPlan:
    """Return which processes the script would start.

    *read* returns the bytes of a file on disk, None where it cannot or may not be read; without it no file is read.
    *presumes*: what cannot be read is taken to change nothing, so that what follows is likely and never proven.
    *tape*: of a play of
    nearly the same script; an empty one records this.
    """
    scene = Scene(granted(submission, settings, site), site, read)
    scene.other_jobs = "array" in settings
    scene.shares_gpus = b"cuda-mps" in script.source or b"CUDA_MPS" in script.source
    scene.presumes = presumes
    programs = Programs(scene)
    source = Text((Piece(script.source, 0),))
    shell = batch_shell(submission, settings, scene.allocation, site, source, arguments)
    if presumes:
        presume(shell, settings)
        scene.submitted_in = plain(submission.cwd)
    _set_up(scene, shell, submission)
    if script.is_shell and script.interpreter.split(b" ")[0].rsplit(b"/", 1)[-1] != b"zsh":  # zsh splits no words
        programs.interpreter.script(source, shell, Trail(), tape if not presumes else None)
    steps = _steps(scene, script.source)
    assigned = {name: tuple(spans) for name, spans in scene.assigned.items()}
    unread = tuple((script.source.count(b"\n", 0, at) + 1 if at >= 0 else 0, why) for at, why in scene.unread)
    files, uses = tuple(scene.depends), tuple(shell.uses or ())
    return LaunchPlan(
        scene.allocation,
        tuple(steps),
        unread,
        assigned,
        _left(scene),
        files,
        uses,
        tuple(scene.ended) if not scene.trapped else (),
        presumes,
        _presumable(scene, shell),
        scene.strangers or scene.hidden,
        _leads(shell, scene, site),
        {name: text.raw for name, text in scene.files.items() if text is not None},
        scene.commands,
    )


def _leads(shell: Shell, scene: Scene, site: Site) -> Tuple[bytes, ...]:
    """Return what the script has set to the first node, by a name under which the other nodes reach it."""
    suffix = site.node_name_suffix.encode() if site.scheduler == "slurm" else b""
    names = (host(0) + suffix, node_name(0) + suffix)
    values = ((name, shell.value(name)) for name in scene.assigned)
    return tuple(name for name, value in values if value is not None and value.raw in names)


def _presumable(scene: Scene, shell: Shell) -> bool:
    """Return whether what nobody has read may have changed what starts."""
    trails = [start.trail for start in scene.starts] + [trail for trail, _ in scene.shapes.values()]
    if scene.hidden or not trails:
        return scene.hidden or bool(scene.unread)
    if scene.unread or scene.other_jobs or scene.misplaced or shell.lost:
        return True
    return any(trail.maybe or trail.doubts or any(_unsettled(link) for link in trail.links) for trail in trails)


def _unsettled(link: Link) -> bool:
    return bool(link.argv) and bool(foreign(link.argv[0].raw, link.around))


def _left(scene: Scene) -> Tuple[Span, ...]:
    """Return the launch lines that the script's end surely ends."""
    if scene.trapped or scene.commands > MOST_COMMANDS:
        return ()
    spans = (start.trail.span for start in scene.beside if not start.trail.maybe)
    return tuple(dict.fromkeys(span for span in spans if span is not None))


def _set_up(scene: Scene, shell: Shell, submission: Submission) -> None:
    """Lay out what commands on other nodes find there, and the node file of PBS."""
    home = submission.environment.get(b"HOME")
    scene.login, scene.begun_with = login(submission), dict(shell.variables)
    scene.home = plain(home) if home else None
    shell.uses = []
    if submission.scheduler == "pbs":
        from ..play import pbs_allocation as pbs

        scene.files[pbs.NODE_FILE.raw] = pbs.node_file(scene.allocation)
        scene.login_gpus = shell.place.gpus


def _steps(scene: Scene, source: bytes) -> List[Step]:
    keys: Dict[Tuple[object, ...], List[Start]] = {}
    for start in scene.starts:
        keys.setdefault(start.trail.key, []).append(start)
    shared = _meeting_phases(scene.starts)
    verdicts = _pooled(keys, shared, scene)
    out = [_step(key, starts, verdicts.get(key), scene, source) for key, starts in keys.items()]
    for key, (trail, shape) in scene.shapes.items():
        if shape.refused and not any(start[: len(key)] == key for start in keys):
            out.append(_refused(trail, shape, source))
    return sorted(out, key=lambda step: step.span)


def _meeting_phases(starts: Sequence[Start]) -> Set[int]:
    """Return the phases (stretches up to a `wait`) in which launch lines run beside each other."""
    return {start.trail.phase for start in starts if start.agent is not None and start.trail.background}


def _sure(starts: Sequence[Start], scene: Scene) -> bool:
    trails = [start.trail for start in starts]
    if scene.presumes:
        return not any(trail.maybe for trail in trails)
    return not scene.hidden and not any(trail.doubts or trail.maybe for trail in trails)


def _pooled(
    keys: Dict[Tuple[object, ...], List[Start]], shared: Set[int], scene: Scene
) -> Dict[Tuple[object, ...], groups.Verdict]:
    """Return each launch line's groups; lines in the background of one phase may form one world together."""
    pools: Dict[Hashable, List[Tuple[object, ...]]] = {}
    for key, starts in keys.items():
        if starts[0].agent is not None:
            phase = starts[0].trail.phase
            pools.setdefault(("beside", phase) if phase in shared else key, []).append(key)
    out: Dict[Tuple[object, ...], groups.Verdict] = {}
    for members in pools.values():
        starts = [start for key in members for start in keys[key] if start.agent is not None]
        shape = _shape(members[0], scene) if len(members) == 1 else None
        verdict = groups.of_agents(starts, shape, scene, _sure(starts, scene))
        if len(members) > 1 and _apart(starts):
            verdict = verdict._replace(
                breaches=tuple(breach for breach in verdict.breaches if breach.kind == breach_kinds.PORT_TAKEN)
            )
        out[members[0]] = verdict
        for key in members[1:]:
            out[key] = groups.Verdict((), ())
    return out


def _apart(starts: Sequence[Start]) -> bool:
    """Lines beside each other that are all for one node each are jobs of their own."""
    agents = [start.agent for start in starts]
    return all(agent is not None and agent.nnodes in ((1, 1), None) and not agent.empty for agent in agents)


def _shape(key: Tuple[object, ...], scene: Scene) -> Optional[StepShape]:
    """Return the shape that the outermost fanning launcher of a launch line gave it."""
    for length in range(1, len(key) + 1):
        noted = scene.shapes.get(key[:length])
        if noted is not None:
            return noted[1]
    return None


def _step(
    key: Tuple[object, ...], starts: List[Start], verdict: Optional[groups.Verdict], scene: Scene, source: bytes
) -> Step:
    first = starts[0]
    shape = _shape(key, scene)
    if verdict is None:
        verdict = program_groups.of_programs(starts, shape, scene, _sure(starts, scene))
    span = first.trail.span or Span(0, 0)
    layout = set(shape.layout or ()) - {0} if shape is not None else set()
    doubts = tuple(dict.fromkeys(doubt for start in starts for doubt in start.trail.doubts))
    breaches = verdict.breaches + _refusals(shape, _sure(starts, scene))
    return Step(
        source.count(b"\n", 0, span.start) + 1,
        span,
        first.trail.links,
        verdict.groups,
        breaches,
        (shape.nodes or None) if shape is not None else 1,
        shape.tasks if shape is not None else 1,
        next(iter(layout)) if len(layout) == 1 else None if shape is not None else 1,
        first.agent.workers if first.agent is not None else None,
        tuple(text.raw for text in first.program),
        place(first.program[0]) if first.program else None,
        first.trail.background,
        first.trail.maybe,
        doubts,
        tuple(place(text) for text in first.program),
        first.trail.phase,
        first.trail.images,
        _folder(starts, scene),
        tuple(name for name in first.missing if all(name in start.missing for start in starts)),
        tuple(name for name in first.withheld if _is_withheld(name, starts, scene)),
    )


def _is_withheld(name: bytes, starts: List[Start], scene: Scene) -> bool:
    return name in scene.assigned and all(name in start.withheld for start in starts)


def _folder(starts: List[Start], scene: Scene) -> bytes:
    """Return where all of them start, b"" where that is not known; what is presumed lies where the script does."""
    folders = {start.folder.raw if start.folder is not None else b"" for start in starts}
    only = next(iter(folders)) if len(folders) == 1 else b""
    known = bool(only) and b"\0" not in only
    return only if known else scene.submitted_in.raw if scene.submitted_in is not None else b""


def _refusals(shape: Optional[StepShape], sure: bool) -> Tuple[Breach, ...]:
    if shape is None or not shape.refused or not sure:
        return ()
    return (Breach(breach_kinds.REFUSED, {"nodes": shape.nodes}, {}, (shape.refused.encode(),)),)


def _refused(trail: Trail, shape: StepShape, source: bytes) -> Step:
    span = trail.span or Span(0, 0)
    breaches = _refusals(shape, not trail.doubts and not trail.maybe)
    line = source.count(b"\n", 0, span.start) + 1
    return Step(
        line, span, trail.links, (), breaches, shape.nodes, shape.tasks, None, None, (), None, False, trail.maybe, ()
    )
