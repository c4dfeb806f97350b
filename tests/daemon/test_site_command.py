"""`maple site`, as an administrator types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.sites.files import parse
from maple_daemon.sites.show import page
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.snapshot import from_snapshot

from tests.json_shapes import fits
from tests.site_command import maple_site


def test_lint_of_everything_finds_nothing() -> None:
    """The files that come with Maple are right."""
    result = maple_site("lint")
    assert (result.exit_code, result.output.count(": ok")) == (0, len(sites.ids()))


def test_lint_tells_every_mistake_of_every_file_and_ends_with_one(delta: Path, tmp_path: Path) -> None:
    """A line each, and no traceback."""
    delta.write_text(delta.read_text().replace("max_nodes", "max_node").replace('state = "present"', 'state = "here"'))
    result = maple_site("lint", delta, "nope", tmp_path / "gone.toml", "generic-slurm")
    assert result.exit_code == 1
    assert "%s: partition.gpuA100x8-interactive.max_node: no such key; did you mean max_nodes?" % delta in result.output
    assert "launcher.torchrun.state: 'here' is none of preferred" in result.output
    assert "nope: there is no such site" in result.output
    assert "gone.toml: No such file or directory" in result.output
    assert "\ngeneric-slurm: ok\n" in result.output


@pytest.mark.parametrize(("command", "more"), [("apply", ("--to",)), ("show", ()), ("diff", ("generic-slurm",))])
def test_a_site_that_cannot_be_read_is_no_difference_and_no_mistake_in_it(
    tmp_path: Path, command: str, more: tuple[str, ...]
) -> None:
    """Exit 2, since 1 is what `diff` says of a difference; with what to do."""
    more = (*more, str(tmp_path / "site.json")) if more == ("--to",) else more
    gone = maple_site(command, tmp_path / "gone.toml", *more)
    nobody = maple_site(command, "nobody", *more)
    assert (gone.exit_code, nobody.exit_code) == (2, 2)
    assert "gone.toml: No such file or directory; name a site file that you can read" in gone.output
    assert "nobody: there is no such site; known are " in nobody.output


def test_show_says_what_its_first_line_does_not_know() -> None:
    """A bare question mark behind the scheduler said nothing to a newcomer."""
    first = page(GENERIC_SLURM._replace(version=())).splitlines()[0]
    assert first.startswith("generic-slurm   slurm, version not known   revision")
    assert page(GENERIC_SLURM._replace(version=(24, 11))).startswith("generic-slurm   slurm 24.11   revision")
    assert page(GENERIC_SLURM._replace(version=(22, 5, 8))).startswith("generic-slurm   slurm 22.05.8   revision")


def test_apply_writes_what_lint_passed(delta: Path, tmp_path: Path) -> None:
    """And says what is in force now."""
    target = tmp_path / "etc" / "site.json"
    result = maple_site("apply", delta, "--to", target)
    assert result.exit_code == 0 and "now ncsa-delta, revision " in result.output
    assert from_snapshot(json.loads(target.read_bytes())) == sites.load("ncsa-delta")
    assert "already ncsa-delta" in maple_site("apply", delta, "--to", target).output


def test_apply_of_a_wrong_file_changes_nothing(delta: Path, tmp_path: Path) -> None:
    """The snapshot in force stays."""
    target = tmp_path / "site.json"
    maple_site("apply", "purdue-anvil", "--to", target)
    before = target.read_bytes()
    delta.write_text("id = ")
    result = maple_site("apply", delta, "--to", target)
    assert (result.exit_code, target.read_bytes()) == (1, before)
    assert "not TOML" in result.output


def test_apply_finds_the_installation_or_the_folder_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By --prefix, which has to be of one, else where the site's own files lie."""
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "own"))
    result = maple_site("apply", "ncsa-delta", "--prefix", tmp_path / "opt")
    assert result.exit_code == 2 and "no Maple is installed below" in result.output
    assert maple_site("apply", "ncsa-delta").exit_code == 0
    assert (tmp_path / "own" / "site.json").is_file()


