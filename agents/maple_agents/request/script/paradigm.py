"""How a script's training is divided over ranks, where its launch line, its arguments or its configuration prove it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from maple_submit_filter.types.job import Read
from maple_submit_filter.types.launch_plan import Link, Step

_SPLIT = re.compile(
    rb"--(?:tensor[-_](?:model[-_])?parallel(?:[-_]size)?|pipeline[-_](?:model[-_])?parallel(?:[-_]size)?|tp|pp|tp[-_]size"
    rb"|pp[-_]size)(?:=|\Z)"
)
_FSDP = re.compile(rb"(?:--fsdp\b|--use[-_]fsdp\b|--fsdp[-_]\w+)")
_STAGE = re.compile(rb"[\"']?(?:stage|zero_stage)[\"']?\s*[:=]\s*([0-3])")
_NAMED = re.compile(rb"(?:zero|stage|z)[-_]?([0-3])", re.IGNORECASE)
_TYPE = re.compile(rb"^\s*distributed_type\s*:\s*[\"']?(\w+)", re.MULTILINE)
_CONFIG = re.compile(rb"^--?(?:deepspeed|deepspeed[-_]config|ds[-_]config|config[-_]file)(?:=(.*))?\Z")


def paradigm(step: Step, source: bytes, read: Read | None) -> str:
    """Return the paradigm, "" where nothing proves one: torchrun alone may start any."""
    agent = step.links[-1] if step.links else None
    words = [word for word in step.program if word]
    if _several_ways(words):
        return "3d"
    if agent is not None and agent.name == "accelerate":
        return _of_accelerate(agent, words, source, read)
    stage = _stage(words, source, read)
    if stage == "3":
        return "zero3"
    if stage in ("1", "2"):
        return "zero" + stage
    if any(_FSDP.match(word) for word in words):
        return "fsdp"
    return ""


def _several_ways(words: Sequence[bytes]) -> bool:
    """Tell whether a size of a tensor or pipeline group beyond 1 is among the arguments."""
    for at, word in enumerate(words):
        if _SPLIT.match(word):
            value = word.partition(b"=")[2] or (words[at + 1] if at + 1 < len(words) else b"")
            if value != b"1":
                return True
    return False


def _of_accelerate(agent: Link, words: Sequence[bytes], source: bytes, read: Read | None) -> str:
    if agent.option("use-fsdp") is not None:
        return "fsdp"
    if agent.option("use-deepspeed") is not None:
        stage = agent.option("zero-stage")
        number = stage.value.raw if stage is not None and stage.value is not None else b""
        return "zero" + number.decode() if number in (b"1", b"2", b"3") else ""
    if agent.option("use-megatron-lm") is not None:
        return "3d"
    config = agent.option("config-file")
    if config is None or config.value is None:
        stage_of = _stage(words, source, read)
        return "zero3" if stage_of == "3" else "fsdp" if any(map(_FSDP.match, words)) else "accelerate-ddp"
    text = _content(config.value.raw, source, read)
    kind = _TYPE.search(text)
    found = {b"FSDP": "fsdp", b"MULTI_GPU": "accelerate-ddp", b"MULTI_XPU": "accelerate-ddp", b"MEGATRON_LM": "3d"}
    if kind is not None and kind[1] == b"DEEPSPEED":
        stage_in = _STAGE.search(text)
        return "zero" + stage_in[1].decode() if stage_in is not None and stage_in[1] != b"0" else ""
    return found.get(kind[1], "") if kind is not None else ""


def _stage(words: Sequence[bytes], source: bytes, read: Read | None) -> str:
    """Return the stage of ZeRO that a configuration named in the arguments says, "" none."""
    for at, word in enumerate(words):
        match = _CONFIG.match(word)
        if match is None:
            continue
        name = match[1] or (words[at + 1] if at + 1 < len(words) else b"")
        if name.startswith(b"-") or not name:
            continue
        found = _STAGE.search(_content(name, source, read)) or _NAMED.search(name.rsplit(b"/", 1)[-1])
        if found is not None:
            return found[1].decode()
    return ""


def _content(name: bytes, source: bytes, read: Read | None) -> bytes:
    """Return what a configuration holds: written by the script itself, or lying beside it; b"" unknown."""
    last = name.rsplit(b"/", 1)[-1].replace(b"\0job\0", b"")
    pieces = [re.escape(piece) for piece in name.rsplit(b"/", 1)[-1].split(b"\0job\0")]
    if last:
        wrote = re.search(rb">\s*\S*?%s[\"']?\s*(<<-?\s*['\"]?(\w+)['\"]?[^\n]*)?\n" % rb"\S*?".join(pieces), source)
        if wrote is not None and wrote[2]:
            end = re.search(rb"^\s*%s$" % re.escape(wrote[2]), source[wrote.end() :], re.MULTILINE)
            return source[wrote.end() : wrote.end() + (end.start() if end is not None else 0)]
        before = re.search(rb"<<-?\s*['\"]?(\w+)['\"]?\s*>\s*\S*?%s[^\n]*\n" % rb"\S*?".join(pieces), source)
        if before is not None:
            end = re.search(rb"^\s*%s$" % re.escape(before[1]), source[before.end() :], re.MULTILINE)
            return source[before.end() : before.end() + (end.start() if end is not None else 0)]
    return (read(name) or b"") if read is not None and b"\0" not in name else b""
