"""Which program a word will be, and whose: the site's own by that name, or one that somebody else brought.

A site file says whose mpiexec the site has. That proves something only where the script's words find that one: not
behind a PATH of its own, a module of an MPI, conda, spack, a virtual environment, an alias, or inside an image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence, Tuple

from ..types.launch_plan import Around, Reason
from ..types.text import NUL, Text

if TYPE_CHECKING:
    from ..site.facts import Site

MPI, SCHEDULER, PYTHON = "mpi", "scheduler", "python"  # what brings one of a family seldom brings one of another
# Launchers say of themselves whose they are.
_SCHEDULERS = frozenset(b"sbatch salloc scontrol squeue qsub qstat".split())

IMAGE = Reason((MPI, SCHEDULER), "it comes from an image")
UNREAD = Reason((MPI,), "something unread may have changed PATH")
RUN_IN_ENVIRONMENT = Reason((MPI,), "it is run in an environment of its own")
SUBMITTED_FROM = Reason((MPI,), "the job is submitted from an environment")
_PROFILE = Reason((MPI,), "a profile was read")
_PYTHONS = Reason((MPI,), "an environment of Python is activated")
_SITES_CONDA = Reason((), "the site's own conda")
_MODULE = "a module may have brought it"
_OTHER_MODULES = Reason((), "modules of another folder are used")
_SITES_FOLDERS = (b"/soft", b"/opt", b"/sw", b"/apps", b"/usr", b"/cvmfs", b"/cray")
# What the names of modules tell; sought as they stand, for expressions would cost every submission their compilation.
_MPI_MODULES = (b"mpi", b"mvapich", b"hpcx", b"hpc-x", b"foss", b"gompi", b"gomkl", b"intel", b"oneapi", b"nvhpc")
_OTHERS_OF_MPI = frozenset((b"mpt", b"hmpt", b"pgi", b"iomkl", b"purge", b"restore", b"reset", b"r"))
_MODULES_OF = (
    (b"openmpi", "openmpi"), (b"ompi", "openmpi"), (b"hpcx", "openmpi"), (b"hpc-x", "openmpi"), (b"mpich", "hydra"),
    (b"impi", "intelmpi"), (b"intel-mpi", "intelmpi"), (b"intelmpi", "intelmpi"),
)  # fmt: skip
_MAKER = "maker:"
_SCHEDULER_MODULES = (b"slurm", b"pbs", b"torque")
_CONDA_MODULES = (b"conda", b"miniforge", b"mamba", b"frameworks")
_LOOKED_UP = b"\0same:which\0/"  # what `$(which mpirun)` begins with
_NO_LAUNCHERS_THERE = (b"cuda", b"cudnn", b"nccl", b"nsight", b"nvidia", b"rocm", b"git", b"cmake", b"node")
_ENVIRONMENTS = (b"env", b"conda", b"mamba", b"miniforge", b"python")  # what such folders are called
_PROGRAMS = (b"bin", b"sbin", b"?")
_OWN_PROFILES = frozenset((b"bashrc", b"bash_profile", b"profile", b"setvars.sh", b"vars.sh"))


def seldom_brings(reason: Reason) -> bool:
    """Return whether that seldom brings an mpiexec: a file that nobody has read, or an environment of Python alone."""
    return reason in (UNREAD, SUBMITTED_FROM, _PROFILE, _PYTHONS)


def family(name: bytes) -> str:
    """Return the family that a program that is no launcher belongs to, "" for one that no rule relies on."""
    if name in _SCHEDULERS:
        return SCHEDULER
    return PYTHON if name[:6] == b"python" and not name[6:].strip(b"0123456789.") else ""


def foreign(name: bytes, family: str, around: Around) -> Tuple[str, ...]:
    """Return why a program of a *family* may not be the site's own in a shell of which *around* is known, () else."""
    name = name.rsplit(b"/", 1)[-1]
    asked = (family, "name:" + name.decode("utf-8", "replace"))
    return tuple(dict.fromkeys(reason.says for reason in around if any(each in reason.of for each in asked if each)))


def unaware(name: bytes, around: Around) -> bool:
    """Return whether an mpiexec may know nothing of the job, and so start all on one node: not one of the site's."""
    return any(why != _MODULE for why in foreign(name, MPI, around))


def maker(name: bytes, around: Around, site: Site) -> str:
    """Return whose mpiexec a word will be, as the site's maker is called; "" where that is not certain."""
    return "" if foreign(name, MPI, around) else site.maker(name.rsplit(b"/", 1)[-1].decode("utf-8", "replace"))


def likely(name: bytes, around: Around, site: Site) -> str:
    """Return whose mpiexec a word most likely is: that of the module that was loaded last, else the site's."""
    loaded = [entry for reason in around for entry in reason.of if entry.startswith(_MAKER)]
    return loaded[-1][len(_MAKER) :] if loaded else site.maker(name.rsplit(b"/", 1)[-1].decode("utf-8", "replace"))


def around(word: Text, family: str, image: bool, unsettled: Around) -> Around:
    """Return what unsettles the program that *word* names: what the shell went through, and the word itself."""
    reasons = (*unsettled, IMAGE) if image else unsettled
    by_path = _by_path(word.raw, family)
    return (*reasons, by_path) if by_path is not None else reasons


