"""What Slurm reads in the values of options: counts, times, amounts of memory, GPUs."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Tuple

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
