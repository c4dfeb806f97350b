"""The kinds of breaches by name, each with the invariant that it breaks. Plans make them, a rule speaks of each."""

from __future__ import annotations

from typing import Mapping

# Of the agents of a world.
AGENTS = "agents"
GPU_TWICE = "gpu-twice"
NODE_RANK = "node-rank"
OPTION_EMPTY = "option-empty"
RUN_ID_DIFFERS = "run-id-differs"
# Of where ranks meet.
MASTER_DIFFERS = "master-differs"
MASTER_ELSEWHERE = "master-elsewhere"
MASTER_EMPTY = "master-empty"
MASTER_OUTSIDE = "master-outside"
MASTER_LIST = "master-list"
MASTER_LOCAL = "master-local"
NO_PORT = "no-port"
PORT_DIFFERS = "port-differs"
PORT_TAKEN = "port-taken"
# Of ranks and the world.
ENV_RANK = "env-rank"
WORLD_SIZE = "world-size"
# Of devices.
DEVICE_BEYOND = "device-beyond"
GPUS_JOB = "gpus-job"
GPUS_NODE = "gpus-node"
GPUS_VISIBLE = "gpus-visible"
# Of launch lines.
NO_SCRIPT = "no-script"
REFUSED = "refused"
# Told, not proven.
GPUS_ASKED = "gpus-asked"
GPUS_FEWER = "gpus-fewer"
LIST_SAID = "list-said"
TOLD_APART = "told-apart"
LOCAL_SAID = "local-said"
LOCAL_RANK_BEYOND = "local-rank-beyond"
WITHHELD = "withheld"
WORLD_SAID = "world-said"

UNPROVEN = (LOCAL_RANK_BEYOND, GPUS_FEWER, WITHHELD, WORLD_SAID, LIST_SAID, LOCAL_SAID, GPUS_ASKED,
            TOLD_APART, DEVICE_BEYOND, MASTER_OUTSIDE)  # fmt: skip

INVARIANTS: Mapping[str, str] = {
    AGENTS: "as many agents start as each of them waits for, one on each node",
    GPU_TWICE: "no two ranks of a node take the same GPU",
    NODE_RANK: "with a static rendezvous each agent has a node rank of its own, 0 up to N-1",
    OPTION_EMPTY: "an option of a launcher that needs a value has one",
    RUN_ID_DIFFERS: "agents of one world say the same run id",
    MASTER_DIFFERS: "all of a world say the same master",
    MASTER_ELSEWHERE: "the master is the node on which rank 0 runs",
    MASTER_EMPTY: "a master that is said is not empty",
    MASTER_LIST: "the master is the name of one node, not of all",
    MASTER_OUTSIDE: "the master is one of the job's own nodes",
    DEVICE_BEYOND: "a device that a rank is given is one of its node",
    MASTER_LOCAL: "a world of several nodes has a master that each of them can reach",
    NO_PORT: "a port is a number up to 65535",
    PORT_DIFFERS: "all of a world say the same port",
    PORT_TAKEN: "no two worlds beside each other on a node listen on one port",
    ENV_RANK: "each process has a rank of its own",
    WORLD_SIZE: "the world is as large as the number of processes that start",
    GPUS_JOB: "no more ranks that take a GPU start than the job has GPUs",
    GPUS_NODE: "no more ranks that take a GPU start on a node than it has",
    GPUS_VISIBLE: "no more ranks that take a GPU start on a node than devices are visible there",
    NO_SCRIPT: "a launcher that starts a script is given one",
    REFUSED: "a launcher takes the words and the numbers of its line",
    GPUS_ASKED: "no more ranks that take a GPU start than GPUs were asked for",
    GPUS_FEWER: "ranks that share a node see a device each",
    LIST_SAID: "a MASTER_ADDR that a program may read is the name of one node",
    TOLD_APART: "a program is told one place to meet, whichever node it runs on",
    LOCAL_SAID: "a MASTER_ADDR that a program of many nodes may read is no node's own name for itself",
    LOCAL_RANK_BEYOND: "a local rank is less than the number of GPUs of its node",
    WITHHELD: "what the script sets for its tasks reaches them",
    WORLD_SAID: "a WORLD_SIZE that a program may read is the number of tasks",
}
