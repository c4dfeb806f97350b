"""Every script of the corpus with what a log could say of it.

A log's words are made out of the script itself: its own ports, hosts, paths, modules and programs are named, as a log
would name them.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from maple_agents.ask import sites
from maple_agents.diagnose.fix import MADE, treatment
from maple_agents.diagnose.fix.kinds.insertion import plain_words
from maple_agents.diagnose.fix.treatment import USUAL
from maple_agents.diagnose.recognise.log_facts import facts
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Digest, Ended, Event, Evidence, Place, Severity
from maple_agents.templates.knowledge import entries
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.submission import Submission

from tests.reality import corpus
from tests.submit_filter import rule_cases

from .fix_cases import site, submission

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
KINDS = ("diagnosis", "diagnosis-lab", "admission")
ENDINGS = (".sh", ".pbs", ".sbatch", ".slurm")
ENDED = Ended(state="failed", limit=3600.0, memory=8 << 30, used_memory=9 << 30)
NODE = "n3"
_PORT = re.compile(rb"(?<![\w.])(\d{4,5})(?![\w.])")
_HOST = re.compile(rb"MASTER_ADDR=[\"']?([A-Za-z][\w.-]*)")


@dataclass(frozen=True)
class Trial:
    """A fix with its arguments, and what the log said: *caught* by the signature, *unit* the lines of the event."""

    how: str
    give: Mapping[str, Any] = field(default_factory=dict)
    caught: Mapping[str, str] = field(default_factory=dict)
    unit: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "%s %s %s" % (self.how, dict(self.give), dict(self.caught))


@cache
def scripts() -> tuple[str, ...]:
    """Return the paths of every script of the corpus."""
    every = (
        one
        for kind in KINDS
        for one in glob.glob(os.path.join(ROOT, "tests", "cases", kind, "**", "*"), recursive=True)
    )
    laid = (*_of_corpus(), *_of_rules())
    return tuple(sorted(one for one in (*every, *laid) if one.endswith(ENDINGS) and os.path.isfile(one)))


def named(path: str) -> str:
    """Return what a script of the corpus is called, wherever it was laid: samples are drawn by it."""
    return os.path.relpath(path, _laid() if path.startswith(_laid()) else ROOT)


@cache
def _laid() -> str:
    """Return a folder that goes with this process."""
    folder = tempfile.mkdtemp(prefix="maple-cases-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _of_corpus() -> Iterator[str]:
    """Yield the paths of the hand-written scripts and of what lies beside them."""
    folder = os.path.join(_laid(), "tests", "cases")
    corpus.lay(folder, corpus.as_files())
    yield from (os.path.join(folder, file.path) for file in corpus.as_files())


def _of_rules() -> Iterator[str]:
    """Yield the paths of the rules' scripts, which lie in a file a rule."""
    for of in (rule_cases.FOLDER, rule_cases.OF_LAUNCH):
        for name, text in rule_cases.scripts(of):
            path = os.path.join(_laid(), "tests", "cases", os.path.basename(of), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text)
            yield path


def asked_of(path: str, cwd: str) -> tuple[Submission, Site]:
    """Return the submission of a corpus' script, at the site whose folder it stands in."""
    with open(path, "rb") as file:
        source = file.read()
    scheduler = "pbs" if b"#PBS" in source and b"#SBATCH" not in source else "slurm"
    words: tuple[str, ...] = ()
    named = os.path.splitext(path)[0] + ".argv"
    if os.path.isfile(named):
        with open(named, encoding="utf-8") as file:
            said = file.read().split()
        words = tuple(said[1:-1]) if said[:1] in (["sbatch"], ["qsub"]) else ()
    asked = submission(source, scheduler, words, cwd=cwd)
    where = os.path.basename(os.path.dirname(path))
    known = where in sites.ids()
    made = sites.load(where) if known else site("", scheduler)
    return asked, made if made.scheduler == scheduler else site("", scheduler)


@cache
def of_knowledge() -> tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]:
    """Return every typed fix with the arguments that remedies give it."""
    named = {(one.how, tuple(sorted(one.give.items()))) for entry in entries().values() for one in entry.fixes}
    named |= {(one.how, tuple(sorted(one.give.items()))) for each in USUAL.values() for one in each}
    named |= {(how, ()) for how in MADE if how in ("master-of-job", "first-node", "kill-on-bad-exit")}
    return tuple(sorted((how, give) for how, give in named if how in MADE))


