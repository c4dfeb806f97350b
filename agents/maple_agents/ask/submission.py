"""What a command is asked about: a script, the words before it, and the site it would run on."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, NamedTuple, Optional, Sequence, Tuple

from maple_submit_filter.answer.report import printable
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission, travels

from ..base.complaint import Complaint

if TYPE_CHECKING:
    from maple_submit_filter.answer.decision import Decision, Rewritten
    from maple_submit_filter.site.modes import Policy

    from .sites.this_site import Here

MOST = 64 * 1024 * 1024  # bytes; far beyond what any scheduler takes for a script
GENERIC = {site.id: site for site in (GENERIC_SLURM, GENERIC_PBS)}
COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


class Answer(NamedTuple):
    """What was asked, and what the engine says of it. *name* is the script as people call it.

    *offers*: every way on offer, the decision's own first. *asks*: whether a submission on a terminal asks about that
    one. *policy*: the modes of the installation whose facts hold.
    """

    name: str
    submission: Submission
    site: Site
    decision: "Decision"
    known_by: str = ""  # from where it is known which site this is, as a phrase
    offers: "Tuple[Rewritten, ...]" = ()
    asks: bool = True
    policy: "Optional[Policy]" = None
    is_here: bool = True  # whether it would be submitted here

    @property
    def on_site(self) -> str:
        """The line that says for which site the answer holds."""
        return on_site(self.site.id, self.known_by)


def on_site(site_id: str, known_by: str) -> str:
    """Return the line that says for which site an answer holds, and from where that is known."""
    return printable(f"site: {site_id} ({known_by})")


class Looked:
    """Reads files, and remembers which were looked for below a folder and were there, or were not."""

    def __init__(self, folder: bytes) -> None:
        self.folder = folder.rstrip(b"/") + b"/"
        self.found = False
        self.missing: list[bytes] = []

    def read(self, path: bytes) -> Optional[bytes]:
        """Return what stands in a file, None where it may not or cannot be read."""
        content = read_file(path)
        if path.startswith(self.folder):
            self.found = self.found or content is not None
            if content is None:
                self.missing.append(os.path.normpath(path)[len(self.folder) :])
        return content

    def would_find(self, other: bytes) -> bool:
        """Return whether nothing of what was looked for lies in the folder, and some of it in the *other* one."""
        if self.found or other.rstrip(b"/") + b"/" == self.folder:
            return False
        return any(os.path.isfile(os.path.join(other, name)) for name in self.missing)


def answer(script: str, words: Sequence[str], site_id: Optional[str]) -> Answer:
    """Return what the engine decides of `sbatch WORDS… SCRIPT`, or qsub's, there; raises `Complaint` if it cannot.

    *script* is a path, or "-" for standard input. Where files that it names lie beside it, and none of them here, it is
    taken to be submitted from its own folder. Without *site_id* the site is the one we are on. Behind `--` among
    the *words* stand those that follow the script; without it nobody knows what these will be.
    """
    from maple_submit_filter.answer.decision import decide

    source = source_of(script)
    where = here_of(site_id, source)
    site = loaded(where)
    if words and not words[0].startswith("-"):
        example = "-- -l select=2" if site.scheduler == "pbs" else "-- --nodes=2"
        command = COMMANDS[site.scheduler].decode()
        raise Complaint(f"{words[0]}: one script at a time", f"words for {command} begin with an option: {example}")
    if script == "-" and split(words)[1]:
        raise Complaint("- takes no words behind it", "name a file: only a script in a file is given arguments")
    asked = submission(script, source, words, site.scheduler)
    looked = Looked(asked.cwd)
    decision = decide(asked, site, read=looked.read, peruse=looked.read)
    folder = os.path.dirname(os.path.abspath(os.fsencode(script))) if script != "-" else asked.cwd
    if looked.would_find(folder):
        asked = asked._replace(cwd=folder)
        decision = decide(asked, site, peruse=read_file)
    return Answer(
        "stdin" if script == "-" else script,
        asked,
        site,
        decision,
        where.why,
        policy=where.policy,
        is_here=site_id is None,
    )


def submission(script: str, source: bytes, words: Sequence[str], scheduler: str) -> Submission:
    """Return the submission that the scheduler's command would make of *words* and *script* here and now."""
    before, behind = split(words)
    argv = [COMMANDS[scheduler], *map(os.fsencode, before)]
    return Submission(
        scheduler=scheduler,
        argv=tuple([*argv, *([] if script == "-" else [os.fsencode(script)]), *map(os.fsencode, behind or ())]),
        script=source,
        came="stdin" if script == "-" else "file",
        path=b"" if script == "-" else os.fsencode(script),
        cwd=_cwd(),
        uid=os.getuid(),
        environment={name: value for name, value in os.environb.items() if travels(name, source)},
        whole=behind is not None,
    )


