"""Stand-in for the `deepspeed` command (0.1x): its hostfile, its node rank, its local workers."""

import argparse
import json
import os
import shlex
import subprocess

import world

FLAGS = [
    "module",
    "no_python",
    "no_local_rank",
    "no_ssh",
    "no_ssh_check",
    "force_multi",
    "save_pid",
    "bind_cores_to_rank",
    "quiet",
    "elastic_training",
]
VALUES = {
    "hostfile": "/job/hostfile",
    "include": "",
    "exclude": "",
    "num_nodes": -1,
    "num_gpus": -1,
    "master_addr": "",
    "master_port": 29500,
    "node_rank": -1,
    "launcher": "pdsh",
    "launcher_args": "",
    "autotuning": "",
    "ssh_port": 22,
    "min_elastic_nodes": -1,
    "max_elastic_nodes": -1,
    "bind_core_list": "",
    "venv_script": "",
    "log_level": "info",
    "enable_each_rank_log": "None",
}
SHORT = {"hostfile": ["-H"], "include": ["-i"], "exclude": ["-e"], "num_gpus": ["--num_accelerators"]}


EXPORTED = ("MLFLOW", "PYTHON", "MV2", "UCX", "NCCL")  # prefixes of the variables that go along


def main(name, argv):
    made = argparse.ArgumentParser(prog="deepspeed")
    for option in FLAGS:
        made.add_argument("--" + option, action="store_true")
    for option, default in VALUES.items():
        made.add_argument("--" + option, *SHORT.get(option, []), default=default, type=type(default))
    made.add_argument("--maple_active", default="")  # what the first node tells the others: host -> GPU ids
    made.add_argument("program")
    made.add_argument("arguments", nargs=argparse.REMAINDER)
    try:
        return launch(made.parse_args(argv))
    except (ValueError, AssertionError, RuntimeError) as error:
        world.say("%s: %s" % (type(error).__name__, error))
        return 1


def launch(args):
    if args.maple_active:
        return here(args, json.loads(args.maple_active), args.node_rank)
    pool = hostfile(args.hostfile)
    remote = bool(pool)
    if not pool:
        pool = local(args)
    if not remote and args.num_nodes > 1:
        raise ValueError("Num nodes is >1 but no extra nodes available via hostfile")
    active = chosen(pool, args.include, args.exclude)
    if remote and not (args.no_ssh or args.no_ssh_check) and not answers(next(iter(active))):
        raise RuntimeError(
            "Using hostfile at %s but host=%s was not reachable via ssh." % (args.hostfile, next(iter(active)))
        )
    active = dict(list(active.items())[: args.num_nodes] if args.num_nodes > 0 else active)
    if args.num_gpus > 0:
        active = {host: list(range(args.num_gpus)) for host in active}
    if args.no_ssh and not 0 <= args.node_rank < len(active):
        raise AssertionError("Launching training without ssh, but --node_rank is not set correctly.")
    if (args.force_multi or len(active) > 1) and not args.no_ssh:
        return elsewhere(args, active)
    if not args.master_addr:
        raise RuntimeError(
            "Unable to detect suitable master address via 'hostname -I', please manually specify one via --master_addr"
        )
    return here(args, active, args.node_rank if args.no_ssh else 0)


def hostfile(path):
    """Return host -> GPU ids of a hostfile; {} where there is none."""
    if not os.path.isfile(path):
        return {}
    found = {}
    with open(path) as file:
        for line in file:
            words = line.split("#")[0].split()
            if not words:
                continue
            if len(words) != 2 or not words[1].startswith("slots="):
                raise ValueError("Hostfile contains a bad entry: %s, unable to proceed with launching" % line.strip())
            if words[0] in found:
                raise ValueError(
                    "Hostfile contains multiple entries for %s, unable to proceed with launching" % words[0]
                )
            found[words[0]] = list(range(int(words[1][6:])))
    if not found:
        raise ValueError("Hostfile is empty or not formatted correctly, unable to proceed with launching.")
    return found


