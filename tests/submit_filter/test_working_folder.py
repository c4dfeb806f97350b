"""Where the shell is after cd, pushd and popd: as bash says it, in folders with links, and never a guess."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.plan.build import plan
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import show

PLAIN = [
    "cd a", "cd b", "cd a/b", "cd ..", "cd ../..", "cd -", "cd -- a", "cd ./a", "cd a/../b", "cd link", "cd link/..",
    'cd "$OLDPWD"', "cd $HERE", "cd $HERE/a/", "cd //$HERE", "cd -L b", "pushd a", "pushd b", "pushd ..", "pushd",
    "popd", "pushd link", "popd; popd", "(cd a; cd b)", "X=$(cd a && pwd)", "if true; then cd a; fi", "{ cd b; }", "cd",
    "pushd a >/dev/null 2>&1 || exit 1", "cd ~", "cd ~/a", "pwd", "go() { cd $1; }; go a",
    "builtin cd a", "command cd b",
]  # fmt: skip
DEPENDING = [
    "cd a && cd b",
    "cd b && cd - || cd a",
    "cd() { builtin cd a; }; cd b && unset -f cd",
    "[ -d link ] && cd a",
    "cd $(basename $PWD/a)",
    "for i in a b; do cd $i; done",
]


def tree(top: Path, depth: int = 4) -> None:
    """Folders a and b in each other, and in each a link that leads elsewhere."""
    for name in ("a", "b"):
        if depth:
            (top / name).mkdir()
            tree(top / name, depth - 1)
    os.symlink("/usr/lib", top / "link")


def asked(lines: list[str], folder: str, scheduler: str = "slurm") -> Submission:
    source = "\n".join(["#!/bin/bash", *lines, ""]).encode()
    name = b"sbatch" if scheduler == "slurm" else b"qsub"
    return Submission(scheduler, (name, b"j.sh"), source, "file", b"j.sh", folder.encode(), 1000, {})


def told(lines: list[str], folder: str, **environment: str) -> list[str]:
    """What `python a.py` is given on each launch line, one word each."""
    one = asked(lines, folder)._replace(environment={name.encode(): v.encode() for name, v in environment.items()})
    job = understood(one, None)
    assert job is not None
    made = plan(job.submission, job.script, job.settings, GENERIC_SLURM, job.arguments, job.read)
    return ["".join(map(show, step.program[2:])) for step in made.steps]


@pytest.mark.parametrize("seed", range(60))
def test_the_folder_is_where_bash_is(tmp_path: Path, seed: int) -> None:
    """After each of a row of commands that all succeed, the exchange of folders by pushd among them."""
    top = tmp_path / "top"
    top.mkdir()
    tree(top)
    draw, steps = random.Random(seed), PLAIN if seed % 2 else PLAIN + DEPENDING
    kept: list[str] = []
    environment = {"HOME": str(top), "HERE": str(top), "PATH": os.environ["PATH"]}
    for _ in range(24):
        tried = [*kept, draw.choice(steps)]
        done = bash(tried, str(top), environment)
        if done is not None:
            kept, said = tried, done
    launches = ["HERE=%s" % top]
    for one in kept:
        launches += [one, 'srun python a.py "$PWD"']
    assert len(kept) >= 3
    found = told(launches, str(top), HOME=str(top))
    wrong = [row for row in zip(kept, found, said, strict=True) if row[1] != row[2] and "<unknown>" not in row[1]]
    assert wrong == []
    assert seed % 2 == 0 or found == said


def bash(lines: list[str], folder: str, environment: dict[str, str]) -> list[str] | None:
    """The folder after each line; None where one of them fails."""
    script = "\n".join('%s || exit 1; echo "$PWD" >&3' % one for one in lines)
    argv = ["bash", "--norc", "-c", "exec 3>&1 > /dev/null\n" + script]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, env=environment)
    return done.stdout.splitlines() if done.returncode == 0 else None


@pytest.mark.parametrize(
    "lines",
    [
        ["cd $SOMEWHERE"],
        ["cd $SOMEWHERE", "cd .."],
        ["cd $SOMEWHERE/..", "cd a"],
        ["cd $SOMEWHERE/a", "cd .."],
        ["cd -P link"],
        ["CDPATH=/data", "cd sets"],
        ["cd -"],
        ["popd +1"],
        ["[ -d $SOMEWHERE ] && pushd /x", "popd"],
        ["for i in $SOMEWHERE; do pushd a; done", "popd"],
        ["if [ -d $SOMEWHERE ]; then cd a; else cd b; fi"],
        ["cd $(some_program)"],
        ["cd a b"],
        ["cd /%s" % "/".join(["folder"] * 1000)],
    ],
)
def test_what_is_not_known_is_not_guessed(lines: list[str]) -> None:
    """A word of PWD that is shown as unknown, and no file that is read there."""
    (word,) = told(["SOMEWHERE=$(some_program)", *lines, 'srun python a.py "$PWD"'], "/w")
    assert "/" not in word or "<" in word or "{" in word, word


@pytest.mark.parametrize("way", ["cd ..", "cd -", "popd", "cd $SLURM_SUBMIT_DIR", 'cd "${SLURM_SUBMIT_DIR}/"'])
def test_a_file_is_read_where_the_shell_is(tmp_path: Path, way: str) -> None:
    """Not in the folder where it was before, which has one of the same name."""
    (tmp_path / "data").mkdir()
    (tmp_path / "env.sh").write_text("WHICH=right\n")
    (tmp_path / "data" / "env.sh").write_text("WHICH=wrong\n")
    lines = ["pushd data > /dev/null", way, "source env.sh", "srun python a.py $WHICH"]
    job = understood(asked(lines, str(tmp_path)), _read)
    assert job is not None
    made = plan(job.submission, job.script, job.settings, GENERIC_SLURM, job.arguments, job.read)
    assert [show(word) for word in made.steps[0].program[2:]] == ["right"]


def test_a_folder_with_two_names_is_left_by_the_one_that_the_shell_knows() -> None:
    """Which is that of PWD; where it leads to is not known without a look at the disk."""
    go = ['srun python a.py "$PWD"']
    assert told(go, "/data/w", PWD="/home/me/w") == ["/home/me/w"]
    assert told(["cd ..", *go], "/data/w", PWD="/home/me/w") == ["<unknown>"]
    assert told(["cd ..", *go], "/data/w", PWD="/data/w") == ["/data"]
    assert told(["#SBATCH --chdir=/x/y", "cd ..", *go], "/data/w", PWD="/home/me/w") == ["/x"]
    assert told(["#SBATCH --chdir=y", *go], "/data/w", PWD="/home/me/w") == ["/data/w/y"]


@pytest.mark.parametrize(
    "way", ["srun -D data", "srun --chdir=data", "srun env -C data", "srun singularity exec --pwd /x i.sif"]
)
def test_a_step_in_another_folder_reads_no_file_of_this_one(tmp_path: Path, way: str) -> None:
    """srun goes there; where an image's folder is, nobody knows."""
    (tmp_path / "data").mkdir()
    (tmp_path / "run.sh").write_text("python a.py wrong\n")
    (tmp_path / "data" / "run.sh").write_text("python a.py right\n")
    job = understood(asked([way + " bash run.sh"], str(tmp_path)), _read)
    assert job is not None
    made = plan(job.submission, job.script, job.settings, GENERIC_SLURM, job.arguments, job.read)
    assert b"wrong" not in made.steps[0].program
    assert (b"right" in made.steps[0].program) == way.startswith(("srun -D", "srun --chdir"))


def test_no_file_is_read_where_the_folder_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name alone would be looked for where Maple itself is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env.sh").write_text("WHICH=wrong\n")
    job = understood(asked(["source env.sh", "mpiexec -n 1 python a.py $WHICH"], str(tmp_path), "pbs"), _read)
    assert job is not None
    made = plan(job.submission, job.script, job.settings, GENERIC_PBS, job.arguments, job.read)
    assert "wrong" not in [show(word) for word in made.steps[0].program[2:]]


def _read(path: bytes) -> bytes | None:
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except OSError:
        return None
