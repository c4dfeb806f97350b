"""Numbers and times as progress lines print them: `11.5K`, `1,234`, `'0.13'`, `1:22:40`, `2d22h37m`, `nan`."""

from __future__ import annotations

import re

_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12, "p": 1e15}
_NUMBER = re.compile(r"([-+]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)([kKMGBTP]?)")
_CLOCK = re.compile(r"(?:(\d{1,4}) days?, |(\d{1,4})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d\d(?:\.\d+)?)")
_WORDS = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?:in)?)?(?:(\d{1,9}(?:\.\d+)?)s)?")
_BEYOND = ("nan", "inf", "-inf", "+inf", "infinity", "-infinity", "-nan")


def number(text: str | None) -> float | None:
    """Return a number with its thousands, its K, M, G or B; nan and inf too; None for anything else."""
    text = (text or "").strip().strip("'\"")
    if text.lower() in _BEYOND:
        return float(text.lower())
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    return float(match[1].replace(",", "").replace("_", "")) * _SCALES[match[2].lower()]


def whole(text: str | None) -> int | None:
    """Return a whole number below 10¹⁵, None for anything else; 1.2K is 1200."""
    value = number(text)
    return int(value) if value is not None and value == value and 0 <= value < 1e15 and value == int(value) else None


def seconds(text: str | None) -> float | None:
    """Return the seconds of `03:23`, `1:22:40`, `1 day, 2:03:04`, `1d02h`, `3m`, `15s`; None for anything else."""
    text = (text or "").strip().replace(" ", "") if "day" not in (text or "") else (text or "").strip()
    match = _CLOCK.fullmatch(text)
    if match:
        days, hours = int(match[1] or match[2] or 0), int(match[3] or 0)
        return ((days * 24 + hours) * 60 + int(match[4])) * 60 + float(match[5])
    named = _WORDS.fullmatch(text)
    if not text or named is None:
        return None
    days, hours, minutes = (int(part or 0) for part in named.groups()[:3])
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(named[4] or 0)


def duration(seconds: float) -> str:
    """Return seconds as people say them: `45 s`, `12 min`, `3:05 h`, `2 d 4 h`."""
    seconds = max(0.0, seconds)
    if seconds < 99.5:
        return "%.0f s" % seconds
    minutes = round(seconds / 60)
    if minutes < 120:
        return "%d min" % minutes
    if minutes < 48 * 60:
        return "%d:%02d h" % divmod(minutes, 60)
    return "%d d %d h" % divmod(round(minutes / 60), 24)


def speed(step_seconds: float) -> str:
    """Return the time of a step as tqdm would: `1.10 s/step`, `229 steps/s`."""
    if step_seconds >= 0.995:  # else it would be 1 steps
        return "%.3g s/step" % step_seconds if step_seconds < 1000 else duration(step_seconds) + "/step"
    return "%.3g steps/s" % (1 / step_seconds) if step_seconds > 0 else "?"
