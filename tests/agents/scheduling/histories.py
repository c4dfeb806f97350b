"""The traces as files that `maple admin replay` reads: python -m tests.agents.scheduling.histories eagle|philly

`eagle` is written as sacct prints it, with nodes; `philly` in the Standard Workload Format, with GPUs as processors.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator

from tests.agents.scheduling import philly
from tests.case_files import CASES

SACCT = "JobID|User|JobName|WorkDir|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|AllocTRES"


def eagle() -> Iterator[str]:
    """Yield the lines of sacct --parsable2."""
    yield SACCT
    with gzip.open(CASES + "/forecast/eagle.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            times = (row[name].replace(" ", "T") for name in ("submit_time", "start_time", "end_time"))
            limit, nodes = float(row["wallclock_req"]) / 60, row["nodes_req"]
            told = (row["job_id"], row["user"], row["name"], row["work_dir"], *times, "%.0f" % float(row["run_time"]),
                    "%.0f" % limit, row["state"], nodes, "node=" + nodes)  # fmt: skip
            yield "|".join(told)


def two_weeks_of_philly() -> Iterator[str]:
    """Yield the lines of a workload file; nobody's name is in it, so each job has a user of its own."""
    yield "; Philly, two weeks, GPUs as processors"
    for number, job in enumerate(philly.jobs(), 1):
        told = (number, int(job.submitted), -1, int(job.seconds), job.size, -1, -1, job.size, int(job.limit), -1, 1,
                number, 1, number, 1, 1, -1, -1)  # fmt: skip
        yield " ".join(map(str, told))


if __name__ == "__main__":
    print("\n".join({"eagle": eagle, "philly": two_weeks_of_philly}[sys.argv[1]]()))
