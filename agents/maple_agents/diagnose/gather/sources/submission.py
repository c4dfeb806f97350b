"""The submission as it was handed to the scheduler, made anew from what is known of it.

Where the submit command's words are not known, what the job was given stands in for them: a script whose directives
alone would give another allocation gets the options that make up the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from maple_submit_filter.answer.decision import understood
from maple_submit_filter.play.batch_shell import granted
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.launch_plan import Allocation
from maple_submit_filter.types.submission import Submission, travels

from . import job_facts
from .job_facts import JobFacts

_HET = re.compile(rb"^(#SBATCH)[ \t]+(?:hetjob|packjob)[ \t]*$", re.MULTILINE)  # between the parts' directives
_COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}
_NUMBERS = (("nodes", "nodes"), ("ntasks-per-node", "tasks_per_node"), ("ntasks", "tasks"))
_SAID = ("partition", "qos", "account", "constraint", "reservation", "time", "mem", "mem-per-cpu")
_ELSE = {"mem": ("mem-per-cpu", "mem-per-gpu"), "mem-per-cpu": ("mem", "mem-per-gpu")}  # options that say it instead
_PLANNED = ("--nodes=", "--ntasks", "--cpus-per-task=", "--gres=", "--gpus")
_OF_A_JOB = (b"SLURM_", b"PBS_JOB", b"PBS_NODE", b"PBS_TASK", b"PBS_QUEUE", b"PBS_ENVIRONMENT", b"PMI_", b"OMPI_")


def asked(facts: JobFacts, site: Site) -> Optional[Submission]:
    """Return the submission, None where there is no script.

    Its environment is that of now, without what belongs to a job: schedulers do not tell what it was.
    """
    if facts.script is None:
        return None
    scheduler = facts.scheduler or site.scheduler
    argv, path = _words(facts, scheduler)
    made = Submission(
        scheduler=scheduler,
        argv=argv,
        script=facts.script,
        came="file" if path else "stdin",
        path=path,
        cwd=os.fsencode(facts.work_dir or "/"),
        uid=os.getuid() if facts.owner is None else facts.owner,
        environment=environment(facts, facts.script),
    )
    if facts.argv is not None or scheduler != "slurm":
        return made if facts.exact or _is_believed(made, facts) else asked(replace(facts, argv=None), site)
    if "+" in facts.id:  # of several components: sbatch's colon says so, and nothing is concluded from the first alone
        return made._replace(argv=(argv[0], b":", *argv[1:]))
    return _as_given(made, facts, site)


def made_up(facts: JobFacts, made: Optional[Submission]) -> list[str]:
    """Return a line where options stand in for a command line that nobody stored, and the launch plan lives by them."""
    if made is None or made.scheduler != "slurm" or made.argv[1:2] == (b":",):
        return []
    words = [os.fsdecode(word) for word in made.argv[1:] if word not in (facts.argv or ())]
    shown = [word for word in words if word.startswith(_PLANNED)]
    return ["the submit command is not known; judging by the job it had %s" % " ".join(shown)] if shown else []


def as_one(made: Submission) -> Submission:
    """Return a heterogeneous job as if it had one part: to look for files, not to conclude anything."""
    argv = tuple(word for word in made.argv if word != b":")
    script = _HET.sub(rb"\1", made.script) if made.script is not None else None
    return made._replace(argv=argv, script=script)


def _is_believed(made: Submission, facts: JobFacts) -> bool:
    """Return whether the words that a scheduler stored are read as they were meant: it keeps no quotes.

    `-J "a b" job.sh` is stored as `-J a b job.sh`; then the name of the job, or of the script, is another.
    """
    if made.scheduler != "slurm" or not facts.name:
        return True
    job = understood(made, None)
    if job is None:
        return False
    named = job.settings.value("job-name")
    name = os.fsdecode(named) if named is not None else os.path.basename(os.fsdecode(made.path)) or facts.name
    script = os.path.basename(facts.path)
    return name == facts.name and script in ("", os.path.basename(os.fsdecode(made.path)))


def _words(facts: JobFacts, scheduler: str) -> tuple[tuple[bytes, ...], bytes]:
    """Return the command's words, and the script's name among them; b"" where it came another way.

    A script that was wrapped or read from standard input is given so again: its bytes are known as a whole.
    """
    from maple_submit_filter.request.pbs import options as qsub_words
    from maple_submit_filter.request.slurm import options as sbatch_words

    command = _COMMANDS[scheduler]
    if facts.argv is not None:
        read = (qsub_words if scheduler == "pbs" else sbatch_words).read(facts.argv)
        if read is not None and read.came == "file":
            return (command, *facts.argv[1:]), facts.argv[read.word]
        if read is not None and read.came == "stdin":
            return (command, *facts.argv[1:]), b""
        if read is not None and read.came == "wrap":
            return (command, *_without_wrap(facts.argv)), b""
    path = os.fsencode(facts.path)
    return ((command, path, *(os.fsencode(word) for word in facts.arguments)), path) if path else ((command,), b"")


def _without_wrap(argv: tuple[bytes, ...]) -> tuple[bytes, ...]:
    out: list[bytes] = []
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if word.startswith(b"--wrap"):
            if b"=" not in word and words:
                words.pop(0)
            continue
        out.append(word)
    return tuple(out)


def environment(facts: JobFacts, script: bytes) -> dict[bytes, bytes]:
    """Return what the engine may know of the submit command's environment."""
    here = os.getuid() == facts.owner or facts.owner is None
    own: Mapping[bytes, bytes] = os.environb if here else {}
    kept = {name: value for name, value in own.items() if travels(name, script) and not name.startswith(_OF_A_JOB)}
    if not here and facts.owner is not None:
        kept[b"USER"] = kept[b"LOGNAME"] = job_facts.name_of(facts.owner).encode()
        kept[b"HOME"] = os.fsencode(job_facts.home_of(facts.owner))
    return {**{name: value for name, value in kept.items() if value}, **dict(facts.environment)}


