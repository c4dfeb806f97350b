"""Values that sbatch itself refuses, whatever the site.

Values that sbatch refuses as it reads them, with its own words (asked of 22.05.8; a test asks the installed one).

Only what no release takes: a number without a digit, a time with letters in it. What is not sure is no refusal: a
fraction of memory, a range of tasks, words that a release may have more of.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Optional, Tuple

from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule

COUNTS = (
    "cores-per-socket", "cpus-per-gpu", "cpus-per-task", "mincpus", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
    "ntasks-per-node", "ntasks-per-socket", "sockets-per-node", "threads-per-core",
)  # fmt: skip
_COUNTS = ("ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "ntasks-per-gpu")
_EMPTY = (*COUNTS, "nodes", "mem", "mem-per-cpu", "mem-per-gpu", "time", "time-min", "tmp", "begin", "deadline",
          "mail-type", "open-mode", "signal", "thread-spec")  # fmt: skip
_AMOUNTS = ("mem", "mem-per-cpu", "mem-per-gpu", "tmp")
_TIMES = ("time", "time-min")
_NO_COUNT = rb"[^0-9-]*[a-zA-Z][^0-9-]*\Z|[0-9]+[a-jln-zA-JLN-Z][0-9a-zA-Z]*\Z"  # k and m may follow a number
_NO_LIMIT = (b"infinite", b"unlimited")


def refusals(settings: Iterable[Setting]) -> Iterator[Tuple[Setting, str]]:
    """Yield each setting whose value sbatch refuses, and what it says of it.

    Values with a `$` are left out: in a directive that is a mistake of its own.
    """
    for setting in settings:
        message = "" if b"$" in setting.value else _refused(setting.name, setting.value)
        if message:
            yield setting, message


def _refused(name: str, value: bytes) -> str:
    if name in _EMPTY and not value or name in COUNTS and not value.strip(b"0+ "):
        return _nothing(name, value)
    return _without_digits(name, value) or _of_another_form(name, value)


def _nothing(name: str, value: bytes) -> str:
    """Return what sbatch says where nothing stands behind the =, or a count is none."""
    shown = value.decode("utf-8", "backslashreplace")
    if name == "nodes":
        return '"" is not a valid node count'
    if name in COUNTS or name == "thread-spec":
        return 'Invalid numeric value "%s" for --%s.' % (shown, name)
    return "Invalid --%s specification" % name


_COUNT = rb"[ \t]*\+?\d+[kKmM]?\Z"
_SPAN = rb"\d+[kKmM]?-\d+[kKmM]?\Z"
_AMOUNT = rb"[ \t]*\+?(?:\d+(?:\.\d*)?|\.\d+)?[ \t]*(?:[kKmMgGtTpP][iI]?[bB]?)?\Z"
_TIME = rb"[ \t]*-?(?:\d+-)?\d*(?::\d*){0,2}[ \t]*\Z"
_SIGNAL = rb"(?:[BR]+:)?[-+]?\w+(?:@\d+)?\Z"


def _of_another_form(name: str, value: bytes) -> str:
    """Return what sbatch says of a value that is written as another option's values are."""
    shown = value.decode("utf-8", "backslashreplace")
    if name in COUNTS and value and not re.match(_COUNT, value) and not (name == "ntasks" and re.match(_SPAN, value)):
        return 'Invalid numeric value "%s" for --%s.' % (shown, name)
    if name in _AMOUNTS and not re.match(_AMOUNT, value):
        return "Invalid --%s specification" % name
    if name in _TIMES and value and not re.search(rb"[a-zA-Z]", value) and not re.match(_TIME, value):
        return "Invalid --%s specification" % name
    if name == "open-mode" and value[:1].lower() not in (b"a", b"t"):
        return "Invalid --open-mode specification"
    if name == "mail-type" and not re.match(rb"[A-Za-z_,0-9 ]+\Z", value):
        return "Invalid --mail-type specification"
    if name == "signal" and not re.match(_SIGNAL, value):
        return "Invalid --signal specification"
    return ""


