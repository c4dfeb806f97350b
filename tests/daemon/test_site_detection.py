"""On which site are we: by the evidence, and only where it agrees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.sites.files import parse

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("environ", "hostname", "cluster_name", "site"),
    [
        ({"TACC_SYSTEM": "ls6"}, "login1", None, "tacc-lonestar6"),
        ({"TACC_SYSTEM": "vista"}, "login1.vista.tacc.utexas.edu", None, "tacc-vista"),
        ({"WORK": "/work/1/me/stampede3"}, "c449-001", None, "tacc-stampede3"),
        ({"NERSC_HOST": "perlmutter"}, "login23", None, "nersc-perlmutter"),
        ({}, "dt-login02", None, "ncsa-delta"),
        ({}, "dt-login02.delta.ncsa.illinois.edu", "delta", "ncsa-delta"),
        ({}, "gpua045.delta.internal.ncsa.edu", None, "ncsa-delta"),
        ({}, "gh-login01.delta.ncsa.illinois.edu", None, "ncsa-deltaai"),
        ({}, "gh045", "delta-gh", "ncsa-deltaai"),
        ({}, "login03.anvil.rcac.purdue.edu", None, "purdue-anvil"),
        ({}, "br012.ib.bridges2.psc.edu", None, "psc-bridges2"),
        ({}, "login01.expanse.sdsc.edu", None, "sdsc-expanse"),
        ({}, "login07.frontier.olcf.ornl.gov", None, "olcf-frontier"),
        ({}, "frontier00256", None, "olcf-frontier"),
        ({}, "aurora-uan-0010", None, "alcf-aurora"),
        ({"PBS_JOBID": "123.aurora-pbs-0001.host"}, "x4109c0s0b0n0", None, "alcf-aurora"),
        ({}, "polaris-login-02", None, "alcf-polaris"),
        ({}, "login01", None, None),  # TACC, NERSC, OLCF and SDSC all have one
        ({}, "nid003053", None, None),  # every HPE Cray system has one
        ({}, "xdt-login02", None, None),  # the whole name must fit
        ({}, "evilexpanse.sdsc.edu", None, None),
        ({"TACC_SYSTEM": "frontera"}, "login1", None, None),
        ({"NERSC_HOST": "perlmutter"}, "dt-login01", None, None),  # the evidence disagrees
        ({}, "dt-login01", "anvil", None),
        ({}, "workstation", None, None),
        ({}, "", "", None),
    ],
)
def test_the_site_is(environ: dict[str, str], hostname: str, cluster_name: str | None, site: str | None) -> None:
    """Found by variable, cluster name or host name; None rather than a guess."""
    assert sites.detect(environ, hostname, cluster_name) == site


@pytest.mark.parametrize("name", [one for one in sites.ids() if not one.startswith("generic")])
def test_hosts_that_a_file_names_are_not_taken_for_another_site(name: str) -> None:
    """A site's own examples lead to it or to nothing."""
    detection = parse(Path(sites.path(name)).read_bytes(), "%s.toml" % name).detection
    assert detection is not None
    for host in (*detection.login_hosts, *(one.split()[0] for one in detection.host_examples)):
        assert sites.detect({}, host) in (name, None), host


@pytest.mark.parametrize("name", [one for one in sites.ids() if not one.startswith("generic")])
def test_host_examples_look_as_the_patterns_say(name: str) -> None:
    """Else the pattern or the example is wrong; examples with a placeholder are left out."""
    detection = parse(Path(sites.path(name)).read_bytes(), "%s.toml" % name).detection
    assert detection is not None
    patterns = (*detection.host_patterns, *detection.ambiguous_host_patterns)
    for host in (one.split()[0] for one in detection.host_examples):
        if not re.search(r"[#N]|\d-[gh]\d", host):
            assert any(re.fullmatch(pattern, host) for pattern in patterns), host
