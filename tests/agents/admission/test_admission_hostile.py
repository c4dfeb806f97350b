"""Files that are no use, or worse: nothing is raised, nothing hangs, nothing outside the bounds is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from maple_agents.admission import user_files
from maple_agents.admission.analysis import analyse
from maple_agents.admission.extracts import CONFIG, MOST_LEAVES, leaves
from maple_agents.admission.files import read_files
from maple_agents.admission.hydra import MOST_LAID, composed
from maple_agents.admission.user_files import Files, Form, T
from maple_daemon.remember.sections import script_parts
from maple_submit_filter.types.job_records import Value
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\n#SBATCH --nodes=1\npython train.py --config c.yaml --seed 4\n"
OPTION = b"import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', default=0.5)\n"


def values(folder: Path, script: bytes = SCRIPT) -> dict[str, Value]:
    """Return what is read of a script in *folder*."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", os.fsencode(folder), 1000, {})
    return {one.name: one for one in read_files(asked, script_parts(script)).values}


def deep(path: Path) -> None:
    """Brackets within brackets."""
    path.write_bytes(b"a: " + b"[" * 50_000)


def fifo(path: Path) -> None:
    """Whoever opens it waits for a writer."""
    os.mkfifo(path)


def device(path: Path) -> None:
    """A link to what never ends."""
    path.symlink_to("/dev/zero")


def cycle(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    """One byte too many."""
    path.write_bytes(OPTION + b"#" * (user_files.MOST_BYTES - len(OPTION) + 1))


def binary(path: Path) -> None:
    """No text."""
    path.write_bytes(bytes(range(256)) * 64)


def expression(path: Path) -> None:
    """An expression that takes a parser to its knees."""
    path.write_bytes(b"x = " + b"(" * 5000 + b"1" + b")" * 5000 + b"\ny = " + b"-" * 20_000 + b"1\n")


def folder_of_that_name(path: Path) -> None:
    """No file at all."""
    path.mkdir()


@pytest.mark.parametrize("made", [deep, fifo, device, cycle, huge, binary, expression, folder_of_that_name])
@pytest.mark.parametrize("name", ["train.py", "c.yaml"])
def test_a_file_that_is_no_use_leaves_what_the_script_says(
    tmp_path: Path, name: str, made: Callable[[Path], None]
) -> None:
    """The script's own values are there, and none of the file's."""
    (tmp_path / "train.py").write_bytes(OPTION)
    (tmp_path / "c.yaml").write_bytes(b"batch_size: 3\n")
    assert {"batch_size", "learning_rate"} <= values(tmp_path).keys()
    (tmp_path / name).unlink()
    made(tmp_path / name)
    found = values(tmp_path)
    assert found["seed"].value == "4"
    assert {"train.py": "learning_rate", "c.yaml": "batch_size"}[name] not in found


def test_a_number_of_files_is_read_and_no_more(tmp_path: Path) -> None:
    """The file behind the last that may be read is not."""
    for at in range(4):
        (tmp_path / str(at)).write_bytes(b"x")
    files = Files(str(tmp_path), most=3)
    found = [files.extracted(str(tmp_path / str(at)), "config", CONFIG) for at in range(4)]
    assert [one is not None for one in found] == [True, True, True, False]
    assert len(files.parts) == 3


def test_a_file_through_a_link_is_read_as_the_user_would(tmp_path: Path) -> None:
    """A program that is a link to a regular file is that program."""
    (tmp_path / "real.py").write_bytes(OPTION)
    (tmp_path / "train.py").symlink_to("real.py")
    assert values(tmp_path)["learning_rate"].value == "0.5"


def test_programs_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    """A circle of imports ends."""
    (tmp_path / "train.py").write_bytes(b"import other\n" + OPTION)
    (tmp_path / "other.py").write_bytes(b"import train\nfrom . import other\n")
    assert values(tmp_path)["learning_rate"].value == "0.5"


def test_the_script_alone_says_the_same_whatever_the_files_say(tmp_path: Path) -> None:
    """No file is read for it: what only they say is absent."""
    (tmp_path / "train.py").write_bytes(OPTION)
    asked = Submission("slurm", (b"sbatch", b"job.sh"), SCRIPT, "file", b"job.sh", os.fsencode(tmp_path), 1000, {})
    alone = analyse(asked, script_parts(SCRIPT))
    (tmp_path / "train.py").unlink()
    assert analyse(asked, script_parts(SCRIPT)) == alone
    assert {one.name for one in alone.values} >= {"program", "seed"}
    assert "learning_rate" not in {one.name for one in alone.values}


def test_nothing_of_a_program_is_run(tmp_path: Path) -> None:
    """What would write a file when imported has not done so."""
    (tmp_path / "train.py").write_bytes(OPTION + b"open('ran', 'w')\n__import__('os').mkdir('made')\n")
    values(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["train.py"]


def test_aliases_do_not_grow_without_end() -> None:
    """A document whose aliases would be a billion values has none."""
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (at, at, b", ".join([b"*a%d" % (at - 1)] * 10)) for at in range(1, 9)]
    assert leaves(b"\n".join(lines), "c.yaml") == []
    assert 0 < len(leaves(b"\n".join(lines[:3]), "c.yaml")) <= MOST_LEAVES


class Counting(Files):
    """Counts how often a file is asked for."""

    asked = 0

    def extracted(self, path: str, kind: str, form: Form[T]) -> T | None:
        """Return what there is, and count."""
        self.asked += 1
        return super().extracted(path, kind, form)


def test_configs_that_name_others_many_times_end(tmp_path: Path) -> None:
    """Of a billion ways through a few configs, a few hundred are gone."""
    for at in range(8):
        names = "".join("  - c%d\n" % (at + 1) for _ in range(20))
        (tmp_path / ("c%d.yaml" % at)).write_text("defaults:\n%s  - _self_\nseed: 1\n" % names)
    files = Counting(str(tmp_path))
    composed(str(tmp_path), "c0", {}, files)
    assert files.asked <= MOST_LAID


def test_a_config_that_names_itself_is_laid_once(tmp_path: Path) -> None:
    """Its defaults list leads nowhere new."""
    (tmp_path / "c.yaml").write_text("defaults:\n  - c\n  - c\n  - _self_\nseed: 1\n")
    files = Counting(str(tmp_path))
    assert [one.value for one in composed(str(tmp_path), "c", {}, files).settings] == ["1"]
    assert files.asked == 1


def test_the_largest_file_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    """The bound is in bytes, and itself allowed."""
    (tmp_path / "one").write_bytes(b"x" * user_files.MOST_BYTES)
    (tmp_path / "other").write_bytes(b"x" * (user_files.MOST_BYTES + 1))
    assert user_files.content(str(tmp_path / "one")) is not None
    assert user_files.content(str(tmp_path / "other")) is None


def test_what_is_no_regular_file_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a FIFO or a tape does something to it."""
    fifo(tmp_path / "pipe")
    asked: list[object] = []
    monkeypatch.setattr(os, "open", lambda *words: asked.append(words))
    assert user_files.content(str(tmp_path / "pipe")) is None
    assert asked == []


def test_a_part_changes_with_its_file_alone(tmp_path: Path) -> None:
    """Another content of one file is another hash of that part, and of no other."""
    (tmp_path / "train.py").write_bytes(OPTION)
    (tmp_path / "c.yaml").write_bytes(b"batch_size: 3\n")
    before = values(tmp_path)
    (tmp_path / "c.yaml").write_bytes(b"batch_size: 4\n")
    after = values(tmp_path)
    assert before["batch_size"].part != after["batch_size"].part
    assert before["learning_rate"] == after["learning_rate"]
