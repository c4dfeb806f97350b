"""What PBS gives for a request: hosts, lines of the node file, and the variables that the batch shell then sees.

Measured on OpenPBS 23.06: the node file has one line for each chunk, or for each of its mpiprocs, host by host; nothing
is said of GPUs anywhere; the job starts in the home directory, with the environment of a login and not that of qsub.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from ..request.pbs import select
from ..site.facts import GENERIC_PBS, NodeKind, Site
from ..types.job import Settings
from ..types.launch_plan import Allocation, device_numbers
from ..types.submission import Submission
from ..types.text import Text, host, plain, token, unknown
from .shell_state import Variable, open_value

WHOLE_NODE = "whole-node"
HOST_LEVEL = (b"ncpus", b"mpiprocs", b"ngpus", b"mem")  # said without `select` they make one chunk
MOST_HOSTS = 4096
NODE_FILE = plain(token(b"nodefile"))
HOOKS_DEVICES = unknown(b"cvd")  # CUDA_VISIBLE_DEVICES where a hook of the site may set it


class Share(NamedTuple):
    """What a job has of one host. *lines*: of the node file. None is unknown."""

    lines: int
    cpus: Optional[int]
    gpus: Optional[int]


def chunks_of(settings: Settings) -> Tuple[select.Chunk, ...]:
    """Return the chunks that are asked for, () where they cannot be read."""
    selected, older = settings.value("select"), settings.value("nodes")
    if selected is not None:
        return select.chunks(selected) or ()
    if older is not None:
        return select.nodes_form(older) or ()
    amounts = [(key, settings.value(key.decode())) for key in HOST_LEVEL]
    asked = tuple(select.Resource(key, value, -1, -1) for key, value in amounts if value is not None)
    return (select.Chunk(1, asked, -1, -1),) if asked else select.DEFAULT


def spread(settings: Settings, site: Site) -> Optional[Tuple[Share, ...]]:
    """Return the share of each host in order, None where the scheduler may place the chunks in several ways."""
    each = [share for chunk in chunks_of(settings) for share in [_share(chunk)] * min(chunk.count, MOST_HOSTS)]
    if not each or len(each) > MOST_HOSTS or _may_be_divided(settings, site):
        return None
    place = settings.value("place")
    words = tuple(place.split(b":")) if place is not None else ()
    if len(each) == 1:
        return tuple(each)
    if b"pack" in words:
        return (_together(each),)
    if b"scatter" in words or b"vscatter" in words or (place is None and settings.value("select") is None):
        return tuple(each)  # the older form, nodes=, is always scattered
    if site.gpu_request.style == WHOLE_NODE or _too_big_to_share(each, where(settings, site)):
        return tuple(each)
    return None


def _may_be_divided(settings: Settings, site: Site) -> bool:
    """Return whether a site that nobody has described may make several chunks of what was asked for in one sum.

    OpenPBS makes one chunk of `-l ncpus=96 -l ngpus=8`; NCI's Gadi shares the sums out over whole nodes.
    """
    if site.id != GENERIC_PBS.id or "select" in settings or "nodes" in settings:
        return False
    counts = [(settings.value(key) or b"0") for key in ("ncpus", "ngpus")]
    return any(not count.isdigit() or int(count) > 1 for count in counts)


def _share(chunk: select.Chunk) -> Share:
    cpus, gpus = chunk.number(b"ncpus"), chunk.number(b"ngpus")
    ranks = chunk.number(b"mpiprocs")
    lines = ranks if ranks is not None else 1 if cpus != 0 else 0
    return Share(lines, cpus, gpus)


def _together(each: List[Share]) -> Share:
    cpus = None if any(share.cpus is None for share in each) else sum(share.cpus or 0 for share in each)
    gpus = None if any(share.gpus is None for share in each) else sum(share.gpus or 0 for share in each)
    return Share(sum(share.lines for share in each), cpus, gpus)


def _too_big_to_share(each: List[Share], kinds: Tuple[NodeKind, ...]) -> bool:
    """Return whether no node has room for two of the chunks."""
    if not kinds:
        return False
    gpus = sorted(share.gpus or 0 for share in each)
    cpus = sorted(share.cpus or 0 for share in each)
    by_gpus = all(kind.gpus is not None and gpus[0] + gpus[1] > kind.gpus for kind in kinds)
    by_cpus = all(
        kind.cores is not None and cpus[0] + cpus[1] > kind.cores * (kind.threads_per_core or 8) for kind in kinds
    )
    return by_gpus or by_cpus


def where(settings: Settings, site: Site) -> Tuple[NodeKind, ...]:
    """Return every kind of node the request may land on, () when nothing is known."""
    return site.node_kinds((settings.value("queue") or b"").split(b"@")[0].decode("utf-8", "replace"))


def shared(settings: Settings, site: Site) -> Optional[bool]:
    """Return whether other jobs may run on the same nodes, None when that is unknown."""
    words = (settings.value("place") or b"").split(b":")
    if b"excl" in words or b"exclhost" in words or site.gpu_request.style == WHOLE_NODE:
        return False
    return None


def allocate(settings: Settings, site: Site) -> Allocation:
    """Return what the scheduler would give for these settings."""
    hosts = spread(settings, site)
    kinds = where(settings, site)
    queue = (settings.value("queue") or b"").decode("utf-8", "replace") or site.default_partition
    if not hosts:
        ranks = _lines_in_all(settings, site)
        gpus, most = _gpus((), site, kinds), None if _may_be_divided(settings, site) else _chunks_in_all(settings)
        others = shared(settings, site)
        return Allocation(None, ranks, None, None, gpus, None, kinds, queue, others, most_nodes=most)
    lines = {share.lines for share in hosts}
    ranks = sum(share.lines for share in hosts)
    return Allocation(
        len(hosts),
        ranks,
        hosts[0].lines if len(lines) == 1 else None,
        _cpus_of_rank(hosts),
        _gpus(hosts, site, kinds),
        None,
        kinds,
        queue,
        shared(settings, site),
        tuple(share.lines for share in hosts),
    )


def _chunks_in_all(settings: Settings) -> Optional[int]:
    """Return how many chunks are asked for, None where they cannot be read: a chunk lies on one host."""
    return sum(chunk.count for chunk in chunks_of(settings)) or None


def _lines_in_all(settings: Settings, site: Site) -> Optional[int]:
    """Return how many lines the node file has wherever the chunks are placed, None unknown."""
    shares = [(_share(chunk).lines, chunk.count) for chunk in chunks_of(settings)]
    return sum(lines * count for lines, count in shares) if shares and not _may_be_divided(settings, site) else None


def _cpus_of_rank(hosts: Tuple[Share, ...]) -> Optional[int]:
    """Return the CPUs of one line of the node file, where all have as many."""
    each = {share.cpus // share.lines for share in hosts if share.cpus is not None and share.lines}
    return each.pop() if len(each) == 1 and all(share.cpus is not None and share.lines for share in hosts) else None


def _gpus(hosts: Tuple[Share, ...], site: Site, kinds: Tuple[NodeKind, ...]) -> Optional[int]:
    """Return how many GPUs the job has on each node."""
    counts = {kind.gpus for kind in kinds}
    if site.gpu_request.style == WHOLE_NODE:
        return counts.pop() if len(counts) == 1 else None
    asked = {share.gpus for share in hosts}
    return asked.pop() if len(asked) == 1 else None


def devices(given: Allocation, site: Site) -> Optional[Tuple[bytes, ...]]:
    """Return the devices that a process of the job can use. Where nodes are shared a hook may hide some, or none."""
    if site.gpu_request.style != WHOLE_NODE or given.gpus_per_node is None:
        return None
    return device_numbers(given.gpus_per_node)


def node_file(given: Allocation) -> Text:
    """Return the content of the node file."""
    from .outputs import named_lines

    return named_lines(given.node_file, given.tasks)


def batch_environment(submission: Submission, settings: Settings, given: Allocation) -> Dict[bytes, Optional[Text]]:
    """Return the variables PBS sets in the batch shell; None means it surely does not set that one."""
    home = submission.environment.get(b"HOME")
    out: Dict[bytes, Optional[Text]] = {
        b"PBS_JOBID": plain(token(b"job")), b"PBS_NODEFILE": NODE_FILE, b"PBS_O_WORKDIR": plain(submission.cwd),
        b"PBS_ENVIRONMENT": plain(b"PBS_BATCH"), b"PBS_NODENUM": plain(b"0"), b"PBS_TASKNUM": plain(b"1"),
        b"PBS_JOBNAME": _resource(settings, "job-name") or unknown(b"jobname"), b"PBS_QUEUE": unknown(b"queue"),
        b"PBS_O_HOST": unknown(b"submithost"), b"PBS_O_QUEUE": unknown(b"oqueue"), b"PBS_JOBDIR": unknown(b"jobdir"),
        b"PBS_JOBCOOKIE": unknown(b"cookie"), b"PBS_MOMPORT": unknown(b"momport"), b"TMPDIR": unknown(b"tmpdir"),
        b"PBS_ACCOUNT": _resource(settings, "account") or unknown(b"account"),
        b"PBS_ARRAY_INDEX": unknown(b"arraytask") if settings.value("array") else None,
        b"PBS_ARRAY_ID": unknown(b"arrayjob") if settings.value("array") else None,
        b"NCPUS": _cpus(settings), b"OMP_NUM_THREADS": _cpus(settings), b"HOSTNAME": plain(host(0)),
        b"PWD": plain(home) if home else unknown(b"home"),
    }  # fmt: skip
    for key in (b"PBS_NP", b"PBS_NUM_NODES", b"PBS_NUM_PPN", b"PBS_GPUFILE"):
        out[key] = unknown(key)  # of Torque, which also is called PBS
    return out


def passed_on(submission: Submission, settings: Settings) -> Dict[bytes, Variable]:
    """Return the variables of qsub's environment, and those of `-v`, that follow the job."""
    out: Dict[bytes, Variable] = {}
    if "all-variables" in settings:
        out.update({key: Variable(plain(value), None, True) for key, value in submission.environment.items()})
    setting = settings.get("variable-list")
    for item in setting.value.split(b",") if setting is not None else ():
        key, equals, value = item.partition(b"=")
        if any(mark in item for mark in (b'"', b"'", b"\\")):
            text = open_value(b"list." + key)  # qsub itself mangles these
        elif equals:
            text = plain(value)
        else:
            here = submission.environment.get(key)
            text = plain(here) if here is not None else open_value(b"list." + key)
        out[key.strip()] = Variable(text, None, True)
    return out


def _resource(settings: Settings, key: str) -> Optional[Text]:
    value = settings.value(key)
    return plain(value) if value is not None else None


def _cpus(settings: Settings) -> Text:
    """NCPUS and OMP_NUM_THREADS are the CPUs of the chunk; a site may change what was not said."""
    first = next(iter(chunks_of(settings)), None)
    count = first.number(b"ncpus") if first is not None else None
    return plain(b"%d" % count) if count is not None else unknown(b"ncpus")
