"""A training program for the comparison: meets the other ranks over gloo and writes down what it was given."""

import datetime
import json
import os
import socket
import sys

folder = os.environ["MAPLE_FACTS"]
os.makedirs(folder, exist_ok=True)
facts = {
    "host": socket.gethostname(),
    "rank": os.environ.get("RANK"),
    "local_rank": os.environ.get("LOCAL_RANK"),
    "world_size": os.environ.get("WORLD_SIZE"),
    "group_rank": os.environ.get("GROUP_RANK"),
    "local_world_size": os.environ.get("LOCAL_WORLD_SIZE"),
    "agent_store": os.environ.get("TORCHELASTIC_USE_AGENT_STORE"),
    "run_id": os.environ.get("TORCHELASTIC_RUN_ID"),
    "omp": os.environ.get("OMP_NUM_THREADS"),
    "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
    "own_port": os.environ.get("MASTER_PORT") == os.environ.get("ASKED_PORT"),
    "ok": False,
}
path = os.path.join(folder, "%s-%s-%d.json" % (facts["rank"], facts["host"], os.getpid()))


def write():
    with open(path + ".new", "w") as file:
        json.dump(facts, file)
    os.rename(path + ".new", path)


write()
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(os.environ.get("MAPLE_TIMEOUT", "20"))))
total = torch.ones(1)
dist.all_reduce(total)
facts["ok"] = int(total.item()) == dist.get_world_size()
write()
dist.destroy_process_group()
sys.exit(0 if facts["ok"] else 1)
