"""Stand-in for mpirun, mpiexec and ibrun inside a job: ranks over the nodes, started through srun or through PBS.

Which mpirun this is (Open MPI or Hydra) says the file `mpi` beside slurm.conf, or MAPLE_MPI.
"""

import json
import os
import re

import world

OPENMPI = {
    "count": ("-n", "-np", "--np", "-c", "--n"),
    "each": ("-N", "-npernode", "--npernode"),
    "map": ("--map-by", "-map-by"),
    "hosts": ("-H", "-host", "--host"),
    "file": ("-hostfile", "--hostfile", "-machinefile", "--machinefile"),
    "set": ("-x",),
    "one": (
        "--bind-to",
        "-bind-to",
        "--rank-by",
        "--report-bindings-to",
        "--prefix",
        "-wdir",
        "--wdir",
        "--output",
        "--oversubscribe-to",
    ),
    "two": ("-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca"),
}
HYDRA = {
    "count": ("-n", "-np"),
    "each": ("-ppn", "-perhost", "--ppn"),
    "map": (),
    "hosts": ("-hosts", "-host", "--hosts"),
    "file": ("-f", "-hostfile", "-machinefile", "--hostfile"),
    "set": (),
    "one": (
        "-launcher",
        "-bind-to",
        "--bind-to",
        "-map-by",
        "-rmk",
        "-iface",
        "-wdir",
        "-genvlist",
        "-envlist",
        "-prepend-rank-to",
        "-launcher-exec",
    ),
    "two": (),
    "environment": ("-genv", "-env"),
}


def main(name, argv):
    if argv[:1] == ["--maple-proxy"]:
        return proxy(json.loads(argv[1]), argv[2:])
    try:
        plan, command, kind = ibrun(argv) if name == "ibrun" else mpi(name, argv)
    except ValueError as error:
        world.say("%s: %s" % (name, error))
        return 1
    if not command:
        world.say("%s: no executable was named" % name)
        return 1
    return spread(name, plan, command, kind)


def personality():
    path = os.path.join(os.path.dirname(os.environ.get("SLURM_CONF", "/")), "mpi")
    try:
        with open(path) as file:
            return os.environ.get("MAPLE_MPI") or file.read().strip()
    except OSError:
        return os.environ.get("MAPLE_MPI", "openmpi")


def allocated():
    """Return host -> tasks of the allocation, [("localhost", 1)] outside one."""
    if under_pbs():
        with open(os.environ["PBS_NODEFILE"]) as file:
            lines = file.read().split()
        return [(host, lines.count(host)) for host in dict.fromkeys(lines)]
    hosts = hostnames(os.environ.get("SLURM_NODELIST") or os.environ.get("SLURM_JOB_NODELIST", ""))
    tasks = []
    for part in os.environ.get("SLURM_TASKS_PER_NODE", "1").split(","):
        count, _, times = part.partition("(x")
        tasks += [int(count)] * int(times.rstrip(")") or 1)
    return list(zip(hosts, tasks + [1] * len(hosts))) or [(world.host(), os.cpu_count() or 1)]


