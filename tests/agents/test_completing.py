"""What a TAB offers, asked as the shell asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import click
import pytest
from maple_agents.ask.memory import service as asking
from maple_agents.ask.memory.service import NoService
from maple_agents.cli import completion
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import maple, run
from maple_daemon.cli.daemon import main as daemon

JOBS = [
    {"job": "4712", "outcome": {"state": "failed"}},
    {"job": "4711", "outcome": {"state": "completed"}},
    {"job": "", "outcome": None},
]
VERSIONS = [{"path": "/a/silent.sh", "name": "quiet", "id": "0123456789abcdef"}]


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that knows two jobs."""
    monkeypatch.setattr(asking, "ask", lambda question, **_: {"records": JOBS, "versions": VERSIONS}[question["ask"]])


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., list[str]]:
    """Return what bash would be offered at the end of a line."""

    def call(line: str, command=maple, name: str = "maple") -> list[str]:
        monkeypatch.setenv("_%s_COMPLETE" % name.replace("-", "_").upper(), "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        with pytest.raises(SystemExit):
            run([], command, name)
        return [one.partition(",")[2] for one in capfdbinary.readouterr().out.decode().split()]

    return call


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("maple che", ["check"]),
        ("maple check --site ncsa", ["ncsa-delta", "ncsa-deltaai"]),
        ("maple admin install --site generic", ["generic-pbs", "generic-slurm"]),
        ("maple site show tacc-v", ["tacc-vista"]),
        ("maple site lint tacc-v", ["tacc-vista"]),
        ("maple site diff tacc-vista ncsa-deltaa", ["ncsa-deltaai"]),
        ("maple explain MPL301", ["MPL301"]),
        ("maple explain mpl301", ["MPL301"]),
        ("maple explain 301", ["301"]),
        ("maple templates show zer", ["zero2", "zero3"]),
        ("maple templates show torchrun-over-s", ["torchrun-over-srun"]),
        ("maple verify --template torchrun-over-s", ["torchrun-over-srun"]),
        ("maple new --set wall", ["walltime="]),
        ("maple new --set site=tacc-v", ["site=tacc-vista"]),
        ("maple new --set paradigm=zer", ["paradigm=zero2", "paradigm=zero3"]),
        ("maple show la", ["last"]),
        ("maple show 47", ["4712", "4711"]),
        ("maple history sil", ["silent.sh"]),
        ("maple history 0123", ["01234567"]),
        ("maple fix 47", ["4712"]),
    ],
)
def test_the_shell_is_offered_what_could_stand_there(offered, line: str, some: list) -> None:
    """Names that the installation knows, and the caller's own jobs; `maple fix` has those that failed."""
    assert offered(line) == some


def test_maple_fix_completes_alone(offered) -> None:
    """It has a name of its own."""
    assert offered("maple-fix ", fix, "maple-fix") == ["last", "4712"]


def test_releases_of_the_installation_are_offered(offered, tmp_path) -> None:
    """Behind `--to`, once the prefix is typed."""
    (tmp_path / "releases" / "0.9-abc").mkdir(parents=True)
    assert offered(f"maple admin rollback --prefix {tmp_path} --to 0.") == ["0.9-abc"]


def test_without_a_service_nothing_is_said_and_nothing_raised(offered, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt is no place for a complaint."""

    def nobody(question: object, **_: object) -> None:
        raise NoService("gone")

    monkeypatch.setattr(asking, "ask", nobody)
    assert offered("maple show ") == ["last"]
    assert offered("maple history ") == [""]  # a file, as the shell finds it
    assert completion.SECONDS < 1


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    """Yield the parameters of a command and of all below it."""
    yield from command.params
    for one in getattr(command, "commands", {}).values():
        yield from parameters(one)


@pytest.mark.parametrize("command", [maple, fix, daemon], ids=["maple", "maple-fix", "maple-daemon"])
def test_where_a_file_is_meant_the_shell_offers_files(command: click.Command) -> None:
    """Whatever the metavar calls it."""
    meant = re.compile(r"FILE|PATH|SCRIPT|DIR\b|\bP\b|JOBID")
    context = click.Context(command, resilient_parsing=True)
    mute = [
        parameter.name
        for parameter in parameters(command)
        if meant.search(parameter.metavar or "")
        and {one.type for one in parameter.shell_complete(context, "zz/zz")}.isdisjoint({"file", "dir"})
    ]
    assert mute == []
