"""Stand-in for mpiexec of PALS (the launcher of Aurora and Polaris): its options, its defaults, its rank variables.

What PALS' daemons do, Hydra does here: it starts the ranks on the hosts, and a line of shell gives each the variables
of PALS in place of Hydra's. Not known from public sources, and so assumed: without --ppn the ranks are spread in even
blocks over the hosts; a host named twice counts once.
"""

import os
import re
import shutil
import tempfile

import pals_options
import world

KEYWORDS = ("none", "numa", "socket", "core", "thread", "depth", "list", "mask", "local")

# PMI_RANK and the rest of Hydra's are there; in front: ppn, hosts, depth, PMI, devices, cores, kept variables
RANK = r"""
ppn=$1 hosts=$2 depth=$3 pmi=$4 devices=$5 cores=$6 kept=$7
shift 7
export PALS_RANKID=$PMI_RANK PALS_LOCAL_RANKID=$MPI_LOCALRANKID PALS_LOCAL_SIZE=$MPI_LOCALNRANKS
export PALS_NODEID=$((PMI_RANK / ppn % hosts)) PALS_DEPTH=$depth PALS_APID=${PBS_JOBID:-local}
if [ "$pmi" = none ]; then
    unset PMI_RANK PMI_SIZE PMI_FD
else
    export PMI_LOCAL_RANK=$MPI_LOCALRANKID PMI_LOCAL_SIZE=$MPI_LOCALNRANKS
    [ "$pmi" = pmix ] && export PMIX_RANK=$PMI_RANK
fi
if [ -n "$devices" ]; then
    index=0
    for one in $(echo "$devices" | tr : ' '); do
        [ "$index" = "$MPI_LOCALRANKID" ] && export ZE_AFFINITY_MASK=$one
        index=$((index + 1))
    done
fi
index=0
for one in $(echo "$cores" | tr : ' '); do  # as far as this machine has such cores
    [ "$index" = "$MPI_LOCALRANKID" ] && taskset -cp "$one" $$ >/dev/null 2>&1
    index=$((index + 1))
done
unset MPI_LOCALRANKID MPI_LOCALNRANKS
[ "$kept" = "*" ] && exec "$@"
for name in $kept $(env | sed -n 's/^\(P[AM][LI][A-Z]*_[A-Z_]*\)=.*/\1/p'); do
    eval "[ -z \"\${$name+set}\" ] || set -- \"$name=\$$name\" \"\$@\""
done
exec env -i "$@"
"""


def main(name, argv):
    """Become the Hydra that starts the ranks of one mpiexec line."""
    os.environ["MAPLE_CHAIN"] = world.chained(name)
    try:
        return start(read(argv))
    except (pals_options.Refused, ValueError) as error:
        world.say("%s: %s" % (name, error))
        return 1
    except OSError as error:
        world.say("%s: %s: %s" % (name, error.filename or "", error.strerror))
        return 1


def read(argv):
    """Return (options, command) of each part between `:`; those behind the first take its defaults."""
    genv = os.environ.get("MAPLE_PALS_GENV") == "1"
    parts, rest = [], list(argv)
    while rest:
        said, words = pals_options.read(rest, genv)
        end = words.index(":") if ":" in words else len(words)
        parts.append((said, words[:end]))
        rest = words[end + 1 :]
    if not parts or any(not command for _, command in parts):
        raise pals_options.Refused("no executable specified")
    return parts


def start(parts):
    first = parts[0][0]
    for option, variable in pals_options.DEFAULTS.items():
        if os.environ.get(variable) and not (option == "hostfile" and "hostlist" in first):
            first.setdefault(option, os.environ[variable])
    hosts = list(dict.fromkeys(hosts_of(first)))
    checked(first)
    counts = [number(said.get("np", "1"), "np") for said, _ in parts]
    ppn = number(first.get("ppn", "0"), "ppn", 0) or -(-sum(counts) // len(hosts))
    words = [os.environ["MAPLE_HYDRA"], "-f", hostfile(hosts, ppn)]
    words += ["-l"] if first.get("label") else []
    for index, ((said, command), count) in enumerate(zip(parts, counts)):
        words += [":"] if index else []
        # The binary is taken from this host, so a rank without PATH finds it, too.
        program = shutil.which(command[0]) or command[0]
        words += [*segment(first, said, count, ppn, len(hosts)), program, *command[1:]]
    os.execv(words[0], words)


def hostfile(hosts, ppn):
    """Return the path of a host file for Hydra; it goes with the lab."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tmp")
    with tempfile.NamedTemporaryFile("w", prefix="pals-hosts-", dir=folder, delete=False) as file:
        file.write("".join("%s:%d\n" % (host, ppn) for host in hosts))
    return file.name


def hosts_of(said):
    """Return the hosts, in order: --hosts, else --hostfile, else the node file of the job, else this host."""
    named = said.get("hosts") or said.get("host") or said.get("hostlist")
    if named:
        return named.split(",")
    path = said.get("hostfile") or os.environ.get("PBS_NODEFILE")
    if not path:
        return [world.host()]
    with open(path) as file:
        found = [line.split("#")[0].split() for line in file]
    hosts = [words[0].partition(":")[0] for words in found if words]
    if not hosts:
        raise pals_options.Refused("No host list provided")
    return hosts


def checked(said):
    for option in ("cpu-bind", "mem-bind"):
        words = re.split("[,:]", said.get(option, "none"))
        if not any(word in KEYWORDS for word in words[:2]):
            raise pals_options.Refused("invalid --%s value: %s" % (option, said[option]))
    if said.get("pmi", "cray").lower() not in ("cray", "pmix", "none"):
        raise pals_options.Refused("invalid --pmi value: %s" % said["pmi"])
    if "gpu-bind" in said and os.environ.get("ZE_FLAT_DEVICE_HIERARCHY") == "FLAT" and "." in said["gpu-bind"]:
        raise pals_options.Refused("Failed to parse implicit GPU selection")


def number(text, option, least=1):
    if not re.match(r"^\d+$", text) or int(text) < least:
        raise pals_options.Refused("invalid --%s value: %s" % (option, text))
    return int(text)


def kept(said, own):
    """Return the names of the variables that go along, blanks between; "*" is all of them."""
    listed = said.get("envlist") or said.get("genvlist")
    off = os.environ.get("PALS_ENVALL", "1").lower() in ("0", "false") or said.get("envnone") or said.get("genvnone")
    if not listed and (not off or said.get("envall") or said.get("genvall")):
        return "*"
    names = (listed or "").split(",") + [name for name, _ in own]
    return " ".join(name for name in names if re.match(r"^[A-Za-z_]\w*$", name))


def segment(first, said, count, ppn, hosts):
    wdir = said.get("wdir") or first.get("wdir")
    words = ["-n", str(count)] + (["-wdir", wdir] if wdir else [])
    own = [*first["env"], *(said["env"] if said is not first else [])]
    own += [("PATH", first["path"])] if first.get("path") else []
    for name, value in own:
        words += ["-env", name, value]
    pmi = "pmix" if os.environ.get("MAPLE_PMIX") and "pmi" not in first else first.get("pmi", "cray").lower()
    devices = re.sub("^(verbose,)?list:", "", first.get("gpu-bind", ""))
    bound = re.match("(?:verbose,)?list:(.*)", first.get("cpu-bind", ""))
    cores = bound.group(1) if bound else ""
    told = [str(ppn), str(hosts), first.get("depth", "1"), pmi, devices, cores, kept(first, own)]
    return [*words, "/bin/sh", "-c", RANK, "pals", *told]
