"""Which lines belong together, what a bar without a name counts, and which of them is the training itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .values import Mark, Observation, Reading

_FULL = 0.98  # of a bar: it is as good as done
_AGAIN = 0.5  # a bar that falls below this share of what it was begins anew


@dataclass(frozen=True, slots=True)
class Series:
    """Lines of one kind in the order of their file. *reading*: that file."""

    reading: Reading
    lines: tuple[Observation, ...]

    @property
    def last(self) -> Observation:
        return self.lines[-1]


def resolved(readings: Sequence[Reading]) -> list[Reading]:
    """Return readings in which each line says what it counts: bars without a name too, and epochs told in front.

    Bars go to standard error, and what is printed to standard output, so that each file may tell of the other.
    """
    lines = [observation for reading in readings for observation in reading.observations]
    of_trainer = any(observation.format == "hf_trainer" for observation in lines)
    of_epochs = any(observation.scope == "epoch" for observation in lines)
    out = []
    for reading in readings:
        own = _named(_with_epochs(_one_bar(reading.observations)), reading, of_trainer, of_epochs)
        out.append(replace(reading, observations=tuple(own)))
    return out


def series(readings: Iterable[Reading]) -> list[Series]:
    """Return the series of training in resolved readings, one for each kind of line, file and rank."""
    lines_of: dict[tuple[object, ...], list[Observation]] = {}
    of: dict[tuple[object, ...], Reading] = {}
    for reading in readings:
        for observation in reading.observations:
            if observation.role == "training":
                steps = observation.steps if observation.scope == "run" and observation.label == "" else None
                key = (
                    reading.file,
                    observation.rank,
                    observation.format,
                    observation.scope,
                    observation.step is None,
                    steps,
                )
                lines_of.setdefault(key, []).append(observation)
                of[key] = reading
    return [Series(of[key], tuple(lines)) for key, lines in lines_of.items()]


def leading(series: Sequence[Series]) -> Series | None:
    """Return the series that tells how far the training is: one that counts the run before one that counts an epoch,
    one with a total before one without, and of several the one that went on last; None where none counts anything.
    """
    return max(series, key=_worth, default=None)


def _worth(series: Series) -> tuple[object, ...]:
    last = series.last
    steps = last.step is not None
    counted = steps and last.scope == "run"
    ends = last.steps is not None and counted
    still = len({line.step for line in series.lines}) < 2
    stale = counted and still and last.step in (0, last.steps)  # over before this began, or never moved
    return (steps, counted and not stale, ends and not stale, round(series.reading.modified / 600), _progress(series),
            last.place.byte, -(last.rank or 0))  # fmt: skip


def _progress(series: Series) -> int:
    """Return how far the furthest line of a series is, so that of several ranks the first counts."""
    return max((line.step or 0 for line in series.lines[-3:]), default=0) if series.last.rank is not None else 0


def _with_epochs(lines: Sequence[Observation]) -> list[Observation]:
    """Return lines of an epoch's bar with the epoch that a line before them told (`Epoch 3/10`)."""
    out: list[Observation] = []
    observation: Observation | None = None
    for line in lines:
        if line.scope == "epoch" and line.step is None:
            observation = line
        elif line.scope == "epoch" and line.epoch is None and observation is not None:
            line = replace(
                line, epoch=_shown(observation), epochs=observation.epochs, epoch_base=observation.epoch_base
            )
        out.append(line)
    return out


def _one_bar(lines: Sequence[Observation]) -> list[Observation]:
    """Return lines in which a bar that began without a name and goes on under several (`warmup`, `sample`) is one."""
    out: list[Observation] = []
    bar: Observation | None = None
    for line in lines:
        if line.elapsed is not None:
            if bar is not None and line.label and _goes_on(bar, line):
                line = replace(line, role="training", scope="unknown", label="")
            bar = line if line.scope == "unknown" and not line.label else None
        out.append(line)
    return out


def _goes_on(bar: Observation, line: Observation) -> bool:
    """Return whether a line is the same bar drawn later: its total, its count and its clock go on."""
    return (
        line.role != "training"
        and line.steps is not None
        and line.steps == bar.steps
        and (line.step or 0) >= (bar.step or 0)
        and (line.elapsed or 0.0) >= (bar.elapsed or 0.0)
    )


def _shown(observation: Observation) -> float | None:
    """Return the epoch that goes on: the bar of a loop over epochs shows how many are done."""
    return observation.epoch


# Bars without a name: of a run, of an epoch, of an evaluation; their neighbours tell.


