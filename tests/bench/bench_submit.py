"""What Maple costs a submission: `make bench-submit`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.bench.installed import Installed
from tests.bench.measure import Call, Row, interleaved, table
from tests.bench.scripts import plain, script

PASS = "python3 -IS -c pass"
ROUNDS = 30


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Maple before /bin/true."""
    return Installed(tmp_path_factory.mktemp("bench"), "/bin/true")


@pytest.fixture
def scripts(tmp_path: Path) -> dict[str, str]:
    """Scripts of 200 lines: what Maple does not look at, leaves alone, repairs, and repairs at length."""
    contents = {"plain": plain(200), "right": script(200), "wrong": script(200, 1), "very wrong": script(200, 3)}
    for name, content in contents.items():
        (tmp_path / f"{name}.sh").write_bytes(content)
    return {name: str(tmp_path / f"{name}.sh") for name in contents}


def python_of(installed: Installed) -> str:
    """Return the interpreter that the helper runs in."""
    found = re.search(r"^python=(.*)$", (installed.prefix / "current/etc/front.conf").read_text(), re.MULTILINE)
    assert found
    return found[1]


def test_the_front_with_nothing_to_do(installed: Installed, scripts: dict[str, str]) -> None:
    """A script that names no launcher goes straight to the real command."""
    env = installed.environment()
    calls = [
        Call("/bin/true", ["/bin/true", scripts["plain"]], env),
        Call("front, nothing to do", [installed.front, scripts["plain"]], env),
        Call("front, MAPLE=off", [installed.front, scripts["wrong"]], {**env, "MAPLE": "off"}),
    ]
    rows = [Row("/bin/true"), Row(calls[1].name, "/bin/true", 2), Row(calls[2].name, "/bin/true", 2)]
    print(table("The front before /bin/true", interleaved(calls, 200), "/bin/true", rows))


@pytest.fixture
def fresh(tmp_path: Path) -> Installed:
    """Another one, whose byte code and image can be taken away without the first one losing its own."""
    (tmp_path / "fresh").mkdir()
    return Installed(tmp_path / "fresh", "/bin/true")


def test_the_helper_on_an_unknown_script(installed: Installed, fresh: Installed, scripts: dict[str, str]) -> None:
    """No daemon: the rules run in the helper, on 200 lines; a right script is left alone, the others are repaired."""
    env = installed.environment()
    assert "found nothing wrong" in installed.says(scripts["right"])
    assert "MPL301" in installed.says(scripts["wrong"])
    assert {"MPL301", "MPL304", "MPL501"} <= set(re.findall(r"MPL\d+", installed.says(scripts["very wrong"])))
    calls = [
        Call(PASS, [python_of(installed), "-IS", "-c", "pass"], env),
        Call("/bin/true", ["/bin/true", scripts["right"]], env),
    ]
    for kind in ("right", "wrong", "very wrong"):
        calls.append(Call(f"{kind} script", [installed.front, scripts[kind]], env))
    for kind in ("right", "wrong"):  # they leave byte code behind for the next round
        words, before = [fresh.front, scripts[kind]], fresh.forget_byte_code
        calls.append(Call(f"{kind} script, no byte code yet", words, fresh.environment(), before))
    most = {"right script": 6.0, "wrong script": 8.0, "very wrong script": 12.0}
    rows = [Row(PASS), Row("/bin/true")] + [Row(call.name, "/bin/true", most.get(call.name)) for call in calls[2:]]
    print(table("No daemon, 200 lines, before /bin/true", interleaved(calls, ROUNDS), PASS, rows))


def test_a_whole_submission(tmp_path_factory: pytest.TempPathFactory, scripts: dict[str, str], lab_of: Any) -> None:
    """The real sbatch of a lab in the shape of a site, bare and with Maple in front; the jobs are held."""
    from tests.lab.sites import shape_of_site

    lab = lab_of(shape_of_site("ncsa-delta"))
    env = lab.environment()
    wrapped = Installed(tmp_path_factory.mktemp("lab"), "/usr/bin/sbatch")
    env = {**env, "HOME": str(wrapped.home), "XDG_CACHE_HOME": str(wrapped.home / "cache")}
    assert "MPL301" in wrapped.says("-H", scripts["wrong"], env=env)
    calls = [Call(PASS, [python_of(wrapped), "-IS", "-c", "pass"], env)]
    for kind in scripts:
        calls.append(Call(f"sbatch, {kind} script", ["/usr/bin/sbatch", "-H", scripts[kind]], env))
        calls.append(Call(f"through Maple, {kind} script", [wrapped.front, "-H", scripts[kind]], env))
    try:
        times = interleaved(calls, ROUNDS)
    finally:
        lab.quiet()
    rows = [Row(PASS)]
    for kind in scripts:
        rows += [Row(f"sbatch, {kind} script"), Row(f"through Maple, {kind} script", f"sbatch, {kind} script")]
    print(table("A whole submission to a lab", times, PASS, rows))
