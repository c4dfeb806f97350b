"""What qsub, or the server behind it, will say of a request, as far as that follows from the request itself.

Measured on OpenPBS 23.06, text and exit code alike. What a site knows (queues, limits, hooks, resources of its own)
is not asked here. Where it is not sure that a request is refused, nothing is said.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ...types.edits import Span
from ...types.job import JobScript, Setting, Settings
from ...types.submission import travels
from . import select
from .options import is_illegal
from .select import SIZES, TIMES, may_be_size, may_be_time
from .submission import CRLF, ArgvReading, job_name, settings

USAGE = 2  # the exit code of what qsub answers with its usage
LONGEST_NAME = 230
WHOLE = ("ncpus", "mpiprocs", "ompthreads", "ngpus")
JOB_WIDE = ("walltime", "cput", "pcput", "min_walltime", "max_walltime", "nodes", "select", "place")
# Host-level resources that are built in: with `select` they belong into it.
BESIDE = ("ncpus", "mem", "mpiprocs", "ompthreads", "host", "vnode", "arch")
# Host-level resources that most servers define, and hardly any for the whole job.
CUSTOM = ("ngpus", "naccelerators", "vmem", "nmics")
# Attributes of a job that -W may say; a name that is none of a job's attributes is refused.
_OF_JOBS = """
account_name accounting_id argument_list array array_indices_submitted array_state_count block checkpoint comment cred
create_resv_from_job depend eligible_time error_path estimated executable execution_time forward_x11_cookie
forward_x11_port group_list hold_types interactive job_name job_owner join_path keep_files mail_points mail_users
max_run_subjobs no_stdio_sockets output_path pcap_accelerator pcap_node pgov priority project pset pwd queue
release_nodes_on_stageout remove_files rerunable reserve_end reserve_start resource_list run_count sandbox
security_context session_id shell_path_list show_hidden_attribs stagein stageout submit_arguments
tolerate_node_failures topjob_ineligible umask user_list variable_list
"""
ATTRIBUTES = frozenset(_OF_JOBS.split())
_LETTERS = {
    "execution-time": "a", "checkpoint": "c", "error": "e", "join": "j", "array": "J", "keep": "k", "mail-type": "m",
    "job-name": "N", "output": "o", "priority": "p", "rerunable": "r", "remove-files": "R", "shell": "S",
}  # fmt: skip
_INVALID = re.compile(r"(invalid option|option|unrecognized option) -(.)(.*)", re.DOTALL)


class Refusal(NamedTuple):
    """What will be said instead of a job id.

    *text*: the first line on stderr, "" where it is not known word for word. *exit_code*: of qsub. *usage*: whether the
    usage follows. *says*: what is wrong, in our words, where the text does not tell; *setting*, or else *span* and
    *line*: where; all are empty where it is the command line as a whole.
    """

    text: str
    exit_code: int
    usage: bool = False
    setting: Optional[Setting] = None
    span: Optional[Span] = None
    line: int = 0
    says: str = ""


def refusals(
    argv: ArgvReading, environment: Mapping[bytes, bytes], job_script: Optional[JobScript], path: bytes = b""
) -> Tuple[Refusal, ...]:
    """Return why this request gets no job, in the order in which it would be said; () where nothing speaks against it.

    *path*: the script as it is named, b"" for one on stdin. *environment* may lack what does not travel in a request.
    """
    if argv.problem:
        return (Refusal(_complaint(argv.problem), USAGE, True, says=argv.problem),)
    if any(setting.name == "version" for setting in argv.settings):
        return ()
    refused = list(_of_script(job_script)) if job_script else []
    given = settings(argv, environment, job_script)
    refused += _of_options(given)
    refused += _of_name(given, path)
    refused += _of_variables(given, environment, job_script)
    return (*refused, *of_server(given))


def _complaint(problem: str) -> str:
    """Return what qsub says before its usage: getopt's complaint, or one of its own."""
    if problem.startswith("illegal"):
        return "qsub: " + problem.split(":")[0]
    match = _INVALID.match(problem)
    if not match:
        return ""
    if match.group(1) == "option":
        return "qsub: option requires an argument -- '%s'" % match.group(2)
    return "qsub: invalid option -- '%s'" % match.group(2)


def _of_script(script: JobScript) -> Iterator[Refusal]:
    if script.refused == CRLF:
        at = script.source.find(b"\r\n")
        yield Refusal(CRLF, 1, span=Span(at, at + 1), line=script.source.count(b"\n", 0, at) + 1)
    for oddity in script.oddities:
        if oddity.kind == "refused":
            yield Refusal(oddity.says, 1, span=oddity.span, line=oddity.line)


def _of_options(given: Settings) -> Iterator[Refusal]:
    """Yield what qsub itself finds wrong with the values of its options.

    It sends each value it was told, so of two in one place the first must be right too (source).
    """
    for name, letter in _LETTERS.items():
        settings = given.all(name)
        for setting in reversed(settings):
            if setting.origin.kind == settings[0].origin.kind and is_illegal(name, setting.value):
                yield Refusal("qsub: illegal -%s value" % letter, USAGE, True, setting)
    queue = given.get("queue")
    if queue is not None and is_illegal("queue", queue.value):
        yield Refusal("qsub: illegally formed destination: " + _shown(queue.value), 2, False, queue)
    array = given.get("array")
    if array is not None and given.value("rerunable") == b"n":
        yield Refusal("", USAGE, True, array, says="an array cannot be `-r n`")
    if array is not None and (given.value("interactive") or b"true").lower() == b"true" and "interactive" in given:
        yield Refusal("", USAGE, True, array, says="an array cannot be interactive")