def trials(source: bytes) -> Iterator[Trial]:
    """Yield what may be asked of a script: each fix with each thing of the script that its log could name."""
    for how, give in of_knowledge():
        given = dict(give)
        for caught, said in _named(how, given, source):
            yield Trial(how, given, caught, (said,) if said else ())


def _named(how: str, give: Mapping[str, Any], source: bytes) -> Iterator[tuple[dict[str, str], str]]:
    """Yield what a log could have named, and its line."""
    if how == "port-of-job":
        for port in ["", *dict.fromkeys(one.decode() for one in _PORT.findall(source))][:5]:
            yield {"port": port}, "The server socket has failed to listen on port: %s EADDRINUSE" % port
    elif how in ("master-of-job", "ranks-of-tasks"):
        for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK"):
            yield {"variable": name}, "ValueError: environment variable %s expected, but not set" % name
    elif how == "first-node":
        for host in dict.fromkeys(_HOST.findall(source)):
            yield {}, "could not resolve hostname %s" % host.decode()
    elif how in ("near-path", "correct-value") and "{path}" in give.values():
        for path in _paths(source):
            yield {"path": path}, "No such file or directory: '%s'" % path
    elif how == "module-of-site" and not give:
        yield (
            {},
            "Lmod has detected the following error: The following module(s) are unknown: %s"
            % " ".join(word.text for word in plain_words(source) if word.nth > 1),
        )
    elif how == "replace-python":
        yield {"module": "packaged"}, "ModuleNotFoundError: No module named 'packaged'"
        yield {"name": "python"}, "python: command not found"
        yield {}, "SyntaxError: Non-ASCII character"
    elif "{name}" in give.values():
        for name in ("nvcc", "torchrun", "apptainer", "libcudart.so.12"):
            yield {"name": name}, "%s: command not found" % name
    elif how in ("raise-memory", "raise-walltime"):
        yield {}, ""
        yield {}, "slurmstepd: error: *** STEP 11.0 ON n1 CANCELLED AT 2026-03-07T03:40:00 DUE TO TIME LIMIT ***"
    elif how == "near-variable":
        yield {}, "torchrun: error: argument --nnodes: invalid _get_nnodes value: ''"
    elif how == "deepspeed-over-srun":
        yield {}, "pdsh@n1: n2: ssh exited with exit code 255"
    else:
        yield {"node": NODE, "host": NODE}, ""


def lay(folder: str, source: bytes) -> None:
    """Put files beside a script: for each path that it names one that is nearly called so, or a script that may not be
    executed; and an environment that has a package."""
    for path in _paths(source):
        if os.path.isabs(path) or ".." in path.split("/"):
            continue
        base, ending = os.path.splitext(os.path.join(folder, path))
        os.makedirs(os.path.dirname(base), exist_ok=True)
        with contextlib.suppress(OSError), open(base + ("" if ending == ".sh" else "x") + ending, "wb") as file:
            file.write(b"#!/bin/bash\n")
    package = os.path.join(folder, "venv", "lib", "python3.11", "site-packages", "packaged")
    os.makedirs(package, exist_ok=True)


def _paths(source: bytes) -> list[str]:
    """Return the words of a script that may be paths, what stands behind `=` as well."""
    every = (word.text.rpartition("=")[2] for word in plain_words(source))
    return list(dict.fromkeys(one for one in every if re.search(r"[a-z]{3}.*[./]|/", one) and "\n" not in one))[:12]


def cure(trial: Trial, asked: Submission, where: Site) -> Cure:
    """Return what comes of a trial, with all checks made."""
    event = Event(Place("log", 1), trial.unit[-1] if trial.unit else "", Severity.ERROR, trial.unit, (1,))
    digest = Digest(events=(event,))
    case = Case(ENDED, asked.scheduler, where, asked)
    said = (Evidence("log", 1, event.text),) if event.text else ()
    cause = Cause("entry", "unknown", "says", 9.0, 0.9, said, dict(trial.caught))
    known = facts(case, digest, None)
    return treatment.tried(
        trial.how, trial.give, cause, Cure("script_env", "plain"), Diagnosis(case, (cause,)), digest, known
    )
