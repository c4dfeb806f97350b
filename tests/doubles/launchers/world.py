"""What the stand-ins share: the node they are on, the GPUs they see, the workers they start."""

import json
import os
import signal
import socket
import sys
import time


def host():
    return socket.gethostname()


def node():
    """Return what the lab wrote down about this node, {} outside a lab."""
    # A job of PBS knows of no file of its lab's: there the stand-ins' own place says where the lab is.
    within = os.environ.get("SLURM_CONF") or os.path.abspath(__file__)
    folder = os.path.join(os.path.dirname(os.path.dirname(within)), "nodes")
    for name in (os.environ.get("SLURMD_NODENAME", ""), host()):
        try:
            with open(os.path.join(folder, name + ".json")) as file:
                return json.load(file)
        except OSError:
            continue
    return {}


def visible_gpus(env=os.environ):
    """Return the devices a GPU program would see here, as ids of the node; a list ends at its first bad entry."""
    found = list(range(node().get("gpus", 0)))
    masks = VISIBILITY[node().get("vendor", "nvidia")]
    if not any(name in env for names in masks for name in names):
        found = _granted(env, found)
    for names in masks:  # AMD: the second mask counts in what the first one left
        text = next((env[name] for name in names if name in env), None)
        if text is not None:
            found = [found[at] for at in _valid(text, len(found))]
    return found


VISIBILITY = {
    "nvidia": [("CUDA_VISIBLE_DEVICES",)],
    "amd": [("ROCR_VISIBLE_DEVICES",), ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")],
    "intel": [("ZE_AFFINITY_MASK",)],
}


def _granted(env, all_of_them):
    """Return what Slurm gave the job where it set no mask; on whole nodes, where it hands nothing out, everything."""
    if not node().get("gres", True):
        return all_of_them
    for name in ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"):
        if env.get(name):
            return _valid(env[name], len(all_of_them))
    return all_of_them[: _number(env.get("SLURM_GPUS_ON_NODE"), 0)]


def _valid(text, total):
    found = []
    for word in text.split(","):
        card, dot, tile = word.strip().partition(".")
        if not card.isdigit() or (dot and tile not in ("0", "1")):
            break
        device = 2 * int(card) + int(tile) if dot else int(card)  # card.tile, as Intel's masks may say
        if device >= total or device in found:
            break
        found.append(device)
    return found


def _number(text, otherwise):
    return int(text) if text and text.isdigit() else otherwise


def chained(name):
    """Return the chain of launchers down to this one, each as name@host:pid."""
    link = "%s@%s:%d" % (name, host(), os.getpid())
    return (os.environ.get("MAPLE_CHAIN", "") + " " + link).strip()


def real(name):
    """Return the path of the real program *name*: the first one in PATH that is not a stand-in."""
    for folder in os.environ.get("PATH", "/usr/bin:/bin").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not _ours(path):
            return path
    return sys.executable if name.startswith("python") else ""


def _ours(path):
    try:
        with open(path, "rb") as file:
            return b"launchers" in file.read(300)
    except OSError:
        return False


def python():
    """Return the stand-in for python that lies beside the launcher that runs."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")
    path = os.path.join(folder, "python")
    return path if os.path.exists(path) else "python"


def start(argv, env):
    """Start one worker; a program that is not there is the worker's failure, as exit 127."""
    import subprocess  # launchers alone need it, and every rank imports this module

    try:
        return subprocess.Popen(argv, env=env)
    except OSError as error:
        say("%s: %s" % (argv[0], error))
        return subprocess.Popen(["/bin/sh", "-c", "exit 127"], env=env)


def attend(workers, name):
    """Wait for the workers. Return 0 if all did well; else end the others and return 1."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: (end(workers), os._exit(1)))
    waiting = list(workers)
    while waiting:
        for one in list(waiting):
            code = one.poll()
            if code is None:
                continue
            waiting.remove(one)
            if code:
                say("%s: local_rank %d (pid %d) exitcode: %d" % (name, workers.index(one), one.pid, code))
                end(waiting)
                return 1
        time.sleep(0.02)
    return 0


def end(workers):
    for number in (signal.SIGTERM, signal.SIGKILL):
        for one in workers:
            if one.poll() is None:
                one.send_signal(number)
        stop = time.monotonic() + 1
        while any(one.poll() is None for one in workers) and time.monotonic() < stop:
            time.sleep(0.02)


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
