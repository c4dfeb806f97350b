"""Directives in the site's own form."""

from __future__ import annotations

import pytest
from maple_agents.base.slots import Refused
from maple_agents.write.compose.directives import lines

from tests.agents.synthesis.plans import complete


def said(site: str, **values: int | str) -> list[str]:
    return [line.decode().split(" ", 1)[1] for line in lines(complete(site, **values))]


@pytest.mark.parametrize(
    ("site", "values", "wanted"),
    [
        ("ncsa-delta", {"nodes": 2}, ["--gpus-per-node=4", "--mem=0", "--exclusive"]),
        ("ncsa-delta", {"gpus_total": 1}, ["--gpus-per-node=1", "--mem=60G", "--cpus-per-task=16"]),
        ("psc-bridges2", {"nodes": 2}, ["--gpus=v100-32:16", "--partition=GPU"]),
        ("sdsc-expanse", {"nodes": 2}, ["--gpus=8", "--account=abc123"]),
        ("nersc-perlmutter", {"nodes": 2}, ["--constraint=gpu", "--gpus-per-node=4", "--qos=regular"]),
        ("nersc-perlmutter", {"gpu": "gpu-a100-80"}, ["--constraint=gpu&hbm80g"]),
        ("tacc-vista", {"nodes": 2}, ["--partition=gh", "--nodes=2", "--ntasks-per-node=1", "--time=00:30:00"]),
        ("alcf-aurora", {"nodes": 2}, ["-A abc123", "-l select=2", "-l place=scatter", "-l filesystems=home:flare"]),
        ("alcf-aurora", {"nodes": 2, "array": "1-4"}, ["-J 1-4"]),
        ("ncsa-delta", {"array": "0-9%2"}, ["--array=0-9%2"]),
        ("olcf-frontier", {"nodes": 2}, ["--nodes=2", "--ntasks-per-node=8", "--cpus-per-task=7"]),
        ("ncsa-delta", {"nodes": 2, "memory": "200G", "cpus_per_task": 8}, ["--mem=200G", "--cpus-per-task=8"]),
        ("ncsa-delta", {"gpus_total": 1, "memory": "60G", "cpus_per_node": 12}, ["--mem=60G", "--cpus-per-task=12"]),
        ("ncsa-delta", {"mail": "a@b.org", "output": "x-%j.out"}, ["--mail-user=a@b.org", "--mail-type=END,FAIL"]),
        ("ncsa-delta", {"job_name": "run7", "dependency": "afterok:4711"}, ["--job-name=run7"]),
        ("alcf-polaris", {"nodes": 2, "mail": "a@b.org", "mail_on": "BEGIN,FAIL"}, ["-M a@b.org", "-m ba"]),
        (
            "alcf-polaris",
            {"nodes": 2, "job_name": "run7", "dependency": "afterok:4711"},
            ["-N run7", "-W depend=afterok:4711"],
        ),
        ("ncsa-delta", {"program": "python -m pkg.tune"}, ["--job-name=pkg.tune"]),
    ],
)
def test_the_site_own_form(site, values, wanted):
    """Each of these is among them."""
    assert not set(wanted) - set(said(site, **values))


@pytest.mark.parametrize(
    ("site", "words"),
    [("tacc-vista", ("--gpus", "--gres", "--mem", "--export")), ("olcf-frontier", ("--gpus", "--gres", "--mem")),
     ("nersc-perlmutter", ("--partition",)), ("alcf-polaris", ("ngpus", "-k "))],
)  # fmt: skip
def test_what_a_site_refuses_or_needs_not_is_not_said(site, words):
    """Whole nodes come with all they have."""
    assert not any(word in line for word in words for line in said(site, nodes=2))
    assert not any("--exclusive" in line for line in said("ncsa-delta", gpus_total=1))


def test_people_write_the_name_first_and_the_time_behind_the_resources():
    """In the order of samples."""
    names = [line.split("=")[0] for line in said("ncsa-delta", nodes=2)]
    order = ["--job-name", "--account", "--partition", "--nodes", "--ntasks-per-node", "--cpus-per-task"]
    assert names[:6] == order and names.index("--time") > names.index("--gpus-per-node")


@pytest.mark.parametrize(
    "values", [{"account": "a b"}, {"account": "x#y"}, {"account": "-p"}, {"array": "1 2"}, {"account": "a\nb"}]
)
def test_a_value_that_would_become_another_option_is_refused(values):
    """A blank would end the value, a sharp begin a comment."""
    with pytest.raises(Refused):
        said("ncsa-delta", **values)


def test_an_array_that_pbs_does_not_know():
    """PBS takes one range."""
    with pytest.raises(Refused, match="one range"):
        said("alcf-aurora", nodes=2, array="1,3,5")
