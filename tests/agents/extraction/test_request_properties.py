"""What was composed of slots is read back; what does not matter changes nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.base.slots import NAMES
from maple_agents.request.words import read, refusal

from .requests import Case, cases

NODES = (
    "{} nodes", "on {} nodes", "nodes: {}", "nodes={}", "--nodes={}", "{} compute nodes", "a {}-node job",
    "number of nodes: {}",
    "using {} full nodes", "I want {} nodes",
)  # fmt: skip
GPUS = (
    "{} GPUs per node",
    "{} GPUs on each node",
    "with {} GPUs per node",
    "gpus per node: {}",
    "--gpus-per-node={}",
    "{} gpus/node",
)
HOURS = (
    "{} hours", "for {} hours", "{}h", "walltime {}h", "time limit: {} hours", "--time={}:00:00", "walltime={}:00:00",
    "up to {} hrs",
)  # fmt: skip
ACCOUNTS = (
    "account {}",
    "account: {}",
    "-A {}",
    "--account={}",
    "charge it to {}",
    "project {}",
    "bill it to {}",
    "acct {}",
)
SITES = {
    "Delta": "ncsa-delta",
    "Perlmutter": "nersc-perlmutter",
    "Lonestar6": "tacc-lonestar6",
    "Aurora": "alcf-aurora",
}
WHERE = ("on {}", "cluster: {}", "for {}", "at {}", "on the {} cluster")
PARADIGMS = {
    "DDP": "ddp",
    "FSDP": "fsdp",
    "ZeRO-3": "zero3",
    "Accelerate DDP": "accelerate-ddp",
    "3D parallelism": "3d",
}
MODELS = {"GPT-2 XL": "GPT-2 XL", "Llama-3.1-8B": "Llama-3.1-8B", "BERT-base": "BERT-base", "ResNet-18": "ResNet-18"}
PROGRAMS = ("`python train.py --lr 1e-4`", "`train.py`", "`python -m pkg.main --nodes 9 --time 3 hours`")
IDLE = (
    "Thanks a lot in advance.", "I have 3 kids and 2 cats.", "The weather is nice today.",
    "My last job on 16 nodes failed after 7 hours.",
    "Our paper has 12 pages.", "The learning rate is 3e-4 and the batch size 64.", "See you at 5 pm in room 4.",
    "The data has 100 GB.",
    "We meet on Mondays at 10:30.", "My colleague used 64 GPUs for 5 days on Frontier.", "Every epoch takes 2 hours.",
    "I was born in 1990.", "The cluster has 1000 nodes.", "It has been 3 weeks since the last release.",
)  # fmt: skip


@st.composite
def composed(draw: st.DrawFn) -> tuple[str, dict[str, int | str]]:
    """Draw a request, and the slots that it was composed of."""
    parts: list[str] = []
    slots: dict[str, int | str] = {}

    def add(name: str, phrases: tuple[str, ...], said: object, value: int | str) -> None:
        if draw(st.booleans()):
            parts.append(draw(st.sampled_from(phrases)).format(said))
            slots[name] = value

    nodes, gpus, hours = draw(st.integers(1, 512)), draw(st.integers(1, 16)), draw(st.integers(1, 99))
    account = draw(st.from_regex(r"[a-z]{2,5}[0-9]{2,6}", fullmatch=True))
    add("nodes", NODES, nodes, nodes)
    add("gpus_per_node", GPUS, gpus, gpus)
    add("walltime", HOURS, hours, "%02d:00:00" % hours)
    add("account", ACCOUNTS, account, account)
    for name, phrases, table in (
        ("site", WHERE, SITES),
        ("paradigm", ("{}", "with {}", "using {}"), PARADIGMS),
        ("model", ("train {}", "fine-tune {}"), MODELS),
    ):
        said = draw(st.sampled_from(sorted(table)))
        add(name, phrases, said, table[said])
    program = draw(st.sampled_from(PROGRAMS))
    add("program", ("run {}", "the program is {}"), program, program.strip("`"))
    order = draw(st.permutations(parts))
    return draw(st.sampled_from((", ", "; ", ". ", "\n- "))).join(order), slots


@settings(max_examples=300, deadline=None)
@given(composed())
def test_what_was_said_is_read(request_and_slots: tuple[str, dict[str, int | str]]) -> None:
    """Every slot comes back with its value, in whatever order and words; no other comes."""
    text, slots = request_and_slots
    asked = read(text)
    assert asked.slots.as_json() == {name: slots[name] for name in NAMES if name in slots}
    assert asked.contradictions == ()


@settings(max_examples=100, deadline=None)
@given(composed(), st.lists(st.sampled_from(IDLE), min_size=1, max_size=3), st.booleans())
def test_idle_talk_changes_nothing(made: tuple[str, dict[str, int | str]], idle: list[str], before: bool) -> None:
    """Sentences about something else, before or after the request, add no slot and take none."""
    text, slots = made
    more = " ".join(idle)
    talk = "%s\n\n%s." % (more, text) if before else "%s.\n\n%s" % (text, more)
    assert read(talk).slots.as_json() == read(text).slots.as_json()


SAID = [case for case in cases() if not case.refused]


@pytest.mark.parametrize("case", SAID, ids=str)
def test_blanks_and_a_final_sign_change_nothing(case: Case) -> None:
    """More blanks, other blanks, blanks around and a thank you at the end leave the slots as they are."""
    plain = read(case.says).slots.as_json()
    assert read("  \t" + case.says + "  \n").slots.as_json() == plain
    if "program" not in plain and "\n" not in case.says:
        assert read(case.says.replace(" ", "   ")).slots.as_json() == plain
        assert read(case.says + "\n\nThank you!").slots.as_json() == plain


PROSE = [case for case in SAID if not case.slots.keys() & {"program", "environment"} and " -" not in case.says]


@pytest.mark.parametrize("case", PROSE, ids=str)
def test_capitals_change_no_number(case: Case) -> None:
    """In lower case or in capitals, the counts and the walltime are the same."""
    names = ("nodes", "gpus_per_node", "gpus_total", "ranks_per_node", "walltime", "paradigm")
    plain = read(case.says).slots.as_json()
    for other in (case.says.lower(), case.says.upper()):
        found = read(other).slots.as_json()
        assert {name: found[name] for name in names if name in found} == {
            name: plain[name] for name in names if name in plain
        }


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=300), st.text(alphabet="4x8-:=/.,'\"`$() \n%§nodesgpuhA", max_size=300)))
def test_any_text_is_read_to_its_end(text: str) -> None:
    """Nothing is raised, and every value stands where it says."""
    refusal(text)
    for slot in read(text).slots.values():
        assert 0 <= slot.origin.start < slot.origin.end <= len(text)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_words_in_any_order_are_read_to_their_end(seed: int) -> None:
    """The words of the labelled requests, shuffled, raise nothing."""
    chance = random.Random(seed)
    words = [word for case in chance.sample(SAID, 4) for word in case.says.split()]
    chance.shuffle(words)
    read(" ".join(words))
