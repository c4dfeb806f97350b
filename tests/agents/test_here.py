"""Every command says the same of which site this is, and from where it is known: said, installed, detected, generic."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.schedulers import choose
from maple_agents.ask.sites import this_site as systems
from maple_agents.ask.sites.this_site import DETECTED, GENERIC, INSTALLED, SAID, here, prefix_of_front
from maple_submit_filter.site.snapshot import write

NOWHERE = "a-host-of-nobody"


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment in which nothing tells."""
    monkeypatch.setattr(systems, "_SLURM", ())
    return {"PATH": str(tmp_path / "bin"), "PBS_CONF_FILE": str(tmp_path / "none")}


def installed(root: Path, site: str, command: str = "sbatch", copy: bool = False) -> Path:
    """Lay out an installation for a site below *root*, its front on PATH; return its prefix."""
    prefix, folder = root / "opt", root / "bin"
    release = prefix / "releases" / "0.1.0-abc"
    (release / "bin").mkdir(parents=True)
    (release / "etc").mkdir()
    folder.mkdir(exist_ok=True)
    (release / "etc/site.json").write_text(json.dumps(write(sites.load(site))))
    (release / "etc/front.conf").write_text(
        f"snapshot={release}/etc/site.json\nfacts={prefix}/facts/{site}/in-force.json\n"
    )
    (prefix / "current").symlink_to("releases/0.1.0-abc")
    front = release / "bin" / "front"
    front.write_bytes(b"\x7fELF...\0" + os.fsencode(prefix) + b"/current/etc/front.conf\0...")
    front.chmod(0o755)
    if copy:
        shutil.copy(front, folder / command)
    else:
        (folder / command).symlink_to(prefix / "current/bin/front")
    return prefix


def test_nothing_tells(nothing: dict[str, str]) -> None:
    """Then it is a cluster that nobody has described, and what to do about it."""
    found = here(None, "generic-pbs", nothing, NOWHERE)
    assert (found.id, found.how) == ("generic-pbs", GENERIC) and "maple site init" in found.why


@pytest.mark.parametrize("copy", [False, True], ids=["link", "copy"])
def test_what_is_installed_beats_what_the_machine_looks_like(
    tmp_path: Path, nothing: dict[str, str], copy: bool
) -> None:
    """The front goes by it. What was said on the command line beats both."""
    environ = {**nothing, "NERSC_HOST": "perlmutter"}
    assert here(None, "generic-slurm", environ, NOWHERE)[:2] == ("nersc-perlmutter", DETECTED)
    prefix = installed(tmp_path, "ncsa-delta", copy=copy)
    found = here(None, "generic-slurm", environ, NOWHERE)
    assert found[:3] == ("ncsa-delta", INSTALLED, f"installed below {prefix}")
    assert found.site == sites.load("ncsa-delta")._replace(launch_templates=found.site.launch_templates)
    assert here("tacc-vista", "generic-slurm", environ, NOWHERE)[:3] == ("tacc-vista", SAID, "--site")
    assert prefix_of_front(environ) == str(prefix)


def test_of_two_fronts_that_of_the_scripts_scheduler(tmp_path: Path, nothing: dict[str, str]) -> None:
    """A login node may have both."""
    installed(tmp_path / "one", "ncsa-delta")
    installed(tmp_path / "two", "alcf-polaris", "qsub")
    environ = {**nothing, "PATH": f"{tmp_path}/one/bin:{tmp_path}/two/bin"}
    assert here(None, "generic-slurm", environ, NOWHERE).id == "ncsa-delta"
    assert here(None, "generic-pbs", environ, NOWHERE).id == "alcf-polaris"


@pytest.mark.parametrize("spoil", ["{", "", "[]"])
def test_applied_facts_come_first_and_broken_ones_are_passed_over(
    tmp_path: Path, nothing: dict[str, str], spoil: str
) -> None:
    """What the release brought is whole."""
    prefix = installed(tmp_path, "ncsa-delta")
    applied = prefix / "facts/ncsa-delta/in-force.json"
    applied.parent.mkdir(parents=True)
    applied.write_text(json.dumps({**write(sites.load("ncsa-delta")), "revision": "mine"}))
    found = here(None, "generic-slurm", nothing, NOWHERE)
    assert found.site is not None and found.site.revision == "mine"
    applied.write_text(spoil)
    found = here(None, "generic-slurm", nothing, NOWHERE)
    assert found.site is not None and found.site.revision == sites.load("ncsa-delta").revision


@pytest.fixture
def drafted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A site as `maple site init` drafts it: nothing tells it but the name of its cluster."""
    folder = tmp_path / "etc" / "site_configs"
    folder.mkdir(parents=True)
    text = Path(sites.path("generic-slurm")).read_text() if "generic-slurm" in sites.ids() else ""
    head = 'id = "our-cluster"\nname = "Ours"\n[scheduler]\ntype = "slurm"\n'
    (folder / "our-cluster.toml").write_text((head if not text else head) + '[detection]\ncluster_name = "Trestles"\n')
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    return "our-cluster"


def test_a_drafted_site_is_known_by_its_clusters_name(tmp_path: Path, nothing: dict[str, str], drafted: str) -> None:
    """In a slurm.conf, whose names Slurm keeps in small letters."""
    (tmp_path / "slurm.conf").write_text("# a cluster\nclustername = trestles\nSlurmctldHost=a\n")
    found = here(None, "generic-slurm", {**nothing, "SLURM_CONF": str(tmp_path / "slurm.conf")}, NOWHERE)
    assert (found.id, found.how) == (drafted, DETECTED)
    assert found.why == f"detected: ClusterName in {tmp_path}/slurm.conf is trestles"


def test_where_no_file_says_it_the_controller_is_asked(tmp_path: Path, nothing: dict[str, str], drafted: str) -> None:
    """As on login nodes without a configuration of their own."""
    (tmp_path / "bin").mkdir()
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 'AuthType = auth/munge'\necho 'ClusterName             = trestles'\n")
    scontrol.chmod(scontrol.stat().st_mode | stat.S_IXUSR)
    found = here(None, "generic-slurm", nothing, NOWHERE)
    assert (found.id, found.why) == (drafted, "detected: ClusterName of scontrol show config is trestles")


def test_a_controller_that_hangs_is_not_waited_for(
    tmp_path: Path, nothing: dict[str, str], drafted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than a moment."""
    (tmp_path / "bin").mkdir()
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    scontrol.chmod(0o755)
    monkeypatch.setattr(systems, "SECONDS", 0.2)
    assert here(None, "generic-slurm", nothing, NOWHERE).how == GENERIC


def test_one_function_answers_for_all() -> None:
    """Nobody else looks for the site by himself."""
    root = Path(__file__).parents[2]
    users = [
        path
        for folder in ("agents/maple_agents", "daemon/maple_daemon")
        for path in (root / folder).rglob("*.py")
        if "sites.detect(" in path.read_text() or "import detect\n" in path.read_text()
    ]
    assert [path.name for path in users] == ["this_site.py"]


def test_where_both_schedulers_are_the_one_behind_the_front_is_asked(tmp_path: Path, nothing: dict[str, str]) -> None:
    """What a migration leaves on PATH does not decide whose job maple-fix looks for."""
    installed(tmp_path, "alcf-polaris", "qsub")
    for name in ("squeue", "scontrol", "qstat"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    assert choose(environ=nothing).name == "pbs"
    (tmp_path / "bin" / "qsub").unlink()
    assert choose(environ=nothing).name == "slurm"
