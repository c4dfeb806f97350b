"""`maple verify --site`: paradigms put together for the site, and only what has no record that holds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from maple_agents.ask import verified_runs
from maple_agents.ask.verified_runs import CannotVerify
from maple_agents.base.slots import Slots
from maple_agents.cli.verify import site_templates as verify_of_site
from maple_agents.cli.verify.site_templates import Case, Layout, cases
from maple_agents.templates import paradigms
from maple_agents.verify.exchange.command_line import at_least, least
from maple_agents.verify.exchange.from_template import composed
from maple_submit_filter.types.job import Settings

from tests.agents.verify.test_verify_command import MAPLE
from tests.lab.sites import shape_of_site

DELTA = ("--account=maple-delta-gpu", "--partition=gpuA100x4")
POLARIS = ("-A", "maple", "-q", "debug", "-l", "filesystems=home:eagle")
LAYOUT = Layout(2, None, 180.0)


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Records in a folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    yield tmp_path


def one(name: str, site: str, words: tuple[str, ...], layout: Layout = LAYOUT) -> Case:
    """Return the only case of that name."""
    ((title, found),) = cases(words, site, name, layout)
    assert title == name and isinstance(found, Case)
    return found


def record(case: Case, **more: object) -> dict[str, object]:
    """Return the record of a case that passed; *more* stands in its inputs."""
    inputs = verified_runs.Inputs(
        "", (), case.site.id, case.site.revision, verified_runs.miniapps_digest(), {}, case.template, case.revision,
        case.composition,
    )  # fmt: skip
    told = {"schema": 1, "id": "x", "result": "passed", "miniapps": ["dry"]}
    return {**told, "inputs": {**verified_runs.as_table(inputs), **more}}


@pytest.mark.parametrize("name", ["ddp", "fsdp", "zero3", "accelerate-ddp", "3d"])
@pytest.mark.parametrize(("site", "words"), [("ncsa-delta", DELTA), ("alcf-polaris", POLARIS)])
def test_a_paradigm_is_a_script_for_the_site(own_state: Path, name: str, site: str, words: tuple[str, ...]) -> None:
    """With the mini-app that trains so, what the words say, and the nodes of the option."""
    case = one(name, site, words)
    script = (case.submission.script or b"").decode()
    assert case.miniapp == paradigms.load(name).mini_app and len(case.composition) == 64
    assert ("#SBATCH --nodes=2\n" if site == "ncsa-delta" else "#PBS -l select=2\n") in script
    assert "maple" in script and "train.py" in script
    assert case.why == ["it has no record here"]


def test_what_the_words_say_counts_before_the_options(own_state: Path) -> None:
    """Nodes and walltime of the words are those of the script."""
    script = one("ddp", "ncsa-delta", (*DELTA, "--nodes=3", "--time=00:20:00")).submission.script or b""
    assert b"#SBATCH --nodes=3\n" in script and b"#SBATCH --time=00:20:00\n" in script
    script = one("ddp", "ncsa-delta", DELTA, LAYOUT._replace(nodes=4)).submission.script or b""
    assert b"#SBATCH --nodes=4\n" in script


def test_a_job_is_as_long_as_its_queue_demands(own_state: Path) -> None:
    """The queues of Polaris take none under five minutes, and a verification would be over in four."""
    assert b"#PBS -l walltime=00:05:00\n" in (one("ddp", "alcf-polaris", POLARIS).submission.script or b"")
    settings = Settings(())
    assert (least("alcf-polaris", settings), least("ncsa-delta", settings), least("no-such", settings)) == (300, 0, 0)
    assert at_least(180, "alcf-polaris", settings) == 270 and at_least(600, "alcf-polaris", settings) == 600


def test_what_the_site_demands_and_nobody_said_is_told(own_state: Path) -> None:
    """All at once, and where to say it."""
    with pytest.raises(CannotVerify, match=r"ddp on ncsa-delta lacks .*account .*say it behind --"):
        composed("ddp", "ncsa-delta", Slots())


def test_without_a_name_all_of_the_site_is_verified(own_state: Path) -> None:
    """Its launch templates, then the paradigms; what is missing for one stops no other."""
    found = dict(cases((), "ncsa-delta", None, LAYOUT))
    assert set(paradigms.names()) < set(found) and "torchrun-over-srun" in found
    assert isinstance(found["ddp"], CannotVerify) and isinstance(found["torchrun-over-srun"], Case)


@pytest.mark.parametrize("name", ["ddp", "torchrun-over-srun"])
def test_what_passed_and_has_not_changed_is_not_stale(own_state: Path, name: str) -> None:
    """Whichever words the job was given."""
    verified_runs.save(record(one(name, "ncsa-delta", DELTA)))
    assert one(name, "ncsa-delta", DELTA).why == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"site_revision": "old"}, "the facts of the site"),
        ({"revision": 99}, "the revision of the template"),
        ({"composition": "old"}, "a part that the script is made of"),
        ({"miniapps": "old"}, "the mini-apps"),
    ],
)
def test_what_has_changed_is_stale_and_said(own_state: Path, change: dict[str, object], why: str) -> None:
    """Each input by its name."""
    verified_runs.save(record(one("ddp", "ncsa-delta", DELTA), **change))
    assert one("ddp", "ncsa-delta", DELTA).why == ["changed since then: " + why]


def test_what_failed_or_was_only_probed_is_stale(own_state: Path) -> None:
    """Neither says that the parts work."""
    case = one("ddp", "ncsa-delta", DELTA)
    verified_runs.save({**record(case), "result": "failed"})
    assert one("ddp", "ncsa-delta", DELTA).why == ["it did not pass the last time"]
    verified_runs.save({**record(case), "miniapps": ["probe"]})
    assert one("ddp", "ncsa-delta", DELTA).why == ["only probe ran, whose ranks do not meet"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--site", "ncsa-delta", "--template", "ddp"], "ddp on ncsa-delta lacks account"),
        (["job.sh", "--stale"], "--stale: a script is named as well"),
        (["--stale"], "no SCRIPT is named"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exits_with_2(maple, words: list[str], says: str) -> None:
    said = maple("verify", *words)
    assert (said.code, said.out) == (2, "") and says in said.err and said.err.count("\n") == 1


def test_where_every_record_holds_nothing_is_submitted(maple, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said of each, and that is all."""
    case = one("ddp", "ncsa-delta", DELTA)
    monkeypatch.setattr(verify_of_site, "_paradigm", lambda *_: case._replace(why=[]))
    said = maple("verify", "--site", "ncsa-delta", "--template", "ddp", "--stale", "--json", "--", *DELTA)
    assert (said.code, json.loads(said.out), said.err) == (0, [], "maple: ddp: its record holds\n")


def test_a_paradigm_that_passed_in_the_lab_is_not_run_again(lab_of: Callable, tmp_path: Path) -> None:  # type: ignore[type-arg]
    """The first time it is told that there is no record, the second that it holds."""
    lab = lab_of(shape_of_site("ncsa-delta"))
    env = lab.environment(
        MAPLE_ROLE="plain", XDG_STATE_HOME=str(tmp_path / "state"), XDG_CACHE_HOME=str(tmp_path / "cache")
    )
    words = ["verify", "--site", "ncsa-delta", "--template", "ddp", "--stale", "--mini-app", "dry", "--json", "--"]

    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MAPLE, *words, *DELTA], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=180, check=False
        )

    first = call()
    assert (first.returncode, first.stderr) == (0, "maple: ddp: it has no record here\n"), first.stdout
    (told,) = json.loads(first.stdout)
    assert (told["name"], told["result"], len(told["steps"][0]["ranks"])) == ("ddp", "passed", 8)
    second = call()
    assert (second.returncode, json.loads(second.stdout)) == (0, []) and "its record holds" in second.stderr
