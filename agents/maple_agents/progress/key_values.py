"""Lines of programs that no format knows: keys and values, of which one counts steps and another is a loss.

A counter is believed once it rose, and only with a second witness: a loss on its lines; a name that leaves no doubt;
a percentage that is its share; another counter that rises with it; a speed in its own steps beside an end that is
foretold. A total counts only where it stands right behind its own counter, always the same one, where the counter never
falls, and in a log that has no word of epochs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..diagnose.read.units.clocks import Clock
from . import printed
from .printed import Pace, paces
from .recognition import MOST, printed_time
from .tails import Piece
from .values import Observation, Place, Scope

FORMAT = "keys and values"
_COUNT = r"\d{1,3}(?:,\d{3})+|\d{1,15}"
_WORDS = (  # what counts the whole run before what may count a part of it
    ("global_step", "global step", "num_updates", "globalstep", "trainer/global_step"),
    (
        "step",
        "steps",
        "schritt",
        "update",
        "updates",
        "up",
        "paso",
        "étape",
        "total_timesteps",
        "训练次数",
        "步数",
        "训练步数",
        "ステップ",
        "шаг",
    ),
    ("iteration", "iterations", "iter", "iters", "it", "迭代", "迭代次数", "итерация"),
    ("batch", "batches", "minibatch"),
    ("",),  # a number in brackets, or alone at the beginning of its line
)
_RANKS = {word: at for at, words in enumerate(_WORDS) for word in words}
_BATCH, _BARE = len(_WORDS) - 2, len(_WORDS) - 1
_KEYS = "|".join(sorted(filter(None, _RANKS), key=len, reverse=True))
_AHEAD = re.compile(
    r"(?<![\w/.-])(?<!fps )(?<!per )[\"']?(?:train(?:er|ing)?/)?(?P<key>%s)(?:/max_steps)?"
    r"[\"']?[ :=#.\[(]{1,8}[\"']?(?P<step>%s)"
    r"(?:\s*(?:/|of|von|de|sur)\s*(?P<total>%s))?"
    r"(?!\w|[.,]\d|\s?%%|\s*/\s*\d)" % (_KEYS, _COUNT, _COUNT),
    re.I,
)
_BEHIND = re.compile(
    r"(?<![\w./,-])(?:\d{1,15}-)?(?P<step>\d{1,15}(?:\.\d{1,15})?k|%s)\s?(?P<key>%s)\b(?:/(?P<total>\d{1,15}(?:\.\d{1,15})?k|%s)(?P=key)\b)?"
    r"(?!\s*/|[ :=#\[]{1,8}\d)" % (_COUNT, _KEYS, _COUNT),
    re.I,
)
_OF_BEHIND = re.compile(
    r"(?<![\w./,-])(?P<step>\d{1,15})\s?/\s{0,4}(?P<total>\d{1,15})\s(?P<key>%s)\b(?![ :=#\[]{1,8}\d)" % _KEYS, re.I
)
_BARE_COUNT = re.compile(r"^(?:[^\[\n]{0,60}\]\s*)?\[(?P<in>\d{1,9})\](?=\s)|^\s*(?P<step>\d{1,9})(?=\s*[|,)]\s)")
_PERCENT = re.compile(r"[\[(]?\s?(?P<percent>\d{1,3}(?:\.\d+)?)\s?%")
_EPOCH = re.compile(
    r"(?<![a-z])(?:epoche?|ep\.)[\"']?[ :=#\[\"']*(\d+(?:\.\d+)?)|(?<![\w.])(\d+)(?:/\d+)?\s?epoch|第\s?(\d+)\s?轮",
    re.I,
)
_WIDE = str.maketrans({"：": ":", "＝": "=", "，": ",", "（": "(", "）": ")", "／": "/", "％": "%"})
_ELSE = re.compile(
    r"\b(?:cv|val(?:id(?:ation|ating)?)?|eval(?:uation|uating)?|test(?:ing)?|dev|token\w*ing|download\w*|prepar\w*|micro|inner|accum\w*|warm-?up|(?:pre-?)?processing|loading|building"
    r"|indexing|converting|writing|encoding|generating|sampling|calibrat\w+|predict\w*|infer(?:ence|ring)|compiling)\b",
    re.I,
)
_VALUE = r"[-+]?\d[\d,]{0,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?"
_LOSS = re.compile(
    r"(?<![\w/])(?<!val )(?<!valid )(?<!eval )(?<!test )(?<!validation )(?<!valid: )(?<!val: )(?<!eval: )"
    r"(?<!test: )(?<!entropy )(?<!value )(?<!function )(?<!surrogate )(?<!policy )(?<!kl )(?<!aux )"
    r"[\"']?(?:(?:train(?:ing)?|reduced|avg|avr|mean|running|smoothed|batch|total|tot|lm|ce)[_/ ]){0,3}"
    r"(?:[a-z]*loss(?:/train)?(?:/total)?|cost|xent|verlust|perte)[\"']?(?: train)?(?: is)?\s*[:=]?\s*[\"']?"
    r"(%s|nan|[-+]?inf)(?![\w%%]|\.\d)" % _VALUE,
    re.I,
)
_TRAINS = re.compile(
    r"loss|\bepochs?\b|learning.?rate|\blr\b|grad|perplexity|\bppl\b|\bmse\b|episod|reward|\breturn\b|\brmse\b|accuracy",
    re.I,
)
_OWN_LOSS = re.compile(r"(?<![\w/])train(?:ing)?[_ ]loss\b", re.I)  # no other loss is called so
_TIMES = ("s/", "ms/", "us/")
_END = re.compile(r"\beta\b|remaining|left\b|to finish|estimated", re.I)
_BOX = re.compile(r"^\|\s+([\w/ ]{1,40}?)\s+\|\s+([-+.\w]{1,20})\s+\|\s*$")  # of a table of keys and values
_PAIR = re.compile(r"\"key\": (\"\w+\"), \"value\": ")  # MLPerf's lines
_COMMA = re.compile(r"(?<![\w.,])(?:0,\d+|\d+,\d{1,2})(?![\w,.\])])")
_POINT = re.compile(r"(?<![\w.,])\d+\.(?:\d{1,2}|\d{4,})(?![\w.])")


@dataclass(slots=True)
class _Line:
    """A line with a counter. *counters*: step and total of each key. *share*: a percentage is that of a counter.

    *paced*: a speed in steps stands beside it. *foretold*: an end stands there too.
    *ends*: an end stands on the line itself.
    """

    seen: Observation
    counters: dict[str, tuple[int, int | None]]
    share: bool = False
    paced: bool = False
    foretold: bool = False
    ends: bool = False


@dataclass(slots=True)
class _Log:
    """What a log tells. *of_epochs*: whether any line has a word of epochs, so that no counter's total is the run's.

    *trains*: whether it has words of a training. *alone*: lines with the loss of a training and no counter.
    """

    lines: list[_Line] = field(default_factory=list)
    alone: list[Observation] = field(default_factory=list)
    of_epochs: bool = False
    trains: bool = False


def observations(pieces: Iterable[Piece], file: str, modified: float) -> list[Observation]:
    """Return what *pieces*, in their order, tell of steps, or of losses alone where no counter is believed."""
    log = _log(pieces, file, Clock(modified))
    keys = sorted({key for line in log.lines for key in line.counters}, key=lambda key: _RANKS[key])
    for key in keys:
        own = [line for line in log.lines if key in line.counters]
        with_loss = [line for line in own if line.seen.loss is not None]
        for lines in (with_loss, own):
            if lines and _is_believed(lines, key, lines is with_loss, log.trains):
                return _with_loss(_counted(lines, key, log.of_epochs), log)
    return log.alone if len(log.alone) > 1 or any(_OWN_LOSS.search(line.text) for line in log.alone) else []


def losses(pieces: Iterable[Piece], file: str, modified: float) -> list[Observation]:
    """Return what lines without a counter tell of the loss."""
    return [replace(line, scope="part") for line in _log(pieces, file, Clock(modified)).alone]


def _is_believed(lines: Sequence[_Line], key: str, has_loss: bool, trains: bool) -> bool:
    """Return whether a counter rises, and a second witness stands by it."""
    steps = [line.counters[key] for line in lines]
    values = [step for step, _ in steps]
    rises = any(before < step for before, step in zip(values, values[1:]))
    if _RANKS[key] == _BARE:
        return (has_loss or trains) and _is_even(values)
    if rises and has_loss or _is_epoch_first(steps) and has_loss:
        return True
    if not trains:
        return False
    seen = lines[-1]
    return rises and (_RANKS[key] == 0 or seen.share or seen.ends or _goes_with(lines, key)) or seen.foretold


def _is_even(steps: Sequence[int]) -> bool:
    """Return whether a counter rises by the same number again and again; labels of ranks do too, from 0 on."""
    rises = {step - before for before, step in zip(steps, steps[1:]) if step != before}
    rise = rises.pop() if len(rises) == 1 else 0
    return rise > 1 and len(set(steps)) > 2 and (steps[0] > 2 * rise or len(set(steps)) > 5)


def _is_epoch_first(steps: Sequence[tuple[int, int | None]]) -> bool:
    """Return whether it is the second number of `3/1200` that counts, and the first is an epoch: it stands still."""
    totals = [total for _, total in steps if total is not None]
    still = len({step for step, _ in steps}) == 1 and len(totals) == len(steps)
    return still and len(set(totals)) > 2 and all(before <= total for before, total in zip(totals, totals[1:]))


def _goes_with(lines: Sequence[_Line], key: str) -> bool:
    """Return whether another counter of the same lines rises by the same numbers."""
    own = [line.counters[key][0] for line in lines]
    for other in lines[0].counters.keys() - {key}:
        if all(other in line.counters for line in lines):
            steps = [line.counters[other][0] - step for line, step in zip(lines, own)]
            if len(set(steps)) == 1:
                return True
    return False


def _with_loss(lines: list[Observation], log: _Log) -> list[Observation]:
    """Return lines of which none tells a loss with the last one that stands alone."""
    if not lines or any(line.loss is not None for line in lines) or not log.alone:
        return lines
    return [*lines[:-1], replace(lines[-1], loss=log.alone[-1].loss)]


def _counted(lines: Sequence[_Line], key: str, of_epochs: bool) -> list[Observation]:
    """Return lines whose counter is that of *key*; what falls, or counts batches, is an epoch's."""
    counts = [line.counters[key] for line in lines]
    if _is_epoch_first(counts):
        return [
            replace(line.seen, step=total, epoch=float(epoch), scope="epoch")
            for line, (epoch, total) in zip(lines, counts)
        ]
    steps = [step for step, _ in counts]
    falls = any(step < before for before, step in zip(steps, steps[1:]))
    totals = {total for _, total in counts}
    is_run = _RANKS[key] != _BATCH and (not falls or _RANKS[key] == 0)
    total = totals.pop() if len(totals) == 1 and is_run and not falls and not of_epochs else None
    total = total if total is not None and max(steps) <= total else None
    scope: Scope = "run" if is_run else "epoch"
    return [replace(line.seen, step=line.counters[key][0], steps=total, scope=scope) for line in lines]