def hostnames(text):
    found = []
    for prefix, inside, suffix in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?([^,\[]*)", text):
        for part in inside.split(",") if inside else [""]:
            first, dash, last = part.partition("-")
            width = len(first)
            numbers = [part] if not dash else [str(x).zfill(width) for x in range(int(first), int(last) + 1)]
            found += [prefix + number + suffix for number in numbers]
    return found


def mpi(name, argv):
    kind = personality()
    table = HYDRA if kind == "hydra" else OPENMPI
    said, at = {}, 0
    while at < len(argv) and argv[at].startswith("-"):
        word, value = argv[at], (argv[at + 1 : at + 2] or [""])[0]
        if "=" in word and word.startswith("--"):
            word, _, value = word.partition("=")
            at -= 1
        meaning = next((key for key, words in table.items() if word in words), None)
        if meaning == "environment":
            os.environ[value] = argv[at + 2]
        elif meaning == "set":
            os.environ.update([value.split("=", 1)] if "=" in value else [])
            said["handed"] = [*said.get("handed", []), value.partition("=")[0]]
        elif meaning is None and not flag(word, kind):
            raise ValueError("unrecognized argument %s" % word)
        elif meaning is not None:
            said[meaning] = value
        at += {None: 1, "two": 3, "environment": 3}.get(meaning, 2)
    os.environ["MAPLE_HANDED_ON"] = " ".join(said.get("handed", []))
    slots = named(said, kind) or allocated()
    plan = hydra(said, slots) if kind == "hydra" else openmpi(said, slots, argv)
    return plan, argv[at:], kind


def flag(word, kind):
    known = (
        ("-genvall", "-envall", "-genvnone", "-l", "-prepend-rank", "-verbose", "-v", "-print-rank-map")
        if kind == "hydra"
        else (
            "--oversubscribe",
            "--report-bindings",
            "--allow-run-as-root",
            "--tag-output",
            "--display-map",
            "-v",
            "-q",
            "--bynode",
            "--nolocal",
            "--use-hwthread-cpus",
            "--verbose",
            "-oversubscribe",
            "--display-allocation",
        )
    )
    return word in known


CORES = 64  # of a host: its slots, where an Open MPI not built for the scheduler finds it once in a file (4.1.4)


def named(said, kind):
    """Return the hosts that the line names itself."""
    if said.get("hosts"):
        return [(part.partition(":")[0], int(part.partition(":")[2] or 1)) for part in said["hosts"].split(",")]
    if said.get("file"):
        found, once = {}, set()
        with open(said["file"]) as file:
            for line in file:
                words = line.split("#")[0].replace(":", " slots=").split()
                if words:
                    slots = next((word[6:] for word in words[1:] if word.startswith("slots=")), "")
                    once = once - {words[0]} if slots or words[0] in found else {*once, words[0]}
                    found[words[0]] = found.get(words[0], 0) + int(slots or 1)
        alone = kind == "openmpi" and os.environ.get("MAPLE_TM") == "no"
        return [(host, CORES if alone and host in once else count) for host, count in found.items()]
    return None


def openmpi(said, slots, argv):
    each = said.get("each")
    ppr = re.match(r"ppr:(\d+):(node|socket|numa|package)", said.get("map", ""))
    each = int(each) if each else int(ppr.group(1)) if ppr else None
    if each:  # Open MPI 4.1.4: never more on a host than a file has slots for it, which says more of it than its name
        slots = [(host, min(each, count) if said.get("file") and count > 1 else each) for host, count in slots]
    total = sum(count for _, count in slots)
    wanted = int(said.get("count") or total)
    if (
        wanted > total
        and "--oversubscribe" not in argv
        and "-oversubscribe" not in argv
        and ":oversubscribe" not in said.get("map", "").lower()
    ):
        raise ValueError(
            "There are not enough slots available in the system to satisfy the %d slots that were requested" % wanted
        )
    if said.get("map", "").startswith("node"):
        return deal(wanted, [(host, 1) for host, _ in slots])
    return deal(wanted, slots)


def hydra(said, slots):
    each = int(said.get("each") or 0)
    slots = [(host, each or count) for host, count in slots]
    return deal(int(said.get("count") or sum(count for _, count in slots)), slots)


def deal(wanted, slots):
    """Return host -> ranks: *slots* filled in order, again and again until *wanted* ranks are placed."""
    plan, rank = {}, 0
    while rank < wanted:
        for host, count in slots:
            for _ in range(min(count, wanted - rank)):
                plan.setdefault(host, []).append(rank)
                rank += 1
    return plan


def ibrun(argv):
    wanted, offset = None, 0
    while argv[:1] and argv[0].startswith("-"):
        if argv[0] == "-n":
            wanted = int(argv[1])
        elif argv[0] == "-o":
            offset = int(argv[1])
        elif argv[0] != "-np":
            raise ValueError("unknown option %s" % argv[0])
        argv = argv[2:]
    everyone = [host for host, count in allocated() for _ in range(count)]
    places = everyone[offset:] if wanted is None else everyone[offset : offset + wanted]
    plan = {}
    for rank, host in enumerate(places):
        plan.setdefault(host, []).append(rank)
    return plan, argv, "hydra"


def under_pbs():
    """Tell whether PBS started the job: one of Slurm that makes such a file for itself stays Slurm's, as for Hydra."""
    return "PBS_NODEFILE" in os.environ and "SLURM_JOB_ID" not in os.environ


def spread(name, plan, command, kind, own=None):
    """Start one proxy on each node of *plan*; on this node alone, work without srun. *own*: variables by rank."""
    size = sum(len(ranks) for ranks in plan.values())
    told = json.dumps({"plan": plan, "size": size, "kind": kind, "name": name, "own": own or {}})
    if set(plan) <= {world.host(), "localhost", os.environ.get("SLURMD_NODENAME")}:
        return proxy(json.loads(told), command)
    me = os.path.join(os.path.dirname(world.python()), "mpirun")
    if under_pbs():
        return through_pbs(name, plan, [me, "--maple-proxy", told, *command])
    count = str(len(plan))
    words = [
        world.real("srun"),
        "--nodes=" + count,
        "--ntasks=" + count,
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
        "--overlap",
        "--nodelist=" + ",".join(plan),
        me,
        "--maple-proxy",
        told,
        *command,
    ]
    return world.attend([world.start(words, dict(os.environ))], name)


def through_pbs(name, plan, words):
    """Start the proxies as an Open MPI that was built with TM does: PBS hands on mpirun's own environment.

    One that was not (MAPLE_TM=no) goes by ssh, and hands on what -x names (4.1.4).
    """
    import remote  # beside this file in the labs of PBS only

    env = dict(os.environ) if os.environ.get("MAPLE_TM") != "no" else by_name(remote.login())
    lines = [remote.entering(remote.holder(host), os.getcwd(), words) for host in plan]
    return world.attend([world.start(line, env) for line in lines], name)


def by_name(env):
    """Return the environment of a login, with the variables that the line named and those of the stand-ins."""
    names = os.environ.get("MAPLE_HANDED_ON", "").split()
    return {**env, **{name: value for name, value in os.environ.items() if name in names or name.startswith("MAPLE_")}}


def proxy(told, command):
    names = [os.environ.get("SLURMD_NODENAME"), world.host(), "localhost"]
    mine = next((told["plan"][name] for name in names if name in told["plan"]), [])
    started = []
    for local, rank in enumerate(mine):
        env = dict(os.environ, MAPLE_CHAIN=world.chained(told["name"]))
        if told["kind"] == "hydra":
            env.update(
                PMI_RANK=str(rank),
                PMI_SIZE=str(told["size"]),
                MPI_LOCALRANKID=str(local),
                MPI_LOCALNRANKS=str(len(mine)),
            )
        else:
            env.update(
                OMPI_COMM_WORLD_RANK=str(rank),
                OMPI_COMM_WORLD_SIZE=str(told["size"]),
                OMPI_COMM_WORLD_NODE_RANK=str(local),
                OMPI_COMM_WORLD_LOCAL_RANK=str(local),
                OMPI_COMM_WORLD_LOCAL_SIZE=str(len(mine)),
            )
        env.update(told["own"].get(str(rank), {}))
        started.append(world.start(command, env))
    return world.attend(started, told["name"])
