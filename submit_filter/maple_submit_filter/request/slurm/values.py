"""What Slurm reads in the values of options, counts, times, memory and GPUs, and which form a value must have.

The forms were asked of sbatch 22.05.8, a value each; where later releases take more, these words are in the table too.
They are of what an option can be told, and of what the controller takes of what sbatch hands on.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, Mapping, NamedTuple, Optional, Pattern, Tuple

from ...types.job import Setting, Settings

_NODES = re.compile(rb"(\d{1,8})([kKmM]?)(?:-(\d{1,8})([kKmM]?))?\Z")
_CLOCK = re.compile(rb"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,6}))?(?::(\d{1,6}))?\Z")
_MEMORY = re.compile(rb"(\d{1,15})([kKmMgGtT]?)(?:[iI]?[bB])?\Z")
_KIBI = {b"": 1, b"k": 1024, b"m": 1024 * 1024}
_MEBIBYTES = {b"m": 1, b"": 1, b"g": 1024, b"t": 1024 * 1024}


class Gres(NamedTuple):
    """One item of --gres or --gpus. *type* is b"" where none was named."""

    name: bytes
    type: bytes
    amount: int


def nodes(value: bytes) -> Optional[Tuple[int, int]]:
    """Return the least and the most nodes that `2`, `2-4` or `2k` asks for; None for other forms."""
    match = _NODES.match(value.strip())
    if not match:
        return None
    low = int(match.group(1)) * _KIBI[match.group(2).lower()]
    return low, int(match.group(3)) * _KIBI[(match.group(4) or b"").lower()] if match.group(3) else low


def whole(value: bytes) -> Optional[int]:
    """Return the whole number, or None."""
    value = value.strip()
    return int(value) if value.isdigit() and len(value) < 10 else None


def seconds(value: bytes) -> Optional[int]:
    """Return the seconds of `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`; None without a limit or unreadable."""
    match = _CLOCK.match(value.strip())
    if not match:
        return None
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    if days is not None:
        return ((days * 24 + (first or 0)) * 60 + (second or 0)) * 60 + (third or 0)
    if third is not None:
        return ((first or 0) * 60 + (second or 0)) * 60 + third
    return (first or 0) * 60 + (second or 0)


def mebibytes(value: bytes) -> Optional[int]:
    """Return the MiB of `4000`, `4000M`, `4G`, `4GB`; kilobytes round up; None where it is no amount."""
    match = _MEMORY.match(value.strip())
    if not match:
        return None
    amount, unit = int(match.group(1)), match.group(2).lower()
    return -(-amount // 1024) if unit == b"k" else amount * _MEBIBYTES[unit]


def gres(value: bytes) -> Optional[Tuple[Gres, ...]]:
    """Return the items of `gpu:a100:4`, `gpu:4(S:0)`, `gres:gpu:4` or `gpu:2,nvme:1`; None where that is unclear."""
    items = []
    for item in value.split(b","):
        item = item.split(b"(")[0].strip()
        item = item[5:] if item.startswith((b"gres:", b"gres/")) else item
        parsed = _item(item.split(b":"))
        if parsed is None:
            return None
        items.append(parsed)
    return tuple(items)


def gpus(value: bytes) -> Optional[Tuple[Gres, ...]]:
    """Return the items of a --gpus, --gpus-per-node ... value: `4`, `a100:4`, `a100:2,v100:1`, also `gpu:4`."""
    items = [item.strip() for item in value.split(b",")]
    return gres(b",".join(item if item.startswith((b"gpu:", b"gres")) else b"gpu:" + item for item in items))


def _item(parts: "list[bytes]") -> Optional[Gres]:
    """Return `name`, `name:count`, `name:type` or `name:type:count`."""
    if len(parts) > 1 and parts[-1].replace(b"=", b"").isdigit() and len(parts[-1]) < 9:
        return Gres(parts[0], b":".join(parts[1:-1]), int(parts[-1]))
    if len(parts) > 2 or not parts[0]:
        return None
    return Gres(parts[0], parts[1] if len(parts) == 2 else b"", 1)


_KNOWN_MAIL = rb"(?:NONE|BEGIN|END|FAIL|REQUEUE|ALL|INVALID_DEPEND|STAGE_OUT|TIME_LIMIT(?:_\d\d)?|ARRAY_TASKS)"
_PLACES = rb"(?:block|cyclic|fcyclic|arbitrary|\*|plane(?:=\d+)?)"
_BIND = rb"(?:q|quiet|v|verbose|none|rank|local|sort|nosort|p|prefer|help|(?:map|mask)_mem:[\w,*]+)"
_PROFILED = rb"(?:energy|task|filesystem|lustre|network)"
_SIGNALS = rb"(?:HUP|INT|QUIT|ABRT|KILL|ALRM|TERM|USR1|USR2|URG|CONT|STOP|TSTP|TTIN|TTOU|XCPU)"
# What sbatch itself takes; whatever else it refuses before anything is sent.
_FORMS: Mapping[str, bytes] = {
    "nodes": rb"[ \t]*[\dkKmM,:+-]*[ \t]*|[A-Za-z].*",
    "ntasks": rb"[^=;<>()'\"]*",
    "ntasks-per-node": rb"[^=;<>()'\"]*",
    "cpus-per-task": rb"[^=;<>()'\"]*",
    "exclusive": rb"(?:user|mcs|topo)?",
    "hint": rb"(?:compute_bound|memory_bound|multithread|nomultithread|help)(?:,.*)?",
    "distribution": rb"(?i)%s(?::%s){0,2}(?:,(?:no)?pack)?|(?:no)?pack" % (_PLACES, _PLACES),
    "gpu-bind": rb"(?i)(?:gpu:)?(?:(?:q|quiet|v|verbose),?)*"
    rb"(?:c.*|n.*|(?:single|per_task|map|mask|map_gpu|mask_gpu)\b.*)?",  # closest, none: the first letter is enough
    "mem-bind": rb"(?i)%s(?:,%s)*" % (_BIND, _BIND),
    "kill-on-invalid-dep": rb"(?i)yes|no",
    "mail-type": rb"(?i)(?:.*[, ])?%s(?:[, ].*)?" % _KNOWN_MAIL,
    **dict.fromkeys(
        ("begin", "deadline"),
        rb"(?i)[-\dT:./+ ]*(?:(?:now|today|tomorrow|midnight|noon|elevenses|fika|teatime|[ap]m"
        rb"|seconds?|minutes?|hours?|days?|weeks?)[-\dT:./+ ]*)*",
    ),
    "cpu-freq": rb"(?i)(?:co|[pouslhmv]).*|.*[\d:,-].*",  # the first letters of a governor are enough
    "core-spec": rb"[ \t]*\+?\d*",
    "signal": rb"(?i)(?:[BR]+:)?[-+]?(?:(?:SIG)?%s|\d+)(?:@\d+)?" % _SIGNALS,
    "profile": rb"(?i)none|all|%s(?:,%s)*" % (_PROFILED, _PROFILED),
    "gres-flags": rb"(?i)(?:disable-binding|enforce-binding|[a-z-]*task[a-z-]*|multiple[a-z-]*)(?:,.*)?",
    "switches": rb"\+?\d+(?:@.*)?",
}
_EITHER = (("mem", "mem-per-cpu"), ("mem", "mem-per-gpu"), ("mem-per-cpu", "mem-per-gpu"),
           ("ntasks-per-gpu", "ntasks-per-node"), ("ntasks-per-gpu", "gpus-per-task"))  # fmt: skip
_SAYS = {
    "profile": "invalid --profile=%s option", "switches": "Invalid numeric value",
    "cpu-freq": "Invalid --cpu-freq argument", "core-spec": 'Invalid numeric value "%s" for --core-spec.',
    "nodes": '"%s" is not a valid node count', "hint": "unrecognized --hint argument",
    "gpu-bind": "Invalid --gpu-bind argument: gpu:%s", "mem-bind": "unrecognized --mem-bind argument",
}  # fmt: skip
_USUAL = (b"", b"closest", b"none", b"END", b"FAIL", b"ALL", b"END,FAIL", b"BEGIN,END,FAIL", b"nomultithread")
_patterns: Dict[str, Pattern[bytes]] = {}


class Form(NamedTuple):
    """A value in another form than its option has. *value*: the one that can be meant, None unknown."""

    setting: Setting
    says: str
    value: Optional[bytes] = None


def of_another_form(setting: Setting) -> Optional[Form]:
    """Return what sbatch says of a value that is written in no form that its option has, None where it takes it."""
    form = _FORMS.get(setting.name)
    if form is None or setting.value.isdigit() or setting.value in _USUAL or b"$" in setting.value:
        return None
    if setting.name not in _patterns:
        _patterns[setting.name] = re.compile(form)
    if _patterns[setting.name].fullmatch(setting.value):
        return None
    shown = setting.value.decode("utf-8", "backslashreplace")
    says = _SAYS.get(setting.name, "Invalid --%s specification" % setting.name)
    bare = setting.value.strip(b"=;'\" ")
    return Form(setting, says % shown if "%" in says else says, bare if bare.isdigit() else None)


def exclusive_of(settings: Settings) -> Iterator[Tuple[Setting, str]]:
    """Yield the second of two options that sbatch takes one of, where both are said in one place, and what it says."""
    for name, other in _EITHER:
        first, second = settings.get(name), settings.get(other)
        if first is not None and second is not None and first.origin.kind == second.origin.kind:
            yield second, "--%s and --%s are mutually exclusive" % (name, other)


_GRES = rb"(?:none|(?:gres[:/])?[A-Za-z][\w.-]*(?::\d*[A-Za-z][\w.-]*)?(?::\d+[kKmMgG]?)?(?:\([^()]*\))?)\Z"
_ARRAY = rb"\d+(?:-\d+(?::\d+)?)?(?:,\d+(?:-\d+(?::\d+)?)?)*(?:%\d+)?\Z"
_AFTER = rb"(?:after(?:any|ok|notok|burstbuffer|corr)?(?::\d+(?:_(?:\d+|\*))?(?:\+\d+)?)+|singleton|expand:\d+)"
_DEPENDS = rb"%s(?:[,?]%s)*\Z|\d+(?:[,:]\d+)*\Z" % (_AFTER, _AFTER)
_MEANT = ((rb"gpu=(\d+)\Z", rb"gpu:\1"), (rb"(\d+)\Z", rb"gpu:\1"), (rb"gpu:(\d+):([A-Za-z][\w.-]*)\Z", rb"gpu:\2:\1"),
          (rb"gpu:([A-Za-z][\w.-]*)=(\d+)\Z", rb"gpu:\1:\2"))  # fmt: skip
CHOSEN_LATER = (*_FORMS.values(), *(form for form, _ in _MEANT))  # for the helper's image


def refused_later(settings: Settings) -> Iterator[Form]:
    """Yield values that sbatch hands on as they are, and the controller refuses by its manual."""
    gres, array, depends = settings.get("gres"), settings.get("array"), settings.get("dependency")
    if gres is not None and not _is_plain(gres.value) and not all(re.match(_GRES, item) for item in _items(gres.value)):
        meant = next((re.sub(form, to, gres.value) for form, to in _MEANT if re.match(form, gres.value)), None)
        yield Form(gres, "Invalid generic resource (gres) specification", meant)
    if (
        array is not None
        and b"$" not in array.value
        and array.value.strip(b"0123456789-%,")
        and not re.match(_ARRAY, array.value)
    ):
        step = re.match(rb"(\d+):(\d+)\Z", array.value)
        yield Form(array, "Invalid job array specification", b"%s-%s" % step.groups() if step is not None else None)
    if depends is not None and not re.search(rb"[$<{]", depends.value) and not re.match(_DEPENDS, depends.value):
        after = re.match(rb"(after\w*)=(\d+)\Z", depends.value)
        yield Form(depends, "Job dependency problem", b"%s:%s" % after.groups() if after is not None else None)


def _is_plain(value: bytes) -> bool:
    """Return whether it is `gpu:4` or `gpu:a100:4`, as most are, or holds a variable, which is a mistake of its own."""
    parts = value.split(b":")
    usual = len(parts) in (2, 3) and parts[0].isalpha() and parts[-1].isdigit()
    return b"$" in value or (usual and parts[-2][:1].isalpha() and parts[-2].replace(b"-", b"").isalnum())


def _items(value: bytes) -> Iterator[bytes]:
    """Yield the items of a list, whose parentheses may hold commas."""
    return (item for item in re.split(rb",(?![^()]*\))", value) if item)
