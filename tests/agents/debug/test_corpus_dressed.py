"""The same log in other clothes gets the same answer: a prefix before each line, colours, a frame more in a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.gather import by_files
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import Diagnosis
from maple_agents.templates.knowledge import anchors, entries
from maple_agents.templates.knowledge.entries import CLASSES
from maple_submit_filter.answer.decision import decide

from tests.agents.debug.corpus import FOLDER, Known, known_cases, verdict

TRACEBACK = b"Traceback (most recent call last):"
# Names that a path may well hold, and that mean something in a message.
FRAME = (
    b'  File "/opt/env/lib/python3.10/site-packages/accelerate/utils/retry_api.py", line 88, in http_rate',
    b"    return generate(*args, **kwargs)",
)
LISTS = tomllib.loads((FOLDER / "dressed.toml").read_text("utf-8"))


def _before(words: bytes) -> Callable[[bytes], bytes]:
    return lambda line: words + line if line else line


def _framed(line: bytes) -> bytes:
    """Put a frame of a library behind the head of a traceback, with what stands before that head."""
    start = line.find(TRACEBACK)
    return line if start < 0 else b"\n".join((line, *(line[:start] + one for one in FRAME)))


DRESSED: dict[str, Callable[[bytes], bytes]] = {
    "label": _before(b"0: "),  # srun --label
    "tag": _before(b"[1,0]<stderr>:"),  # mpirun --tag-output
    "time": _before(b"2024-06-01T10:00:00.123 "),  # srun … | ts
    "colour": lambda line: b"\x1b[31m" + line + b"\x1b[0m" if line else line,
    "frame": _framed,
}


def tried() -> list[Known]:
    """Return the cases that are dressed: of each class at least one that is answered right as it is."""
    return [one for one in known_cases() if one.name in LISTS["tried"]]


def told(one: Known, folder: Path, dress: Callable[[bytes], bytes]) -> Diagnosis:
    """Return what is said of a case whose log lines were all dressed."""
    for name in one.logs:
        lines = (one.folder / name).read_bytes().split(b"\n")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\n".join(map(dress, lines)))
    script = str(one.folder / one.script) if one.script else None
    case = by_files([str(folder / name) for name in one.logs], script, one.site, (), one.state, one.exit_code)
    decision = decide(case.asked, case.site, None) if case.asked else None
    return diagnose(case, read(case.logs, anchors(entries())), decision, entries())


@pytest.mark.parametrize("clothes", DRESSED)
def test_clothes_change_no_answer(clothes: str, tmp_path: Path) -> None:
    """What is not answered right in these clothes yet is recorded by name; all others are right."""
    said = {one: told(one, tmp_path / one.name, DRESSED[clothes]) for one in tried()}
    other = {
        one.name: [cause.cause for cause in what.causes] for one, what in said.items() if verdict(one, what) != "right"
    }
    assert {name: causes for name, causes in other.items() if name not in LISTS["not_yet"].get(clothes, [])} == {}


def test_every_class_is_tried() -> None:
    """And no name is listed of a case that is gone."""
    assert {one.cause for one in tried()} >= set(CLASSES) - {"unknown"}
    assert {one.name for one in tried()} == set(LISTS["tried"])
    assert set(LISTS["not_yet"]) <= set(DRESSED)
    assert {name for names in LISTS["not_yet"].values() for name in names} <= set(LISTS["tried"])
