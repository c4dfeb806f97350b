"""The options of PALS' mpiexec, from public sources: HPE's client for the launch service, its tools interface, guides
of ALCF and NCAR, and lines that were run on Aurora and Polaris. PALS itself was not run.

Long options take one dash or two, a value behind a blank or `=`, and may be abbreviated while only one is meant.
"""

VALUES = {
    "np": "n",
    "ppn": "",
    "soft": "",
    "host": "",
    "hosts": "",
    "hostlist": "",
    "hostfile": "f",
    "arch": "",
    "wdir": "",
    "path": "",
    "file": "",
    "configfile": "",
    "umask": "",
    "env": "",
    "envlist": "",
    "genvlist": "",
    "cpu-bind": "",
    "mem-bind": "",
    "gpu-bind": "",
    "depth": "d",
    "include-tasks": "",
    "exclude-tasks": "",
    "procinfo-file": "",
    "pmi": "",
    "rlimits": "",
}
FLAGS = {
    "envall": "",
    "envnone": "",
    "genvall": "",
    "genvnone": "",
    "transfer": "",
    "no-transfer": "",
    "label": "l",
    "no-label": "",
    "exclusive": "",
    "shared": "",
    "line-buffer": "",
    "no-line-buffer": "",
    "abort-on-failure": "",
    "no-abort-on-failure": "",
    "sstartup": "",
    "no-sstartup": "",
    "no-vni": "",
    "verbose": "v",
    "version": "V",
    "help": "h",
}
NOT_FOUND = "genv"  # in no public source of PALS; taken only where the lab is told so
SHORT = {short: name for table in (VALUES, FLAGS) for name, short in table.items() if short}

# option -> variable that gives its default; PBS_NODEFILE stands behind PALS_HOSTFILE
DEFAULTS = {
    "np": "PALS_NRANKS",
    "ppn": "PALS_PPN",
    "soft": "PALS_SOFT",
    "hostlist": "PALS_HOSTLIST",
    "hostfile": "PALS_HOSTFILE",
    "wdir": "PALS_WDIR",
    "path": "PALS_PATH",
    "envlist": "PALS_ENVLIST",
    "cpu-bind": "PALS_CPU_BIND",
    "mem-bind": "PALS_MEM_BIND",
    "depth": "PALS_DEPTH",
    "pmi": "PALS_PMI",
}


class Refused(Exception):
    """mpiexec does not take this line."""


def read(argv, genv=False):
    """Return ({option: value, "env": [(name, value)]}, the words from the program on). Raises `Refused`.

    The first word that is no option is the program; `--` may stand in front of it.
    """
    said, at = {"env": []}, 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        word = argv[at]
        at += 1
        if word == "--":
            break
        name, joined, value = word.lstrip("-").partition("=")
        option = meant(word, name, genv)
        if option in FLAGS:
            if joined:
                raise Refused("option '--%s' doesn't allow an argument" % option)
            said[option] = True
            continue
        if not joined:
            if at >= len(argv):
                raise Refused("option '%s' requires an argument" % word)
            value = argv[at]
            at += 1
        if option in ("env", NOT_FOUND):
            if "=" not in value:  # older releases: two words
                if at >= len(argv):
                    raise Refused("option '%s' requires NAME=VALUE" % word)
                value, at = "%s=%s" % (value, argv[at]), at + 1
            said["env"].append(tuple(value.split("=", 1)))
        else:
            said[option] = value
    return said, argv[at:]


def meant(word, name, genv=False):
    """Return the long name of the option *word*. Raises `Refused` for one that PALS has not."""
    if name in SHORT and not word.startswith("--"):
        return SHORT[name]
    if name == "n":  # ALCF's pages write --n, too
        return "np"
    known = set(VALUES) | set(FLAGS) | ({NOT_FOUND} if genv else set())
    if name in known:
        return name
    if name == NOT_FOUND:
        raise Refused("unrecognized option '%s'" % word)
    able = sorted(one for one in known if one.startswith(name)) if len(name) > 1 else []
    if len(able) == 1:
        return able[0]
    raise Refused(("option '%s' is ambiguous" if able else "unrecognized option '%s'") % word)