def _named(lines: Sequence[Observation], reading: Reading, of_trainer: bool, of_epochs: bool) -> list[Observation]:
    bare = [line for line in lines if line.scope == "unknown" and line.step is not None and not line.label]
    if not bare:
        return [_unclaimed(line) for line in lines]
    main = _main(bare, lines, reading)
    counts = "epoch" if not of_trainer and _is_of_epoch(bare, main, of_epochs, reading) else "run"
    out, begun = [], False
    epoch: Observation | None = None
    for observation in lines:
        if observation.scope == "epoch" and observation.step is None:
            epoch = observation
        if observation.scope == "unknown" and observation.step is not None and not observation.label:
            is_main = observation.steps == main
            begun = begun or is_main
            observation = _claimed(observation, is_main, begun, counts, epoch)
        out.append(_unclaimed(observation))
    return out


def _claimed(
    observation: Observation, is_main: bool, begun: bool, counts: str, epoch: Observation | None
) -> Observation:
    if not is_main:
        return replace(observation, role="evaluation" if begun else "preparation", scope="part")
    if counts == "run":
        return replace(observation, scope="run")
    number = epoch.epoch if epoch is not None else None
    epochs = epoch.epochs if epoch is not None else None
    return replace(observation, scope="epoch", epoch=number, epochs=epochs, epoch_base=epoch.epoch_base if epoch else 1)


def _unclaimed(observation: Observation) -> Observation:
    """Return a line whose scope stayed unknown as one that claims no total."""
    return replace(observation, scope="part", role="preparation") if observation.scope == "unknown" else observation


def _main(bare: Sequence[Observation], lines: Sequence[Observation], reading: Reading) -> int | None:
    """Return the total of the bar that is the training's.

    A total that was told in words is it. Else the one within which others came and went; else the last that was not
    done when another began; else the last.
    """
    totals = {total.value for total in reading.announced if total.name == "steps"}
    known = [bar.steps for bar in bare if bar.steps in totals]
    if known:
        return known[-1]
    around = _around(bare)
    if around is not None:
        return around
    evaluated = _evaluated(bare, reading.marks)
    rest = [bar for bar in bare if bar.place.byte not in evaluated] or (list(bare) if not evaluated else [])
    if not rest:
        return -1  # only bars of evaluations
    last = rest[-1]
    for observation, following in zip(rest, rest[1:]):
        if observation.steps != following.steps and not _is_done(observation):
            return observation.steps
    return last.steps


def _around(bare: Sequence[Observation]) -> int | None:
    """Return the total of a bar that went on after another bar had come in between, the last such.

    Where two are drawn in turns, it is the one that began first: the other came within it.
    """
    seen: dict[int | None, int] = {}
    first: dict[int | None, int] = {}
    went_on: dict[int | None, int] = {}
    total: int | None = None
    before: Observation | None = None
    for observation in bare:
        if before is not None and observation.steps != before.steps:
            earlier = seen.get(observation.steps)
            if earlier is not None and observation.step is not None and observation.step >= earlier > 0:
                within = total is not None and first[total] < first[observation.steps] < went_on[total]
                total = total if within else observation.steps
                went_on[observation.steps] = observation.place.byte
        first.setdefault(observation.steps, observation.place.byte)
        seen[observation.steps] = observation.step or 0
        before = observation
    return total


def _evaluated(bare: Sequence[Observation], marks: Sequence[Mark]) -> set[int]:
    """Return the places of bars that follow the heading of an evaluation, before any other total."""
    heads = [mark.place.byte for mark in marks if mark.kind == "evaluation" and "Running" in mark.text]
    places: set[int] = set()
    for head in heads:
        behind = [observation for observation in bare if observation.place.byte > head]
        for observation in behind:
            if observation.steps != behind[0].steps:
                break
            places.add(observation.place.byte)
    before = {observation.steps for observation in bare if observation.place.byte not in places}
    return {
        observation.place.byte
        for observation in bare
        if observation.place.byte in places and observation.steps not in before
    }


def _is_of_epoch(bare: Sequence[Observation], main: int | None, of_epochs: bool, reading: Reading) -> bool:
    """Return whether the bar is of one epoch: it began anew once it was full, or a line names the epoch.

    A total that was told in words proves a bar of the run, as the Trainer of transformers does.
    """
    if main is not None and any(total.name == "steps" and total.value == main for total in reading.announced):
        return False
    own = [observation for observation in bare if observation.steps == main]
    again = any(
        _is_done(observation) and (two.step or 0) < _AGAIN * (observation.step or 0)
        for observation, two in zip(own, own[1:])
    )
    return again or of_epochs or any(total.name == "epochs" and total.value > 1 for total in reading.announced)


def _is_done(observation: Observation) -> bool:
    return (
        observation.steps is not None and observation.step is not None and observation.step >= _FULL * observation.steps
    )
