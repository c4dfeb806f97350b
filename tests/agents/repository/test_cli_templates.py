"""`maple templates` as a person calls it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.templates import paradigms

from tests.json_shapes import fits


def test_list_names_every_kind_of_part(maple) -> None:  # type: ignore[no-untyped-def]
    said = maple("templates", "list")
    assert said.code == 0 and said.err == ""
    for word in ("accelerate-ddp", "torchrun-over-ibrun", "tacc-vista", "llama-3.1", "Llama-3.1-8B"):
        assert word in said.out
    assert "\x1b" not in said.out


def test_list_of_a_site_begins_with_the_best(maple) -> None:  # type: ignore[no-untyped-def]
    said = json.loads(maple("templates", "list", "--site", "alcf-aurora", "--json").out)
    fits("templates", said)
    assert said["site"] == "alcf-aurora"
    assert [one["launch"] for one in said["launches"]["accelerate-ddp"]][0] == "python-over-pals"
    assert "python-over-pals" in maple("templates", "list", "--site", "alcf-aurora").out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fsdp", ("fully sharded", "the mini-app fsdp", "https://docs.pytorch.org/")),
        ("torchrun-over-srun", ("export MASTER_ADDR=", "srun --ntasks={job.nodes}", "ncsa-delta: the first")),
        ("alcf-polaris", ("module load conda (modules.pytorch.0)", "NCCL_CROSS_NIC=1", "--cpu-bind depth -d 16")),
        ("Llama-3.1-8B", ("Llama-3.1-8B: 8,030,261,248 parameters", "gated", "HF_TOKEN")),
        ("gpt2 xl", ("GPT-2 XL: 1,557,611,200 parameters",)),
    ],
)  # fmt: skip
def test_show_says_what_a_part_is(maple, name: str, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    said = maple("templates", "show", name)
    assert said.code == 0
    for word in words:
        assert word in said.out


def test_show_for_a_site_has_the_words_that_the_site_wants(maple) -> None:  # type: ignore[no-untyped-def]
    said = maple("templates", "show", "zero3", "--site", "olcf-frontier").out
    assert "python-over-srun" in said and "--gpus-per-node={site.gpus_per_node}" in said


def test_show_gives_the_part_as_json(maple) -> None:  # type: ignore[no-untyped-def]
    said = json.loads(maple("templates", "show", "zero3", "--site", "ncsa-deltaai", "--json").out)
    assert (said["kind"], said["mini_app"], said["site"]["id"]) == ("paradigm", "zero3", "ncsa-deltaai")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "zerro3"), "maple: there is no part 'zerro3'; did you mean zero3?\n"),
        (("show", "qqqq"), "maple: there is no part 'qqqq'; maple templates list names them all\n"),
        (("list", "--site", "nowhere"), "maple: nowhere: there is no such site; known are "),
    ],
)
def test_what_is_not_there_is_one_line(maple, words: tuple[str, ...], said: str) -> None:  # type: ignore[no-untyped-def]
    answer = maple("templates", *words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(said) and answer.err.count("\n") == 1


def test_lint_counts_what_is_right(maple) -> None:  # type: ignore[no-untyped-def]
    said = maple("templates", "lint")
    assert said.code == 0 and f"{len(sites.ids())} sites start {len(paradigms.names())} paradigms" in said.out


def test_lint_and_show_tell_of_a_wrong_file(maple, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path))
    part = tmp_path / "templates" / "paradigm" / "zero3.toml"
    part.parent.mkdir(parents=True)
    part.write_text("revision = 0\nphrases = []\n")
    said = maple("templates", "lint")
    assert said.code == 1 and f"{part}: why: field required" in said.out
    shown = maple("templates", "show", "zero3")
    assert shown.code == 2 and shown.err.count("\n") == 1 and "more: maple templates lint" in shown.err


def test_export_is_json(maple) -> None:  # type: ignore[no-untyped-def]
    said = json.loads(maple("templates", "export", "--json").out)
    fits("templates", said)
    assert set(said) == {"paradigms", "launches", "environments", "models", "sites"}
    assert said["sites"]["tacc-vista"]["accelerate-ddp"][0]["launch"] == "accelerate-over-mpirun"


@pytest.fixture
def added(tmp_path, monkeypatch):  # type: ignore[no-untyped-def]
    """A cluster of one's own that has a site file, made from a delivered one, and nothing else yet."""
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc maple"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def add(of: str) -> str:
        made = tmp_path / "etc maple" / "site_configs" / "mine.toml"
        made.parent.mkdir(parents=True)
        text = Path(sites.path(of)).read_text().replace('id = "%s"' % of, 'id = "mine"', 1)
        made.write_text(re.sub(r"^aliases = .*$", "", text, flags=re.MULTILINE))
        return str(tmp_path / "etc maple")

    return add


@pytest.mark.parametrize("of", ["ncsa-deltaai", "alcf-aurora"])
def test_lint_tells_where_a_draft_of_what_is_missing_goes_and_the_draft_is_right(maple, added, of: str) -> None:  # type: ignore[no-untyped-def]
    """What it says can be typed as it stands."""
    etc = added(of)
    said = maple("templates", "lint")
    (line,) = [one for one in said.out.splitlines() if one.startswith("environment/mine.toml: is missing")]
    _, _, command = line.partition("for a first one: ")
    words = shlex.split(command)
    assert said.code == 1 and words[:4] == ["maple", "templates", "draft", "mine"]
    assert words[4:] == [">", etc + "/templates/environment/mine.toml"]
    Path(words[5]).parent.mkdir(parents=True)
    Path(words[5]).touch()  # as the shell does before it starts the command
    drafted = maple(*words[1:4])
    Path(words[5]).write_text(drafted.out)
    assert (drafted.code, drafted.err) == (0, "") and maple("templates", "lint").code == 0
    assert "Drafted from the site file" in maple("templates", "show", "mine").out
