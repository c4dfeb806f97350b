"""Whatever is said, the end is a right script, a question, or one line."""

from __future__ import annotations

import random

import pytest
from maple_agents.base.slots import LAUNCHERS, PARADIGMS, Lacking, Refused
from maple_agents.write.clusters import cluster
from maple_agents.write.composition import Made, checked, make

from tests.agents.synthesis.plans import SITES, slots

CASES = 100  # for each site
VALUES = {
    "nodes": [1, 2, 3, 4, 16],
    "gpus_per_node": [1, 2, 3, 4, 6, 8, 12],
    "gpus_total": [1, 2, 4, 5, 6, 8, 16, 24],
    "ranks_per_node": [1, 2, 3, 4, 8, 12, 13],
    "paradigm": [*PARADIGMS, "magic"],
    "launcher": [*LAUNCHERS],
    "model": ["GPT-2 XL", "Llama-3.1-8B", "BERT-base", "some-7B", "some"],
    "program": ["train.py", "python -m a.b --x 'q r'", "python3 -u t.py > o", "A=1 python t.py", "cd a; ./x"],
    "account": ["abc", "x_y-1", "a b"],
    "filesystems": ["home:eagle", "flare"],
    "walltime": ["00:10:00", "02:00:00", "12:00:00", "47:00:00", "167:00:00"],
    "container": ["img.sif", "docker://a/b:c", "a b.sif", "a;b"],
    "array": ["1-10", "0-9%2", "1,3"],
    "environment": ["conda env x", "/a/b", "module load x", "$HOME/v", "a;b"],
}  # fmt: skip
WISHES = [(), (), ("debug",), ("lora",), ("interactive",)]


@pytest.mark.parametrize("site", SITES)
def test_the_end_is_a_right_script_a_question_or_one_line(site):
    """A script passes the rules, and what would start in it is what its layout says."""
    chance, there, ends = random.Random(site), cluster(site), set()
    names = [kind.name for kind in there.site.kinds], [row.name for row in there.site.partitions] + ["nowhere"]
    values = {**VALUES, "gpu": names[0], "partition": names[1], "queue": names[1], "qos": names[1]}
    for _ in range(CASES):
        said = {slot: chance.choice(values[slot]) for slot in chance.sample(sorted(values), chance.randint(0, 7))}
        usual = {"account": "abc", "walltime": "02:00:00", "filesystems": "home:eagle", "program": "train.py"}
        usual["nodes"] = chance.choice((1, 2))
        said = {**({} if chance.random() < 0.3 else usual), **said}
        try:
            made = make(slots(**said), there, frozenset(chance.choice(WISHES)))
        except Refused as error:
            assert "\n" not in str(error) and str(error), said
            ends.add("refused")
            continue
        ends.add("made" if isinstance(made, Made) else "lacking")
        if isinstance(made, Lacking):
            assert made.missing and all(one.slot not in said or one.slot == "paradigm" for one in made.missing), said
            continue
        layout = made.plan.layout
        groups = [group for step in checked(made.script, there).plan.steps for group in step.groups]
        started = [(one.nodes, one.world_size) for one in groups]
        # An environment of one's own may bring an mpiexec of its own, whose layout nobody knows.
        wanted = [(layout.nodes, layout.ranks)]
        if "environment" in said or made.plan.launch.when.launcher == "plain":  # a program of any kind tells no world
            wanted = [(had and one[0], size and one[1]) for one in wanted for had, size in started]
        assert started == wanted, said
    assert ends == {"made", "lacking", "refused"}
