"""A play that takes over what another did comes to the very plan that it would have come to by itself."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from maple_submit_filter.answer import decision as deciding
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.bash import parser, rereading
from maple_submit_filter.plan.build import plan
from maple_submit_filter.play.tape import recording, takeover
from maple_submit_filter.play.tape.recording import Tape
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan

from tests.bench.scripts import AROUND, script
from tests.submit_filter.test_worlds_kept_everywhere import Submitted, everything

# What stands between the lines of scripts here: each asks for, or changes, something else that a shell holds.
BETWEEN = (
    *(line.format(1).encode() for line in AROUND),
    b"D=$(date)", b"cd run", b"cat > file <<EOF\n$D x\nEOF", b"log() { echo $1; }", b"log x", b"X=${Y:-$(pwd)}",
    b"export NODES=$SLURM_NNODES", b"N=$SLURM_NTASKS_PER_NODE", b"H=$(cat file)", b"source x.sh", b"srun hostname",
    b"unset X", b"A+=(--x $X)", b"Z=${A[@]:1}", b'eval "$D"', b"pushd x", b"popd", b"wait", b"sleep 1 &", b"set -a",
    b"H2=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)", b"cut=${SLURM_JOB_NODELIST%%,*}", b"trap x EXIT",
    b"source y.sh; pushd y",
    b"if [ $SLURM_NNODES -gt 1 ]; then M=$(hostname); else M=localhost; fi", b"set -- a b", b"P=$1$#", b"IFS=,",
    b"printf -v V %s $N", b"for i in $(seq $N); do S=$S$i; done", b"module load cuda", b"(( C++ ))",
    b"export PATH=/opt/x/bin:$PATH", b"case $M in a) B=1;; *) B=$D;; esac", b"head -n1 file > other",
    b"while read L; do E=$L; done < file", b"mapfile -t F < file", b"shift", b"log2() { local X=$N; log $X; }; log2",
)  # fmt: skip
EDITS = (b"", b"1", b"12", b"x", b" --nodes=1", b"$SLURM_NTASKS", b"localhost", b"; Y=$D", b"#", b"$X", b" &")


@pytest.fixture(autouse=True)
def fine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every script is remembered, however short, and every command is a stretch of its own."""
    rereading._recent.clear()
    for module in (rereading, parser):
        monkeypatch.setattr(module, "LEAST", 1)
    monkeypatch.setattr(recording, "LEAST", 1)
    monkeypatch.setattr(recording, "MOST_STRETCHES", 10**6)
    yield
    rereading._recent.clear()


def interspersed(source: bytes, chance: random.Random) -> bytes:
    """Return the script with other commands between its own."""
    parser.parse(source)
    known = rereading.recall(source)
    out, last = b"", 0
    for at, _ in known.cuts if known is not None else ():
        line = source.rfind(b"\n", 0, at) + 1
        if line >= last and not source[line:at].strip():
            out += source[last:line] + b"".join(one + b"\n" for one in chance.choices(BETWEEN, k=chance.randrange(4)))
            last = line
    return out + source[last:]


def changed(source: bytes, chance: random.Random) -> bytes:
    """Return the script with something else in one or two places, and with as many lines."""
    for _ in range(chance.choice((1, 1, 2))):
        numbers = list(re.finditer(rb"\d+", source))
        if numbers and chance.random() < 0.5:
            found = chance.choice(numbers)
            source = source[: found.start()] + b"%d" % chance.randrange(1, 20) + source[found.end() :]
            continue
        at = chance.randrange(len(source))
        gone = min(chance.choice((0, 0, 1, 3)), source.find(b"\n", at) - at if b"\n" in source[at:] else 0)
        source = source[:at] + chance.choice(EDITS) + source[at + gone :]
    return source


def planned(job: Job, here: Submitted, tape: Tape | None) -> LaunchPlan:
    """Return the plan of a job at a site."""
    return plan(job.submission, job.script, job.settings, here.site, job.arguments, job.read, False, tape)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many commands each stretch has that is taken over from now on, in a list that grows."""
    taken: list[int] = []
    takes = takeover._Taking._takes

    def taking(self: takeover._Taking, stretch: recording.Stretch, here: int) -> bool:
        done = takes(self, stretch, here)
        taken.extend([stretch.items] * done)
        return done

    monkeypatch.setattr(takeover._Taking, "_takes", taking)
    return taken


def same(one: LaunchPlan, other: LaunchPlan) -> bool:
    """Return whether two plans are equal, in the order of what they assign too."""
    return one == other and list(one.assigned.items()) == list(other.assigned.items())


@pytest.mark.parametrize("seed", range(3))
def test_any_change_of_any_script_comes_to_the_same_plan(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every script of the tree, with other commands in between, and something else in one or two places."""
    chance, taken = random.Random(seed), counted(monkeypatch)
    monkeypatch.setattr(recording, "LEAST", seed + 1)
    for here in chance.choices([one for one in everything() if one.asked.script], k=100):
        source = interspersed(here.asked.script or b"", chance)
        job = understood(here.asked._replace(script=source), here.read)
        tape = Tape()
        if job is None:
            continue
        planned(job, here, tape)
        for _ in range(4):
            other = understood(here.asked._replace(script=changed(source, chance)), here.read)
            if other is not None:
                assert same(planned(other, here, tape), planned(other, here, None)), (source, other.source)
    assert sum(taken) > 300


def test_every_try_of_every_repair_is_what_it_would_be_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts as they stand, and what is tried to cure them."""
    tries, taken = 0, counted(monkeypatch)

    def both(*given: object) -> LaunchPlan:
        nonlocal tries
        *words, tape = given if len(given) == 8 else (*given, None)
        made = plan(*words, tape)  # type: ignore[arg-type]
        if isinstance(tape, Tape):
            tries += 1
            assert same(made, plan(*words))  # type: ignore[arg-type]
        return made

    monkeypatch.setattr(deciding, "plan", both)
    for here in random.Random(7).sample(list(everything()), 300):
        deciding.decide(here.asked, here.site, here.read)
    assert tries > 300 and sum(taken) > 40


@pytest.mark.parametrize("mistakes", [1, 3])
def test_hardly_a_command_is_played_twice(mistakes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 lines each try plays those that were changed, and what asks for what they set."""
    monkeypatch.undo()
    here = next(one for one in everything() if one.site.id == "ncsa-delta" and one.asked.scheduler == "slurm")
    played: list[int] = []
    items = takeover.take_over

    def counting(program: object, shell: object, scene: object, play: object, tape: object) -> None:
        def one(many: object) -> object:
            played.append(len(many))  # type: ignore[arg-type]
            return play(many)  # type: ignore[operator]

        played.append(0)
        items(program, shell, scene, one, tape)  # type: ignore[arg-type]

    monkeypatch.setattr(takeover, "take_over", counting)
    decided = deciding.decide(here.asked._replace(script=script(200, mistakes)), here.site, None)
    assert decided.repaired is not None
    assert played and sum(played) < 30 * played.count(0)
