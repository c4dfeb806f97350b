"""How near forecasts come on the Eagle sample, how often the bound holds, and what reading and asking take."""

from __future__ import annotations

import json
import os
import random
import statistics
import time

import pytest
from click.testing import CliRunner
from maple_agents.forecast.accounting import SACCT, read
from maple_agents.forecast.needs import Forecast, forecast
from maple_agents.forecast.replay import Played, Score, coverage, play, score, shortened
from maple_agents.forecast.runs import Asked, Lineages, Work
from maple_agents.forecast.service_runs import runs_of
from maple_daemon.cli.admin import admin
from maple_daemon.store import open_store

from tests.agents.forecast import eagle, kiloseconds
from tests.agents.forecast.test_replay import asked, last, shipped
from tests.daemon.serving import Daemon

ROUNDS, QUESTIONS = 2000, 20
ROWS = int(os.environ.get("ROWS") or 1_000_000)
TRIED = {  # and none of them came nearer than the last run
    "mean of the last 2": lambda one: _mean([run.seconds for run in one.known[:2]]),
    "median of the last 10": lambda one: statistics.median(run.seconds for run in one.known[:10]),
    "longest of the last 3": lambda one: max(run.seconds for run in one.known[:3]),
    "a share of the limit": lambda one: _share(one),
    "longest of 3 within a tenth": lambda one: _longest_near(one),
}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _share(played: Played) -> float | None:
    """Return the limit, as much of it as the last run took of its own."""
    before, limit = played.known[0], played.run.asked.limit
    return limit * before.seconds / before.asked.limit if limit and before.asked.limit else None


def _longest_near(played: Played) -> float:
    """Return the longest of the last three runs, of those that are no more than a tenth above the last."""
    last = played.known[0].seconds
    return max(run.seconds for run in played.known[:3] if run.seconds <= 1.1 * last)


def row(name: str, found: Score) -> None:
    print(f"{name:36} {found.macro:6.2f} {found.micro:6.2f} {found.twice:6.0%} {found.under:6.0%} {found.jobs:5} "
          f"{len(found.groups):4}")  # fmt: skip


@pytest.mark.timeout(0)
def test_forecast_on_the_eagle_sample():
    """Jobs with an ended run of the same user and name, then all; macro: mean over groups of mean |log2|."""
    print("\n(the true clock: a run is known from its end on)")
    played = list(play(eagle.runs()))
    known = [one for one in played if one.known]
    table(played)
    for name, by in TRIED.items():
        row("  tried: " + name, score(known, by))
    row("all: no miss where a run is known", score(played, lambda one: one.run.seconds if one.known else asked(one)))
    bound("", played)
    limits(played)
    leaks(list(play(eagle.shuffled())))


@pytest.mark.timeout(0)
def test_forecast_on_the_clock_of_published_figures():
    """The same, where a run is known up to 1,000 s before it ended: 3.27, 0.39, 1.17; 394 limits changed, 23 killed."""
    print("\n(the clock of the published figures: a run is known up to 1,000 s before its end, also the job's own)")
    played = list(kiloseconds.played(eagle.runs()))
    table(played)
    bound("", played)
    bound(
        "  of these, where the job's own end is not among what is known", [one for one in played if not foresees(one)]
    )
    limits(played)
    leaks(list(kiloseconds.played(eagle.shuffled())))


def foresees(played: Played) -> bool:
    """Return whether a job's own end is among what it rests on."""
    return any(run.job == played.run.job for run in (*played.known, *played.said.runs))


def bound(which: str, played: list[Played]) -> None:
    """Print how often the bound held that nine of ten stay below."""
    held = coverage(played)
    print(f"{which}{which and ': '}nine of ten: held for {held.macro:.2f} of groups, {held.micro:.2f} of {held.jobs} "
          f"jobs; median bound / run {held.wide:.2f}")  # fmt: skip


def leaks(mixed: list[Played]) -> None:
    """Print how near forecasts come where run times are dealt out anew: as near as before, had they looked ahead."""
    known = [one for one in mixed if one.known]
    row("ends shuffled: the last run", score(known, last))
    row("ends shuffled: maple, else the last", score(known, lambda one: shipped(one) or last(one)))


def table(played: list[Played]) -> None:
    """Print how near the limit, the last run and Maple come."""
    known = [one for one in played if one.known]
    spoken = [one for one in known if shipped(one)]
    print(f"\n{'forecast':36} {'macro':>6} {'micro':>6} {'in 2x':>6} {'under':>6} {'jobs':>5} {'grp':>4}")
    row("the limit that was asked for", score(known, asked))
    row("the last run", score(known, last))
    row("maple, else the last run", score(known, lambda one: shipped(one) or last(one)))
    row("the last run, where maple speaks", score(spoken, last))
    row("maple, where it speaks", score(spoken, shipped))
    row("all: the last run, else the limit", score(played, lambda one: last(one) or asked(one)))
    row("all: maple, the last run, the limit", score(played, lambda one: shipped(one) or last(one) or asked(one)))
    row("all: maple, else the limit", score(played, lambda one: shipped(one) or asked(one)))
    low, high = bootstrap(score(spoken, last), score(spoken, shipped))
    print(f"maple - last run, group bootstrap, 95 %: {low:+.3f} to {high:+.3f}")


def limits(played: list[Played]) -> None:
    """Print what a rule that shortens limits would have done."""
    for factor in (1.5, 3.0):
        rule = shortened(played, factor)
        print(f"limits at {factor} x the longest of three: {rule.changed} jobs, {rule.killed} killed, "
              f"{rule.asked_before:,.0f} -> {rule.asked_after:,.0f} node hours")  # fmt: skip