def local(args):
    """Return this node's GPUs; without filters those that CUDA_VISIBLE_DEVICES names, else all that there are."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if named:
        if not (args.include or args.exclude or args.num_nodes > 1 or args.num_gpus > 0):
            args.include = "localhost:" + named
        del os.environ["CUDA_VISIBLE_DEVICES"]
    gpus = world.node().get("gpus", 0) if named else len(world.visible_gpus())
    if not gpus:
        raise RuntimeError("Unable to proceed, no GPU resources available")
    args.master_addr = "127.0.0.1"
    return {"localhost": list(range(gpus))}


def chosen(pool, include, exclude):
    if include and exclude:
        raise ValueError("include_str and exclude_str are mutually exclusive.")
    if not include and not exclude:
        return pool
    named = {}
    for part in (include or exclude).split("@"):
        host, colon, ids = part.partition(":")
        if host not in pool:
            raise ValueError("Hostname '%s' not found in hostfile" % host)
        named[host] = [int(x) for x in ids.split(",")] if colon else pool[host]
    if include:
        return {host: named[host] for host in pool if host in named}
    left = {host: [x for x in ids if x not in named.get(host, [])] for host, ids in pool.items()}
    return {host: ids for host, ids in left.items() if ids}


def here(args, active, node_rank):
    """Start this node's workers, as deepspeed.launcher.launch does."""
    ids = list(active.values())
    mine, first, size = ids[node_rank], sum(map(len, ids[:node_rank])), sum(map(len, ids))
    started = []
    for local_rank in range(len(mine)):
        env = dict(os.environ, MAPLE_CHAIN=world.chained("deepspeed"))
        env.update(
            CUDA_VISIBLE_DEVICES=",".join(map(str, mine)),
            MASTER_ADDR=args.master_addr,
            MASTER_PORT=str(args.master_port),
            WORLD_SIZE=str(size),
            RANK=str(first + local_rank),
            LOCAL_RANK=str(local_rank),
            LOCAL_SIZE=str(len(mine)),
            CROSS_RANK=str(node_rank),
            CROSS_SIZE=str(len(ids)),
        )
        words = [args.program]
        if not args.no_python:
            words = [world.python(), "-u", *(["-m"] if args.module else []), *words]
        if not args.no_local_rank:
            words.append("--local_rank=%d" % local_rank)
        started.append(world.start([*words, *args.arguments], env))
    return world.attend(started, "deepspeed")


def elsewhere(args, active):
    """Start over all nodes by another launcher: `slurm` and `pdsh` as they fail without mpi4py and ssh."""
    total = sum(map(len, active.values()))
    if args.launcher.lower() == "slurm":
        words = ["srun", "-n", str(total), "--export=ALL", world.python(), "-u", args.program, *args.arguments]
        return world.attend([world.start(words, dict(os.environ, MAPLE_NEEDS_RANK="1"))], "deepspeed")
    if args.launcher.lower() == "pdsh" and reaches():
        return through_pdsh(args, active)
    if args.launcher.lower() == "pdsh":
        raise RuntimeError("ssh: connect to host %s port 22: Connection refused" % next(iter(active)))
    raise RuntimeError("launcher '%s' not installed." % args.launcher.lower())


def reaches():
    """Return whether there is an ssh that reaches other nodes: the labs of PBS have one, those of Slurm have none."""
    return os.path.exists(os.path.join(os.path.dirname(world.python()), "ssh"))


def answers(host):
    done = reaches() and subprocess.run(
        ["ssh", "-o", "PasswordAuthentication=no", host, "hostname"], stdout=subprocess.DEVNULL
    )
    return bool(done) and done.returncode == 0


def through_pdsh(args, active):
    """Start over all nodes: only some variables go along, and those of .deepspeed_env here or at home."""
    first = next(iter(active))
    address = subprocess.run(["ssh", first, "hostname -I"], stdout=subprocess.PIPE, text=True).stdout.split()
    args.master_addr = args.master_addr or (address or [""])[0]
    exports = {name: value for name, value in os.environ.items() if name.startswith(EXPORTED)}
    for folder in (os.path.expanduser("~"), os.getcwd()):
        exports.update(environment_file(os.path.join(folder, ".deepspeed_env")))
    words = ["deepspeed", "--maple_active", json.dumps(active), "--node_rank=%n", "--master_addr=" + args.master_addr]
    words += ["--master_port=%d" % args.master_port]
    words += ["--" + flag for flag in ("module", "no_python", "no_local_rank") if getattr(args, flag)]
    text = "".join("export %s=%s; " % (name, shlex.quote(value)) for name, value in exports.items())
    text += "cd %s; " % shlex.quote(os.getcwd())
    text += " ".join(shlex.quote(word) for word in [*words, args.program, *args.arguments])
    line = ["pdsh", "-S", "-f", "1024", "-w", ",".join(active), text]
    return world.attend([world.start(line, dict(os.environ))], "deepspeed")


def environment_file(path):
    if not os.path.isfile(path):
        return {}
    with open(path) as file:
        return dict(line.strip().split("=", 1) for line in file if "=" in line)
