"""What stands before the words: a traceback is one event whatever stamps its lines, known form or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.read import bare, read
from maple_agents.diagnose.values import Digest, LogFile

TRACEBACK = """Traceback (most recent call last):
  File "/home/ana/train.py", line 12, in <module>
    main()
  File "/home/ana/train.py", line 8, in main
    model.load_state_dict(state)
    ~~~~~~~~~~~~~~~~~~~~~^^^^^^^
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 2584, in load_state_dict
    raise RuntimeError(
RuntimeError: Error(s) in loading state_dict for Net:
    Missing key(s) in state_dict: "head.weight".
"""
BEFORE = [
    "2024-06-01T10:00:00.123 ", "2024-06-01T10:00:00.123456789Z stderr F ", "2024-06-01 10:00:00 +0200 ",
    "0: [rank1]: ",
    "(RayWorkerWrapper pid=24884) ERROR 07-25 07:05:40 worker_base.py:382] ", "(WorkerDict pid=7, ip=10.0.3.12) ",
    "Jun 01 10:00:00 n1 python[77]: ", "nid001: 2024-06-01 10:00:00 ", "2024-06-01T10:00:00+02:00 n1 python[77]: ",
    "ERROR 25/07/26 07:05:40 <worker_base> x.py#382 > ", "[default3]:[rank3]: ", "worker-3 | ", "@7 ~ ",
    "06/01/2024 10:00:00 - ERROR - ", "2024-06-01 10:00:00.123 | ERROR    | __main__:main:12 - ", "[gpu001:3] ", "> ",
    "[2024-06-01 10:00:00,123][train][ERROR] - ", "2024 Jun  1 10:00:00 n1 ", "6/1/2024, 10:00:00 AM ", "012: ",
    "[gpu001:3]:",
]  # fmt: skip


def digest(folder: Path, text: str) -> Digest:
    (folder / "job.log").write_text(text)
    return read([LogFile(str(folder / "job.log"), "both")])


def stamped(before: str) -> str:
    return "".join(before + line for line in TRACEBACK.splitlines(keepends=True))


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("chatter", ["", "hello\n{}step 1 of 5\n{}another line\n"], ids=["alone", "behind others"])
def test_a_stamped_traceback_is_one_event(tmp_path: Path, before: str, chatter: str) -> None:
    """All its lines are its own, and its innermost own frame is known."""
    events = digest(tmp_path, chatter.replace("{}", before) + stamped(before)).events
    (event,) = [one for one in events if "step" not in one.text and "another" not in one.text]
    assert (event.exception, event.frame) == ("RuntimeError", ("/home/ana/train.py", 8))
    assert event.unit_at == tuple(range(event.unit_at[0], event.unit_at[0] + 10))
    assert event.text.startswith(before)


def test_torn_lines_leave_the_other_rank_whole(tmp_path: Path) -> None:
    """A rank whose line is torn by another one's header: the other's traceback is read all the same."""
    one, two = stamped("[rank0]: ").splitlines(), stamped("[rank1]: ").splitlines()
    torn = [*one[:8], one[8][:40] + two[0], one[8][40:], *two[1:]]
    whole = [one for one in digest(tmp_path, "\n".join(torn)).events if one.exception]
    assert [(event.rank, event.frame) for event in whole] == [(1, ("/home/ana/train.py", 8))]


def test_processes_are_told_apart_by_a_number_in_brackets(tmp_path: Path) -> None:
    """Two processes in turns, each with its number before its words: two tracebacks, each with its own frame."""
    one = stamped("n1 python[77] ").splitlines()
    two = stamped("n1 python[78] ").replace("line 8", "line 9").replace("RuntimeError", "KeyError").splitlines()
    events = digest(tmp_path, "\n".join(line for pair in zip(one, two, strict=True) for line in pair)).events
    assert [(event.exception, event.frame) for event in events] == [
        ("RuntimeError", ("/home/ana/train.py", 8)), ("KeyError", ("/home/ana/train.py", 9))]  # fmt: skip


def test_words_before_a_header_that_no_frame_bears_are_no_prefix(tmp_path: Path) -> None:
    """A message may go over into a traceback; lines that begin as it does keep their words."""
    text = f"failed 3: {TRACEBACK}step 1\nfailed 4: could not read x\n"
    assert [one.text for one in digest(tmp_path, text).events][-1] == "failed 4: could not read x"


def test_the_number_of_a_task_is_no_rank_beside_a_rank(tmp_path: Path) -> None:
    """`srun --label` counts tasks; torch's own label says the rank."""
    found = digest(tmp_path, "".join(f"{rank // 4}: [rank{rank}]: warning: slow link\n" for rank in range(8)))
    assert set(found.ranks) == set(range(8)) == found.events[0].ranks


BARE = [
    ("0: torchrun: error: x", (0,), "torchrun: error: x"), ("0: [rank1]: ValueError: x", (0,), "ValueError: x"),
    (" 3: words", (3, 5), "words"), ("3: words", (), "3: words"), ("3: words", (4,), "3: words"),
    ("2024-06-01T10:00:00.123456789Z stderr F     main()", (), "    main()"),
    ("2024-06-01T10:00:00.123   x", (), "  x"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "ranks", "words"), BARE)
def test_bare(line: str, ranks: tuple[int, ...], words: str) -> None:
    """A bare number is a label only where one of these ranks said the line; indentation stays."""
    assert bare(line, ranks) == words