def _of_name(settings: Settings, path: bytes) -> Iterator[Refusal]:
    """Yield what is wrong with the job's name: that of -N, else the script's."""
    setting, name = settings.get("job-name"), job_name(settings, path)
    if setting is None and is_illegal("job-name", name):
        yield Refusal("qsub: illegal -N value", USAGE, True, says="the script's name would be the job's")
    if len(name) > LONGEST_NAME:
        yield Refusal("qsub: Job name is too long ", 2, False, setting)


def _of_variables(
    settings: Settings, environment: Mapping[bytes, bytes], script: Optional[JobScript]
) -> Iterator[Refusal]:
    """Yield `-v NAME` where NAME is surely not set."""
    setting = settings.get("variable-list")
    if setting is None or any(mark in setting.value for mark in (b'"', b"'", b"\\")):
        return
    for item in setting.value.split(b","):
        known_unset = item not in environment and travels(item, script.source if script else b"")
        if b"=" not in item and not item.startswith(b"PBS_O_") and known_unset:
            yield Refusal("qsub: cannot send environment with the job", 1, False, setting)


def of_server(settings: Settings) -> Iterator[Refusal]:
    """Yield what any server refuses of the resources and attributes, the site's own knowledge aside."""
    for setting in settings:
        if setting.origin.spelling == b"-W" and setting.name.lower() not in ATTRIBUTES:
            yield Refusal("qsub: Error (15002) submitting job", 154, False, setting, says="-W knows no such attribute")
        elif setting.origin.spelling == b"-l" and not _is_value(setting.name, setting.value):
            text = "qsub: Illegal attribute or resource value Resource_List.%s" % setting.name
            yield Refusal(text, 166, False, setting)
    yield from _together(settings)
    chosen = settings.get("select")
    if chosen is not None:
        yield from _of_select(chosen)
    nodes = settings.get("nodes")
    if nodes is not None and chosen is None:
        yield from _of_nodes(nodes)


def _is_value(name: str, value: bytes) -> bool:
    """Return whether a resource may have this value; an empty one is as good as none."""
    if not value:
        return True
    if name in TIMES:
        return may_be_time(value)
    return name not in SIZES or may_be_size(value)


def _together(settings: Settings) -> Iterator[Refusal]:
    """Yield what does not go together: select and place with the older forms, place alone."""
    if "select" not in settings and "place" not in settings:
        return
    nodes = settings.get("nodes")
    if nodes is not None:
        yield Refusal("qsub: Cannot be used with select or place: nodes", 6, False, nodes)
    for name in (*BESIDE, *CUSTOM):
        setting = settings.get(name)
        if setting is not None and setting.origin.spelling == b"-l":
            text = 'qsub: "-lresource=" cannot be used with "select" or "place", resource is: %s' % name
            yield Refusal(text, 5, False, setting)
    if "select" not in settings:
        yield Refusal('qsub: Cannot have "place" without "select"', 7, False, settings.get("place"))


def _of_select(setting: Setting) -> Iterator[Refusal]:
    if not setting.value:
        return
    for text in setting.value.split(b"+"):
        wrong = _of_chunk(text)
        if wrong is not None:
            yield Refusal(wrong[0], wrong[1], False, setting)
            return


def _of_chunk(text: bytes) -> Optional[Tuple[str, int]]:
    if b"'" in text or b'"' in text:
        return None
    parts = text.split(b":")
    count = select.count(parts[0])
    if count is not None:
        del parts[0]
    seen: List[bytes] = []
    for part in parts:
        name, equals, value = part.partition(b"=")
        shown = _shown(name)
        if not equals or not name[:1].isalpha():  # as every resource's name begins
            return "qsub: Illegal attribute or resource value Resource_List.select", 166
        if shown in JOB_WIDE:
            return 'qsub: Resource invalid in "select" specification: ' + shown, 4
        if name in seen:
            text_twice = "qsub: duplicated resource within a section of a select specification, resource is: "
            return text_twice + shown, 12
        if (shown in WHOLE and not re.match(rb"-?\d+\Z", value)) or (shown in SIZES and not may_be_size(value)):
            return "qsub: Illegal attribute or resource value select." + shown, 166
        seen.append(name)
    return ("qsub: Illegal attribute or resource value", 166) if count == 0 else None


def _of_nodes(setting: Setting) -> Iterator[Refusal]:
    """Yield Torque's `gpus=` and the like, which PBS does not know in `nodes`."""
    for part in re.split(rb"[+:]", setting.value.split(b"#")[0]):
        if part.startswith(b"gpus="):
            yield Refusal("qsub: node(s) specification error", 241, False, setting)
            return


def _shown(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
