"""Stand-in for horovodrun where Open MPI starts its ranks: the slots of the hosts that it is told, one after the other.

Without hosts all ranks are on this one: it reads no allocation of Slurm or PBS.
"""

import mpirun
import world

COUNT, HOSTS, FILE = ("-np", "--num-proc"), ("-H", "--hosts"), ("-hostfile", "--hostfile")
FLAGS = ("--verbose", "--gloo", "--mpi", "--disable-cache", "--autotune")


def main(name, argv):
    said, at = {}, 0
    while at < len(argv) and argv[at].startswith("-"):
        word, equals, value = argv[at].partition("=")
        value = value if equals else (argv[at + 1 : at + 2] or [""])[0]
        for key, words in (("count", COUNT), ("hosts", HOSTS), ("file", FILE)):
            if word in words:
                said[key] = value
        at += 1 if equals or word in FLAGS else 2
    if "count" not in said:
        world.say("horovodrun: error: the following arguments are required: -np/--num-proc")
        return 2
    wanted = int(said["count"])
    slots = mpirun.named(said, "horovodrun") or [(world.host(), wanted)]
    if wanted > sum(count for _, count in slots):
        world.say("ValueError: Requested more processes (%d) than there are available slots" % wanted)
        return 1
    if not argv[at:]:
        world.say("horovodrun: no command was named")
        return 1
    return mpirun.spread(name, mpirun.deal(wanted, slots), argv[at:], "openmpi")