def _by_path(raw: bytes, family: str) -> Optional[Reason]:
    """A launcher of MPI that is named by its folder is that folder's; others are what they are called, in a `bin`."""
    folder, slash, name = raw.rpartition(b"/")
    if not slash or raw.startswith(_LOOKED_UP):
        return None
    last = _without_tokens(folder).rsplit(b"/", 1)[-1]
    if family == MPI or last not in _PROGRAMS:
        return Reason(("name:" + name.decode("utf-8", "replace"),), "it is named by a folder")
    return None


def of_alias(word: bytes) -> Optional[Reason]:
    """Return what `alias NAME=...` unsettles."""
    name, equals, _ = word.partition(b"=")
    return Reason(("name:" + name.decode("utf-8", "replace"),), "it may be an alias") if equals else None


def of_path(old: Optional[Text], new: Text) -> Optional[Reason]:
    """Return what a new value of PATH unsettles: folders that are searched before those of *old*."""
    before, raw = (old.raw if old is not None else b""), new.raw
    if before and raw.startswith(before):
        return None  # what was found is found still
    front = raw[: -len(before)] if before and raw.endswith(before) else raw
    folders = [part.rstrip(b"/") for part in _without_tokens(front).split(b":")]
    strange = [folder for folder in folders if folder and not _holds_no_launcher(folder)]
    if not strange:
        return None
    if all(map(_of_python, strange)):
        return Reason((MPI,), "an environment is put into PATH")
    here = any(folder[:1] not in b"/?~" for folder in strange)  # the folder that the job is in: of the user's own
    return Reason((MPI, SCHEDULER, PYTHON) if here else (MPI, SCHEDULER), "PATH was changed")


def _without_tokens(raw: bytes) -> bytes:
    """Return the bytes with `?` in place of what is not known."""
    return b"?".join(raw.split(NUL)[::2])


def _holds_no_launcher(folder: bytes) -> bool:
    return any(part.startswith(_NO_LAUNCHERS_THERE) for part in folder.lower().split(b"/"))


def _of_python(folder: bytes) -> bool:
    """Return whether a folder of PATH is that of an environment of Python, as `activate` puts it there."""
    *parts, last = folder.lower().split(b"/")
    return last == b"bin" and folder[:1] in b"/?~" and any(word in part for part in parts for word in _ENVIRONMENTS)


def of_source(path: bytes) -> Optional[Reason]:
    """Return what sourcing a well-known file unsettles: an environment's `activate`, a profile of the user's own."""
    if path.endswith(b"bin/activate") and b"conda" not in path and b"mamba" not in path:
        return _PYTHONS
    if path.rsplit(b"/", 1)[-1] == b"activate":
        return Reason((MPI,), "an environment is activated")
    if path.rsplit(b"/", 1)[-1].lstrip(b".") in _OWN_PROFILES and not path.startswith(b"/etc/"):
        return _PROFILE
    return None


def of_command(argv: Sequence[Text], unsettled: Around) -> Optional[Reason]:
    """Return what `module load`, `conda activate`, `spack load` and their like unsettle."""
    name, words = argv[0].raw, [text.raw for text in argv[1:] if not text.raw.startswith(b"--")]
    if name in (b"module", b"ml", b"modtree"):
        return _of_modules(words, any(not text.known for text in argv[1:]), _OTHER_MODULES in unsettled)
    if name in (b"conda", b"mamba", b"micromamba"):
        sites = _SITES_CONDA in unsettled and words[1:] in ([], [b"base"])
        return Reason((MPI,), "an environment is activated") if b"activate" in words[:1] and not sites else None
    if name == b"spack":
        return Reason((MPI,), "spack brought programs") if words[:1] in ([b"load"], [b"env"]) else None
    return Reason((MPI,), "an environment is activated") if name in (b"pyenv", b"workon") else None


def _of_modules(words: Sequence[bytes], unknown: bool, others: bool) -> Optional[Reason]:
    if words[:1] in ([b"list"], [b"avail"], [b"show"], [b"spider"]):
        return None
    if words[:1] == [b"use"]:
        return None if all(word.startswith(_SITES_FOLDERS) for word in words[1:]) else _OTHER_MODULES
    names = [word.lower().lstrip(b"-") for word in words]
    # A module of the scheduler is the site's own, which is how some sites bring srun; one of another folder is not.
    of = ((MPI,) if unknown or any(map(_is_of_mpi, names)) else ()) + (
        (SCHEDULER,) if others and _holds(names, _SCHEDULER_MODULES) else ()
    )
    if of:
        of += tuple(_MAKER + maker for name in names for part, maker in _MODULES_OF if name.startswith(part))
        return Reason(of, "a module of another folder may have brought it" if others else _MODULE)
    return _SITES_CONDA if _holds(names, _CONDA_MODULES) else None


def _is_of_mpi(module: bytes) -> bool:
    if module.partition(b"/")[0] in _OTHERS_OF_MPI:
        return True
    return _holds([module.replace(b"compile", b"")], _MPI_MODULES)


def _holds(names: Sequence[bytes], parts: Sequence[bytes]) -> bool:
    return any(part in name for name in names for part in parts)