def _log(pieces: Iterable[Piece], file: str, clock: Clock) -> _Log:
    """Return each line with a counter; a speed on a line of its own holds on, a loss on an indented one is of the
    counter above it.
    """
    log = _Log()
    pace: Pace | None = None
    columns: tuple[str, ...] = ()
    for piece in pieces:
        text = _whole(piece)
        columns = _columns(text) or columns
        plain = _with_points(_row(text, columns))
        log.of_epochs = log.of_epochs or _EPOCH.search(text) is not None
        log.trains = log.trains or _TRAINS.search(text) is not None
        counters = _counters(plain)
        loss, own = loss_in(plain), _pace(plain)
        place = Place(file, piece.line, piece.byte)
        if counters:
            seen = _seen(place, text, plain, loss, own or pace, clock)
            share, ends = _is_share(plain, counters), _END.search(plain) is not None
            log.lines.append(_Line(seen, counters, share, foretold=_is_foretold(own, plain), ends=ends))
        elif own is not None or (loss is not None and text[:1].isspace()) or (log.lines and _END.search(plain)):
            pace = own or pace
            _complete(log.lines, loss if text[:1].isspace() else None, own, plain)
        if loss is not None and (not counters or set(counters) == {""}) and not _ELSE.search(plain):
            log.alone.append(_seen(place, text, plain, loss, None, clock))
    return log


