"""A submission finds the job that it is a version of; what is known holds where nothing that it hangs on changed."""

from __future__ import annotations

import random
from typing import Any, Optional

import pytest
from maple_agents.base.secrets.masking import masked
from maple_daemon.remember import description, sections, versions
from maple_daemon.remember.description import Question
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.job_records import Part, Value, Version
from maple_submit_filter.types.submission import Submission

SCRIPT = b"""#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2

module load cuda
export LR=0.1
cd $HOME/project
srun torchrun --nproc-per-node=4 train.py --lr $LR
echo done
"""
OTHER = b"#!/bin/bash\n#SBATCH -N 1\nfor one in a b c; do\n  ./prepare $one\ndone\nsrun python clean.py\n"


def request(
    script: bytes = SCRIPT, path: str = "/home/u/job.sh", *words: str, uid: int = 1000, cwd: str = "/home/u",
    came: str = "file", **environment: str,
) -> Request:  # fmt: skip
    """A submission as the front tells it."""
    argv = (b"sbatch", *(word.encode() for word in words), path.encode())
    around = {name.encode(): value.encode() for name, value in environment.items()}
    one = Submission("slurm", argv, script, came, path.encode(), cwd.encode(), uid, around)
    return Request(b"n" * 16, b"h" * 32, one, len(argv) - 1)


def told(*args: Any, **more: Any) -> versions.SubmittedJob:
    """What is kept of a submission."""
    return description.described(request(*args, **more), GENERIC_SLURM)


class History:
    """Versions of users as they come, the newest first."""

    def __init__(self) -> None:
        self.known: list[versions.Known] = []

    def add(self, one: versions.SubmittedJob) -> Version:
        """Take a submission."""
        made = versions.version_of(one, self.known, float(len(self.known)))
        if all(made.id != other.version.id for other in self.known):
            self.known.insert(0, versions.known_of(made))
        return made


@pytest.fixture
def history() -> History:
    """One with a first version."""
    made = History()
    made.add(told())
    return made


@pytest.mark.parametrize(
    "second",
    [
        told(SCRIPT.replace(b"nodes=2", b"nodes=4")),
        told(SCRIPT, "/home/u/job.sh", "--time=2:00"),
        told(SCRIPT, "/home/u/job.sh", "--array=0-9"),
        told(SCRIPT, LR="0.5"),
        told(OTHER, "/home/u/job.sh", "--job-name=train"),
        told(OTHER, "/home/u/new.sh", "--job-name=train"),
        told(SCRIPT.replace(b"=train", b"=other").replace(b"=2", b"=8"), "/home/v/copy.sh", cwd="/home/v"),
    ],
    ids=["edit", "words", "array", "variable", "same path and name", "same name and place", "copy"],
)
def test_a_version_of_the_same_job_is_of_its_lineage(history: History, second: versions.SubmittedJob) -> None:
    """And was made from the first."""
    first, made = history.known[0].version, history.add(second)
    assert made.id != first.id
    assert (made.lineage, made.parent) == (first.lineage, first.id)


@pytest.mark.parametrize(
    "second",
    [
        told(OTHER, "/home/u/clean.sh"),
        told(SCRIPT, uid=1001),
        told(b"#!/bin/sh\nsrun du -sh\n", "", came="wrap"),
    ],
    ids=["another script", "another user", "without a name"],
)
def test_another_job_begins_a_lineage(history: History, second: versions.SubmittedJob) -> None:
    """It has no parent, also where the words of another user's are the same."""
    made = history.add(second)
    assert (made.lineage, made.parent) == (made.id, "")


def test_scripts_that_lie_beside_each_other_are_jobs_of_their_own() -> None:
    """However alike they are: whoever varies one line keeps a file for each. An edit of one stays with that one."""
    history = History()
    script = SCRIPT.replace(b"#SBATCH --job-name=train\n", b"")
    assert script != SCRIPT
    paths = ["/home/u/run_%d.sh" % number for number in range(7)]
    texts = [script.replace(b"echo done", b"echo lr %d" % number) for number in range(7)]
    first = [history.add(told(text, path)) for text, path in zip(texts, paths)]
    assert len({one.lineage for one in first}) == 7
    again = [history.add(told(text + b"date\n", path)) for text, path in zip(texts, paths)]
    assert [(one.lineage, one.parent) for one in again] == [(one.lineage, one.id) for one in first]


def test_what_has_no_name_is_one_job_only_if_it_is_alike() -> None:
    """Every job that came by --wrap is called wrap."""
    history = History()
    one = history.add(told(b"srun python train.py --lr 1\n", "", came="wrap"))
    two = history.add(told(b"du -sh /scratch\n", "", came="wrap"))
    again = history.add(told(b"srun python train.py --lr 1\n", "", "--time=5", came="wrap"))
    assert one.lineage != two.lineage
    assert (again.lineage, again.parent) == (one.lineage, one.id)