def test_apply_where_one_may_not_write_is_one_line(tmp_path: Path) -> None:
    """A file in the way of the folder, say."""
    (tmp_path / "etc").write_text("")
    result = maple_site("apply", "ncsa-delta", "--to", tmp_path / "etc" / "site.json")
    assert result.exit_code == 2 and result.output.startswith("Error: ") and result.output.count("\n") == 1


def test_diff_tells_what_apply_would_change(delta: Path, tmp_path: Path) -> None:
    """Fact by fact, and nothing when nothing would."""
    target = tmp_path / "site.json"
    maple_site("apply", "ncsa-delta", "--to", target)
    assert (
        maple_site("diff", delta, "--to", target).exit_code,
        maple_site("diff", delta, "--to", target).output,
    ) == (
        0,
        "",
    )
    delta.write_text(delta.read_text().replace('max_walltime = "48:00:00"', 'max_walltime = "24:00:00"', 1))
    result = maple_site("diff", delta, "--to", target)
    assert (result.exit_code, result.output) == (1, "~ partitions.gpuA100x4.max_walltime: 172800 -> 86400\n")


def test_diff_of_two_sites_needs_no_snapshot() -> None:
    """Delta has kinds of node that DeltaAI has not."""
    result = maple_site("diff", "ncsa-delta", "ncsa-deltaai")
    assert result.exit_code == 1 and "- kinds.A40x4.gpus = 4" in result.output


def test_a_difference_tells_facts_of_the_file_alone(monkeypatch):
    """Not what other sites call theirs, nor names that stand in the key; on a terminal it fits."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = maple_site("diff", "ncsa-delta", "ncsa-deltaai").output
    assert "kinds.A100x4.gpus = 4" in shown and "sdsc-expanse" not in shown and "kinds.A100x4.name" not in shown
    assert all(len(line) <= 80 or " " not in line.strip() for line in shown.splitlines())


def test_show_tells_what_a_rule_knows() -> None:
    """For people, and as the snapshot."""
    page = maple_site("show", "tacc-lonestar6").output
    assert "gpu-a100-small  ?" in page and "--gres (refused)" in page
    shown = json.loads(maple_site("show", "tacc-lonestar6", "--json").output)
    assert from_snapshot(shown) == sites.load("tacc-lonestar6")


def test_list_marks_the_site_we_are_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment here."""
    monkeypatch.setenv("NERSC_HOST", "perlmutter")
    assert "* nersc-perlmutter  (detected by " in maple_site("list").output
    told = json.loads(maple_site("list", "--json").output)
    fits("site", told)
    assert (told["here"], told["sites"]) == ("nersc-perlmutter", sites.ids()) and "detected" in told["known_by"]


@pytest.mark.parametrize("command", ["lint", "list", "show", "diff", "apply", "schema"])
def test_every_command_has_help(command: str) -> None:
    """And an exit of 0 for it."""
    result = maple_site(command, "--help")
    assert result.exit_code == 0 and "Usage: " in result.output


def test_show_names_the_sources(delta: Path) -> None:
    """What the file cites, each with its date and place."""
    shown = maple_site("show", delta).output
    assert "\nSources\n" in shown
    assert "  delta-arch: Delta architecture (center, 2025-05-28): https://docs.ncsa.illinois.edu/" in shown


def test_show_names_modules_and_what_a_gpu_job_has_to_say() -> None:
    """As the file has it; what is not sure says so."""
    shown = maple_site("show", "ncsa-deltaai").output
    assert "required: a GPU job is refused without it" in shown
    assert "PyTorch: module load python/miniforge3_pytorch/2.10.0; conda activate base (not sure)" in shown
    assert "required: a GPU job" not in maple_site("show", "tacc-vista").output


def test_lint_tells_of_a_named_file_what_it_does_not_know(delta: Path) -> None:
    """Of all at once it would be a page; a draft has it for the person who goes on."""
    unknown = parse(delta.read_bytes(), str(delta)).unknown
    said = maple_site("lint", delta).output.splitlines()
    assert unknown and said == ["%s: ok" % delta, *("  not known: %s" % line for line in unknown)]
    assert "not known" not in maple_site("lint").output