def _columns(text: str) -> tuple[str, ...]:
    """Return the names of a table's columns, where a line is the head of one that counts and has a loss."""
    names = tuple(name.strip().lower() for name in _cells(text))
    is_head = len(names) > 2 and (names[0] in _RANKS or names[0] in ("epoch", "ep")) and "" not in names
    return names if is_head and any("loss" in name for name in names) and not re.search(r"\d\.\d", text) else ()


def _row(text: str, columns: Sequence[str]) -> str:
    """Return a row of a table with the name of each value; any other line as it is."""
    cells = _cells(text) if columns else []
    if len(cells) != len(columns) or not cells or not cells[0].strip().isdigit():
        return text
    return "   ".join("%s: %s" % pair for pair in zip(columns, (cell.strip() for cell in cells)))


def _cells(text: str) -> list[str]:
    """Return the cells of a line, parted by commas, tabs, strokes or blanks."""
    sign = next((sign for sign in ("|", ",", "\t") if text.count(sign) > 1), None)
    return text.strip().strip("|").split(sign) if sign else text.split()


def _is_share(text: str, counters: dict[str, tuple[int, int | None]]) -> bool:
    """Return whether the line tells a percentage that is what a counter has done of its total."""
    match = _PERCENT.search(text)
    percent = float(match["percent"]) if match else -1.0
    return any(total and 0 <= 100 * step / total - percent < 1.05 or total and abs(100 * step / total - percent) < 0.6
               for step, total in counters.values())  # fmt: skip


