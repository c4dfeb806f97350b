"""Bounds, tie-breaks and promises of plan, repair and answer that no script of the corpora turns on."""

from __future__ import annotations

from typing import Optional

import pytest
from maple_submit_filter.answer import decision as deciding
from maple_submit_filter.answer import packing
from maple_submit_filter.answer.decision import Decision, Rewritten, decide
from maple_submit_filter.answer.fate import fates, offers
from maple_submit_filter.answer.reply import MAX_SCRIPT, usable
from maple_submit_filter.answer.report import advice, excerpt
from maple_submit_filter.answer.terminal import _why_nothing
from maple_submit_filter.answer.trailer import beside, may_close
from maple_submit_filter.plan.declared_worlds import _expansion
from maple_submit_filter.repair.certainty import NOT_SURE, UNNAMED, doubted, named, plays_alike
from maple_submit_filter.repair.search import State, repair, shown
from maple_submit_filter.request.slurm import submission as slurm
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, LauncherFact
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import Breach
from maple_submit_filter.types.submission import Submission

from tests.bench.scripts import script

TWO_WORLDS = b"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py --wrong
"""


def submitted(source: bytes, *words: bytes) -> Submission:
    return Submission("slurm", (b"sbatch", *words, b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})


def understood(source: bytes) -> Job:
    job = deciding.understood(submitted(source), None)
    assert job is not None
    return job


def proven_lines(source: bytes) -> list[tuple[str, int]]:
    found = decide(submitted(source), GENERIC_SLURM, None).findings
    return [(one.code, source.count(b"\n", 0, one.at.start) + 1) for one in found if one.proven and one.at is not None]


@pytest.mark.parametrize(("nodes", "refused"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_step_of_more_nodes_than_the_job_has_is_refused(nodes: int, refused: bool) -> None:
    """One too many is too many."""
    source = b"#!/bin/bash\n#SBATCH --nodes=2\nsrun --nodes=%d python train.py\n" % nodes
    assert (("MPL310", 3) in proven_lines(source)) == refused


def edit(source: bytes, old: bytes, new: bytes) -> Edit:
    at = source.index(old)
    return Edit(Span(at, at + len(old)), new, "T1")


class Trial:
    """A job of which a rule T1 finds the words of *fixes*, that one without a place which is *nowhere*."""

    def __init__(self, source: bytes, fixes: dict[bytes, tuple[Fix, ...]], nowhere: bytes = b"") -> None:
        self.source, self.fixes, self.nowhere = source, fixes, nowhere

    def state(self, of: Job) -> State:
        found = tuple(
            Finding("T1", "wrong", self._place(of.source, word), True, fixes=fixes)
            for word, fixes in self.fixes.items()
            if word in of.source
        )
        return State(of, deciding.examined(of, GENERIC_SLURM).plan, found)

    def _place(self, source: bytes, word: bytes) -> Optional[Span]:
        return None if word == self.nowhere else Span(source.index(word), source.index(word) + len(word))

    def again(self, before: Job, source: bytes, _: tuple[bytes, ...]) -> State:
        asked = before.submission._replace(script=source)
        return self.state(before._replace(submission=asked, script=slurm.read_script(source)))

    def repaired(self, *safeties: str) -> bytes:
        made = repair(self.state(understood(self.source)), safeties, self.again)
        assert made.whole
        return made.state.job.source


def test_of_two_cures_the_one_that_keeps_the_world_is_taken() -> None:
    """Though the other is named first, and changes fewer bytes."""
    loses = Fix((edit(TWO_WORLDS, b"--nproc-per-node=4", b"--nproc-per-node=2"), edit(TWO_WORLDS, b" --wrong", b"")),
                Safety.ASK, "fewer workers")  # fmt: skip
    keeps = Fix((edit(TWO_WORLDS, b" --wrong", b" # this word was too much here"),), Safety.ASK, "the word goes")
    made = Trial(TWO_WORLDS, {b"--wrong": (loses, keeps)}).repaired(Safety.SAFE, Safety.ASK)
    assert b"--nproc-per-node=4" in made and b"too much" in made


def test_of_two_cures_alike_the_plainer_is_taken_and_of_equals_the_one_named_first() -> None:
    """What changes less reads as if its author had written it."""
    longer = Fix((edit(TWO_WORLDS, b" --wrong", b" # a long remark"),), Safety.SAFE, "longer")
    plain = Fix((edit(TWO_WORLDS, b" --wrong", b""),), Safety.SAFE, "plain")
    assert b"long remark" not in Trial(TWO_WORLDS, {b"--wrong": (longer, plain)}).repaired(Safety.SAFE)
    first, second = (
        Fix((edit(TWO_WORLDS, b" --wrong", b" # " + word),), Safety.SAFE, word.decode()) for word in (b"one", b"two")
    )
    assert b"# one" in Trial(TWO_WORLDS, {b"--wrong": (first, second)}).repaired(Safety.SAFE)


def test_a_finding_that_gives_way_to_one_elsewhere_is_progress() -> None:
    """Also one of the whole job to one of the first line, which a next round cures."""
    source = b"#!/bin/bash wrong\n#SBATCH --nodes=1\npython train.py\n"
    fixes = {
        b"wrong": (Fix((edit(source, b"wrong", b"other"),), Safety.SAFE, "one step"),),
        b"other": (Fix((Edit(Span(12, 17), b"", "T1"),), Safety.SAFE, "the next"),),
    }
    assert Trial(source, fixes, b"wrong").repaired(Safety.SAFE).startswith(b"#!/bin/bash \n")


def test_every_world_of_a_line_that_was_wrong_must_be_right() -> None:
    """One whole world beside one that is none shows nothing."""
    job = understood(TWO_WORLDS)
    plan = deciding.examined(job, GENERIC_SLURM).plan
    (step,) = [one for one in plan.steps if one.groups]
    whole = step.groups[0]
    torn = whole._replace(world_size=7, declared=8)
    breach = Breach("T1", {}, {})  # type: ignore[call-arg]
    before = State(job, plan._replace(steps=(step._replace(breaches=(breach,)),)), ())
    for groups, right in (((whole, whole), True), ((whole, torn), False), ((torn, whole), False)):
        after = State(job, plan._replace(steps=(step._replace(groups=groups),)), ())
        assert shown(after, before) == right


def test_a_job_plays_alike_only_where_every_launcher_that_it_names_is_the_same() -> None:
    """One of two that differs is enough."""
    job = understood(b"#!/bin/bash\nmpirun -n 2 python a.py\nmpiexec -n 2 python b.py\n")

    def site(mpirun: str, mpiexec: str) -> deciding.Site:
        facts = (LauncherFact("mpirun", "present", maker=mpirun), LauncherFact("mpiexec", "present", maker=mpiexec))
        return GENERIC_SLURM._replace(launchers=facts)

    assert plays_alike(job, site("hydra", "hydra"), site("hydra", "hydra"))
    assert not plays_alike(job, site("hydra", "hydra"), site("openmpi", "hydra"))
    assert not plays_alike(job, site("hydra", "hydra"), site("hydra", "openmpi"))


def test_a_doubted_finding_says_which_fact_is_not_sure() -> None:
    """The table that it rests on, where that is known; else that it is some. What it said stays before it."""
    site = GENERIC_SLURM._replace(unsure=("node.a100", "network"))
    found = Finding("MPL203", "eight ranks", Span(0, 1), True, help="ask for four", site_fact="node.a100")
    assert doubted(found, site).help.startswith("ask for four. ") and doubted(found, site).help.endswith("node.a100")
    assert doubted(found._replace(help=""), site).help == NOT_SURE + "node.a100"
    unnamed = doubted(found._replace(site_fact="gone"), site)
    assert unnamed.help.endswith(UNNAMED) and not unnamed.proven

    def proven(of: deciding.Site) -> set[tuple[str, Optional[Span]]]:
        return {("MPL203", Span(0, 1))} if of.interface == site.interface and not of.node_name_suffix else set()

    assert named(unnamed, site, lambda _: set()).help.endswith("node.a100 and network")
    assert named(unnamed, site, proven) == unnamed  # it holds without any of them
    assert named(found, site, lambda _: set()) == found


def test_a_comment_comes_beside_a_command_of_one_line_alone() -> None:
    """A command of several lines stays as it is, closed or not."""
    comment = b"# maple: repaired (MPL301); record 1"
    assert beside(b"srun a\n" + comment) == b"srun a " + comment
    for command in (b"srun a\nsrun b", b"srun a\nsrun b\n" + comment, b"srun a\n" + comment + b"\n"):
        assert beside(command) == command


@pytest.mark.parametrize(
    ("source", "may"),
    [
        (b"srun a\n", True),
        (b"srun a \\\n", False),
        (b"exit\n# done\n", True),
        (b"exit\npayload\n", False),
        (b"  exit\nsrun a\n", True),
        (b"tail -n +4 $0 | sh\n", False),
        (b"cat <<END\nx\n", False),
        (b"cat <<END\nx\nEND\n", True),
        (b"cat <<-END\nx\n\tEND\n", True),
        (b"cat <<END\nx\n\tEND\n", False),
        (b"a\0b\n", False),
    ],
)
def test_a_comment_may_follow_what_ends_as_a_script(source: bytes, may: bool) -> None:
    assert may_close(source) == may


def test_advice_is_each_part_once_as_sentences() -> None:
    """The fix, then the help; a question keeps its mark."""
    fix = Fix((), Safety.ASK, "use four tasks")
    both = Finding("MPL203", "", None, True, fixes=(fix,), help="the node has four")
    assert advice(both) == "help: use four tasks. The node has four. More: maple explain MPL203"
    assert advice(both._replace(fixes=())) == "help: the node has four. More: maple explain MPL203"
    assert advice(both._replace(fixes=(fix._replace(says="four?"),))).startswith("help: four? The node")


@pytest.mark.parametrize(
    ("source", "start", "end", "lines"),
    [
        (b"\nab\n", 0, 0, ("   1 | ", "     | ^")),
        (b"\nab\n", 1, 2, ("   2 | ab", "     | ^")),
        (b"ab", 1, 2, ("   1 | ab", "     |  ^")),
        (b"ab\ncd", 1, 5, ("   1 | ab", "     |  ^")),
    ],
)
def test_an_excerpt_is_the_line_of_its_first_byte(source: bytes, start: int, end: int, lines: tuple[str, ...]) -> None:
    """Also where that is empty, first or last."""
    assert tuple(line.rstrip() for line in excerpt(source, start, end)) == tuple(one.rstrip() for one in lines)


@pytest.mark.parametrize(("size", "kept"), [(MAX_SCRIPT - 1024, True), (MAX_SCRIPT - 1023, False)])
def test_a_repair_leaves_a_kibibyte_for_its_closing_comment(size: int, kept: bool) -> None:
    """To the byte."""
    made = Rewritten(b"x" * size, (b"sbatch", b"job.sh"), ("MPL301 x",), ((1, "MPL301"),))
    assert (usable(submitted(b"#!/bin/bash\n"), made) is not None) == kept


@pytest.mark.parametrize(
    ("text", "asks"),
    [(b"scontrol show job $X | grep Command", True), (b"scontrol show job", False),
     (b"scontrol show hostnames $L\necho Command", False), (b"scontrol -o show nodes; echo Command", False),
     (b"scontrol show hostnames $L; scontrol show job $X | grep Command", True),
     (b"scontrol -o show job $X | sed -n s/.*Command=//p", True), (b"scontrol show $WHAT | grep Command", True),
     (b"echo Command", False), (b"qstat -f | grep Submit_arguments", True)],
)  # fmt: skip
def test_a_job_that_asks_for_its_path_gets_no_copy(text: bytes, asks: bool) -> None:
    made = Rewritten(text + b"\n", (b"sbatch", b"job.sh"), ("MPL301 x",), ((1, "MPL301"),))
    assert (usable(submitted(text), made) is None) == asks


@pytest.mark.parametrize(
    ("scheduler", "argv", "says"),
    [
        ("slurm", (b"sbatch", b"--nodes"), "sbatch refuses the command line"),
        ("slurm", (b"sbatch", b"-N1", b":", b"-N2", b"job.sh"), "a heterogeneous job"),
        ("pbs", (b"qsub", b"-I", b"job.sh"), "an interactive job"),
        ("pbs", (b"qsub", b"--", b"/bin/true"), "qsub is given a program"),
        ("pbs", (b"qsub", b"-l", b"select=1:ncpus=x=y", b"-l"), "qsub refuses the command line"),
    ],
)
def test_why_a_submission_is_left_alone_is_said_by_its_own_scheduler(
    scheduler: str, argv: tuple[bytes, ...], says: str
) -> None:
    asked = Submission(scheduler, argv, b"#!/bin/bash\n", "file", b"job.sh", b"/work", 1000, {})
    site = GENERIC_PBS if scheduler == "pbs" else GENERIC_SLURM
    made = decide(asked, site, None)
    assert (made.why or made.findings[0].says).startswith(says)


def test_a_decision_comes_back_as_it_was_packed_and_nothing_else_does() -> None:
    """What a service stores is read by other releases too: a number in the place of a text is none."""
    made = decide(submitted(script(30, 1)), GENERIC_SLURM, None)
    packed = packing.pack(made)
    again, _ = packing.unpack(packed)
    assert again.verdict == made.verdict == "repaired"
    assert again.repaired == made.repaired and again.offered == made.offered and again.held_back == made.held_back
    assert [one.says for one in again.findings] == [one.says for one in made.findings]
    for text, number in ((b'"MPL', b'7,"MPL'), (b'"repaired"', b"1")):
        assert text in packed
        with pytest.raises((TypeError, ValueError)):
            packing.unpack(packed.replace(text, number, 1))


def test_why_a_fix_is_not_made_unasked_is_said() -> None:
    """Its own reason; else what must be settled first; else what would come to light; else that nothing is proven."""
    fix = Fix((), Safety.SAFE, "four tasks")
    found = Finding("MPL301", "wrong", None, True, fixes=(fix,))
    other = Finding("MPL302", "wrong too", None, True)

    def fate(*held: tuple[str, str]) -> str:
        return fates(Decision("findings", (found, other), held_back=held), "repair")(found)

    assert fate(("MPL301", "as it is: four tasks")) == "not applied: as it is. Possible fix: four tasks"
    assert "MPL302 must be settled first" in fate(("MPL302", "no fix is known"))
    assert "MPL310 comes to light then (maple explain MPL310): too many" in fate(("MPL310", "too many"))
    assert "the repair as a whole was not proven" in fate()


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ((b"qsub", b"-l"), b"#!/bin/bash\n"),
        ((b"qsub", b"-I", b"job.sh"), b"#!/bin/bash\n"),
        ((b"qsub", b"--", b"/bin/true"), b"#!/bin/bash\n"),
        ((b"qsub", b"job.sh"), None),
        ((b"qsub", b"job.sh"), b"#!/bin/bash\n#PBS -I\n"),
    ],
)
def test_what_qsub_runs_no_script_of_is_not_read_as_a_job(argv: tuple[bytes, ...], text: Optional[bytes]) -> None:
    """A refused line, an interactive job by word or directive, a program in place of a script."""
    asked = Submission("pbs", argv, text, "file", b"job.sh", b"/work", 1000, {})
    assert deciding.understood(asked, None) is None
    assert deciding.understood(asked._replace(argv=(b"qsub", b"job.sh"), script=b"#!/bin/bash\n"), None) is not None


def test_advice_is_explained_only_where_the_site_is_not_sure() -> None:
    """Else the decision is given back as it is."""
    asked = submitted(script(30, 1))
    made = decide(asked, GENERIC_SLURM, None)
    assert deciding.explained(made, asked, GENERIC_SLURM, None) == made
    assert deciding.explained(made, asked._replace(argv=(b"sbatch", b"--nodes")), GENERIC_SLURM, None) == made


def test_without_a_fix_or_beside_a_repair_there_is_nothing_more_to_offer() -> None:
    """What is done unasked is no offer."""
    asked = submitted(script(30, 1))
    made = decide(asked, GENERIC_SLURM, None)
    assert made.repaired is not None and offers(made, asked, GENERIC_SLURM, None) == ()
    bare = submitted(b"#!/bin/bash\npython train.py\n")
    assert offers(decide(bare, GENERIC_SLURM, None), bare, GENERIC_SLURM, None) == ()
    left = made._replace(repaired=None, verdict="findings")
    assert len(offers(left, asked, GENERIC_SLURM, None)) >= 1


@pytest.mark.parametrize(
    ("source", "at", "expected"),
    [
        (b"N=${NP:-4} x", b"4", b"${NP:-4}"),
        (b"N=${NP-4} x", b"4", b"${NP-4}"),
        (b"N=${NP:-4 } x", b"4", b"4"),
        (b"N={4} x", b"4", b"4"),
        (b"N=4 x", b"4", b"4"),
    ],
)
def test_a_number_in_a_default_is_replaced_with_all_of_the_default(source: bytes, at: bytes, expected: bytes) -> None:
    """`${NP:-8}` would still be what NP says; a number in other braces is a number."""
    span = _expansion(Span(source.index(at), source.index(at) + 1), source)
    assert span is not None and source[span.start : span.end] == expected


def test_a_repair_in_which_one_change_is_silenced_is_not_handed_over() -> None:
    """Whoever silences a rule wants none of its changes, also not beside another's."""
    source = b"#!/bin/bash\n# maple: ignore MPL302\nsrun a\nsrun b\n"
    made = Rewritten(source + b"x", (b"sbatch", b"job.sh"), ("MPL301 x",), ((4, "MPL301"), (3, "MPL302")))
    assert usable(submitted(source), made) is None
    assert usable(submitted(source), made._replace(because=((4, "MPL301"),))) is not None


def test_what_could_not_be_read_first_is_named() -> None:
    """By its line, to those who want to hear why nothing was changed."""
    plan = deciding.examined(understood(TWO_WORLDS), GENERIC_SLURM).plan
    unread = Decision("clean", plan=plan._replace(unread=((3, "a loop"), (5, "a file"))))
    assert _why_nothing(unread).endswith("(line 3: a loop)")
    assert _why_nothing(Decision("clean", plan=plan)) == "Maple found nothing wrong and changed nothing"
    assert _why_nothing(Decision("unread", why="too long")) == "too long"


def test_the_line_of_a_step_counts_from_the_first() -> None:
    """Also where that is empty, which qsub takes."""
    source = b"\n#PBS -l select=2\n\nmpiexec -n 2 python train.py\n"
    asked = Submission("pbs", (b"qsub", b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})
    made = decide(asked, GENERIC_PBS, None).plan
    assert made is not None and [step.line for step in made.steps] == [4]