def bootstrap(base: Score, other: Score) -> tuple[float, float]:
    """Return the 95 % interval of how much further off *other* is, over groups."""
    dice = random.Random(1)
    groups = sorted(set(base.groups) & set(other.groups))
    gaps = [other.groups[key] - base.groups[key] for key in groups]
    means = sorted(sum(dice.choices(gaps, k=len(gaps))) / len(gaps) for _ in range(ROUNDS))
    return means[int(ROUNDS * 0.025)], means[int(ROUNDS * 0.975)]


@pytest.mark.timeout(0)
def test_forecast_takes(monkeypatch):
    """Asking the service that has 100,000 runs of one user: both processes' own time, and the clock of this machine."""
    daemon = Daemon().start()
    store = open_store(daemon.store, bulk=True)
    runs = enumerate(read(sacct_rows(100_000), "sacct"))
    store.keep_runs((os.getuid(), run._replace(asked=run.asked._replace(name="n%d" % (at % 50)))) for at, run in runs)
    store.close()
    monkeypatch.setenv("MAPLE_SOCKET", daemon.socket)
    times, served = [], of_processor(daemon.process.pid)
    for at in range(QUESTIONS):
        asked = Asked("me", "n%d" % at, "/p", time.time(), 3600.0, None, "", Work((), 2))
        began, clock = time.process_time(), time.monotonic()
        assert isinstance(forecast(asked, Lineages(runs_of(asked))), Forecast)
        times.append((time.process_time() - began, time.monotonic() - clock))
    served = (of_processor(daemon.process.pid) - served) / QUESTIONS
    daemon.stop()
    own, wall = (statistics.median(column) * 1000 for column in zip(*times))
    print(f"\na forecast with 100,000 runs of one user in the service: {own:.0f} ms of processor here, "
          f"{served * 1000:.0f} in the service; by the clock {wall:.0f} ms, with {os.getloadavg()[0]:.0f} "
          f"processes waiting for {os.cpu_count()} processors")  # fmt: skip


def of_processor(process: int) -> float:
    """Return the seconds of processor that a process has had."""
    with open("/proc/%d/stat" % process, encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("form", ["sacct", "pbs", "swf"])
def test_import_takes(form, tmp_path):
    """A million rows (ROWS) of accounting into the memory; and again: all of sacct's, a tenth of the others."""
    (tmp_path / "daemon.toml").write_text('store = "%s"\n' % (tmp_path / "memory.db"))
    open_store(str(tmp_path / "memory.db")).close()
    print(f"\n{form}: {ROWS:,} rows are made ...", flush=True)
    rows = list(MADE[form](ROWS))
    (tmp_path / "all").write_text("\n".join(rows) + "\n")
    some = rows if form == "sacct" else rows[: len(rows) // 10]
    (tmp_path / "some").write_text("\n".join(some) + "\n")
    for name, wanted in (("all", ROWS), ("some", 0)):
        began, clock = time.process_time(), time.monotonic()
        words = ["import", "--config", str(tmp_path / "daemon.toml"), "--" + form, str(tmp_path / name), "--json"]
        told = json.loads(CliRunner().invoke(admin, words, catch_exceptions=False).stdout)
        took = time.process_time() - began, time.monotonic() - clock
        print(f"{form}, {'first time' if wanted else 'again'}: {told['read']:,} runs read, {told['new']:,} new, "
              f"{told['unread']} lines lost: {took[0]:.0f} s of processor, {took[1]:.0f} s", flush=True)  # fmt: skip
        assert told["new"] == wanted and told["unread"] == 0


NEWEST = time.time() - 3600


def sacct_rows(count: int):
    """Yield output of sacct: a job a second, of a thousand users and names; the last one ended an hour ago."""
    yield "|".join(SACCT)
    for at in range(count):
        end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(NEWEST - count + at))
        yield f"{at}|u{at % 1000}|n{at % 977}|/p|{end}|{end}|{end}|{60 + at % 600}|720|COMPLETED|2|gres/gpu=8|200G||"


def pbs_rows(count: int):
    """Yield a server's log: of each job its start and its end."""
    for at in range(count):
        ended = int(NEWEST - count + at)
        yield f"11/20/2026 10:00:00;S;{at}.pbs01;user=u{at % 1000} jobname=n{at % 977}"
        yield (f"11/20/2026 11:00:00;E;{at}.pbs01;user=u{at % 1000} group=g account=p project=_pbs_project_default "
               f"jobname=n{at % 977} queue=prod ctime={ended - 700} qtime={ended - 700} etime={ended - 700} "
               f"start={ended - 660} exec_host=x1/0*64 Resource_List.nodect=2 Resource_List.walltime=02:00:00 "
               f"end={ended} Exit_status=0 resources_used.mem=100gb resources_used.walltime=00:11:00 "
               "run_count=1")  # fmt: skip


def swf_rows(count: int):
    """Yield a log of the Standard Workload Format."""
    yield f"; UnixStartTime: {int(NEWEST - count - 1000)}"
    for at in range(count):
        yield f"{at} {at} 5 {60 + at % 600} 4 -1 1024 4 3600 -1 1 {at % 1000} 1 {at % 977} 1 1 -1 -1"


MADE = {"sacct": sacct_rows, "pbs": pbs_rows, "swf": swf_rows}