def _is_foretold(pace: Pace | None, text: str) -> bool:
    return pace is not None and pace.seconds is not None and _END.search(text) is not None


def _pace(text: str) -> Pace | None:
    """Return the speed that a line surely tells: the time of a step, else what is counted by the second."""
    sure = [pace for pace in paces(text) if not pace.doubtful]
    return next((pace for pace in sure if pace.seconds is not None), sure[0] if sure else None)


def _seen(
    place: Place, text: str, plain: str, loss: float | None, pace: Pace | None, clock: Clock
) -> Observation:  # fmt: skip
    epoch = _EPOCH.search(plain)
    number = printed.number(epoch[1] or epoch[2] or epoch[3]) if epoch else None
    speed, seconds = (pace.speed, pace.seconds) if pace is not None else (None, None)
    at = printed_time(text, clock)
    return Observation(
        place, text, FORMAT, epoch=number, loss=loss, speed=speed, step_seconds=seconds, at=at,
        throughput=printed.throughput(paces(plain)),
    )  # fmt: skip


def _complete(lines: Sequence[_Line], loss: float | None, pace: Pace | None, text: str) -> None:
    """Give the last line with a counter what a line behind it tells."""
    if not lines:
        return
    seen = lines[-1].seen
    loss = seen.loss if seen.loss is not None else loss
    speed, seconds = (pace.speed, pace.seconds) if pace is not None else (seen.speed, seen.step_seconds)
    if pace is not None and pace.speed.unit.startswith(_TIMES) and seen.speed and seen.speed.unit == "it/s":
        speed = seen.speed  # what is called steps a second may be those of an environment; the time of one is its own
    lines[-1].seen = replace(seen, loss=loss, speed=speed, step_seconds=seconds)
    lines[-1].paced = lines[-1].paced or (pace is not None and pace.seconds is not None)
    lines[-1].foretold = lines[-1].foretold or (lines[-1].paced and _END.search(text) is not None)


def _whole(piece: Piece) -> str:
    """Return the text of a piece; of one that may be torn what stands before its last blank."""
    text = piece.raw[: 4 * MOST].decode("utf-8", "replace")[:MOST].translate(_WIDE)
    text = _BOX.sub(r"  \1: \2 ", _PAIR.sub(r"\1: ", text))
    return text if piece.closed else text[: text.rfind(" ") + 1]


def _with_points(text: str) -> str:
    """Return a line of a language whose numbers have a decimal comma (`3.400`, `0,41`) with points."""
    if not _COMMA.search(text) or _POINT.search(text):
        return text
    text = re.sub(r"(?<![\w.,])\d{1,3}(?:\.\d{3})+(?![\w.])", lambda match: match[0].replace(".", ""), text)
    return re.sub(r"(?<![\w.,])(\d+),(\d+)(?![\w.]|,\d)", r"\1.\2", text)


def _counters(text: str) -> dict[str, tuple[int, int | None]]:
    counts: dict[str, tuple[int, int | None]] = {}
    for pattern in (_AHEAD, _OF_BEHIND, _BEHIND):
        for match in pattern.finditer(text):
            step = printed.whole(match["step"])
            if step is not None and not _ELSE.search(text, 0, match.start()):
                counts.setdefault(match["key"].lower(), (step, printed.whole(match["total"])))
    bare = _BARE_COUNT.match(text) if not counts else None
    step = printed.whole(bare["in"] or bare["step"]) if bare else None
    return {"": (step, None)} if step is not None else counts


def counters(text: str) -> dict[str, tuple[int, int | None]]:
    """Return step and total of each counter that a line names."""
    return {key: count for key, count in _counters(text).items() if key}


def is_aside(text: str) -> bool:
    """Return whether words in front of a counter say that it counts no steps of the training."""
    return _ELSE.search(text) is not None


def rank(key: str) -> int:
    """Return how sure a name is to count the steps of the whole run; 0 leaves no doubt."""
    return _RANKS[key]


def loss_in(text: str) -> float | None:
    """Return the training loss that a line names."""
    match = _LOSS.search(text)
    return printed.number(match[1].rstrip(",")) if match else None