def split(words: Sequence[str]) -> Tuple[Sequence[str], Optional[Sequence[str]]]:
    """Return the words before the script and those behind it, which a `--` begins; None where it is not there."""
    at = list(words).index("--") if "--" in words else None
    return (words, None) if at is None else (words[:at], words[at + 1 :])


def _cwd() -> bytes:
    try:
        return os.getcwdb()
    except OSError:  # deleted, or closed to us: sbatch lives with that, and so do we
        return b"/"


def source_of(script: str) -> bytes:
    """Return the bytes of a file, or of standard input for "-". Raises `Complaint` where they cannot be read."""
    return _stdin() if script == "-" else _file(script)


def _stdin() -> bytes:
    if sys.stdin is None:
        raise Complaint("standard input is closed", "name a file instead of -")
    source = sys.stdin.buffer.read(MOST + 1)
    return _bounded(source, "standard input")


def _file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                raise Complaint(f"{path}: is a device", "name a batch script, or - for standard input")
            return _bounded(file.read(MOST + 1), path)
    except (OSError, ValueError) as error:
        why = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        raise Complaint(f"{path}: {why}", "name a batch script that you can read, or - for standard input") from error


def _bounded(source: bytes, name: str) -> bytes:
    if len(source) > MOST:
        raise Complaint(f"{name}: larger than {MOST >> 20} MiB", "no scheduler takes that as a batch script")
    return source


def site_of(site_id: Optional[str], source: bytes = b"") -> Site:
    """Return the site of that id, or the one we are on; where that is not known, one that nothing is known about.

    That one has the scheduler whose command is here; where both or none are, the one that the directives of *source*
    speak to.
    """
    return loaded(here_of(site_id, source))


def here_of(site_id: Optional[str], source: bytes = b"") -> "Here":
    """Return which site a command is about, and from where that is known."""
    from maple_agents.ask.sites.this_site import here

    return here(site_id, _unknown_cluster(source))


def loaded(where: "Here") -> Site:
    """Return its facts: those that the front of an installation goes by, else the site file's. Raises `Complaint`."""
    from maple_agents.ask import sites

    wanted = where.id
    if where.site is not None:
        return sites.as_verified(where.site)
    try:
        return sites.load(wanted)
    except ValueError as error:
        if wanted in GENERIC:
            return GENERIC[wanted]
        if wanted in sites.ids():
            raise Complaint(_first(error), f"see them all with: maple site lint {sites.shown(wanted)}") from error
        raise _no_such_site(wanted, sites.ids()) from error


def _unknown_cluster(source: bytes) -> str:
    from shutil import which

    here = {name for name, command in COMMANDS.items() if which(command.decode())}
    if len(here) == 1:
        return f"generic-{here.pop()}"
    lines = [line.lstrip() for line in source.split(b"\n")]
    of_pbs = any(line.startswith(b"#PBS") for line in lines) and not any(line.startswith(b"#SBATCH") for line in lines)
    return GENERIC_PBS.id if of_pbs else GENERIC_SLURM.id


def _first(error: ValueError) -> str:
    return str(error).partition("\n")[0]


def _no_such_site(wanted: str, known: Sequence[str]) -> Complaint:
    from maple_agents.base.near_names import meant

    every = sorted({*known, *GENERIC})
    near = meant(wanted, every)
    return Complaint(f"--site {wanted}: there is no such site", f"{near} known are {', '.join(every)}".strip())