def _as_given(made: Submission, facts: JobFacts, site: Site) -> Submission:
    """Return the submission with options for what the job had and its directives do not say."""
    shape = dict(facts.shape)
    made = _with_gpus(_with_numbers(made, shape, site), shape, site)
    job = understood(made, None)
    if job is None:
        return made
    if facts.index is not None and "array" not in job.settings:
        made = _with_option(made, "array", str(facts.index))
    for name in _SAID:
        wanted, value = shape.get(name, ""), job.settings.value(name)
        if (
            wanted
            and _differs(name, wanted, value, site)
            and not any(option in job.settings for option in _ELSE.get(name, ()))
        ):
            made = _with_option(made, name, wanted)
    if facts.name and facts.name != os.path.basename(facts.path) and "job-name" not in job.settings and facts.path:
        made = _with_option(made, "job-name", facts.name)
    return made


def _differs(name: str, wanted: str, value: Optional[bytes], site: Site) -> bool:
    """Return whether the job had something that its directives do not give: the command line said so."""
    if value is not None:
        return name in ("partition", "qos", "account", "reservation") and os.fsdecode(value) != wanted
    default = {"partition": site.default_partition, "qos": site.default_qos or "normal"}
    return name != "account" and wanted != default.get(name, "")


def _with_numbers(made: Submission, shape: Mapping[str, str], site: Site) -> Submission:
    for name, attribute in _NUMBERS:
        given = _given(made, site)
        number = getattr(given, attribute) if given is not None else None
        if given is not None and shape.get(name, "").isdigit() and number != int(shape[name]):
            made = _with_option(made, name, shape[name]) if number is not None or name != "ntasks" else made
    return made


def _with_gpus(made: Submission, shape: Mapping[str, str], site: Site) -> Submission:
    given = _given(made, site)
    each = shape.get("cpus-per-task", "")
    if given is None:
        return made
    if given.cpus_per_task is None and each.isdigit() and int(each) > 1:
        made = _with_option(made, "cpus-per-task", each)
    if given.gpus_per_node is None and given.gpus_per_task is None:
        name = next((name for name in ("gres", "gpus-per-task", "gpus") if shape.get(name)), "")
        made = _with_option(made, name, shape[name]) if name else made
    return made


def _given(made: Submission, site: Site) -> Optional[Allocation]:
    job = understood(made, None)
    return granted(made, job.settings, site) if job is not None else None


def _with_option(made: Submission, name: str, value: str) -> Submission:
    word = ("--%s=%s" % (name, value)).encode("utf-8", "surrogateescape")
    return made._replace(argv=(made.argv[0], word, *made.argv[1:]))
