"""More bounds and promises of plan, rules, repair and answer that no script of the corpora turns on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from maple_submit_filter import rules as registry
from maple_submit_filter.answer.decision import at_home, decide, examined
from maple_submit_filter.answer.report import columns, excerpt
from maple_submit_filter.answer.trailer import may_close
from maple_submit_filter.plan.build import _presumable
from maple_submit_filter.plan.declared_worlds import World, filling
from maple_submit_filter.play.scene import Trail
from maple_submit_filter.repair import search
from maple_submit_filter.repair.search import State
from maple_submit_filter.repair.witness import _is_less
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, NodeKind
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.launch_plan import Allocation

from tests.submit_filter.test_heart import TWO_WORLDS, submitted, understood

KIND = NodeKind(name="n", gpus=4)
UNKNOWN = Allocation(None, None, None, None, None, None, (), "", None)


@pytest.mark.parametrize(
    ("given", "world"),
    [
        (UNKNOWN._replace(nodes=2, gpus_per_node=3), World(2, 3, 6)),
        (UNKNOWN._replace(nodes=2, gpus=8), World(2, 4, 8)),
        (UNKNOWN._replace(nodes=2, gpus_asked=6), World(2, 3, 6)),
        (UNKNOWN._replace(nodes=2, gpus=7, node_kinds=(KIND,)), World(2, 4, 8)),  # no whole number each
        (UNKNOWN._replace(nodes=2, gpus=7), None),
        (UNKNOWN._replace(gpus=8), None),
    ],
)
def test_a_rank_for_each_gpu_fills_what_was_asked_for(given: Allocation, world: World | None) -> None:
    """Those of a node, else an even share of all, else those of the only kind of node."""
    assert filling(given) == world


def test_rules_are_found_by_whoever_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that has loaded none yet."""
    looked: list[str] = []
    assert registry.rules()
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr(registry, "_files", lambda folder: looked.append(folder) or iter(()))
    assert registry.rules() and registry.rules() and len(looked) == 1


@pytest.mark.parametrize(
    ("command", "site", "home"),
    [
        ("slurm", GENERIC_SLURM, GENERIC_SLURM),
        ("pbs", GENERIC_SLURM, GENERIC_PBS),
        ("slurm", GENERIC_PBS, GENERIC_SLURM),
        ("pbs", GENERIC_SLURM._replace(id="here"), None),
    ],
)
def test_a_command_of_another_scheduler_is_held_against_no_site_s_facts(command: str, site, home) -> None:  # type: ignore[no-untyped-def]
    """Where nobody described the cluster, the other generic one stands in."""
    assert at_home(submitted(b"#!/bin/bash\n")._replace(scheduler=command), site) == home


@pytest.mark.parametrize(
    ("old", "new", "less"),
    [(b"4", b"3", True), (b"3", b"4", False), (b"4G", b"3G", True), (b"3G", b"3G", False), (b"0G", b"0M", False),
     (b"0M", b"1M", False), (b"1M", b"0M", True), (b"many", b"1M", False)],
)  # fmt: skip
def test_a_number_became_smaller_or_not(old: bytes, new: bytes, less: bool) -> None:
    assert _is_less(old, new) == less


def test_however_wide_the_marked_word_is_its_line_fits() -> None:
    """A terminal of 48 columns, of which seven are the line's number."""
    for wide in range(36, 60):
        line, carets = excerpt(b"a" * 50 + b"n" * wide + b"b" * 50, 50, 50 + wide, 48)
        assert columns(line) <= 48 and columns(carets) <= 48, wide
        assert ("n" * wide in line) == (wide <= 48 - 7), wide


@pytest.mark.parametrize(
    ("text", "reads"),
    [(b"tail -n +3 $0 | python", True), (b"sed 1d ${0}", True), (b"echo $0", False), (b"tail log; cd $HOME", False)],
)
def test_a_script_that_reads_itself_gets_no_comment(text: bytes, reads: bool) -> None:
    """A comment behind what it reads as data would be data."""
    assert may_close(b"#!/bin/bash\n" + text + b"\n") == (not reads)


def test_numbers_in_place_of_words_are_taken_only_where_they_can_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be played with them stays as the fix was; what is worse with them, too."""
    job = understood(TWO_WORLDS)
    start = State(job, examined(job, GENERIC_SLURM).plan, ())
    at = TWO_WORLDS.index(b"--nproc-per-node=4")
    fewer = Edit(Span(at, at + len(b"--nproc-per-node=4")), b"--nproc-per-node=2", "T1")
    fix = Fix((fewer,), Safety.SAFE, "fewer")
    after = State(understood(TWO_WORLDS.replace(b"node=4", b"node=2")), start.plan, ())
    monkeypatch.setattr(search, "lost", lambda before, after: ("a world",) if after is not None else ())
    monkeypatch.setattr(search, "pinned", lambda *_: [(fewer,)])
    monkeypatch.setattr(search, "tried", lambda *_: None)
    assert search._keeping_worlds(fix, after, start, start, lambda *_: start) == (fix, after, ("a world",))


@pytest.mark.parametrize(
    ("hidden", "starts", "unread", "may"),
    [(True, True, False, True), (True, False, False, True), (False, False, True, True), (False, False, False, False),
     (False, True, False, False), (False, True, True, True)],
)  # fmt: skip
def test_what_nobody_has_read_may_change_what_starts(hidden: bool, starts: bool, unread: bool, may: bool) -> None:
    """What is hidden may, whatever else is known; so may what is unread, also where nothing is seen to start."""
    trails = {(): (Trail(), None)} if starts else {}
    scene = SimpleNamespace(hidden=hidden, starts=(), shapes=trails, unread=unread, other_jobs=False, misplaced=False)
    assert _presumable(scene, SimpleNamespace(lost=False)) == may  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "new"), [(b"NCCL_SOCKET_IFNAME", b"^lo,docker"), (b"GLOO_SOCKET_IFNAME", None)])
def test_a_line_of_another_file_is_shown_with_what_the_variable_s_reader_takes(name: bytes, new: bytes | None) -> None:
    """NCCL alone takes names that are not meant."""
    source = TWO_WORLDS.replace(b"HEAD=", b"source env.sh\nHEAD=").replace(b" --wrong", b"")
    files = {b"env.sh": b"export %s=lo\n" % name, b"/work/env.sh": b"export %s=lo\n" % name}
    found = [one for one in decide(submitted(source), GENERIC_SLURM, files.get).findings if one.code == "MPL511"]
    assert len(found) == 1 and (new.decode() in repr(found[0].elsewhere) if new else not found[0].elsewhere)


@pytest.mark.parametrize("line", ["echo ${A[@]}", "B=(${A[@]})", "for i in ${A[@]}; do :; done"])
def test_what_a_list_becomes_again_and_again_counts_like_commands(line: str) -> None:
    """Thousands of elements on thousands of lines would take a minute; the script is too long then, and says so."""
    source = "#!/bin/bash\nA=()\n" + f"A+=(--option); {line}\n" * 2000 + "srun ./a.out\n"
    decided = decide(submitted(source.encode()), GENERIC_SLURM, None)
    assert decided.plan is not None
    assert [why for _, why in decided.plan.unread] == ["the script is too long to analyse"]
