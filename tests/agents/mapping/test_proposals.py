"""A language model as a proposer of mappings: what it is told, and that nothing but a whole mapping is timed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from maple_agents.ask.models.protocol import Limit, Message, ModelError, Schema
from maple_agents.mapping import proposals
from maple_agents.mapping.proposals import LEVELS, MOST, SCHEMA, Job

TEXT = """cluster node 4 / gpu 4
axes tp 4, dp 2, pp 2
traffic tp allreduce 64MiB x32 ; traffic dp allreduce 1GB   # a step
order tp < dp < pp ; map cyclic
nodes as-given
emit slurm-hostfile
"""
HOSTS = ("n0", "n1", "n2", "n3")


class Scripted:
    """Says what it is given, one after the other, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), list[list[Message]]()

    def answer(self, messages: Sequence[Message], schema: Schema, limit: Limit = Limit()) -> object:  # noqa: B008
        assert schema is SCHEMA
        self.asked.append(list(messages))
        if not self.answers:
            raise ModelError(self.name, "has nothing more to say")
        return {"why": "", "mapping": self.answers.pop(0)}


@pytest.fixture
def job() -> Job:
    return proposals.of_estimate(TEXT, HOSTS, "abab")


def test_the_job_is_told_without_what_may_be_written(job: Job) -> None:
    """Order, map and nodes are the model's; hosts stand with their switches."""
    assert job.fixed.splitlines()[:2] == ["cluster node 4 / gpu 4", "axes tp 4, dp 2, pp 2"]
    assert not any(line.startswith(("order", "map", "nodes", "emit")) for line in job.fixed.splitlines())
    assert job.fixed.endswith("n0 (a), n1 (b), n2 (a), n3 (b)")


@pytest.mark.parametrize(
    ("written", "kind", "system", "why", "better"),
    [
        ("ordre tp < dp", "compile", "'ordre' begins no statement.", "", "Did you mean order?"),
        ("map: block", "compile", "'map: block' begins", None, None),
        ("order tp < dp < pp ; map plane 3", "execution", "Planes of 3 do not divide 4 ranks a node.", "each GPU one",
         "Write: map plane 1."),
        ("nodes list n0,n1,n2,n9", "execution", "The hosts are not those of the job.", "each GPU one", "each of them"),
        ("nodes list n0,n1", "execution", "2 hosts are listed", "each GPU one", "List each once."),
        ("cluster node 1 / gpu 16", "execution", "Cluster is not yours to say.", "each GPU one", "order, map, nodes"),
        ("traffic tp p2p 1KB", "execution", "Traffic is not yours to say.", "each GPU one", "order, map, nodes"),
        ("map cyclic", "metric", "A step's exchanges take ", "tp: 4 of 4 groups cross nodes", "Let tp be first"),
        ("order tp < dp < pp ; map block", "metric", "A step's exchanges take ", "tp: 0 of 4", "one switch one after"),
        ("map block ; nodes list n0,n2,n1,n3", "metric", "A step's exchanges take ", "8 switches", "change places"),
    ],
)  # fmt: skip
def test_each_level_says_more(job: Job, written: str, kind: str, system: str, why: str, better: str) -> None:
    """What the system says; why, beside it; what to do, as well."""
    said = {level: proposals.heard(job, written, level) for level in LEVELS}
    assert {one.kind for one in said.values()} == {kind}
    if why is None:
        return
    assert system in said["system"].heard and (not why or why not in said["system"].heard)
    assert why in said["explain"].heard and better not in said["explain"].heard
    assert why in said["suggest"].heard and better in said["suggest"].heard
    assert (said["suggest"].seconds is not None) is (kind == "metric")


def test_ten_at_most_and_what_was_heard_is_told_again(job: Job) -> None:
    """The best one stays in sight when newer ones push it out."""
    model = Scripted("order tp < dp < pp ; map block ; nodes list n0,n2,n1,n3", *["map cyclic"] * 20)
    turns = list(proposals.proposed(job, model, "suggest"))
    assert len(turns) == MOST and min(turn.seconds or 9e9 for turn in turns) == turns[0].seconds
    last = model.asked[-1]
    assert last[2] == Message("assistant", turns[0].mapping) and last[3].text == turns[0].heard
    assert [message.role for message in last] == ["system", "user", *["assistant", "user"] * 5]


def test_a_model_without_an_answer_ends_it(job: Job) -> None:
    """What it said before stands."""
    turns = list(proposals.proposed(job, Scripted("map block"), "system"))
    assert [turn.kind for turn in turns] == ["metric", "silent"] and "nothing more" in turns[1].heard


def test_no_words_bring_anything_but_a_turn(job: Job) -> None:
    """Whatever a model writes is read by the grammar alone."""
    odd = ["", ";;;", "\n", "map over (4, 4) by machine.split(0, 9) block", "nodes list n[0-9999999]", "order tp < tp"]
    for written in (*odd, "emit torchrun-static", "# map block", "map block map block", "\u2028", "map " * 90):
        assert proposals.heard(job, written, "suggest").kind in ("compile", "execution", "metric")


def test_the_command_asks_only_a_model_that_is_named(maple, tmp_path: Path) -> None:
    """A folder without weights is told of in one line, after nothing was asked."""
    (tmp_path / "job.map").write_text(TEXT)
    assert "the model" not in maple("map", "tune", "job.map").out
    said = maple("map", "tune", "job.map", "--model", "nowhere")
    assert said.code != 0 and said.err.count("\n") == 1 and "--model" in said.err
