"""What a task reads must have been exported."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...cures.exports import exported
from ...cures.launch_edits import change, first_node_fixes
from ...cures.option_edits import at, restate
from ...launchers.grammar import place
from ...launchers.mpi.layout import by_ssh
from ...launchers.rank_words import first_node
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Option, Step
from .. import rule
from ..launch.mpl304_node_rank import own_node_rank
from ..program_text import files_read

NOT_EXPORTED, NOT_BY_SRUN = "not exported", "srun --export leaves it out"
NOT_BY_X = "over ssh mpirun passes on what -x names alone"
NOT_BY_JOB = "srun takes over the job's --export, which leaves it out"
_CLEAR = re.compile(rb"--cleanenv|--containall|--contain-all|--compat|\benv +-i?|\s-e\s")


@rule("MPL402", "a variable is empty in the tasks because it was never exported")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Tasks are new processes: of the batch script's variables they see those that were exported.

    Wrong: HEAD=$(hostname) ... srun bash -c 'torchrun --master-addr=$HEAD ...'
    Right: export HEAD=$(hostname) ... srun bash -c 'torchrun --master-addr=$HEAD ...'
    Wrong: srun --export=NCCL_DEBUG=INFO ... (the tasks see nothing else; --export=ALL,NCCL_DEBUG=INFO adds to it)
    Wrong: export HEAD=... ; ssh $node 'torchrun --master-addr=$HEAD ...' (ssh, pbs_tmrsh and pbsdsh pass nothing on)
    Why:   inside the single quotes the task's own shell looks HEAD up, finds nothing, and the option is empty. One that
           nothing reads, such as --rdzv-endpoint beside --standalone, may be empty.
    """
    for step in plan.steps:
        findings = list(_of_breaches(step, plan, job, site))
        findings = findings or list(_environment_lost(step, job))
        yield from findings or _meeting_lost(step, plan, job)


