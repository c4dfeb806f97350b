"""What reading a user's files costs: the submission that starts it, and the process that reads.

`python -m tests.bench.bench_reading`. Times of the front are printed as ratios to `/bin/true`, started in the same run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Optional

from tests.daemon.asking import found
from tests.daemon.detached import PROGRAM, Site, child
from tests.doubles.stand import Stand, build

DAEMONS, ROUNDS = 5, 16  # a user may start so many readings at once
MODULES = 8


def main() -> None:
    """Print both."""
    folder = tempfile.mkdtemp(prefix="maple-bench-", dir="/tmp")
    try:
        _front(folder)
        _child(folder)
    finally:
        shutil.rmtree(folder)


def _front(folder: str) -> None:
    """Each daemon is asked by a front that knows no child, and by one that has the files looked at."""
    times: dict[str, list[float]] = {"true": [], "no child": [], "files unchanged": []}
    for number in range(DAEMONS):
        site = Site(Stand("%s/%d" % (folder, number), build(), "/bin/true"))
        site.daemon.start()
        _started(site)
        site.values({"epochs": "3"})
        for name, program in (("no child", None), ("files unchanged", child())):
            site.configure(child=program)
            for _ in range(ROUNDS // 2):
                times["true"].append(_started())
                times[name].append(_started(site))
        _end(site)
    base = statistics.median(times["true"])
    for name, each in times.items():
        tenth = statistics.quantiles(each, n=10)[0]
        print("  %-16s median %5.2f ms, %.2f x true; best tenth %.2f ms" % (name, statistics.median(each) * 1e3,
              statistics.median(each) / base, tenth * 1e3))  # fmt: skip


def _started(site: Optional[Site] = None) -> float:
    """Seconds of one start: of the front, or of /bin/true."""
    path, words, environment = "/bin/true", ["true"], {"PATH": "/usr/bin"}
    if site is not None:
        path, words, environment = site.stand.front, ["sbatch", "job.sh"], site.stand.environment()
        os.chdir(site.stand.work)
    began = time.perf_counter()
    os.waitpid(os.posix_spawn(path, words, environment), 0)
    return time.perf_counter() - began


def _child(folder: str) -> None:
    """A program with modules of 100 kB each: the standard library's argparse."""
    site = Site(Stand(folder + "/child", build(), "/bin/true"))
    with open(argparse.__file__, "rb") as file:
        large = file.read()
    for at in range(MODULES):
        site.stand.write("part%d.py" % at, large)
    site.stand.write("train.py", b"".join(b"import part%d\n" % at for at in range(MODULES)) + PROGRAM)
    idle = site.stand.write("idle.py", b"")
    site.configure(child=idle)
    site.daemon.start()
    for what in ("all read", "known", "a config changed"):
        if what == "a config changed":
            site.stand.write("conf.yaml", b"epochs: 5\n")
        _started(site)
        time.sleep(1)
        record = found(site.daemon, ask="records")[0]["id"]
        site.configure()
        process = subprocess.Popen([sys.executable, "-BIS", child(), site.stand.conf, record])
        _, status, used = os.wait4(process.pid, 0)
        site.configure(child=idle)
        print("  %-16s %.2f s of processor, %d MiB, exit %d" % (what, used.ru_utime + used.ru_stime,
              used.ru_maxrss >> 10, os.waitstatus_to_exitcode(status)))  # fmt: skip
    _end(site)


def _end(site: Site) -> None:
    os.chdir("/")
    site.daemon.stop(signal.SIGTERM)
    shutil.rmtree(site.daemon.folder)


if __name__ == "__main__":
    main()
