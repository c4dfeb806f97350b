"""Stand-in for jsrun: resource sets over the job's hosts, each with devices of its own, ranks as Open MPI names them.

It takes an allocation of Slurm or PBS for that of LSF. Sets go host by host (-r on each, else what the CPUs hold);
ranks go round the sets, or with `-d packed` fill one after the other.
"""

import os

import mpirun
import world

WORDS = {
    "sets": ("-n", "--nrs"),
    "each": ("-a", "--tasks_per_rs"),
    "gpus": ("-g", "--gpu_per_rs"),
    "cpus": ("-c", "--cpu_per_rs"),
    "on_host": ("-r", "--rs_per_host"),
    "ranks": ("-p", "--np"),
    "order": ("-d", "--launch_distribution"),
    "bind": ("-b", "--bind"),
    "latency": ("-l", "--latency_priority"),
    "mpi": ("-M", "--smpiargs"),
    "set": ("-E", "--env"),
}


def main(name, argv):
    try:
        said, at = read(argv)
        sets = placed(said, mpirun.allocated())
    except ValueError as error:
        world.say("Error: %s" % error)
        return 1
    if not argv[at:]:
        world.say("Error: It is not known which executable to start")
        return 1
    plan, told = {}, {}
    for host, number, ranks in sets:
        plan.setdefault(host, []).extend(ranks)
        told.update(dict.fromkeys(ranks, (host, number)))
    each = {rank: own(rank, plan, told[rank], int(said.get("gpus", 0))) for rank in told}
    return mpirun.spread(name, {host: sorted(ranks) for host, ranks in plan.items()}, argv[at:], "openmpi", each)


def own(rank, plan, place, gpus):
    """Return what a rank finds beside Open MPI's words: JSM's, and the devices of its set."""
    host, number = place
    here = sorted(plan[host])
    return {
        "JSM_NAMESPACE_RANK": str(rank),
        "JSM_NAMESPACE_SIZE": str(sum(map(len, plan.values()))),
        "JSM_NAMESPACE_LOCAL_RANK": str(here.index(rank)),
        "JSM_NAMESPACE_LOCAL_SIZE": str(len(here)),
        "CUDA_VISIBLE_DEVICES": ",".join(str(number * gpus + one) for one in range(gpus)),
    }


def read(argv):
    """Return what the options say, and where the command begins: getopt's way, `-n2` and `--nrs=2` too."""
    said, at = {}, 0
    while at < len(argv) and argv[at].startswith("-"):
        word, equals, value = argv[at].partition("=") if argv[at].startswith("--") else (argv[at][:2], "", argv[at][2:])
        key = next((key for key, words in WORDS.items() if word in words), None)
        if key is None:
            raise ValueError("unrecognized option '%s'" % word)
        if not equals and not value:
            at, value = at + 1, (argv[at + 1 : at + 2] or [""])[0]
        if key == "set" and "=" in value:
            os.environ.update([value.split("=", 1)])
        said[key] = value
        at += 1
    return said, at


def placed(said, slots):
    """Return each set: its host, which of the host's sets it is, and its ranks."""
    sets = int(said.get("sets") or said.get("ranks") or 1)
    each = int(said.get("each") or int(said.get("ranks") or sets) // sets)
    on_host = int(said.get("on_host") or max(1, (os.cpu_count() or 1) // int(said.get("cpus", 1))))
    places = [(host, number) for host, _ in slots for number in range(on_host)][:sets]
    if len(places) < sets:
        raise ValueError("nrs (%d) is more than %d sets on each of %d hosts" % (sets, on_host, len(slots)))
    packed = said.get("order") == "packed"
    ranks = [range(at * each, at * each + each) if packed else range(at, sets * each, sets) for at in range(sets)]
    return [(*place, list(some)) for place, some in zip(places, ranks)]
