"""Facts that an administrator applies lie beside the releases: each is a revision, and no release is damaged by it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_submit_filter.host import configuration

from tests.json_shapes import fits
from tests.site_command import maple_site


def corrected(delta: Path, name: str) -> Path:
    """Another name of the centre is another revision."""
    text = delta.read_text()
    delta.write_text(
        "\n".join('name = "%s"' % name if line.startswith("name = ") else line for line in text.split("\n"))
    )
    return delta


def in_force(cluster) -> str:
    """The revision that the front goes by, as doctor says it."""
    said = json.loads(cluster.admin("doctor", "--json").output)
    return next(one["says"] for one in said if one["name"] == "site")


def front_goes_by(cluster) -> str:
    """The path of the facts, and their revision."""
    path, found = configuration.in_force(configuration.read_conf(str(cluster.release / "etc/front.conf")))
    return f"{path} {found.revision[:12]}"


def wrong(cluster) -> list[str]:
    said = json.loads(cluster.admin("doctor", "--json").output)
    return [one["name"] for one in said if one["state"] == "wrong"]


@pytest.fixture
def served(cluster, monkeypatch):
    """An installation, in a shell that finds its front."""
    assert cluster.install().exit_code == 0
    monkeypatch.setenv("PATH", cluster.path)
    return cluster


def test_an_apply_damages_no_release(served, delta):
    """Doctor goes on, and going back to an earlier release works."""
    assert served.install(version="0.2.0").exit_code == 0
    done = maple_site("apply", corrected(delta, "Delta of ours"), "--prefix", served.prefix)
    assert done.exit_code == 0 and "revision 1 of ncsa-delta is in force" in done.output
    assert wrong(served) == [] and "says otherwise" in in_force(served)  # the file that comes with Maple differs
    assert "facts/ncsa-delta" in served.release.joinpath("etc/front.conf").read_text()
    assert served.admin("rollback").exit_code == 0
    assert served.admin("rollback", "--to", "0.2.0").exit_code == 0


def test_an_update_keeps_it_and_each_apply_goes_back_on_its_own(served, delta, monkeypatch):
    """Release and facts are two things."""
    of_release = sites.load("ncsa-delta").revision[:12]
    revisions = []
    for name in ("one", "two"):
        maple_site("apply", corrected(delta, name), "--prefix", served.prefix)
        revisions.append(json.loads(maple_site("revisions", "--prefix", served.prefix, "--json").output))
    monkeypatch.setenv("COLUMNS", "40")  # a path has a row of its own where it does not fit
    rows = maple_site("revisions", "--prefix", served.prefix).output.splitlines()
    assert rows[2].startswith("        /") and len(rows[1]) <= 40
    first, second = (one["revision"][:12] for one in revisions[1]["revisions"])
    assert revisions[1]["in_force"] == 2 and len({first, second, of_release}) == 3
    assert served.install(version="0.2.0").exit_code == 0

    assert "facts/ncsa-delta/in-force.json" in front_goes_by(served) and second in front_goes_by(served)
    assert "revision 1" in maple_site("rollback", "--prefix", served.prefix).output
    assert first in front_goes_by(served)
    assert "facts of the release" in maple_site("rollback", "--prefix", served.prefix).output
    assert of_release in in_force(served) and wrong(served) == []
    assert "revision 2" in maple_site("rollback", "--prefix", served.prefix, "--to", "2").output


def test_without_a_prefix_it_is_the_installation_on_path(served, delta):
    """Whoever types `maple site apply` means the one that submits."""
    done = maple_site("apply", corrected(delta, "ours"))
    assert done.exit_code == 0 and str(served.prefix) in done.output
    assert maple_site("apply", delta).output == done.output  # the same again is the same revision


def test_facts_of_another_site_are_refused(served):
    """They would be held against jobs of this one."""
    done = maple_site("apply", "tacc-vista", "--prefix", served.prefix)
    assert done.exit_code == 2 and "is installed for ncsa-delta" in done.output
    assert not os.path.exists(served.prefix / "facts")


def test_facts_that_others_could_change_are_found(served, delta):
    """They decide for every user."""
    maple_site("apply", corrected(delta, "ours"), "--prefix", served.prefix)
    (served.prefix / "facts/ncsa-delta").chmod(0o777)
    assert "facts" in wrong(served)


def test_facts_that_cannot_be_read_leave_those_of_the_release_in_force(served, delta):
    """And doctor says so."""
    maple_site("apply", corrected(delta, "ours"), "--prefix", served.prefix)
    (served.prefix / "facts/ncsa-delta/in-force.json").write_text('{"cut')
    assert "facts" in wrong(served) and "etc/site.json" in in_force(served)
    assert served.sbatch("--version").returncode == 0


def test_a_rollback_to_none_or_of_nothing_is_one_line(served, delta):
    """With what there is."""
    assert "nothing was applied" in maple_site("rollback", "--prefix", served.prefix).output
    maple_site("apply", corrected(delta, "ours"), "--prefix", served.prefix)
    done = maple_site("rollback", "--prefix", served.prefix, "--to", "7")
    assert done.exit_code == 2 and "there are 1; 0: those of the release" in done.output


def test_uninstall_takes_them_away(served, delta):
    """No trace is left."""
    maple_site("apply", corrected(delta, "ours"), "--prefix", served.prefix)
    assert served.admin("uninstall").exit_code == 0
    assert not served.prefix.exists()


def test_facts_that_were_gone_back_from_are_the_same_revision_again(served, delta):
    for name in ("one", "two"):
        assert maple_site("apply", corrected(delta, name), "--prefix", served.prefix).exit_code == 0
    assert maple_site("rollback", "--prefix", served.prefix).exit_code == 0
    assert maple_site("apply", delta, "--prefix", served.prefix).exit_code == 0
    there = json.loads(maple_site("revisions", "--prefix", served.prefix, "--json").output)
    fits("site", there)
    assert there["in_force"] == 2 and len(there["revisions"]) == 2


def test_who_names_the_site_reads_the_file_that_was_applied(served, delta):
    """Not the one that came with the release: what is shown, written and checked holds of one cluster."""

    def shown() -> str:
        return str(json.loads(maple_site("show", "ncsa-delta", "--json").output)["revision"])

    of_release = shown()
    maple_site("apply", corrected(delta, "ours"), "--prefix", served.prefix)
    of_ours = sites.load("ncsa-delta").revision
    assert shown() == of_ours != of_release and sites.path("ncsa-delta").startswith(str(served.prefix))
    assert served.install(version="0.2.0").exit_code == 0 and shown() == of_ours
    delta.write_text(delta.read_text().replace('name = "ours"', 'name = "ours"  # said by the centre'))
    maple_site("apply", delta, "--prefix", served.prefix)
    assert b"said by the centre" in Path(sites.path("ncsa-delta")).read_bytes()
    maple_site("rollback", "--prefix", served.prefix)
    assert shown() == of_release