def test_the_parent_is_the_most_similar_version_and_of_those_the_newest() -> None:
    """An edit that goes back to an earlier state was made from that."""
    history = History()
    first = history.add(told())
    history.add(told(SCRIPT.replace(b"cd $HOME/project\n", b"cd /x\nmkdir -p y\ncp z y\n")))
    third = history.add(told(SCRIPT.replace(b"echo done", b"echo end")))
    assert third.parent == first.id
    fourth = history.add(told(SCRIPT, "/home/u/job.sh", "--time=1"))
    assert fourth.parent == first.id
    assert history.add(told(SCRIPT, "/home/u/job.sh", "--time=2")).parent == fourth.id


def test_the_same_submission_is_the_same_version_wherever_the_script_lies(history: History) -> None:
    """It is the content, the words and the variables that make a version."""
    first = history.known[0].version
    assert history.add(told()).id == first.id
    assert history.add(told(SCRIPT, "./job.sh")).id == first.id
    assert history.add(told(SCRIPT, "/elsewhere/other.sh", cwd="/elsewhere")).id == first.id
    assert history.add(told(SCRIPT, HOME="/home/u", SHELL="/bin/zsh")).id == first.id


def test_every_line_is_in_one_part_and_a_change_shows_in_that_part_alone() -> None:
    """Comments go with what follows them."""
    before = {one.kind: one.hash for one in sections.script_parts(SCRIPT)}
    assert set(before) == {"directives", "environment", "setup", "launch", "after"}
    for old, new, kind in (
        (b"nodes=2", b"nodes=3", "directives"), (b"cuda", b"cuda/12", "environment"), (b"project", b"p", "setup"),
        (b"--lr", b"--rate", "launch"), (b"done", b"end", "after"),
    ):  # fmt: skip
        after = {one.kind: one.hash for one in sections.script_parts(SCRIPT.replace(old, new))}
        assert [name for name in before if before[name] != after[name]] == [kind]
    assert len({one.hash for one in sections.parts_of(request(), SCRIPT)}) == 7


def _reuse(new: Request, old: Optional[Request]) -> tuple[versions.Reuse, list[Value], list[Value]]:
    """What is known of *new* after *old*, what is read besides, and what reading everything gives."""
    known = []
    if old is not None:
        version = versions.version_of(description.described(old, GENERIC_SLURM), (), 0.0)
        known = [versions.known_of(version._replace(values=tuple(_values(old))))]
    made = versions.reuse(description.described(new, GENERIC_SLURM), known)
    return made, _values(new, [one.hash for one in made.again]), _values(new)


def _values(of: Request, wanted: Optional[list[str]] = None) -> list[Value]:
    hashes = [one.hash for one in description.described(of, GENERIC_SLURM).parts] if wanted is None else wanted
    found = description.answer(Question(frames.pack_request(of), b"", tuple(hashes)), GENERIC_SLURM)["values"]
    return [Value(*one) for one in found]


def test_only_what_changed_and_what_depends_on_it_is_read_again() -> None:
    """The end of a script hangs on all before it, its beginning on nothing behind."""
    same, again = "directives environment setup", "launch after argv variables"
    made, _, _ = _reuse(request(SCRIPT.replace(b"--lr", b"--rate")), request())
    assert {one.kind for one in made.same} == set(same.split())
    assert {one.kind for one in made.again} == set(again.split())
    made, _, _ = _reuse(request(SCRIPT.replace(b"nodes=2", b"nodes=3")), request())
    assert made.same == ()
    made, _, _ = _reuse(request(), request())
    assert made.again == ()


