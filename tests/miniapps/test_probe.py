"""`probe` says who it is wherever it is started, and ends."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.miniapps.schema import wrong
from tests.miniapps.started import APPS

STANDARD_LIBRARY_ONLY = ["dry", "meeting", "ring", "probe", "phases", "ranks", "machine", "report", "__init__"]


def test_a_probe_says_its_place_and_keeps_a_file_that_says_the_same(ranks):
    env = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "CUDA_VISIBLE_DEVICES": "2,3"}
    ended = ranks.wait(ranks.app("probe", env))
    assert ended.code == 0 and ended.facts == ranks.files()[0]
    assert not wrong(ended.facts)
    assert (ended.facts["rank"], ended.facts["from"]["rank"], ended.facts["world_size"]) == (3, "RANK", 8)
    assert ended.facts["machine"]["visible_devices"] == {"CUDA_VISIBLE_DEVICES": "2,3"}
    assert ended.facts["phase"] == "done" and ended.facts["ok"] is True


def test_the_users_own_words_are_ignored(ranks):
    argv = [sys.executable, APPS / "probe.py", "--config", "a b.yaml", "--help", "-m", "$(touch x)"]
    assert ranks.wait(ranks.start(argv)).facts["ok"] is True


def test_it_is_found_as_a_module_too(ranks):
    argv = [sys.executable, "-m", "maple_miniapps.probe"]
    assert ranks.wait(ranks.start(argv, {"PYTHONPATH": str(APPS.parent)})).facts["ok"] is True


def test_it_needs_nothing_but_its_folder(ranks):
    argv = [sys.executable, "-IS", APPS / "probe.py"]
    assert ranks.wait(ranks.start(argv, cwd=ranks.folder)).facts["ok"] is True


def test_modules_of_the_users_folder_do_not_stand_in_the_way(ranks):
    for name in ("ranks", "report", "machine", "phases"):
        (ranks.folder / f"{name}.py").write_text("raise SystemExit('not me')\n")
    argv = [sys.executable, APPS / "probe.py"]
    assert ranks.wait(ranks.start(argv, {"PYTHONPATH": str(ranks.folder)})).facts["ok"] is True


def test_the_cpus_are_those_it_was_bound_to(ranks):
    one = min(os.sched_getaffinity(0))
    bound = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.executable, sys.argv[1:])"
    argv = [sys.executable, "-c", bound, str(one), APPS / "probe.py"]
    machine = ranks.wait(ranks.start(argv)).facts["machine"]
    assert (machine["cpus"], machine["cpu_count"]) == (str(one), 1)


def test_a_closed_output_leaves_the_file(ranks):
    number = ranks.start(["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, APPS / "probe.py"])
    assert ranks.wait(number).code == 0
    assert ranks.files()[0]["ok"] is True


def test_without_a_folder_there_is_the_line_alone(ranks):
    ended = ranks.wait(ranks.app("probe", {"MAPLE_MINIAPP_OUT": ""}))
    assert ended.facts["ok"] is True and not ranks.files()


def test_the_schema_refuses_what_is_wrong(ranks):
    facts = ranks.wait(ranks.app("probe")).facts
    assert wrong({**facts, "rank": "0"}) and wrong({**facts, "unknown": 1}) and wrong({**facts, "phase": "lost"})
    del facts["from"]["rank"]
    assert wrong(facts) == ["facts.from.rank is missing"]


def test_what_needs_no_torch_runs_on_python_3_6():
    """RHEL 8 and SLES 15 have no newer one by default."""
    vermin = os.path.join(os.path.dirname(sys.executable), "vermin")
    files = [APPS / f"{name}.py" for name in STANDARD_LIBRARY_ONLY]
    said = subprocess.run(
        [vermin, "-q", "-t=3.6-", "--no-tips", "--violations", "--exclude", "importlib.metadata", *files],
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout
