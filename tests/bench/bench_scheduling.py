"""What the simulator of schedulers gives beside what others published of the same jobs."""

from __future__ import annotations

import pytest
from maple_agents.scheduling.training.optimus import Optimus
from maple_agents.scheduling.training.simulation import simulate
from maple_agents.scheduling.training.tiresias import Tiresias

from tests.agents.scheduling import published


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name, policy", [("tiresias", Tiresias), ("optimus", Optimus)])
def test_scheduling_as_published(name, policy):
    """Mean time to completion of each workload in seconds, and the jobs that are equal to the second."""
    print(f"\n{name}, mean time to completion (s)")
    print(f"{'workload':8} {'published':>10} {'ours':>10} {'ratio':>7} {'equal jobs':>10}")
    for number in published.WORKLOADS:
        theirs = published.times(name, number)
        ours = simulate(published.workload(number), policy()).times
        equal = sum(ours[job] == theirs[job] for job in theirs)
        mean, wanted = sum(ours.values()) / len(ours), sum(theirs.values()) / len(theirs)
        print(f"{number:<8} {wanted:10.1f} {mean:10.1f} {mean / wanted:7.4f} {equal:6} of {len(theirs)}")