def test_what_is_known_of_a_version_read_by_other_code_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer Maple may read otherwise."""
    monkeypatch.setattr(description, "reader", lambda: "older")
    old = versions.known_of(versions.version_of(description.described(request(), GENERIC_SLURM), (), 0.0))
    monkeypatch.undo()
    assert versions.reuse(description.described(request(), GENERIC_SLURM), [old]).same == ()


@pytest.mark.parametrize("seed", [7, 8])
def test_values_known_and_read_again_are_those_of_a_full_reading(seed: int) -> None:
    """After hundreds of random edits of scripts, words and variables: never another value, place or source."""
    dice, differ, reused = random.Random(seed), 0, 0
    before = request()
    for _ in range(200):
        after = _edited(before, dice)
        made, read, full = _reuse(after, before)
        differ += sorted((*made.values, *(one for one in read if one not in made.values))) != sorted(full)
        reused += len(made.same)
        before = after if dice.random() < 0.7 else request()
    assert differ == 0
    assert reused > 200


def _edited(one: Request, dice: random.Random) -> Request:
    lines = (one.submission.script or b"").split(b"\n")
    at = dice.randrange(1, len(lines))
    pieces = [
        b"#SBATCH --ntasks-per-node=%d" % dice.randrange(9), b"# a word", b"", b"export LR=%d" % dice.randrange(9),
        b"#SBATCH --time=%d" % dice.randrange(99), b"srun python more.py", b"NODES=3", b"echo $LR",
    ]  # fmt: skip
    kind = dice.randrange(5)
    words = dice.choice([("--nodes=3",), ("--time=9",), ()]) if kind == 3 else ()
    around = {"SBATCH_TIMELIMIT": str(dice.randrange(3))} if kind == 4 else {}
    if kind == 0:
        lines.insert(at, dice.choice(pieces))
    elif kind == 1:
        del lines[at]
    elif kind == 2:
        other = dice.randrange(1, len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    return request(b"\n".join(lines), "/home/u/job.sh", *words, **around)


def test_what_is_read_down_to_the_harmless_end_is_what_the_whole_script_says() -> None:
    """In scripts of our corpora, with loops, functions, here-documents and launches in the background."""
    from maple_agents.admission.analysis import analyse
    from maple_daemon.remember.sections import REQUESTED, values_of

    from tests.daemon.replay import scripts

    ends = 0
    for scheduler, script in sorted(set(scripts()))[::12]:
        one = request(script + b"echo done\n").submission._replace(scheduler=scheduler)
        parts = sections.script_parts(one.script or b"")
        told = {value for value in values_of(one, parts, GENERIC_SLURM) if value.name not in REQUESTED}
        assert told == set(analyse(one, parts, GENERIC_SLURM).values)
        ends += parts[-1].kind == "after"
    assert ends > 20


@pytest.mark.parametrize(
    ("end", "lines"),
    [
        (b"echo done\n", 1), (b"echo $(srun hostname)\n", 0), (b"srun b & echo done\n", 0), (b"wait\necho done\n", 1),
        (b"cp a b && rm c\n", 1), (b"python more.py\n", 0), (b"echo a\n# why\nexit 0\n", 3), (b"$NEXT\n", 0),
        (b"cat <<EOF\nsrun x\nEOF\n", 3), (b"date\nf() { srun c; }\nf\n", 0), (b"STATUS=$?\nexit $STATUS\n", 2),
        (b"echo() { srun c; }\necho\n", 0), (b"for i in 1 2; do\n  echo $i\ndone\necho end\n", 1), (b"echo 'open\n", 0),
    ],
    ids=repr,
)  # fmt: skip
def test_only_commands_that_start_nothing_are_the_end_of_a_script(end: bytes, lines: int) -> None:
    """Whatever may start a program, or cannot be read, is looked at."""
    after = [one for one in sections.script_parts(b"#!/bin/bash\nsrun a\n" + end) if one.kind == "after"]
    assert sum(one.lines[1] - one.lines[0] + 1 for one in after) == lines


def test_files_read_later_stay_with_their_version_and_other_files_make_another() -> None:
    """What was read of the script stays with both."""
    script = versions.version_of(told(), (), 1.0)
    script = script._replace(values=(Value("nodes", "2", "", 3, script.parts[2].hash, "script"),))
    file, changed = Part("program", "/p/train.py", "a" * 32, (1, 9)), Part("program", "/p/train.py", "b" * 32, (1, 9))
    first = versions.with_files(script, script.id, [file], [Value("lr", "1", "train.py", 3, "a" * 32, "program")], 2.0)
    assert (first.id, [one.name for one in first.values]) == (script.id, ["nodes", "lr"])
    assert versions.with_files(first, script.id, [file], [], 3.0) == first
    second = versions.with_files(
        first, script.id, [changed], [Value("lr", "2", "train.py", 3, "b" * 32, "program")], 3.0
    )
    assert (second.parent, second.lineage) == (first.id, first.lineage)
    assert [(one.name, one.value) for one in second.values] == [("nodes", "2"), ("lr", "2")]
    assert versions.with_files(second, script.id, [file], [], 4.0).id != second.id


def test_no_secret_is_in_what_is_kept() -> None:
    """Neither of the script nor of the words; the hashes are of what came."""
    secret = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"
    script = SCRIPT + b"export HF_TOKEN=%s\n" % secret.encode()
    kept = told(script, "/home/u/job.sh", "--export=ALL,WANDB_API_KEY=0123456789abcdef", "--comment", secret)
    text = repr(kept)
    assert secret not in text and "0123456789abcdef" not in text
    assert b"[masked]" in kept.script and masked(kept.script.decode()) == kept.script.decode()
    assert versions.version_id(kept) != versions.version_id(told(script.replace(b"aB3", b"zZ9")))
