"""dask-jobqueue: one worker, one task."""

import sys

from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def main() -> None:
    """Start the scheduler here, a worker as a job, and run one task on it."""
    with SLURMCluster(
        cores=1,
        processes=1,
        memory="1GB",
        walltime="00:05:00",
        queue=sys.argv[2],
        python=sys.executable,
        scheduler_options={"dashboard_address": None, "host": sys.argv[1]},
        worker_extra_args=["--no-dashboard"],
    ) as cluster:
        cluster.scale(jobs=1)
        with Client(cluster, timeout=60) as client:
            print(client.submit(pow, 2, 10).result(timeout=90))


if __name__ == "__main__":
    main()
