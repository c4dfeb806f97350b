"""The site files that come with Maple. `python -m pytest tests/daemon/test_site_files.py` checks an edited one too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.sites.facts import site_of
from maple_agents.ask.sites.files import parse, places
from maple_agents.ask.sites.model import SiteFile
from maple_daemon.cli.site import schema_text
from maple_daemon.sites.show import page

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "site_configs").glob("*.toml"))
FACTS = json.loads((ROOT / "tests" / "cases" / "sites" / "facts.json").read_text())


def read(name: str) -> SiteFile:
    path = ROOT / "site_configs" / ("%s.toml" % name)
    return parse(path.read_bytes(), path.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_without_mistakes(path: Path) -> None:
    """A mistake would raise, with a line for each."""
    assert parse(path.read_bytes(), path.name).id == path.stem


def test_all_clusters_of_the_facts_and_both_generic_ones_are_known() -> None:
    """The example is not a site."""
    known = {*FACTS, "generic-slurm", "generic-pbs"}
    assert set(sites.ids()) == known, "a site that is added is added to tests/cases/sites/facts.json too (CONTRIBUTING)"


@pytest.mark.parametrize("name", FACTS)
def test_gpus_of_a_node_are_those_of_the_facts(name: str) -> None:
    """Every partition, QOS and queue of the facts is in the file, with as many cards a node."""
    file = read(name)
    stated = {"%s %s" % (selector, one): cards(file, table) for selector, one, table in places(file)}
    for key, gpus in FACTS[name]["gpus_per_node"].items():
        assert key in stated
        if gpus is not None and name != "olcf-frontier":  # the facts count its devices there
            assert stated[key] == gpus, key


def cards(file: SiteFile, table: object) -> int | None:
    """Count as the facts do: cards, where the snapshot counts devices."""
    said = getattr(table, "gpus_per_node", None)
    kinds = [file.node[kind] for kind in getattr(table, "node_kinds", [])]
    return said if said is not None else max((kind.gpus or 0 for kind in kinds), default=None)


@pytest.mark.parametrize("name", FACTS)
def test_what_is_refused_is_what_the_facts_say_is_refused(name: str) -> None:
    """Nothing more: a refusal proves a script wrong."""
    site = site_of(read(name))
    without = sorted(sorted(one.options) for one in site.demands if one.effect == "refused")
    having = sorted(sorted(one.options) for one in site.refusals if one.effect == "refused")
    assert (without, having) == (FACTS[name]["refused_without"], FACTS[name]["refused_with"])


@pytest.mark.parametrize("name", FACTS)
def test_limits_launchers_and_names_are_those_of_the_facts(name: str) -> None:
    """A launcher that the facts do not name is absent here, or not spoken of."""
    site = site_of(read(name))
    detection = read(name).detection
    assert {"%s %s" % (one.selector, one.name): one.max_nodes for one in site.partitions} == FACTS[name]["max_nodes"]
    stated = {one.name: one.state for one in site.launchers if one.state not in ("absent", "unknown")}
    assert stated == FACTS[name]["launchers"]
    assert (site.scheduler, detection.cluster_name if detection else "") == (
        FACTS[name]["scheduler"],
        FACTS[name]["cluster_name"],
    )


def test_tiles_and_dies_count_as_devices() -> None:
    """Twelve ranks on a node of Aurora, eight on one of Frontier or of Stampede3's pvc, are right."""
    assert [sites.load("alcf-aurora").kinds[0].gpus, sites.load("olcf-frontier").kinds[0].gpus] == [12, 8]
    assert [one.gpus_per_node for one in sites.load("tacc-stampede3").partitions if one.name == "pvc"] == [8]


def test_what_nobody_is_sure_of_is_unknown_to_a_rule() -> None:
    """The GPU of a small virtual node is hearsay, and so is a QOS that somebody saw."""
    kind = sites.load("tacc-lonestar6").kind("gpu-a100-small")
    assert kind is not None and (kind.gpus, kind.cores) == (None, None)
    assert [one.sure for one in sites.load("tacc-vista").partitions if one.selector == "qos"] == [False, False]


def test_the_scheduler_version_tells_whether_srun_inherits_cpus() -> None:
    """Until 22.05 it did; where the version is not known, neither is that."""
    heirs = {one: sites.load(one).srun_inherits_cpus for one in ("tacc-lonestar6", "olcf-frontier", "ncsa-delta")}
    assert heirs == {"tacc-lonestar6": True, "olcf-frontier": False, "ncsa-delta": None}


def test_generic_sites_know_nothing() -> None:
    """So only what a script says against itself counts there."""
    site = sites.load("generic-slurm")
    assert (site.kinds, site.partitions, site.demands, site.refusals, site.launchers) == ((), (), (), (), ())


def test_the_schema_is_that_of_the_model() -> None:
    """`maple site schema > site_configs/schema.json` after a change of the model."""
    assert (ROOT / "site_configs" / "schema.json").read_text() == schema_text()


def test_only_the_launcher_of_another_centre_or_scheduler_is_absent() -> None:
    """No page says of another one that it does not exist: ibrun is TACC's, srun is Slurm's. A file may leave it out."""
    for name in FACTS:
        site = sites.load(name)
        absent = {one.name for one in site.launchers if one.state == "absent"}
        may_be = (set() if name.startswith("tacc-") else {"ibrun"}) | ({"srun"} if site.scheduler == "pbs" else set())
        assert absent <= may_be, name


@pytest.mark.parametrize("site_id", sorted(path.stem for path in (ROOT / "site_configs").glob("*.toml")))
def test_a_site_s_page_fits_a_terminal_of_80_columns(monkeypatch, site_id):
    """Tables keep their columns: what has no room goes on below its own; an address or a path stays whole."""
    monkeypatch.setenv("COLUMNS", "80")
    rows = page(sites.load(site_id), read(site_id)).splitlines()
    assert [row for row in rows if len(row) > 80 and " " in row.strip()] == []


def test_what_requests_are_read_by_is_no_fact_of_a_decision(tmp_path) -> None:
    """What was verified stays verified when somebody says what accounts look like."""
    path = Path(sites.path("ncsa-delta"))
    text = path.read_text()
    other = re.sub(r"(?m)^account_shapes = .*\n", "", text)
    assert other != text
    assert sites.read(other.encode(), str(path)).revision == sites.load("ncsa-delta").revision
    nodes = text.replace("count = 100", "count = 101", 1)
    assert sites.read(nodes.encode(), str(path)).revision != sites.load("ncsa-delta").revision
