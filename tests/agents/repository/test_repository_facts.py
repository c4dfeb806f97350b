"""A key path of a part leads to a fact of the site file, or says where it ends and what is there."""

from __future__ import annotations

import pytest
from maple_agents.ask.sites.model import Load, TransportVariable
from maple_agents.templates.environments import described
from maple_agents.templates.model_facts import fact

POLARIS = described("alcf-polaris").file


def test_a_path_leads_through_tables_and_lists() -> None:
    load = fact(POLARIS, "modules.pytorch.0")
    assert isinstance(load, Load) and load.load[0] == "module use /soft/modulefiles"
    variable = fact(POLARIS, "network.variables.2")
    assert isinstance(variable, TransportVariable) and variable.name == "NCCL_CROSS_NIC"
    assert fact(POLARIS, "queue.debug.max_nodes") == 2


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("modules.pytroch.0", "alcf-polaris.modules has no 'pytroch'; did you mean pytorch?"),
        ("modules.pytorch.7", "alcf-polaris.modules.pytorch has no '7'; there are 0 to 0"),
        ("queue.debgu", "alcf-polaris.queue has no 'debgu'; did you mean debug?"),
        ("name.first", "alcf-polaris.name has no 'first'; nothing is below it"),
        ("submit_output", "alcf-polaris says nothing of it"),
        ("modules.__class__", "alcf-polaris.modules has no '__class__'"),
        ("", "alcf-polaris has no ''"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        fact(POLARIS, path)
    assert str(caught.value).startswith(f"{path}: {said}")