def _without_digits(name: str, value: bytes) -> str:
    shown = value.decode("utf-8", "backslashreplace")
    if name == "nodes" and re.match(_NO_COUNT, value):
        return '"%s" is not a valid node count' % shown
    if name in _COUNTS and re.match(_NO_COUNT, value):
        return 'Invalid numeric value "%s" for --%s.' % (shown, name)
    if name in _AMOUNTS and value and not re.search(rb"[0-9]", value):
        return "Invalid --%s specification" % name
    if name in _TIMES and re.search(rb"[a-zA-Z]", value) and value.lower() not in _NO_LIMIT:
        return "Invalid --%s specification" % name
    return ""


_RIGHT = {"time": "--time=01:30:00", "time-min": "--time-min=00:30:00", "mem": "--mem=200G",
          "mem-per-cpu": "--mem-per-cpu=4G", "mem-per-gpu": "--mem-per-gpu=60G"}  # fmt: skip


@rule("MPL217", "sbatch refuses a value", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch reads every value before it submits, and refuses numbers and times that are none.

    Wrong: sbatch --nodes=four job.sh, or #SBATCH --time=2h
    Right: sbatch --nodes=4 job.sh, and #SBATCH --time=02:00:00
    Wrong: #SBATCH -nodes=2, #SBATCH --ntasks-per-node=0, #SBATCH --time=
    Wrong: #SBATCH --gres=gpus:4, --gres=gpu4, --gpus-per-node=four
    Right: #SBATCH --gres=gpu:4
    Wrong: #SBATCH --nodes==2, --exclusive=true, --hint=nomt; --mem beside --mem-per-cpu; --gres=gpu=4; --array=1:5
    Right: #SBATCH --nodes=2, --exclusive, --hint=nomultithread; one of the two; --gres=gpu:4; --array=1-5
    Why:   sbatch 22.05.8 says: "four" is not a valid node count; Invalid --time specification. Nothing is submitted.
           Only values that no release takes are reported, with a cure where one value can be meant (2h).
    """
    yield from _doubtful(job, site)
    yield from _no_gpus(job)
    glued = list(_one_dash(job))
    yield from glued
    if glued:
        return
    yield from _forms(job)
    if not any(_looked_at(given) for given in job.settings):
        return

    for setting, words in refusals(given for given in job.settings if _is_read(job, given)):
        example = _RIGHT.get(setting.name, "--%s=4" % setting.name)
        yield Finding("MPL217", "sbatch refuses this value: " + words, at(setting), True, fixes=_as_clock(job, setting),
                      help="give it a value such as " + example)  # fmt: skip


def _forms(job: Job) -> Iterator[Finding]:
    """Values in no form that their options have, and options of which sbatch takes one."""
    from ...request.slurm.values import exclusive_of, of_another_form, refused_later

    read = [given for given in job.settings if _is_read(job, given)]
    for form in filter(None, map(of_another_form, read)):
        if not _refused(form.setting.name, form.setting.value):
            yield Finding("MPL217", "sbatch refuses this value: " + form.says, at(form.setting), True,
                          fixes=_restated(job, form.setting, form.value, Safety.SAFE),
                          help="sbatch(1) lists what --%s takes" % form.setting.name)  # fmt: skip
    for setting, words in exclusive_of(job.settings):
        yield Finding("MPL217", "sbatch refuses the request: " + words, at(setting), True, help="say one of the two")
    for form in refused_later(job.settings):
        if form.setting.value.split(b":")[0] not in _PLURAL:
            yield Finding("MPL217", "the value of --%s is in no form that Slurm takes" % form.setting.name,
                          at(form.setting), fixes=_restated(job, form.setting, form.value, Safety.ASK),
                          help="Slurm says: %s" % form.says)  # fmt: skip


def _restated(job: Job, setting: Setting, value: Optional[bytes], safety: str) -> Tuple[Fix, ...]:
    made = restate(job, setting, value, "MPL217") if value is not None else None
    shown = (value or b"").decode("utf-8", "replace")
    return (made.fix(safety, "--%s=%s" % (setting.name, shown)),) if made is not None else ()


def _as_clock(job: Job, setting: Setting) -> Tuple[Fix, ...]:
    """Write `24h` as 24:00:00: nothing else can be meant, and sbatch takes no other form of it."""
    from ...cures.request_edits import clock

    value = clock(setting.value) if setting.name in ("time", "time-min") else None
    made = restate(job, setting, value, "MPL217") if value is not None else None
    return (made.fix(Safety.SAFE, "--%s=%s" % (setting.name, (value or b"").decode())),) if made is not None else ()


_PLURAL = (b"gpus", b"GPU", b"GPUs", b"Gpu")


def _doubtful(job: Job, site: Site) -> Iterator[Finding]:
    """What sbatch may take, and hardly as it is meant: a resource called gpus."""
    gres = job.settings.get("gres")
    if gres is not None and gres.value.split(b":")[0] in _PLURAL:
        made = restate(job, gres, b"gpu" + gres.value[len(gres.value.split(b":")[0]) :], "MPL217")
        fixes = (made.fix(Safety.ASK, "--gres=gpu:..."),) if made is not None else ()
        yield Finding("MPL217", "the resource is called gpu, not %s" % gres.value.split(b":")[0].decode(), at(gres),
                      fixes=fixes, help="sbatch says: Invalid generic resource (gres) specification")  # fmt: skip


_COUNTED = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket")
_NO_TYPE = re.compile(
    rb"(?i)(?:gpus?=)?(\d+)(?:[ _-]*(?:gpus?|x))?|all|none|any|max|auto|one|two|three|four|eight|gpus?"
)
_GLUED = re.compile(rb"(?i)gpus?[_-]?(\d{1,2})")


def _no_gpus(job: Job) -> Iterator[Finding]:
    """Yield numbers of GPUs that sbatch takes for the name of a kind of GPU: four, 4gpus, gpu=4; --gres=gpu4."""
    for name in (*_COUNTED, "gres"):
        setting = job.settings.get(name)
        match = (_GLUED if name == "gres" else _NO_TYPE).fullmatch(setting.value) if setting is not None else None
        if setting is None or match is None or setting.value.isdigit():
            continue
        number = match.group(1) or b""
        meant = b"gpu:" + number if name == "gres" else number
        yield Finding("MPL217", "--%s=%s names a kind of GPU, and no number" % (name, setting.value.decode()),
                      at(setting), fixes=_restated(job, setting, meant, Safety.ASK) if number else (),
                      help="Slurm says: Invalid generic resource (gres) specification")  # fmt: skip


def _one_dash(job: Job) -> Iterator[Finding]:
    """`-nodes=2` is read as `-n` with the value `odes=2`."""
    from ...request.slurm.options import SBATCH

    options = []
    for line in [directive.span for directive in job.script.directives if directive.prefix == b"#SBATCH"]:
        for match in re.finditer(rb"[ \t]-([A-Za-z][a-z-]{2,})(?=[= \t]|\Z)", job.source[line.start : line.end]):
            quoted = re.search(rb"[\"']", job.source[line.start : line.start + match.start()])
            if match.group(1) in SBATCH.long and quoted is None:
                options.append(
                    (match.group(1).decode(), Span(line.start + match.start() + 1, line.start + match.end()))
                )
    if not options:
        return
    edits = tuple(Edit(Span(span.start, span.start), b"-", "MPL217") for _, span in options)
    name, span = options[0]
    says = "-%s is read as -%s with a value glued to it" % (name, name[0])
    proven = bool(job.script.refused) or any(_refused(setting.name, setting.value) for setting in job.settings)
    safety = Safety.SAFE if proven else Safety.ASK
    yield Finding("MPL217", says, span, proven, fixes=(Fix(edits, safety, "--%s" % name),),
                  help="long options have two dashes")  # fmt: skip


def _looked_at(setting: Setting) -> bool:
    """Return whether a value is not made of digits, or of what a time is made of."""
    if not setting.value.strip(b"0"):
        return True
    return not setting.value.isdigit() and (
        setting.name not in ("time", "time-min")
        or len(setting.value.split(b":")) > 3
        or any(byte in b"<{.," or byte > 64 for byte in setting.value)
    )


def _is_read(job: Job, setting: Setting) -> bool:
    """Return whether sbatch itself reads the value so; those of other schedulers' lines are translated first."""
    span = setting.origin.span
    return span is None or any(
        directive.prefix == b"#SBATCH" and directive.span.start <= span.start < directive.span.end
        for directive in job.script.directives
    )