def _of_breaches(step: Step, plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    for breach in step.breaches:
        if breach.kind == breach_kinds.MASTER_EMPTY:
            yield _finding(step, breach, plan, job, site)
        if breach.kind == breach_kinds.WITHHELD:
            yield from _withheld(step, breach, plan, job)
        if breach.kind == breach_kinds.OPTION_EMPTY:
            yield _empty(step, breach, plan, job, site)


_SET_UP = re.compile(
    rb"(?m)(?:^|;|&&)[ \t]*"
    rb"(?:(?:source|\.)[ \t]+\S*activate\b|(?:conda|mamba|micromamba)[ \t]+activate\b|module[ \t]+load\b)"
)


def _environment_lost(step: Step, job: Job) -> Iterator[Finding]:
    """A list of --export without ALL, and a program that is found by the PATH which the script has set up."""
    srun = step.links[0] if step.links and step.links[0].name == "srun" else None
    if srun is None or job.submission.scheduler != "slurm" or step.maybe or b"SLURM_EXPORT_ENV" in job.source:
        return
    option, setting = srun.option("export"), job.settings.get("export")
    exported = (
        option.value.raw if option is not None and option.value is not None else setting.value if setting else b"ALL"
    )
    inner = step.links[1].argv[0].raw if step.links[1:] and step.links[1].argv else (step.program or (b"/",))[0]
    if b"ALL" in exported.upper().split(b",") or b"/" in inner or b"PATH" in exported or inner in _ANYWHERE:
        return
    if not _SET_UP.search(job.source, 0, step.span.start):
        yield from _of_submitter(step, inner, option, job)
        return
    place = option.value_span if option is not None else setting.origin.span if setting is not None else None
    edit = None
    if option is not None and option.value_span is not None:
        start, end = option.value_span
        edit = Edit(option.value_span, b"ALL" if exported == b"NONE" else b"ALL," + job.source[start:end], "MPL402")
    elif option is None and srun.options_at is not None:
        edit = Edit(Span(srun.options_at, srun.options_at), b" --export=ALL", "MPL402")
    fixes = (Fix((edit,), Safety.ASK, "pass the environment on"),) if edit is not None else ()
    says = "the tasks get no PATH of the script's: --export=%s leaves out what modules and activate have set"
    yield Finding("MPL402", says % exported.decode("utf-8", "replace"), place or step.span, fixes=fixes,
                  help="srun --export=ALL passes all on")  # fmt: skip


_SETS_PATH = re.compile(rb"PATH=|(?m:^#!.*[ \t]-\w*l)|\b(?:source|module|ml|eval|conda|spack)\b|(?m:^[ \t]*\.[ \t])")
_COMMENT = re.compile(rb"(?m)^[ \t]*#(?!!).*$")


def _of_submitter(step: Step, inner: bytes, option: Optional[Option], job: Job) -> Iterator[Finding]:
    """A list of sbatch's --export without ALL, where nothing in the script brings the program that starts the ranks."""
    setting = job.settings.get("export")
    if option is not None or setting is None or setting.value == b"NONE" or inner not in _OF_AN_ENVIRONMENT:
        return
    if _SETS_PATH.search(_COMMENT.sub(b"", job.source)) or b"\0" in setting.value:
        return
    made = restate(job, setting, b"ALL," + setting.value, "MPL402")
    says = "the job gets nothing of the environment that it is submitted from, and nothing here brings %s: --export=%s"
    shown = inner.decode("utf-8", "replace"), setting.value.decode("utf-8", "replace")
    yield Finding("MPL402", says % shown, at(setting),
                  fixes=(made.fix(Safety.ASK, "pass the environment on"),) if made is not None else (),
                  help="--export=ALL,NAME=value adds to it")  # fmt: skip


_OF_AN_ENVIRONMENT = (b"torchrun", b"accelerate", b"deepspeed")
_MEETING = (b"MASTER_ADDR", b"MASTER_PORT", b"WORLD_SIZE")


def _meeting_lost(step: Step, plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """A list of --export without ALL, on a line of several ranks, and variables by which these meet."""
    srun = step.links[0] if step.links and step.links[0].name == "srun" else None
    if srun is None or step.maybe or (step.tasks or 0) < 2:
        return
    option, setting = srun.option("export"), job.settings.get("export")
    own = option.value.raw if option is not None and option.value is not None else None
    of_job = setting.value if setting is not None and b"SLURM_EXPORT_ENV" not in job.source else b"ALL"
    listed = (of_job if own is None else own).upper().split(b",")
    if b"ALL" in listed or b"\0" in b"".join(listed):
        return
    passed = {item.partition(b"=")[0] for item in listed}
    before = {name: all(span.end <= step.span.start for span in plan.assigned.get(name, ())) for name in _MEETING}
    names = tuple(name for name in _MEETING if plan.assigned.get(name) and before[name] and name not in passed)
    exported_ = [name for name in names if re.search(rb"\bexport\b[^\n]*\b%s\b" % name, job.source)]
    if b"MASTER_ADDR" in exported_:
        says = "the tasks do not see %s: %s" % (_listed(tuple(exported_)), NOT_BY_JOB if own is None else NOT_BY_SRUN)
        fixes = _all_of_it(option, job) if option is not None else _all_of_job(srun)
        yield Finding("MPL402", says, option.span if option is not None and option.span else step.span, fixes=fixes,
                      help="srun --export=ALL passes all on")  # fmt: skip


def _all_of_job(srun: Link) -> Tuple[Fix, ...]:
    """Return what has one srun take all along, where it takes over that the job was to take nothing."""
    if srun.options_at is None:
        return ()
    here = Span(srun.options_at, srun.options_at)
    return (Fix((Edit(here, b" --export=ALL", "MPL402"),), Safety.ASK, "pass the environment on"),)


def _all_of_it(option: Option, job: Job) -> Tuple[Fix, ...]:
    if option.value_span is None:
        return ()
    listed = job.source[option.value_span.start : option.value_span.end]
    new = b"ALL" if listed == b"NONE" else b"ALL," + listed
    return (Fix((Edit(option.value_span, new, "MPL402"),), Safety.ASK, "pass the environment on"),)


_ANYWHERE = (b"bash", b"sh", b"env", b"hostname", b"apptainer", b"singularity", b"shifter")


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    names = _read_by(step, breach.names, job)
    if step.links and step.links[-1].name_span is None:  # a called file says it, and what this line hands it are words
        names = tuple(name for name in names if name in (b"MASTER_ADDR", b"MASTER_PORT"))
    shown = _listed(names)
    why = _why(step, job)
    single, some = "%s is empty in the tasks: it is set, but %s", "%s are empty in the tasks: they are set, but %s"
    says = (some if len(names) > 1 else single) % (shown, why) if names else "the master's address is empty"
    fixes = (
        _handed_on(names, step, plan, job) or _by_env(names, breach.names, step, plan, job)
        if names
        else first_node_fixes(breach.texts.get("master"), site, "MPL402", job.source, plan)
    )
    fixes = fixes or _set_for_file(step, plan, job, site)
    place = fixes[0].edits[0].span if names and fixes else step.span
    helps = _help(why) if names else "name the first node"
    return Finding("MPL402", says, place, True, fixes=tuple(fixes), help=helps)


def _withheld(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """A program need not read what the script sets for it; what its line names is handed to it as an argument."""
    line = job.source[step.span.start : step.span.end]
    names = tuple(name for name in breach.names if name not in _names_in(line, breach.names))
    if not names:
        return
    why, many = _why(step, job), len(names) > 1
    says = "the tasks do not see %s: the script sets %s, but %s" % (_listed(names), ("it", "them")[many], why)
    yield Finding("MPL402", says, step.span, fixes=_passed_on(names, step, plan, job), help=_help(why))


def _passed_on(names: Tuple[bytes, ...], step: Step, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Return what hands the variables on, as a suggestion: by the launcher, or into the container."""
    clear = _CLEAR.search(job.source, step.span.start, step.span.end)
    if clear is not None and clear.group().startswith(b"--"):
        gone = Span(clear.start() - 1, clear.end())
        return (Fix((Edit(gone, b"", "MPL402"),), Safety.ASK, "leave out %s" % clear.group().decode()),)
    return tuple(fix._replace(safety=Safety.ASK) for fix in _handed_on(names, step, plan, job))


def _help(why: str) -> str:
    if why == NOT_EXPORTED:
        return "export it"
    if why in (NOT_BY_SRUN, NOT_BY_JOB):
        return "srun --export=ALL passes all on"
    return "name it with -x" if why == NOT_BY_X else "write it into the command itself"


def _handed_on(names: Tuple[bytes, ...], step: Step, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Return what gives the tasks the variables: an export, or this shell's own expansion where none would follow."""
    why = _why(step, job)
    if why == NOT_EXPORTED:
        edits = exported(plan, job.source, names, "MPL402")
        return (Fix(tuple(edits), Safety.SAFE, "export " + _listed(names)),) if edits else ()
    if why == NOT_BY_JOB and step.links[0].options_at is not None:
        return _all_of_job(step.links[0])
    if why == NOT_BY_SRUN:
        return _in_list(names, step, job)
    if why == NOT_BY_X:
        return _by_x(names, step, job)
    listed = next(
        (link.option("envlist", "genvlist") for link in step.links if link.option("envlist", "genvlist")), None
    )
    if listed is not None and listed.value_span is not None:
        end = listed.value_span.end
        edit = Edit(Span(end, end), b"".join(b"," + name for name in names), "MPL402")
        return (Fix((edit,), Safety.SAFE, "pass on " + _listed(names)),)
    line = job.source[step.span.start : step.span.end]
    pattern = rb"\\(?=\$\{?(?:%s)\b)" % b"|".join(map(re.escape, names))
    starts = [step.span.start + match.start() for match in re.finditer(pattern, line)]
    drops = tuple(Edit(Span(start, start + 1), b"", "MPL402") for start in starts)
    if not drops:
        return _here(names, step, job)
    return (Fix(drops, Safety.SAFE, "this shell expands %s" % _listed(names)),)


_SINGLE = re.compile(rb"(?<![\w$\"'\\])'([^'\"`\\\n]*)'(?=[ \t]*(?:[&;|)>\n]|$))")


def _here(names: Tuple[bytes, ...], step: Step, job: Job) -> Tuple[Fix, ...]:
    """Put the last word of a line, a command in single quotes, into double ones: this shell expands what it has set."""
    end = job.source.find(b"\n", step.span.end)
    match = _SINGLE.search(job.source, step.span.start, end if end >= 0 else len(job.source))
    if match is None or b"$(" in match.group(1):
        return ()
    used = [(use.start(), use.group(1)) for use in re.finditer(rb"\$\{?(\w+)", match.group(1))]
    if not any(name in names for _, name in used):
        return ()
    quotes = [Span(match.start(), match.start() + 1), Span(match.end() - 1, match.end())]
    later = [match.start(1) + at for at, name in used if name not in names]
    edits = [Edit(span, b'"', "MPL402") for span in quotes] + [Edit(Span(at, at), b"\\", "MPL402") for at in later]
    return (Fix(tuple(edits), Safety.SAFE, "this shell expands %s" % _listed(names)),)


def _by_env(
    names: Tuple[bytes, ...], lost: Tuple[bytes, ...], step: Step, plan: LaunchPlan, job: Job
) -> Tuple[Fix, ...]:
    """Say the variables in front of the command that ssh, pbs_tmrsh or pbsdsh carry: this shell expands them.

    Those of the *lost* that a called file reads besides, and that the script itself has set, go along.
    """
    link = next((link for link in step.links if link.name in _CARRIERS), None)
    last = place(link.argv[-1]) if link is not None else None
    if last is None:
        return ()
    texts = [*(text for _, text in files_read(plan, job, b".sh")), *plan.written.values()]
    read = {name for text in texts for name in re.findall(rb"\$\{?([A-Za-z_]\w*)", text)}
    more = (name for name in plan.assigned if name in read and name in lost)
    every = tuple(dict.fromkeys((*names, *more)))
    words = b"".join(b' %s="$%s"' % (name, name) for name in every)
    edit = Edit(Span(last.end, last.end), b" /usr/bin/env" + words, "MPL402")
    return (Fix((edit,), Safety.ASK, "say %s in front of the command" % _listed(every)),)


_CARRIERS = ("ssh", "pbs_tmrsh", "pbsdsh")
_MPIRUN = re.compile(rb"(?:\S*\bmpi(?:run|exec)|\$\((?:which|command -v|type -P)[ \t]+mpi(?:run|exec)\))(?=\s)")


def _by_x(names: Tuple[bytes, ...], step: Step, job: Job) -> Tuple[Fix, ...]:
    """Name the variables behind mpirun, whichever way it is called."""
    match = _MPIRUN.search(job.source, step.span.start, step.span.end)
    if match is None:
        return ()
    words = b"".join(b" -x " + name for name in names)
    return (Fix((Edit(Span(match.end(), match.end()), words, "MPL402"),), Safety.ASK, "pass on " + _listed(names)),)


def _in_list(names: Tuple[bytes, ...], step: Step, job: Job) -> Tuple[Fix, ...]:
    """Add names to the list of --export, or ALL where the script has set up what else its tasks need: PATH, say."""
    span = next(option.value_span for link in step.links for option in link.options if option.name == "export")
    if span is None:
        return ()
    listed = job.source[span.start : span.end]
    if _SET_UP.search(job.source, 0, step.span.start) and b"PATH" not in listed:
        edit = Edit(span, b"ALL" if listed == b"NONE" else b"ALL," + listed, "MPL402")
        return (Fix((edit,), Safety.SAFE, "pass the environment on"),)
    edit = Edit(Span(span.end, span.end), b"".join(b"," + name for name in names), "MPL402")
    return (Fix((edit,), Safety.SAFE, "pass on " + _listed(names)),)


def _empty(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    """An option other than the master's address came out empty."""
    name = breach.texts["option"].raw.decode()
    option = step.links[-1].option(name) if step.links else None
    span = option.span if option is not None else None
    names = _names_in(job.source[span.start : span.end], breach.names) if span is not None else ()
    fixes = _handed_on(names, step, plan, job) if names else _as_granted(name, option, step, plan, job.source)
    if not fixes and step.links and name in ("node-rank", "machine-rank"):
        fixes = own_node_rank(step, step.links[-1], job, site)
    foreign = _of_other(job.source[span.start : span.end], job) if span is not None else ""
    says = (
        "--%s is empty in the tasks" % name
        + foreign
        + (": %s is set but %s" % (_listed(names), _why(step, job)) if names else "")
    )
    return Finding("MPL402", says, span or step.span, True, fixes=fixes, help="check where its value is set")


_ENDPOINT = re.compile(
    rb"--(?:rdzv[-_]endpoint|master[-_]addr|main_process_ip)[ \t=]+\"?\$\{?(\w+)\}?(?::\$\{?(\w+)\}?)?"
)


def _set_for_file(step: Step, plan: LaunchPlan, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Set in front of the line what a called file reads for the master, where the script has set none of it."""
    for _, text in files_read(plan, job, b".sh"):
        match = _ENDPOINT.search(text)
        name, port = match.groups() if match is not None else (b"", b"")
        if name and name not in plan.assigned:
            words = b"export " + name + b"=" + first_node(site)[0]
            words += b" %s=29500; " % port if port and port not in plan.assigned else b"; "
            edit = Edit(Span(step.span.start, step.span.start), words, "MPL402")
            return (Fix((edit,), Safety.ASK, "set %s to the job's first node" % name.decode()),)
    return ()


_GRANTED = {"nproc-per-node": "gpus_per_node", "nnodes": "nodes", "num-machines": "nodes", "num-nodes": "nodes"}


_NAMED = {"gpus_per_node": re.compile(rb"SLURM_GPUS_(?:PER|ON)_NODE\b"),
          "nodes": re.compile(rb"(?:SLURM_N?NODES|SLURM_JOB_NUM_NODES|PBS_NUM_NODES)\b")}  # fmt: skip


def _vanished(name: str, number: int, step: Step, source: bytes) -> List[Edit]:
    """Write the number for a bare variable behind the option: empty it is no word, so the option took the next one."""
    spelled = rb"--%s[ \t]+(\$\{?\w+\}?)(?=\s)" % name.encode().replace(b"-", b"[-_]")
    match = re.compile(spelled).search(source, step.span.start, step.span.end)
    if match is None or not _NAMED[_GRANTED[name]].search(match.group(1)):
        return []
    return [Edit(Span(*match.span(1)), b"%d" % number, "MPL402")]


def _as_granted(name: str, option: Optional[Option], step: Step, plan: LaunchPlan, source: bytes) -> Tuple[Fix, ...]:
    """Give a count the number that the scheduler grants: of nodes, or a rank for each GPU of a node.

    Where the empty word is the scheduler's own name for that number, no other was meant.
    """
    number = getattr(plan.allocation, _GRANTED.get(name, ""), None)
    edits = (change(option, b"%d" % number, "MPL402") or _vanished(name, number, step, source)) if number else None
    if not edits:
        return ()
    count = source[edits[0].span.start : edits[0].span.end]
    safety = Safety.SAFE if _NAMED[_GRANTED[name]].search(count) else Safety.ASK
    return (Fix(tuple(edits), safety, "--%s=%s" % (name, number)),)


def _of_other(written: bytes, job: Job) -> str:
    """Return what to say of the other scheduler's variables."""
    other, here = (b"PBS_", "Slurm") if job.submission.scheduler == "slurm" else (b"SLURM_", "PBS")
    match = re.search(rb"\$\{?(%s\w+)" % other, written)
    return ": %s sets no %s" % (here, match.group(1).decode()) if match else ""


def _why(step: Step, job: Job) -> str:
    """Return what keeps a variable from the tasks."""
    option = next((link.option("export") for link in step.links if link.name == "srun"), None)
    if option is not None and option.value is not None and b"ALL" not in option.value.raw.split(b","):
        return NOT_BY_SRUN
    of_job = job.settings.value("export") if job.submission.scheduler == "slurm" else None
    if option is None and of_job is not None and b"ALL" not in of_job.split(b",") and step.links[0].name == "srun":
        return NOT_BY_JOB
    if _CLEAR.search(job.source[step.span.start : step.span.end]):
        return "the program is started with a clean environment"
    if any(link.name == "mpiexec" and by_ssh(link) for link in step.links):
        return NOT_BY_X
    carrier = next((link.name for link in step.links if link.name in _CARRIERS), "")
    if carrier:
        return "%s does not pass variables on" % carrier
    kept = any(link.option("envnone", "genvnone", "envlist", "genvlist") for link in step.links)
    return "the launcher is told not to pass it" if kept else NOT_EXPORTED


def _listed(names: Tuple[bytes, ...]) -> str:
    return ", ".join(name.decode("ascii", "replace") for name in names)


def _names_in(written: bytes, names: Tuple[bytes, ...]) -> Tuple[bytes, ...]:
    used = set(re.findall(rb"\$\{?([A-Za-z_]\w*)", written))
    return tuple(dict.fromkeys(name for name in names if name in used))


def _read_by(step: Step, names: Tuple[bytes, ...], job: Job) -> Tuple[bytes, ...]:
    """Return those of the names that the launch line itself reads, or that programs read by convention."""
    line = job.source[step.span.start : step.span.end]
    later = set(re.findall(rb"\\\$\{?([A-Za-z_]\w*)", line))  # what only the task's shell expands
    used = later or set(re.findall(rb"\$\{?([A-Za-z_]\w*)", line)) | {b"MASTER_ADDR", b"MASTER_PORT"}
    return tuple(dict.fromkeys(name for name in names if name in used))
